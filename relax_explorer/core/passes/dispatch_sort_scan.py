"""DispatchSortScan: lower the operators that sort or scan."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.legalize_ops import lower_operators
from relax_explorer.core.passes.properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.passes.readings import RARE_OPERATORS

_OPERATORS = frozenset({"relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod"})


@function_pass(
    "DispatchSortScan",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sort_scan(fn: e.Function, at: PassSite) -> e.Function:
    """Lower `sort`, `argsort`, `topk`, `cumsum` and `cumprod` to kernels, as LegalizeOps does with every operator."""
    return lower_operators(fn, at, _OPERATORS.__contains__)
