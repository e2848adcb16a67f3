"""Kernels against an interpreter that checks each access; `python -m tests.tir.hostile` is the large version."""

from __future__ import annotations

import pytest

from relax_explorer.core.ir.dtype import dtype
from tests.support.direct_interpreter import whole, wrap
from tests.tir.hostile import Guarded, main


def test_hostile_expressions(capfd: pytest.CaptureFixture[str]) -> None:
    status = main(["--expressions", "500", "--seed", "7"])
    assert status == 0, capfd.readouterr().out


def test_the_interpreter_wraps() -> None:
    assert wrap(200, dtype("int8")) == -56
    assert wrap(-1, dtype("uint32")) == 2**32 - 1
    assert whole(3e9, dtype("int32")) == -(2**31)
    assert whole(300.0, dtype("int8")) == 44


def test_memory_before_an_array_is_watched() -> None:
    guarded = Guarded(12)
    assert guarded.is_whole()
    guarded.slack[-1] = 0
    assert not guarded.is_whole()
