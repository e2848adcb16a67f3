"""Explains lengths that do not fit the buffers of a PrimFunc: from dimension to dimension, back through the calls to the inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.shape_origins import LONGEST_CHAIN, chain, dimensions, with_value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

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
