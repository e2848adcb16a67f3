"""Random expressions over lengths, and their values for many assignments at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from relax_explorer.core.ir import prim as p

N, M, K = p.PrimVar("n"), p.PrimVar("m"), p.PrimVar("k")
VARIABLES = (N, M, K)
_ARITHMETIC = (p.Add, p.Sub, p.Mul, p.FloorDiv, p.FloorMod, p.Div, p.Mod, p.Min, p.Max)
_COMPARISONS = (p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE)
Values = tuple[Any, Any]  # the numbers, and a mask of defined ones


# A strategy made anew for each draw takes longer than all else in a test of arithmetic.
literals = st.one_of(st.integers(0, 8), st.integers(-6, 12)).map(p.IntImm)
"""Small integers, most of them positive."""
_LEAVES = st.one_of(st.sampled_from(VARIABLES), literals)
_KINDS, _TRUTHS = st.sampled_from(_ARITHMETIC), st.sampled_from(_COMPARISONS)
_BY_LITERAL, _JOINED = st.sampled_from((p.FloorDiv, p.FloorMod, p.Mul, p.Div)), st.sampled_from((p.And, p.Or))
_TENTH, _SIXTH, _IS_SELECT = st.integers(0, 9), st.integers(0, 5), st.booleans()


def _binary(draw: Callable[..., Any], kinds: st.SearchStrategy[Any], depth: int) -> Any:
    return draw(kinds)(_expression(draw, depth), _expression(draw, depth))


def _expression(draw: Callable[..., Any], depth: int) -> Any:
    shape = draw(_TENTH) if depth > 0 else 0
    if shape <= 2:
        return draw(_LEAVES)
    if shape <= 5:
        return _binary(draw, _KINDS, depth - 1)
    if shape <= 8:
        by_literal = draw(_BY_LITERAL)
        return by_literal(_expression(draw, depth - 1), draw(literals))
    choice = (
        _condition(draw, depth - 1),
        _expression(draw, depth - 1),
        _expression(draw, depth - 1),
    )
    return p.Select(*choice) if draw(_IS_SELECT) else p.PrimCall("if_then_else", choice, choice[1].dtype)


def _condition(draw: Callable[..., Any], depth: int) -> Any:
    shape = draw(_SIXTH) if depth > 0 else 0
    if shape <= 2:
        return _binary(draw, _TRUTHS, depth)
    if shape == 3:
        return p.Not(_condition(draw, depth - 1))
    return draw(_JOINED)(_condition(draw, depth - 1), _condition(draw, depth - 1))


@st.composite
def expressions(draw: Callable[..., Any], depth: int = 3) -> p.PrimExpr:
    """Integer expressions, nested up to `depth`."""
    return _expression(draw, depth)  # type: ignore[no-any-return]  # hypothesis draws Any


@st.composite
def conditions(draw: Callable[..., Any], depth: int = 2) -> p.PrimExpr:
    """Comparisons, joined and negated."""
    return _condition(draw, depth)  # type: ignore[no-any-return]  # hypothesis draws Any


def values(expr: p.PrimExpr, given: dict[p.PrimVar, Any]) -> Values:
    """The values of an expression for arrays of lengths, small enough not to overflow; and where it has one."""
    if isinstance(expr, p.PrimVar):
        return given[expr], np.ones_like(given[expr], dtype=bool)
    parts = [values(child, given) for child in expr.children()]
    if isinstance(expr, p.IntImm):
        some = next(iter(given.values()))
        return np.full_like(some, expr.value), np.ones_like(some, dtype=bool)
    if isinstance(expr, (p.Select, p.PrimCall)):  # T.if_then_else is the only intrinsic here
        (chosen, known), (yes, yes_known), (no, no_known) = parts
        return np.where(chosen, yes, no), known & np.where(chosen, yes_known, no_known)
    if isinstance(expr, p.Not):
        return ~parts[0][0].astype(bool), parts[0][1]
    (a, a_known), (b, b_known) = parts
    if isinstance(expr, (p.And, p.Or)):
        decided = a.astype(bool) == isinstance(expr, p.Or)
        return np.where(decided, a, b), a_known & (decided | b_known)
    known = a_known & b_known
    if isinstance(expr, (p.FloorDiv, p.FloorMod, p.Div, p.Mod)):
        known = known & (b != 0)
        b = np.where(b == 0, 1, b)
    return _OPERATORS[type(expr)](a, b), known


def _truncated(a: Any, b: Any) -> Any:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    p.Add: np.add,
    p.Sub: np.subtract,
    p.Mul: np.multiply,
    p.FloorDiv: np.floor_divide,
    p.FloorMod: np.mod,
    p.Div: _truncated,
    p.Mod: lambda a, b: a - b * _truncated(a, b),
    p.Min: np.minimum,
    p.Max: np.maximum,
    p.EQ: np.equal,
    p.NE: np.not_equal,
    p.LT: np.less,
    p.LE: np.less_equal,
    p.GT: np.greater,
    p.GE: np.greater_equal,
}


def grid(most: int = 7) -> dict[p.PrimVar, Any]:
    """Every assignment of lengths 0, 1, …, most - 1, and a few hundred larger ones."""
    small = np.stack(np.meshgrid(*[np.arange(most)] * len(VARIABLES), indexing="ij")).reshape(
        len(VARIABLES), -1
    )
    large = np.random.default_rng(0).integers(0, 51, (len(VARIABLES), 400))
    columns = np.concatenate([small, large], axis=1).astype(object)
    return dict(zip(VARIABLES, columns, strict=True))
