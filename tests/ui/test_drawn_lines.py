"""Rows are made once, only those on the screen, and each fills its line exactly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from relax_explorer.core.session.debug_commands import execute
from relax_explorer.core.session.debug_session import DebugSession, open_debug_session
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui.tui.debug_rows import DoneValues, marked_lines
from relax_explorer.ui.tui.rows import Recent, compact_rows
from relax_explorer.ui.tui.table_rows import BesideRows
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.tables import LazyLines, Row, cut, filled, plain

BRANCHES = """
@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    a = R.exp(x)
    if c:
        b = R.negative(a)
        y = b
    else:
        d = R.sqrt(a)
        y = d
    z = R.exp(y)
    return z
"""

LINES = st.lists(st.text("aé日🔎 ", max_size=5), max_size=5)


@settings(max_examples=300, deadline=None)
@given(LINES, st.integers(0, 12), st.integers(0, 14))
def test_a_line_fills_its_width_and_marks_a_cut(texts: list[str], left: int, width: int) -> None:
    shown = filled(cut([("bold", text) for text in texts], left, width, "fill"), width, "fill")
    text, whole = plain(shown), "".join(texts)
    is_cut = cell_len(whole) - left > width
    assert cell_len(text) == width
    assert text.endswith("…") == (is_cut and width > 0)
    if not any(cell_len(character) > 1 for character in whole):
        rest = whole[left:]
        assert text == (rest[: width - 1] + "…" if is_cut and width else rest.ljust(width) if width else "")
    assert all(role == "bold" for role, text in shown if text.strip(" …"))


def test_a_row_is_made_once() -> None:
    made: list[int] = []
    rows = LazyLines(5, lambda number: made.append(number) or Row(f"row {number}"))
    assert rows[3] is rows[3] is rows[2:4][1]
    assert rows[-1].text == "row 4"
    assert [row.text for row in rows] == [f"row {number}" for number in range(5)]
    assert sorted(made) == [0, 1, 2, 3, 4]


def _debugged(text: str, steps: int) -> tuple[DebugSession, IrTable]:
    session = Session(parse(text), "")
    debugger = session.debug("main", [np.ones(2, np.float32), np.array(False)], 0)
    opened = open_debug_session(session, debugger, 0)
    for _ in range(steps):
        execute(opened, "step")
    return opened, IrTable(session.stages[0], "main", None)


def test_marks_tell_what_was_done_also_in_branches() -> None:
    def marks(steps: int) -> str:
        opened, table = _debugged(BRANCHES, steps)
        return "".join([row.mark for row in marked_lines(opened, table) if " = " in row.text])

    opened, table = _debugged(BRANCHES, 3)
    assert {row.mark for row in marked_lines(opened, table) if " = " not in row.text} == {" "}
    assert [marks(steps) for steps in range(5)] == ["▶····", "✓▶···", "✓▶·✓·", "✓✓·✓▶", "✓✓·✓✓"]


def test_marks_and_values_stay_when_the_run_goes_on() -> None:
    opened, table = _debugged(BRANCHES, 1)
    rows, values = marked_lines(opened, table), DoneValues(opened.debugger.frame)
    execute(opened, "step")
    execute(opened, "step")
    assert [row.mark for row in rows if " = " in row.text] == ["✓", "▶", "·", "·", "·"]
    assert len(values) == 1
    assert list(values) == [id(next(place.node for place in table.places if place.kind == "binding"))]


def test_marks_and_values_stay_when_the_run_goes_back() -> None:
    opened, table = _debugged(BRANCHES, 4)
    rows = marked_lines(opened, table)
    execute(opened, "reverse-step")
    execute(opened, "reverse-step")
    back = marked_lines(opened, table)
    assert "".join([row.mark for row in rows if " = " in row.text]) == "✓✓·✓✓"
    assert "".join([row.mark for row in back if " = " in row.text]) == "✓▶·✓·"


def test_a_step_copies_only_registers_that_were_written() -> None:
    lines = "".join(f'    a{n + 1} = R.add(a{n}, R.const(1.0, "float32"))\n' for n in range(500))
    text = f'@R.function\ndef main(a0: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n{lines}    return a500\n'
    for steps in (0, 1, 10, 500):
        opened, _ = _debugged(text, steps)
        done = DoneValues(opened.debugger.frame)
        assert len(done) == steps
        assert len(done._registers) <= 2 * steps + 2


def test_a_step_looks_only_at_visible_rows() -> None:
    lines = "".join(f"    a{n + 1} = R.exp(a{n})\n" for n in range(500))
    text = f'@R.function\ndef main(a0: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):\n{lines}    return a500\n'
    opened, table = _debugged(text, 300)
    rows = marked_lines(opened, table)
    asked: list[int] = []
    done = rows.values
    assert isinstance(done, DoneValues)
    done.__class__ = type(
        "Counting",
        (DoneValues,),
        {"__getitem__": lambda self, node: asked.append(node) or DoneValues.__getitem__(self, node)},
    )
    shown = rows[290:320]
    assert {row.mark for row in shown} == {"✓", "▶", "·"}
    assert len(asked) < 100


def test_stages_share_tables_and_coming_back_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(BRANCHES)
    session = Session(load(str(path)), "ConvertToDataflow,LegalizeOps,DeadCodeElimination")
    session.run_all()
    recent = Recent()
    first, second, other = session.stages[1:4]
    before = compact_rows(session, first, "inline", (), recent=recent)
    after = compact_rows(session, second, "inline", (), recent=recent)
    assert compact_rows(session, first, "inline", (), 80, recent=recent) is before
    assert compact_rows(session, second, "inline", (), recent=recent) is after
    beside = compact_rows(session, second, "beside", (), 90, recent=recent)
    assert isinstance(beside, BesideRows)
    assert compact_rows(session, second, "beside", (), 120, recent=recent).width == 120  # type: ignore[attr-defined]  # a BesideRows
    assert beside.table is after.table
    for mode in ("off", "only", "inline"):
        compact_rows(session, other, mode, (), recent=recent)
    assert len(recent) == Recent.MOST
