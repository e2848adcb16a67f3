"""What match_casts bind and check: the shape variables that each is the first to bind, and whether it can fail."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from relax_explorer.core.check.compatible import always_fits, shape_var_mapping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import Analysis, solve
from relax_explorer.core.ir.walk import (
    all_dims,
    casts_in,
    defined_dims,
    infos_of,
    sequences,
    substitute_info,
)


def bound_by_casts(fn: e.Function) -> dict[e.MatchCast, list[p.PrimVar]]:
    """The shape variables that each match_cast of a function, nested ones included, is the first to bind."""
    new: dict[e.MatchCast, list[p.PrimVar]] = {}

    def transfer(known: set[p.PrimVar], binding: e.Binding) -> set[p.PrimVar]:
        if type(binding) is e.MatchCast:
            defined = dict.fromkeys(defined_dims(binding.struct_info))
            new[binding] = [dim for dim in defined if dim not in known]
            known.update(defined)
        return known

    def enter(known: set[p.PrimVar], binding: e.Binding) -> list[tuple[e.SeqExpr, set[p.PrimVar]]]:
        own = signature_dims(binding.value) if type(binding.value) is e.Function else set()
        return [(seq, known | own) for seq in sequences(binding.value)]

    solve(Analysis(transfer, enter), fn.body, signature_dims(fn))
    return new


def bound_dims(fn: e.Function) -> set[p.PrimVar]:
    """The shape variables that the parameters and match_casts of a function bind, match_casts in nested ones included."""
    infos = (*infos_of(fn.params), *[cast.struct_info for cast in casts_in(fn)])
    return {dim for info in infos for dim in defined_dims(info)}


def is_proven(
    cast: e.MatchCast,
    new: Collection[p.PrimVar],
    lengths: Mapping[p.PrimVar, p.PrimExpr] = MappingProxyType({}),
) -> bool:
    """True if the types prove a check. It binds the variables `new`, which fit whatever the value has in their place.

    Shape variables in `lengths` are equal to these.
    """
    if cast.value.struct_info is None:
        return False
    have = substitute_info(cast.value.struct_info, {**lengths})
    found = shape_var_mapping(cast.struct_info, have)
    bound = {var: dim for var, dim in found.items() if var in new}
    return always_fits(have, substitute_info(cast.struct_info, {**lengths, **bound}))


def signature_dims(fn: e.Function) -> set[p.PrimVar]:
    """The shape variables of the parameters."""
    return {dim for param in fn.params for dim in all_dims(param.struct_info or s.OBJECT)}
