"""Of a value that only one run made, a comparison tells which value of the other run holds its computation."""

from __future__ import annotations

import pytest

from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.compare import compare
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.pair_table import PairTable, pair_state

HEAD = '@I.ir_module\nclass Module:{}\n    @R.function\n    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
KERNEL = """
    @T.prim_func(private=True)
    def k(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = T.abs(A[v] * T.float32(2)) + T.float32({})
"""
INNER = """
    @R.function(private=True)
    def f(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.multiply(p, R.const(2.0, "float32"))
        b = R.abs(a)
        return b
"""
OUTER = """
    @R.function(private=True)
    def g(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        c = cls.f(p)
        d = R.exp(c)
        return d
"""


def module(*lines: str, functions: str = "") -> IRModule:
    body = "".join(f"        {line}\n" for line in ("cls = Module", *lines, "return out"))
    return parse(HEAD.format(functions) + body)


def told(a: IRModule, b: IRModule) -> dict[str, str]:
    """What is said of each value that only A has."""
    verdict = compare(a, b, everything=True).verdicts[0]
    return {pair.a.name: pair_state(pair) for pair in verdict.pairs if pair.a is not None and pair.b is None}


FLAT = module("a = R.multiply(x, R.const(2.0, 'float32'))", "b = R.abs(a)", "out = R.negative(b)")
CALL = "lv = R.call_tir(cls.k, (x,), out_ty=R.Tensor((2,), 'float32'))"


def kernel(offset: str = "0.0", *more: str) -> IRModule:
    return module(CALL, *more, "out = R.negative(lv)", functions=KERNEL.format(offset))


def test_what_a_kernel_computes_on_its_way_is_inside_of_its_value() -> None:
    assert told(FLAT, kernel()) == {"a": "inside lv"}


def test_a_wrong_kernel_holds_nothing() -> None:
    assert set(told(FLAT, kernel("1.0")).values()) == {"only in A"}


def test_a_value_that_nothing_reads_is_only_in_a() -> None:
    unread = module(
        "a = R.multiply(x, R.const(2.0, 'float32'))", "u = R.exp(a)", "b = R.abs(a)", "out = R.negative(b)"
    )
    assert told(unread, FLAT) == {"u": "only in A"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_value_that_a_kernel_holds_but_something_else_would_have_read(order: tuple[int, int]) -> None:
    readers = ("u = R.exp(a)", "b = R.abs(a)")
    lines = [readers[number] for number in order]
    twice = module("a = R.multiply(x, R.const(2.0, 'float32'))", *lines, "out = R.negative(b)")
    assert told(twice, kernel()) == {"a": "only in A", "u": "only in A"}


@pytest.mark.parametrize("offset", ["0.0", "1.0"])
def test_what_a_call_makes_is_inside_of_its_result_even_if_that_is_wrong(offset: str) -> None:
    calls = module("lv = cls.f(x)", "out = R.negative(lv)", functions=INNER)
    assert told(calls, kernel(offset))["a"] == "inside lv"


def test_calls_inside_of_calls() -> None:
    nested = module("lv = cls.g(x)", "out = R.negative(lv)", functions=INNER + OUTER)
    fused = module("lv = R.exp(R.abs(R.multiply(x, R.const(2.0, 'float32'))))", "out = R.negative(lv)")
    assert set(told(nested, fused).values()) <= {"inside lv"}
    kernel_text = KERNEL.format("0.0").replace(
        "T.abs(A[v] * T.float32(2)) + T.float32(0.0)", "T.exp(T.abs(A[v] * T.float32(2)))"
    )
    assert told(nested, module(CALL, "out = R.negative(lv)", functions=kernel_text)) == {
        "a": "inside lv", "b": "inside lv", "c": "inside lv", "d": "inside lv",
    }  # fmt: skip


def test_the_columns_say_what_differs_apart_from_what_does_not() -> None:
    pairs = compare(FLAT, kernel("1.0"), everything=True).verdicts[0].pairs
    for pair in pairs:
        table = PairTable.of(200)
        pieces = table.pieces(pair)
        assert "".join(text for _, text in pieces) == table.row(pair)
        differs = pair.delta is not None and not pair.equal
        assert (pieces[-1][0] == "breakpoint") == differs
    assert any(not pair.equal and pair.delta is not None for pair in pairs)


def test_a_call_inside_of_a_call_with_a_wrong_result() -> None:
    nested = module("lv = cls.g(x)", "out = R.negative(lv)", functions=INNER + OUTER)
    states = told(nested, kernel("50.0"))
    assert {name: states.get(name) for name in ("a", "b")} == {"a": "inside lv", "b": "inside lv"}
