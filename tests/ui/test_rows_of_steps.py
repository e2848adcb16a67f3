"""Rows that a step keeps are those that it would make anew: after steps in both directions, in calls, and where kernels write into memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui import debug_rows
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.debug_rows import run_view
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz import value_table
from relax_explorer.viz.tables import Row
from tests.support.roundtrip import SAMPLES
from tests.ui.test_screens import idle, press

WRITTEN = """@I.ir_module
class Module:
    @T.prim_func
    def plus(X: T.Buffer((T.int64(4),), "float32"), Y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("plus"):
                v = T.axis.spatial(T.int64(4), i)
                Y[v] = X[v] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        y = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        pair = (y, x)
        u = Module.plus(x, y)
        again = y
        v = Module.inner(y)
        w = Module.plus(x, y)
        return pair

    @R.function(private=True, pure=False)
    def inner(y: R.Tensor((4,), "float32")):
        p = Module.plus(y, y)
        return y
"""
PROGRAMS = {
    "writes": WRITTEN,
    **{path.stem: path.read_text() for path in SAMPLES if path.stem[:2] in ("06", "07", "08", "12")},
}
KEYS = "sssSsssSSSSSsssssnnSSocCs"


def seen(rows: list[Row]) -> list[tuple[object, ...]]:
    """What is seen of some rows."""
    return [row.look for row in rows]


@pytest.mark.parametrize("name", PROGRAMS)
async def test_rows_that_a_step_keeps_are_as_new_ones(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name])
    app = Explorer(str(path), "", screen="debug", call=CallInputs(sources={"x": "ones"}))
    looks = set()
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        for key in KEYS:
            await press(pilot, app, key)
            await idle(pilot, app)
            view, stage, session = app.state.run, app.state.stage, app.run_control.session
            if view is None or stage is None or session is None:
                continue
            fresh = run_view(stage, session, {}, None, view.values.width)
            assert seen(list(view.lines)) == seen(list(fresh.lines)), key
            assert seen(list(view.values)) == seen(list(fresh.values)), key
            shown = app.frame.query_one("#debug_ir", LineView)
            assert seen(list(shown.rows)) == seen(list(fresh.lines.with_folds(app.state.options.folded))), key
            looks |= {
                row.right.split()[-1] for row in view.lines if " y  " in f"{row.text}  " and "…" in row.right
            }
    if name == "writes":
        assert looks == {"0", "2", "3"}


async def test_a_long_function_tells_the_readers_behind_its_first_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debug_rows, "LONG", 1)
    monkeypatch.setattr(value_table, "has_facts", lambda fn: False)
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[next(name for name in PROGRAMS if name.startswith("06"))])
    app = Explorer(str(path), "")
    pictures: list[bool] = []
    shown = app.moved
    monkeypatch.setattr(
        app,
        "moved",
        lambda view, is_move: (pictures.append("last reader" in view.values.head), shown(view, is_move)),
    )
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        assert pictures == [False, True]
        await press(pilot, app, "s")  # into another function
        assert pictures == [False, True, False, True]
        await press(pilot, app, "s")
        assert pictures == [False, True, False, True, True]
