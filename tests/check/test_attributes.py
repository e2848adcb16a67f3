"""A wrong kind of operand or attribute is a mistake of the program, reported before the operator's rule runs."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

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
