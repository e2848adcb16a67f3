"""EliminateCommonSubexpr merges nested functions of the same structure."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.eliminate import value_key
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.hash import _RULES, Hasher

TEXT = """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    @R.function
    def f(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        a = R.add(z, x)
        return a
    v = f(y)
    @R.function
    def g(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        b = R.add(p, x)
        return b
    w = g(y)
    return (v, w)
"""


def functions(text: str, **options: bool) -> tuple[int, int]:
    """How many nested functions and how many calls of them are left after merging and dropping copies."""
    before = rxe.normalize(rxe.parse(text))
    merged = rxe.apply_pass(before, "EliminateCommonSubexpr", **options)
    after = rxe.apply_pass(merged, "CanonicalizeBindings").script()
    return after.count("def ") - 1, after.count("(y)")


def test_equal_functions_are_one() -> None:
    assert functions(TEXT) == (1, 1)
    assert functions(TEXT, call_only=True) == (2, 2)


def test_functions_with_effects_stay() -> None:
    text = TEXT.replace("@R.function", "@R.function(pure=False)").replace("R.add(", "R.call_packed('f', ")
    text = text.replace("x)", "x, sinfo_args=R.Tensor((2,), 'float32'))")
    assert functions(text) == (2, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R.add(p, x)", "R.add(p, y)"),
        ("R.add(p, x)", "R.subtract(p, x)"),
        ("return b", "return p"),
    ],
)
def test_functions_that_differ_stay(old: str, new: str) -> None:
    assert old in TEXT
    assert functions(TEXT.replace(old, new)) == (2, 2)


def test_the_values_are_the_same() -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    after = rxe.apply_pass(before, "EliminateCommonSubexpr")
    x, y = np.ones(2, "float32"), np.full(2, 3, "float32")
    for old, new in zip(rxe.run(before, "main", [x, y]), rxe.run(after, "main", [x, y]), strict=True):
        np.testing.assert_array_equal(old, new)


# A nested function with another one in it, where {0} and {1} are names that do not count; each case has what may stand inside.
DEEP = """
@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), k: T.int64):
    @R.function
    def f(z: R.Tensor((2,), "float32"), s: T.int64) -> R.Tensor((2,), "float32"):
        a = R.add(z, x)
        @R.function
        def inner(q: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            t = {0}
            return t
        r = inner(z)
        return r
    v = f(y, k)
    @R.function
    def g(p: R.Tensor((2,), "float32"), n: T.int64) -> R.Tensor((2,), "float32"):
        b = R.add(p, x)
        @R.function
        def within(u: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            w = {1}
            return w
        c = within(p)
        return c
    w = g(y, k)
    return (v, w)
"""
INNER = {
    "its own parameter": ("R.exp(q)", "R.exp(u)", 2),
    "what is captured from the function around": ("R.add(q, a)", "R.add(u, b)", 2),
    "a parameter of the function around": ("R.add(q, z)", "R.add(u, p)", 2),
    "what is captured from outside": ("R.add(q, y)", "R.add(u, y)", 2),
    "the scalar of the function around": (
        "R.call_pure_packed('h', s, sinfo_args=R.Tensor((2,), 'float32'))",
        "R.call_pure_packed('h', n, sinfo_args=R.Tensor((2,), 'float32'))",
        2,
    ),
    "another operator": ("R.exp(q)", "R.sin(u)", 4),
    "another captured value": ("R.add(q, a)", "R.add(u, p)", 4),
    "another value from outside": ("R.add(q, x)", "R.add(u, y)", 4),
}


@pytest.mark.parametrize("case", INNER)
def test_functions_in_functions(case: str) -> None:
    one, other, left = INNER[case]
    text = DEEP.format(one, other)
    if "scalar" not in case:
        text = re.sub(r", (k|s|n): T.int64", "", text).replace("(y, k)", "(y)")
    before = rxe.normalize(rxe.parse(text))
    merged = rxe.apply_pass(before, "EliminateCommonSubexpr")
    after = rxe.apply_pass(rxe.apply_pass(merged, "CanonicalizeBindings"), "DeadCodeElimination").script()
    assert after.count("def ") - 1 == left


def test_a_scalar_parameter_has_two_names() -> None:
    """In a function inside, too: that of the variable, and that of its value. A text writes both alike."""
    call = "R.call_pure_packed('h', {0}, R.prim_value({0} + 1), sinfo_args=R.Tensor((2,), 'float32'))"
    module = rxe.normalize(rxe.parse(DEEP.format(call.format("s"), call.format("n"))))
    f, g = [b.value for b in bindings(module["main"], nested=False) if type(b.value) is e.Function]  # type: ignore[arg-type]  # it is a Relax function
    info = g.params[1].struct_info
    assert isinstance(info, s.PrimStructInfo)
    assert isinstance(info.value, p.PrimVar)
    other = Substitution({g.params[1]: e.PrimValue(info.value, info)}).sequence(g.body)
    renamed = replace(g, body=other)
    assert structural_equal(f, renamed)
    assert len({value_key(each) for each in (f, g, renamed)}) == 1


def test_each_binding_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep it stands in nested functions."""
    lines = ["    e = R.exp(x)", "    return e"]
    head = '(p: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):'
    for level in range(30):
        inner = [f"    {line}" for line in lines]
        lines = ["    @R.function", f"    def f{level}{head}", *inner, f"    e = f{level}(x)", "    return e"]
    text = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n' + "\n".join(lines) + "\n"
    module = rxe.normalize(rxe.parse(text))
    hashed, hash_block = list[e.Binding](), Hasher._block

    def block(hasher: Hasher, value: e.BindingBlock) -> None:
        hashed.extend(value.bindings)
        hash_block(hasher, value)

    for kind in (e.BindingBlock, e.DataflowBlock):
        monkeypatch.setitem(_RULES, kind, block)
    rxe.apply_pass(module, "EliminateCommonSubexpr")
    main = module["main"]
    assert isinstance(main, e.Function)
    own = [binding for block in main.body.blocks for binding in block.bindings]
    assert sorted(map(id, hashed)) == sorted([id(b) for b in bindings(main) if b not in own])
