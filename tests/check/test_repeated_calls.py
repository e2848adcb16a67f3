"""Calls of kernels, functions, packed functions and of memory are derived once; equal ones are recognised by all that rules see."""

from __future__ import annotations

import pytest

import relax_explorer
from relax_explorer import IRModule
from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.normal_form import seen_by_rules
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
    @T.prim_func
    def twice(a: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(4), i)
                b[v] = a[v] * T.float32(2)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Module
        a = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        b = cls.helper(a)
        c = R.call_packed("my.function", b, y, sinfo_args=[R.Tensor((4,), dtype="float32")])
        storage = R.memory.alloc_storage(R.shape([16]), 0, "global", "uint8")
        d = R.memory.alloc_tensor(storage, 0, R.shape([4]), "float32")
        k = R.memory.kill_tensor(d)
        return c
"""
KINDS = [
    "call_tir",
    "helper",
    "my.function",
    "memory.alloc_storage",
    "memory.alloc_tensor",
    "memory.kill_tensor",
]


@pytest.fixture
def module() -> IRModule:
    return relax_explorer.normalize(relax_explorer.parse(TEXT))


def _again(module: IRModule, **changed: e.Function) -> IRModule:
    """The module normalized again, with new function objects, so that the facts about functions do not hold."""
    functions = {name: with_new_body(fn) for name, fn in module.functions.items()}
    return relax_explorer.normalize(module.having({**functions, **changed}))


def _calls(module: IRModule) -> dict[str, e.Call]:
    return {b.var.name: b.value for b in bindings(module["main"]) if type(b.value) is e.Call}


def _info(length: int) -> TensorStructInfo:
    return TensorStructInfo((IntImm(length),), FLOAT32)


def _without_notes(fn: e.Function) -> e.Function:
    """The function with new calls, which have no note."""
    blocks = tuple(
        [
            replace(
                block,
                bindings=tuple(
                    [
                        replace(b, value=replace(b.value, args=tuple(list(b.value.args))))
                        if type(b.value) is e.Call
                        else b
                        for b in block.bindings
                    ]
                ),
            )
            for block in fn.body.blocks
        ]
    )
    return replace(fn, body=replace(fn.body, blocks=blocks))


def test_a_call_is_looked_at_once(visited: list[str]) -> None:
    module = relax_explorer.normalize(relax_explorer.parse(TEXT))
    assert visited == KINDS
    visited.clear()
    new = _again(module)
    assert visited == []
    assert all(a is b for a, b in zip(bindings(new["main"]), bindings(module["main"]), strict=True))


def test_an_equal_call_is_not_looked_at_either(module: IRModule, visited: list[str]) -> None:
    """Each kind of call stands twice in the function, and has no note. The second ones are equal to the first."""
    fn = _without_notes(module["main"])
    assert not any(call.settled for call in _calls(module.having({**module.functions, "main": fn})).values())
    (block,) = fn.body.blocks
    copies: dict[e.Var, e.Expr] = {}
    doubled = list(block.bindings)
    for binding in block.bindings:
        value = Substitution(dict(copies)).expr(binding.value)
        var = copies[binding.var] = e.Var(f"{binding.var.name}_2", binding.var.struct_info)
        doubled.append(replace(binding, var=var, value=value))
    body = replace(fn.body, blocks=(replace(block, bindings=tuple(doubled)),))
    new = _again(module, main=replace(fn, body=body))
    assert visited == KINDS
    assert all(call.settled for call in _calls(new).values())


def test_effects_of_calls_that_are_kept_count(module: IRModule) -> None:
    impure = _again(_again(module))["main"].struct_info
    assert isinstance(impure, FuncStructInfo)
    assert not impure.pure
    text = (
        TEXT.replace("R.call_packed(", "R.call_pure_packed(").partition("        storage")[0]
        + "        return c\n"
    )
    pure = _again(_again(relax_explorer.normalize(relax_explorer.parse(text))))["main"].struct_info
    assert isinstance(pure, FuncStructInfo)
    assert pure.pure


def test_a_callee_of_another_type_ends_the_note(module: IRModule, visited: list[str]) -> None:
    text = TEXT.replace('-> R.Tensor((4,), "float32")', '-> R.Tensor(ndim=1, dtype="float32")')
    other = relax_explorer.normalize(relax_explorer.parse(text))["helper"]
    visited.clear()
    new = _again(module, helper=other)
    assert visited == ["helper", "my.function"]  # and what reads its result
    assert str(_calls(new)["b"].struct_info) == 'R.Tensor(dtype="float32", ndim=1)'


def test_another_kernel_of_the_same_name_ends_the_note(module: IRModule) -> None:
    """The kernel takes tensors of another length now: that is reported, though the call is the same object."""
    text = TEXT.replace("T.int64(4)", "T.int64(5)")
    kernel = relax_explorer.parse(text).functions["twice"]
    functions = {name: with_new_body(fn) for name, fn in module.functions.items()}
    found = relax_explorer.check(module.having({**functions, "twice": kernel}))
    assert [str(item.code) for item in found if item.is_error] != []


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"my.function"', '"my.other"', "c"),
        ('R.shape([4]), "float32"', 'R.shape([4]), "float16"', "d"),
        ("R.shape([4])", "R.shape([2])", "d"),
        ('"global"', '"shared"', "storage"),
        ("b, y", "y, b, b", "c"),
        ('sinfo_args=[R.Tensor((4,), dtype="float32")]', "sinfo_args=[R.Tensor(ndim=1)]", "c"),
        ("cls.helper(a)", "cls.main(a, a)", "b"),
    ],
)
def test_what_makes_calls_different(module: IRModule, old: str, new: str, name: str) -> None:
    assert old in TEXT
    text = TEXT.replace(
        'def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):',
        'def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Object:',
    )
    other = relax_explorer.normalize(relax_explorer.parse(text.replace(old, new)))
    a, b = (seen_by_rules(_calls(each)[name]) for each in (module, other))
    assert a is not None
    assert a == seen_by_rules(_calls(relax_explorer.normalize(relax_explorer.parse(TEXT)))[name])
    assert a != b


def test_calls_that_the_call_alone_does_not_tell() -> None:
    """Closures, functions as arguments, and shapes that variables hold."""
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def apply(f: R.Callable, x: R.Tensor((4,), "float32")) -> R.Object:
        y = f(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32"), s: R.Shape(ndim=1)):
        cls = Module
        @R.function
        def local(p: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return p
        a = local(x)
        b = cls.apply(local, x)
        c = R.call_packed("f", x, sinfo_args=[R.Tensor(s, "float32")])
        d = R.call_packed("f", c, sinfo_args=[R.Object])
        return d
"""
    module = _again(relax_explorer.normalize(relax_explorer.parse(text)))
    assert [name for name, call in _calls(module).items() if call.settled] == []
    assert [name for name, call in _calls(module).items() if seen_by_rules(call) is not None] == []


def test_a_wrong_type_is_replaced_beside_an_equal_call(module: IRModule) -> None:
    calls = _calls(module)
    known = {b.var.name: b for b in bindings(module["main"])}
    x, y = module["main"].params
    forged = e.VarBinding(e.Var("f", _info(9)), replace(calls["c"], args=(y, y), struct_info=_info(9)))
    right = e.VarBinding(e.Var("r", _info(4)), replace(calls["c"], args=(x, y)))
    new = _again(module, main=e.Function((x, y), e.SeqExpr((e.BindingBlock((right, forged)),), forged.var)))
    assert [str(b.var.struct_info) for b in bindings(new["main"])] == ['R.Tensor((4,), dtype="float32")'] * 2
    assert known["c"].value is calls["c"]


def test_a_kernel_call_whose_field_changed_is_reported(module: IRModule) -> None:
    """The field of the tuple is the same variable, which gets another length in the same run."""
    x, y = module["main"].params
    known = {b.var.name: b for b in bindings(module["main"])}
    wider = e.Var("x", _info(8))
    p = e.VarBinding(known["b"].var, e.Call(e.op_ref("relax.exp"), (wider,)))
    call = replace(known["a"].value, args=(known["a"].value.args[0], e.tuple_of((known["b"].var,))))
    q = e.VarBinding(known["a"].var, call)
    fn = e.Function(
        (x, y), e.SeqExpr((e.BindingBlock((replace(p, value=replace(p.value, args=(x,))), q)),), q.var)
    )
    good = _again(module, main=fn)
    assert _calls(good)["a"].settled
    (block,) = good["main"].body.blocks
    bad = e.Function((wider, y), e.SeqExpr((replace(block, bindings=(p, block.bindings[1])),), q.var))
    functions = {name: with_new_body(f) for name, f in good.functions.items()}
    found = relax_explorer.check(good.having({**functions, "main": bad}))
    assert [str(item.code) for item in found if item.is_error] != []


def test_functions_that_noted_calls_mention(module: IRModule) -> None:
    assert _calls(module)["a"].settled
    assert (
        mentioned(with_new_body(module["main"]))
        == mentioned(_without_notes(module["main"]))
        == ("twice", "helper")
    )
