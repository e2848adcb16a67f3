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
