"""The variables that a function captures, those of functions inside of it included; each of these is looked at once."""

from __future__ import annotations

from textwrap import indent

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import facts
from relax_explorer.core.ir.walk import bindings

TENSOR = 'R.Tensor((4,), "float32")'


def _main(body: str) -> e.Function:
    params = f"a: {TENSOR}, b: {TENSOR}, c: R.Tensor((), 'bool'), s: R.Shape([4])"
    text = f"@R.function\ndef main({params}):\n{indent(body, '    ')}\n"
    fn = rxe.normalize(rxe.parse(text))["main"]
    assert isinstance(fn, e.Function)
    return fn


def _inner(body: str, params: str = f"p: {TENSOR}") -> str:
    return f"@R.function\ndef f({params}) -> R.Tensor(None, 'float32'):\n{indent(body, '    ')}\nreturn f(a)"


G = f"@R.function\ndef g(q: {TENSOR}) -> R.Tensor(None, 'float32'):\n    return R.add(q, {{}})\n"
BODIES = {
    "nothing": (_inner("return R.exp(p)"), ""),
    "the result": (_inner("return b"), "b"),
    "in order": (_inner("x = R.add(b, p)\nreturn R.add(x, a)"), "b a"),
    "its own name": (_inner("return f(b)"), "f b"),
    "a branch": (_inner("if c:\n    y = R.exp(b)\nelse:\n    y = a\nreturn y"), "c b a"),
    "a function inside": (_inner(f"{G.format('b')}y = g(a)\nreturn y"), "b a"),
    "what the function around has": (_inner(f"{G.format('p')}y = g(a)\nreturn y"), "a"),
    "a function in a branch": (
        _inner(f"if c:\n{indent(G.format('b'), '    ')}    y = g(p)\nelse:\n    y = a\nreturn y"),
        "c b a",
    ),
    "a shape of a parameter": (_inner("return p", "p: R.Tensor(s, 'float32')"), "s"),
    "a shape of a parameter inside": (
        _inner(G.format("a").replace(TENSOR, "R.Tensor(s, 'float32')") + "return a"),
        "s a",
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_captured_variables_come_in_the_order_of_a_run(kind: str) -> None:
    body, expected = BODIES[kind]
    fn = next(b.value for b in bindings(_main(body)) if type(b.value) is e.Function)
    assert " ".join([var.name for var in facts.free_variables(fn)]) == expected
    assert facts.free_variables(fn) == facts.free_variables(fn)


def _looks(depth: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bindings are read for the facts of a function with others inside of each other."""
    body = "return R.add(p, b)"
    for _ in range(depth):
        body = _inner(f"x = R.exp(p)\n{body.replace('f(a)', 'f(x)')}")
    main = _main(body)
    facts.forget(main)
    looked, reads, listed = list[e.Binding](), facts.reads, list[e.Function]()
    with monkeypatch.context() as patch:
        patch.setattr(facts, "_FREE", type(facts._FREE)())
        patch.setattr(facts, "reads", lambda binding: (looked.append(binding), reads(binding))[1])
        patch.setattr(facts, "bindings", lambda fn: (listed.append(fn), bindings(fn))[1])
        facts.Facts(main)
    assert len(listed) == 2  # the function, and the outermost one in it
    return len(looked)


def test_functions_inside_of_each_other_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(60, monkeypatch) - _looks(40, monkeypatch) == _looks(40, monkeypatch) - _looks(
        20, monkeypatch
    )
