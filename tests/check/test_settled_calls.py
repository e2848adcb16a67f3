"""A call notes that its StructInfo follows from its operands. The note ends where an operand, an operator or the prover changes."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer
from relax_explorer import IRModule, ops
from relax_explorer.core.arith.prove import proving
from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.infer import Inferrer
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.prim import IntImm
from relax_explorer.core.ir.struct_info import FuncStructInfo, TensorStructInfo
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings
from tests.support.copies import with_new_body

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.reshape(a, (3, 8))
            c = R.split(b, 2, axis=1)
            d = c[0]
            f = R.concat((d, d), axis=0)
            gv = R.exp(f)
            R.output(gv)
        return gv
"""


@pytest.fixture
def module() -> IRModule:
    return relax_explorer.normalize(relax_explorer.parse(TEXT))


def _again(module: IRModule) -> IRModule:
    """The module normalized again, with another function object, so that the facts about the function do not hold."""
    return relax_explorer.normalize(
        IRModule({name: with_new_body(fn) for name, fn in module.functions.items()})
    )


def _info(*lengths: int) -> TensorStructInfo:
    return TensorStructInfo(tuple(map(IntImm, lengths)), FLOAT32)


def _exp(var: e.Var) -> e.Call:
    return e.Call(e.OpRef("relax.exp"), (var,))


def _normal(params: tuple[e.Var, ...], *new: e.Binding) -> e.Function:
    """A function of these bindings in normal form. It returns the last variable."""
    last = new[-1].var
    assert last is not None
    fn = e.Function(params, e.SeqExpr((e.BindingBlock(new),), last))
    return relax_explorer.normalize(IRModule({"main": fn}))["main"]


def _calls(module: IRModule) -> dict[str, e.Call]:
    return {b.var.name: b.value for b in bindings(module["main"]) if type(b.value) is e.Call}


def test_settled_calls_are_not_derived_again(module: IRModule, visited: list[str]) -> None:
    _again(module)
    assert visited == ["reshape"]  # an operator that completes its arguments: it is looked at once more
    visited.clear()
    new = _again(module)
    assert visited == []
    assert all(map(lambda a, b: a is b, bindings(new["main"]), bindings(module["main"])))


def test_the_rename_of_variables_keeps_the_note(module: IRModule, visited: list[str]) -> None:
    _again(module)
    visited.clear()
    new = relax_explorer.apply_pass(module, "ToNonDataflow")
    assert visited == []
    assert all(call.settled for name, call in _calls(new).items() if name in "acgv")


@pytest.mark.parametrize("constant", [False, True])
def test_another_operand_ends_the_note(module: IRModule, constant: bool) -> None:
    fn = module["main"]
    new: e.Expr = e.PrimValue(IntImm(2)) if constant else e.Var("z", _info(4, 1))
    changed = Substitution({fn.params[0]: new}).sequence(fn.body)
    assert _calls(module)["a"].settled
    assert next(bindings(replace(fn, body=changed))).value.settled is None


def test_an_operand_of_another_shape_is_derived_again(module: IRModule) -> None:
    fn = module["main"]
    smaller = tuple([e.Var(param.name, _info(2, 6)) for param in fn.params])
    body = Substitution(dict(zip(fn.params, smaller, strict=True))).sequence(fn.body)
    first = next(bindings(replace(fn, body=body)))
    new = _normal(smaller, first)
    assert [str(b.var.struct_info) for b in bindings(new)] == ['R.Tensor((2, 6), dtype="float32")']


def test_an_operand_that_changes_in_the_same_run_is_derived_again(module: IRModule) -> None:
    """The variable of `a` gets another shape while its readers still are the noted calls."""
    _again(module)
    fn = module["main"]
    known = {b.var.name: b for b in bindings(fn)}
    a = e.VarBinding(known["a"].var, e.Call(e.OpRef("relax.add"), (fn.params[1], fn.params[1])))
    wider = e.Var("y", _info(8, 6))
    a = e.VarBinding(a.var, Substitution({fn.params[1]: wider}).expr(a.value))
    new = _normal((wider,), a, e.VarBinding(known["gv"].var, _exp(known["a"].var)))
    assert {str(b.var.struct_info) for b in bindings(new)} == {'R.Tensor((8, 6), dtype="float32")'}


def test_a_tuple_with_another_field_is_derived_again(module: IRModule) -> None:
    """The fields of a tuple are operands too, where a variable before them has changed."""
    _again(module)
    fn = module["main"]
    known = {b.var.name: b for b in bindings(fn)}
    d = known["d"].var
    new = _normal(fn.params, e.VarBinding(d, _exp(fn.params[0])), known["f"])
    assert [str(b.var.struct_info) for b in bindings(new)] == [
        'R.Tensor((4, 6), dtype="float32")',
        'R.Tensor((8, 6), dtype="float32")',
    ]


def test_a_field_of_another_tuple_is_derived_again(module: IRModule) -> None:
    _again(module)
    fn = module["main"]
    known = {b.var.name: b for b in bindings(fn)}
    c = e.VarBinding(known["c"].var, e.Tuple((fn.params[0], fn.params[0])))
    new = _normal(fn.params, c, known["d"])
    assert str(next(reversed([*bindings(new)])).var.struct_info) == 'R.Tensor((4, 6), dtype="float32")'


def test_another_prover_or_set_of_operators_derives_again(module: IRModule, visited: list[str]) -> None:
    _again(module)
    visited.clear()
    with proving("alpha"):
        _again(module)
    assert "add" in visited
    visited.clear()
    ops.register(type("Twice", (ops.get("exp"),), {"__doc__": "Twice a tensor."}, name="my.twice"))
    try:
        _again(module)
    finally:
        ops.unregister("my.twice")
    assert "add" in visited


def test_what_needs_more_than_types_is_not_noted() -> None:
    """Calls that name devices, that complete their operands, and wrong calls are looked at each time."""
    text = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})
    @R.function(pure=False)
    def main(x: R.Tensor((4, 6), "float32"), y: R.Tensor((5,), "float32"), n: R.Shape([2, 12])):
        a = R.to_vdevice(x, "cuda")
        b = R.print(x, format="{}")
        d = R.reshape(x, n)
        s = R.nn.dropout(x)
        return d
"""
    module = relax_explorer.normalize(relax_explorer.parse(text))
    for _ in range(2):
        module = _again_with_places(module)
    assert {name for name, call in _calls(module).items() if call.settled} <= {"s", "d"}
    assert not _calls(module)["a"].settled


def _again_with_places(module: IRModule) -> IRModule:
    return relax_explorer.normalize(
        module.having({n: with_new_body(fn) for n, fn in module.functions.items()})
    )


def test_a_wrong_call_is_reported_each_time() -> None:
    text = TEXT.replace("R.add(x, y)", "R.add(x, R.reshape(y, (2, 12)))")
    first, second = (relax_explorer.check(relax_explorer.parse(text)) for _ in range(2))
    assert [str(item) for item in first] == [str(item) for item in second] != []


def test_the_rule_of_an_operator_is_asked_once(monkeypatch: pytest.MonkeyPatch, module: IRModule) -> None:
    asked: list[object] = []
    rule = Inferrer._operator
    monkeypatch.setattr(
        Inferrer, "_operator", lambda self, call, *rest: (asked.append(call), rule(self, call, *rest))[1]
    )
    _again(module)
    assert len(asked) == 1
    _again(module)
    assert len(asked) == 1


def test_a_constant_with_the_same_type_ends_the_note(module: IRModule) -> None:
    x = module["main"].params[0]
    zeros = e.Constant(np.zeros((4, 6), "float32"), x.struct_info)
    changed = Substitution({x: zeros}).sequence(module["main"].body)
    assert next(bindings(replace(module["main"], body=changed))).value.settled is None


def test_a_pass_that_renames_while_it_walks_keeps_no_note() -> None:
    """CanonicalizeBindings replaces `y` by `x`, which has a dtype. So `z` gets one too."""
    text = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        y: R.Tensor((4, 6)) = x
        z = R.exp(y)
        return z
"""
    module = _again(relax_explorer.normalize(relax_explorer.parse(text)))
    assert _calls(module)["z"].settled
    new = relax_explorer.apply_pass(module, "CanonicalizeBindings")
    assert [str(b.var.struct_info) for b in bindings(new["main"])] == ['R.Tensor((4, 6), dtype="float32")']


@pytest.mark.parametrize("trait", [{"says_place": True}, {"by_info": False}])
def test_operators_whose_calls_are_always_looked_at(trait: dict[str, bool], visited: list[str]) -> None:
    own = type("Own", (ops.get("exp"),), {"__doc__": "An operator.", **trait}, name="my.own")
    ops.register(own)
    try:
        text = _plain(TEXT.replace("R.exp(f)", 'R.op("my.own", f)'))
        module = relax_explorer.normalize(relax_explorer.parse(text))
        for _ in range(3):
            visited.clear()
            module = _again(module)
        assert visited == ["my.own"]
    finally:
        ops.unregister("my.own")


@pytest.mark.parametrize("trait", ["pure", "pure_in_spec"])
def test_the_effect_of_a_noted_call_counts(trait: str, visited: list[str]) -> None:
    own = type("Own", (ops.get("exp"),), {"__doc__": "An operator.", trait: False}, name="my.own")
    ops.register(own)
    try:
        text = _plain(TEXT.replace("R.exp(f)", 'R.op("my.own", f)'))
        module = relax_explorer.normalize(relax_explorer.parse(text))
        for _ in range(3):
            visited.clear()
            module = _again(module)
            info = module["main"].struct_info
            assert isinstance(info, FuncStructInfo)
            assert not info.pure
        assert visited == []
    finally:
        ops.unregister("my.own")


def _plain(text: str) -> str:
    """The text without its dataflow block, so that effects may stand in it."""
    lines = [line for line in text.splitlines() if "R.output" not in line and "R.dataflow" not in line]
    return "\n".join(line.removeprefix("    ") if line.startswith(" " * 12) else line for line in lines)


def test_a_wrong_type_is_replaced_beside_an_equal_call(module: IRModule) -> None:
    x = module["main"].params[0]
    wrong = _info(9, 9)
    right = e.VarBinding(e.Var("r", x.struct_info), _exp(x))
    forged = e.VarBinding(e.Var("d", wrong), replace(_exp(x), struct_info=wrong))
    new = _normal((x,), right, forged, e.VarBinding(e.Var("last"), _exp(forged.var)))
    assert {str(b.var.struct_info) for b in bindings(new)} == {'R.Tensor((4, 6), dtype="float32")'}


def test_a_tuple_of_a_wrong_type_is_replaced_beside_an_equal_call(module: IRModule) -> None:
    fn = module["main"]
    known = {b.var.name: b for b in bindings(fn)}
    concat = known["f"].value
    pair = e.Tuple((fn.params[0], fn.params[0]), concat.args[0].struct_info)
    forged = e.VarBinding(e.Var("g", concat.struct_info), replace(concat, args=(pair,)))
    derived = e.VarBinding(known["f"].var, e.Call(concat.op, concat.args, concat.attrs))
    new = _normal(fn.params, *[known[name] for name in "abcd"], derived, forged)
    assert str(list(bindings(new))[-1].var.struct_info) == 'R.Tensor((8, 6), dtype="float32")'


def test_a_field_of_a_wrong_value_is_reported_once() -> None:
    """What reads it is a consequence, also when everything is looked at again."""
    text = (
        TEXT.replace("R.split(b, 2, axis=1)", "R.split(b, 3, axis=9)")
        .replace(
            "            c =",
            '            c: R.Tuple(R.Tensor((4, 6), "float32"), R.Tensor((4, 6), "float32")) =',
        )
        .replace("R.concat((d, d), axis=0)", "R.add(d, b)")
    )
    module, first = normalize_with(relax_explorer.parse(text))
    again, second = normalize_with(IRModule({"main": with_new_body(module["main"])}))
    third = normalize_with(IRModule({"main": with_new_body(again["main"])}))[1]
    assert len(first.errors) == len(second.errors) == len(third.errors) == 1


def test_a_function_as_operand_is_still_mentioned() -> None:
    class Own(ops.get("print"), name="my.own"):  # type: ignore[misc]
        """An operator over functions."""

        pure = pure_in_spec = by_info = True
        by_machine = False
        infer = staticmethod(lambda at, *infos, **attrs: _info(4, 6))

    ops.register(Own)
    try:
        text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def other(x: R.Tensor((4,), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        cls = Module
        z = R.op("my.own", cls.other)
        y = R.op("my.own", cls.other)
        return y
"""
        module = _again(_again(relax_explorer.normalize(relax_explorer.parse(text))))
        assert all(call.settled for call in _calls(module).values())
        assert mentioned(with_new_body(module["main"])) == ("other",)
    finally:
        ops.unregister("my.own")
