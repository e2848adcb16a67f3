"""A relation as a StructInfo rule and a rule as a relation (note 004, Test J): what either tells, the other does."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import ops
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.relations.adapt import (
    infer_to_relation,
    relation_op,
    relation_to_infer,
    solve_one,
    to_info,
    to_type,
)
from relax_explorer.core.relations.library import RELATIONS
from relax_explorer.core.relations.relay_types import Hole, TensorType, TupleType, TypeRelation, dim_hole
from relax_explorer.core.relations.solver import Outcome, Solver
from relax_explorer.core.shapes.conditions import words
from relax_explorer.core.shapes.residual import shape_checks

FLOAT, INT = dtype("float32"), dtype("int32")
N, M = p.PrimVar("n"), p.PrimVar("m")


def tensor(*dims: int | p.PrimExpr, element: str = "float32") -> s.TensorStructInfo:
    return s.TensorStructInfo(
        tuple([p.as_prim(dim) if isinstance(dim, int) else dim for dim in dims]), dtype(element)
    )


INFOS = (
    tensor(), tensor(2), tensor(N, 2), tensor(N, p.Mul(N, p.IntImm(2))), s.TensorStructInfo(None, FLOAT, 0), s.TensorStructInfo(None, FLOAT, 2),
    s.TensorStructInfo(None, FLOAT, -1), s.TensorStructInfo(None, None, 3), s.TensorStructInfo(None, None, -1), s.TensorStructInfo((N,), None),
    s.TupleStructInfo(()), s.TupleStructInfo((tensor(2), s.TupleStructInfo((tensor(N),)))), s.OBJECT,
)  # fmt: skip


@pytest.mark.parametrize("info", INFOS, ids=str)
def test_types_of_both_kinds_tell_the_same(info: s.StructInfo) -> None:
    same = s.TensorStructInfo((), FLOAT) if info is s.TensorStructInfo(None, FLOAT, 0) else info
    assert to_info(to_type(info)) is same
    found = to_type(info)
    assert isinstance(found, TupleType) is isinstance(info, s.TupleStructInfo)
    if isinstance(found, TupleType) and isinstance(info, s.TupleStructInfo):
        assert [to_info(field) for field in found.fields] == list(info.fields)


def test_an_unknown_length_keeps_the_rank() -> None:
    found = to_info(to_type(s.TensorStructInfo((N, p.AnyDim()), FLOAT)))
    assert found is s.TensorStructInfo(None, FLOAT, 2)


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("add", tensor(2, 3), tensor(3)),
        ("add", tensor(N, 1), tensor(1, 4)),
        ("add", tensor(2), tensor(3)),
        ("add", tensor(N), tensor(N)),
        ("matmul", tensor(2, 3), tensor(3, 4)),
        ("matmul", tensor(N, 3), tensor(3, M)),
        ("matmul", tensor(2, 3), tensor(2, 3)),
    ],
    ids=str,
)
def test_a_rule_is_a_relation(name: str, a: s.StructInfo, b: s.StructInfo) -> None:
    op = find(f"relax.{name}")
    assert op is not None
    site = Site(None, op)
    item, result, _ = solve_one(name, infer_to_relation(op), [to_type(a), to_type(b)], {})
    attrs = {q.name: q.default for q in op.attributes}
    if item.outcome is Outcome.FAILS:
        with pytest.raises(InferFailure) as failure:
            op.infer(site, a, b, **attrs)
        assert failure.value.diagnostic.message in str(item.reason)
        return
    assert to_info(result) is op.infer(site, a, b, **attrs)
    assert not site.obligations
    assert item.outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("name", "a", "b", "rank"),
    [
        ("add", tensor(N), tensor(M), 1),  # the lengths may differ
        ("add", s.TensorStructInfo(None, FLOAT, 2), tensor(3), 2),
        ("add", s.TensorStructInfo(None, None, -1), tensor(3), -1),
        ("matmul", tensor(2, N), tensor(M, 2), 2),
    ],
    ids=str,
)
def test_what_a_rule_leaves_open_holds_not_yet(
    name: str, a: s.StructInfo, b: s.StructInfo, rank: int
) -> None:
    op = find(f"relax.{name}")
    assert op is not None
    item, result, _ = solve_one(name, infer_to_relation(op), [to_type(a), to_type(b)], {})
    assert item.outcome is not Outcome.HOLDS
    assert item.outcome is not Outcome.FAILS
    found = to_info(result)
    assert isinstance(found, s.TensorStructInfo)
    assert found.ndim == rank


def test_a_rule_is_not_asked_about_an_input_that_nothing_is_known_of() -> None:
    op = find("relax.add")
    assert op is not None
    item, result, _ = solve_one("add", infer_to_relation(op), [Hole(), to_type(tensor(2))], {})
    assert item.outcome is not Outcome.FAILS
    assert isinstance(result, Hole)


def test_attributes_go_to_the_rule() -> None:
    op = find("relax.sum")
    assert op is not None
    for attrs, shape in (({}, ()), ({"axis": (0,)}, (3,)), ({"axis": (1,), "keepdims": True}, (2, 1))):
        item, result, _ = solve_one("sum", infer_to_relation(op), [to_type(tensor(2, 3))], attrs)
        assert item.outcome is Outcome.HOLDS
        assert to_info(result) is tensor(*shape)


def open_(types: tuple, inputs: int, attrs: dict, solver: object) -> Outcome:
    """A relation that tells the element type alone."""
    solver.unify(types[-1], TensorType(Hole(), types[0].dtype))
    return Outcome.HOLDS


def ranked(types: tuple, inputs: int, attrs: dict, solver: object) -> Outcome:
    """A relation that tells the rank, 2, too."""
    solver.unify(types[-1], to_type(s.TensorStructInfo(None, types[0].dtype, 2)))
    return Outcome.HOLDS


def tupled(types: tuple, inputs: int, attrs: dict, solver: object) -> Outcome:
    """A relation whose result is a tuple."""
    solver.unify(types[-1], TupleType((types[0],)))
    return Outcome.HOLDS


def inferred(op: type[Op], *infos: s.StructInfo, **attrs: object) -> s.StructInfo:
    return op.infer(Site(None, op), *infos, **attrs)


def test_a_shape_function_tells_what_a_relation_leaves_open() -> None:
    def flat(shape: tuple[int, ...], rank: int = 1) -> list[object]:
        return [*[1] * (rank - 1), np.int64(np.prod(shape))]

    op = relation_op("my.flat", open_, ("x",), {"rank": 1}, shape_function=flat)
    assert inferred(op, tensor(2, 3), rank=1) is tensor(6)
    assert inferred(op, tensor(2, 0), rank=2) is tensor(1, 0)
    assert inferred(op, tensor(N, 3), rank=1) is s.TensorStructInfo(None, FLOAT, -1)
    for unknown in (s.TensorStructInfo(None, FLOAT, 2), s.TensorStructInfo(None, FLOAT, -1)):
        assert inferred(op, unknown, rank=1) is s.TensorStructInfo(None, FLOAT, -1)
    assert inferred(relation_op("my.open", open_, ("x",)), tensor(2, 3)) is s.TensorStructInfo(
        None, FLOAT, -1
    )
    with_rank = relation_op("my.ranked", ranked, ("x",), {"rank": 2}, shape_function=flat)
    assert inferred(with_rank, tensor(2, 3), rank=2) is tensor(1, 6)
    with pytest.raises(InferFailure, match="the shape function gives"):
        inferred(with_rank, tensor(2, 3), rank=3)
    known = relation_op("my.known", "Identity", ("x",), shape_function=lambda shape: [7])
    assert inferred(known, tensor(2, 3)) is tensor(2, 3)
    whole = relation_op("my.tuple", tupled, ("x",), shape_function=lambda shape: [7])
    assert inferred(whole, tensor(2, 3)) is s.TupleStructInfo((tensor(2, 3),))


def test_an_operator_without_an_implementation_says_so() -> None:
    op = relation_op("my.typed", "Identity", ("x",))
    assert op.evaluate is None
    assert "without an implementation" in op.no_evaluate
    able = relation_op("my.able", "Identity", ("x",), impl=np.abs)
    assert able.evaluate is not None
    assert not able.no_evaluate
    assert "my.typed" not in str(relation_to_infer("Identity"))

    def my_own(types: tuple, inputs: int, attrs: dict, solver: object) -> Outcome:
        return Outcome.FAILS

    failing = relation_op("my.fails", my_own, ("x",))
    with pytest.raises(InferFailure, match="my_own"):
        inferred(failing, tensor(2))


@pytest.mark.parametrize(
    ("x", "y", "left"),
    [
        ('("n", "k")', '("j", "m")', ["k == j"]),
        ('("n", "k")', '("k", "m")', []),
        ('("n", 4)', '("j + 2", "m")', ["4 == j + 2"]),
        ('("a", "n", "k * 2")', '("a", "j", "m")', ["k * 2 == j"]),
    ],
)
def test_lengths_that_a_relation_cannot_compare_are_left_to_the_run(x: str, y: str, left: list[str]) -> None:
    op = relation_op("my.matmul", "Matmul", ("a", "b"), impl=np.matmul)
    ops.register(op)
    try:
        for name in ("matmul", 'op("my.matmul", '):
            call = f"R.{name}x, y)" if name.startswith("op") else f"R.{name}(x, y)"
            program = rxe.normalize(rxe.parse(HEAD.format(x=x, y=y, call=call)))
            checks = [one for one in shape_checks(program) if one.kind == "operator"]
            assert [one.text for one in checks if one.answer is Answer.UNKNOWN] == left
    finally:
        ops.unregister("my.matmul")


@pytest.mark.parametrize(
    ("x", "y", "left"),
    [
        ('("n",)', '("m",)', ["n == m or n == 1 or m == 1"]),
        ('("m", "n")', '("n",)', []),
        ('("m", 1)', '("n",)', []),
        ('("m", "k")', '("n", "k")', ["m == n or m == 1 or n == 1"]),
        ('("n", 4)', '("m", "j + 2")', ["n == m or n == 1 or m == 1", "4 == j + 2"]),
        ('("n", 4)', '("m", "j")', ["n == m or n == 1 or m == 1", "4 == j or j == 1"]),
        ('("a", 5, "n", "k")', '(5, "m", "k")', ["n == m or n == 1 or m == 1"]),
    ],
)
@pytest.mark.parametrize("relation", ["Broadcast", "BroadcastComp"])
def test_lengths_that_may_not_broadcast_are_left_to_the_run(
    relation: str, x: str, y: str, left: list[str]
) -> None:
    op = relation_op("my.add", relation, ("a", "b"), impl=np.add)
    ops.register(op)
    try:
        program = rxe.normalize(rxe.parse(HEAD.format(x=x, y=y, call='R.op("my.add", x, y)')))
        checks = [one for one in shape_checks(program) if one.kind == "operator"]
        assert {one.text for one in checks if one.answer is Answer.UNKNOWN} == set(left)
        assert not [one for one in checks if one.answer is Answer.NO]
    finally:
        ops.unregister("my.add")


@pytest.mark.parametrize(
    ("value", "open_"),
    [(M, []), (p.IntImm(1), []), (N, [(N, M)]), (p.Add(M, p.IntImm(1)), [(p.Add(M, p.IntImm(1)), M)])],
    ids=str,
)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_broadcasts_is_told_by_what_is_known_now(
    value: p.PrimExpr, open_: list[tuple[p.PrimExpr, p.PrimExpr]], is_first: bool
) -> None:
    solver, hole = Solver(), dim_hole()
    types = [TensorType((hole,), FLOAT), TensorType((M,), FLOAT)]
    solver.add(TypeRelation("B", RELATIONS["Broadcast"], (*(types if is_first else types[::-1]), Hole()), ()))
    solver.run()
    solver.same_dim(hole, value)
    assert solver.joins_now() == (open_ if is_first else [(b, a) for a, b in open_])
    solver.run()
    assert solver.joins_now() == (open_ if is_first else [(b, a) for a, b in open_]), "each pair once"


def test_what_is_broadcast_with_a_length_without_a_name_is_no_check() -> None:
    site = Site(None)
    found = relation_to_infer("Broadcast")(site, tensor(p.AnyDim(), M, N), tensor(M, M, 2))
    assert found == s.TensorStructInfo(None, FLOAT, 3)
    texts = [words(p.EQ(a, b)) for a, b in site.obligations]
    assert texts == ["n == 2 or n == 1"]


HEAD = """@R.function
def main(x: R.Tensor({x}, "float32"), y: R.Tensor({y}, "float32"), s: R.Shape(["n", "k", "j", "a"])):
    n, k, j, m, a = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
    with R.dataflow():
        w = {call}
        R.output()
    return x
"""


def test_lengths_without_a_name_are_no_checks() -> None:
    rule, site = relation_to_infer("Reshape"), Site(None)
    assert rule(site, s.TensorStructInfo(None, FLOAT, 2), newshape=(2, 3)) == tensor(2, 3)
    assert site.obligations == []
    assert rule(site, tensor(N, M), newshape=(2, 3)) == tensor(2, 3)
    assert [(str(a), str(b)) for a, b in site.obligations] == [("n * m", "6")]
