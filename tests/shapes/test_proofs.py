"""z3 confirms the answers about lengths of every test, and notices a wrong one."""

from __future__ import annotations

import pytest

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from tests.support.proofs import Refuted, recorded

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


def test_what_z3_does_not_know_is_counted() -> None:
    known = Assumptions().plus(p.EQ(N, p.PrimCall("ceildiv", (M, p.IntImm(2)), M.dtype)))
    with recorded() as proofs:
        assert known.equal(N, N) is Answer.YES
    assert proofs.confirm() == {"not asked": 1}


def test_every_test_is_recorded() -> None:
    assert Assumptions.prove.__wrapped__ is not None  # type: ignore[attr-defined]  # `wraps` adds it
