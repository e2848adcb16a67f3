"""Answers of the prover, compared with z3 over all integers and over wrapping int64."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.core.arith.assume import prove_under
from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from tests.support import z3_terms
from tests.support.dimensions import VARIABLES, M, N, conditions, expressions, literals

z3 = z3_terms.z3
LENGTHS = {var: z3.Int(var.name) for var in VARIABLES}
WORDS = {var: z3.BitVec(var.name, 64) for var in VARIABLES}


def meaning(expr: p.PrimExpr) -> z3_terms.Meaning:
    """The z3 term of an expression over unbounded integers."""
    return z3_terms.meaning(expr, LENGTHS)


def found(*constraints: Any) -> Any:
    """The result of a search for lengths that satisfy all constraints: sat, unsat, or unknown after too long a time."""
    return z3_terms.found(LENGTHS.values(), *constraints)


def agree(answer: Answer, outcome: Any, *known: Any) -> None:
    if answer is Answer.YES:
        assert found(*known, z3.Not(outcome)) != z3.sat
    if answer is Answer.NO:
        assert found(*known, outcome) != z3.sat


@given(expressions(3), expressions(3))
@settings(max_examples=150, deadline=None)
def test_equal_agrees(a: p.PrimExpr, b: p.PrimExpr) -> None:
    (x, known), (y, also_known) = meaning(a), meaning(b)
    agree(equal(a, b), x == y, known, also_known)


@given(expressions(3))
@settings(max_examples=100, deadline=None)
def test_simplify_agrees(expr: p.PrimExpr) -> None:
    (x, known), (y, still_known) = meaning(expr), meaning(simplify(expr))
    assert found(known, z3.Or(z3.Not(still_known), x != y)) != z3.sat


@given(expressions(3), st.integers(-4, 8))
@settings(max_examples=100, deadline=None)
def test_at_least_agrees(expr: p.PrimExpr, bound: int) -> None:
    value, known = meaning(expr)
    agree(at_least(expr, bound), value >= bound, known)


@given(st.lists(conditions(1), max_size=3), conditions(2))
@settings(max_examples=150, deadline=None)
def test_prove_under_agrees(facts: list[Any], condition: p.PrimExpr) -> None:
    outcome, known = meaning(condition)
    given = [part for fact in facts for part in meaning(fact)]
    agree(prove_under(facts, condition), outcome, known, *given)


TERMS = st.builds(
    lambda var, factor, rest: var * factor + rest,
    st.sampled_from((N, M)),
    st.integers(1, 6),
    st.integers(0, 5),
)
QUOTIENTS = st.builds(
    lambda kind, term, divisor: kind(term, p.IntImm(divisor)),
    st.sampled_from((p.FloorDiv, p.FloorMod)), TERMS, st.integers(2, 4),
)  # fmt: skip
SIGNED = st.lists(st.tuples(st.sampled_from((p.Add, p.Sub)), TERMS | QUOTIENTS), min_size=1, max_size=3)


@st.composite
def sums(draw: Any) -> p.PrimExpr:
    """Linear expressions with quotients by literals; the prover should decide them like z3."""
    total: p.PrimExpr = draw(literals)
    for kind, term in draw(SIGNED):
        total = kind(total, term)
    return total


@given(sums(), st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_what_follows_from_the_sign_of_a_quotient_is_found(a: p.PrimExpr, more: int) -> None:
    assert equal(a, a + more + 1) is Answer.NO
    assert equal(a * 2, a + a) is Answer.YES


def word(expr: p.PrimExpr) -> Any:
    """The z3 term of an expression over wrapping int64."""
    if isinstance(expr, p.PrimVar):
        return WORDS[expr]
    if isinstance(expr, p.IntImm):
        return z3.BitVecVal(expr.value, 64)
    a, b = [word(child) for child in expr.children()]
    return {p.Add: a + b, p.Sub: a - b, p.Mul: a * b}[type(expr)]


RING = st.recursive(
    st.one_of(st.sampled_from(VARIABLES), st.integers(-5, 9).map(p.IntImm)),
    lambda inner: st.builds(
        lambda kind, a, b: kind(a, b), st.sampled_from((p.Add, p.Sub, p.Mul)), inner, inner
    ),
    max_leaves=5,
)


@given(RING)
@settings(max_examples=60, deadline=None)
def test_identities_of_sums_and_products_hold_with_wrapping_too(expr: p.PrimExpr) -> None:
    solver = z3.Solver()
    solver.set("timeout", 300)
    solver.add(word(expr) != word(simplify(expr)))
    assert solver.check() != z3.sat


def test_a_quotient_is_exact_only_without_wrapping() -> None:
    """This is why overflow must be an error: the prover concludes that `n * 4 // 4` is `n`."""
    assert equal(N * 4 // 4, N) is Answer.YES
    word_n, four = WORDS[N], z3.BitVecVal(4, 64)
    differs = word_n * four / four != word_n
    wrapping, checked = z3.Solver(), z3.Solver()
    wrapping.add(word_n >= 0, differs)
    checked.add(word_n >= 0, differs, z3.BVMulNoOverflow(word_n, four, True))
    assert wrapping.check() == z3.sat
    assert checked.check() == z3.unsat
