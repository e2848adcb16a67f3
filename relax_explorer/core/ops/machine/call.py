"""Operators that call functions: kernels, packed functions, Python functions, closures, builtins of the machine."""

from __future__ import annotations

from typing import Any, ClassVar

from relax_explorer.core.arith.prove import Answer, shapes_equal
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.decl import (
    ANY_OPERAND,
    REQUIRED,
    Arguments,
    Function,
    Ints,
    Op,
    Phase,
    Shape,
    Site,
    Stops,
    attr,
    operand,
)  # fmt: skip
from relax_explorer.core.ops.kit.devices import is_spread


class ByMachine(Op):
    """Base of the operators that the machine runs and that have no lowering of their own."""

    by_machine = True
    by_info = False
    no_legalize = "it computes no elements; the machine runs it directly"


class Stated(ByMachine):
    """Base of the calls whose result is stated in the call (`out_ty`, `ty_args`)."""

    takes_sinfo = True
    types = "ty_args"
    no_legalize = "it already calls a given function"

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """The StructInfo that the call states."""
        return stated(at)


def stated(at: Site) -> s.StructInfo:
    """The StructInfo that a call states for its result: Object if none, a tuple if several."""
    infos = at.call.sinfo_args
    if not infos:
        return s.OBJECT
    return infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)


_NO_FUNCTION = s.TensorStructInfo, s.ShapeStructInfo, s.TupleStructInfo, s.PrimStructInfo


def need_function(at: Site, info: s.StructInfo | None, name: str, by_spec: bool = False) -> None:
    """Refuse what can't be called: a tensor, a shape, a tuple or a scalar. `by_spec` is true if TVM accepts variables of them."""
    if isinstance(info, _NO_FUNCTION):
        text, label = f"{name} is {info}, a function is needed", {name: f"this is {info}"}
        if not by_spec or type(at.arg(name)) is e.Tuple:
            raise at.fail(codes.NOT_CALLABLE, text, **label)
        raise at.fail_by_spec(codes.NOT_CALLABLE, text, **label)


def _need_packed(at: Site, info: s.StructInfo) -> None:
    """Refuse a function that is not a packed function given by name."""
    need_function(at, info, "func")
    if type(at.arg("func")) is not e.ExternFunc:
        text = f"func is {info}, a packed function is needed, by its name"
        fix = "write the name in quotes; a function value is called as f(…)"
        raise at.fail(codes.NOT_CALLABLE, text, func=f"this is {info}", help=fix)


def need_tuple(at: Site, info: s.StructInfo | None, name: str = "args") -> s.TupleStructInfo:
    """`info` as a tuple's; anything else is refused."""
    if isinstance(info, s.TupleStructInfo):
        return info
    raise at.fail(codes.WRONG_KIND, f"{name} is {info}, a tuple is needed", **{name: f"this is {info}"})


_IN_PARTS = ("relax.call_tir", "relax.dist.call_tir_local_view")
"""The calls that return distributed tensors; R.dist.call_tir is another name of the first."""


def _allocated(at: Site) -> tuple[s.TensorStructInfo, ...]:
    """The outputs of a call in destination-passing style: tensors of written shape, because the call allocates them.

    TVM accepts an output without dtype for a packed function.
    """
    whole = stated(at)
    outputs = []
    for info in whole.fields if isinstance(whole, s.TupleStructInfo) else (whole,):
        text = f"out_ty has {info}, and only a tensor of written shape and dtype can be allocated"
        fix = "state both: R.Tensor((…), dtype)"
        if not isinstance(info, s.TensorStructInfo) or info.dims is None:
            raise at.fail(codes.ARGUMENT_INFO, text, help=fix)
        if info.dtype is None:
            if at.op is not CallDpsPacked:
                raise at.fail(codes.ARGUMENT_INFO, text, help=fix)
            at.refuse_by_spec(codes.ARGUMENT_INFO, text, help=fix)
        if is_spread(info) and at.op is not None and at.op.name not in _IN_PARTS:
            text = f"out_ty has {info}, which lies on several devices, and the callee fills it on one"
            raise at.fail(codes.ARGUMENT_INFO, text, help="use R.dist.call_tir or R.dist.call_tir_local_view")
        outputs.append(info)
    return tuple(outputs)


class InDestination(Stated):
    """Base of the calls in destination-passing style. The call allocates outputs of type `out_ty`, and the callee fills them."""

    raises: ClassVar[tuple[Code, ...]] = (codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    func: Function = operand(
        "the function, which takes the arguments and then the outputs, and fills the outputs"
    )
    args: Arguments = operand(
        "the inputs, a tuple of tensors, scalars and shapes; a single value means a tuple of one"
    )
    types = "out_ty"

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """The StructInfo in out_ty: a tensor of written shape and dtype, or a tuple of such tensors."""
        func, inputs = args[:2]
        need_function(at, func, "func")
        need_tuple(at, inputs)
        _allocated(at)
        return stated(at)


class CallKernel(InDestination):
    """Base of the calls of PrimFuncs of the module."""

    in_parts: ClassVar[bool] = False  # True if the PrimFunc takes parts of distributed arguments

    tir_vars: Shape | None = operand(
        "lengths passed as scalars after the outputs, if any (older programs)", default=None
    )

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """The StructInfo in out_ty: a tensor of written shape and dtype, or a tuple of such tensors."""
        given = at.arg("func")
        if given is not None and not isinstance(given, e.GlobalVar):
            callee = "a packed function" if isinstance(given, e.ExternFunc) else str(given.struct_info)
            text = f"func is {callee}, a PrimFunc of the module is needed"
            raise at.fail(
                codes.NOT_CALLABLE, text, func=f"this is {callee}", help="use R.call_dps_packed for others"
            )
        return InDestination.infer(at, *args)


class CallTir(CallKernel, name="relax.call_tir"):
    """A call of a PrimFunc in destination-passing style: the call allocates results of type out_ty, and the PrimFunc fills them."""

    source = "TVM"


def _overwritten(
    at: Site,
    indices: Ints,
    args: tuple[s.StructInfo, ...],
    outputs: tuple[s.StructInfo, ...],
    known: bool = False,
) -> None:
    """Check which arguments are overwritten: one number for each output, each argument at most once, of equal StructInfo.

    With `known`, each argument must provably have the StructInfo of its output.
    """
    numbers = indices if isinstance(indices, tuple) else (indices,)
    fix = "name an argument for each output, -1 for a new one"
    if len(numbers) != len(outputs):
        text = f"inplace_indices has {len(numbers)} numbers for {len(outputs)} outputs"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help=fix)
    for number in numbers:
        if type(number) is not int or not -1 <= number < len(args):
            text = f"inplace_indices has {number}, the arguments are 0 to {len(args) - 1}"
            raise at.fail(codes.BAD_ATTRIBUTE, text, help=fix)
    real = [number for number in numbers if number >= 0]
    if not real:
        raise at.fail(
            codes.BAD_ATTRIBUTE, "inplace_indices names no argument", help="use the call without in-place"
        )
    if len(set(real)) != len(real):
        raise at.fail(codes.AXIS_TWICE, f"inplace_indices {list(numbers)} name an argument twice", help=fix)
    for number, output in zip(numbers, outputs, strict=True):
        if number >= 0 and (_differ(args[number], output) or (known and not _held(args[number], output))):
            text = f"the output that overwrites argument {number} is {output}, the argument is {args[number]}"
            fix = "state the argument's StructInfo with R.match_cast, or give the output a less precise one"
            raise at.fail(codes.ARGUMENT_INFO, text, args=f"argument {number} is {args[number]}", help=fix)


def _held(argument: s.StructInfo, output: s.StructInfo) -> bool:
    """True if the argument's StructInfo is at least as precise as the output's."""
    if isinstance(argument, s.TupleStructInfo) and isinstance(output, s.TupleStructInfo):
        same = len(argument.fields) == len(output.fields)
        return same and all(map(_held, argument.fields, output.fields))
    if not isinstance(argument, s.TensorStructInfo) or not isinstance(output, s.TensorStructInfo):
        return output is s.OBJECT or argument is output
    if output.dtype not in (None, argument.dtype) or output.ndim not in (-1, argument.ndim):
        return False
    if output.dims is None or argument.dims is None:
        return output.shape is None
    return shapes_equal(argument.dims, output.dims) is Answer.YES


def _differ(a: s.StructInfo, b: s.StructInfo) -> bool:
    """True if two tensors can't share memory, because dtype, rank or a length differs."""
    if not isinstance(a, s.TensorStructInfo) or not isinstance(b, s.TensorStructInfo):
        return type(a) is not type(b) and s.OBJECT not in (a, b)
    kinds = a.dtype is not None and b.dtype is not None and a.dtype is not b.dtype
    kinds |= is_spread(a) != is_spread(b)
    ranks = a.ndim >= 0 and b.ndim >= 0 and a.ndim != b.ndim
    if kinds or ranks or a.dims is None or b.dims is None:
        return kinds or ranks
    return shapes_equal(a.dims, b.dims) is Answer.NO


class CallTirInplace(CallKernel, name="relax.call_tir_inplace"):
    """Like call_tir, but results overwrite some of the arguments.

    In a dataflow block this is valid only if nothing reads an overwritten argument afterwards. The explorer overwrites a copy,
    so that stepping back shows the old value.
    """

    source = "TVM"
    raises = (codes.AXIS_TWICE, codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    shares = writes = ("args",)
    inplace_indices: Ints = attr(
        REQUIRED, "for each result, the argument that it overwrites, or -1 for a new tensor"
    )

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, inplace_indices: Ints = (), **attrs: object) -> s.StructInfo:
        """The StructInfo in out_ty, which the overwritten arguments must have, too."""
        CallKernel.infer(at, *args)
        _overwritten(at, inplace_indices, need_tuple(at, args[1]).fields, _allocated(at), known=True)
        return stated(at)


class CallTirWithGrad(CallKernel, name="relax.call_tir_with_grad"):
    """Like call_tir, with the name of a function that builds its gradient."""

    source = "TVM"
    te_grad_name: str = attr(REQUIRED, "registered name of the function that makes the gradient")
    te_grad_kwargs: Any | None = attr(None, "keyword arguments for it")


class CallDpsPacked(InDestination, name="relax.call_dps_packed"):
    """A call of a packed function in destination-passing style: the call allocates results of type out_ty, and the function fills them.

    It is pure in TVM. The specification allows side effects.
    """

    source = "TVM"
    writes = ("args",)
    pure_in_spec = False


class CallPyFunc(Stated, name="relax.call_py_func"):
    """A call of a Python function registered by name; the function returns the result.

    Python code in a program's text is never executed. The function must be registered as a packed function.
    """

    source = "TVM"
    raises = (codes.ARGUMENT_INFO,)
    shares = ("args",)
    func_name: str = operand("the name that it was registered by, a literal")
    args: Arguments = operand("its arguments, a tuple; a single value means a tuple of one")
    types = "out_ty"

    @staticmethod
    def infer(at: Site, func_name: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """The StructInfo in out_ty: a tensor of written shape and dtype, or a tuple of such tensors."""
        if type(at.arg("func_name")) is not e.StringImm:
            raise at.fail(codes.WRONG_KIND, "func_name is not a string literal", func_name='write R.str("…")')
        need_tuple(at, args)
        _allocated(at)
        return stated(at)


class CallPurePacked(Stated, name="relax.call_pure_packed"):
    """A call of a packed function; the program promises that it has no side effects."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = ANY_OPERAND
    func: Function = operand("the packed function, by its name; its arguments follow")
    variadic = True

    @staticmethod
    def infer(at: Site, func: s.StructInfo, *args: s.StructInfo, **attrs: object) -> s.StructInfo:
        """The StructInfo in ty_args: a tuple if there are several, an object if there are none."""
        _need_packed(at, func)
        return stated(at)


class CallInplacePacked(Stated, name="relax.call_inplace_packed"):
    """A call of a packed function that overwrites some of its arguments and returns them."""

    source = "TVM"
    raises = (codes.AXIS_TWICE, codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    shares = writes = ANY_OPERAND
    func: Function = operand("the packed function, by its name; its arguments follow")
    inplace_indices: Ints = attr(REQUIRED, "for each result, the argument that it is, or -1 for a new tensor")
    variadic = True

    @staticmethod
    def infer(at: Site, func: s.StructInfo, *args: s.StructInfo, inplace_indices: Ints = ()) -> s.StructInfo:
        """The StructInfo in ty_args: a tuple if there are several, an object if there are none."""
        _need_packed(at, func)
        whole = stated(at)
        outputs: tuple[s.StructInfo, ...] = (whole,)
        if isinstance(whole, s.TupleStructInfo) and len(inplace_indices) != 1:
            outputs = whole.fields
        _overwritten(at, inplace_indices, args, outputs, known=True)
        return whole


class InvokeClosure(Stated, name="relax.invoke_closure"):
    """A call of a closure that may have side effects."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = ("closure", "args")
    writes: ClassVar[tuple[str, ...] | None] = shares
    closure: Function = operand("a result of make_closure, or any function value")
    args: Arguments = operand(
        "the arguments before the captured ones, a tuple; a single value means a tuple of one"
    )
    pure = False
    by_info = True

    @staticmethod
    def infer(at: Site, closure: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """The StructInfo in ty_args: a tuple if there are several, an object if there are none."""
        need_function(at, closure, "closure", by_spec=True)
        need_tuple(at, args)
        return stated(at)


class InvokePureClosure(InvokeClosure, name="relax.invoke_pure_closure"):
    """A call of a closure; the program promises that it has no side effects."""

    source = "TVM"
    writes = ()
    pure = True


class CallBuiltinWithCtx(Stated, name="relax.call_builtin_with_ctx"):
    """A call of a builtin of the virtual machine. The builtin gets the machine itself before its arguments."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = writes = ("args",)
    func: Function = operand("the builtin, by its name")
    args: Arguments = operand("its arguments, a tuple; a single value means a tuple of one")
    pure = False
    phase = Phase.VM

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """The StructInfo in ty_args; an empty tuple if there is none."""
        need_function(at, func, "func", by_spec=True)
        need_tuple(at, args)
        if len(at.call.sinfo_args) > 1:
            text = f"ty_args has {len(at.call.sinfo_args)} entries, one is needed"
            raise at.fail(codes.ARGUMENT_COUNT, text, help="write one, R.Tuple(…) for several results")
        return stated(at) if at.call.sinfo_args else s.VOID


class MakeClosure(ByMachine, name="relax.make_closure"):
    """A closure: a function of the module with values for its last parameters. LambdaLift creates it."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = ("args",)
    stops = Stops.NEVER
    by_info = True
    func: Function = operand("the function")
    args: Arguments = operand(
        "the values for its last parameters, a tuple; a single value means a tuple of one"
    )

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """An object."""
        need_function(at, func, "func", by_spec=True)
        need_tuple(at, args)
        return s.OBJECT
