"""The record of a dropped binding names the binding whose variable is read in its place, as it is after the walk."""

from __future__ import annotations

from collections.abc import Callable

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from tests.support.roundtrip import function

Rule = Callable[[Rewriter, e.Binding], Answer]
TEXT = function("a = R.exp(x)\nb = R.sin(x)\nc = R.cos(b)\nreturn c")


def _after(rule: Rule, text: str = TEXT) -> tuple[e.Function, e.Function, dict[str, tuple[e.Binding, ...]]]:
    """The function before and after a walk, and what the record says of each binding, by name."""
    module = rxe.normalize(rxe.parse(text))
    fn, at = module["main"], PassSite(module, "main")
    assert isinstance(fn, e.Function)
    new = rewrite(fn, at, rule)
    return fn, new, {change.before[0].var.name: change.after for change in at.recorded.rewrites()}


def _dropping(name: str, leaf: str, first: Callable[[e.Binding], Answer] = lambda binding: binding) -> Rule:
    """Drop a binding: its readers read the variable `leaf`, to whose binding `first` is applied."""
    found: dict[str, e.Var] = {}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        assert binding.var is not None
        if binding.var.name == name:
            walk.rename(binding.var, found[leaf])
            return ()
        answer = first(binding) if binding.var.name == leaf else binding
        for new in answer if isinstance(answer, tuple) else (answer,):
            assert new.var is not None
            found[new.var.name] = new.var
        found.setdefault(binding.var.name, binding.var)
        return answer

    return rule


def test_an_unchanged_binding() -> None:
    fn, new, record = _after(_dropping("b", "a"))
    a = next(bindings(fn))
    assert record["b"] == (a,)
    assert next(iter(bindings(new))) is a


def test_a_changed_binding() -> None:
    fn, new, record = _after(_dropping("b", "a", lambda binding: replace(binding, span=None)))
    a = next(bindings(new))
    assert a is not next(bindings(fn))
    assert record["b"] == record["a"] == (a,)


def test_a_dropped_binding_is_not_named() -> None:
    _, _, record = _after(_dropping("b", "a", lambda binding: ()))
    assert record["a"] == record["b"] == ()


def test_one_of_several_bindings_that_stays() -> None:
    def twice(binding: e.Binding) -> Answer:
        assert type(binding) is e.VarBinding
        return (e.VarBinding(e.Var("new", binding.var.struct_info), binding.value), binding)

    fn, _, record = _after(_dropping("b", "a", twice))
    a = next(bindings(fn))
    assert record["b"] == (a,)
    assert record["a"][1] is a


def test_a_binding_in_a_branch() -> None:
    text = function(
        "if c:\n    a = R.exp(x)\n    b = R.sin(x)\n    k = R.cos(b)\nelse:\n    k = x\nreturn k",
        'x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")',
    )
    fn, _, record = _after(_dropping("b", "a"), text)
    inner = {binding.var.name: binding for binding in bindings(fn) if binding.var is not None}
    assert record["b"] == (inner["a"],)
