"""z3 confirms the answers about lengths of every test, and notices a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.shapes.assumptions import Assumptions
from tests.support import proofs, z3_terms
from tests.support.proofs import Proofs, Refuted, recorded

N, M = p.PrimVar("n"), p.PrimVar("m")


def test_right_answers_are_confirmed() -> None:
    known = Assumptions().plus(p.EQ(M, p.Mul(N, p.IntImm(2)))).plus(p.LT(N, p.IntImm(4)))
    with recorded() as proofs:
        assert known.prove(p.LE(M, p.IntImm(6))) is Answer.YES
        assert known.prove(p.EQ(M, p.IntImm(9))) is Answer.NO
        assert known.prove(p.EQ(M, p.IntImm(4))) is Answer.UNKNOWN
        assert known.equal(p.FloorDiv(N, p.IntImm(4)), p.IntImm(0)) is Answer.YES
    assert proofs.confirm() == {"confirmed": 3}


@pytest.mark.parametrize("wrong", [Answer.YES, Answer.NO])
def test_a_wrong_answer_is_noticed(monkeypatch: pytest.MonkeyPatch, wrong: Answer) -> None:
    monkeypatch.setattr(Assumptions, "prove", lambda self, condition: wrong)
    with recorded() as proofs:
        Assumptions().plus(p.LE(N, M)).prove(p.EQ(N, M))
    with pytest.raises(Refuted, match="z3 has a counterexample"):
        proofs.confirm()


def test_parts_that_z3_does_not_know_may_be_anything() -> None:
    known = Assumptions().plus(p.EQ(N, p.PrimCall("log2", (M,), M.dtype)))
    with recorded() as proofs:
        assert known.equal(N + 1, N) is Answer.NO
        assert known.equal(p.PrimCall("log2", (M,), M.dtype) + 1, N + 1) is Answer.YES
    assert proofs.confirm() == {"confirmed": 2}


def test_an_answer_that_such_a_part_decides_is_counted() -> None:
    asked = (), p.GE(p.PrimCall("log2", (M,), M.dtype), p.IntImm(0)), Answer.YES
    assert Proofs({asked: None}).confirm() == {"not asked": 1}
    assert z3_terms.opaque(p.PrimCall("log2", (), FLOAT32)) == []  # no integer may stand for it
    real = (
        (),
        p.EQ(p.PrimCall("log2", (p.FloatImm(2.0, FLOAT32),), FLOAT32), p.FloatImm(1.0, FLOAT32)),
        Answer.YES,
    )
    assert Proofs({real: None}).confirm() == {"not asked": 1}


def test_a_fact_that_z3_does_not_know_is_left_out() -> None:
    real = p.EQ(p.FloatImm(2.0, FLOAT32), p.FloatImm(2.0, FLOAT32))
    odd = (real, p.GE(M, p.IntImm(2))), p.EQ(M * 2, p.IntImm(3)), Answer.NO
    assert Proofs({odd: None}).confirm() == {"confirmed": 1}
    by_other = (real, p.GE(M, p.IntImm(2))), p.GE(M, p.IntImm(1)), Answer.YES
    assert Proofs({by_other: None}).confirm() == {"confirmed": 1}
    by_real = (real,), p.GE(M, p.IntImm(2)), Answer.YES  # perhaps the fact says so
    assert Proofs({by_real: None}).confirm() == {"not asked": 1}
    with pytest.raises(Refuted):
        Proofs({((p.GE(M, p.IntImm(1)),), p.GE(M, p.IntImm(2)), Answer.YES): None}).confirm()


def test_quotients_are_rounded_up() -> None:
    rounded = p.PrimCall("ceildiv", (M, p.IntImm(2)), M.dtype)
    by_length = p.PrimCall("ceildiv", (M, N), M.dtype)  # which exists if N is not 0
    bounds = (p.GE(rounded * 2, M), p.LE(rounded * 2, M + 1), p.GE(by_length * N, M))
    assert Proofs({((), bound, Answer.YES): None for bound in bounds}).confirm() == {"confirmed": 3}
    with pytest.raises(Refuted):
        Proofs({((), p.LE(rounded * 2, M), Answer.YES): None}).confirm()
    with pytest.raises(Refuted):
        Proofs({((), p.GE(by_length * N, M + 1), Answer.NO): None}).confirm()


def test_wildcards_are_lengths_of_their_own() -> None:
    a, b = p.AnyDim(), p.AnyDim()
    assert Proofs(
        {((), p.EQ(a, a + 0), Answer.YES): None, ((), p.GE(a, p.IntImm(0)), Answer.YES): None}
    ).confirm() == {"confirmed": 2}
    with pytest.raises(Refuted):
        Proofs({((), p.EQ(a, b), Answer.YES): None}).confirm()


def power(var: p.PrimVar, times: int) -> p.PrimExpr:
    return var if times == 1 else power(var, times - 1) * var


EQUAL_POWERS = (p.EQ(N * 2, M * 2),), p.EQ(power(N, 6), power(M, 6)), Answer.YES


def test_hard_questions_get_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of high degree are quick over the reals; remainders are not, and have much time at last."""
    found = z3_terms.found

    def slow(*asked: Any, milliseconds: int) -> Any:
        return found(*asked, milliseconds=milliseconds) if milliseconds > 1000 else z3_terms.z3.unknown

    monkeypatch.setattr(z3_terms, "found", slow)
    no_square = (), p.EQ(N * N % 4, p.IntImm(2)), Answer.NO
    assert Proofs({no_square: None}).confirm() == {"confirmed": 1}
    monkeypatch.setattr(z3_terms, "LAST", 1)
    assert Proofs({EQUAL_POWERS: None}).confirm() == {"confirmed": 1}
    monkeypatch.setattr(proofs, "CONFIRMED", {})
    assert Proofs({no_square: None}).confirm() == {"too hard": 1}


def test_a_question_is_known_only_if_it_is_the_same() -> None:
    """Other names are the same question; other places of the names, and another opaque part, are not."""
    ceil, other = p.PrimCall("ceil", (N,), N.dtype), p.PrimCall("floor", (M,), M.dtype)
    right = [
        ((p.EQ(N, M * 2),), p.GE(N, M), Answer.YES),
        ((p.EQ(ceil, N),), p.EQ(ceil + 1, N + 1), Answer.YES),
    ]
    assert Proofs(dict.fromkeys(right)).confirm() == {"confirmed": 2}
    with pytest.raises(Refuted):
        Proofs({((p.EQ(N, M * 2),), p.GE(M, N), Answer.YES): None}).confirm()
    with pytest.raises(Refuted):
        Proofs({((p.EQ(N, M * 2),), p.GE(N, M), Answer.NO): None}).confirm()
    assert Proofs({((p.EQ(other, N),), p.EQ(ceil + 1, N + 1), Answer.YES): None}).confirm() == {
        "not asked": 1
    }


def test_every_test_is_recorded() -> None:
    assert Assumptions.prove.__wrapped__ is not None  # type: ignore[attr-defined]  # `wraps` adds it
