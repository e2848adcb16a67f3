"""A call of a private function that always fails inside is a problem at the call; one that may end is not."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.passes.pipeline import run_step, steps

PROGRAM = """@I.ir_module
class M:
    @R.function(PRIVATEpure=False)
    def inner(x: R.Tensor(("a",), "float32"), y: R.Tensor(ndim=1, dtype="float32"), f: R.Tensor((), "bool")) -> R.Tensor(ndim=1, dtype="float32"):
        a = T.int64()
        INNER
        return z

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), f: R.Tensor((), "bool")) -> R.Tensor(ndim=1, dtype="float32"):
        n, m = T.int64(), T.int64()
        four, five = R.zeros((4,), "float32"), R.zeros((5,), "float32")
        MAIN
        return w
"""
CAST = 'z = R.match_cast(y, R.Tensor((a,), "float32"))'
ASSERTED = "u = R.assert_op(R.prim_value(a == 5))\n        z = y"
IN_A_BRANCH = 'if f:\n            u = R.match_cast(y, R.Tensor((a,), "float32"))\n            z = u\n        else:\n            z = x'
IN_A_FUNCTION = """@R.function
        def later() -> R.Tensor(ndim=1, dtype="float32"):
            u = R.match_cast(y, R.Tensor((a,), "float32"))
            return u
        z = x"""
BRANCH = "if f:\n            u = M.inner({0}, {1}, f)\n            w = u\n        else:\n            w = x"
KNOWN = 'k = R.match_cast(y, R.Tensor((n + 1,), "float32"))\n        '


def told(inner: str, main: str, private: str = "private=True, ") -> list[Diagnostic]:
    text = PROGRAM.replace("INNER", inner).replace("MAIN", main).replace("PRIVATE", private)
    found = [one for one in rxe.check(rxe.parse(text)) if one.code.id == "RX0223"]
    lines = text.splitlines()
    assert all("M." in lines[one.span.line - 1] for one in found if one.span is not None)
    return found


@pytest.mark.parametrize(
    ("inner", "main"),
    [
        (CAST, "w = M.inner(four, five, f)"),
        (CAST, "w = M.inner(x, R.zeros((n + 1,), 'float32'), f)"),
        (CAST, "e = five\n        w = M.inner(four, e, f)"),
        (CAST, "t = (four, five)\n        w = M.inner(t[0], t[1], f)"),
        (CAST, BRANCH.format("four", "five")),
        (ASSERTED, "w = M.inner(four, five, f)"),
        (CAST, KNOWN + "w = M.inner(x, y, f)"),
        (CAST, "v = M.inner(x, y, f)\n        w = M.inner(four, five, f)"),  # after a call that may end
    ],
)
def test_a_call_that_always_fails_inside_is_told(inner: str, main: str) -> None:
    found = told(inner, main)
    assert len({one.span.line for one in found if one.span is not None}) == len(found) == 1, found
    assert found[0].is_error is (inner not in (CAST, ASSERTED)), (
        "a cast or assertion that always fails is a warning where it stands, too"
    )
    assert [label.text for label in found[0].labels if label.text]


@pytest.mark.parametrize(
    ("inner", "main", "private"),
    [
        (CAST, "w = M.inner(four, four, f)", "private=True, "),
        (CAST, "w = M.inner(x, y, f)", "private=True, "),
        (CAST, "w = M.inner(y, five, f)", "private=True, "),
        ("z = y", "w = M.inner(four, five, f)", "private=True, "),
        (IN_A_BRANCH, "w = M.inner(four, five, f)", "private=True, "),  # the other branch ends
        (IN_A_FUNCTION, "w = M.inner(four, five, f)", "private=True, "),  # nobody calls it
        (CAST, "g = M.inner\n        w = g(four, five, f)", "private=True, "),  # not every call is seen
    ],
)
def test_a_call_that_may_end_is_not_told(inner: str, main: str, private: str) -> None:
    assert told(inner, main, private) == []


def test_a_call_is_told_once_and_every_such_call_is() -> None:
    twice = CAST + '\n        k = R.match_cast(x, R.Tensor((7,), "float32"))'
    main = "u = M.inner(four, five, f)\n        v = M.inner(five, four, f)\n        w = M.inner(x, x, f)"
    found = told(twice, main)
    assert len(found) == 2
    assert len({one.span.line for one in found if one.span is not None}) == 2


def test_lowered_programs_have_no_such_calls() -> None:
    text = (
        PROGRAM.replace("INNER", CAST)
        .replace("MAIN", "w = M.inner(x, x, f)")
        .replace("PRIVATE", "private=True, ")
    )
    module = rxe.normalize(rxe.parse(text))
    for step in steps("zero"):
        module = run_step(step, module, verify=False).module
    assert [one for one in rxe.check(module) if one.code.id == "RX0223"] == []


OPERATOR = """@I.ir_module
class M:
    @R.function(private=True)
    def inner(x: R.Tensor(("a",), "float32"), y: R.Tensor(("b",), "float32")) -> R.Tensor(RESULT"float32"):
        VALUE
        return z

    @R.function
    def main() -> R.Tensor("float32", ndim=1):
        w = M.inner(R.zeros((4,), "float32"), R.zeros((5,), "float32"))
        return w
"""


@pytest.mark.parametrize(
    ("result", "value", "lines"),
    [
        ("ndim=1, dtype=", "z = R.add(x, y)", [10]),
        ('("b",), ', "z = x", [10]),
        ("ndim=1, dtype=", "z = x", []),
    ],
)
def test_operators_and_results_of_the_callee_count(result: str, value: str, lines: list[int]) -> None:
    text = OPERATOR.replace("RESULT", result).replace("VALUE", value)
    found = [one for one in rxe.check(rxe.parse(text)) if one.code.id == "RX0223"]
    assert [one.span.line for one in found if one.span is not None] == lines
