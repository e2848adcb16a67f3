"""Highlighting keeps the text of a line, and names the roles of its pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relax_explorer.viz.lexer import LIMIT, highlight


@given(st.text() | st.text("Rcls.T@#'\"\\e+-0xf1 \n"))
def test_the_pieces_are_the_line(line: str) -> None:
    assert "".join(text for _, text in highlight(line)) == line
    assert all(text for _, text in highlight(line))


@pytest.mark.parametrize(
    ("line", "role", "text"),
    [
        ("y = R.nn.relu(x)", "operator", "relu"),
        ("y = R.nn.relu(x)", "module", "R"),
        ("y = R.nn.relu(x)", "name", "x"),
        ("y: R.Tensor((n,))", "type", "Tensor"),
        ("T.int64(2)", "type", "int64"),
        ("cls.add(x)", "function", "add"),
        ("with R.dataflow():", "keyword", "with"),
        ("@R.function", "decorator", "@R.function"),
        ("x = 1  # 'one'", "comment", "# 'one'"),
        ("'a # b'", "string", "'a # b'"),
        (r'f("a\"b", c)', "string", r'"a\"b"'),
        ('"not closed', "string", '"not closed'),
        ("x - 1e-5", "number", "1e-5"),
        ("x-0xff", "number", "0xff"),
        ("a-.5", "number", ".5"),
        ("R = x.shape", "name", "shape"),
    ],
)
def test_roles(line: str, role: str, text: str) -> None:
    assert (role, text) in highlight(line)


def test_long_lines_have_no_colours() -> None:
    assert len(highlight("x " * LIMIT)) == 1
