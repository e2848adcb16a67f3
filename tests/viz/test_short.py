"""Values in one line, as the result of a run and the panes show them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.values import Shape
from relax_explorer.viz.short import short_value
from relax_explorer.viz.visible import fields_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(4), "i64 4"),
        (np.float16(0.5), "f16 0.5"),
        (np.array([1, 2], np.int8), "(2,) i8 [1 2]"),
        (np.zeros((2, 3), np.float32), "(2, 3) f32 0 … 0, mean 0"),
        ((np.int32(1), (np.bool_(True), np.array(2.0))), "(i32 1, (bool True, () f64 [2]))"),
        ((), "()"),
        (Shape((2, 3)), repr(Shape((2, 3)))),
    ],
)
def test_a_value_in_one_line(value: Any, text: str) -> None:
    assert short_value(value) == text


def test_a_long_one_is_cut() -> None:
    assert len(short_value(tuple([np.zeros(2)] * 100), 40)) == 40


def test_a_closure_shows_what_it_captured() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def g(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        z = R.add(y, x)
        return z
    w = g(x)
    return w
"""
    session = rxe.debug(rxe.parse(text), "main", [np.ones(2, "float32")])
    session.step()
    assert short_value(session.frame["g"]) == "closure(g) of x = (2,) f32 [1 1], n = 2"


def test_fields_are_data_under_their_own_or_other_keys() -> None:
    inner = SimpleNamespace(line=3)
    value = SimpleNamespace(name="y", count=2, span=inner, place=None)
    assert list(fields_of(value, "count of=name line=span.line").items()) == [
        ("count", 2),
        ("of", "y"),
        ("line", 3),
    ]
    assert fields_of(value, "line=place.span.line") == {"line": None}
    assert fields_of(SimpleNamespace(place=inner), "line=place.span.line") == {"line": None}
    with pytest.raises(AttributeError):
        fields_of(value, "size")
