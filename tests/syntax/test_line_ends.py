"""Line ends: line feed, carriage return, or both. Positions stay those of the lines."""

from __future__ import annotations

import pytest

import relax_explorer as rxe


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("before", ["", "   ", "\x0c"])
def test_every_line_end_of_python_ends_a_line(before: str, end: str) -> None:
    text = f'{before}{end}@R.function\ndef main(a: R.Prim("int64"), f: R.Callable((R.Prim("int64"),), R.Tensor), w: T.float32):{end}    return w\n'
    module = rxe.parse(text)
    infos = [str(param.struct_info) for param in module["main"].params]
    assert infos == ["T.int64", "R.Callable((T.int64,), R.Tensor, True)", "T.float32"]
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(text.replace("return w", "return v"))
    (problem,) = caught.value.diagnostics
    span = problem.labels[0].span
    assert (span.line, span.column) == (4, 11)
