"""Lowering of calls to PrimFuncs: an operator's `legalize` rule becomes a PrimFunc and the arguments of its call_tir."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.walk import info_vars, substitute_info
from relax_explorer.core.ops import get
from relax_explorer.core.ops.kit.decl import NotLowered, Op
from relax_explorer.core.ops.kit.te import Literal, Te, Tensor, prim_func
from relax_explorer.core.tir.stmt import Buffer, PrimFunc


@dataclass(frozen=True, slots=True)
class Lowered:
    """A PrimFunc, the members of call_tir's argument tuple, and the StructInfo of the result."""

    prim_func: PrimFunc
    args: tuple[e.Expr, ...]
    out: s.StructInfo


KernelRule = Callable[..., Tensor | Sequence[Tensor]]
"""A rule that describes a kernel. It takes `te`, then the operands: tensors, or scalars of known value."""


class Emitter(Protocol):
    """The builder that an `unfold` rule emits bindings with; `core/build` implements it."""

    def emit(self, value: e.Expr, hint: str = "") -> e.Var:
        """Bind a value to a new variable."""

    def emit_lengths(self, lengths: e.Expr, ndim: int) -> tuple[p.PrimVar, ...]:
        """Bind a shape variable to each of the `ndim` numbers that the tensor `lengths` holds."""

    def call_te(
        self,
        name: str,
        rule: KernelRule,
        args: Sequence[e.Expr],
        infos: Sequence[s.StructInfo],
        out: s.StructInfo,
    ) -> e.Call:
        """A call of the PrimFunc of `rule(te, *operands, out)`. The PrimFunc is added to the module under a name like `name`."""

    def call_function(self, name: str, fn: PrimFunc, args: Sequence[e.Expr]) -> e.Call:
        """A call of `fn`, which is added to the module under a name like `name`."""


def kernel(
    rule: KernelRule, args: Sequence[e.Expr], infos: Sequence[s.StructInfo], out: s.StructInfo
) -> tuple[PrimFunc, tuple[e.Expr, ...]]:
    """The PrimFunc of `rule(te, *operands, out)` with fresh variables, and the arguments of its call."""
    variables = _variables(infos, out)
    fresh = {var: p.PrimVar(var.name, var.dtype) for var in variables}
    te = Te()
    inputs: list[Tensor] = []
    operands = [
        _operand(arg, substitute_info(info, fresh), inputs) for arg, info in zip(args, infos, strict=True)
    ]
    result = rule(te, *operands, substitute_info(out, fresh))
    outputs = [result] if isinstance(result, Tensor) else list(result)
    bound = {dim for tensor in (*inputs, *outputs) for dim in tensor.shape if type(dim) is p.PrimVar}
    loose = [var for var in variables if fresh[var] not in bound]
    fn = prim_func(te, inputs, [fresh[var] for var in loose], outputs)
    numbers = [e.PrimValue(var, s.PrimStructInfo(var.dtype, var)) for var in loose]
    tensors = [arg for arg, info in zip(args, infos, strict=True) if not isinstance(info, s.PrimStructInfo)]
    return fn, (*tensors, *numbers)


@dataclass(frozen=True, slots=True)
class _Template:
    prim_func: PrimFunc
    scalars: tuple[int, ...]  # indices of the shape variables that are passed as scalars


_CANONICAL: list[
    p.PrimVar
] = []  # placeholders for shape variables, so that calls of a module share a kernel whatever the names of their variables
KNOWN_TEMPLATES = 512  # size of the cache; the least recently used template goes first
# By what their text depends on, names included: it does not tell what was lowered before. A text is the reason why there is none.
_TEMPLATES: OrderedDict[Any, _Template | str] = OrderedDict()


def _stand_in(number: int) -> p.PrimVar:
    while len(_CANONICAL) <= number:
        _CANONICAL.append(p.PrimVar(f"n{len(_CANONICAL)}"))
    return _CANONICAL[number]


def _variables(infos: Sequence[s.StructInfo], out: s.StructInfo) -> list[p.PrimVar]:
    return list(dict.fromkeys(var for info in (*infos, out) for var in info_vars(info)))


def _operator(call: e.Call) -> type[Op]:
    assert isinstance(call.op, e.OpRef)  # the caller saw one
    return get(call.op.name)  # looked up anew: users may give another operator the name


Key: TypeAlias = tuple[type[Op], Attrs, tuple[s.StructInfo, ...], tuple[str, ...]]
"""Operator, attributes, the StructInfo of the operands and of the result, and constants."""


def exact_key(call: e.Call, infos: Sequence[s.StructInfo]) -> Key:
    """Equal for calls that have the same lowering but for their operands: names of shape variables, too, are the same."""
    constants = [str(arg.value) for arg in call.args if isinstance(arg, (e.PrimValue, e.StringImm))]
    op = _operator(call)
    if (literal := _literal(call)) is not None:
        constants.append(f"{literal}: {_inlined(call.args[literal])[()]!r}")
    return (op, call.attrs, (*infos, call.struct_info or s.OBJECT), tuple(constants))


def key(call: e.Call, infos: Sequence[s.StructInfo]) -> Key:
    """The cache key of a call. Two keys are equal if operator, attributes and StructInfo agree up to names of shape variables."""
    op, attrs, exact, constants = exact_key(call, infos)
    renaming: dict[p.PrimVar, p.PrimExpr] = {
        var: _stand_in(n) for n, var in enumerate(_variables(exact[:-1], exact[-1]))
    }
    return (op, attrs, tuple([substitute_info(info, renaming) for info in exact]), constants)


def lower(call: e.Call, infos: Sequence[s.StructInfo]) -> Lowered:
    """The lowering of a call. A tuple operand must be written out, not a variable. Raises NotLowered if there is none."""
    op, out = _operator(call), call.struct_info or s.OBJECT
    for n, info in enumerate(infos):
        need_known(info, op.operands[min(n, len(op.operands) - 1)].name)
    if isinstance(out, s.PrimStructInfo):
        raise NotLowered("the result is a scalar, and kernels fill tensors")
    need_known(out, "the result")
    flat = flat_operands(call)
    variables = _variables(infos, out)
    template_key = key(call, infos), _names(call.args), tuple([var.name for var in variables])
    template = _TEMPLATES.get(template_key)
    if template is None:
        try:
            template = _make(call, infos, variables)
        except NotLowered as reason:
            template = str(reason)
        _TEMPLATES[template_key] = template
        if len(_TEMPLATES) > KNOWN_TEMPLATES:
            _TEMPLATES.popitem(last=False)
    _TEMPLATES.move_to_end(template_key)
    if isinstance(template, str):
        raise NotLowered(template)
    scalars = [
        e.PrimValue(variables[n], s.PrimStructInfo(variables[n].dtype, variables[n]))
        for n in template.scalars
    ]
    return Lowered(template.prim_func, (*flat, *scalars), out)


def _names(args: Sequence[e.Expr]) -> tuple[object, ...]:
    """The names of operands, which those of the parameters follow."""
    return tuple(
        [
            _names(arg.fields) if type(arg) is e.Tuple else arg.name if isinstance(arg, e.Var) else None
            for arg in args
        ]
    )


def flat_operands(call: e.Call) -> list[e.Expr]:
    """The tensor operands that the kernel takes; tuples are flattened, and a literal of the kernel is left out."""
    flat: list[e.Expr] = []
    literal = _literal(call)
    for n, arg in enumerate(call.args):
        if type(arg) is e.Tuple:
            flat.extend(field for field in arg.fields if isinstance(field.struct_info, s.TensorStructInfo))
        elif isinstance(arg.struct_info, s.TensorStructInfo) and n != literal:
            flat.append(arg)
    return flat


def _literal(call: e.Call) -> int | None:
    """The position of the operand that becomes a literal of the kernel: a constant of rank 0, where the operator takes one so."""
    op = _operator(call)
    for name in op.literals:
        for n, (declared, arg) in enumerate(zip(op.operands, call.args, strict=False)):
            if (
                declared.name == name
                and type(arg) is e.Constant
                and arg.data is not None
                and arg.data.ndim == 0
            ):
                return n
    return None


def need_known(info: s.StructInfo, name: str) -> None:
    """Raise NotLowered for a value without the dtype, shape or type that a kernel needs."""
    if isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            need_known(field, name)
    elif isinstance(info, s.TensorStructInfo):
        if info.dims is None or info.dtype is None:
            raise NotLowered(f"the {'dtype' if info.dims is not None else 'shape'} of {name} is not known")
    elif isinstance(info, s.ShapeStructInfo) and info.values is None:
        raise NotLowered(f"the lengths of {name} are not known")
    if any(type(dim) is p.AnyDim for dim in s.lengths(info)):
        raise NotLowered(f"a length of {name} is a wildcard; LowerWildcards gives it a name")
    if info is s.OBJECT:
        raise NotLowered(f"of {name} it is not known what it is")


def _make(call: e.Call, infos: Sequence[s.StructInfo], variables: list[p.PrimVar]) -> _Template:
    op = _operator(call)
    fresh = {var: p.PrimVar(var.name, var.dtype) for var in variables}
    te = Te()
    inputs: list[Tensor] = []
    literal = _literal(call)
    operands = [
        _operand(arg, substitute_info(info, fresh), inputs) if n != literal else _inlined(arg)
        for n, (arg, info) in enumerate(zip(call.args, infos, strict=True))
    ]
    operands += [None] * (len(op.operands) - len(operands))
    assert op.legalize is not None  # the caller checked
    result = op.legalize(te, *operands, **call.attrs)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    bound = {dim for tensor in (*inputs, *outputs) for dim in tensor.shape if type(dim) is p.PrimVar}
    numbers = tuple([n for n, var in enumerate(variables) if fresh[var] not in bound])
    scalars = [fresh[variables[n]] for n in numbers]
    return _Template(prim_func(te, inputs, scalars, outputs), numbers)


def _inlined(arg: e.Expr) -> Literal:
    """The element of a constant of rank 0."""
    assert type(arg) is e.Constant  # `_literal` found it
    assert arg.data is not None
    assert isinstance(arg.struct_info, s.TensorStructInfo)
    dtype = arg.struct_info.dtype
    assert dtype is not None  # constants have one
    value = arg.data.item()
    return Literal(
        p.as_prim(value if dtype.is_bool else float(value) if dtype.is_float else int(value), dtype)
    )


def _operand(arg: e.Expr, info: s.StructInfo, inputs: list[Tensor]) -> Any:
    if isinstance(info, s.TupleStructInfo):
        fields = arg.fields if type(arg) is e.Tuple else ()
        return [_operand(field, part, inputs) for field, part in zip(fields, info.fields, strict=True)]
    if isinstance(info, s.TensorStructInfo):
        assert info.dims is not None  # the caller checked
        assert info.dtype is not None
        hint = arg.name if isinstance(arg, e.Var) else chr(ord("A") + len(inputs) % 26)
        tensor = Tensor(Buffer(hint, info.dims, info.dtype))
        inputs.append(tensor)
        return tensor
    if isinstance(info, s.ShapeStructInfo):
        return info.values
    if isinstance(info, s.PrimStructInfo) and info.value is not None:
        return info.value  # it has the variables of the PrimFunc
    if isinstance(arg, (e.PrimValue, e.StringImm, e.DataTypeImm)):
        return arg.value
    raise NotLowered(f"the value of {arg.name if isinstance(arg, e.Var) else arg} is known when it runs only")
