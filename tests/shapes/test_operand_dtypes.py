"""Element types that only the run knows: what operators demand of them is listed, and the run stops exactly where it is not met."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Code, Failure
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.shapes.residual import ShapeCheck, shape_checks

PROGRAM = """@R.function
def main(x: R.Tensor((4,)), k: R.Tensor((4,)), y: R.Tensor((4,), "float32")):
    z = {call}
    return z
"""
DTYPES = ("float32", "float16", "float64", "int8", "int32", "int64", "uint8", "bool")
KINDS = {
    "a float type": ("float",), "an integer type": ("int", "uint"), "a type of numbers": ("float", "int", "uint"),
    "bool or an integer type": ("bool", "int", "uint"),
}  # fmt: skip


def demanded(call: str) -> list[ShapeCheck]:
    module = rxe.normalize(rxe.parse(PROGRAM.format(call=call)))
    return [check for check in shape_checks(module) if check.kind == "operator" and ".dtype" in check.text]


def refused(module: rxe.IRModule, values: list[np.ndarray]) -> Code | None:
    """The code with which a run stops."""
    try:
        rxe.run(module, "main", values)
    except Failure as failure:
        return failure.diagnostics[0].code
    return None


def is_met(text: str, given: dict[str, str]) -> bool:
    """True if the text of a check is true of these element types."""
    left, _, right = text.partition(".dtype ")
    if right.startswith("== "):
        wanted = right.removeprefix("== ")
        return given[left] == given.get(wanted.removesuffix(".dtype"), wanted)
    word = right.removeprefix("is ")
    return dtype(given[left]).kind in KINDS[word] if word in KINDS else given[left] in word.split(" or ")


@pytest.mark.parametrize(
    ("call", "texts"),
    [
        ("R.add(x, y)", ["x.dtype is float32 or bool"]),
        ("R.add(y, x)", ["x.dtype is float32 or bool"]),
        ("R.add(x, x)", []),
        ("R.add(x, k)", ["x.dtype == k.dtype"]),
        ("R.exp(x)", ["x.dtype is a float type"]),
        ("R.take(y, x)", ["x.dtype is an integer type"]),
        ("R.where(x, y, y)", ["x.dtype == bool"]),
        ("R.where(x, y, k)", ["x.dtype == bool", "k.dtype is float32 or bool"]),
        ("R.concat((x, y))", ["x.dtype == float32"]),
        ("R.concat((x, k))", ["x.dtype == k.dtype"]),
        ("R.concat((x, k, y))", ["x.dtype == float32", "k.dtype == float32"]),
        ("R.sum(x)", []),
        ("R.permute_dims(x)", []),
        ('R.astype(x, "int32")', []),
        ("R.add(y, y)", []),
    ],
)
def test_what_operators_demand(call: str, texts: list[str]) -> None:
    found = demanded(call)
    assert [check.text for check in found] == texts
    assert all(check.answer.name == "UNKNOWN" for check in found)
    assert all(
        check.remedy.startswith(f"annotate {check.subject} where its value is made") for check in found
    )


@pytest.mark.parametrize(
    "call",
    [
        "R.exp(x)",
        "R.take(y, x)",
        "R.where(x, y, y)",
        "R.concat((x, y))",
        "R.concat((x, k))",
        "R.multiply(x, k)",
        "R.matmul(x, k)",
    ],
)
def test_the_run_stops_exactly_where_a_demand_is_not_met(call: str) -> None:
    module, checks = rxe.normalize(rxe.parse(PROGRAM.format(call=call))), demanded(call)
    both = [
        (a, b)
        for a in DTYPES
        for b in (DTYPES if "k" in call else ("float32",))
        if "bool" not in (a, b) or a == b or "k" not in call
    ]
    for a, b in both:
        given = {"x": a, "k": b, "y": "float32"}
        values = [np.ones(4, given["x"]), np.ones(4, given["k"]), np.ones(4, np.float32)]
        refusal = refused(module, values)
        assert refusal is None or refusal.id in ("RX0519", "RX0507"), f"{call} with {given}"
        stops = refusal is not None
        assert stops is not all(is_met(check.text, given) for check in checks), f"{call} with {given}"


def test_a_cast_tells_the_element_type() -> None:
    text = PROGRAM.format(call='R.match_cast(x, R.Tensor((4,), "float32"))').replace(
        "return z", "w = R.add(z, y)\n    v = R.exp(z)\n    return (w, v)"
    )
    found = shape_checks(rxe.normalize(rxe.parse(text)))
    assert [check.text for check in found if ".dtype" in check.text] == ["x.dtype == float32"]
    assert [check.kind for check in found if ".dtype" in check.text] == ["match_cast"]


def test_a_field_of_a_tuple_is_named_by_its_place() -> None:
    text = """@R.function
def main(t: R.Tuple(R.Tensor((4,)), R.Tensor((4,), "int8"))):
    z = R.concat(t)
    return z
"""
    found = shape_checks(rxe.normalize(rxe.parse(text)))
    assert [check.text for check in found if check.kind == "operator"] == ["t[0].dtype == int8"]
