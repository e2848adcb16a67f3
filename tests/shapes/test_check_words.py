"""What is said of a check: the condition, and what the author can write so that it vanishes."""

from __future__ import annotations

import pytest

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ops.kit.decl import equal_or_one
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.conditions import remedy, words

N, M, K = map(p.PrimVar, "nmk")
TWO, FOUR = p.IntImm(2), p.IntImm(4)
HALF, QUARTER = p.FloorDiv(M, TWO), p.FloorDiv(p.Add(M, TWO), FOUR)
EQUAL = "write {0} instead of {1} where {1} is bound, if they are always equal"
PLACE = "annotate x where its value is made, or cast it there once"
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
        (p.EQ(p.FloorMod(N, FOUR), p.IntImm(0)), MULTIPLE.format(4, "n")),
        (p.EQ(p.FloorMod(N, FOUR), p.IntImm(1)), CAST),
        (p.EQ(p.FloorMod(p.Add(N, M), FOUR), p.IntImm(0)), CAST),
        (p.EQ(equal_or_one(N, M, (N, M)), p.IntImm(0)), EQUAL.format("m", "n")),
        (p.EQ(equal_or_one(FOUR, N, (FOUR, N)), p.IntImm(0)), EQUAL.format(4, "n")),
        (p.EQ(p.Mul(p.Sub(FOUR, p.IntImm(1)), p.Sub(N, M)), p.IntImm(0)), EQUAL.format("m", "n")),
        (p.EQ(p.Mul(p.Sub(N, M), p.Sub(N, TWO)), FOUR), CAST),
        (None, PLACE),
    ],
    ids=str,
)
def test_a_remedy_is_what_suffices(condition: p.PrimExpr | None, expected: str) -> None:
    assert remedy("x", condition) == expected


def test_a_remedy_says_lengths_by_their_names() -> None:
    """A cast that named a length by `m` is the place to name it by `n`. Other definitions are put in."""
    place = p.PrimVar("y.shape[0]")
    known = Assumptions().plus(p.EQ(M, place)).plus(p.EQ(K, p.Mul(N, TWO)))
    assert remedy("x", p.EQ(M, N), known) == EQUAL.format("n", "m")
    assert remedy("x", p.EQ(M, K), known) == EQUAL.format("k", "m")
    assert remedy("x", p.EQ(K, p.IntImm(8)), known) == CAST
    size = p.PrimVar("z.shape[0]")
    assert remedy("x", p.EQ(size, M), Assumptions().plus(p.EQ(size, N))) == EQUAL.format("m", "n")
    assert remedy("x", p.EQ(place, N), known) == PLACE


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (p.EQ(N, M), "n == m"),
        (p.EQ(equal_or_one(N, M, (N, M)), p.IntImm(0)), "n == m or n == 1 or m == 1"),
        (p.EQ(equal_or_one(N, FOUR, (N, FOUR)), p.IntImm(0)), "n == 4 or n == 1"),
        (p.EQ(p.Mul(N, M), p.IntImm(0)), "n * m == 0"),
        (p.LT(N, M), "n < m"),
        (p.EQ(p.Mul(p.Sub(N, M), p.Sub(N, TWO)), FOUR), "(n - m) * (n - 2) == 4"),
    ],
    ids=str,
)
def test_a_condition_is_said_as_people_do(condition: p.PrimExpr, expected: str) -> None:
    assert words(condition) == expected
