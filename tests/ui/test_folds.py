"""What folds in Passes and Debug, and what stands side by side: counts of what is hidden, and what opens a fold again."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.rows import compact_rows
from relax_explorer.ui.tui.table_rows import BesideRows, TableRows
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.table_folds import Folded
from relax_explorer.viz.tables import cut
from relax_explorer.viz.visible import columns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text
from tests.ui.test_screens import idle, press, typed, under_cursor

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            unread = R.sin(a)
            b = R.add(a, a)
            R.output(b)
        if c:
            d = R.sin(b)
            with R.dataflow():
                e = R.cos(d)
                f = R.tan(e)
                R.output(f)
            y = f
        else:
            g = R.exp(b)
            y = g
        z = R.add(y, b)
        return z

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            h = R.sqrt(x)
            R.output(h)
        return h
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


def test_folds_end_where_their_parts_end(program: str) -> None:
    stage = Session(load(program), "").stages[0]
    table = TableRows(IrTable(stage)).table
    shown = [
        (*fold.key, table[fold.head].text.strip()[:6], fold.bindings, table[fold.end - 1].text.split()[-1])
        for fold in table.folds
    ]
    assert shown == [
        ("main", "function", 0, "main(x", 9, "z"),
        ("main", "block", 0, "datafl", 3, "a)"),
        ("main", "body", 0, "4 y   ", 3, "f"),
        ("main", "block", 1, "│ data", 2, "tan(e)"),
        ("main", "body", 1, "else", 1, "g"),
        ("other", "function", 0, "other(", 1, "h"),
        ("other", "block", 0, "datafl", 1, "sqrt(x)"),
    ]


def test_side_by_side_keeps_both_numbers_and_fills_its_width(program: str) -> None:
    session = Session(load(program), "DeadCodeElimination")
    session.run_all()
    shown = compact_rows(session, session.stages[1], "beside", (), 61)
    assert isinstance(shown, BesideRows)
    assert {columns(row.text) for row in shown} == {61}
    sides = [tuple(part.split()[:2] for part in row.text.split("│  ")) for row in shown]
    assert sides[2:5] == [(["1", "a"], ["1", "a"]), (["2", "unread"], []), (["3", "b"], ["2", "b"])]
    assert [row.mark for row in shown[2:5]] == [" ", "-", " "]
    assert shown[3].node is None
    assert shown[4].node is not None
    assert "(n,) f32" in shown[3].text
    folded = shown.with_folds(
        Folded(frozenset(fold.key for fold in shown.table.folds if fold.key.kind == "block"))
    )
    assert folded[1].text.count("… 2 bindings, 1 changed") == 2
    assert columns(folded[1].text) == 61
    assert len(folded) == len(shown) - 6
    assert folded.line_of(3) == 1
    assert folded.changes() == [3]
    assert BesideRows(shown.table, shown.pairs, 61, 8)[4].text.startswith("  = add(a, a)")


def test_cutting_counts_cells_and_marks_the_cut() -> None:
    assert cut([("a", "abc"), ("b", "def")], 0, 6) == [("a", "abc"), ("b", "def")]
    assert cut([("a", "abc"), ("b", "def")], 1, 3) == [("a", "bc"), ("muted", "…")]
    assert cut([("a", "日本語")], 0, 5) == [("a", "日本"), ("muted", "…")]
    assert cut([("a", "日本語")], 6, 5) == []
    assert cut([("a", "x")], 0, 0) == []


def test_a_long_struct_info_leaves_room_for_its_row() -> None:
    dims = ", ".join(f'"a_length_with_a_long_name_{n}"' for n in range(3))
    text = f'@R.function\ndef main(x: R.Tensor(({dims}), "float32")):\n    y = x\n    return y\n'
    table = IrTable(Session(parse(text), "").stages[0])
    assert len(table[1].right) > 48
    shown = TableRows(table)[1].right
    assert len(shown) == 48
    assert shown.endswith("…")


async def test_a_fold_tells_what_it_hides_and_opens_for_its_goal(program: str) -> None:
    app = Explorer(program, "DeadCodeElimination")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "g", "z")
        assert under_cursor(app).endswith("… 8 bindings, 1 changed")
        assert len(app.view.rows) == 6
        await press(pilot, app, "c")  # the change is inside
        assert under_cursor(app).split()[0] == "unread"
        await press(pilot, app, "z")  # a removed row belongs to the block of the row below it
        assert under_cursor(app).strip() == "dataflow  … 2 bindings, 1 changed"
        await typed(pilot, app, "exp(b)", "slash")
        assert under_cursor(app).split()[2] == "g"
        await press(pilot, app, "z")
        assert under_cursor(app).strip() == "else  … 1 binding"
        await typed(pilot, app, "go g")
        assert under_cursor(app).split()[2] == "g"
        await press(pilot, app, "z", "enter")  # Enter opens the fold under the cursor
        assert {key.kind for key in app.state.options.folded.turned} <= {"block"}
        await typed(pilot, app, "fold all")
        assert not app.state.options.folded.hides_code
        await typed(pilot, app, "fold all")
        assert [row.text.split("(")[0] for row in app.view.rows] == ["main", "", "other"]
        await pilot.pause()
        assert any(
            "main(" in line and "… 8 bindings, 1 changed" in line for line in screen_text(app).split("\n")
        )
        await press(pilot, app, "right_curly_bracket", "t", "z")
        assert "only the compact table folds" in screen_text(app)


async def test_a_search_opens_the_kernel_with_its_match() -> None:
    app = Explorer(str(SAMPLES[0]), "LegalizeOps")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        before = len(app.view.rows)
        await typed(pilot, app, "T.grid", "slash")
        assert "T.grid" in under_cursor(app)
        assert len(app.view.rows) > before
        first = app.view.row.function
        await press(pilot, app, "n")
        assert "T.grid" in under_cursor(app)
        assert app.view.row.function != first or len(app.state.stage.module.functions) == 2
        await typed(pilot, app, "op:T.grid", "slash")
        assert "nothing has" in screen_text(app)


async def test_a_run_opens_the_fold_in_which_it_stops(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "j", "j", "Z")
        assert [row.text.strip() for row in app.view.rows][1:4:2] == ["dataflow", "2 unread = sin(a)"]
        assert any((row.text + row.note).endswith("if c  … 3 bindings") for row in app.view.rows)
        await typed(pilot, app, "break e")
        assert any(
            (row.text + row.note).endswith("if c  … 3 bindings, 1 breakpoint") for row in app.view.rows
        )
        await press(pilot, app, "c")
        assert app.view.row.mark == "▶"
        assert under_cursor(app).split()[2] == "f"
        assert any((row.text + row.note).strip().startswith("else  … 1 binding") for row in app.view.rows)
        await press(pilot, app, "Z", "g", "z", "0", "2")  # folds are the same in every screen
        assert len(app.view.rows) == 1
        await press(pilot, app, "S", "s")
        assert under_cursor(app).split()[2] == "f"


@pytest.mark.parametrize(("width", "is_beside"), [(119, False), (120, True), (200, True)])
async def test_two_stages_stand_side_by_side_where_there_is_room(
    program: str, width: int, is_beside: bool
) -> None:
    app = Explorer(program, "DeadCodeElimination")
    async with app.run_test(size=(width, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "d")
        if not is_beside:
            assert app.state.options.diff == "only"
            assert "only what changed (side by side needs 120 columns)" in screen_text(app)
            return
        assert "side by side" in screen_text(app)
        assert " │  " in app.view.rows[4].text
        room = app.view.scrollable_content_region.width
        assert room - 5 <= columns(app.view.rows[4].text) <= room - 3
        assert app.frame.query_one("#stages").display is (width == 200)
        await press(pilot, app, "l")
        assert app.view.rows[4].text != ""
        await pilot.resize_terminal(100, 30)
        await idle(pilot, app)
        assert " │  " not in app.view.rows[4].text
        assert "side by side needs 120 columns: changes are marked" in screen_text(app)
        await press(pilot, app, "d")
        assert app.state.options.diff == "only"
        await typed(pilot, app, "diff sideways")
        assert "diff takes inline, beside, only or off" in screen_text(app)
        await typed(pilot, app, "diff beside")
        assert app.state.options.diff == "beside"


def test_a_branch_in_a_block_belongs_to_the_block(tmp_path: Path) -> None:
    path = tmp_path / "p.py"  # the check refuses it, but it is shown
    path.write_text(
        '@R.function\ndef main(c: R.Tensor((), "bool")):\n    with R.dataflow():\n        if c:\n            y = c\n'
        "        else:\n            y = c\n        R.output(y)\n    z = y\n    return z\n"
    )
    table = IrTable(Session(load(path), "").stages[0])
    block = next(fold for fold in table.folds if fold.key.kind == "block")
    assert table[block.end].text.split()[1] == "z"


CHECKED = """@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.zeros(R.shape([1]), "int64")
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", y, 1, R.dtype("float32"), R.str("y"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 1, 1, 0, R.str("x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", y, shape_heap, 1, 1, 0, R.str("y"), ty_args=(R.Tuple,))
        a = R.exp(x)
        R.call_packed("vm.builtin.check_tensor_info", a, 1, R.dtype("float32"), R.str("a"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", y, 1, R.dtype("float32"), R.str("y"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", y, 1, R.dtype("float32"), R.str("y"), ty_args=(R.Tuple,))
        return a

    @R.function(pure=False)
    def two(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("x"), ty_args=(R.Tuple,))
        b = R.exp(x)
        return b

    @R.function(pure=False)
    def three(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_shape_info", x, 1, R.str("x"), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_func_info", x, R.str("x"), ty_args=(R.Tuple,))
"""
CHECKED += "        return x\n"


def test_checks_that_open_a_function_are_folded_until_asked_for() -> None:
    stage = Session(parse(CHECKED), "").stages[0]
    rows = TableRows(IrTable(stage))
    folds = rows.table.check_folds
    assert [(fold.key.function, fold.head, fold.end, fold.bindings) for fold in folds] == [
        ("main", 2, 6, 3), ("three", 19, 22, 2),
    ]  # fmt: skip
    assert [fold for fold in rows.table.folds if fold.key.kind == "checks"] == folds
    closed = rows.with_folds(Folded())
    assert len(closed) == len(rows) - 5
    assert closed[2].note.endswith("… 3 more checks")
    assert not Folded().hides_code
    assert Folded().toggled(folds[0].key).toggled(folds[0].key) == Folded()
    opened = Folded().opened([folds[0].key, folds[1].key])
    assert rows.with_folds(opened) is rows
    assert not opened.hides_code
    assert opened.opened([folds[0].key]) == opened
    whole = Folded().toggled(rows.table.folds[0].key)
    assert whole.hides_code
    assert len(rows.with_folds(whole)) < len(closed)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_goes_to_a_folded_check_opens_it(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "checked.py"
    path.write_text(CHECKED)
    app = Explorer(str(path), "")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert "… 3 more checks" in screen_text(app)
        assert screen_text(app).count("match_shape") == 0
        await press(pilot, app, "j", "j", "z")
        assert screen_text(app).count('"vm.builtin.match_shape"') == 2
        await press(pilot, app, "z")
        assert "… 3 more checks" in screen_text(app)
        await press(pilot, app, "Z", "Z")
        assert "more checks" in screen_text(app)
        await press(pilot, app, "g", "Z", "Z", "Z")
        await typed(pilot, app, "fold open")
        assert "more checks" not in screen_text(app)
        await typed(pilot, app, "fold close")
        await press(pilot, app, "Z")
        assert "… 3 more checks" in screen_text(app)
        await typed(pilot, app, "match_shape", "slash")
        assert "match_shape" in under_cursor(app)
        assert "… 3 more checks" not in screen_text(app)
        assert "… 2 more checks" in screen_text(app) or size[1] < 30  # those of another function stay


async def test_a_step_to_a_folded_check_opens_it() -> None:
    app = Explorer(LLAMA, "zero,default_build", screen="debug")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage VMShapeLower")
        await press(pilot, app, "2")
        assert "more checks" in screen_text(app)
        await press(pilot, app, "s", "s")
        assert "more checks" not in screen_text(app)
        assert "check_tensor_info" in under_cursor(app)
        await press(pilot, app, "Z")
        assert "▶" in screen_text(app)


async def test_the_cursor_leaves_rows_that_are_not_shown_for_the_next_change() -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage FuseOps")
        for name, goal in (
            ("permute_dims", "lv"),
            ("rms_norm1", "rms_norm1"),
            ("permute_dims3", "permute_dims3"),
            ("lv", "lv"),
        ):
            await typed(pilot, app, "diff inline")
            await typed(pilot, app, f"go {name}")
            await typed(pilot, app, "diff only")
            row = app.frame.query_one("#ir", LineView).row
            assert row is not None
            assert isinstance(row.node, e.VarBinding)
            assert row.node is app.state.selection.binding
            assert (row.node.var.name, app.state.selection.variable) == (goal, goal)
            assert f"History of {goal}" in screen_text(app)
