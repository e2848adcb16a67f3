"""The cost of closures and branches depends on their content, not on the number of variables in scope around them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pytest

import relax_explorer
from relax_explorer.core.check import normalize_function
from tests.support.copies import counted_copies
from tests.support.work import steps

WELL_FORMED = import_module(
    "relax_explorer.core.check.well_formed"
)  # the package has a function of this name
VECTOR = 'R.Tensor((4,), "float32")'
HEAD = f"""from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: {VECTOR}, c: R.Tensor((), "bool")) -> {VECTOR}:
"""


def _closures(count: int) -> str:
    return "".join(_closure(i) for i in range(count)) + "        return x\n"


def _closure(i: int, indent: str = "        ", captured: str = "x") -> str:
    lines = (
        "@R.function",
        f"def f{i}(p: {VECTOR}) -> {VECTOR}:",
        f"    q = R.add(p, {captured})",
        "    return q",
        f"b{i} = f{i}({captured})",
    )
    return "".join(f"{indent}{line}\n" for line in lines)


def _closures_in_dataflow(count: int) -> str:
    inner = "".join(_closure(i, " " * 12) for i in range(count))
    return f"        with R.dataflow():\n{inner}            R.output(b0)\n        return b0\n"


def _branches(count: int) -> str:
    one = "        if c:\n            b{0} = R.exp(x)\n        else:\n            b{0} = R.tanh(x)\n"
    return "".join(one.format(i) for i in range(count)) + "        return x\n"


@pytest.mark.parametrize("statements", [_closures, _closures_in_dataflow, _branches])
def test_scopes_do_not_copy_what_is_around_them(statements: Callable[[int], str]) -> None:
    items = []
    for count in (20, 40, 80):
        module = relax_explorer.parse(HEAD + statements(count))
        with counted_copies(normalize_function, WELL_FORMED) as copies:
            relax_explorer.check(module)
        items.append(copies.items)
    assert items[2] - items[1] <= 2 * (items[1] - items[0]) + 20


def test_closures_in_a_dataflow_block_do_not_walk_over_its_variables() -> None:
    modules = [relax_explorer.parse(HEAD + _closures_in_dataflow(count)) for count in (5, 20, 40, 80)]
    relax_explorer.check(modules[0])  # fills caches
    found = [steps(lambda module=module: relax_explorer.check(module), "/core/check/") for module in modules]  # type: ignore[misc]
    assert found[3] - found[2] <= 2.2 * (found[2] - found[1])


def _problems(statements: str) -> list[str]:
    return [problem.message for problem in relax_explorer.check(relax_explorer.parse(HEAD + statements))]


def test_a_dataflow_variable_ends_where_a_closure_begins_and_is_back_behind_it() -> None:
    inner = f"            a = R.exp(x)\n{_closure(0, ' ' * 12, 'a')}            d = R.add(a, b0)\n"
    text = f"        with R.dataflow():\n{inner}            R.output(d)\n        return d\n"
    assert [m for m in _problems(text) if "'a'" in m] == [
        "the closure captures the dataflow variable 'a'",
    ]


def test_a_recursive_closure_of_a_dataflow_block_sees_itself_only() -> None:
    recursive = (
        "        with R.dataflow():\n"
        f"            @R.function\n            def f(p: {VECTOR}) -> {VECTOR}:\n"
        f"                @R.function\n                def g(r: {VECTOR}) -> {VECTOR}:\n"
        "                    s = f(r)\n                    return s\n"
        "                t = g(p)\n                u = f(t)\n                return u\n"
        "            v = f(x)\n            R.output(v)\n        return v\n"
    )
    assert [m for m in _problems(recursive) if m.startswith("the closure captures")] == [
        "the closure captures the dataflow variable 'f'"
    ]
