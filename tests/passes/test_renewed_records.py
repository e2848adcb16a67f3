"""Passes that derive StructInfo again record the bindings of their result, not those from before."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import get
from relax_explorer.core.program.module import IRModule
from tests.support.pass_agreement import programs

FILES = ("signatures: ", "canonicalize: ", "dataflow: ")


def all_bindings(module: IRModule) -> set[object]:
    return {binding for fn in module.relax_functions.values() for binding in bindings(fn)}


@pytest.mark.parametrize(
    "name",
    [
        "ExpandTupleArguments",
        "RemoveUnusedParameters",
        "LambdaLift",
        "CanonicalizeBindings",
    ],
)
def test_each_new_binding_is_in_the_result_or_replaced_later(name: str) -> None:
    changed = 0
    for title, text in programs().items():
        if not title.startswith(FILES):
            continue
        after, site = get(name).apply(rxe.normalize(rxe.parse(text)))
        rewrites = site.recorded.rewrites()
        known = all_bindings(after) | {binding for each in rewrites for binding in each.before}
        new = [binding for each in rewrites for binding in each.after]
        assert [binding for binding in new if binding not in known] == [], title
        changed += bool(new)
    assert changed >= 4


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_closures_in_closures_are_recorded_as_they_stand_in_the_end(depth: int) -> None:
    """A function that holds others passes on what they capture, by a parameter of its own: its bindings are new ones."""
    head = 'x{}: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):'
    lines, indent = [f"@R.function\ndef main({head.format(0)}", "    t = (x0, x0)"], "    "
    for number in range(1, depth + 1):
        lines += [f"{indent}@R.function", f"{indent}def f{number}({head.format(number)}"]
        indent += "    "
    lines += [f"{indent}u = t[0]", f"{indent}return u"]
    for number in range(depth, 0, -1):
        indent = indent[4:]
        lines += [f"{indent}v{number} = f{number}(x{number - 1})", f"{indent}return v{number}"]
    after, site = get("LambdaLift").apply(rxe.normalize(rxe.parse("\n".join(lines))))
    left = {binding for each in site.recorded.rewrites() for binding in each.after} - all_bindings(after)
    assert not left
    names = [b.var.name for each in site.recorded.rewrites() for b in each.after if b.var is not None]
    assert {*names} >= {f"f{number}" for number in range(1, depth + 1)}
