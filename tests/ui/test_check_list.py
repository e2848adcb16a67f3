"""The checks screen: UI-13."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_items import item
from tests.ui.test_screens import idle, press, typed

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), w: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        a = R.exp(x)
        b = R.match_cast(y, R.Tensor((n,), "float32"))
        c = R.add(x, y)
        d = R.match_cast(c, R.Tensor((n,), "float32"))
        return d

    @R.function(private=True)
    def other(z: R.Tensor(("k",), "float32")) -> R.Tensor((7,), "float32"):
        k = T.int64()
        e = R.match_cast(z, R.Tensor((7,), "float32"))
        return e
"""
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


def rows(app: Explorer) -> list[str]:
    return [
        f"{row.mark} {row.text} {row.right}".strip() for row in app.frame.query_one("#checks", LineView).rows
    ]


def detail(app: Explorer) -> str:
    return " ".join(row.text.strip() for row in app.frame.query_one("#check", LineView).rows)


async def opened(pilot: Any, app: Explorer) -> None:
    await wait(pilot, lambda: app.state.session is not None)
    await idle(pilot, app)


@SIZES
async def test_ui_13_checks_say_why_and_enter_goes_there(program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        assert app.screen_name == "checks"
        assert "[6 Checks]" in screen_text(app)
        assert [line for line in rows(app) if ":" in line and line[0] not in "✓·✗"] == [
            "main: 1 proved, 7 left to the run",
            "other: 1 left to the run",
        ]
        assert rows(app)[1].startswith("·     8  b  m == n")
        assert "it fails with" in rows(app)[1]
        assert app.view.cursor == 1, "the first check, not the head"
        assert (
            "m == n: left to the run demanded by match_cast: y in main, b, line 8 why: it fails with"
            in detail(app)
        )
        assert "to remove it: " in detail(app)
        assert "in this run" not in detail(app), "there is no run"
        await press(pilot, app, "enter")
        assert (app.screen_name, app.state.selection.variable) == ("passes", "b")
        await press(pilot, app, "6", "G")
        assert app.state.selection.function == "other"
        await press(pilot, app, "k")
        assert app.state.selection.variable in ("", "e")
        app.stage_control.go_to_variable("b")
        app.show_screen("checks")
        await idle(pilot, app)
        assert app.view.cursor == 1, "the cursor is at the selected binding"
        assert app.view.row.node.place is app.state.selection.binding


async def test_ui_13_calls_from_outside_share_a_row(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        assert "·        each call from outside: 3 kinds, 2 lengths" in rows(app)
        app.view.move(rows(app).index("·        each call from outside: 3 kinds, 2 lengths"))
        await idle(pilot, app)
        assert detail(app).startswith("each call from outside x is a float32 tensor of rank 1 y is")
        await press(pilot, app, "enter")
        assert (app.screen_name, app.state.selection.function, app.state.selection.binding) == (
            "passes",
            "main",
            None,
        )


async def test_ui_13_filters(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        remaining = rows(app)
        assert "what is left to the run" in screen_text(app)
        await press(pilot, app, "f")
        proved = rows(app)
        assert all(line.startswith("✓") for line in proved if line[:1] in tuple("✓·✗"))
        assert "what is proved" in screen_text(app)
        await press(pilot, app, "f")
        assert sum(line[0] in "✓·" for line in rows(app)) == 9
        await press(pilot, app, "f")
        assert rows(app) == remaining
        await press(pilot, app, "F")
        await typed(pilot, app, "checks proved")
        assert rows(app) == proved
        assert "--proved" in command_line(app)
        assert rxe_cli(*command_line(app).split()[1:]).exit_code == 0
        await typed(pilot, app, "checks nothing")
        assert "checks takes remaining, proved" in screen_text(app)
        assert rows(app) == proved


async def test_ui_13_a_given_condition_shows_what_it_decides(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        await typed(pilot, app, "checks given m == n")
        assert "given m == n in main" in screen_text(app)
        assert [line[0] for line in rows(app)] == ["m", "✓", "✓", "o"], "only what the condition decides"
        assert rows(app)[1].startswith("✓     8  b  m == n")
        assert "because m == n (given)" in detail(app)
        assert not any("each call from outside" in line for line in rows(app)), "those stay undecided"
        assert "--func main" in command_line(app)
        assert command_line(app).endswith("--given 'm == n'")
        await press(pilot, app, "f")
        assert "all checks" in screen_text(app)
        assert any(line.startswith("✓     8  b") for line in rows(app)), "it holds with each filter"
        before = rows(app)
        await typed(pilot, app, "checks given k == 1")
        assert any("there is no shape variable k" in row.text for row in app.view.rows)
        await press(pilot, app, "escape")
        assert rows(app) == before
        await press(pilot, app, "G")
        await typed(pilot, app, "checks given k == 7")
        assert "given k == 7 in other" in screen_text(app)
        await typed(pilot, app, "checks given main.m == main.n")
        assert "given main.m == main.n" in screen_text(app)
        assert "in other" not in screen_text(app).split("given main.m == main.n")[1].split("\n")[0]
        assert command_line(app).endswith("--given 'main.m == main.n'")
        assert rows(app)[1].startswith("✓     8  b  m == n")
        assert rxe_cli(*shlex.split(command_line(app))[1:]).exit_code == 0
        await typed(pilot, app, "checks given other.m == k")
        assert any("there is no shape variable m of other" in row.text for row in app.view.rows)
        await press(pilot, app, "escape")
        await typed(pilot, app, "checks")
        assert any(line.startswith("·     8  b") for line in rows(app)), "`:checks` drops the condition"


@item("UI-13")
async def test_a_check_that_runs_twice_counts_two(requirement: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Object:
        a = Module.other(x)
        b = Module.other(x)
        return (a, b)

    @R.function(private=True)
    def other(z: R.Tensor(("k",), "float32")) -> R.Tensor((3,), "float32"):
        e = R.match_cast(z, R.Tensor((3,), "float32"))
        return e
"""
    )
    app = Explorer(str(path), "", screen="debug", call=CallInputs("", {}, {"n": 3}))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.run is not None)
        counted = []
        for key in ("n", "n"):
            await press(pilot, app, "2", key, "6")
            shown = app.frame.query_one("#checks", LineView).rows
            counted.append([row.right.partition(",")[0] for row in shown if "  e  " in row.text])
        assert counted == [["1 time"], ["2 times"]]


@item("UI-13")
@SIZES
async def test_a_run_adds_costs(requirement: str, program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "", screen="debug")
    async with app.run_test(size=size) as pilot:
        await wait(pilot, lambda: app.state.run is not None)
        await press(pilot, app, "n", "6")
        assert not rows(app)[1].endswith("µs"), "it was not made yet"
        assert "in this run: not made yet" in detail(app)
        assert any(line.startswith("·        each call") and "1 time, " in line for line in rows(app))
        await press(pilot, app, "2", "n", "6")
        assert "1 time, " in rows(app)[1]
        assert "in this run: 1 time, " in detail(app)
        await press(pilot, app, "enter")
        assert (app.screen_name, app.state.selection.variable) == ("debug", "b")
        assert app.state.run is not None, "the run goes on"
        await press(pilot, app, "2", "N", "6")
        assert "in this run: not made yet" in detail(app)


@item("UI-13")
@SIZES
async def test_what_took_time_comes_first(requirement: str, program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "", screen="checks")
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        await press(pilot, app, *"fff")
        assert app.state.options.checks == "remaining", "without a run nothing took time"
        await typed(pilot, app, "checks costly")
        assert rows(app)[-1] == "no run yet: 2 runs the stage"
        await press(pilot, app, "2")
        await wait(pilot, lambda: app.state.run is not None)
        await press(pilot, app, "c", "6")
        assert rows(app)[0].startswith("in this run checks took ")
        assert any("each call from outside" in line and "1 time, " in line for line in rows(app))
        assert any(" b  m == n" in line and "1 time, " in line for line in rows(app))
        await press(pilot, app, "f")
        assert app.state.options.checks == "remaining"
        await press(pilot, app, "F")
        assert app.state.options.checks == "costly", "with a run, f shows it, too"


async def test_another_stage_has_other_checks(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    (folder / "00_input.py").write_text(PROGRAM)
    (folder / "01_Fixed.py").write_text(
        PROGRAM.replace('y: R.Tensor(("m",)', 'y: R.Tensor(("n",)').replace("m = T.int64()", "pass")
    )
    (folder / "02_Cut.py").write_text("@R.function\ndef f(")
    app = Explorer(str(folder))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        assert any(" b  m == n" in line for line in rows(app))
        await press(pilot, app, "right_square_bracket")
        assert app.state.selection.stage == 1
        assert not any(" b  m == n" in line for line in rows(app))
        await press(pilot, app, "right_square_bracket")
        assert rows(app)[-1].startswith("nothing to show")
        for key in ("enter", "f", "j", "G", "n", "tab", "enter"):
            await press(pilot, app, key)
        await press(pilot, app, "left_square_bracket", "left_square_bracket", "6")
        assert any(" b  m == n" in line for line in rows(app))


async def test_what_always_fails_is_marked(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        PROGRAM.replace("d = R.match_cast(c, R.Tensor((n,)", "d = R.match_cast(a, R.Tensor((n + 1,)").replace(
            '-> R.Tensor(("n",), "float32")', "-> R.Object"
        )
    )
    app = Explorer(str(path), "", screen="checks")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        failing = next(line for line in rows(app) if line.startswith("✗"))
        assert "d  " in failing
        app.view.move(rows(app).index(failing))
        await idle(pilot, app)
        assert "it fails in every run" in detail(app)


async def test_no_program_and_a_bad_one_are_told(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("@R.function\ndef main(x: R.Tensor((2,")
    app = Explorer(str(bad), "", screen="checks")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.failures)
        await press(pilot, app, "escape", "j", "6")
        assert "1 shows the source with its problems" in screen_text(app)
        await typed(pilot, app, f"open {SAMPLES[1]}")
        await opened(pilot, app)
        assert any("each call from outside" in line for line in rows(app))


async def test_checks_are_exported_as_they_are_shown(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = Explorer(program, "", screen="checks")
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, "export text checks.txt")
        assert "it fails with" in (tmp_path / "checks.txt").read_text()
        data = json.loads(rxe_cli("shapes", program, "--format", "json").stdout)
        assert sum(row["answer"] == "remains" for row in data["checks"]) == 8


MATCHED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        m = T.int64()
        a = R.match_shape(y, [n])
        b = R.match_cast(y, R.Tensor((m,), "float32"))
        c = R.match_cast(b, R.Tensor((n + 1,), "float32"))
        return c
"""


async def test_a_check_is_called_as_the_program_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "matched.py"
    path.write_text(MATCHED)
    app = Explorer(str(path), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "6")
        shown = {
            word: [line for line in rows(app) if f" {word}: " in line]
            for word in ("match_shape", "match_cast")
        }
        assert ["  7  a" in line for line in shown["match_shape"]] == [True]
        assert ["  9  c" in line for line in shown["match_cast"]] == [True]
        view = app.frame.query_one("#checks", LineView)
        view.move(next(n for n, row in enumerate(view.rows) if "match_shape" in row.text))
        await idle(pilot, app)
        assert "demanded by match_shape: y in main, a, line 7" in detail(app)
        view.move(0)
        await idle(pilot, app)
        assert "left to the run by kind: parameters: 2, match_shape: 1" in detail(app)
        printed = rxe_cli("shapes", str(path)).stdout
        assert "(match_shape: y)" in printed
        assert "(match_cast: b)" in printed
        why = rxe_cli("shapes", str(path), "--why", "main.a").stdout
        assert "by the match_shape" in why
        assert "by the match_cast" not in why


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_lines_about_a_check_are_wrapped_from_the_first_picture_on(size: tuple[int, int]) -> None:
    app = Explorer(str(SAMPLES[0].parent / "03_match_cast.py"), screen="checks")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        view = app.frame.query_one("#check", LineView)
        text = " ".join(row.text.strip() for row in view.rows)
        assert "or cast it there once" in text
        assert max(len(row.text) for row in view.rows) + 3 <= view.scrollable_content_region.width
