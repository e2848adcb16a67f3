"""Passes give TVM's results on models that its importers made. They were not written for these tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.passes.phases import phase
from relax_explorer.core.session.inputs import free_lengths, make_inputs
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, imported
from tests.support.pass_variants import variants

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
CHOSEN = (
    "module_extern", "module_llm", "module_llm_debug", "module_mask", "module_quant", "module_tuples", "onnx_attn_dyn", "onnx_convnet",
    "onnx_embed_gelu", "onnx_where_cast", "onnx_range_mask", "onnx_scatter_nd",
)  # fmt: skip
# The first two make kernels of their own, which `test_legalized.py` and others run. TVM lacks the others, or they take options that
# belong to one program.
LEFT_OUT = frozenset(
    [
        "LegalizeOps",
        "DispatchSortScan",
        "ReplaceModule",
        "SpecializeShapes",
        "LowerWildcards",
        "ElideChecks",
        "EliminateShapeChecks",
        "SimplifyShapes",
        "BindParams",
        "UpdateParamType",
        "UpdateVDevice",
        "Gradient",
        "RunCodegen",
    ]
)
PROFILED = frozenset(
    {"RemovePurityChecking"}
)  # TVM takes a function that does not declare its purity for pure
DIFFERENT = {("ToMixedPrecision", "module_quant"): "Products of float16 tensors"}
NO_FUNCTION = "RX0404"  # options name `main`, which a class of `nn` does not have


@pytest.mark.parametrize(
    "name", [name for name in passes.names() if name in passes.own() and name not in LEFT_OUT]
)
def test_the_result_is_that_of_tvm(oracle: Oracle, name: str) -> None:
    kinds = []
    for variant in variants(name):
        options = {**variant.options, "profile": "tvm"} if name in PROFILED else variant.options
        for title in CHOSEN:
            ready = oracle.apply(imported()[title], variant.before) if variant.before else None
            if ready is not None and not ready.ok:
                continue  # an earlier pass of TVM fails
            given = imported()[title] if ready is None else ready.get()
            outcome = compare(oracle, given, (name, options), variant.in_tvm)
            kinds.append(outcome.kind)
            if outcome.kind == "refused":
                assert NO_FUNCTION in outcome.details, f"{title}: {outcome.details}"
            elif outcome.kind == "differ" and not reasons(oracle, given, variant):
                row = DIFFERENT.get((name, title), outcome.details)
                assert f"| {row}" in ROWS, title
    assert {"same", "agree"} & set(kinds)


HALFWAY = {
    "legalized": ("LegalizeOps",),
    "grouped": ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps"),
    "fused": ("LegalizeOps", "AnnotateTIROpPattern", "FoldConstant", "FuseOps", "FuseTIR"),
    "without blocks": ("ToNonDataflow",),
}
AGAIN = (
    "CanonicalizeBindings", "ConvertToDataflow", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant", "InlinePrivateFunctions",
    "RewriteDataflowReshape",
)  # fmt: skip
HALFWAY_MODELS = (
    "module_llm", "module_tuples", "onnx_axes_from_tensor", "onnx_constofshape", "onnx_nll_loss", "onnx_same_consts",
    "onnx_shape_from_tensor", "onnx_where_cast",
)  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
@pytest.mark.parametrize("stage", HALFWAY)
def test_the_result_is_that_of_tvm_halfway_down_the_road(oracle: Oracle, stage: str, name: str) -> None:
    """Kernels without operands, shapes that builtins read, equal weights: a model as it is imported has none of them."""
    variant = variants(name)[0]
    kinds = []
    for title in HALFWAY_MODELS:
        ready = oracle.apply(imported()[title], HALFWAY[stage]).get()
        text = ready.text if oracle.parse(ready.text).ok else ready
        outcome = compare(oracle, text, (name, variant.options), variant.in_tvm)
        kinds.append(outcome.kind)
        assert outcome.kind in ("same", "agree", "not asked") or reasons(oracle, text, variant), (
            outcome.details
        )
    assert {"same", "agree"} & set(kinds)


def test_every_model_is_read_printed_and_judged_as_by_tvm(oracle: Oracle) -> None:
    assert len(imported()) > 50
    judged = 0
    for title, text in imported().items():
        module = rxe.parse(text)
        assert rxe.structural_equal(rxe.parse(module.script()), module), title
        if oracle.parse(text, check_well_formed=False).ok:  # it does not read all that it prints
            judged += 1
            assert rxe.well_formed(module, profile="tvm") is oracle.parse(text).ok, title
    assert judged > 50


RUN = (
    "module_llm", "module_mask", "module_moe", "module_quant", "module_rms", "module_tuples", "onnx_attn_dyn", "onnx_bn_conv_chain", "onnx_boxes",
    "onnx_convnet", "onnx_cumsum_tri", "onnx_nll_loss", "onnx_dynshape", "onnx_embed_gelu", "onnx_scatter_nd_params", "onnx_unet", "onnx_where_cast",
)  # fmt: skip


@pytest.mark.parametrize("title", RUN)
def test_models_and_what_we_build_of_them_compute_what_tvm_computes(oracle: Oracle, title: str) -> None:
    module = rxe.parse(imported()[title])
    name, fn = next((name, fn) for name, fn in module.relax_functions.items() if name in ("main", "forward"))
    infos = [(param.name, str(param.struct_info)) for param in fn.params]
    sources = {
        n: "randn:7" if "float" in info else "ones" for n, info in infos if info.startswith("R.Tensor")
    }
    lengths = {dim: 3 for dim in free_lengths(fn, sources, {})}
    inputs = make_inputs(fn, sources, lengths)
    theirs = flat(oracle.run(imported()[title], name, inputs).get())
    built = rxe.run_pipeline(module, "zero,default_build", phase_check="warn")
    assert phase(built) == "vm"
    for ours in (flat(rxe.run(module, name, inputs)), flat(rxe.run(built, name, inputs))):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            near = 2e-2 if other.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(one, other, rtol=near, atol=near)


def flat(value: object) -> list[np.ndarray]:
    """The tensors of a result."""
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in flat(part)]
    return [np.asarray(value)]
