"""What a quick look into the text finds first: nothing that the slower search would find is missed."""

from __future__ import annotations

import pytest

from relax_explorer.core.diagnostics import ParseError
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.python_tree import python_text

CONTROLS = [*range(0x09), *range(0x0E, 0x20), 0x7F]


@pytest.mark.parametrize("code", CONTROLS, ids=hex)
def test_each_control_character_is_refused_where_it_stands(code: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"# first\nx = '{chr(code)}'\n")
    (problem,) = caught.value.diagnostics
    assert f"U+{code:04X}" in problem.message
    assert [str(label.place) for label in problem.labels] == ["<text>:2:6"]


@pytest.mark.parametrize("declared", ["T.int64()", "T.uint8()", 'TypeVar("a-b")', 'typing.TypeVar("a-b")'])
def test_each_way_to_declare_a_name_that_python_has_not(declared: str) -> None:
    text = python_text(f"def f():\n    a-b = {declared}\n    return a-b\n")
    assert list(text.names) == ["a_b"]
    assert text.text.split("\n")[1].strip() == ""
    assert text.text.endswith("return a_b\n")


@pytest.mark.parametrize("head", ["def f[n](x):", "    def\tf[n](x):", "def  f[n](x):", "def é[n](x):"])
def test_each_header_with_shape_variables(head: str) -> None:
    text = python_text(f"\n{head}\n")
    assert list(text.names) == ["n"]
    assert text.text == f"\n{head}\n".replace("[n]", "   ")
