"""CallTIRRewrite allocates a tensor on its device: by the number among all devices of the module, with its memory scope."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe

TEXT = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [
        I.vdevice("llvm", 0, "global"), I.vdevice("cuda", 0, "global.texture"), I.vdevice("llvm", 1, "global"), I.vdevice("cuda", 1, "shared")
    ]})
    @R.function
    def main(x: R.Tensor((2, 3), "float32"PLACE)):
        a = R.add(x, x)
        return a
"""
PLACES = {
    "": '0, R.str("global")',
    ', "llvm"': '0, R.str("global")',
    ', "llvm:1"': '2, R.str("global")',
    ', "cuda"': '1, R.str("global.texture")',
    ', "cuda:1:shared"': '3, R.str("shared")',
}


@pytest.mark.parametrize("place", PLACES)
def test_a_tensor_is_allocated_on_its_device(place: str) -> None:
    steps = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    result = rxe.run_pipeline(rxe.parse(TEXT.replace("PLACE", place)), steps)
    found = re.search(r'R\.dtype\("float32"\), (\d+, R\.str\("[^"]*"\)), ty_args', result.script())
    assert found is not None
    assert found[1] == PLACES[place]
