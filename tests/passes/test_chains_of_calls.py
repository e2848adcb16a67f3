"""Private functions that call each other: each is copied only where a copy stays, and the result is as if the innermost went first."""

from __future__ import annotations

import re
from textwrap import indent

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings, sequences
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule

FOUR, ANY = 'R.Tensor((4,), "float32")', 'R.Tensor(None, "float32", ndim=1)'
N = 'R.Tensor(("n",), "float32")'
PRIVATE = "    @R.function(private=True)\n"


def _module(text: str) -> IRModule:
    return rxe.normalize(rxe.parse(f"@I.ir_module\nclass M:\n{text}"))


def _inlined(module: IRModule, profile: str = "spec") -> IRModule:
    return rxe.apply_pass(module, "InlinePrivateFunctions", profile=profile)


def _chain(count: int, call: str) -> IRModule:
    """`main` calls the first of several private functions, and each calls the next one."""
    each = f"{PRIVATE}    def f{{}}(x: {FOUR}, c: R.Tensor((), 'bool')) -> {FOUR}:\n        y = R.exp(x)\n{{}}        return z\n"
    last = each.format(count, "        z = R.exp(y)\n")
    others = "".join([each.format(n, call.format(n + 1)) for n in range(1, count)])
    main = f"    @R.function\n    def main(x: {FOUR}, c: R.Tensor((), 'bool')) -> {FOUR}:\n        return M.f1(x, c)\n"
    return _module(others + last + main)


STRAIGHT = "        z = M.f{}(y, c)\n"
BRANCHES = "        if c:\n            z = M.f{}(y, c)\n        else:\n            z = R.negative(y)\n"


def test_a_chain_takes_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    copied, copy = list[e.Binding](), Substitution.binding

    def counted(substitution: Substitution, binding: e.Binding) -> e.Binding:
        copied.append(binding)
        return copy(substitution, binding)

    monkeypatch.setattr(Substitution, "binding", counted)
    for count in (20, 2_000):
        module = _chain(count, STRAIGHT)
        copied.clear()
        after = _inlined(module)
        assert list(after.functions) == ["main"]
        assert len(list(bindings(after["main"]))) == count + 1
        assert len(copied) == count + 1


def test_branches_side_by_side_are_not_deep() -> None:
    body = "".join([BRANCHES.format(2).replace("z", f"z{n}") for n in range(100)]) + "        z = z99\n"
    after = _inlined(_chain(2, body.replace("{", "{{")))
    assert list(after.functions) == ["main"]


def _depth(seq: e.SeqExpr) -> int:
    inside = [inner for block in seq.blocks for b in block.bindings for inner in sequences(b.value)]
    return 1 + max(map(_depth, inside), default=0)


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_copies_nest_as_deep_as_a_text_may(profile: str) -> None:
    after = _inlined(_chain(200, BRANCHES), profile)
    depths = [_depth(fn.body) for fn in after.relax_functions.values()]
    assert len(depths) == 3  # a call in the innermost branch is left in two of them
    assert max(depths) == 81
    again = rxe.parse(after.script())
    values = np.ones(4, np.float32), np.array(True)
    np.testing.assert_array_equal(
        rxe.run(again, "main", values), np.asarray(rxe.run(_chain(200, STRAIGHT), "main", values))
    )


PROGRAMS = {
    "a cast of an argument": """
@private
def inner(p: FOUR):
    return R.exp(p)
@private
def outer(p: ANY):
    a = M.inner(p)
    return M.inner(p)
""",
    "a cast of what has a name": """
@private
def inner(p: FOUR, q: ANY):
    return R.add(p, q)
@private
def outer(p: N):
    a = M.inner(p, p)
    return M.inner(p, a)
""",
    "lengths of its own": """
@private
def inner(p: ANY):
    k = T.int64()
    y = R.match_cast(p, R.Tensor((k,), "float32"))
    return R.add(y, R.ones(R.shape([k]), "float32"))
@private
def outer(p: ANY):
    a = M.inner(p)
    b = M.inner(a)
    return R.add(b, p)
""",
    "lengths of its caller": """
@private
def inner(p: N):
    n = T.int64()
    return R.add(p, R.ones(R.shape([n]), "float32"))
@private
def outer(p: N):
    n = T.int64()
    a = M.inner(R.concat((p, p)))
    return R.strided_slice(a, [0], [0], [n])
""",
    "constants": """
@private
def inner(p: FOUR, q: FOUR):
    return R.add(p, q)
@private
def outer(p: FOUR):
    a = M.inner(p, R.const([1.0, 2.0, 3.0, 4.0]))
    return M.inner(a, R.const([1.0, 2.0, 3.0, 4.0]))
""",
    "a cast to a length of its caller": """
@private
def inner(p: N, q: N):
    return R.add(p, q)
@private
def outer(p: N):
    q = R.unique(p, False, False, False)
    return M.inner(p, q)
""",
    "a shape as an argument": """
@private
def inner(s: R.Shape(ndim=1)):
    return R.ones(s, "float32")
@private
def outer(p: N):
    n = T.int64()
    return R.add(M.inner(R.shape([n])), p)
""",
    "a tuple with an annotation": """
@private
def inner(p: ANY):
    return (p, R.exp(p))
@private
def outer(p: N):
    n = T.int64()
    t: R.Tuple(R.Tensor((n,), "float32"), R.Tensor("float32", ndim=1)) = M.inner(p)
    return t
""",
    "a graph": """
@private
def inner(p: FOUR):
    with R.dataflow():
        s = R.tanh(p)
        R.output(s)
    return s
@private
def outer(p: FOUR):
    with R.dataflow():
        q = R.exp(p)
        r = M.inner(q)
        R.output(r)
    return r
""",
    "a divided block": """
@private
def inner(p: FOUR):
    return R.tanh(p)
@private
def outer(p: FOUR):
    with R.dataflow():
        q = R.exp(p)
        r = M.inner(q)
        t = R.add(R.add(r, q), p)
        R.output(t)
    return t
""",
    "a function inside": """
@private
def inner(p: FOUR):
    with R.dataflow():
        @R.function
        def g(q: FOUR) -> FOUR:
            return R.add(q, p)
        y = g(p)
        R.output(y)
    return y
@private
def outer(p: FOUR):
    with R.dataflow():
        q = R.exp(p)
        r = M.inner(q)
        t = M.inner(p)
        R.output(r, t)
    return R.add(r, t)
""",
    "a branch": """
@private
def inner(p: FOUR):
    return R.tanh(p)
@private
def outer(p: FOUR):
    c = R.less(R.sum(p), R.const(0.0))
    if c:
        y = M.inner(p)
    else:
        y = R.exp(p)
    return y
""",
    "a call in a function": """
@private
def inner(p: FOUR):
    return R.tanh(p)
@private
def outer(p: FOUR):
    @R.function
    def g(q: FOUR) -> FOUR:
        r = M.inner(q)
        return R.add(r, p)
    return g(p)
""",
    "an end inside": """
@private
def inner(p: FOUR):
    s = R.tanh(p)
    gone = R.memory.kill_tensor(p)
    return s
@private
def outer(p: FOUR):
    q = R.exp(p)
    r = M.inner(q)
    return R.add(r, q)
""",
    "an end around": """
@private
def inner(p: FOUR):
    t = (p, p)
    return t[0]
@private
def outer(p: FOUR):
    q = R.exp(p)
    r = M.inner(q)
    gone = R.memory.kill_tensor(q)
    return R.exp(r)
""",
    "a value": """
@private
def inner(p: FOUR):
    return R.tanh(p)
@private
def between(p: FOUR):
    return M.inner(p)
@private
def outer(p: FOUR):
    a = M.between(p)
    f = M.between
    return (a, f)
""",
}


def _program(text: str, dataflow: bool) -> str:
    """The functions, and one that calls `outer` twice."""
    block = "    with R.dataflow():\n        u = R.exp(x)\n        v = M.outer(u)\n        w = M.outer(x)\n        R.output(v, w)\n"
    if not dataflow:
        block = "    u = R.exp(x)\n    v = M.outer(u)\n    w = M.outer(x)\n"
    text += f"@R.function\ndef main(x: FOUR):\n{block}    return (v, w)\n"
    if "kill_tensor" in text:
        text = text.replace("@R.function\n", "@R.function(pure=False)\n").replace("private", "impure")
    text = text.replace("@private", "@R.function(private=True)").replace(
        "@impure", "@R.function(private=True, pure=False)"
    )
    for name, info in (("FOUR", FOUR), ("ANY", ANY), (" N", f" {N}")):
        text = re.sub(rf"(?<=[ ]){name.strip()}\b", info, text)
    return indent(text, "    ")


CASES = [(kind, "spec") for kind in PROGRAMS]
# In the other profile, lengths lose their definition, so that a second run does not give each copy lengths of its own.
CASES += [(kind, "tvm") for kind in PROGRAMS if "lengths" not in kind]


@pytest.mark.parametrize(("kind", "profile"), CASES)
@pytest.mark.parametrize("dataflow", [True, False])
def test_the_result_is_as_if_the_innermost_went_first(kind: str, profile: str, dataflow: bool) -> None:
    module = _module(_program(PROGRAMS[kind], dataflow))
    outer = module["outer"]
    assert isinstance(outer, e.Function)
    public = module.having(
        {**module.functions, "outer": replace(outer, attrs=outer.attrs.having(global_symbol="outer"))}
    )
    step = _inlined(public, profile)
    outer = step["outer"]
    assert isinstance(outer, e.Function)
    last = step.having(
        {**step.functions, "outer": replace(outer, attrs=outer.attrs.without("global_symbol"))}
    )
    expected, after = _inlined(last, profile), _inlined(module, profile)
    assert after.functions.keys() == expected.functions.keys()
    for name, fn in after.relax_functions.items():
        one, other = (list(bindings(each)) for each in (fn, expected.relax_functions[name]))
        assert [(b.var and b.var.name, b.span) for b in one] == [
            (b.var and b.var.name, b.span) for b in other
        ]
        assert structural_equal(fn, expected.relax_functions[name]), f"{after.script()}\n{expected.script()}"
