"""Shapes held by variables, as in `R.Tensor(s, "float32")`: rename the variables, and erase them after their scope."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.check.erase import erase
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import info_holders, info_vars, substitute_info

Renamed = Mapping[e.Var, e.Var]


def settled(report: Report, info: s.StructInfo, now: Renamed, place: object) -> s.StructInfo:
    """`info` with the variables that hold its shapes replaced as in `now`. A variable that holds no shape is reported."""
    holders = info_holders(info)
    if not holders:
        return info
    for var in holders:
        held = now.get(var, var).struct_info
        if held is not None and held is not s.OBJECT and not isinstance(held, s.ShapeStructInfo):
            text = f"{var.name!r} is {held}, not a shape"
            report.say(codes.NO_SHAPE_HELD, text, place, help=codes.NO_SHAPE_HELD.fix)
    return renamed(info, now)


def renamed(info: s.StructInfo, now: Renamed) -> s.StructInfo:
    """`info` with the variables that hold its shapes as they are called `now`."""
    return substitute_info(info, {}, dict(now)) if info_holders(info) else info


def settled_cast(report: Report, binding: e.MatchCast, now: Renamed) -> e.MatchCast:
    """A match_cast with `settled` StructInfo and annotation."""
    target = settled(report, binding.struct_info, now, binding)
    annotation = binding.annotation
    if annotation is not None:
        annotation = settled(report, annotation, now, binding)
    return replace(binding, struct_info=target, annotation=annotation)


def settled_call(report: Report, call: e.Call, now: Renamed) -> e.Call:
    """A call with `settled` StructInfo arguments."""
    if not any(map(info_holders, call.sinfo_args)):
        return call
    infos = tuple([settled(report, info, now, call) for info in call.sinfo_args])
    return call if infos == call.sinfo_args else replace(call, sinfo_args=infos)


def lasting(info: s.StructInfo) -> s.StructInfo:
    """The StructInfo of an output after its dataflow block, without dataflow variables."""
    holders = info_holders(info)
    if not any(type(var) is e.DataflowVar for var in holders):
        return info
    return erase(info, info_vars(info), [var for var in holders if type(var) is e.Var])


def visible(
    info: s.StructInfo, now: Renamed, count: int, params: tuple[e.Var, ...]
) -> tuple[e.Var, ...] | None:
    """The variables that `info` may mention: the first `count` of `now`, and the parameters. None if it mentions none."""
    if not info_holders(info):
        return None
    return (*params, *list(now.values())[:count])
