"""The FLOPs of operators by their definitions, beside those of their lowering, and beside what a hand counts."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.polynomial import Polynomial, combine
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.operator_work import declared_flops
from relax_explorer.core.ir import expr as e
from tests.support.op_examples import Example, examples


def call_of(example: Example) -> tuple[rxe.IRModule, e.Call | None]:
    module = rxe.parse(example.module())
    cost = rxe.cost(module)
    calls = [row.binding.value for row in cost.bindings if isinstance(row.binding.value, e.Call)]
    return module, calls[0] if calls else None


def same(a: Polynomial, b: Polynomial) -> bool:
    """Amounts of two texts have other variables, so their texts are compared."""
    return amounts.text(a) == amounts.text(b)


def test_declared_flops_are_those_of_the_loops_of_the_lowering() -> None:
    differ, declared = [], 0
    for example in examples():
        module, call = call_of(example)
        found = declared_flops(example.op, call) if call is not None else None
        if found is None:
            continue
        lowered = rxe.cost(rxe.apply_pass(module, "LegalizeOps")).work.total
        declared += 1
        flops = combine(found.arithmetic, found.functions)
        if not (same(lowered.flops, flops) and same(lowered.functions, found.functions)) or lowered.unknown:
            differ.append((str(example), amounts.text(flops), amounts.text(lowered.flops)))
    assert differ == []
    assert declared > 100


def test_an_operator_without_numbers_tells_it() -> None:
    silent = []
    for example in examples():
        _, call = call_of(example)
        if call is None or example.op.by_machine or example.op.shares:
            continue
        cost = rxe.cost(rxe.parse(example.module()))
        is_about_type = example.op.name.startswith("relax.inspect.") or example.op.name == "relax.size"
        if example.op.legalize is None and not cost.unknown and not is_about_type:
            silent.append(str(example))
    assert silent == []


@dataclass(frozen=True)
class Hand:
    call: str
    params: str
    flops: str
    functions: str = "0"
    moved: str = ""


HANDS = [
    Hand("R.matmul(x, y)", 'x: R.Tensor(("m", "k"), "float32"), y: R.Tensor(("k", "n"), "float32")', "2·k·m·n", "0", "4·k·m + 4·k·n + 4·m·n"),
    Hand("R.matmul(x, y)", 'x: R.Tensor(("b", "m", 64), "float16"), y: R.Tensor((64, 32), "float16")', "4,096·b·m", "0", "192·b·m + 4,096"),
    # 3 × 3 kernels of 64 channels on 56 × 56 places of 64 channels: 2 · 56² · 64 · 64 · 9
    Hand("R.nn.conv2d(x, y, padding=1)", 'x: R.Tensor(("n", 64, 56, 56), "float32"), y: R.Tensor((64, 64, 3, 3), "float32")', "231,211,008·n"),
    Hand("R.nn.conv2d(x, y, groups=64, padding=1)", 'x: R.Tensor((1, 64, 8, 8), "float32"), y: R.Tensor((64, 1, 3, 3), "float32")',
         f"{2 * 64 * 64 * 9:,}"),
    # Each of the s² scores of a head: 2·64 for the product, scale, maximum, difference, exp, sum, quotient, and 2·64 for the values.
    Hand("R.nn.attention(x, y, y)", 'x: R.Tensor(("b", "s", 8, 64), "float32"), y: R.Tensor(("b", "s", 8, 64), "float32")',
         f"{8 * (128 + 6 + 128):,}·b·s²", "8·b·s²"),
    Hand("R.nn.softmax(x)", 'x: R.Tensor(("n", "m"), "float32")', "5·m·n", "m·n", "8·m·n"),
    Hand("R.mean(x, axis=[1])", 'x: R.Tensor(("n", 8), "float32")', "9·n", "0", "36·n"),
    Hand("R.add(x, y)", 'x: R.Tensor(("n", 4), "float32"), y: R.Tensor((4,), "float32")', "4·n", "0", "32·n + 16"),
    Hand("R.reshape(x, (n, 2, 2))", 'x: R.Tensor(("n", 4), "float32")', "0", "0", "0"),
    Hand("R.grad.no_grad(x)", 'x: R.Tensor(("n", 4), "float32")', "0", "0", "0"),
    Hand("R.permute_dims(x)", 'x: R.Tensor(("n", 4), "float32")', "0", "0", "32·n"),
    Hand("R.strided_slice(x, axes=[0], begin=[0], end=[2])", 'x: R.Tensor((100, 4), "float32")', "0", "0", "64"),
    Hand("R.shape_of(x)", 'x: R.Tensor(("n", 4), "float32")', "0", "0", "0"),
]  # fmt: skip


@pytest.mark.parametrize("hand", HANDS, ids=lambda hand: f"{hand.call}-{hand.flops}")
def test_the_work_of_an_operator_is_what_a_hand_counts(hand: Hand) -> None:
    symbol = "        n = T.int64()\n" if "(n" in hand.call else ""
    head = f"@I.ir_module\nclass M:\n    @R.function\n    def main({hand.params}):\n"
    text = f"{head}{symbol}        z = {hand.call}\n        return z\n"
    cost = rxe.cost(rxe.parse(text))
    assert (str(cost.flops), str(cost.functions)) == (hand.flops, hand.functions)
    assert str(cost.moved) == hand.moved or not hand.moved
    assert cost.unknown == ()


def test_integer_matrices_have_integer_operations() -> None:
    head = '@R.function\ndef main(x: R.Tensor(("m", 4), "int8"), y: R.Tensor((4, 8), "int8")):\n'
    text = f'{head}    z = R.matmul(x, y, out_dtype="int32")\n    return z\n'
    cost = rxe.cost(rxe.parse(text))
    assert (str(cost.flops), str(cost.integers)) == ("0", "64·m")
