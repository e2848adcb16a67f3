"""ExpandMatmulOfSum: write the product with a sum as a sum of products."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.passes.compile_time import known_at_compile_time
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.patterns.matcher import Match
from relax_explorer.core.patterns.pattern import is_op, wildcard


@function_pass("ExpandMatmulOfSum", has_profiles=True, requires=[NORMAL_FORM])
def expand_matmul_of_sum(fn: e.Function, at: PassSite) -> e.Function:
    """Replace `matmul(x, add(a, b))` by `add(matmul(x, a), matmul(x, b))`.

    The sum stays if both terms are known at compile time: only the parameters after the first `num_input` ones lead to them.
    CombineParallelMatmul can merge the products with others, as those of a LoRA model.
    """
    known = known_at_compile_time(fn)

    def expanded(found: Match) -> e.Expr | None:
        a, b = found[_A], found[_B]
        if (known(a, found) and known(b, found)) or not _is_a_sum_of_factors(found):
            return None
        return call("relax.add", call("relax.matmul", found[_X], a), call("relax.matmul", found[_X], b))

    return apply_rules(fn, at, [Rule("expand a product with a sum", _PRODUCT, expanded)])


_X, _A, _B = wildcard(), wildcard(), wildcard()
_SUM = is_op("relax.add")(_A, _B)
_PRODUCT = is_op("relax.matmul")(_X, _SUM)


def _is_a_sum_of_factors(found: Match) -> bool:
    """True if both terms are matrices, or vectors, as large as their sum, and the product asks for no dtype."""
    total, *terms = (s.lengths(found[part].struct_info)[-2:] for part in (_SUM, _A, _B))
    plain = found.call(_PRODUCT).attrs.get("out_dtype") is None
    return plain and bool(total) and all(term == total for term in terms)
