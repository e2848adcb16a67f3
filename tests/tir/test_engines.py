"""LLVM, numba and the reference evaluator give the same for a share of the corpus' kernels."""

from __future__ import annotations

import pytest

from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.roundtrip import STAGES
from tests.tir.engines import compared, kernels, operands

SMALL = [fn for fn in kernels(STAGES) if operands(fn) is not None]
SHARE = SMALL[:: max(len(SMALL) // 5, 1)]


@pytest.mark.parametrize("number", range(len(SHARE)))
def test_three_answers_are_one(number: int) -> None:
    fn: PrimFunc = SHARE[number]
    assert compared(fn)
