"""What is said of a check: the condition, and what the author can write so that it vanishes."""

from __future__ import annotations

import pytest

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ops.kit.decl import equal_or_one
from relax_explorer.core.shapes.check_words import remedy, words

N, M, K = map(p.PrimVar, "nmk")
TWO, FOUR = p.IntImm(2), p.IntImm(4)
HALF, QUARTER = p.FloorDiv(M, TWO), p.FloorDiv(p.Add(M, TWO), FOUR)
CAST = "cast the value once, where its length is made"
MULTIPLE = "write a multiple of {0}, such as j * {0}, instead of {1} where {1} is bound, if it always is one"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (p.EQ(p.Mul(N, M), p.Mul(p.Mul(N, HALF), TWO)), MULTIPLE.format(2, "m")),
        (p.EQ(p.Mul(p.Mul(N, HALF), TWO), p.Mul(N, M)), MULTIPLE.format(2, "m")),
        (p.EQ(p.Mul(p.FloorDiv(N, FOUR), p.Mul(FOUR, HALF)), p.Mul(N, HALF)), MULTIPLE.format(4, "n")),
        (p.EQ(p.Mul(p.FloorDiv(N, FOUR), p.Mul(FOUR, p.Mul(HALF, TWO))), p.Mul(N, M)), CAST),
        (p.EQ(p.Mul(N, M), p.Mul(N, p.Mul(QUARTER, FOUR))), CAST),
        (p.EQ(p.Mul(N, M), p.Mul(p.Mul(N, p.FloorDiv(M, N)), TWO)), CAST),
        (p.EQ(p.Mul(HALF, TWO), M), MULTIPLE.format(2, "m")),
        (p.EQ(N, p.Mul(N, TWO)), CAST),
        (p.EQ(p.Mul(M, TWO), N), "write m * 2 instead of n where n is bound, if they are always equal"),
        (p.EQ(p.Mul(N, p.Add(M, TWO)), p.Mul(N, p.Mul(QUARTER, FOUR))), CAST),
        (p.EQ(p.Mul(N, M), p.Mul(p.Mul(N, p.FloorDiv(M, K)), K)), CAST),
        (p.LE(p.Add(N, M), FOUR), CAST),
        (None, "annotate x where its value is made, or cast it there once"),
    ],
    ids=str,
)
def test_a_remedy_is_what_suffices(condition: p.PrimExpr | None, expected: str) -> None:
    assert remedy("x", condition) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (p.EQ(N, M), "n == m"),
        (p.EQ(equal_or_one(N, M, (N, M)), p.IntImm(0)), "n == m or n == 1 or m == 1"),
        (p.EQ(equal_or_one(N, FOUR, (N, FOUR)), p.IntImm(0)), "n == 4 or n == 1"),
        (p.EQ(p.Mul(N, M), p.IntImm(0)), "n * m == 0"),
        (p.LT(N, M), "n < m"),
    ],
    ids=str,
)
def test_a_condition_is_said_as_people_do(condition: p.PrimExpr, expected: str) -> None:
    assert words(condition) == expected
