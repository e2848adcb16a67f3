"""Large numbers and large expressions: nothing wraps, nothing takes long, nothing recurses too deeply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.core.arith.assume import prove, prove_under
from relax_explorer.core.arith.bounds import bounds
from relax_explorer.core.arith.polynomial import SIZE_LIMIT
from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT32
from tests.support.dimensions import VARIABLES, K, M, N, expressions
from tests.support.work import calls

EDGES = (0, 1, 2, 3, 4, 7, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**62 + 1, 2**63 - 4, 2**63 - 1)
LENGTHS = st.fixed_dictionaries({var: st.sampled_from(EDGES) for var in VARIABLES})
HUGE = 2**62


def value(expr: p.PrimExpr, dims: dict[p.PrimVar, int]) -> int | None:
    """The value, or None if evaluation fails."""
    try:
        return evaluate(expr, dims)  # type: ignore[no-any-return]  # integers throughout
    except Undefined:
        return None


@given(expressions(4), LENGTHS)
@settings(max_examples=400, deadline=None)
def test_simplify_keeps_the_value_at_the_edge_of_int64(expr: p.PrimExpr, dims: Any) -> None:
    old, new = value(expr, dims), value(simplify(expr), dims)
    assert old is None or new is None or old == new


@given(expressions(3), expressions(3), LENGTHS)
@settings(max_examples=400, deadline=None)
def test_answers_hold_at_the_edge_of_int64(a: p.PrimExpr, b: p.PrimExpr, dims: Any) -> None:
    x, y = value(a, dims), value(b, dims)
    if x is not None and y is not None:
        assert equal(a, b) is not (Answer.NO if x == y else Answer.YES)
        assert at_least(a, y) is not (Answer.NO if x >= y else Answer.YES)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (N * 4 // 4, N),
        ((N * 4 + M * 8) // 4, N + M * 2),
        (N * M // M, N),
        (p.Div(N * 6, p.IntImm(3)), N * 2),
        ((N + 1) % 1, p.IntImm(0)),
        (p.Max(N, N - 1), N),
    ],
)
def test_what_only_holds_without_overflow_is_decided_and_overflow_is_an_error(left: Any, right: Any) -> None:
    assert equal(left, right) is Answer.YES
    for n in EDGES:
        for m in EDGES[1:]:
            found = value(left, {N: n, M: m})
            assert found is None or found == value(right, {N: n, M: m})
    assert equal(left, right + 1) is Answer.NO


@pytest.mark.parametrize(
    "expr",
    [
        N * HUGE * 4,
        N * HUGE + N * HUGE,
        N + p.IntImm(2**63 - 1) + 1,
        N + p.IntImm(-(2**63)),
        p.FloorDiv(N + p.IntImm(-(2**63)), p.IntImm(2)),
        p.FloorMod(N * HUGE * 4, p.IntImm(3)),
        p.Min(N * HUGE * 4, N * HUGE * 4 + 1),
    ],
)
def test_a_coefficient_that_no_literal_holds_stays_written_out(expr: p.PrimExpr) -> None:
    new = simplify(expr)
    assert value(new, {N: 0}) == value(expr, {N: 0})
    assert equal(expr, new) is Answer.YES
    assert bounds(expr) is not None


def test_an_int32_stays_an_int32() -> None:
    i = p.PrimVar("i", INT32)
    for expr in (
        i + p.IntImm(0, INT32),
        (i * 4) // p.IntImm(4, INT32),
        p.Max(i, i),
        (i - i) % p.IntImm(7, INT32),
    ):
        assert simplify(expr).dtype is INT32
    wide = p.Cast(N.dtype, i) + 1
    assert simplify(wide).dtype is N.dtype
    assert equal(wide, p.Cast(N.dtype, i + 1)) is Answer.YES
    assert at_least(i, 0) is Answer.UNKNOWN  # only shape variables are lengths
    assert simplify(i * (2**30) * 4) is i * (2**30) * 4


def chain(length: int, step: Any) -> p.PrimExpr:
    total: p.PrimExpr = p.PrimVar("x")
    for n in range(length):
        total = step(total, n)
    return total


GROWING = {
    "sum": lambda total, n: total + p.PrimVar(f"x{n}"),
    "difference": lambda total, n: p.PrimVar(f"x{n}") - total,
    "product": lambda total, n: total * p.PrimVar(f"x{n}"),
    "product of sums": lambda total, n: total * (p.PrimVar(f"x{n}") + 1),
    "quotient": lambda total, n: (total + n) // 3,
    "remainder": lambda total, n: (total + n) % 7,
    "minimum": lambda total, n: p.Min(total + n, M),
    "selection": lambda total, n: p.Select(p.GT(total, M), total, K + n),
    "shared": lambda total, n: total // 2 + total % 3,
    "truncating": lambda total, n: p.Div(total - n, p.IntImm(3)) - N,
    "doubling": lambda total, n: total + total,
    "negation": lambda total, n: p.Select(p.Not(p.Not(p.Not(p.LT(total, M)))), N, total),
}


MOST = 2_000_000  # calls of functions; 20,000 terms need 1,520,005 at most


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("length", [12, 80, 400, 20_000])
def test_no_expression_takes_many_calls(name: str, length: int) -> None:
    expr = chain(length, GROWING[name])
    assert calls(lambda: simplify(expr)) < MOST
    assert calls(lambda: equal(expr, simplify(expr))) < MOST
    assert calls(lambda: equal(expr, N)) < MOST
    assert calls(lambda: at_least(expr, 3)) < MOST
    assert calls(lambda: prove_under([p.GT(expr, N), p.EQ(M, K)], p.LT(expr, K))) < MOST
    assert prove(p.EQ(expr, expr)) is not Answer.NO


def test_beyond_the_limit_an_expression_comes_back_as_it_is() -> None:
    small, large = chain(100, GROWING["doubling"]), chain(SIZE_LIMIT, lambda total, n: total + N)
    assert simplify(small) is small
    assert simplify(large) is large
    assert equal(large, large) is Answer.YES
    assert equal(large, N) is Answer.UNKNOWN
    nearly = chain(SIZE_LIMIT // 2 - 2, lambda total, n: total + N)
    assert str(simplify(nearly)) == f"x + n * {SIZE_LIMIT // 2 - 2}"


@pytest.mark.parametrize("divisor", [2, -2, 3])
@pytest.mark.parametrize("most", [None, 3, -1])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (1, 9), (6, 8), (4, 5), (5, 12)])
def test_quotients_that_round_towards_zero_are_known_exactly(
    divisor: int, most: int | None, low: int, high: int
) -> None:
    dividend: p.PrimExpr = N - 5 if most is None else p.Min(N - 5, p.IntImm(most))
    quotient = p.Div(dividend, p.IntImm(divisor))
    facts = [p.GE(N, p.IntImm(low)), p.LE(N, p.IntImm(high))]
    values = [value(quotient, {N: length}) for length in range(low, high + 1)]
    for compare, holds in ((p.LE, int.__le__), (p.GE, int.__ge__)):
        for bound in range(-4, 5):
            found = {holds(one, bound) for one in values if one is not None}
            expected = Answer.UNKNOWN if len(found) == 2 else Answer.YES if found == {True} else Answer.NO
            assert prove_under(facts, compare(quotient, p.IntImm(bound))) is expected, (
                values,
                compare,
                bound,
            )
