"""DispatchSampling: lower the operators that draw samples."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.legalize_ops import lower_operators
from relax_explorer.core.passes.properties import ADDED_KERNELS, NORMAL_FORM
from relax_explorer.core.passes.readings import RARE_OPERATORS


@function_pass(
    "DispatchSampling",
    rebuilds=True,
    reads=[RARE_OPERATORS],
    requires=[NORMAL_FORM],
    invalidates=ADDED_KERNELS,
)
def dispatch_sampling(fn: e.Function, at: PassSite) -> e.Function:
    """Lower `multinomial_from_uniform` to a kernel. TVM does so for GPUs, and leaves the operator to LegalizeOps on CPUs."""
    return lower_operators(fn, at, lambda name: name == "relax.multinomial_from_uniform")
