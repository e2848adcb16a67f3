"""Expressions of watches and `print`: their values, what has no value, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.expression import LARGEST, NoValue, expression

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 2), "float32"), u: R.Tensor((3,), "uint8"), s: R.Shape(["a", "b"]), max: R.Tensor((), "int64")):
    with R.dataflow():
        lv = R.add(x, x)
        t = (lv, s)
        y = R.multiply(lv, lv)
        R.output(y)
    z = R.negative(y)
    w = R.equal(max, R.const(5, "int64"))
    if w:
        inner = R.add(z, z)
        v = inner
    else:
        v = z
    return v
"""
X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)


def at(variable: str) -> Debugger:
    debugger = Debugger(
        rxe.normalize(rxe.parse(PROGRAM)),
        "main",
        [X, np.array([1, 2, 255], np.uint8), (7, 8), np.array(5)],
    )
    while debugger.event.binding is None or debugger.event.binding.var.name != variable:
        assert debugger.step().kind != "done"
    return debugger


def shown(text: str, variable: str = "t") -> Any:
    debugger = at(variable)
    value = expression(text).value(debugger.frame, debugger.event.value)
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n", 3), ("n * 2 + 1", 7), ("a - b", -1), ("7 // 2 + 7 % 4", 6), ("n / 2", 1.5), ("-n", -3),
        ("x", X.tolist()), ("x[1]", [3, 4]), ("x[1, 0]", 3), ("x[-1, -1]", 6), ("x[:2, 1]", [2, 4]), ("x[::2]", [[1, 2], [5, 6]]),
        ("x[n - 1, 0]", 5), ("x.shape", (3, 2)), ("x.shape[0]", 3), ("x.ndim", 2), ("x.size", 6), ("x.dtype", "float32"),
        ("s", (7, 8)), ("s[1]", 8), ("s[:1]", (7,)), ("s.ndim", 2), ("t[1]", (7, 8)), ("t[0][0, 1]", 4), ("t[0].shape", (3, 2)),
        ("max(x)", 6), ("min(x)", 1), ("mean(x)", 3.5), ("sum(x)", 21), ("sum(u)", 258), ("nan(x)", False), ("inf(x / 0)", True),
        ("max(abs(x - lv))", 6), ("abs(u - 3)", [2, 1, 252]), ("min(u - 3)", -2), ("x > 2 * n - 2", [[False] * 2, [False] * 2, [True] * 2]),
        ("any(x > 5)", True), ("all(x > 1)", False), ("n == 3 and not a > b", True), ("1 < n < 3", False), ("n > 9 or b", True),
        ("x[:, 0] + x[:, 1]", [3, 7, 11]), ("max", 5), ("max(t)", 12), ("9" * 30 + " > n", True), ("x[3:]", []),
    ],
)  # fmt: skip
def test_values(text: str, value: Any) -> None:
    assert shown(text) == value


@pytest.mark.parametrize(
    "text", ["unknown", "y", "x[3]", "x[0, 2]", "t[2]", "s[2]", "max(x[3:])", "n / 0", "n % (n - 3)", "9" * 400 + " * 1.5"]
)  # fmt: skip
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(NoValue):
        shown(text)


@pytest.mark.parametrize(
    "text",
    ["x + u", "x and n", "not x", "t + 1", "s + 1", "x[0.5]", "x[x]", "n[0]", "t.shape", "t[0, 0]", "s[0, 0]", "abs(t)",
     "t > 1", "1 < x < 3", "x if n else n", "x @ x", "max(x, 1)", "abs()", "open('a')", "x.T", "x.__class__", "[x]", "(x, n)", "x[None]",
     "x[...]", "x[::0]", "'a'", "x.shape.shape.data", "lambda: x", "x['a']", "{}", "*x", "x := 1", "x; n", "n ** n"],
)  # fmt: skip
def test_what_is_refused(text: str) -> None:
    with pytest.raises(rxe.Failure) as caught:
        shown(text)
    assert caught.value.diagnostics[0].code.id == "RX0525"


def test_a_computed_array_has_a_largest_size() -> None:
    program = (
        '@R.function\ndef main(x: R.Tensor((1, "n"), "int8"), y: R.Tensor(("n", 1), "int8")):\n    return x\n'
    )
    n = int(LARGEST**0.5) + 1
    debugger = Debugger(rxe.parse(program), "main", [np.zeros((1, n), np.int8), np.zeros((n, 1), np.int8)])
    with pytest.raises(rxe.Failure, match="too large"):
        expression("x + y").value(debugger.frame)


def test_dataflow_variables_end_with_their_block() -> None:
    """EVAL-22."""
    debugger = at("y")
    assert expression("lv[0, 0]").value(debugger.frame) == 2, "the last step of the block"
    debugger.step()
    with pytest.raises(NoValue):
        expression("lv").value(debugger.frame)
    assert not {"lv", "t"} & debugger.frame.values.keys()
    assert {"x", "y", "z"} <= debugger.frame.values.keys()
    with pytest.raises(KeyError):
        debugger.frame["lv"]
    debugger.back()
    assert "lv" in debugger.frame.values
    while not debugger.done:
        debugger.step()
    assert "inner" not in debugger.frame.values


def test_variables_of_a_branch_end_with_it() -> None:
    debugger = at("inner")
    assert "inner" in debugger.frame.values
    debugger.step()
    assert debugger.event.binding.var.name == "v"
    assert "inner" not in debugger.frame.values
    debugger.back()
    assert "inner" in debugger.frame.values
