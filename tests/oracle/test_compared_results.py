"""Rows are tried on results that are made once, and each on the result that it is about. TVM is not asked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.program.module import IRModule
from tests.support.known_differences import Difference, Reason
from tests.support.oracle import Answer, Applied, Equality, Handle
from tests.support.pass_variants import Variant

GIVEN = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), i: R.Tensor((2,), "int32")) -> R.Tensor((2,), "float32"):
        unread = R.floor_divide(i, i)
        y = R.exp(x)
        z = R.exp(x)
        return y
"""
DROPPED = GIVEN.replace("        unread = R.floor_divide(i, i)\n", "").replace("        z = R.exp(x)\n", "")
OURS = GIVEN.replace("        z = R.exp(x)\n", "")
WEAKER = OURS.replace("y = ", 'y: R.Tensor("float32", ndim=1) = ')
DEAD = Variant("DeadCodeElimination")
HANDLE = Handle(1, "theirs")


@dataclass
class Stub:
    """Gives one result for every program, and says which texts are equal."""

    result: str
    equal_to: tuple[str | Handle, ...] = ()
    applied: list[Any] = field(default_factory=list)
    compared: list[Any] = field(default_factory=list)

    def apply(self, program: Any, passes: list[Any]) -> Answer[Applied]:
        self.applied.append(program)
        return Answer(Applied(self.result, HANDLE))

    def equal(self, one: Any, other: Any) -> Answer[Equality]:
        self.compared.append(other)
        return Answer(Equality(other in self.equal_to, False, ""))


def difference(stub: Stub, of: Variant = DEAD) -> Difference:
    return Difference(stub, GIVEN, of)  # type: ignore[arg-type]  # it is asked nothing else


def copied(module: IRModule) -> IRModule:
    """Another module, with the same structure."""
    return rxe.normalize(rxe.parse(re.sub(r"\by\b", "again", module.script())))


def without_divisions(module: IRModule) -> IRModule:
    return rxe.parse(re.sub(r"unread: .* = R.floor_divide\(i, i\)", "unread = R.exp(x)", module.script()))


def with_exp(module: IRModule) -> IRModule:
    return rxe.normalize(rxe.parse(module.script().replace("R.sin(", "R.exp(")))


@pytest.mark.parametrize(
    ("result", "reason", "explained"),
    [
        (OURS, Reason(""), True),
        (DROPPED, Reason(""), False),
        (DROPPED, Reason("", options={"profile": "tvm"}), True),
        (OURS, Reason("", options={"profile": "tvm"}), False),
        (DROPPED, Reason("", program=without_divisions), True),
        (WEAKER, Reason(""), False),
        (WEAKER, Reason("", unannotated=True), True),
        (DROPPED, Reason("", unannotated=True), False),
        (DROPPED, Reason("", options={"profile": "tvm"}, unannotated=True), True),
        (OURS.replace("exp", "sin"), Reason("", theirs=with_exp), True),
        (OURS.replace("exp", "sin"), Reason("", theirs=copied), False),
        (DROPPED, Reason("", ours=copied), False),
        (OURS, Reason("", ours=copied), True),
    ],
)
def test_a_row_explains_what_it_is_about(result: str, reason: Reason, explained: bool) -> None:
    assert difference(Stub(result)).is_explained([reason]) is explained


def test_results_that_no_row_changes_are_made_and_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stub, made, apply_pass = Stub(DROPPED), list[str](), rxe.apply_pass
    monkeypatch.setattr(
        rxe, "apply_pass", lambda m, name, **options: (made.append(name), apply_pass(m, name, **options))[1]
    )
    tried = difference(stub)
    same = Reason("", program=lambda module: module, ours=lambda module: module)
    assert [tried.is_explained(rows) for rows in ([Reason("")], [same], [Reason(""), same])] == [False] * 3
    assert (made, stub.applied, stub.compared) == (["DeadCodeElimination"], [GIVEN], [HANDLE])
    assert not tried.is_explained([Reason("", ours=copied)])
    assert tried.is_explained([Reason("", program=without_divisions)])
    assert (len(made), len(stub.applied), len(stub.compared)) == (2, 2, 2)


@pytest.mark.parametrize(
    ("reason", "asked"),
    [
        (Reason(""), [HANDLE]),
        (Reason("", ours=copied), [HANDLE]),
        (Reason("", theirs=copied), []),  # a text tells TVM no more than it tells us
        (Reason("", unannotated=True), []),
    ],
)
def test_tvm_compares_its_own_result_if_that_is_unchanged(reason: Reason, asked: list[Any]) -> None:
    stub = Stub(DROPPED, equal_to=(HANDLE,))
    assert difference(stub).is_explained([reason]) is bool(asked)
    assert stub.compared == asked
