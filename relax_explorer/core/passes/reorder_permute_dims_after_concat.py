"""ReorderPermuteDimsAfterConcat: concatenate first, then permute the axes once."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.patterns.matcher import Match, seen_through
from relax_explorer.core.patterns.pattern import is_op, wildcard


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
