"""Rules about shapes look at each part of what they are given, at both sides of it, and don't take what is unknown for an answer."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, dtype
from relax_explorer.core.shapes import extensions
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.callers import _paired
from relax_explorer.core.shapes.conditions import fits_without_lengths
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.decided_lengths import _open_checks, decide, loses, refused, tells_as_much
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions
from relax_explorer.core.shapes.origins import Origins
from relax_explorer.core.shapes.primitives import RULES
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.shapes.residual import PARAMETERS, RESULT, shape_checks
from relax_explorer.core.shapes.why import shortest

N, M, K = (p.PrimVar(name, INT64) for name in "nmk")
F32, F16 = dtype("float32"), dtype("float16")
GPU = s.VDevice("cuda", 0, "global")
HELD = e.Var("sh", s.ShapeStructInfo(None, 1))


def tensor(
    *dims: p.PrimExpr, element: object = F32, ndim: int | None = None, device: object = None
) -> s.TensorStructInfo:
    return s.TensorStructInfo(dims or None, element, len(dims) if ndim is None else ndim, device)  # type: ignore[arg-type]


def of(*fields: s.StructInfo) -> s.TupleStructInfo:
    return s.TupleStructInfo(fields)


def function(*params: s.StructInfo, ret: s.StructInfo = s.OBJECT) -> s.FuncStructInfo:
    return s.FuncStructInfo(params, ret, True)


def number(value: int) -> p.PrimExpr:
    return p.IntImm(value, INT64)


@pytest.mark.parametrize(
    ("have", "want", "fits"),
    [
        (tensor(N), tensor(N, element=None), True),
        (tensor(N), tensor(ndim=-1), True),
        (tensor(N, element=None), tensor(N), True),
        (tensor(N), tensor(N, element=F16), False),
        (tensor(N, device=GPU), tensor(N), True),
        (tensor(N, device=GPU), tensor(N, device=GPU), True),
        (tensor(N), tensor(N, device=GPU), False),
        (of(tensor(N), tensor(N)), of(tensor(N), tensor(N, element=F16)), False),
        (of(tensor(N), tensor(N, element=F16)), of(tensor(N), tensor(N)), False),
    ],
)
def test_what_fits_apart_from_lengths(have: s.StructInfo, want: s.StructInfo, fits: bool) -> None:
    assert fits_without_lengths(have, want) is fits


@pytest.mark.parametrize(
    ("much", "little"),
    [
        (tensor(N), tensor(N, element=None)),
        (tensor(N), tensor(ndim=1)),
        (tensor(N), s.TensorStructInfo(HELD, F32, 1)),
        (s.TensorStructInfo(HELD, F32, 1), tensor(ndim=1)),
        (of(tensor(N), tensor(N)), of(tensor(N), tensor(ndim=1))),
        (function(tensor(N)), function(tensor(ndim=1))),
        (function(ret=tensor(N)), function(ret=tensor(ndim=1))),
    ],
)  # fmt: skip
def test_what_is_lost(much: s.StructInfo, little: s.StructInfo) -> None:
    assert loses(much, little)
    if s.TensorStructInfo(HELD, F32, 1) not in (much, little):
        assert not loses(little, much)


CALL = """@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Object:
    n, m = T.int64(), T.int64()
    a = R.call_pure_packed("f", x, ty_args={})
    {}
    return a
"""


def normalized(info: str, *lines: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(CALL.format(info, "\n    ".join(lines) or "pass")))


def test_what_is_lost_in_a_program() -> None:
    much, little = normalized("R.Tensor((4,))"), normalized("R.Tensor(ndim=1)")
    assert not tells_as_much(little, much, ())
    assert tells_as_much(much, little, ())
    adds, casts = (
        normalized("R.Object", "b = R.add(x, y)"),
        normalized("R.Object", "b = R.match_cast(y, R.Tensor((n,)))"),
    )
    asserted = normalized("R.Object", "b = R.assert_op(n == m)")
    before = _open_checks(normalized("R.Object"))
    assert [sum((_open_checks(one) - before).values()) for one in (adds, casts, asserted)] == [1, 0, 0]
    assert [refused("abcd", lambda chosen, bad=bad: bad not in chosen) for bad in "abcd"] == [
        {*bad} for bad in "abcd"
    ]


@pytest.mark.parametrize(
    ("kind", "left", "right", "count"),
    [
        (p.EQ, [N], [N, M], 2),
        (p.EQ, [N, M], [N], 2),
        (p.EQ, [N, M], [N, M], 2),
        (p.EQ, [N, M], [N, M, K], None),
        (p.EQ, [], [N], 0),
        (p.EQ, [p.LT(N, M)], [N], None),
        (p.EQ, [N], [p.LT(N, M)], None),
        (p.And, [p.LT(N, M)], [p.LT(M, N)], 1),
        (p.Or, [p.LT(N, M)], [p.LT(M, N)], 1),
        (p.And, [N], [M], None),
        (p.Or, [N], [M], None),
    ],
)  # fmt: skip
def test_elements_meet(kind: type, left: list, right: list, count: int | None) -> None:
    found = _paired(kind, tuple(left), tuple(right))
    assert (None if found is None else len(found)) == count


def known_of(*facts: p.PrimExpr) -> Assumptions:
    known = Assumptions()
    for fact in facts:
        known = known.plus(fact)
    return known


def test_what_is_known_of_a_variable_by_the_one_that_it_tells() -> None:
    double = p.EQ(M, p.Mul(N, number(2)))
    for facts in (
        (double, p.LE(M, number(8)), p.GE(M, number(8))),
        (p.LE(M, number(8)), p.GE(M, number(8)), double),
    ):
        assert known_of(*facts).equal(N, number(4)) is Answer.YES
    others = [p.LE(p.PrimVar(f"a{number_}", INT64), p.PrimVar(f"b{number_}", INT64)) for number_ in range(12)]
    known = known_of(*others, p.LE(M, K), double, p.GE(N, number(3)))
    assert known.prove(p.GE(K, number(6))) is Answer.YES


def test_what_may_be_is_no_contradiction() -> None:
    cubes = p.EQ(p.Mul(N, p.Mul(N, N)), p.Add(p.Mul(M, p.Mul(M, M)), p.Mul(K, p.Mul(K, K))))
    assert not known_of(cubes, p.GT(M, number(100)), p.GT(K, number(1000))).are_contradictory
    assert known_of(p.GT(M, number(4)), p.LT(M, number(3))).are_contradictory


def test_an_example_with_a_one_beside_a_large_number() -> None:
    found = Assumptions().counterexample(p.NE(p.Mul(N, M), number(900)))
    assert set(found.values()) == {1, 900}


def test_conditions_beside_each_other_are_not_nested() -> None:
    names = LengthNames(normalized("R.Object"), "main")
    assert read_conditions(" + ".join(["T.min(n, m)"] * 300) + " >= 0", names)


def test_a_type_that_is_no_function_gives_no_operator() -> None:
    for text in ("Tensor[(3), float32]", "fn<"):
        with pytest.raises((ValueError, rxe.Failure)):
            extensions.operator("mine", text)
        assert "mine" not in extensions.TEXTS


def test_unequal_branches_have_no_common_length() -> None:
    text = """@f = fn(c : int8, x : Tensor([n], int8), y : Tensor([m], int8)) : Tensor(?, int8) {
  let r = if (c > 3) { x } else { y }; let s ! Tensor([n], int8) = r; s }"""
    program, terms = read_contract(text)
    assert [one for one in analyse(program, terms).residual if "r.dim" in str(one) or "s.dim" in str(one)]


def test_the_first_argument_tells_the_element_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "pick", lambda shapes, attrs: RULES["flatten"](shapes[:1], attrs))
    text = "let x : Tensor([2, 3], int8) = ..; let i : Tensor([4], int32) = ..; let r ! Tensor([2, 3], {}) = @pick(x, i)"
    assert [analyse(*read_contract(text.format(one))).asserted["r"] for one in ("int8",)] == [False]


@pytest.mark.parametrize(
    ("length", "facts", "told"),
    [
        (p.Mul(p.FloorDiv(N, M), number(0)), (), False),
        (p.Mul(p.FloorDiv(N, M), number(0)), (p.GT(M, number(0)),), True),
        (p.Select(p.GT(N, number(0)), p.FloorDiv(N, M), number(1)), (p.LE(N, number(0)),), True),
        (p.Select(p.GT(N, number(0)), number(1), p.FloorDiv(N, M)), (p.GT(N, number(0)),), True),
        (p.Select(p.GT(N, number(0)), number(1), p.FloorDiv(N, M)), (), False),
    ],
)  # fmt: skip
def test_a_length_that_may_stop_the_run_stays(length: p.PrimExpr, facts: tuple, told: bool) -> None:
    assert (type(shortest(length, known_of(*facts), {N, M})) is p.IntImm) is told


def test_a_visible_name_is_shorter() -> None:
    sum_ = p.Add(p.Mul(N, number(2)), M)
    known = known_of(p.EQ(K, sum_))
    assert shortest(p.Mul(sum_, sum_), known, {N, M, K}) == p.Mul(K, K)
    assert K not in p.free_vars(shortest(p.Mul(sum_, sum_), known, {N, M}))


TWICE = """@R.function(pure=False)
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "l"), "float32"), u: R.Tensor(("n", "m")), c: R.Tensor((), "bool")):
    n, m, k, l, q = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
    {}
    return x
"""


def texts(*lines: str) -> list[str]:
    """What is checked after the parameters."""
    module = rxe.normalize(rxe.parse(TWICE.format("\n    ".join(lines))))
    return [check.text for check in shape_checks(module) if check.kind != PARAMETERS]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("R.concat([x, y], axis=0)", "R.concat([x, y], axis=1)"),
        ("R.matmul(x, y)", "R.add(x, y)"),
        ("R.add(x, y)", "R.matmul(x, y)"),
        ("R.reshape(x, R.shape([k, l]))", "R.broadcast_to(x, R.shape([k, l]))"),
        ("R.add(u, x)", "R.add(u, x)"),
        ("R.add(u, x)", "R.add(x, u)"),
    ],
)
def test_a_call_is_asked_for_what_it_demands_itself(first: str, second: str) -> None:
    alone = [texts(f"a = {call}") for call in (first, second)]
    assert all(alone)
    assert texts(f"a = {first}", f"b = {second}") == [*alone[0], *alone[1]]


def test_lengths_that_a_branch_binds_are_unknown_in_the_other_one() -> None:
    bind = "a = R.match_cast(y, R.Tensor((q, l), 'float32'))"
    branches = ["if c:", f"    {bind}", "    r = R.sum(a)", "else:", f"    {bind}", "    r = R.sum(a)"]
    alone = texts(bind)
    assert texts(*branches) == alone * 2
    inner = [
        "@R.function",
        "def f(z: R.Tensor(ndim=2)):",
        "    q = T.int64()",
        "    b = R.match_cast(z, R.Tensor((q, q), 'float32'))",
        "    return b",
    ]
    assert len(texts(*inner, bind)) == len(texts(*inner)) + len(alone)
    inner[1] = "def f(z: R.Tensor(('q', 'q'))):"
    assert len(texts(*inner[:2], "    return z", bind)) == len(texts(*inner[:2], "    return z")) + len(alone)


def test_an_assertion_is_about_its_first_operand() -> None:
    assert texts('a = R.assert_op(R.prim_value(n == m), R.prim_value(k), format="{}")') == ["n == m"]


KERNEL = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(a: T.handle, b: T.handle, s: T.int64):
        A = T.match_buffer(a, (s,), "float32")
        B = T.match_buffer(b, (s,), "float32")
        for i in range(s):
            B[i] = A[i]
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Shape(["k"])):
        n, k = T.int64(), T.int64()
        a = R.call_tir(Module.f, (x,), tir_vars=R.shape([k]), out_ty=R.Tensor((n,), "float32"))
        return a
"""


def test_scalars_of_a_kernel_fit() -> None:
    module = rxe.normalize(rxe.parse(KERNEL))
    assert [check for check in shape_checks(module) if check.kind not in (PARAMETERS, RESULT)]


def test_problems_that_come_one_at_a_time() -> None:
    module = normalized("R.Object")
    problems = [Diagnostic(codes.MAYBE_RETURN, "one"), Diagnostic(codes.MAYBE_RETURN, "two")]
    assert decide(module, iter(problems)) == decide(module, problems)


def test_a_field_of_a_field() -> None:
    origins = Origins(normalized("R.Object", "t = (x, y)", "b = (t, x)"), "main")
    var = origins.named("b")
    assert var is not None
    for path, length in (((0, 1, 0), "m"), ((0, 0, 0), "n"), ((1, 0), "n")):
        steps = origins.explain(var, path).steps
        assert {step.length for step in steps} == {length}, path
        fields = [step.how for step in steps if step.how.startswith("field")]
        assert fields == [f"field {number_}" for number_ in path[:-1]]
