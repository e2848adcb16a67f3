"""The tables of the explorer: kernels that fold, changes in place, densities, themes, and the call that the debugger starts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.ui.cli.input_options import lengths_given, sources_by_name
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.state import Selection
from relax_explorer.viz.tokens import THEMES
from tests.ui.test_explorer import LLAMA, opened, screen_text, wait

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def first(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        a = R.exp(x)
        return a

    @R.function
    def second(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        b = R.negative(x)
        return b
"""


LONG = """@I.ir_module
class Module:
    @R.function
    def main(a0: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
{}            R.output(a40)
        return a40
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


async def test_kernels_fold_and_open() -> None:
    app = Explorer(LLAMA, "LegalizeOps")
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("right_square_bracket")
        folded = len(app.view.rows)
        await pilot.press("G", "z")
        assert len(app.view.rows) > folded
        await pilot.press("z")
        assert len(app.view.rows) == folded
        await pilot.press("Z")
        assert any(row.text.strip().startswith("for ") for row in app.view.rows)
        await pilot.press("Z")
        assert app.view.rows[0].note == "  … 75 bindings, 64 changed"
        await pilot.press("g")
        await pilot.pause()
        lines = screen_text(app).split("\n")  # the long head is cut off, not the note
        assert any("forward(" in line and "… 75 bindings, 64 changed" in line for line in lines)
        assert app.view.rows[2].text.startswith("@add")
        await pilot.press("Z")
        assert len(app.view.rows) == folded


async def test_changes_are_in_place_and_visited_in_order(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    chain = "".join(f"            a{n + 1} = R.exp(a{n})\n" for n in range(40))
    for n in (10, 30):
        chain = chain.replace(f"a{n} = ", f"dead{n} = R.sin(a{n - 1})\n            a{n} = ")
    path.write_text(LONG.format(chain))
    app = Explorer(str(path), "DeadCodeElimination")
    async with app.run_test(size=(100, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("c")
        assert "no change" in screen_text(app)
        await pilot.press("right_square_bracket", "g", "c")
        first = app.view.cursor
        assert app.view.rows[first].mark != " "
        assert "change 1 of" in screen_text(app)
        await pilot.press("c")
        assert app.view.cursor > first
        await pilot.press("C")
        assert app.view.cursor == first
        everything = len(app.view.rows)
        await pilot.press("d")
        assert len(app.view.rows) < everything
        await pilot.press("d")
        assert {row.mark for row in app.view.rows} == {" "}


async def test_densities(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert "R.exp" not in screen_text(app)
        assert "(n,) f32" in screen_text(app)
        await pilot.press("t")
        assert "R.exp(x)" in screen_text(app)
        await pilot.press("t")
        assert 'a: R.Tensor((n,), dtype="float32") = R.exp(x)' in screen_text(app)


async def test_every_theme_is_reached_by_one_key(program: str) -> None:
    app = Explorer(program, "", theme="light")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        seen = {app.theme}
        for _ in range(len(THEMES) - 1):
            await pilot.press("T")
            seen.add(app.theme)
        assert seen == set(THEMES)


async def test_without_colour_the_theme_is_mono(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        assert app.theme == "rxe-mono"


async def test_the_debugger_starts_the_function_under_the_cursor(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("right_curly_bracket", "j", "2")
        await wait(pilot, lambda: app.state.run is not None)
        assert (
            app.run_control.session.debugger.frames[0].function
            is app.state.session.stages[0].module["second"]
        )


async def test_the_call_given_on_the_command_line(program: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([0.0, 1.0, 2.0], np.float32))
    call = CallInputs("second", sources_by_name((f"x={tmp_path / 'x.npy'}",)), lengths_given(()))
    app = Explorer(program, "", "debug", call=call)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait(pilot, lambda: app.state.run is not None)
        assert (
            app.run_control.session.debugger.frames[0].function
            is app.state.session.stages[0].module["second"]
        )
        assert "n = 3" in screen_text(app)


async def test_a_length_given_on_the_command_line(program: str) -> None:
    app = Explorer(program, "", "debug", call=CallInputs("", {}, lengths_given(("n=5",))))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait(pilot, lambda: app.state.run is not None)
        assert "n = 5" in screen_text(app)


def test_details_name_what_a_value_was_merged_from() -> None:
    session = Session(load(LLAMA), "LegalizeOps,AnnotateTIROpPattern,FuseOps")
    session.run_all()
    stage = session.stages[-1]
    fused = next(
        item
        for item in bindings(stage.module.relax_functions["forward"])
        if rows.callee(item).startswith("fused_matmul1")
    )
    shown = rows.detail_lines(session, stage, Selection(stage.number, "forward", fused))
    assert any(line.startswith("merged from matmul1, ") and line.endswith(" by FuseOps") for line in shown)
    alone = next(
        item for item in bindings(stage.module.relax_functions["forward"]) if rows.callee(item) == "take"
    )
    shown = rows.detail_lines(session, stage, Selection(stage.number, "forward", alone))
    assert not any("merged from" in line for line in shown)
