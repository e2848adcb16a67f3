"""Conditions of Ifs that tensors compute from lengths: what a branch knows, and what it must not believe."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.shapes.residual import CAST, shape_checks

TEXT = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k",), "float32"), t: R.Tensor((2,), "int64")):
    n, m, k = T.int64(), T.int64(), T.int64()
    l = R.shape_to_tensor(R.shape([n, m]))
    {steps}
    if c:
        a = R.match_cast(x, R.Tensor((7, 8), "float32"))
        r = R.sum(a)
    else:
        b = R.match_cast(x, R.Tensor((7, 8), "float32"))
        r = R.sum(b)
    return r
"""
ALL = (
    "s = R.equal(l, R.const([7, 8], 'int64')); i = R.astype(s, 'int8'); j = R.min(i); c = R.astype(j, 'bool')"
)


def answers(steps: str) -> list[list[Answer]]:
    """What is known of n == 7 and m == 8 in each branch."""
    text = TEXT.format(steps="\n    ".join(steps.split("; ")))
    module = rxe.normalize(rxe.parse(text))
    found: dict[object, dict[str, Answer]] = {}
    for check in shape_checks(module):
        if check.kind == CAST:
            found.setdefault(check.place, {})[check.text] = check.answer
    return [[of.get("n == 7", Answer.YES), of.get("m == 8", Answer.YES)] for of in found.values()]


YES, NO, OPEN = Answer.YES, Answer.NO, Answer.UNKNOWN
NOTHING = [[OPEN, OPEN], [OPEN, OPEN]]


@pytest.mark.parametrize(
    ("steps", "known"),
    [
        (ALL, [[YES, YES], [OPEN, NO]]),
        (ALL.replace("R.equal(l,", "R.equal(h,").replace("s =", "h = l; s ="), [[YES, YES], [OPEN, NO]]),
        ("w = R.const([7, 8], 'int64'); s = R.equal(w, l); " + ALL.split("; ", 1)[1], [[YES, YES], [OPEN, NO]]),
        (ALL.replace("R.equal", "R.not_equal").replace("R.min", "R.max").replace("c =", "d =") + "; c = R.logical_not(d)", [[YES, YES], [OPEN, NO]]),
        (ALL.replace("R.equal", "R.not_equal").replace("R.min", "R.max"), [[OPEN, NO], [YES, YES]]),
        (ALL.replace("R.min(i)", "R.min(i, axis=[0])"), [[YES, YES], [OPEN, NO]]),
        (ALL.replace("R.min", "R.max"), [[OPEN, OPEN], [NO, NO]]),
        (ALL.replace("[7, 8]", "[6, 8]"), [[NO, YES], [OPEN, OPEN]]),
        (ALL.replace("R.equal", "R.greater").replace("[7, 8]", "[7, 7]"), [[NO, OPEN], [OPEN, OPEN]]),
        (ALL.replace("R.const([7, 8], 'int64')", "t"), NOTHING),
        (ALL.replace("i = R.astype(s, 'int8')", "u = R.add(l, l); s2 = R.equal(u, R.const([14, 16], 'int64')); i = R.astype(s2, 'int8')"), NOTHING),
        (ALL.replace("j = R.min(i)", "j = R.sum(i)"), NOTHING),
        (ALL.replace("R.equal(l, R.const([7, 8], 'int64'))", "R.equal(R.add(l, l), R.const([14, 16], 'int64'))"), NOTHING),
    ],
)  # fmt: skip
def test_what_branches_know(steps: str, known: list[list[Answer]]) -> None:
    assert answers(steps) == known


@pytest.mark.parametrize("operator", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
@pytest.mark.parametrize("whole", ["min", "max"])
def test_runs_go_where_the_condition_says(operator: str, whole: str) -> None:
    steps = ALL.replace("R.equal", f"R.{operator}").replace("R.min", f"R.{whole}")
    text = TEXT.format(steps="\n    ".join(steps.split("; ")))
    module = rxe.normalize(rxe.parse(text))
    goes = rxe.normalize(rxe.parse(text[: text.index("    if c:")] + "    return c\n"))
    then, otherwise = answers(steps)
    for n, m in product(range(5, 10), (6, 7, 8, 9)):
        x, y, t = np.ones((n, m), "float32"), np.ones(1, "float32"), np.ones(2, "int64")
        pairs = getattr(np, operator)([n, m], [7, 8])
        is_then = bool(pairs.all() if whole == "min" else pairs.any())
        assert bool(rxe.run(goes, "main", [x, y, t])) is is_then
        first, second = then if is_then else otherwise
        assert first is OPEN or (first is YES) is (n == 7)
        if n == 7:  # no other run gets to the second check
            assert second is OPEN or (second is YES) is (m == 8)
        if (n, m) == (7, 8):
            assert rxe.run(module, "main", [x, y, t]) == 56
        else:
            with pytest.raises(rxe.Failure):
                rxe.run(module, "main", [x, y, t])
