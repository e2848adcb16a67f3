"""Inside of a dataflow block, what an inlined function binds ends with the block, but for what something outside reads."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.phases.module_properties import NORMALIZED, WELL_FORMED

TENSOR = 'R.Tensor((2, 3), "float32")'
TEXT = """
@I.ir_module
class M:
    @R.function(private=True)
    def inner(i: {0}) -> {0}:
        with R.dataflow():
            p = R.exp(i)
            q = R.sin(p)
            R.output(q)
        return q
    @R.function(private=True)
    def several(i: {0}) -> {0}:
        with R.dataflow():
            p = R.exp(i)
            q = M.inner(p)
            s = R.sin(q)
            R.output(p, s)
        return s
    @R.function(private=True)
    def passed(i: {0}) -> {0}:
        with R.dataflow():
            q = M.inner(i)
            R.output(q)
        return q
    @R.function(private=True)
    def plain(i: {0}) -> {0}:
        p = R.exp(i)
        q = R.sin(p)
        return q
    @R.function(private=True)
    def vague(i: {0}) -> R.Object:
        with R.dataflow():
            q = R.exp(i)
            R.output(q)
        return q
    @R.function(private=True)
    def same(i: {0}) -> R.Object:
        return i
    @R.function(private=True)
    def constant() -> R.Object:
        return R.const([1.0, 2.0])
    @R.function(private=True)
    def held(i: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        with R.dataflow():
            n = R.shape_of(i)
            q = R.call_pure_packed("f", i, sinfo_args=R.Tensor(n, "float32"))
            R.output(q)
        return q
    @R.function
    def main(x: {0}, t: R.Tensor(ndim=2, dtype="float32")):
        with R.dataflow():
{1}
        return z
"""
# The calls in the dataflow block of `main`, and the names of what is bound after the pass; outputs have a star.
CASES = {
    "read inside": ("y = M.inner(x)\nz = R.cos(y)\nR.output(z)", "p q z*"),
    "the output itself": ("z = M.inner(x)\nR.output(z)", "p q*"),
    "both": ("y = M.inner(x)\nz = M.inner(y)\nR.output(z)", "p q p q*"),
    "other outputs of the function": ("y = M.several(x)\nz = R.cos(y)\nR.output(z)", "p p q s z*"),
    "calls in calls": ("z = M.several(x)\nR.output(z)", "p p q s*"),
    "a call that is the result of one": ("y = M.passed(x)\nz = R.cos(y)\nR.output(z)", "p q z*"),
    "a call that is the output": ("z = M.passed(x)\nR.output(z)", "p q*"),
    "a function without a dataflow block": ("y = M.plain(x)\nz = R.cos(y)\nR.output(z)", "p* q* z*"),
    "less is promised": ("y = M.vague(x)\nz = (y, y)\nR.output(z)", "q z*"),
    "less of an argument": ("y = R.exp(x)\nz = M.same(y)\nR.output(z)", "z*"),
    "a constant": ("y = M.constant()\nz = (y, y)\nR.output(z)", "z*"),
    "a shape that a variable holds": ("y = M.held(t)\nz = R.cos(y)\nR.output(z)", "n q z*"),
    "twice such a shape": ("y = M.held(t)\nw = R.nn.relu(t)\nz = R.concat((y, w))\nR.output(z)", "n q w z*"),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_what_ends_with_the_block(case: str, profile: str) -> None:
    lines, expected = CASES[case]
    body = "\n".join(f"            {line}" for line in lines.splitlines())
    module = rxe.normalize(rxe.parse(TEXT.format(TENSOR, body)))
    after = rxe.apply_pass(module, "InlinePrivateFunctions", profile=profile)
    assert WELL_FORMED.holds(after)
    assert NORMALIZED.holds(after)
    main = after["main"]
    assert isinstance(main, e.Function)
    found = [b.var.name + "*" * (type(b.var) is e.Var) for b in bindings(main) if b.var is not None]
    assert " ".join(found) == expected


@pytest.mark.parametrize("levels", [60, 90])
def test_copies_nest_only_so_deep(levels: int) -> None:
    """Branches in branches: a text has at most 100 levels."""
    lines = ["r = x"]
    for level in range(levels // 3):
        inner = [f"    {line}" for line in lines]
        lines = ["if c:", *inner, f"    k{level} = r", "else:", f"    k{level} = x", f"r = k{level}"]
    private = "\n".join(f"        {line}" for line in lines)
    params = f'x: {TENSOR}, c: R.Tensor((), "bool")'
    calls = [f"        y = M.f{n}(x, c)\n        return y\n" for n in range(3)]
    text = "@I.ir_module\nclass M:\n"
    for number in range(3):
        text += f"    @R.function(private=True)\n    def f{number}({params}) -> {TENSOR}:\n"
        inner = private if number == 0 else private.replace("r = x", f"r = M.f{number - 1}(x, c)", 1)
        text += f"{inner}\n        return r\n"
    text += f"    @R.function\n    def main({params}):\n{calls[2]}"
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "InlinePrivateFunctions")
    assert (list(after.functions) == ["main"]) is (levels == 60)
    assert rxe.parse(after.script())
