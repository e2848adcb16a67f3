"""Constants without data are reported once with their number, wherever they are."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

FIRST, SECOND = (f'metadata["ir.GenericConst"][{number}]' for number in (0, 1))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (f"return {FIRST}", "1 constant "),
        (f"y = {FIRST}\nreturn y", "1 constant "),
        (f"y = R.add({FIRST}, {FIRST})\nreturn y", "1 constant "),
        (f"y = (x, ({FIRST}, {SECOND}))\nreturn y", "2 constants "),
        (f"y = R.concat((x, {FIRST}))\nz = R.exp({SECOND})\nreturn (y, z)", "2 constants "),
        (f"if c:\n    y = x\nelse:\n    y = {FIRST}\nreturn y", "1 constant "),
        (f"if c:\n    y = {FIRST}\nelse:\n    y = {SECOND}\nreturn y", "2 constants "),
        (f"y = R.exp(x)\nz = R.exp({FIRST})\nreturn {SECOND}", "2 constants "),
        (f"if c:\n    y = R.exp({FIRST})\nelse:\n    y = x\nreturn y", "1 constant "),
    ],
)
def test_one_remark_for_all(body: str, count: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f'@R.function\ndef main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n{lines}'
    (only,) = [item for item in rxe.check(text) if item.code.id == "RX0024"]
    assert f"the data of {count}" in only.message
    assert only.span is not None
    assert only.span.text == FIRST


def test_a_tensor_with_data_is_no_missing_one() -> None:
    text = "@R.function\ndef main():\n    y = R.const([1.0, 2.0])\n    return (y, R.const(1))\n"
    assert rxe.check(text) == []
