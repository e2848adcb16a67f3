"""A wrong kind of operand or attribute is a mistake of the program, reported before the operator's rule runs."""

from __future__ import annotations

from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.arguments import LIMIT, completed, operand_problem, problem, with_numbers
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType
from relax_explorer.core.ir.prim import FloatImm, PrimVar
from relax_explorer.core.ops.kit.decl import Axes, Expr, IntList, Ints, Numbers, Op, Parameter, attr

RIGHT = (
    "R.memory.view(x)",
    "R.memory.view(x, R.shape([2, 2]))",
    "R.memory.view(x, R.tuple(), R.tuple(), R.prim_value(0))",
    'R.memory.view(x, R.shape([2]), "float32", R.tuple())',
)
WRONG = (
    ('R.memory.view(x, R.shape([2]), "float32", R.shape([2]))', "relative_byte_offset is R.Shape([2])"),
    ('R.memory.view(x, R.shape([2]), "float32", (x,))', "relative_byte_offset is R.Tuple("),
    (
        'R.memory.view(x, R.shape([2]), "float32", (R.prim_value(0),))',
        "relative_byte_offset is R.Tuple(T.int64), it must be a scalar",
    ),
    ("R.clip(x, (x,), R.prim_value(1))", "min is R.Tuple("),
    ("R.clip(x, R.prim_value(0), R.shape([4]))", "max is R.Shape([4]), it must be a scalar"),
    ('R.eye(R.shape([4]), 3, 0, "float32")', "n is R.Shape([4]), it must be a scalar"),
)


def said(call: str) -> list[str]:
    text = f'@R.function\ndef main(x: R.Tensor((4,), "float32")):\n    y = {call}\n    return y\n'
    return [f"{item.code.id} {item.message}" for item in rxe.check(text) if item.is_error]


@pytest.mark.parametrize("call", RIGHT)
def test_what_is_taken(call: str) -> None:
    assert said(call) == []


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_what_is_not(call: str, words: str) -> None:
    (only,) = said(call)
    assert only.startswith("RX0201 ")
    assert words in only


class Every(Op, name="test.every"):
    """An attribute of every kind."""

    one: int = attr(0, "")
    number: float = attr(0.0, "")
    imm: FloatImm | None = attr(None, "")
    flag: bool = attr(False, "")
    text: str = attr("", "")
    dtype: DType = attr(FLOAT32, "")
    axes: Axes = attr((0,), "")
    ints: Ints = attr((0,), "")
    int_list: IntList = attr((0,), "")
    either: int | Ints = attr(0, "")
    numbers: Numbers = attr((0.0,), "")
    expr: Expr = attr(0, "")
    anything: Any = attr(None, "")


HALF, N = FloatImm(0.5, FLOAT32), PrimVar("n", INT64)
FAR = LIMIT + 1


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("one", (0, -LIMIT, LIMIT), (1.5, True, "1", (1,), FAR, -FAR, None)),
        ("number", (1, 1.5, 1e300), (True, "1", (1,), HALF, N, None)),
        ("imm", (1, 1.5, HALF, None), (True, "1", (1,), N)),
        ("flag", (True, False), (0, 1, "True", None)),
        ("text", ("", "a"), (1, None, ("a",))),
        ("dtype", (FLOAT32,), ("float32", 1, None)),
        ("axes", (1, (1,), (), (-LIMIT, LIMIT)), (1.5, (1.5,), True, FAR, (0, FAR), None)),
        ("ints", (1, (1,), ()), (1.5, (1.5,), True, FAR, (0, -FAR), None)),
        ("int_list", ((1,), ()), (1, (1.5,), (True,), (FAR,), None)),
        ("either", (1, (1,)), (1.5, (1.5,), FAR, (FAR,), None)),
        ("numbers", (1, 1.5, (1, 1.5), (HALF,)), ("1", ("1",), (None,), None)),
        ("expr", (1, 1.5, HALF, N), ("1", None, (1,))),
        ("anything", (1, None, "a", (1,)), ()),
    ],
)
def test_each_kind_of_an_attribute(name: str, good: tuple[Any, ...], bad: tuple[Any, ...]) -> None:
    assert [value for value in good if problem(Every, completed(Every, Attrs({name: value})))] == []
    for value in bad:
        assert problem(Every, completed(Every, Attrs({name: value}))).startswith(f"{name} is ")


@pytest.mark.parametrize("kind", ["Tensor", "Tensors", "Shape", "Prim", "Prims", "Arguments"])
def test_a_text_or_a_dtype_is_no_value(kind: str) -> None:
    declared = Parameter("q", kind, "", True)
    assert operand_problem(declared, e.StringImm("a"), s.OBJECT).startswith("q is a string, it must be ")
    assert operand_problem(declared, e.DataTypeImm(FLOAT32), s.OBJECT).startswith("q is a dtype")
    assert operand_problem(declared, e.Var("x", s.OBJECT), s.OBJECT) == ""


@pytest.mark.parametrize("kind", ["str", "DType", "Value"])
def test_elsewhere_they_are_values(kind: str) -> None:
    assert operand_problem(Parameter("q", kind, "", True), e.StringImm("a"), s.OBJECT) == ""


def test_true_and_false_are_numbers_where_numbers_are_needed() -> None:
    for name, attribute, expected in (
        ("sum", "axis", (1,)),
        ("sum", "keepdims", True),
        ("nn.conv2d", "strides", (1,)),
        ("nn.conv2d", "groups", 1),
    ):
        found = with_numbers(rxe.ops.get(f"relax.{name}"), Attrs({attribute: True}))[attribute]
        assert (found, type(found)) == (expected, type(expected))
