"""A row of `differences.md` explains a difference only if it is about it: other changes of our result are noticed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare
from tests.support.pass_variants import variants

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
HEAD = """
@I.ir_module
class Module:
    @R.function(private=True)
    def inner(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        q = R.exp(p)
        return p
    @R.function
    def main(x: R.Tensor((4,), "float32"), s: R.Tensor(("n", 3), "float32"), r: R.Tensor(("m", 3), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        m = T.int64()
"""
DROPPED = """
a = R.exp(s)
@R.function
def g(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    b = R.match_cast(a, R.Tensor((m, 3), "float32"))
    return z
d = g(x)
e = R.sin(x)
return e
"""
UNREAD = """
a = R.add(s, r)
k = R.exp(x)
@R.function
def g(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return k
h = g(k)
e = R.sin(x)
return e
"""
NEIGHBOURS = """
with R.dataflow():
    a = R.exp(x)
    R.output(a)
with R.dataflow():
    b = a
    d = R.exp(x)
    R.output(b)
if c:
    g = b
    e = x
else:
    e = R.sin(x)
return e
"""
CHECKED = """
a = R.add(s, s)
if c:
    v = s
else:
    v = a
w = R.add(r, r)
return (v, w)
"""
CASES = {
    "dropped": ("DeadCodeElimination", DROPPED, "What only a match_cast of a dropped function"),
    "unread": ("FoldConstant", UNREAD, "Unused binding outside of dataflow blocks"),
    "neighbours": ("CanonicalizeBindings", NEIGHBOURS, "An output of one of two neighbouring blocks"),
    "checked": ("VMShapeLower", CHECKED, "StructInfo of an If"),
}
WRONG = [
    ("dropped", "R.sin(x)", "R.cos(x)"),
    ("dropped", "return e", "return x"),
    ("unread", "R.sin(x)", "R.cos(x)"),
    ("unread", "return p", "return R.cos(p)"),
    ("neighbours", "R.sin(x)", "R.cos(x)"),
    ("neighbours", "R.exp(x)", "R.cos(x)"),
    ("neighbours", " = x\n", " = R.exp(x)\n"),
    ("checked", "shape_heap, 2, 1, 0, 0, 3", "shape_heap, 2, 1, 1, 0, 3"),
    ("checked", "cls.add(s, s, ", "cls.add(s, r, "),
]


def why(oracle: Oracle, kind: str) -> tuple[str, ...]:
    """The rows that explain the difference of a case."""
    name, lines, _ = CASES[kind]
    of = variants(name)[0]
    text = HEAD + "".join([f"        {line}\n" for line in lines.strip().split("\n")])
    given = oracle.apply(text, of.before).get() if of.before else text
    assert compare(oracle, given, (name, {})).kind == "differ"
    return reasons(oracle, given, of)


@pytest.mark.parametrize("kind", CASES)
def test_the_row_explains_the_difference(oracle: Oracle, kind: str) -> None:
    row = CASES[kind][2]
    assert row in why(oracle, kind)
    assert f"| {row}" in ROWS


@pytest.mark.parametrize(("kind", "old", "new"), WRONG)
def test_another_difference_is_not_explained(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch, kind: str, old: str, new: str
) -> None:
    real, found = rxe.apply_pass, []

    def wrong(module: rxe.IRModule, name: str, **options: Any) -> rxe.IRModule:
        text = real(module, name, **options).script()
        found.append(old in text)
        return rxe.normalize(rxe.parse(text.replace(old, new)))

    monkeypatch.setattr(rxe, "apply_pass", wrong)
    assert why(oracle, kind) == ()
    assert any(found)
