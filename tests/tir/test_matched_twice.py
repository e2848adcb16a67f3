"""A parameter is matched with one buffer; with a second one the body would read an undeclared buffer."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

TEXT = """@T.prim_func
def f(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
{}
    for i in range(n):
        B[i] = A[i]
{}
"""
AGAIN = '    {} = T.match_buffer(b, (n,), "float32")'


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("name", ["B", "C"])
def test_a_second_match_is_refused(place: int, name: str) -> None:
    lines = ["", ""]
    lines[place] = AGAIN.format(name)
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(TEXT.format(*lines))
    assert caught.value.diagnostics[0].message == "parameter 'b' is a buffer already"


def test_one_match_is_read() -> None:
    module = rxe.parse(TEXT.format("", ""))
    assert rxe.structural_equal(rxe.parse(module.script()), module)
