"""DecomposeOpsForTraining: replace operators by simpler ones, for training."""

from __future__ import annotations

from typing import Annotated

from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes import decompositions as parts
from relax_explorer.core.passes.contract import PassSite, function_pass, relax_function
from relax_explorer.core.passes.readings import OPERATORS
from relax_explorer.core.phases.module_properties import (
    NO_HIGH_LEVEL_OPS,
    NO_TENSOR_TO_SHAPE,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
)

_PARTS = {
    "relax.nn.batch_norm": parts.batch_norm_of_batch,
    "relax.nn.layer_norm": parts.layer_norm,
    "relax.tensor_to_shape": parts.tensor_to_shape,
}
_AS_TVM = {**_PARTS, "relax.tensor_to_shape": parts.tensor_to_any_shape}


@function_pass(
    "DecomposeOpsForTraining",
    rebuilds=True,
    reads=[OPERATORS],
    requires=[NORMAL_FORM],
    establishes=[NO_TENSOR_TO_SHAPE],
    invalidates=[NO_HIGH_LEVEL_OPS, PURITY_ERASED, SHAPES_LOWERED],
)
def decompose_ops_for_training(
    fn: e.Function,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to change; all by default"] = "",
) -> e.Function:
    """Write `nn.batch_norm` and `nn.layer_norm` as arithmetic with the moments of their data, which has a gradient.

    `nn.layer_norm(x, gamma, beta, axes)` becomes `(x - mean) / sqrt(variance + epsilon) * gamma + beta`. A batch norm also returns its
    moving moments after the batch. `tensor_to_shape` becomes a packed call with a match_cast. In the profile
    `tvm` a vector of unknown length becomes a shape without lengths.
    """
    if func_name and relax_function(at.module, func_name) is not at.module.functions[at.function]:
        at.waived.add(NO_TENSOR_TO_SHAPE)
        return fn
    return parts.decomposed(fn, at, _AS_TVM if at.as_tvm else _PARTS)
