"""OptimizeLayoutTransform: drop pairs of layout transforms that undo each other."""

from __future__ import annotations

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.index_map import IndexMap, place
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import Pattern, is_gv, is_op, is_tuple, wildcard
from relax_explorer.core.phases.module_properties import NORMAL_FORM


@function_pass("OptimizeLayoutTransform", reads=[OPERATORS], rebuilds=True, requires=[NORMAL_FORM])
def optimize_layout_transform(fn: e.Function, at: PassSite) -> e.Function:
    """Replace a layout_transform of a layout_transform by the first operand, if the second one undoes the first.

    Between them may stand a kernel with the attribute `operator_name = "remove_pad"`: the elements that it removes hold no data.
    In the profile `tvm` the results of branches lose their lengths.
    """

    def dropped(found: Match) -> e.Expr | None:
        if _KERNEL in found and not _removes_pad(at, found[_KERNEL]):
            return None
        outer = found.call(_PAIR if _PAIR in found else _WITH_PAD)
        inner, x = found.call(_INNER), found[_X]
        lengths = s.lengths(x.struct_info)
        if not lengths or lengths != s.lengths(outer.struct_info):
            return None
        return x if _undoes(outer.attrs.get("index_map"), inner.attrs.get("index_map"), lengths) else None

    return apply_rules(fn, at, [Rule("drop inverse layout transforms", _PAIR | _WITH_PAD, dropped)])


_X, _KERNEL = wildcard(), is_gv()
_transform = is_op("relax.layout_transform")
_INNER = _transform(_X)
_PAIR: Pattern = _transform(_INNER)
_WITH_PAD: Pattern = _transform(is_op("relax.call_tir")(_KERNEL, is_tuple([_INNER])))


def _removes_pad(at: PassSite, kernel: e.Expr) -> bool:
    fn = at.module.functions.get(kernel.name) if type(kernel) is e.GlobalVar else None
    return fn is not None and fn.attrs.get("operator_name") == "remove_pad"


def _undoes(outer: object, inner: object, lengths: tuple[p.PrimExpr, ...]) -> bool:
    """True if the second map leads each index of a tensor back to itself."""
    if not isinstance(outer, IndexMap) or not isinstance(inner, IndexMap):
        return False
    indices = [place(n) for n in range(len(lengths))]
    back = outer.at(inner.at(indices))
    facts = [p.LT(index, length) for index, length in zip(indices, lengths, strict=True)]
    return len(back) == len(indices) and all(
        prove_under(facts, p.EQ(new, old)) is Answer.YES for new, old in zip(back, indices, strict=True)
    )
