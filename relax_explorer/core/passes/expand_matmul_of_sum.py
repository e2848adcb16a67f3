"""ExpandMatmulOfSum: write the product with a sum as a sum of products."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.compile_time import known_at_compile_time
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.readings import operators
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard


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


_X, _A, _B = wildcard(), wildcard(), wildcard()
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
