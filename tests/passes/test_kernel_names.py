"""The text of a kernel depends on its call alone: what the process lowered before does not name its parameters and lengths."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core.passes import get

SHAPE = "(7, 11)"
CASES = {  # a program, others that are like it but for names, and what the parameters of its kernel are called
    "twice the same": ("add({0}, {0})", ["x", "x"], ["add({0}, {1})"], ["x", "x_1"]),
    "two operands": ("subtract({0}, {1})", ["u", "v"], ["subtract({0}, {0})", "subtract({1}, {0})"], ["u", "v"]),
    "a tuple": ("concat(({0}, {0}, {1}), axis=0)", ["p", "q"], ["concat(({0}, {1}, {1}), axis=0)"], ["p", "p_1", "q"]),
    "a constant": ('multiply({0}, R.const({ones}, "float32"))', ["c", "c"], ["multiply({0}, {1})"], ["c", "B"]),
    "two constants": (
        'divide(R.const({ones}, "float32"), R.const({ones}, "float32"))', ["d", "d"], ["divide({0}, R.const({ones}, 'float32'))"], ["A", "B"],
    ),
    "a literal": ('maximum({0}, R.const(2.0, "float32"))', ["e", "e"], ["maximum({1}, R.const(2.0, 'float32'))"], ["e"]),
}  # fmt: skip


def program(call: str, names: list[str], shape: str = SHAPE) -> rxe.IRModule:
    first, second = (*dict.fromkeys(names), "rest")[:2]
    params = ", ".join([f'{name}: R.Tensor({shape}, "float32")' for name in (first, second)])
    ones = [1.0] * 11
    lines = f"        r = R.{call.format(first, second, ones=ones)}\n        R.output(r)\n"
    return rxe.normalize(
        rxe.parse(f"@R.function\ndef main({params}):\n    with R.dataflow():\n{lines}    return r\n")
    )


def params(module: rxe.IRModule) -> list[str]:
    """The names of the parameters of the only kernel, without that of the result."""
    (signature,) = re.findall(r"def \w+\((.*T\.Buffer.*)\):", module.script())
    return re.findall(r"(\w+): T\.(?:Buffer|int64)", signature)[:-1]


@pytest.mark.parametrize("case", CASES)
def test_parameters_are_called_like_the_operands(case: str) -> None:
    call, names, others, expected = CASES[case]
    shape = f"({list(CASES).index(case) + 7}, 11)"  # no other test has kernels of this shape
    texts = set()
    for before in (*others, call):
        rxe.apply_pass(program(before, ["left", "right"], shape), "LegalizeOps")
        lowered = rxe.apply_pass(program(call, names, shape), "LegalizeOps")
        assert params(lowered) == expected
        texts.add(lowered.script())
    assert len(texts) == 1


def test_lengths_are_called_like_those_of_the_call() -> None:
    texts = {}
    for first, second in [("n", "m"), ("m", "n"), ("rows", "cols"), ("rows", "rows"), ("n", "m")]:
        lowered = rxe.apply_pass(
            program("exp({0})", ["x"], f'("{first}", "{second}", 13)'), "LegalizeOps"
        ).script()
        assert texts.setdefault((first, second), lowered) == lowered
        kernel = lowered.partition("def tir_exp")[2].partition("def main")[0]
        named = {name for name in ("n", "m", "rows", "cols") if re.search(rf"\b{name}\b", kernel)}
        assert named == {first, second}


def test_equal_calls_of_one_module_share_the_kernel_of_the_first() -> None:
    text = """@R.function
def main(x: R.Tensor((7, 3), "float32"), y: R.Tensor((7, 3), "float32")):
    a = R.add(y, x)
    b = R.add(x, x)
    return (a, b)
"""
    for _ in range(2):
        assert params(rxe.apply_pass(rxe.parse(text), "LegalizeOps")) == ["y", "x"]
        rxe.apply_pass(rxe.parse(text.replace("R.add(y, x)", "R.add(x, x)")), "LegalizeOps")


def test_kernels_in_place_are_called_like_the_operands() -> None:
    for left, right in [("x", "y"), ("p", "q"), ("x", "y")]:
        call = f"exp({{0}})\n        s = R.add(r, {right})".replace("{0}", left)
        text = (
            program(call, [left, right])
            .script()
            .replace("R.output(r)", "R.output(s)")
            .replace("return r", "return s")
        )
        module, _ = get("DataflowUseInplaceCalls").apply(rxe.normalize(rxe.parse(text)))
        (signature,) = re.findall(r"def \w+_inplace\((.*)\):", module.script())
        assert re.findall(r"(\w+): T\.Buffer", signature) == ["r", right]


@pytest.mark.parametrize("name", ["p", "q"])
def test_variables_of_a_dataflow_block_give_their_names_too(name: str) -> None:
    text = program(
        f"exp(x)\n        s{name} = R.sqrt(r)\n        t = R.add(s{name}, s{name})", ["x"], "(5, 3)"
    ).script()
    lowered = rxe.apply_pass(
        rxe.parse(text.replace("R.output(r)", "R.output(t)").replace("return r", "return t")), "LegalizeOps"
    )
    assert re.search(rf"def add\(s{name}: .*, s{name}_1: ", lowered.script())
