"""Passes derive the calls that they make: equal ones once, with a note that the normalizer trusts."""

from __future__ import annotations

import pytest

import relax_explorer
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings

TEXT = """
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32"), i: R.Tensor((1, 4, 8, 8), "float32"), k: R.Tensor((4, 4, 3, 3), "float32"), h: R.Shape(ndim=1)):
        cls = Module
        helped = cls.helper(x)
        packed = R.call_packed("my.function", x, sinfo_args=[R.Tensor((4,), dtype="float32")])
        summed = R.add(x, x)
        image = R.nn.conv2d(i, k)
        held = R.call_packed("my.function", x, sinfo_args=[R.Tensor(h, "float32")])
        return helped
"""


@pytest.fixture
def calls() -> dict[str, e.Call]:
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    return {b.var.name: b.value for b in bindings(module["main"]) if type(b.value) is e.Call}


def _inferrer() -> Inferrer:
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    return Inferrer(Report(), lambda name: module.functions[name].struct_info)


def _bare(call: e.Call, args: tuple[e.Expr, ...] | None = None) -> e.Call:
    """An equal call without StructInfo and note."""
    return e.Call(call.op, call.args if args is None else args, call.attrs, call.sinfo_args)


@pytest.mark.parametrize("name", ["helped", "packed", "summed"])
def test_an_equal_call_is_derived_once(
    calls: dict[str, e.Call], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    infer = _inferrer()
    first = infer.derived(_bare(calls[name]))
    assert first.struct_info is calls[name].struct_info
    assert first.settled is infer.in_full
    for kind in ("function", "operator"):
        monkeypatch.delattr(Inferrer, kind)
    second = infer.derived(_bare(calls[name]))
    assert (second.struct_info, second.settled) == (first.struct_info, infer.in_full)


@pytest.mark.parametrize("name", ["image", "held"])
def test_a_call_that_may_become_another_gets_no_note(calls: dict[str, e.Call], name: str) -> None:
    """The operator refines the first one, and the type of the second one names a variable."""
    found = _inferrer().derived(_bare(calls[name]))
    assert found.struct_info is calls[name].struct_info
    assert not found.settled


def test_a_call_without_all_attributes_gets_no_note(calls: dict[str, e.Call]) -> None:
    x = calls["summed"].args[0]
    call = e.Call(e.op_ref("relax.sum"), (x,), EMPTY)
    assert not _inferrer().derived(call).settled


def test_a_wrong_call_is_reported_each_time(calls: dict[str, e.Call]) -> None:
    wrong = e.Var("w", s.TensorStructInfo(None, None, 3))
    infer = _inferrer()
    for count in (1, 2):
        found = infer.derived(_bare(calls["helped"], (wrong,)))
        assert not found.settled
        assert len(infer.report.items) == count


def test_a_right_call_after_a_wrong_one_gets_no_note(calls: dict[str, e.Call]) -> None:
    """A value that depends on a wrong one is not known to be right."""
    infer = _inferrer()
    infer.derived(_bare(calls["helped"], (e.Var("w", s.TensorStructInfo(None, None, 3)),)))
    infer.poisoned.add(calls["helped"])
    assert not infer.derived(_bare(calls["packed"])).settled


def test_a_call_with_its_type_stays_the_same_object(calls: dict[str, e.Call]) -> None:
    call = replace(calls["packed"], args=(calls["packed"].args[0], *calls["packed"].args[1:]))
    assert _inferrer().derived(call) is call
