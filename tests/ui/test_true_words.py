"""What the screens say is true: why a pane is empty, which value a line has, how many steps a run has."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.codes.runtime import BAD_EXPRESSION
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui import run_control
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.debug_rows import DoneValues
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import SAMPLES
from tests.ui.test_debugging import typed
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press

ENDED = """@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.add(x, x)
        r = R.add(y, y)
    else:
        y = R.multiply(x, x)
        r = R.multiply(y, R.const(3.0, "float32"))
    with R.dataflow():
        inner = R.add(r, r)
        out = R.add(inner, x)
        R.output(out)
    return out
"""


def popup(app: Explorer) -> str:
    """The lines of the popup."""
    return "\n".join(row.text for row in app.screen.query_one("#popup", LineView).rows)


def ended(tmp_path: Path, taken: str = "1") -> Explorer:
    """The debug screen on a program with a branch and a dataflow block."""
    path = tmp_path / "ended.py"
    path.write_text(ENDED)
    return Explorer(str(path), "", screen="debug", call=CallInputs(sources={"x": "arange", "c": taken}))


async def test_a_value_of_an_ended_block_is_inspected(tmp_path: Path) -> None:
    app = ended(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "c", "slash")
        await pilot.press(*"var:inner", "enter")
        await press(pilot, app, "i")
        assert popup(app).startswith("inner: (2,) f32")
        assert "max 8" in popup(app)


async def test_a_step_counts_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To count them takes time with each binding of the program."""
    counted: list[DoneValues] = []
    monkeypatch.setattr(DoneValues, "__len__", lambda self: counted.append(self) or 1)
    app = ended(tmp_path)
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s", "s", "S", "j")
        assert "step 1" in screen_text(app)
    assert not counted


async def test_two_bindings_of_one_name_have_their_own_values(tmp_path: Path) -> None:
    """The branch that was not taken made no value, whatever has its name."""
    for taken, values in (("1", ("max 2", "")), ("0", ("", "max 1"))):
        app = ended(tmp_path, taken)
        async with app.run_test(size=(80, 24)) as pilot:
            await idle(pilot, app)
            await press(pilot, app, "c")
            rows = [
                n
                for n, row in enumerate(app.view.rows)
                if getattr(row.node, "var", None) and row.node.var.name == "y"
            ]
            for row, value in zip(rows, values, strict=True):
                app.view.move(row)
                await press(pilot, app, "i")
                if value:
                    assert value in popup(app)
                    await press(pilot, app, "escape")
                else:
                    assert "y has no value at step" in screen_text(app)


@pytest.mark.parametrize(
    ("size", "table"), [((80, 24), "values"), ((80, 24), "points"), ((120, 40), "points")]
)
async def test_a_watch_is_inspected(tmp_path: Path, size: tuple[int, int], table: str) -> None:
    app = ended(tmp_path)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "watch x + x")
        await typed(pilot, app, "watch inner")
        await press(pilot, app, *"vvv" if table == "points" else "")
        app.frame.query_one(f"#{table}").focus()
        await press(pilot, app, "g", "i")
        assert popup(app).startswith("x + x: (2,) f64")
        assert popup(app).splitlines()[1] == "computed in f64, as arithmetic in watches is"
        assert "max 2" in popup(app)
        await press(pilot, app, "escape", "j", "i")
        assert "inner has no value at step 0" in screen_text(app)


@pytest.mark.parametrize(
    ("text", "dtype", "is_computed"),
    [
        ("x", "f32", False),
        ("x[:2]", "f32", False),
        ("x > 0", "bool", False),
        ("-x", "f64", True),
        ("abs(x)", "f64", True),
        ("k - k", "i64", True),
    ],
)
async def test_a_watch_has_the_dtype_of_its_value(
    tmp_path: Path, text: str, dtype: str, is_computed: bool
) -> None:
    path = tmp_path / "watched.py"
    path.write_text(
        '@R.function\ndef main(x: R.Tensor((2,), "float32"), k: R.Tensor((2,), "int8")):\n'
        "    y = R.add(x, x)\n    return y\n"
    )
    app = Explorer(str(path), "", screen="debug")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, f"watch {text}")
        app.frame.query_one("#values").focus()
        await press(pilot, app, "g", "i")
        assert popup(app).startswith(f"{text}: (2,) {dtype}")
        assert (f"computed in {dtype}" in popup(app)) == is_computed
        await press(pilot, app, "escape", "j", "i")
        assert popup(app).startswith("k: (2,) i8")
        assert "computed" not in popup(app)


async def test_the_timeline_knows_the_end_once_it_was_reached(tmp_path: Path) -> None:
    app = ended(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s")
        assert "step 1 of 1+" in screen_text(app)
        await press(pilot, app, "c")
        assert app.state.run is not None
        last = app.state.run.last
        await press(pilot, app, "C")
        assert f"step 0 of {last} " in screen_text(app)
        await press(pilot, app, "r")
        assert "step 0 of 0+" in screen_text(app)


async def test_the_next_binding_has_no_number_but_that_of_its_row(tmp_path: Path) -> None:
    """The table counts bindings; the number of a line beside it would be taken for one of these."""
    app = ended(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s")
        assert "next r" in screen_text(app)
        await press(pilot, app, "v", "v")
        assert "0 main, r" in screen_text(app)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_run_that_starts_says_so_until_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """And says what to do if it did not start."""
    goes_on, before = threading.Event(), run_control.started_with

    def started_with(*arguments: Any) -> Any:
        goes_on.wait()
        if fails:
            raise Failure(Diagnostic(BAD_EXPRESSION, "no values"))
        return before(*arguments)

    monkeypatch.setattr(run_control, "started_with", started_with)
    app = ended(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.jobs.is_working("run") and app.screen_name == "debug")
        await pilot.pause()
        try:
            assert "starting …" in screen_text(app)
            assert "no run" not in screen_text(app)
        finally:
            goes_on.set()
        await idle(pilot, app)
        await press(pilot, app, "escape")
        assert "starting" not in screen_text(app)
        assert ("no run; r starts one" in screen_text(app)) == fails
        assert ("step 0 of 0+" in screen_text(app)) != fails


async def test_only_passes_obeys_t(tmp_path: Path) -> None:
    app = ended(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "escape", "t")
        assert (app.state.options.density, app.notice) == ("compact", "")
        assert "TVMScript" not in screen_text(app)
        await press(pilot, app, "question_mark")
        assert not any(row.text.startswith("t ") for row in app.view.rows)
        await press(pilot, app, "escape", "1", "t")
        assert app.state.options.density == "typed"
        assert "TVMScript, StructInfo at the right" in screen_text(app)
        await press(pilot, app, "question_mark")
        assert any(row.text.startswith("t ") for row in app.view.rows)


async def test_a_pane_that_compares_nothing_says_so() -> None:
    broken = str(SAMPLES[0].parent / "broken_build")
    app = Explorer(broken)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "compare 0")  # with itself
        assert "comparing" not in screen_text(app)
        assert "no comparison; b chooses a stage" in screen_text(app)
        for key in ("c", "C", "d", "s", "p"):
            await press(pilot, app, key)
            assert "nothing is compared yet" in screen_text(app), key


async def test_home_says_why_no_screen_opens() -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2")
        assert "no program is open; Enter opens" in screen_text(app)
        await press(pilot, app, "4", "1")
        assert app.screen_name == "home"
