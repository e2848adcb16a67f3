"""LLVM, numba and the reference evaluator give the same for a share of the corpus' kernels."""

from __future__ import annotations

from functools import cache

import pytest

from relax_explorer.core.exec import kernel_code, loop_nests
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.tir.stmt import PrimFunc
from tests.support.roundtrip import STAGES
from tests.tir.engines import compared, kernels

SHARE = 6  # kernels


@cache
def share() -> list[PrimFunc]:
    """Small kernels from all over the corpus. It takes seconds to read, which only processes with these tests spend."""
    small = list(kernels(STAGES))
    return small[:: len(small) // (SHARE - 1)]


@pytest.mark.parametrize("number", range(SHARE))
def test_three_answers_are_one(number: int) -> None:
    assert compared(share()[number])


def test_three_answers_are_one_with_threads_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_nests, "WORTHWHILE", 1)
    monkeypatch.setattr(ndarrays, "_SHARED", 1)
    monkeypatch.setattr(ndarrays, "_threads", lambda: 2)
    spread, function = [], kernel_code.Code.function

    def watched(self: kernel_code.Code, fn: PrimFunc, values: object, name: str) -> object:
        found = function(self, fn, values, name)  # type: ignore[arg-type]  # a sequence
        spread.append(name == kernel_code.SPREAD)
        return found

    monkeypatch.setattr(kernel_code.Code, "function", watched)
    assert len(share()) == SHARE
    assert all([compared(fn) for fn in share()])
    assert any(spread)
