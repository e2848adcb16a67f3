"""Models that TVM's importers made are judged as by TVM, and compute what it computes. They were not written for these tests."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.phases.phases import phase
from relax_explorer.core.session.inputs import free_lengths, generated_inputs
from tests.support.oracle import Oracle
from tests.support.pass_agreement import imported


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
    inputs = generated_inputs(fn, sources, lengths)[0]
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
