"""NormalizeGlobalVar renames functions and all references to them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import symbols
from relax_explorer.core.passes.pipeline import run_step, steps

TEXT = """
@I.ir_module
class M:
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.add(x, x)
        return y
    @R.function(private=True)
    def f1(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.multiply(x, x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        R.func_attr({"global_symbol": "f"})
        cls = M
        if c:
            a = cls.f(x)
        else:
            a = cls.f1(x)
        @R.function
        def inner(q: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            r = cls.f(q)
            return r
        b = inner(a)
        t = (cls.f, b)
        d = t[1]
        return d
    @R.function
    def held() -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"), True):
        cls = M
        return cls.f
    @R.function
    def plain(x: R.Tensor((2,), "float32")):
        return x
"""


def test_references_follow_their_functions() -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    result = rxe.apply_pass(before, "NormalizeGlobalVar")
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    assert set(result.functions) == {"f2", "f1", "f", "held", "plain"}
    assert "return cls.f2" in result.script()
    assert result["plain"] is before["plain"]
    x = np.array([1, 3], "float32")
    for c in (True, False):
        args = [x, np.bool_(c)]
        np.testing.assert_array_equal(rxe.run(before, "main", args), rxe.run(result, "f", args))
    assert rxe.apply_pass(result, "NormalizeGlobalVar") is result


def test_only_functions_that_mention_a_renamed_one_are_looked_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    seen, sequence = set[e.SeqExpr](), symbols._Renamer.sequence

    def counted(renamer: symbols._Renamer, seq: e.SeqExpr) -> e.SeqExpr:
        seen.add(seq)
        return sequence(renamer, seq)

    monkeypatch.setattr(symbols._Renamer, "sequence", counted)
    result = rxe.apply_pass(before, "NormalizeGlobalVar")
    assert {name for name, fn in before.relax_functions.items() if fn.body in seen} == {"main", "held"}
    seen.clear()
    assert rxe.apply_pass(result, "NormalizeGlobalVar") is result
    assert not seen


def test_changed_bindings_are_recorded() -> None:
    before = rxe.normalize(rxe.parse(TEXT))
    outcome = run_step(steps("NormalizeGlobalVar")[0], before)
    new = {binding for item in outcome.rewrites for binding in item.after}
    old = {binding for fn in before.relax_functions.values() for binding in bindings(fn)}
    after = {binding for fn in outcome.module.relax_functions.values() for binding in bindings(fn)}
    assert after - old <= new
    assert len(after - old) == 5  # that of `f1` stays


def test_two_functions_of_one_symbol_are_refused() -> None:
    text = TEXT.replace('x\n"""', "x").replace(
        'def plain(x: R.Tensor((2,), "float32")):', 'def plain(x: R.Tensor((2,), "float32")):\n        R.func_attr({"global_symbol": "held"})'
    )  # fmt: skip
    with pytest.raises(rxe.Failure, match="'held' and 'plain' have the global_symbol 'held'"):
        rxe.apply_pass(rxe.normalize(rxe.parse(text)), "NormalizeGlobalVar")


PREFIXED = """
@I.ir_module
class M:
    I.module_attrs({"system_lib_prefix": "llm_"})
    @T.prim_func(private=True)
    def k(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i] + a[i]
    @T.prim_func
    def public(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i] * a[i]
    @R.function(private=True)
    def f(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = M
        y = R.call_tir(cls.k, (x,), out_ty=R.Tensor((2,), "float32"))
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
        cls = M
        if c:
            a = R.call_tir(cls.public, (x,), out_ty=R.Tensor((2,), "float32"))
        else:
            a = cls.f(x)
        return a
"""


def test_the_prefix_of_a_library_begins_the_symbols_of_kernels() -> None:
    before = rxe.normalize(rxe.parse(PREFIXED))
    after = rxe.apply_pass(before, "AttachGlobalSymbol")
    symbols = {name: fn.attrs["global_symbol"] for name, fn in after.functions.items()}  # type: ignore[union-attr]
    assert symbols == {name: name for name in ("llm_k", "llm_public", "f", "main")}
    assert rxe.normalize(after) is after
    assert rxe.well_formed(after)
    assert rxe.apply_pass(after, "AttachGlobalSymbol") is after
    x = np.array([1, 3], "float32")
    for c in (True, False):
        assert np.array_equal(rxe.run(after, "main", [x, c]), rxe.run(before, "main", [x, c]))


def test_a_symbol_that_is_taken_gets_a_number() -> None:
    text = PREFIXED.replace("def f(", "def llm_k(").replace("cls.f(", "cls.llm_k(")
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "AttachGlobalSymbol")
    assert set(after.functions) == {"llm_k1", "llm_public", "llm_k", "main"}
    assert "R.call_tir(cls.llm_k1, (x,)" in after.script()
    plain = PREFIXED.replace('    I.module_attrs({"system_lib_prefix": "llm_"})\n', "")
    assert set(rxe.apply_pass(rxe.normalize(rxe.parse(plain)), "AttachGlobalSymbol").functions) == {
        "k", "public", "f", "main",
    }  # fmt: skip
