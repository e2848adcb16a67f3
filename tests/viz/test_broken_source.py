"""The source of a broken program: each problem below its line, with carets below its place."""

from __future__ import annotations

import time

import pytest

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, ParseError
from relax_explorer.core.phases.module_check import problems
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.broken_source import SourceRows, broken_source
from relax_explorer.viz.tables import plain

BROKEN = """@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4, 5), "float32")):
    a = R.matmul(x, y)
    b = R.add(zz, y)
    return a
"""


def problems_of(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(ParseError) as caught:
        parse(text, "model.py")
    return tuple(problems(caught.value, "spec"))


def rows_of(text: str, width: int = 100) -> SourceRows:
    found = problems_of(text)
    source = broken_source(found)
    assert source is not None
    return SourceRows(source, found, width)


def shown(rows: SourceRows) -> list[str]:
    return [f"{row.mark}{plain(row.pieces)}".rstrip() for row in rows]


def test_each_problem_stands_below_its_line_with_carets_below_its_place() -> None:
    assert shown(rows_of(BROKEN)) == [
        " 1 @R.function",
        ' 2 def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4, 5), "float32")):',
        "✗3     a = R.matmul(x, y)",
        "           ^^^^^^^^^^^^^^ relax.matmul: inner dimensions differ: 3 and 4  RX0203",
        "                    - 3 columns",
        "                       - 4 rows",
        '     note: 3 because `x: R.Tensor((2, 3), dtype="float32")` (line 2)',
        '     note: 4 because `y: R.Tensor((4, 5), dtype="float32")` (line 2)',
        "     hint: Transpose or reshape an operand.",
        "✗4     b = R.add(zz, y)",
        "                 ^^ 'zz' is not defined  RX0014",
        "     not defined here",
        "     hint: Bind it first, or correct the name.",
        " 5     return a",
        " 6",
    ]


def test_rows_know_their_problem_and_problems_their_row() -> None:
    rows = rows_of(BROKEN)
    assert rows.starts == [2, 9]
    assert [rows.number_at(n) for n in range(len(rows))] == [0] * 2 + [1] * 7 + [2] * 6
    nodes = [row.node for row in rows]
    assert nodes[:2] == [None, None]
    assert [item.message[:4] for item in nodes[2:13]] == ["rela"] * 7 + ["'zz'"] * 4
    assert nodes[13:] == [None, None]


def test_what_has_no_room_behind_the_carets_stands_below_them() -> None:
    lines = shown(rows_of(BROKEN, 40))
    at = lines.index("           ^^^^^^^^^^^^^^")
    assert lines[at + 1 : at + 3] == ["     relax.matmul: inner dimensions", "       differ: 3 and 4  RX0203"]


def test_problems_elsewhere_stand_on_top() -> None:
    source, other = Source("a\nb\n", "a.py"), Source("a\nb\n", "b.py")
    here, there, nowhere = (
        Diagnostic(codes.UNDEFINED, name, (Label(span, primary=True),) if span else ())
        for name, span in (("here", source.at(2, 0)), ("there", other.at(1, 0)), ("nowhere", None))
    )
    rows = SourceRows(source, (here, there, nowhere), 80)
    code = codes.UNDEFINED
    assert shown(rows) == [
        f"     nowhere  {code}", f"     b.py:1:1: there  {code}", " 1 a", "✗2 b", f"   ^ here  {code}", " 3",
    ]  # fmt: skip
    assert rows.starts == [0, 1, 3]
    assert broken_source((nowhere, here)) is source
    assert broken_source((nowhere,)) is None


@pytest.mark.parametrize(
    "text", ["def main(", "(", "x" * 5_000, '"""', "def f():\n\treturn \u202e\u4e2d(", "\n\n\n)"]
)
def test_damaged_texts_have_all_their_lines_and_a_marked_one(text: str) -> None:
    rows = rows_of(text)
    found = [row for row in rows if row.kind == ""]
    assert len(found) == text.count("\n") + 1
    assert [row.mark for row in found].count("✗") >= 1
    assert any("^" in plain(row.pieces) for row in rows)


def test_carets_stand_below_wide_and_invisible_characters() -> None:
    source = Source("\u4e2d\x1b = y", "a.py")
    problem = Diagnostic(codes.UNDEFINED, "y", (Label(source.span(1, 5, 1, 6), primary=True),))
    code, carets = [plain(row.pieces) for row in SourceRows(source, (problem,), 80)]
    assert code == "1 \u4e2d\\x1b = y"
    assert carets.index("^") == code.index("y") + 1  # the first character takes two cells


def test_a_second_place_in_another_line_is_marked_there() -> None:
    source = Source("a = 1\nb = 2\n", "a.py")
    labels = (Label(source.at(2, 0), primary=True), Label(source.at(1, 0), "bound here"))
    rows = SourceRows(source, (Diagnostic(codes.UNDEFINED, "b", labels),), 80)
    assert shown(rows) == [" 1 a = 1", "   - bound here", "✗2 b = 2", f"   ^ b  {codes.UNDEFINED}", " 3"]
    assert rows.starts == [2]


def test_a_text_of_100_000_lines_is_made_where_it_is_seen() -> None:
    source = Source("x = R.add(y, z)\n" * 100_000, "a.py")
    problem = Diagnostic(codes.UNDEFINED, "y", (Label(source.at(90_000, 10), primary=True),))
    _ = source.line_starts
    started = time.perf_counter()
    rows = SourceRows(source, (problem,), 80)
    seen = rows[89_990:90_010]
    assert time.perf_counter() - started < 0.1
    assert (len(rows), len(rows._rows), rows.starts) == (100_002, 20, [89_999])
    assert [row.mark for row in seen].index("✗") == 9


def test_a_second_problem_of_a_line_starts_at_its_carets() -> None:
    source = Source("f(a, b)\n", "a.py")
    found = [
        Diagnostic(codes.UNDEFINED, name, (Label(source.at(1, at), primary=True),))
        for name, at in (("b", 5), ("a", 2))
    ]
    rows = SourceRows(source, found, 80)
    assert shown(rows) == ["✗1 f(a, b)", "     ^ a  RX0014", "        ^ b  RX0014", " 2"]
    assert rows.starts == [0, 2]
    assert [rows.number_at(n) for n in range(4)] == [1, 1, 2, 2]


def test_a_place_behind_the_end_is_told_below_the_last_line() -> None:
    source = Source("a\nb", "a.py")
    rows = SourceRows(
        source, (Diagnostic(codes.UNDEFINED, "more", (Label(source.at(3, 0), primary=True),)),), 80
    )
    assert shown(rows) == [" 1 a", "✗2 b", "   ^ more  RX0014"]
