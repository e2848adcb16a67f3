"""Calls that models make while they are debugged: `invoke_debug_func`, `debug_print`; and `tuple_reset_item`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.values import NULL
from tests.exec.test_paged_cache import builtin

PROGRAM = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    io = R.null_value()
    io1 = R.call_pure_packed("vm.builtin.invoke_debug_func", io, R.str("vm.builtin.debug_print"), R.str("model.py:7"), x, sinfo_args=R.Any)
    y = R.add(x, x)
    io2 = R.call_pure_packed("vm.builtin.invoke_debug_func", io1, R.str("debug.seen"), R.str("model.py:8"), y, R.prim_value(3),
                             sinfo_args=R.Any)
    return (y, io2)
"""
X = np.array([1, 2], np.float32)


def test_a_model_prints_and_calls_a_function_of_the_user() -> None:
    seen: list[Any] = []

    @rxe.packed_function("debug.seen")
    def note(*args: Any) -> None:
        seen.append(args)

    at = Debugger(rxe.parse(PROGRAM), "main", [X])
    printed = []
    while not at.done:
        at.step()
        printed.append(list(at.machine.output))
    line, _, count = seen[0]
    assert (line, seen[0][1].tolist(), count) == ("model.py:8", [2, 4], 3)
    assert at.result[1] is None
    assert printed[-1] == ["model.py:7: shape = (2,), dtype = float32, data =\n[1. 2.]"]
    assert [] in printed
    for n in reversed(range(1, len(printed))):
        at.goto(n)
        assert at.machine.output == printed[n - 1]
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("invoke_debug_func", (NULL, "debug.none", "model.py:1"), "no packed function 'debug.none'"),
        ("invoke_debug_func", (X, "f", "model.py:1"), "the first argument must be null"),
        ("invoke_debug_func", (NULL, X, "model.py:1"), "two strings"),
        ("invoke_debug_func", (NULL, "f", X), "two strings"),
        ("invoke_debug_func", (NULL, "f"), "at least 3 arguments"),
        ("invoke_debug_func", (NULL, "vm.builtin.debug_print", "model.py:1", 5), "a tensor is needed"),
        ("debug_print", ("model.py:1",), "at least 2 arguments"),
        ("tuple_reset_item", ((X,), 1), "has no field 1"),
        ("tuple_reset_item", (X, 0), "has no field 0"),
    ],
)
def test_refusals(name: str, args: Any, words: str) -> None:
    with pytest.raises(rxe.Failure) as problem:
        builtin(name, *args)
    assert words in problem.value.diagnostics[0].message


def test_a_field_that_ends_can_be_seen_by_going_back() -> None:
    assert builtin("tuple_reset_item", (X, 1), 0) == ()
