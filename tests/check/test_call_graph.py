"""The call graph includes references anywhere, also in trees that are not in normal form."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.call_graph import components, mentioned, reached
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s

X = e.Var("x", s.OBJECT)
G = e.GlobalVar("g")
CALL = e.Call(G, (X,))
ADD = e.op_ref("relax.add")


def function(body: e.Expr) -> e.Function:
    return e.Function((X,), body if isinstance(body, e.SeqExpr) else e.SeqExpr((), body), s.OBJECT)


def sequence(value: e.Expr) -> e.SeqExpr:
    var = e.Var("y", s.OBJECT)
    return e.SeqExpr((e.BindingBlock((e.VarBinding(var, value),)),), var)


BODIES = {
    "the result": G,
    "a tuple": e.Tuple((X, G)),
    "a call": CALL,
    "an operand": e.Call(ADD, (X, CALL)),
    "a binding": sequence(CALL),
    "an argument of a binding": sequence(e.Call(ADD, (X, G))),
    "a field of an argument": sequence(e.Call(ADD, (X, e.Tuple((X, G))))),
    "an operand of a binding": sequence(e.Call(ADD, (X, CALL))),
    "what a binding calls": sequence(e.Call(CALL, (X,))),
    "a sequence": sequence(e.SeqExpr((), CALL)),
    "a branch": sequence(e.If(X, e.SeqExpr((), X), sequence(CALL))),
    "an If that is an operand": e.Call(ADD, (X, e.If(X, sequence(CALL), e.SeqExpr((), X)))),
    "an inner function": sequence(function(sequence(CALL))),
    "a condition": sequence(e.If(CALL, e.SeqExpr((), X), e.SeqExpr((), X))),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_mention_is_found(body: e.Expr) -> None:
    assert mentioned(function(body)) == ("g",)


def test_mentions_come_in_the_order_of_the_text() -> None:
    names = [e.GlobalVar(name) for name in ("c", "a", "b")]
    blocks = [e.VarBinding(e.Var("y"), e.Call(name, (X,))) for name in names]
    assert mentioned(function(e.SeqExpr((e.BindingBlock(tuple(blocks)),), X))) == ("c", "a", "b")


PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def kernel(A: T.Buffer((2,), "float32")):
        A[0] = T.float32(1)
    @R.function
    def alone(x: R.Object) -> R.Object:
        return x
    @R.function
    def last(x: R.Object) -> R.Object:
        y = M.alone
        return y
    @R.function
    def even(x: R.Object) -> R.Object:
        y: R.Object = M.odd(x)
        return y
    @R.function
    def odd(x: R.Object) -> R.Object:
        y: R.Object = M.even(x)
        z = M.last(y)
        return z
    @R.function
    def main(x: R.Object, c: R.Tensor((), "bool")) -> R.Object:
        if c:
            y = M.alone(x)
        else:
            @R.function
            def g(z: R.Object) -> R.Object:
                return M.last
            y = g(x)
        return y
"""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("alone", {"alone"}),
        ("last", {"last", "alone"}),
        ("even", {"even", "odd", "last", "alone"}),
        ("main", {"main", "alone", "last"}),
        ("kernel", {"kernel"}),
    ],
)
def test_what_a_call_may_run(name: str, found: set[str]) -> None:
    module = rxe.parse(PROGRAM)
    for each in (module, rxe.normalize(module)):
        assert reached(each, name)[0] == name
        assert set(reached(each, name)) == found


def test_functions_that_call_each_other_in_a_ring_are_one_group() -> None:
    graph = {"a": ("b",), "b": ("c", "leaf"), "c": ("a",), "leaf": (), "main": ("a",)}
    assert components(graph) == [("leaf",), ("a", "b", "c"), ("main",)]


def test_a_ring_of_three_functions_is_recursive_for_each_of_them() -> None:
    ring = "".join(
        f"    @R.function\n    def {name}(x: R.Object):\n        y = M.{other}(x)\n        return y\n"
        for name, other in ("ab", "bc", "ca")
    )
    found = rxe.check(f"@I.ir_module\nclass M:\n{ring}")
    said = [item.message for item in found if item.code.id == "RX0140"]
    assert said == [f"{name!r} is recursive and has no return annotation" for name in "abc"]
