"""Conditions of breakpoints are read, never executed, and hold at the right step, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.breakpoints import condition, on_condition
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import LONGEST

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), k: R.Tensor((), "int64")):
        y = R.add(x, x)
        z = R.concat((y, y), axis=0)
        w = R.match_cast(z, R.Tensor(("m", 2), "float32"))
        v = R.log(w)
        t = (v, k)
        r = M.inner(v)
        return r

    @R.function
    def inner(q: R.Tensor(("p", 2), "float32")):
        s = R.negative(q)
        return s
"""
ARRAY = np.array([[1, 2], [3, 0], [1, 1]], np.float32)


def stops(text: str) -> list[str]:
    """The variables at which a condition stops a run; `>f` for a stop at the call of a function."""
    at = Debugger(rxe.normalize(rxe.parse(PROGRAM)), "main", [ARRAY, np.int64(7)])
    at.breakpoints = [on_condition(text)]
    names = []
    while True:
        event = at.continue_()
        if at.done:
            break
        names.append(f">{event.function}" if event.kind == "enter" else event.binding.var.name)
    backwards = []
    while at.position:
        event = at.back_continue()
        if at.position:
            backwards.append(f">{event.function}" if event.kind == "enter" else event.binding.var.name)
    assert backwards == names[::-1]
    return names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("m == 6", ["w"]),
        ("m == 2 * n", ["w"]),
        ("m != n and m > 100", []),
        ("m == 2 * n or n > 100", ["w"]),
        ("not m < 6", ["w"]),
        ("2 < m <= 6", ["w"]),
        ("6 > m < 9", []),
        ("p > 5", [">inner"]),
        ("q.ndim == 2", [">inner"]),
        ("max(y) >= 6", ["y"]),
        ("max(y) > 6", []),
        ("min(y) == 0 and mean(y) > 2", ["y"]),
        ("max == 6", ["y", "z", "w"]),
        ("inf", ["v", "t", "s", "r"]),
        ("inf(r)", ["r"]),
        ("y[2, 1] == 2 and y[-1, 0] == y[0, 0]", ["y"]),
        ("all(y - x == x) and max(abs(y - 2 * x)) == 0", ["y"]),
        ("t[1] == 7", ["t"]),
        ("inf(v)", ["v"]),
        ("nan", []),
        ("nan(t) or inf(t)", ["t"]),
        ("y.shape[0] == 3", ["y"]),
        ("y.shape[5] == 3", []),
        ("y.size % 4 == 2", ["y"]),
        ("z.size // 5 - 1 == 1", ["z"]),
        ("m / 0 > 1", []),
        ("unknown > 1", []),
    ],
)
def test_where_a_condition_stops(text: str, names: list[str]) -> None:
    assert stops(text) == names


def test_a_tensor_of_one_element_is_a_number() -> None:
    at = Debugger(rxe.normalize(rxe.parse(PROGRAM)), "main", [ARRAY, np.int64(7)])
    assert condition("k == 7").hit(at.event, at.frame)
    assert not condition("k == 8").hit(at.event, at.frame)
    assert condition("n == 3").hit(at.event, at.frame)


def test_a_tensor_of_many_elements_is_not() -> None:
    at = Debugger(rxe.normalize(rxe.parse(PROGRAM)), "main", [ARRAY, np.int64(7)])
    with pytest.raises(rxe.Failure, match="not one number"):
        condition("x > 2").hit(at.event, at.frame)


@pytest.mark.parametrize(
    "text",
    [
        "", "n >", "exec('x')", "__import__('os')", "n.__class__", "(lambda: 1)()", "[1][0]", "n ** 9 > 1",
        "n in (1, 2)", "n is m", "'a' == 'b'", "max(x, y)", "max(x, default=1)", "~n", "n << 2", "x[0:1:0]", "x[None]", "x[...]", "x[[0]]",
        "x.data", "f'{n}'", "n if m else 1", "(n := 3)", "1j > n", "(" * 500 + "n" + ")" * 500, "-" * 900 + "n",
        "n > " + "1" * LONGEST, "n\x00> 1",
    ],
)  # fmt: skip
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        condition(text)
    assert caught.value.diagnostics[0].code is codes.BAD_EXPRESSION
