"""DispatchSampling and DispatchSortScan: operators that code of a library may compute."""

from __future__ import annotations

from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.legalize_ops import dispatched
from relax_explorer.core.passes.readings import RARE_OPERATORS
from relax_explorer.core.phases.module_properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass(
    "DispatchSampling",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sampling(module: IRModule, at: PassSite) -> IRModule:
    """Lower `multinomial_from_uniform` to a kernel. TVM does so for GPUs, and leaves the operator to LegalizeOps on CPUs.

    In the profile `tvm` public functions are then called by their symbols, as by NormalizeGlobalVar.
    """
    return dispatched(module, at, {"relax.multinomial_from_uniform"})


_OPERATORS = frozenset({"relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod"})


@module_pass(
    "DispatchSortScan",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sort_scan(module: IRModule, at: PassSite) -> IRModule:
    """Lower `sort`, `argsort`, `topk`, `cumsum` and `cumprod` to kernels, as LegalizeOps does with every operator.

    In the profile `tvm` public functions are then called by their symbols, as by NormalizeGlobalVar.
    """
    return dispatched(module, at, _OPERATORS)
