"""Results of simplify and the prover, compared with every assignment of small lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.bounds import bounds
from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from tests.support.dimensions import VARIABLES, conditions, expressions, grid, values

GRID = grid()
CONDITIONS = conditions()


def holds_as_said(answer: Answer, outcomes: Any) -> None:
    if answer is Answer.YES:
        assert outcomes.all()
    if answer is Answer.NO:
        assert not outcomes.any()


@given(expressions(4))
@settings(max_examples=400, deadline=None)
def test_simplify_keeps_the_value(expr: p.PrimExpr) -> None:
    new = simplify(expr)
    (old_values, known), (new_values, new_known) = values(expr, GRID), values(new, GRID)
    assert (new_known | ~known).all(), "the simpler expression fails where the other does not"
    assert (old_values == new_values)[known].all()
    assert new.dtype is expr.dtype


@given(CONDITIONS)
@settings(max_examples=200, deadline=None)
def test_simplify_keeps_the_truth(expr: p.PrimExpr) -> None:
    (old_values, known), (new_values, _) = values(expr, GRID), values(simplify(expr), GRID)
    assert (old_values.astype(bool) == new_values.astype(bool))[known].all()


@given(expressions(4))
@settings(max_examples=200, deadline=None)
def test_simplify_is_done_after_one_step(expr: p.PrimExpr) -> None:
    once = simplify(expr)
    assert equal(once, expr) is not Answer.NO
    assert simplify(simplify(once)) is simplify(once)


@pytest.mark.parametrize("first", [0, 1])
def test_factors_that_are_made_on_the_way_have_one_order(first: int) -> None:
    n = p.PrimVar("n")
    factors = [p.Select(p.EQ(n, n // 0), n + n, n), n % (n - n)]
    simplify(factors[first] * n)
    assert str(simplify(factors[0] * factors[1])) == "n % 0 * T.Select(n == n // 0, n * 2, n)"


@given(expressions(4))
@settings(max_examples=300, deadline=None)
def test_the_text_does_not_depend_on_what_was_simplified_before(expr: p.PrimExpr) -> None:
    fresh = {var: p.PrimVar(var.name) for var in VARIABLES}
    backwards = [fresh[var] for var in reversed(VARIABLES)]
    assert equal(backwards[0] * backwards[1] * backwards[2], backwards[0]) is Answer.UNKNOWN
    assert str(simplify(p.substitute(expr, fresh))) == str(simplify(expr))


@given(expressions(3), expressions(3))
@settings(max_examples=500, deadline=None)
def test_equal_is_right(a: p.PrimExpr, b: p.PrimExpr) -> None:
    (x, known), (y, also_known) = values(a, GRID), values(b, GRID)
    holds_as_said(equal(a, b), (x == y)[known & also_known])


@given(expressions(3), st.integers(-6, 12))
@settings(max_examples=300, deadline=None)
def test_at_least_and_bounds_are_right(a: p.PrimExpr, bound: int) -> None:
    found, known = values(a, GRID)
    holds_as_said(at_least(a, bound), (found >= bound)[known])
    low, high = bounds(a)
    assert low is None or (found[known] >= low).all()
    assert high is None or (found[known] <= high).all()


@given(st.lists(conditions(1), max_size=3), CONDITIONS)
@settings(max_examples=500, deadline=None)
def test_what_is_proven_under_facts_holds_where_they_hold(facts: list[Any], condition: p.PrimExpr) -> None:
    outcome, known = values(condition, GRID)
    for fact in facts:
        holds, defined = values(fact, GRID)
        known = known & defined & holds.astype(bool)
    holds_as_said(prove_under(facts, condition), outcome[known].astype(bool))


@given(expressions(3))
@settings(max_examples=200, deadline=None)
def test_the_same_expression_in_another_order_is_equal(a: p.PrimExpr) -> None:
    assert equal(turned(a), a) is Answer.YES


def turned(expr: p.PrimExpr) -> p.PrimExpr:
    """The expression with the operands of every sum and product swapped."""
    children = tuple(turned(child) for child in expr.children())
    if isinstance(expr, (p.Add, p.Mul, p.Min, p.Max)):
        children = children[::-1]
    return expr.with_children(children)


def test_the_grid_has_every_small_assignment() -> None:
    assert len(np.unique(np.stack(list(GRID.values())).astype(int), axis=1).T) > 7**3
