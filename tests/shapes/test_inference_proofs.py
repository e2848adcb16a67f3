"""z3 confirms what inference, checks and passes decide about lengths without facts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.shapes.residual import shape_checks
from tests.support import proofs
from tests.support.mdtest import read
from tests.support.random_lengths import program

CHAPTERS = sorted((Path(__file__).parent.parent / "spec").glob("*.md"))
PASSES = ("SimplifyShapes", "EliminateShapeChecks", "FoldConstant", "LegalizeOps")


def looked_at(text: str) -> None:
    """Infer, check and change a program, if it is one."""
    try:
        module = rxe.parse(text)
        rxe.check(module)
        module = rxe.normalize(module)
        shape_checks(module)
        for name in PASSES:
            rxe.apply_pass(module, name)
    except Failure:
        return  # what was decided before the failure counts, too


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Every module that decides something is imported."""
    looked_at('@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    y = R.add(x, x)\n    return y\n')


def confirmed(found: proofs.Proofs, few: int) -> None:
    counts = found.confirm(most=1000)
    if "not asked, for z3 is not installed" not in counts:
        assert counts["confirmed"] >= few, counts
        assert counts["too hard"] <= counts.total() // 10, counts


def test_the_programs_of_the_chapters() -> None:
    with proofs.inferring() as found:
        for text in [case.program for path in CHAPTERS for case in read(path) if case.program]:
            looked_at(text)
    confirmed(found, 60)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    with proofs.inferring() as found:
        for _ in range(60):
            looked_at(program(rng))
    confirmed(found, 30)


def test_lengths_that_may_be_negative() -> None:
    dims = (
        "n - 1",
        "n * 2 - 1",
        "n // 2 - 1",
        "T.max(n, 1) - 1",
        "T.min(n, m) - n",
        "n % 4 - 3",
        "n * m - 1",
        "3 - n % 4",
    )
    with proofs.inferring() as found:
        for dim in dims:
            head = '@R.function\ndef main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("{}",), "float32")):\n'
            looked_at(head.format(dim) + "    z = R.add(y, y)\n    return z\n")
    decided = {str(condition) for _, condition, _ in found.asked}
    assert {"T.max(n, 1) - 1 >= 0", "3 - n % 4 >= 0"} <= decided
    assert "n - 1 >= 0" not in decided
    confirmed(found, 2)
