"""Types of Relay's notation: what stands inside of a type, beside it, or in the other order is what it is alone."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ops.kit.decl import Site
from relax_explorer.core.relations.adapt import relation_op, relation_to_infer, solve_one, to_info, to_type
from relax_explorer.core.relations.inference import infer_relay
from relax_explorer.core.relations.library import RELATIONS
from relax_explorer.core.relations.relay_types import FuncType, TensorType, alpha_equal, dim_hole
from relax_explorer.core.relations.solver import Mismatch, Outcome, Solver
from relax_explorer.core.relations.text import read_relay, read_type
from relax_explorer.core.relations.to_relax import lower_relay
from tests.shapes.test_relations_of_two import M, N, tensor


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("fn<a>((a, a)) -> a", "fn<b>((b, b)) -> b", True),
        ("fn<a, c>((a, c)) -> a", "fn<a, c>((c, a)) -> a", False),
        ("fn<d : BaseType>(Tensor[(2), d]) -> Tensor[(2), d]", "fn<f : BaseType>(Tensor[(2), f]) -> Tensor[(2), f]", True),
        ("fn<d : BaseType>(Tensor[(2), d]) -> Tensor[(2), d]", "fn<d : BaseType>(Tensor[(2), d]) -> Tensor[(2), int8]", False),
        ("fn<n : ShapeVar>(fn<m : ShapeVar>(Tensor[(n, m), int8]) -> Tensor[(n), int8]) -> Tensor[(n), int8]",
         "fn<k : ShapeVar>(fn<l : ShapeVar>(Tensor[(k, l), int8]) -> Tensor[(k), int8]) -> Tensor[(k), int8]", True),
    ],
)  # fmt: skip
def test_types_up_to_names(one: str, other: str, same: bool) -> None:
    assert (
        alpha_equal(read_type(one), read_type(other)) is alpha_equal(read_type(other), read_type(one)) is same
    )


@pytest.mark.parametrize("value", [p.FloorMod(N, p.as_prim(3)), p.Mul(M, N)])
def test_a_length_keeps_its_form(value: p.PrimExpr) -> None:
    for is_first in (True, False):
        solver, hole = Solver(), dim_hole()
        assert solver.same_dim(*((hole, value) if is_first else (value, hole))) is Outcome.HOLDS
        assert solver.dim(hole) == value


def test_a_part_of_a_length_is_solved_on_either_side() -> None:
    for is_first in (True, False):
        solver, hole = Solver(), dim_hole()
        two = p.Mul(hole, p.as_prim(2)), p.as_prim(6)
        assert solver.same_dim(*two if is_first else two[::-1]) is Outcome.HOLDS
        assert solver.dim(hole) == p.as_prim(3)


def test_a_result_that_may_be_right_is_no_mismatch() -> None:
    types = (to_type(tensor(N)), to_type(tensor(M)), to_type(tensor(p.Add(N, p.as_prim(1)))))
    assert RELATIONS["Broadcast"](types, 2, {}, Solver()) is Outcome.UNKNOWN


def test_the_first_of_several_is_told() -> None:
    with pytest.raises(Mismatch, match="float32"):
        RELATIONS["Concat"]((to_type(tensor(2)), to_type(tensor(2, element="int8"))), 1, {}, Solver())
    fields = read_type("(Tensor[(n, 2), float32], Tensor[(m, 2), float32])")
    item, result, _ = solve_one("Concat", RELATIONS["Concat"], [fields], {"axis": 1})
    assert item.outcome is Outcome.UNKNOWN
    assert str(to_info(result)) == 'R.Tensor((n, 4), dtype="float32")'


def test_lengths_that_stay_open_inside_demand_nothing() -> None:
    def waiting(types: tuple, inputs: int, attrs: dict, reporter: Solver) -> Outcome:
        hole = dim_hole()
        for two in ((N, p.Mul(hole, hole)), (M, N)):
            reporter.same_dim(*two)
            reporter.may_join(*two)
        reporter.unify(types[1], types[0])
        return Outcome.HOLDS

    op = relation_op("my.own.thing", waiting, ["x"])
    site = Site(None, op)
    assert relation_to_infer(waiting)(site, tensor(N)) == tensor(N)
    assert {var.name for two in site.obligations for var in p.free_vars(*two)} == {"n", "m"}
    assert op.__name__ == "Thing"


@pytest.mark.parametrize(("inside", "outside"), [("s : Shape", "s"), ("(n : ShapeVar)", "(n)")])
def test_a_free_name_is_the_same_everywhere(inside: str, outside: str) -> None:
    found = read_type(f"(fn(Tensor[{inside}, int8]) -> Tensor[{outside}, int8], Tensor[{outside}, int8])")
    function, beside = found.fields  # type: ignore[union-attr]
    assert isinstance(function, FuncType)
    assert isinstance(beside, TensorType)
    assert function.ret.shape == beside.shape  # type: ignore[union-attr]


TWICE = "def @f<t>(%x : t) -> t {{ %x }}\n@f<({}, Tensor[(2), int8])>(%y)"


@pytest.mark.parametrize(
    "first", ["fn(Tensor[(2), int8]) -> Tensor[(2), int8]", "(Tensor[(2), int8], Tensor[(2), int8])"]
)
def test_types_in_parentheses_are_no_shape(first: str) -> None:
    assert read_relay(TWICE.format(first).replace("%y", "1")).main is not None


def test_what_is_unknown_in_a_function() -> None:
    typed = infer_relay("def @f(%x : Tensor[(2), int8]) { @f(%x) }")
    assert typed.holes == [typed.functions["f"].ret]


def lowered(text: str) -> rxe.IRModule:
    return rxe.normalize(lower_relay(infer_relay(text)))


def test_a_name_of_a_branch_ends_with_it() -> None:
    text = """def @f(%c : Tensor[(), bool], %x : Tensor[(2), float32]) {
  let %y = if (%c) { let %x = nn.relu(%x); let %z = nn.relu(%x); %z } else { %x };
  add(%x, %y)
}"""
    fn = lowered(text).functions["f"]
    added = fn.body.blocks[-1].bindings[-1].value
    assert isinstance(added, e.Call)
    assert added.args[0] is fn.params[1]


def test_operands_that_are_leaves_stay() -> None:
    text = "def @main(%x : Tensor[(), float32]) -> Tensor[(), float32] { %x }\nadd(2.0, nn.log_softmax(Constant(1.0, (2), float32)))"
    module = lowered(text)
    assert set(module.functions) == {"main", "main_"}
    assert module.functions["main"].body.blocks == ()
    assert module.functions["main"].body.body is module.functions["main"].params[0]
    values = [binding.value for block in module.functions["main_"].body.blocks for binding in block.bindings]
    names = [value.op.name for value in values if isinstance(value, e.Call) and isinstance(value.op, e.OpRef)]
    assert names == ["relax.full", "relax.nn.log_softmax", "relax.add"]
    assert len(names) == len(values)
    assert [type(lowered(text).functions["main"].body.body) for text in ("2.0", "True", "False")] == [
        e.Constant
    ] * 3
