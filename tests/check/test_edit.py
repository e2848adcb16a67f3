"""Inference after an edit visits the changed bindings and their dependents, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.check import infer
from relax_explorer.core.diagnostics import with_edits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from tests.perf.generate import transformer

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 8), "float32"), v: R.Tensor((4, 2), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.matmul(a, w)
            c = R.nn.relu(b)
            d = R.add(x, x)
            e = (c, d)
            f = e[0]
            R.output(c, d, f)
        g = R.sum(c, axis=[1])
        return g
"""


def edited(module: rxe.IRModule, name: str, value: Any) -> rxe.IRModule:
    """The module with another value for the binding of `name` in `main`, built from the old one."""
    main = module["main"]
    blocks = []
    for block in main.body.blocks:
        made = tuple(
            replace(b, value=value(b.value)) if b.var is not None and b.var.name == name else b
            for b in block.bindings
        )
        blocks.append(replace(block, bindings=made) if made != block.bindings else block)
    body = replace(main.body, blocks=tuple(blocks))
    return module.having({**module.functions, "main": replace(main, body=body)})


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[e.Call]:
    """The calls whose operators were inferred."""
    calls: list[e.Call] = []
    rule = infer.Inferrer.operator

    def counted(self: infer.Inferrer, call: e.Call, op: Any) -> Any:
        calls.append(call)
        return rule(self, call, op)

    monkeypatch.setattr(infer.Inferrer, "operator", counted)
    return calls


def test_only_what_depends_on_the_edit_is_inferred_again(asked: list[e.Call]) -> None:
    old = rxe.normalize(rxe.parse(TEXT))
    other = next(param for param in old["main"].params if param.name == "v")
    asked.clear()
    new = rxe.normalize(
        edited(old, "b", lambda call: e.Call(call.op, (call.args[0], other), call.attrs)), old
    )
    assert [call.op.name for call in asked] == ["relax.matmul", "relax.nn.relu", "relax.sum"]
    assert str(new["main"].ret_struct_info) == 'R.Tensor((n,), dtype="float32")'
    assert rxe.structural_equal(new, rxe.normalize(rxe.parse(new.script())))
    before = {b.var.name: b for b in bindings(old["main"])}
    kept = {b.var.name for b in bindings(new["main"]) if before[b.var.name] is b}
    assert kept == {"a", "d"}


def test_an_edit_that_changes_no_struct_info_stops_there(asked: list[e.Call]) -> None:
    old = rxe.normalize(rxe.parse(TEXT))
    asked.clear()
    new = rxe.normalize(edited(old, "a", lambda call: e.Call(e.op_ref("relax.sin"), call.args)), old)
    assert [call.op.name for call in asked] == ["relax.sin"]
    assert rxe.structural_equal(new, rxe.normalize(rxe.parse(new.script())))


def test_a_caller_sees_what_its_callee_returns_now() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def inner(x: R.Tensor((4, 4), "float32")):
        y = R.sum(x, axis=[1])
        return y

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        a = Module.inner(x)
        b = R.exp(a)
        return b
"""
    old = rxe.normalize(rxe.parse(text))
    inner = old["inner"]
    (block,) = inner.body.blocks
    value = e.Call(e.op_ref("relax.exp"), block.bindings[0].value.args)
    body = replace(inner.body, blocks=(replace(block, bindings=(replace(block.bindings[0], value=value),)),))
    changed = replace(inner, body=body, ret_struct_info=None)
    new = rxe.normalize(old.having({**old.functions, "inner": changed}), old)
    assert str(next(bindings(new["main"])).var.struct_info) == 'R.Tensor((4, 4), dtype="float32")'


def test_an_effect_that_stays_is_known_after_the_edit() -> None:
    text = TEXT.replace("        g = R.sum", "        _ = R.print(c)\n        g = R.sum")
    old = rxe.normalize(rxe.parse(text))
    new = rxe.normalize(edited(old, "g", lambda call: e.Call(e.op_ref("relax.mean"), call.args)), old)
    for module in (old, new):
        assert "R.print" in module.script()
        assert not module["main"].struct_info.pure


@pytest.mark.parametrize(
    ("line", "impure"),
    [
        ("if c:\n            _ = R.print(x)\n            r = x\n        else:\n            r = x", True),
        ("_ = R.match_cast(x, R.Tensor((m,), 'float32'))", False),
    ],
)  # fmt: skip
def test_what_has_bindings_or_binds_lengths_is_looked_at_again(line: str, impure: bool) -> None:
    text = f"""@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), c: R.Tensor((), "bool")):
        m = T.int64()
        {line}
        g = R.exp(x)
        return g
"""
    old = rxe.normalize(rxe.parse(text))
    new = rxe.normalize(edited(old, "g", lambda call: e.Call(e.op_ref("relax.sin"), call.args)), old)
    assert new["main"].struct_info.pure is not impure
    assert rxe.structural_equal(new, rxe.normalize(rxe.parse(new.script())))


@pytest.mark.parametrize(
    ("value", "pure"),
    [
        ("R.nobody_knows(x)", True),
        ("R.call_dps_packed('f', (x,), out_sinfo=R.Tensor((2,), 'float32'))", False),
    ],
)
def test_an_edit_elsewhere_leaves_a_call_as_pure_as_it_was(value: str, pure: bool) -> None:
    text = f"""@R.function
def main(x: R.Tensor((2,), "float32")):
    _ = {value}
    g = R.exp(x)
    return g
"""
    old = rxe.normalize(rxe.parse(text))
    new = rxe.normalize(edited(old, "g", lambda call: e.Call(e.op_ref("relax.sin"), call.args)), old)
    assert old["main"].struct_info.pure is new["main"].struct_info.pure is pure


def test_a_binding_may_move_into_a_value() -> None:
    old = rxe.normalize(rxe.parse(TEXT))
    graph, rest = old["main"].body.blocks
    first, second, *others = graph.bindings
    value = e.SeqExpr((e.DataflowBlock((first,)),), second.value)
    blocks = (replace(graph, bindings=(replace(second, value=value), *others)), rest)
    main = replace(old["main"], body=replace(old["main"].body, blocks=blocks))
    new = rxe.normalize(old.having({"main": main}), old)
    assert rxe.well_formed(new, normalized=True)
    assert rxe.structural_equal(new, old)
    before = {b.var.name: b for b in bindings(old["main"])}
    assert {b.var.name for b in bindings(new["main"]) if before[b.var.name] is b} == {"c", "d", "e", "f", "g"}


def test_a_call_that_is_not_as_the_text_has_it_gets_no_edit() -> None:
    text = """
@I.ir_module
class Module:
    @R.function
    def pair(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return (x, y)
    @R.function
    def main(u: R.Tensor(dtype="float32", ndim=1)):
        a = Module.pair(u)
        return a
"""
    module = edited(rxe.parse(text), "a", lambda call: replace(call, args=(*call.args, *call.args)))
    found = [item for item in rxe.check(module) if item.code.id == "RX0218"]
    assert [len(item.edits) for item in found] == [0, 0]
    once = rxe.check(text.replace("pair(u)", "pair(u, u)"))
    assert [len(item.edits) for item in once if item.code.id == "RX0218"] == [2, 2]


@pytest.mark.parametrize(
    "statement", ["a = Module.pair(u, u)", "return Module.pair(u, u)", "a = (u, Module.pair(u, u))"]
)
def test_the_cast_of_an_argument_stands_above_the_statement(statement: str) -> None:
    text = f"""
@I.ir_module
class Module:
    @R.function
    def pair(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        return (x, y)
    @R.function
    def main(u: R.Tensor(dtype="float32", ndim=1)):
        {statement}
        return u
"""
    found = next(item for item in rxe.check(text) if item.code.id == "RX0218")
    lines = with_edits(text, found.edits).split("\n")
    at = text.split("\n").index(f"        {statement}")
    assert lines[at] == '        u_cast = R.match_cast(u, R.Tensor((4,), dtype="float32"))'
    assert lines[at + 1] == f"        {statement.replace('(u, u)', '(u_cast, u)')}"


def test_an_edit_that_is_wrong_is_refused() -> None:
    old = rxe.normalize(rxe.parse(TEXT))
    with pytest.raises(rxe.Failure, match="RX0203"):
        rxe.normalize(edited(old, "b", lambda call: e.Call(call.op, (call.args[1], call.args[1]))), old)


def test_attributes_that_a_program_leaves_out_have_their_defaults() -> None:
    old = rxe.normalize(rxe.parse(TEXT))
    new = rxe.normalize(edited(old, "g", lambda call: e.Call(e.op_ref("relax.mean"), call.args)), old)
    assert "R.mean(c, axis=None, keepdims=False)" in new.script()
    with pytest.raises(rxe.Failure, match="dtype is missing"):
        rxe.normalize(edited(old, "a", lambda call: e.Call(e.op_ref("relax.astype"), call.args)), old)


def test_a_thousand_bindings_of_which_one_is_edited(asked: list[e.Call]) -> None:
    old = rxe.normalize(rxe.parse(transformer(1000)))
    asked.clear()
    new = rxe.normalize(edited(old, "dead3", lambda call: e.Call(e.op_ref("relax.sin"), call.args)), old)
    assert len(asked) == 1
    assert len({id(b) for b in bindings(new["main"])} - {id(b) for b in bindings(old["main"])}) == 1
