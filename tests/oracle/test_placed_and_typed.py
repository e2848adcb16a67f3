"""UpdateVDevice and UpdateParamType give TVM's results. Differences have reasons in `differences.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from tests.passes.test_placed_and_typed import DEVICES, TYPED
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, compare, random_programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options",
    [
        {"new_vdevice": "c", "index": 2},
        {"new_vdevice": "c:3", "index": 1},
        {"new_vdevice": "llvm:2", "index": 1},
    ],
    ids=str,
)
def test_tensors_move_as_in_tvm(oracle: Oracle, options: dict[str, Any]) -> None:
    text = as_tvm_reads(DEVICES)
    theirs = oracle.apply(text, [("UpdateVDevice", options)]).get()
    ours = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "UpdateVDevice", **options)
    pairs = list(zip(devices(ours.script()), devices(theirs.text), strict=True))
    assert [pair for pair in pairs if pair[0] != pair[1] and not pair[1].endswith(":-1")] == []
    assert sum(one == other for one, other in pairs) > len(pairs) / 3
    assert "| UpdateVDevice: results and destinations" in ROWS
    assert ours.script() != text


TENSOR = re.compile(r'(R\.Tensor\((?:\([^()]*\), )?"\w+"(?:, ndim=\d+)?)\)')
INFOS = '    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("c")]})\n'


def test_tensors_of_random_programs_move_as_in_tvm(oracle: Oracle) -> None:
    options = {"new_vdevice": "cuda", "index": 0}
    moved, asked = 0, 0
    for _, text in random_programs(10, 3400000):
        placed = TENSOR.sub(r'\1, vdevice="llvm:0")', text).replace(
            "class Module:\n", f"class Module:\n{INFOS}"
        )
        given = rxe.normalize(rxe.parse(placed))
        theirs = oracle.apply(given.script(), [("UpdateVDevice", options)])
        if not theirs.ok:  # a constant beside a tensor of a device
            oracle.could_not_ask(f"UpdateVDevice: {theirs.error[-80:]}")
            continue
        ours = devices(rxe.apply_pass(given, "UpdateVDevice", **options).script())
        pairs = list(zip(ours, devices(theirs.get().text), strict=True))
        assert [pair for pair in pairs if pair[0] != pair[1] and not pair[1].endswith(":-1")] == []
        assert "llvm:0" not in ours
        asked += 1
        moved += sum(one == other for one, other in pairs)
    assert asked >= 5
    assert moved >= 20


def devices(text: str) -> list[str]:
    """The devices of all tensors in order. TVM prints the scope of memory, too."""
    return [name.removesuffix(":global") for name in re.findall(r'vdevice="([^"]+)"', text)]


def as_tvm_reads(text: str) -> str:
    """Our print of a text without its nested function, in which TVM reads no devices."""
    before, rest = text.split("        @R.function\n        def g")
    after = rest.split("v = g(x)")[1]
    return rxe.normalize(rxe.parse(f"{before}        v = x{after}")).script()


LESS_PRECISE = ("typed", "unknown lengths")
TYPES = {
    "another length": {"x": 'R.Tensor((5,), "float32")'},
    "another dtype": {"x": 'R.Tensor((2,), "float16")', "y": 'R.Tensor((2,), "float16")'},
    "unknown lengths": {"x": 'R.Tensor("float32", ndim=1)'},
    "another rank": {"x": 'R.Tensor((3, 2), "float32")', "y": 'R.Tensor((3, 2), "float32")'},
    "the same": {"c": 'R.Tensor((), "bool")'},
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("text", ["typed", *[f"seed {seed}" for seed in range(720000, 720005)]])
def test_parameters_get_types_as_in_tvm(oracle: Oracle, text: str, kind: str) -> None:
    seed = int(text.split()[-1]) if text != "typed" else 0
    program = as_module(TYPED) if not seed else next(random_programs(1, seed, "layers"))[1]
    types = {name: info for name, info in TYPES[kind].items() if f"{name}: R.Tensor" in program}
    outcome = compare(oracle, program, ("UpdateParamType", {"types": types})) if types else None
    if outcome is not None and outcome.kind == "not asked":
        oracle.could_not_ask(f"UpdateParamType: {outcome.details[-80:]}")
    elif outcome is not None and (text, kind) == LESS_PRECISE:
        assert outcome.kind == "differ"
        assert "| UpdateParamType for a result" in ROWS
    elif outcome is not None:
        assert outcome.kind in ("agree", "same"), outcome.details


def test_calls_of_other_functions_keep_their_name(oracle: Oracle) -> None:
    given = rxe.normalize(rxe.parse(as_module(next(random_programs(1, 720005, "layers"))[1])))
    options = {"types": TYPES["the same"]}
    theirs = oracle.apply(given.script(), [("UpdateParamType", options)]).get().text
    assert " = f0(" in theirs
    assert "| Calls in UpdateParamType of functions" in ROWS
    ours = rxe.apply_pass(given, "UpdateParamType", **options)
    assert ours.script() == rxe.parse(theirs.replace(" = f0(", " = Module.f0(")).script()
