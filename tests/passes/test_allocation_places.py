"""Devices in lowered programs: CallTIRRewrite names them by their number in the module, LowerRuntimeBuiltin as the machine does."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.passes.pipeline import Outcome, run_step, steps
from relax_explorer.core.phases.module_properties import BUILTINS_LOWERED
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare

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
    names = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    result = rxe.run_pipeline(rxe.parse(TEXT.replace("PLACE", place)), names)
    found = re.search(r'R\.dtype\("float32"\), (\d+, R\.str\("[^"]*"\)), ty_args', result.script())
    assert found is not None
    assert found[1] == PLACES[place]


COPY = TEXT.replace("PLACE", "").replace(
    "a = R.add(x, x)", "a = R.to_vdevice(x, DEVICE)\n        s = R.shape_of(a)"
)
COPIES = {
    '"llvm"': '1, 0, R.str("global")',
    '"llvm:1:global"': '1, 1, R.str("global")',
    '"cuda"': '2, 0, R.str("global.texture")',
    '"cuda:1"': '2, 1, R.str("shared")',
}


def to_machine(device: str) -> Outcome:
    ready = rxe.run_pipeline(rxe.parse(COPY.replace("DEVICE", device)), "RemovePurityChecking")
    return run_step(steps("LowerRuntimeBuiltin")[0], ready, verify=True)


@pytest.mark.parametrize("device", COPIES)
def test_a_copy_names_the_device_itself(device: str, oracle: Oracle) -> None:
    outcome = to_machine(device)
    assert outcome.problems == ()
    assert f'R.call_packed("vm.builtin.to_device", x, {COPIES[device]}, ' in outcome.module.script()
    assert BUILTINS_LOWERED.holds(outcome.module)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(rxe.run(outcome.module, "main", [x]), x)
    text = COPY.replace("DEVICE", device).replace("@R.function", "@R.function(pure=False)")
    text = text.replace("a = R", 'R.func_attr({"relax.force_pure": True})\n        a = R')
    ready = oracle.apply(text, [])
    assert compare(oracle, ready.get(), ("LowerRuntimeBuiltin", {})).kind == "agree"


def test_a_copy_to_an_unknown_kind_of_device_stays() -> None:
    outcome = to_machine('I.vdevice("fpga", 0)')
    assert [item.code.id for item in outcome.problems] == ["RX0405"]
    assert "fpga" in outcome.problems[0].message
    assert "R.to_vdevice" in outcome.module.script()
    assert not BUILTINS_LOWERED.holds(outcome.module)


def test_a_module_without_devices_means_the_first_one_of_a_kind() -> None:
    text = re.sub(
        r"    I\.module_global_infos\(.*?\}\)\n", "", COPY.replace("DEVICE", '"cuda:1"'), flags=re.S
    )
    lowered = rxe.run_pipeline(rxe.parse(text), "RemovePurityChecking,LowerRuntimeBuiltin")
    assert 'R.call_packed("vm.builtin.to_device", x, 2, 1, R.str("global"), ' in lowered.script()


BUILD = ("default_build", "zero,default_build")


@pytest.mark.parametrize("build", BUILD)
@pytest.mark.parametrize("place", PLACES)
def test_programs_with_devices_are_built(place: str, build: str) -> None:
    text = TEXT.replace("PLACE", place).replace(
        "return a", "b = R.exp(a)\n        c = R.sin(b)\n        d = R.exp(c)\n        return (a, d)"
    )
    module = rxe.normalize(rxe.parse(text))
    for step in steps(build):
        outcome = run_step(step, module)
        assert not [item for item in outcome.problems if item.is_error], step
        module = outcome.module


ALLOCATIONS = {
    "builtin": "a = R.builtin.alloc_tensor(R.shape([2, 3]), R.dtype('float32'), NUMBER, R.str('global'))",
    "memory": "a = R.memory.alloc_tensor(s, 0, R.shape([2, 3]), R.dtype('float32'), NUMBER)",
    "vm": "a = R.vm.alloc_tensor(s, 0, R.shape([2, 3]), R.dtype('float32'), NUMBER)",
}
NUMBERS = {
    0: "llvm:0:global",
    1: "cuda:0:global.texture",
    2: "llvm:1:global",
    3: "cuda:1:shared",
    4: "",
    -1: "",
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", ALLOCATIONS)
def test_a_new_tensor_lies_on_the_device_of_its_number(kind: str, number: int) -> None:
    text = TEXT.replace("PLACE", "").replace('"float32")):', '"float32"), s: R.Object):')
    text = text.replace("a = R.add(x, x)", ALLOCATIONS[kind].replace("NUMBER", str(number)))
    (line,) = [
        line for line in rxe.normalize(rxe.parse(text)).script().splitlines() if "alloc_tensor" in line
    ]
    found = re.search(r'vdevice="([^"]*)"', line)
    assert (found[1] if found else "") == NUMBERS[number]
    alone = re.sub(r"    I\.module_global_infos\(.*?\}\)\n", "", text, flags=re.S)
    assert "vdevice" not in rxe.normalize(rxe.parse(alone)).script()
