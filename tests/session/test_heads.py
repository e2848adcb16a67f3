"""A difference also shows the head of a function and its result, which are not bindings."""

from __future__ import annotations

import json

import pytest

import relax_explorer as rxe
from relax_explorer.core.session.align import diff_modules
from relax_explorer.viz.table_diff import lines

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Object:
        y = R.exp(x)
        z = R.exp(y)
        return z
"""
CHANGES = {
    "a parameter": ("R.Tensor((2,)", "R.Tensor((3,)", "def main(x: R.Tensor((3,)"),
    "a shape variable": ("R.Tensor((2,)", 'R.Tensor(("n",)', "def main(x: R.Tensor((n,)"),
    "the name of a parameter": ("x", "w", "def main(w: "),
    "the result's StructInfo": ("-> R.Object", '-> R.Tensor((2,), "float32")', "-> R.Tensor((2,)"),
    "purity": ("@R.function\n", "@R.function(pure=False)\n", "@R.function(pure=False)"),
    "privacy": ("@R.function\n", "@R.function(private=True)\n", "@R.function(private=True)"),
    "the result": ("return z", "return y", "return y"),
    "a tuple as the result": ("return z", "return (z, y)", "return "),
}


def module(text: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(text))


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_beside_the_bindings_is_shown(name: str) -> None:
    old, new, shown = CHANGES[name]
    diff = diff_modules(module(PROGRAM), module(PROGRAM.replace(old, new)))
    (function,) = diff.functions
    assert function.status == "changed"
    assert not diff.is_empty
    added = [line.text for line in lines(diff) if line.mark == "+"]
    assert any(shown.strip() in text for text in added), added
    assert sum(line.mark == "-" for line in lines(diff)) >= 1


def test_a_renamed_binding_that_is_returned_is_no_other_result() -> None:
    diff = diff_modules(module(PROGRAM), module(PROGRAM.replace("z", "renamed")))
    (function,) = diff.functions
    assert function.count("renamed") == 1
    assert {line.mark for line in lines(diff)} == {" "}


def test_the_same_head_in_another_module_is_the_same() -> None:
    text = PROGRAM.replace("R.Tensor((2,)", 'R.Tensor(("n", 2)')
    assert diff_modules(module(text), module(text)).is_empty


def test_numbers_of_bindings_stay() -> None:
    """Lines of the head come after the bindings, so that the numbers of bindings in `--format json` stay the same."""
    diff = diff_modules(module(PROGRAM), module(PROGRAM.replace("R.Tensor((2,)", "R.Tensor((3,)")))
    (function,) = diff.functions
    assert [(pair.a, pair.b) for pair in function.pairs if pair.kind == "type"] == [(0, 0), (1, 1)]
    assert json.dumps(diff.stat)
