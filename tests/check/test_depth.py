"""The stack limits neither the depth nor the length of a program."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from tests.support.spec_trees import bind, block, call, function, normal, program, seq, var

DEEP = 10_000


def nest(kind: str) -> e.Function:
    """A function whose result is a nest of this many calls, some inside tuples."""
    x = var("x")
    value: e.Expr = x
    for _ in range(DEEP):
        value = call("exp", value) if kind == "calls" else e.TupleGetItem(e.Tuple((x, call("exp", value))), 1)
    return function([x], seq([], value))


def test_nested_calls_become_bindings() -> None:
    fn = normal(nest("calls"))
    assert len(list(bindings(fn))) == DEEP
    assert normal(nest("tuples")).body.blocks


def test_fields_of_fields_become_bindings() -> None:
    value: e.Expr = var("x", s.OBJECT)
    x = value
    for _ in range(500):
        value = e.TupleGetItem(value, 0)
    assert isinstance(x, e.Var)
    assert len(list(bindings(normal(function([x], seq([], value)))))) == 500


def test_nested_tuples_stay_one_operand() -> None:
    """Each level is visited once: the tuple of a tuple of … is a leaf."""
    x = var("x")
    value: e.Expr = x
    for _ in range(400):
        value = e.Tuple((value, x))
    twice = e.Tuple((value, call("exp", x)))
    (block_,) = normal(function([x], seq([], e.Call(e.ExternFunc("f"), (value, twice))))).body.blocks
    assert [type(b.value.op).__name__ for b in block_.bindings] == ["OpRef", "ExternFunc"]


def test_deep_trees_are_compared_and_hashed() -> None:
    one, other = program(main=nest("calls")), program(main=nest("calls"))
    assert rxe.structural_equal(one, other)
    assert rxe.structural_hash(one) == rxe.structural_hash(other)
    assert not rxe.structural_equal(one, program(main=nest("tuples")))


def test_deep_trees_are_printed() -> None:
    text = program(main=nest("calls")).script()
    assert text.count("R.exp(") == DEEP
    x, y = var("x"), var("y")
    twice = call("add", call("exp", x), call("exp", x))
    shared = call("sin", x)
    both = function(
        [x, y], seq([], call("add", e.TupleGetItem(e.Tuple((twice, call("add", shared, shared))), 0), y))
    )
    body = "R.add((R.add(R.exp(x), R.exp(x)), R.add(R.sin(x), R.sin(x)))[0], y)"
    assert f"return {body}" in program(main=both).script()


def test_long_sums_are_read_and_printed() -> None:
    text = '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    return ' + "+".join(["x"] * 300) + "\n"
    module = rxe.parse(text)
    assert module.script().count("R.add(") == 299
    assert rxe.check(module) == []


def test_long_blocks_and_many_names_are_linear() -> None:
    """As many fresh names as bindings; searching each from the start would take minutes."""
    x = var("x")
    rows, last = [], x
    for number in range(30_000):
        name = e.Var(f"v{number}")
        rows.append(bind(name, call("add", call("exp", last), last)))
        last = name
    fn = normal(function([x], seq([block(*rows)], last)))
    assert len(list(bindings(fn))) == 60_000
