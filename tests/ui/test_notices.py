"""Notices in the footer: they fit into it, and stay until the next key or click, which may make another one."""

from __future__ import annotations

import ast
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import relax_explorer.ui.tui
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.jobs import Job, Jobs
from relax_explorer.viz.visible import columns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import wait
from tests.ui.test_idle_keys import footer
from tests.ui.test_screens import FIRST, idle, press, typed

BROKEN = str(SAMPLES[0].parent / "broken_build")
LAYER = str(SAMPLES[0].parent / "12_transformer_layer.py")


@pytest.mark.parametrize("key", ["j", "F12", "escape", "m", "question_mark"])
async def test_the_next_key_ends_a_notice(key: str) -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w")
        assert "select a binding" in footer(app)
        await press(pilot, app, key)
        assert not app.notice
        await press(pilot, app, "escape")
        assert "] next stage" in footer(app)


async def test_a_click_ends_a_notice() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w")
        await pilot.hover(offset=(30, 9))
        assert "select a binding" in footer(app)
        await pilot.click(offset=(30, 8))
        await idle(pilot, app)
        assert "] next stage" in footer(app)


async def test_the_key_that_makes_a_notice_does_not_end_it() -> None:
    """Also if it makes the same one again, opens a prompt, or closes a popup."""
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        for keys, said in (
            ("w", "select a binding"),
            ("w", "select a binding"),
            (("right_square_bracket",), ""),
            ("c", "change 2 of"),
            ("ma", "mark a:"),
            ((":", *"go nothing", "enter"), "no function or variable 'nothing'"),
        ):
            await press(pilot, app, *keys)
            assert said in app.notice
            assert said in footer(app)


async def test_a_notice_of_a_job_stays_until_a_key_behind_it() -> None:
    app, goes_on = Explorer(LAYER), threading.Event()
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        app.jobs.start("export", "waiting", lambda job: goes_on.wait(), lambda _: app.say("it is done"))
        await pilot.press("j", "j")
        goes_on.set()
        await wait(pilot, lambda: app.notice)
        await idle(pilot, app)
        await pilot.pause(0.3)
        assert "it is done" in footer(app)
        await press(pilot, app, "j")
        assert "it is done" not in footer(app)


async def test_a_notice_over_a_popup_ends_with_a_key_there() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "question_mark", "y")
        assert "copied" in footer(app)
        await press(pilot, app, "j")
        assert not app.notice
        assert "copied" not in footer(app)


ROOM = 76  # cells of a notice in a terminal of 80 columns, with a margin
NAME = 8  # cells of what is filled in, at least


def lengths(node: ast.expr) -> Iterator[int]:
    """The least length of each text that an expression may be."""
    if isinstance(node, ast.Constant):
        yield len(str(node.value))
    elif isinstance(node, ast.JoinedStr):
        yield sum(len(str(part.value)) if isinstance(part, ast.Constant) else NAME for part in node.values)
    elif isinstance(node, ast.IfExp):
        yield from (length for part in (node.body, node.orelse) for length in lengths(part))


def test_no_notice_is_longer_than_the_footer() -> None:
    said = 0
    for path in sorted(Path(relax_explorer.ui.tui.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "say"
            ):
                found = list(lengths(node.args[0]))
                said += len(found)
                assert all(length <= ROOM for length in found), f"{path.name}:{node.lineno}"
    assert said > 60


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("explain", "or select an operator"),
        ("export png", "or a FILE"),
        ("checks nothing", "given n == 7"),
        (f"{'wrong' * 9}", "Debug has more"),
        ("keep-branches", "a .shapes file"),
        ("stage 99", "no stage '99'; there are"),
        (f"toggle {'Pass' * 20}", "E edits it"),
    ],
)
async def test_what_to_do_is_seen_at_80_columns(line: str, shown: str) -> None:
    app = Explorer(LAYER, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, line)
        assert shown in footer(app)
        assert "…" not in footer(app) or line.startswith(("wrong", "toggle"))


async def test_keys_come_before_long_names(tmp_path: Path) -> None:
    name = "a_name_of_a_value_that_takes_a_lot_of_room_in_a_terminal_of_eighty_columns"
    path = tmp_path / f"{name}.py"
    path.write_text(re.sub(r"\bx\b", name, FIRST))
    app = Explorer(str(path), "", screen="debug")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert footer(app).startswith(" I changes the inputs made up: n = 3")
        await press(pilot, app, "slash", *name, "enter")
        assert "n next, N previous" in footer(app)
        await press(pilot, app, "j", "m", "a")
        assert footer(app).startswith(" 'a goes to mark a: ")


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_work_that_runs_tells_how_to_end_it(is_cancelled: bool) -> None:
    jobs, end = Jobs(Explorer(None)), "ends after the present call" if is_cancelled else "Esc cancels"
    for name in ("starting main", f"reading {'a' * 60}.py", "読む" * 30):
        for detail in ("", "stage 12 of 25"):
            started = time.monotonic() - 500
            jobs.running = [
                Job("run", name, jobs.receiver, False, False, is_cancelled, False, detail, started)
            ]
            shown = jobs.notice()
            assert columns(shown) <= 78
            assert shown.startswith(name[:10])
            assert shown.endswith(f" 500 s, {end}")
            assert f"{', ' if detail else ''}{detail} … " in shown


async def test_the_file_that_is_read_is_named_without_its_folders(tmp_path: Path) -> None:
    place = tmp_path / ("folder" * 9)
    place.mkdir()
    (place / "model.py").write_text(FIRST)
    for asked, named in ((place / "model.py", "reading model.py"), (place, f"reading {place.name}")):
        app = Explorer(None)
        async with app.run_test(size=(80, 24)) as pilot:
            await idle(pilot, app)
            app.stage_control.open(str(asked))
            assert [job.name for job in app.jobs.running] == [named]
            await idle(pilot, app)
