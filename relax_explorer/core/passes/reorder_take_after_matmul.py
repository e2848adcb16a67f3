"""ReorderTakeAfterMatmul: multiply with the whole table, then take the chosen parts."""

from __future__ import annotations

from relax_explorer.core.arith.prove import product
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.properties import BUILTINS_LOWERED, NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.passes.readings import operators
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard


@function_pass(
    "ReorderTakeAfterMatmul",
    reads=[operators("matmul")],
    rebuilds=True,
    requires=[NORMAL_FORM],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def reorder_take_after_matmul(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `matmul(x, take(weights, indices))` by `take(matmul(x, weights), indices)`.

    That holds if columns are taken. If one matrix is taken for each batch entry (a batch of LoRA models), all matrices become
    one, and an einsum picks the entries on the diagonal.
    In the profile `tvm` the results of branches lose their lengths.
    """
    return apply_rules(fn, at, [Rule("take after the product", _PRODUCT, _reordered)])


_X, _WEIGHTS, _INDICES = wildcard(), wildcard(), wildcard()
_TAKE = is_op("relax.take")(_WEIGHTS, _INDICES)
_PRODUCT = is_op("relax.matmul")(_X, _TAKE)


def _reordered(found: Match) -> e.Expr | None:
    x, weights, indices = found[_X], found[_WEIGHTS], found[_INDICES]
    infos = [part.struct_info for part in (x, weights, indices, found[_PRODUCT])]
    ranks = [info.ndim if isinstance(info, s.TensorStructInfo) else -1 for info in infos]
    take = found.call(_TAKE).attrs
    if -1 in ranks:
        return None
    axis, mode = take.get("axis"), take.get("mode", "fast")
    if ranks[2] == 1 and axis == ranks[1] - 1 and ranks[1] > 1:
        table = call("relax.matmul", x, weights)
        return call("relax.take", table, indices, axis=ranks[3] - 1, mode=mode)
    if ranks == [3, 3, 1, 3] and axis == 0:
        return _of_batches(x, weights, indices, mode)
    return None


def _of_batches(x: e.Expr, weights: e.Expr, indices: e.Expr, mode: str) -> e.Expr | None:
    """The products of each batch entry with its own matrix."""
    lengths, table, count = (s.lengths(part.struct_info) for part in (x, weights, indices))
    if not lengths or not table or lengths[0] is not (count or (None,))[0]:
        return None
    rows = call("relax.permute_dims", weights, axes=(1, 0, 2))
    fused = call("relax.reshape", rows, e.ShapeExpr((table[1], product((table[0], table[2])))))
    products = call("relax.matmul", x, fused)
    apart = call("relax.reshape", products, e.ShapeExpr((lengths[0], lengths[1], table[0], table[2])))
    chosen = call("relax.take", apart, indices, axis=2, mode=mode)
    return call("relax.einsum", e.Tuple((chosen,)), subscripts="ijik->ijk")
