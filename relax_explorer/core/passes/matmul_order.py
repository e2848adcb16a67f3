"""Passes that move operators across matmul: ExpandMatmulOfSum, AdjustMatmulOrder, and two that reorder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer, product
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.readings import OPERATORS, operators
from relax_explorer.core.patterns.matcher import Match, seen_through
from relax_explorer.core.patterns.pattern import Pattern, is_op, wildcard
from relax_explorer.core.phases.module_properties import BUILTINS_LOWERED, NORMAL_FORM, SHAPES_LOWERED

# -- compile time ----------------------------------------------------------------------------------------------------
# Which variables of a function are known when it is compiled: those that only weights lead to.


def known_at_compile_time(fn: e.Function) -> Callable[[e.Expr, Match], bool]:
    """A test of operands: True if only parameters after the first `num_input` ones lead to a variable.

    As in TVM, a variable of the block in which the match stands is not known.
    """

    @cache  # only matches ask
    def known() -> set[e.Expr]:
        count = fn.attrs.get("num_input")
        found: set[e.Expr] = set(fn.params[count:] if isinstance(count, int) else ())
        derived = facts(fn)
        for binding, read in zip(derived.bindings, derived.operands, strict=True):
            if binding.var is not None and found.issuperset(read):
                found.add(binding.var)
        return found

    return lambda operand, found: operand in known() and operand not in found.values


# -- matmul order ----------------------------------------------------------------------------------------------------
# Passes that move operators across matmul: ExpandMatmulOfSum, AdjustMatmulOrder, and two that reorder.


@function_pass("ExpandMatmulOfSum", reads=[operators("matmul", "add")], rebuilds=True, requires=[NORMAL_FORM])
def expand_matmul_of_sum(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `matmul(x, add(a, b))` by `add(matmul(x, a), matmul(x, b))`. The sum may be transposed.

    The sum stays if both terms are known at compile time: only the parameters after the first `num_input` ones lead to them.
    CombineParallelMatmul can merge the products with others, as those of a LoRA model.
    In the profile `tvm` the results of branches lose their lengths.
    """
    known = known_at_compile_time(fn)

    def expanded(found: Match) -> e.Expr | None:
        a, b = found[_A], found[_B]
        if (known(a, found) and known(b, found)) or not _is_a_sum_of_factors(found):
            return None
        if _TRANSPOSED in found:
            axes = found.call(_TRANSPOSED).attrs.get("axes")
            a, b = (call("relax.permute_dims", term, axes=axes) for term in (a, b))
        return call("relax.add", call("relax.matmul", found[_X], a), call("relax.matmul", found[_X], b))

    return apply_rules(fn, at, [Rule("expand a product with a sum", _PRODUCT, expanded)])


_X, _A, _B, _C = wildcard(), wildcard(), wildcard(), wildcard()
_SUM = is_op("relax.add")(_A, _B)
_TRANSPOSED = is_op("relax.permute_dims")(_SUM)
_PRODUCT = is_op("relax.matmul")(_X, _SUM | _TRANSPOSED)


def _is_a_sum_of_factors(found: Match) -> bool:
    """True if each term is a factor as the sum is: as many axes multiply, and they are as long."""
    shapes = [s.lengths(found[part].struct_info) for part in (_SUM, _A, _B)]
    if _TRANSPOSED in found:
        rank = len(shapes[0])
        axes = found.call(_TRANSPOSED).attrs.get("axes") or range(rank)[::-1]
        if any(len(shape) != rank for shape in shapes):
            return False
        shapes = [tuple([shape[axis] for axis in axes]) for shape in shapes]
    multiplied = {(len(shape) > 1, shape[-2:][0]) for shape in shapes if shape}
    return all(shapes) and len(multiplied) == 1


_ONE = p.IntImm(1)


@function_pass("AdjustMatmulOrder", reads=[operators("matmul")], rebuilds=True, requires=[NORMAL_FORM])
def adjust_matmul_order(fn: e.Function, at: PassSite) -> e.Function:
    """Write `a @ (b @ c)` as `(a @ b) @ c`, or the reverse, if that takes fewer multiplications for all lengths.

    A batch counts as many products as it has matrices. So the product `x @ (A @ B)` of a LoRA model never computes the large
    `A @ B`. An inner product may be transposed. Two neighbours that are known at compile time are multiplied first. The attribute
    `tir_var_upper_bound` of the function bounds shape variables.
    In the profile `tvm` the results of branches lose their lengths.
    """
    known, bounds = known_at_compile_time(fn), _bounds(fn)

    def adjusted(found: Match) -> e.Expr | None:
        factors = [found[_A], found[_B], found[_C]]
        early = [known(factor, found) for factor in factors]
        shapes = [_lengths(factor) for factor in factors]
        if all(early) or not _is_plain(found) or not _can_regroup(shapes):
            return None
        is_left = _LEFT in found or _TRANSPOSED_LEFT in found
        is_transposed = _FLIPPED in found or _FLIPPED_RIGHT in found
        if is_transposed:
            if not _swaps_two_axes(found):
                return None
            for n in (0, 1) if is_left else (1, 2):
                factors[n], shapes[n] = call("relax.permute_dims", factors[n]), shapes[n][::-1]
                early[n] = False
        left = _is_left_better(shapes, early, bounds)
        if left is None or (left is is_left and not is_transposed):
            return None
        a, b, c = factors
        wanted = found.call(_PRODUCTS).attrs.get("out_dtype")
        if left:
            return call("relax.matmul", call("relax.matmul", a, b), c, out_dtype=wanted)
        return call("relax.matmul", a, call("relax.matmul", b, c), out_dtype=wanted)

    return apply_rules(fn, at, [Rule("reorder three factors", _PRODUCTS, adjusted)])


_matmul = is_op("relax.matmul")
_INNER, _SWAPPED = _matmul(_A, _B), _matmul(_B, _A)
_INNER_RIGHT, _SWAPPED_RIGHT = _matmul(_B, _C), _matmul(_C, _B)
_permute_dims = is_op("relax.permute_dims")
_FLIPPED, _FLIPPED_RIGHT = _permute_dims(_SWAPPED), _permute_dims(_SWAPPED_RIGHT)
_LEFT: Pattern = _matmul(_INNER, _C)
_RIGHT: Pattern = _matmul(_A, _INNER_RIGHT)
_TRANSPOSED_LEFT: Pattern = _matmul(_FLIPPED, _C)
_TRANSPOSED_RIGHT: Pattern = _matmul(_A, _FLIPPED_RIGHT)
_PRODUCTS = _LEFT | _RIGHT | _TRANSPOSED_LEFT | _TRANSPOSED_RIGHT


def _is_plain(found: Match) -> bool:
    """True if no product asks for another dtype than its factors have: another order would give it to another product."""
    products = (_INNER, _SWAPPED, _INNER_RIGHT, _SWAPPED_RIGHT, _PRODUCTS)
    return all(_keeps_dtype(found.call(part)) for part in products if part in found)


def _keeps_dtype(product: e.Call) -> bool:
    wanted = product.attrs.get("out_dtype")
    infos = [factor.struct_info for factor in product.args]
    return wanted is None or all(
        isinstance(info, s.TensorStructInfo) and info.dtype is wanted for info in infos
    )


def _swaps_two_axes(found: Match) -> bool:
    """True if the inner product is a matrix, and its axes are swapped."""
    inner, outer = (_SWAPPED, _FLIPPED) if _FLIPPED in found else (_SWAPPED_RIGHT, _FLIPPED_RIGHT)
    return len(_lengths(found[inner])) == 2 and found.call(outer).attrs.get("axes") in (None, (1, 0))


def _lengths(factor: e.Expr) -> tuple[p.PrimExpr, ...]:
    return s.lengths(factor.struct_info)


def _can_regroup(shapes: Sequence[tuple[p.PrimExpr, ...]]) -> bool:
    """True if both orders are products: the factor in the middle is a matrix, and vectors meet no batches."""
    ranks = [len(shape) for shape in shapes]
    return ranks[1] >= 2 and min(ranks) >= 1 and (min(ranks) > 1 or max(ranks) == 2)


def _is_left_better(
    shapes: Sequence[tuple[p.PrimExpr, ...]], early: Sequence[bool], bounds: Sequence[p.PrimExpr]
) -> bool | None:
    """True if the first two factors should be multiplied first, False if the last two should, None if neither is proven."""
    if early[1] and (early[0] or early[2]):
        return early[0]
    rows, inner = (shapes[0] if len(shapes[0]) > 1 else (_ONE, *shapes[0]))[-2:]
    outer, columns = (shapes[2] if len(shapes[2]) > 1 else (*shapes[2], _ONE))[-2:]
    first, second, whole = _batch(shapes[:2]), _batch(shapes[1:]), _batch(shapes)
    left = first * rows * inner * outer + whole * rows * outer * columns
    right = second * inner * outer * columns + whole * rows * inner * columns
    every = dict.fromkeys([length for shape in shapes for length in shape])
    facts = [*bounds, *(p.GT(length, p.IntImm(0)) for length in every)]
    if prove_under(facts, p.LT(left, right)) is Answer.YES:
        return True
    return False if prove_under(facts, p.LT(right, left)) is Answer.YES else None


def _batch(shapes: Sequence[tuple[p.PrimExpr, ...]]) -> p.PrimExpr:
    """How many products of matrices one of these tensors is: the lengths in front of the last two axes, broadcast."""
    lengths: dict[int, p.PrimExpr] = {}
    for shape in shapes:
        for place, length in enumerate(shape[-3::-1]):
            if lengths.get(place, _ONE) is _ONE:
                lengths[place] = length
    count: p.PrimExpr = _ONE
    for length in lengths.values():
        count = count * length
    return count


def _bounds(fn: e.Function) -> list[p.PrimExpr]:
    """The upper bounds of shape variables that an attribute of the function states."""
    given = fn.attrs.get("tir_var_upper_bound") or {}
    infos = [param.struct_info for param in fn.params if param.struct_info is not None]
    dims = dict.fromkeys(dim for info in infos for dim in info_vars(info))
    return [p.LT(dim, p.IntImm(given[dim.name])) for dim in dims if isinstance(given.get(dim.name), int)]


@function_pass("ReorderPermuteDimsAfterConcat", reads=[OPERATORS], rebuilds=True, requires=[NORMAL_FORM])
def reorder_permute_dims_after_concat(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `concat((permute_dims(a), permute_dims(b)))` by `permute_dims(concat((a, b)))`.

    The axes must be permuted alike, and as in TVM written alike. After CombineParallelMatmul this gives products with transposed
    weights their form back.
    In the profile `tvm` the results of branches lose their lengths.
    """
    return apply_rules(fn, at, [Rule("permute axes after the concatenation", _CONCAT, _reordered)])


MOST = 11  # tensors of one concatenation; TVM has no pattern for more
_TENSORS = wildcard()
_CONCAT = is_op("relax.concat")(_TENSORS)


def _reordered(found: Match) -> e.Expr | None:
    tensors = seen_through(found[_TENSORS], found.values)
    fields = tensors.fields if type(tensors) is e.Tuple else ()
    permutations = [_permutation(seen_through(field, found.values)) for field in fields]
    axes = {None if permutation is None else _axes(permutation) for permutation in permutations}
    axis = found.call(_CONCAT).attrs.get("axis")
    order = axes.pop() if len(axes) == 1 else None
    if not 2 <= len(fields) <= MOST or order is None or axis is None:
        return None
    calls = [permutation for permutation in permutations if permutation is not None]
    joined = call("relax.concat", e.tuple_of(tuple([inner.args[0] for inner in calls])), axis=order[axis])
    return call("relax.permute_dims", joined, axes=calls[0].attrs.get("axes"))


def _permutation(value: e.Expr) -> e.Call | None:
    return value if type(value) is e.Call and value.op is e.op_ref("relax.permute_dims") else None


def _axes(permutation: e.Call) -> tuple[int, ...] | None:
    """The axes that a permutation takes its axes from, as they are written; None if the rank is unknown."""
    info = permutation.args[0].struct_info
    if not isinstance(info, s.TensorStructInfo) or info.ndim < 0:
        return None
    axes = permutation.attrs.get("axes")
    return tuple(range(info.ndim))[::-1] if axes is None else axes


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
    return apply_rules(fn, at, [Rule("take after the product", _MATMUL, _reordered_take)])


_WEIGHTS, _INDICES = wildcard(), wildcard()
_TAKE = is_op("relax.take")(_WEIGHTS, _INDICES)
_MATMUL = is_op("relax.matmul")(_X, _TAKE)


def _reordered_take(found: Match) -> e.Expr | None:
    x, weights, indices = found[_X], found[_WEIGHTS], found[_INDICES]
    infos = [part.struct_info for part in (x, weights, indices, found[_MATMUL])]
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
