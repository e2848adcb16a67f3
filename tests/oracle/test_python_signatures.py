"""Names, order and defaults of operands and attributes equal those of TVM's Python functions, with which people write calls."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.ops.kit.page import default_words
from tests.support.oracle import Oracle

OTHERWISE = {
    "layout_transform": "TVM prints axis separators, but its function has no parameter for them",
    "nn.attention_bias": "the operator requires the bias; TVM's function also accepts None, for nn.attention",
    "image.resize2d": "roi is explicit, as in the operator",
    "image.resize3d": "as resize2d",
    "grad.take_backward": "the operator has a mode, but its function has no parameter for it",
    "call_tir": "types are in out_ty; the specification calls the callee func",
    "call_tir_inplace": "as call_tir",
    "call_tir_with_grad": "as call_tir",
    "call_dps_packed": "as call_tir",
    "call_py_func": "as call_tir",
    "call_pure_packed": "types are in ty_args, and any number of arguments may follow",
    "call_inplace_packed": "as call_pure_packed",
    "invoke_closure": "types are in ty_args",
    "invoke_pure_closure": "types are in ty_args",
    "call_builtin_with_ctx": "types are in ty_args",
    "print": "any number of values",
    "assert_op": "any number of values",
    "dist.call_tir_local_view": "as call_tir",
}
"""Operators whose signature differs on purpose, with the reason."""
WITHOUT_FUNCTION = re.compile(r"relax\.inspect\.")
# Defaults of TVM's Python functions for omitted operands; the operator itself is called without them, or with None.
LEFT_OUT = {"True", "False", "0", "1", "None", ""}


@pytest.fixture(scope="module")
def functions(oracle: Oracle) -> dict[str, Any]:
    return oracle.python_signatures(list(table())).get()


def same(op: type[Op], theirs: list[list[str]]) -> str:
    """The difference; a list of equal numbers equals the single number, written once per axis."""
    names, given = [q.name for q in op.parameters], [name for name, _ in theirs]
    if names != given:
        return f"{names}, TVM has {given}"
    for q, (_, default) in zip(op.parameters, theirs, strict=True):
        ours = default_words(q)
        if ours == "left out" and (default or "") in LEFT_OUT:
            continue
        if value(ours) != value(default or ""):
            return f"{q.name}={ours}, TVM has {default}"
    return ""


def value(text: str) -> Any:
    if not text:
        return text
    found = ast.literal_eval(re.sub(r"T\.\w+\(([^()]*)\)", r"\1", text))
    items = found if isinstance(found, (list, tuple)) else [found]
    return items[0] if items and all(item == items[0] for item in items) else tuple(items)


def test_signatures_are_those_of_tvm(functions: dict[str, Any]) -> None:
    found = {}
    for name, op in table().items():
        if functions[name] is None:
            assert WITHOUT_FUNCTION.match(name), f"TVM has no function for {name}"
        elif text := same(op, functions[name]):
            found[name.removeprefix("relax.")] = text
    wrong = {name: text for name, text in found.items() if name not in OTHERWISE}
    assert not wrong, wrong
    assert set(OTHERWISE) == set(found), "a row that is needed no more"


def test_most_operators_were_compared(functions: dict[str, Any]) -> None:
    assert len([name for name, rows in functions.items() if rows is not None]) >= 220
