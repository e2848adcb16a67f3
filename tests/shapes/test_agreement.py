"""Random programs on random lengths keep what was derived of them, as `tests/shapes/agreement.py` says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.tensor import joining
from relax_explorer.core.ops.tensor.linalg import Matmul
from relax_explorer.core.passes import bind_values
from relax_explorer.core.shapes import residual
from relax_explorer.core.shapes.assumptions import Assumptions
from tests.shapes.agreement import findings


@pytest.mark.parametrize("first", range(1000, 1030, 15))
def test_random_programs_agree(first: int) -> None:
    counts: Counter[str] = Counter()
    assert [text for seed in range(first, first + 15) for text in findings(seed, counts)] == []
    assert min(counts[name] for name in ("programs", "stopped", "ended", "derived")) > 3, counts


@pytest.mark.parametrize("first", range(2000, 2030, 15))
def test_random_programs_with_nested_functions_and_conditions_agree(first: int) -> None:
    counts: Counter[str] = Counter()
    found = [text for seed in range(first, first + 15) for text in findings(seed, counts, rich=True)]
    assert found == []
    assert min(counts[name] for name in ("programs", "stopped", "ended", "derived")) > 1, counts


Plant = Callable[[pytest.MonkeyPatch], None]


def casts_are_dropped(patch: pytest.MonkeyPatch) -> None:
    add = residual._Walk.add

    def adding(self: Any, kind: str, *about: Any) -> Assumptions:
        known = add(self, kind, *about)
        if kind == residual.CAST and self.checks and self.checks[-1].answer is Answer.UNKNOWN:
            self.checks[-1] = replace(self.checks[-1], answer=Answer.YES)
        return known

    patch.setattr(residual._Walk, "add", adding)


def two_variables_are_equal(patch: pytest.MonkeyPatch) -> None:
    prove = Assumptions.prove

    def proving(self: Assumptions, condition: p.PrimExpr) -> Answer:
        answer = prove(self, condition)
        lone = isinstance(condition, p.EQ) and {type(condition.a), type(condition.b)} == {p.PrimVar}
        return Answer.YES if lone and answer is Answer.UNKNOWN else answer

    patch.setattr(Assumptions, "prove", proving)


def facts_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    plus = Assumptions.plus

    def adding(self: Assumptions, condition: p.PrimExpr, why: str = "", *place: Any) -> Assumptions:
        return self if why.startswith("checked") else plus(self, condition, why, *place)

    patch.setattr(Assumptions, "plus", adding)


def a_sum_is_its_first_part(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(joining, "_total", lambda lengths: lengths[0])


def a_product_is_turned(patch: pytest.MonkeyPatch) -> None:
    infer = Matmul.infer

    def turned(*about: Any, **attrs: Any) -> s.StructInfo:
        info = infer(*about, **attrs)
        assert isinstance(info, s.TensorStructInfo)
        return info if info.dims is None else s.TensorStructInfo(info.dims[::-1], info.dtype)

    patch.setattr(Matmul, "infer", staticmethod(turned))


def the_least_specific_variant_comes_first(patch: pytest.MonkeyPatch) -> None:
    dispatcher = bind_values._dispatcher

    def reversed_dispatcher(name: str, fn: e.Function, calls: bind_values._Calls) -> e.Function:
        calls.variants[name].reverse()
        return dispatcher(name, fn, calls)

    patch.setattr(bind_values, "_dispatcher", reversed_dispatcher)


def a_dispatcher_compares_one_length(patch: pytest.MonkeyPatch) -> None:
    comparison = bind_values._comparison
    patch.setattr(bind_values, "_comparison", lambda lengths: comparison(dict(list(lengths.items())[:1])))


@pytest.mark.parametrize(
    ("plant", "seed"),
    [
        (casts_are_dropped, 1003),
        (two_variables_are_equal, 1004),
        (facts_are_forgotten, 1001),
        (a_sum_is_its_first_part, 1002),
        (a_product_is_turned, 1005),
        (the_least_specific_variant_comes_first, 1030),
        (a_dispatcher_compares_one_length, 1000),
    ],
)
def test_a_planted_fault_is_noticed(plant: Plant, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(findings(seed, Counter())) == []
    plant(monkeypatch)
    assert list(findings(seed, Counter())) != []
