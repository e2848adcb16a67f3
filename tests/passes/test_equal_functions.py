"""EliminateCommonSubexpr merges nested functions of the same structure."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

TEXT = """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    @R.function
    def f(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.add(z, x)
        return a
    v = f(y)
    @R.function
    def g(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.add(p, x)
        return b
    w = g(y)
    return (v, w)
"""


def functions(text: str, **options: bool) -> tuple[int, int]:
    """How many nested functions and how many calls of them are left after merging and dropping copies."""
    before = rxe.normalize(rxe.parse(text))
    merged = rxe.apply_pass(before, "EliminateCommonSubexpr", **options)
    after = rxe.apply_pass(merged, "CanonicalizeBindings").script()
    return after.count("def ") - 1, after.count("(y)")


def test_equal_functions_are_one() -> None:
    assert functions(TEXT) == (1, 1)
    assert functions(TEXT, call_only=True) == (2, 2)


def test_functions_with_effects_stay() -> None:
    text = TEXT.replace("@R.function", "@R.function(pure=False)").replace("R.add(", "R.call_packed('f', ")
    text = text.replace("x)", "x, sinfo_args=R.Tensor((2,), 'float32'))")
    assert functions(text) == (2, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R.add(p, x)", "R.add(p, y)"),
        ("R.add(p, x)", "R.subtract(p, x)"),
        ("return b", "return p"),
    ],
)
def test_functions_that_differ_stay(old: str, new: str) -> None:
    assert old in TEXT
    assert functions(TEXT.replace(old, new)) == (2, 2)


def test_the_values_are_the_same() -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    after = rxe.apply_pass(before, "EliminateCommonSubexpr")
    x, y = np.ones(2, "float32"), np.full(2, 3, "float32")
    for old, new in zip(rxe.run(before, "main", [x, y]), rxe.run(after, "main", [x, y]), strict=True):
        np.testing.assert_array_equal(old, new)
