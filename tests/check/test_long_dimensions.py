"""Dimensions of two thousand terms, nested two thousand levels to the left, work everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import IRModule
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import fold
from relax_explorer.core.ir import prim as p
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.tir.intervals import Intervals
from tests.perf.generate import dimension

TERMS = 2_000
# Passes on a program of operators; each one walks over the dimensions in its own way.
PASSES = (
    "CanonicalizeBindings",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "FoldConstant",
    "ToNonDataflow",
)


def long_sum(n: p.PrimVar, terms: int = TERMS) -> p.PrimExpr:
    total: p.PrimExpr = n * 2
    for number in range(1, terms):
        total = total + (n if number % 2 else n * 2)
    return total


@pytest.fixture(scope="module")
def module() -> IRModule:
    return rxe.parse(dimension(TERMS))


@pytest.fixture(scope="module")
def lowered(module: IRModule) -> IRModule:
    return rxe.apply_pass(module, "LegalizeOps")


@pytest.mark.parametrize("dialect", ["tvm-0.27", "tvm-0.19"])
def test_they_are_printed_and_read_back(module: IRModule, dialect: str) -> None:
    assert rxe.structural_equal(rxe.parse(module.script(dialect)), module)


def test_they_are_compared_hashed_and_kept(module: IRModule) -> None:
    again = rxe.parse(dimension(TERMS))
    assert rxe.structural_equal(module, again)
    assert rxe.structural_hash(module) == rxe.structural_hash(again)
    other = rxe.parse(dimension(TERMS - 2))
    assert not rxe.structural_equal(module, other)
    assert rxe.structural_hash(module) != rxe.structural_hash(other)
    assert diff_modules(module, again).is_empty
    assert rxe.structural_equal(rxe.from_json(rxe.to_json(module)), module)


def test_they_are_checked_and_run(module: IRModule) -> None:
    assert not [item for item in rxe.check(module) if item.is_error]
    assert rxe.run(module, "main", [np.zeros(1, "float32")]).shape == (TERMS // 2 * 3,)


def test_passes_walk_over_them(module: IRModule) -> None:
    for name in PASSES:
        assert rxe.structural_equal(rxe.parse((new := rxe.apply_pass(module, name)).script()), new), name


def test_kernels_have_them(lowered: IRModule) -> None:
    again = rxe.normalize(rxe.parse(lowered.script()))
    assert rxe.structural_equal(again, lowered)
    assert rxe.structural_hash(again) == rxe.structural_hash(lowered)
    assert rxe.structural_equal(rxe.from_json(rxe.to_json(lowered)), lowered)
    assert not [item for item in rxe.check(lowered) if item.is_error]


def test_kernels_with_long_sums_run() -> None:
    short = rxe.apply_pass(rxe.parse(dimension(150)), "LegalizeOps")
    assert rxe.run(short, "main", [np.zeros(2, "float32")]).shape == (2 * 75 * 3,)


def test_arithmetic_on_them() -> None:
    n, m = p.PrimVar("n"), p.PrimVar("m")
    total = long_sum(n)
    assert simplify(total) is total  # beyond the size limit of simplification
    assert equal(total, long_sum(n)) is Answer.YES
    assert equal(total, n * 5) is Answer.UNKNOWN
    few = long_sum(n, 300)
    assert simplify(few) is simplify(n * 450)
    assert equal(few, n * 450) is Answer.YES
    for substitute in (p.substitute, fold.substitute):
        assert substitute(total, {n: m}) is long_sum(m)
        assert substitute(total, {m: n}) is total
    assert Intervals({n: 7}).of(total) == (7 * (TERMS // 2 * 3),) * 2
