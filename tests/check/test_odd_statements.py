"""What looks wrong in a program, and what TVM makes of it: a print of Python is told, and what TVM takes is no problem."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Severity
from tests.support.oracle import Oracle
from tests.support.roundtrip import function

PRINT = function("print(x)\ny = R.exp(x)\nreturn y", 'x: R.Tensor((2,), "float32")')
TAKEN = {
    "a bool as a tensor": ('y = R.add(x, R.const(True, "bool"))\nreturn y', 'x: R.Tensor((2,), "float32")'),
    "a bool of the caller": (
        "y = R.add(x, b)\nreturn y",
        'x: R.Tensor((2,), "float32"), b: R.Tensor((), "bool")',
    ),
    "float": ("y = R.exp(x)\nreturn y", 'x: R.Tensor((2,), "float")'),
    "int": ('y = R.astype(x, "int")\nreturn y', 'x: R.Tensor((2,), "float32")'),
}


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_a_print_of_python_is_told_with_its_place_and_what_prints_in_a_run(profile: str) -> None:
    [found] = rxe.check(PRINT, profile=profile)
    assert (found.level, found.code.id) == (Severity.WARNING, "RX0010")
    assert found.span is not None
    assert found.span.source.line(found.span.line).strip() == "print(x)"
    assert "no part of the program" in found.message
    assert "R.print(x, format=" in found.help


def test_a_second_print_and_one_beside_an_error_are_told_too() -> None:
    twice = function("print(x)\nprint('here', x)\ny = R.exp(x)\nreturn y", 'x: R.Tensor((2,), "float32")')
    assert [item.code.id for item in rxe.check(twice)] == ["RX0010", "RX0010"]
    wrong = PRINT.replace("R.exp(x)", "R.exp(zz)")
    assert {item.code.id for item in rxe.check(wrong)} == {"RX0010", "RX0014"}


def test_the_hint_is_right() -> None:
    text = PRINT.replace("@R.function", "@R.function(pure=False)").replace(
        "print(x)", '_ = R.print(x, format="{}")'
    )
    assert rxe.check(text) == []


def test_a_pass_keeps_nothing_of_the_text() -> None:
    assert rxe.apply_pass(rxe.parse(PRINT), "LegalizeOps").refused == ()


@pytest.mark.parametrize("name", TAKEN)
def test_what_tvm_takes_is_no_problem(name: str, oracle: Oracle) -> None:
    body, head = TAKEN[name]
    assert oracle.parse(function(body, head)).ok
    assert [item for item in rxe.check(function(body, head)) if item.level > Severity.NOTE] == []
