"""RewriteCUDAGraph: capture parts of a program as CUDA graphs."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM


@function_pass("RewriteCUDAGraph", requires=[NORMAL_FORM])
def rewrite_cuda_graph(fn: e.Function, at: PassSite) -> e.Function:
    """Change nothing: TVM captures CUDA graphs only if its setting `relax.backend.use_cuda_graph` is on.

    The pass stands in pipelines so that the numbers of stages are those of TVM.
    """
    return fn
