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
    no_legalize = "it computes no elements: the machine runs it as it stands"


class Stated(ByMachine):
    """Base of the calls whose result is stated in the call (`out_ty`, `ty_args`)."""

    takes_sinfo = True
    types = "ty_args"
    no_legalize = "it is a call already, of a function that is given"

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """What the call says."""
        return stated(at)


def stated(at: Site) -> s.StructInfo:
    """The StructInfo that a call claims for its result: none is Object, several are a tuple."""
    infos = at.call.sinfo_args
    if not infos:
        return s.OBJECT
    return infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)


def need_function(at: Site, info: s.StructInfo | None, name: str) -> None:
    """Refuse what can't be called: a tensor, a shape, a tuple or a scalar."""
    if isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo, s.TupleStructInfo, s.PrimStructInfo)):
        raise at.fail(
            codes.NOT_CALLABLE, f"{name} is {info}, a function is needed", **{name: f"this is {info}"}
        )


def _need_packed(at: Site, info: s.StructInfo) -> None:
    """Refuse a function that is no packed function by its name."""
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
"""What gives distributed tensors; R.dist.call_tir is another name for the first."""


def _allocated(at: Site) -> tuple[s.TensorStructInfo, ...]:
    """The outputs of a call in destination-passing style: tensors of written shape, for they are allocated by it.

    TVM takes an output of a packed function that has no dtype.
    """
    whole = stated(at)
    found = []
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
        found.append(info)
    return tuple(found)


class InDestination(Stated):
    """Base of the calls in destination-passing style: outputs are allocated as `out_ty` says, and the callee fills them."""

    raises: ClassVar[tuple[Code, ...]] = (codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    func: Function = operand("the function that fills the outputs, which it takes after the arguments")
    args: Arguments = operand(
        "the inputs, a tuple of tensors, scalars and shapes; one value stands for a tuple of it"
    )
    types = "out_ty"

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """What out_ty says: a tensor of written shape and dtype, or a tuple of such."""
        func, inputs = args[:2]
        need_function(at, func, "func")
        need_tuple(at, inputs)
        _allocated(at)
        return stated(at)


class CallKernel(InDestination):
    """Base of the calls of PrimFuncs of the module."""

    in_parts: ClassVar[bool] = False  # whether the PrimFunc takes parts of the arguments

    tir_vars: Shape | None = operand(
        "lengths passed as scalars after the outputs, if any (older programs)", default=None
    )

    @staticmethod
    def infer(at: Site, *args: Any, **attrs: Any) -> s.StructInfo:
        """What out_ty says: a tensor of written shape and dtype, or a tuple of such."""
        given = at.arg("func")
        if given is not None and not isinstance(given, e.GlobalVar):
            what = "a packed function" if isinstance(given, e.ExternFunc) else str(given.struct_info)
            text = f"func is {what}, a PrimFunc of the module is needed"
            raise at.fail(
                codes.NOT_CALLABLE, text, func=f"this is {what}", help="use R.call_dps_packed for others"
            )
        return InDestination.infer(at, *args)


class CallTir(CallKernel, name="relax.call_tir"):
    """A call of a PrimFunc in destination-passing style: results are allocated as out_ty says, and it fills them."""

    source = "TVM"


def _overwritten(
    at: Site,
    indices: Ints,
    args: tuple[s.StructInfo, ...],
    outputs: tuple[s.StructInfo, ...],
    known: bool = False,
) -> None:
    """Check which arguments are overwritten: one number for each output, each argument at most once, of equal StructInfo.

    With `known` an argument must be known to be what the output is.
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
            fix = "state what the argument is with R.match_cast, or say less of the output"
            raise at.fail(codes.ARGUMENT_INFO, text, args=f"argument {number} is {args[number]}", help=fix)


def _held(given: s.StructInfo, wanted: s.StructInfo) -> bool:
    """Whether all that is said of the output is known of the argument."""
    if isinstance(given, s.TupleStructInfo) and isinstance(wanted, s.TupleStructInfo):
        same = len(given.fields) == len(wanted.fields)
        return same and all(map(_held, given.fields, wanted.fields))
    if not isinstance(given, s.TensorStructInfo) or not isinstance(wanted, s.TensorStructInfo):
        return wanted is s.OBJECT or given is wanted
    if wanted.dtype not in (None, given.dtype) or wanted.ndim not in (-1, given.ndim):
        return False
    if wanted.dims is None or given.dims is None:
        return wanted.shape is None
    return shapes_equal(given.dims, wanted.dims) is Answer.YES


def _differ(a: s.StructInfo, b: s.StructInfo) -> bool:
    """Whether two tensors can't have the same memory: dtype, rank or a length is another."""
    if not isinstance(a, s.TensorStructInfo) or not isinstance(b, s.TensorStructInfo):
        return type(a) is not type(b) and s.OBJECT not in (a, b)
    kinds = a.dtype is not None and b.dtype is not None and a.dtype is not b.dtype
    kinds |= is_spread(a) != is_spread(b)
    ranks = a.ndim >= 0 and b.ndim >= 0 and a.ndim != b.ndim
    if kinds or ranks or a.dims is None or b.dims is None:
        return kinds or ranks
    return shapes_equal(a.dims, b.dims) is Answer.NO


class CallTirInplace(CallKernel, name="relax.call_tir_inplace"):
    """As call_tir, but results overwrite some of the arguments.

    In a dataflow block that is right only if nothing reads an overwritten argument afterwards. Here a copy is overwritten,
    so that going back finds the old value.
    """

    source = "TVM"
    raises = (codes.AXIS_TWICE, codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    shares = writes = ("args",)
    inplace_indices: Ints = attr(REQUIRED, "for each result the argument it overwrites, -1 for a new one")

    @staticmethod
    def infer(at: Site, *args: Any, inplace_indices: Ints = (), **attrs: Any) -> s.StructInfo:
        """What out_ty says, which is what the overwritten arguments are."""
        CallKernel.infer(at, *args)
        _overwritten(at, inplace_indices, need_tuple(at, args[1]).fields, _allocated(at), known=True)
        return stated(at)


class CallTirWithGrad(CallKernel, name="relax.call_tir_with_grad"):
    """As call_tir, with the name of a function that gives its gradient."""

    source = "TVM"
    te_grad_name: str = attr(REQUIRED, "registered name of the function that makes the gradient")
    te_grad_kwargs: Any | None = attr(None, "keyword arguments for it")


class CallDpsPacked(InDestination, name="relax.call_dps_packed"):
    """A call of a packed function in destination-passing style: results are allocated as out_ty says, and it fills them.

    It is pure in TVM, while the specification says it may have side effects.
    """

    source = "TVM"
    writes = ("args",)
    pure_in_spec = False


class CallPyFunc(Stated, name="relax.call_py_func"):
    """A call of a Python function that was registered by name, which returns the result.

    Python is never executed from a program's text: the function is one that was registered here as a packed function.
    """

    source = "TVM"
    raises = (codes.ARGUMENT_INFO,)
    shares = ("args",)
    func_name: str = operand("the name that it was registered by, a literal")
    args: Arguments = operand("its arguments, a tuple; one value stands for a tuple of it")
    types = "out_ty"

    @staticmethod
    def infer(at: Site, func_name: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """What out_ty says: a tensor of written shape and dtype, or a tuple of such."""
        if type(at.arg("func_name")) is not e.StringImm:
            raise at.fail(codes.WRONG_KIND, "func_name is no string literal", func_name='write R.str("…")')
        need_tuple(at, args)
        _allocated(at)
        return stated(at)


class CallPurePacked(Stated, name="relax.call_pure_packed"):
    """A call of a packed function that has no side effects, as the program promises."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = ANY_OPERAND
    func: Function = operand("the packed function, by its name; its arguments follow")
    variadic = True

    @staticmethod
    def infer(at: Site, func: s.StructInfo, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """What ty_args say: one StructInfo, or a tuple of several; an object when they are left out."""
        _need_packed(at, func)
        return stated(at)


class CallInplacePacked(Stated, name="relax.call_inplace_packed"):
    """A call of a packed function that overwrites some of its arguments and returns them."""

    source = "TVM"
    raises = (codes.AXIS_TWICE, codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    shares = writes = ANY_OPERAND
    func: Function = operand("the packed function, by its name; its arguments follow")
    inplace_indices: Ints = attr(REQUIRED, "for each result the argument it is, -1 for a new one")
    variadic = True

    @staticmethod
    def infer(at: Site, func: s.StructInfo, *args: s.StructInfo, inplace_indices: Ints = ()) -> s.StructInfo:
        """What ty_args say: one StructInfo, or a tuple of several; an object when they are left out."""
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
    closure: Function = operand("what make_closure made, or any function value")
    args: Arguments = operand(
        "the arguments before those that it captured, a tuple; one value stands for a tuple of it"
    )
    pure = False

    @staticmethod
    def infer(at: Site, closure: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """What ty_args say: one StructInfo, or a tuple of several; an object when they are left out."""
        need_function(at, closure, "closure")
        need_tuple(at, args)
        return stated(at)


class InvokePureClosure(InvokeClosure, name="relax.invoke_pure_closure"):
    """A call of a closure that has no side effects, as the program promises."""

    source = "TVM"
    writes = ()
    pure = True


class CallBuiltinWithCtx(Stated, name="relax.call_builtin_with_ctx"):
    """A call of a builtin of the virtual machine, which is passed the machine itself before its arguments."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = writes = ("args",)
    func: Function = operand("the builtin, by its name")
    args: Arguments = operand("its arguments, a tuple; one value stands for a tuple of it")
    pure = False
    phase = Phase.VM

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """What ty_args say, one StructInfo; an empty tuple when they say none."""
        need_function(at, func, "func")
        need_tuple(at, args)
        if len(at.call.sinfo_args) > 1:
            text = f"ty_args has {len(at.call.sinfo_args)} entries, one is needed"
            raise at.fail(codes.ARGUMENT_COUNT, text, help="write one, R.Tuple(…) for several results")
        return stated(at) if at.call.sinfo_args else s.VOID


class MakeClosure(ByMachine, name="relax.make_closure"):
    """A closure: a function of the module with values for its last parameters, as LambdaLift makes it."""

    source = "TVM"
    raises = (codes.NOT_CALLABLE,)
    shares = ("args",)
    stops = Stops.NEVER
    func: Function = operand("the function")
    args: Arguments = operand(
        "the values for its last parameters, a tuple; one value stands for a tuple of it"
    )

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """An object."""
        need_function(at, func, "func")
        need_tuple(at, args)
        return s.OBJECT
