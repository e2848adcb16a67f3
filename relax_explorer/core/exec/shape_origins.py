"""Where shape variables got their values: the dimension of a value, back through the calls to the inputs, and into kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.match import Mismatch
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import Lengths
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

LONGEST_CHAIN = 12  # lines
_Named = tuple[str, p.PrimExpr]
"""A place, such as x.shape[0], and its dimension."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What bound a shape variable in a frame: `kind` is parameter, match_cast or captured (by the closure that runs).

    `place` is the dimension, such as x.shape[0]. `param` is the number of the parameter.
    """

    kind: str
    place: str
    param: int = -1
    binding: e.Binding | None = None

    def __str__(self) -> str:
        if self.kind == "captured":
            return "captured by the closure"
        if self.kind == "match_cast":
            line = f", line {self.binding.span.line}" if self.binding and self.binding.span else ""
            word = self.binding.word if isinstance(self.binding, e.MatchCast) else self.kind
            return f"{self.place} ({word}{line})"
        return self.place


def dimensions(name: str, info: s.StructInfo | None) -> Iterator[_Named]:
    """The dimensions in the StructInfo of a value called `name`, each with its place."""
    if isinstance(info, s.TensorStructInfo):
        yield from [(f"{name}.shape[{n}]", dim) for n, dim in enumerate(info.dims or ())]
    elif isinstance(info, s.ShapeStructInfo):
        yield from [(f"{name}[{n}]", dim) for n, dim in enumerate(info.values or ())]
    elif isinstance(info, s.PrimStructInfo) and info.value is not None:
        yield name, info.value
    elif isinstance(info, s.TupleStructInfo):
        for number, field in enumerate(info.fields):
            yield from dimensions(f"{name}[{number}]", field)


_BINDERS: PerNode[dict[p.PrimVar, tuple[Origin, ...]]] = PerNode()


def binders(fn: e.Function) -> dict[p.PrimVar, tuple[Origin, ...]]:
    """The dimensions of a function that may bind each shape variable, in order: of parameters, then of match_casts."""
    return _BINDERS.of(fn, _found_binders)


def _found_binders(fn: e.Function) -> dict[p.PrimVar, tuple[Origin, ...]]:
    found: dict[p.PrimVar, list[Origin]] = {}
    for number, param in enumerate(fn.params):
        for place, dim in dimensions(param.name, param.struct_info):
            if type(dim) is p.PrimVar:
                found.setdefault(dim, []).append(Origin("parameter", place, number))
    for binding in bindings(fn):
        if type(binding) is e.MatchCast:
            name = binding.value.name if isinstance(binding.value, e.Var) else "the value"
            for place, dim in dimensions(name, binding.struct_info):
                if type(dim) is p.PrimVar:
                    found.setdefault(dim, []).append(Origin("match_cast", place, -1, binding))
    return {var: tuple(origins) for var, origins in found.items()}


def origin(frame: Frame, var: p.PrimVar) -> Origin:
    """What bound a shape variable of a frame."""
    if var not in frame.outer:
        for found in binders(frame.function).get(var, ()):
            if found.binding is None or _has_run(frame, found.binding):
                return found
    return Origin("captured", "")


def _has_run(frame: Frame, binding: e.Binding) -> bool:
    """True if a match_cast of the frame has run, or runs now."""
    code = frame.plan.code
    place = next((n for n, instruction in enumerate(code) if instruction.binding is binding), len(code))
    return place < frame.pc and frame.registers[code[place].args[0]] is not None


def chain(frame: Frame, dim: p.PrimExpr, dims: Lengths | None = None) -> list[str]:
    """Where the variables of a dimension got their values, line by line, back through the calls.

    `dims` are the values of the shape variables, by default those of the frame.
    """
    lines: list[str] = []
    _chain(frame, dim, frame.dims if dims is None else dims, lines)
    unique = list(dict.fromkeys(lines))
    return unique if len(unique) <= LONGEST_CHAIN else [*unique[: LONGEST_CHAIN - 1], "…"]


def _chain(frame: Frame, dim: p.PrimExpr, dims: Lengths, lines: list[str]) -> None:
    for var in p.free_vars(dim):
        if len(lines) > LONGEST_CHAIN:
            return
        if var in dims:
            found = origin(frame, var)
            lines.append(f"{var.name} = {dims[var]} ← {found} in {frame.name}")
            _before_call(frame, found, lines)


def _before_call(frame: Frame, found: Origin, lines: list[str]) -> None:
    """Continue at the argument that the caller gave."""
    call = frame.made_by.value if frame.made_by is not None else None
    if found.param < 0 or frame.into is None or type(call) is not e.Call or found.param >= len(call.args):
        return
    if not isinstance(call.op, (e.GlobalVar, e.Var)):
        return
    caller, arg = frame.into[0], call.args[found.param]
    param = frame.function.params[found.param].name
    name = arg.name if isinstance(arg, e.Var) else "the argument"
    given = dict(dimensions(param, arg.struct_info)).get(found.place)
    place = name + found.place.removeprefix(param)
    if given is None or not p.free_vars(given):
        lines.append(f"{param} is {name} of {caller.name}")
        return
    lines.append(f"{place} is {with_value(given, caller.dims)} in {caller.name}")
    _chain(caller, given, caller.dims, lines)


def with_value(dim: p.PrimExpr, dims: Mapping[p.PrimVar, int]) -> str:
    """`n * 2 = 6`; the dimension alone if it has no value."""
    value = length(dim, dims)
    return str(dim) if value is None else f"{dim} = {value}"


def length(dim: p.PrimExpr, dims: Mapping[p.PrimVar, int]) -> int | None:
    """The value of a dimension; None if it has none yet, or none at all."""
    try:
        value = evaluate(dim, dims)
    except Undefined:
        return None
    return None if value is None else int(value)


def explained(
    frame: Frame,
    problem: Mismatch,
    name: str,
    dims: Lengths | None = None,
    param: int = -1,
    have: s.StructInfo | None = None,
) -> tuple[str, ...]:
    """Notes for a dimension that does not fit: what it must be, and where the variables in it got their values.

    The found length is explained as well: `param` is the number of the parameter that does not fit, or `have` the StructInfo
    of the value in this frame.
    """
    if problem.dim is None or not p.free_vars(problem.dim):
        return ()
    known = frame.dims if dims is None else dims
    wanted = with_value(problem.dim, known)
    lines = [
        f"{name}{problem.place} must be {wanted}, is {problem.length}",
        *chain(frame, problem.dim, known),
    ]
    _before_call(frame, Origin("parameter", f"{name}{problem.place}", param), lines)
    given = dict(dimensions(name, have)).get(f"{name}{problem.place}")
    is_known = type(given) is p.PrimVar and origin(frame, given).place == f"{name}{problem.place}"
    if given is not None and p.free_vars(given) and not is_known:
        lines.append(f"{name}{problem.place} is {with_value(given, frame.dims)}")
        lines += chain(frame, given)
    return tuple(dict.fromkeys(lines))


# -- kernel shapes ---------------------------------------------------------------------------------------------------
# Explains lengths that do not fit the buffers of a PrimFunc: from dimension to dimension, back through the calls to
# the inputs.


_Given = tuple[str, dict[str, p.PrimExpr]]
"""An argument: its name, and its dimensions by place."""


class Misfit(Failure):
    """An array does not fit a buffer: its axis has `length`, where the PrimFunc needs `dim`. `dims` are the lengths known there."""

    def __init__(
        self, fn: PrimFunc, param: Buffer, axis: int, length: int, text: str, dims: Mapping[p.PrimVar, int]
    ) -> None:
        label = Label(fn, "", True)
        super().__init__(Diagnostic(codes.SHAPE_CHECK, text, (label,), help=codes.SHAPE_CHECK.fix))
        self.fn, self.param, self.axis, self.length, self.dims = fn, param, axis, length, dims


def kernel_chain(frame: Frame, call: e.Expr, misfit: Misfit) -> tuple[str, ...]:
    """Notes for a misfit at a call: what the length must be, and where that and the length come from."""
    if not isinstance(call, e.Call):
        return ()
    fn, dim = misfit.fn, misfit.param.shape[misfit.axis]
    callee, given = _callee(call), list(_given(call))
    place = f"{misfit.param.name}.shape[{misfit.axis}]"
    lines = [f"{place} of {callee} must be {with_value(dim, misfit.dims)}, is {misfit.length}"]
    for var in p.free_vars(dim):
        number, own = _binder(fn, var)
        if number >= 0 and var in misfit.dims:
            lines.append(f"{var.name} = {misfit.dims[var]} ← {fn.params[number].name}{own} in {callee}")
            lines += _argument(frame, fn, given, number, own)
    lines += _argument(frame, fn, given, fn.params.index(misfit.param), f".shape[{misfit.axis}]")
    lines = list(dict.fromkeys(lines))
    return tuple(lines if len(lines) <= LONGEST_CHAIN else [*lines[: LONGEST_CHAIN - 1], "…"])


def _argument(frame: Frame, fn: PrimFunc, given: list[_Given], number: int, place: str) -> list[str]:
    """What a parameter got, and where the length of it at `place` comes from."""
    if number >= len(given):
        return []
    name, own = given[number]
    lines = [f"{fn.params[number].name} is {name} of {frame.name}"]
    dim = own.get(f"{name}{place}")
    if dim is not None:
        lines.append(f"{name}{place} is {with_value(dim, frame.dims)} in {frame.name}")
        lines += chain(frame, dim)
    return lines


def _binder(fn: PrimFunc, var: p.PrimVar) -> tuple[int, str]:
    """The number of the parameter that gives a variable its value, and the place in it; -1 if there is none."""
    for number, param in enumerate(fn.params):
        if param is var:
            return number, ""
    for number, param in enumerate(fn.params):
        if isinstance(param, Buffer) and var in param.shape:
            return number, f".shape[{param.shape.index(var)}]"
    return -1, ""


def _callee(call: e.Call) -> str:
    """The name of the PrimFunc that a call names."""
    named = (call.op, *call.args[:1])
    found = next((item.name for item in named if isinstance(item, (e.GlobalVar, e.ExternFunc))), "")
    return found or "the PrimFunc"


def _given(call: e.Call) -> Iterator[_Given]:
    """The arguments of a PrimFunc in order, as a call names them. A shape gives several."""
    args = call.args
    is_builtin = isinstance(call.op, e.OpRef) and len(call.args) > 1
    if is_builtin:
        packed = call.args[1]
        args = packed.fields if isinstance(packed, e.Tuple) else ()
    for arg in args:
        name = arg.name if isinstance(arg, e.Var) else "the argument"
        info = arg.struct_info
        own = dict(dimensions(name, info))
        if isinstance(info, s.ShapeStructInfo):
            yield from [(place, {place: dim}) for place, dim in own.items()]
        else:
            yield name, own
    for info in call.sinfo_args if is_builtin else ():
        fields = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
        yield from [("the result", dict(dimensions("the result", field))) for field in fields]
