"""The solver screen: UI-14, REL-28. Runs of type relations, and the analysis of shape contracts, step by step."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.relations.library import register_relation, unregister_relation
from relax_explorer.core.relations.relay_types import Hole, TupleType
from relax_explorer.core.relations.solver import Outcome
from relax_explorer.ui import history
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.solver_steps import read_solving, solving_report
from relax_explorer.viz.solving import TABLES
from relax_explorer.viz.visible import visible
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_items import item
from tests.ui.test_looks import CONTRACTS as FLATTEN
from tests.ui.test_looks import RELATIONS as WAITING
from tests.ui.test_screens import idle, press, typed, under_cursor

CONTRADICTORY = "def @f(%x : Tensor[(2,), float32], %y : Tensor[(3,), float32]) {\n  add(%x, %y)\n}\n@f(sum(1, axis=0), 1)\n"


def table(app: Explorer, name: str) -> list[str]:
    return [f"{row.mark} {row.text}".rstrip() for row in app.frame.query_one(f"#{name}", LineView).rows]


def told(app: Explorer) -> str:
    """What is told of the step, with its wrapped lines joined."""
    return " ".join(" ".join(table(app, "about")).split())


async def opened(pilot: Any, app: Explorer) -> None:
    await wait(pilot, lambda: app.state.solving is not None)
    await idle(pilot, app)


@item("UI-14")
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_steps_forward_and_back(requirement: str, size: tuple[int, int]) -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        assert app.screen_name == "solver"
        assert "start" in under_cursor(app)
        assert "·    3  %x : ?1" in table(app, "types")
        assert table(app, "left") == ["     4  relation 1, Broadcast"]
        seen = []
        for step in range(1, 7):
            await press(pilot, app, "s")
            assert app.state.step == step
            seen.append((table(app, "types"), table(app, "made"), table(app, "left")))
        assert "Broadcast waits" in table(app, "steps")[1]
        assert "~    3  %x : Tensor[(3, 4), float32]" in seen[4][0]
        assert "     3  %x : Tensor[(3, 4), float32]" in seen[5][0], "it is new in one step only"
        assert seen[4][2] == ["+    5  relation 2, Broadcast"], "run 5 woke it"
        assert seen[5][2] == ["  nothing"]
        assert [len(made) for _, made, _ in seen] == sorted(len(made) for _, made, _ in seen)
        assert table(app, "about")[0].strip() == "relation 2, run 3 of 3: holds"
        for step in range(5, 0, -1):
            await press(pilot, app, "S")
            assert (table(app, "types"), table(app, "made"), table(app, "left")) == seen[step - 1]
        assert table(app, "about")[0].strip() == "relation 1, run 1 of 2: waits for ?1, ?3"
        await press(pilot, app, "S", "S")
        assert "this is the start" in screen_text(app)
        await press(pilot, app, "c")
        assert app.state.step == app.state.solving.last
        assert under_cursor(app) == "solved: 3 relations, 6 runs"
        await press(pilot, app, "c")
        assert "this is the end" in screen_text(app)
        await press(pilot, app, "C", "j")
        assert app.state.step == 1, "the cursor is the position"


@item("UI-14")
async def test_every_step_is_printed_without_the_explorer(requirement: str) -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        for step in (0, 2, 5, 7):
            app.change(step=step)
            await idle(pilot, app)
            assert command_line(app).removeprefix("relax-explorer ").split()[0] == "relations"
            printed = rxe_cli(*command_line(app).split()[1:]).stdout
            for name in TABLES[:-1]:
                assert all(line in printed for line in table(app, name) if line.strip() != "nothing")


@item("UI-14")
async def test_open_steps_and_the_step_that_made_a_line(requirement: str) -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        visited = []
        for _ in range(4):
            await press(pilot, app, "n")
            visited.append(app.state.step)
        assert visited == [1, 2, 4, 4]
        assert "no further step" in screen_text(app)
        await press(pilot, app, "N")
        assert app.state.step == 2
        await press(pilot, app, "c")
        types = app.frame.query_one("#types", LineView)
        app.frame.set_focus(types)
        for name, step in (("%z", 6), ("%x", 5), ("%factor", 0)):
            app.change(step=app.state.solving.last)
            await idle(pilot, app)
            types.move(next(n for n, row in enumerate(types.rows) if name in row.text))
            await press(pilot, app, "enter")
            assert app.state.step == step, name
        app.change(step=4)
        await idle(pilot, app)
        queue = app.frame.query_one("#left", LineView)
        app.frame.set_focus(queue)
        await press(pilot, app, "enter")
        assert "no step" in screen_text(app) or app.state.step > 4
        made = app.frame.query_one("#made", LineView)
        app.frame.set_focus(made)
        made.move(0)
        await press(pilot, app, "enter")
        assert app.state.step == 1
        program = app.frame.query_one("#program", LineView)
        app.frame.set_focus(program)
        program.move(5)
        await press(pilot, app, "enter")
        assert app.state.step == 3
        assert app.state.solving.place(3).line == 6
        program.move(len(program.rows) - 1)
        await press(pilot, app, "enter")
        assert "no step leads to this line" in screen_text(app)
        app.frame.set_focus(app.frame.query_one("#steps"))
        await press(pilot, app, "enter")
        assert app.frame.view.id == "program"


async def test_a_narrow_terminal_shows_one_table_at_a_time() -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        shown = []
        for _ in TABLES:
            shown.append([name for name in TABLES if app.frame.query_one(f"#{name}").display])
            await press(pilot, app, "v")
        assert shown == [["types"], ["made"], ["left"], ["program"]]
        await press(pilot, app, "s", "enter")
        assert app.focused is app.frame.query_one("#program")
        assert "▶" in table(app, "program")[3]
        await press(pilot, app, "v")
        assert app.focused is app.frame.query_one("#types"), "the focus follows the table"
        await pilot.resize_terminal(120, 40)
        await idle(pilot, app)
        assert all(app.frame.query_one(f"#{name}").display for name in TABLES)
        assert app.state.step == 1


async def test_contracts_are_stepped_too() -> None:
    app = Explorer(FLATTEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "s")
        assert "contract of x" in under_cursor(app)
        assert sum(line.startswith("▶") for line in table(app, "made")) == 3
        assert "    m stands for x.dim(1) // 4" in table(app, "about")
        left = []
        while app.state.step < app.state.solving.last:
            await press(pilot, app, "n") if left == [] else await press(pilot, app, "s")
            left.append(table(app, "left"))
        assert left[0] == ["+   13  assert e.rank == 2  (@ff)"]
        assert len(left[-1]) == 4
        assert not any(line.startswith("+") for line in left[-1])
        assert under_cursor(app) == "accepted with 4 residual checks"
        assert "    13  f : Tensor([j * 64], int32)" in table(app, "types")
        residual = app.frame.query_one("#left", LineView)
        app.frame.set_focus(residual)
        residual.move(1)
        await press(pilot, app, "enter")
        assert "assert x.dim(1) % 4 == 0: left to the run" in app.frame.query_one("#steps", LineView).row.text
        assert "it fails with e.dim(1) = " in told(app)
        printed = rxe_cli(*command_line(app).split()[1:]).stdout
        assert all(line in printed for line in table(app, "left"))


async def test_values_are_those_of_the_function_of_the_step(tmp_path: Path) -> None:
    path = tmp_path / "bodies.shapes"
    path.write_text(
        "@f = fn(x : Tensor([n, 4], int8)) : Tensor([n, 4], int8) { let y = @add(x, x); y }\nlet a : Tensor([8, 4], int8) = ..;\nlet b = @f(a)\n"
    )
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        shown = {}
        while app.state.step < app.state.solving.count:
            await press(pilot, app, "s")
            names = [line.partition(" : ")[0].split()[-1] for line in table(app, "types")]
            marked = [line[1:].strip() for line in table(app, "made") if line.startswith("▶")]
            shown[under_cursor(app).strip()] = names, marked
        assert shown["1  y : Tensor([x.dim(0), x.dim(1)], int8)"][0] == ["x", "y"]
        assert shown["3  b : Tensor([8, 4], int8)"][0] == ["a", "b"]
        result = "assert out.dim(0) == x.dim(0)"
        assert shown[f"1  {result}: proved"][1] == [f"{result};"], "of the result, too"


async def test_what_fails_is_told_with_its_step(tmp_path: Path) -> None:
    bad = tmp_path / "bad.relay"
    bad.write_text(CONTRADICTORY)
    app = Explorer(str(bad))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "n")
        assert app.view.row.mark == "✗"
        assert "fails: the dimensions 2 and 3 cannot be broadcast" in told(app)
        await press(pilot, app, "c")
        assert any("RX0603" in line for line in table(app, "about"))
        await press(pilot, app, "4")
        assert "RX0603" in screen_text(app)
        await press(pilot, app, "enter")
        assert (app.screen_name, app.state.step) == ("solver", 1)
        bad.write_text(
            "@f = fn(x : Tensor([n * 4], int8)) : Tensor([n], int8) { <body> }\nlet a : Tensor([6], int8) = ..; let b = @f(a)\n"
        )
        other = bad.rename(tmp_path / "bad.shapes")
        await typed(pilot, app, f"open {other}")
        await press(pilot, app, "c")
        assert "refused: 1 error" in under_cursor(app)
        await press(pilot, app, "N")
        assert "never holds" in under_cursor(app)
        assert not any("nothing" in line for line in table(app, "types"))


ORDER = """@any = fn(x : Tensor([n, m], int8)) : Tensor([n, m], int8) { <body> }
@small = fn(x : Tensor([4, 4], int8)) : Tensor([4, 4], int8) { <body> }
@f = [@any, @small]
let a : Tensor([4, 4], int8) = ..; let b = @f(a)
"""


async def test_implementations_in_the_wrong_order_are_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "order.shapes"
    path.write_text(ORDER)
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "4")
        assert screen_text(app).count("RX0614") == 1
        path.write_text(ORDER.replace("[@any, @small]", "[@small, @any]"))
        await typed(pilot, app, f"open {path}")
        await press(pilot, app, "4")
        assert "RX0614" not in screen_text(app)


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"def @f(%x : Tensor[(\xff", "RX0004"), (b"def @f(%x : Tensor[(2", "RX0601"), (b"\x00\x01", "RX0003"), (b"let", "RX0601")],
)  # fmt: skip
async def test_a_file_that_cannot_be_read_keeps_what_is_open(
    tmp_path: Path, content: bytes, code: str
) -> None:
    bad = tmp_path / "bad.relay"
    bad.write_bytes(content)
    app = Explorer(WAITING)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        before = app.state.solving
        await typed(pilot, app, f"open {bad}")
        assert code in " ".join(row.text for row in app.view.rows)
        await press(pilot, app, "escape")
        assert app.state.solving is before
        await press(pilot, app, "4")
        assert code in screen_text(app)


@pytest.mark.parametrize("name", ["empty.relay", "empty.shapes"])
async def test_an_empty_file_has_nothing_to_step_through(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("")
    app = Explorer(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        for key in ("s", "S", "c", "C", "n", "v", "v", "v", "enter", "tab", "enter", "tab", "enter"):
            await press(pilot, app, key)
        assert app.state.solving is not None or app.state.failures


async def test_a_relation_that_never_settles_ends_with_its_problem(tmp_path: Path) -> None:
    def restless(types: Any, inputs: int, attrs: Any, reporter: Any) -> Outcome:
        part = types[-1]
        while isinstance(part, TupleType):
            part = part.fields[0]
        reporter.unify(part, TupleType((Hole(),)))
        return Outcome.UNKNOWN

    register_relation("Restless", restless)
    try:
        path = tmp_path / "endless.relay"
        path.write_text("def @f<t>(%x : t) -> t where Restless(t, ?) { %x }\n@f(Constant(1, (2,), int8))\n")
        app = Explorer(str(path))
        async with app.run_test(size=(80, 24)) as pilot:
            await opened(pilot, app)
            assert app.state.solving.count == 64
            await press(pilot, app, "c")
            assert any("RX0608" in line for line in table(app, "about"))
            assert table(app, "left") == ["  nothing"]
            await press(pilot, app, "S")
            assert table(app, "left") == ["  nothing"], "the queue was dropped"
            assert table(app, "about")[0].strip().startswith("relation 1, run 64 of 64: waits for ?")
    finally:
        unregister_relation("Restless")


async def test_one_program_at_a_time(tmp_path: Path) -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        await press(pilot, app, "7")
        assert app.screen_name == "solver"
        assert "no type relations and no shape contracts" in screen_text(app)
        await typed(pilot, app, "solver 3")
        assert "solver takes a step" in screen_text(app)
        await typed(pilot, app, f"open {WAITING}")
        assert (app.screen_name, app.state.session) == ("solver", None)
        for key in "12356":
            await press(pilot, app, key)
            assert app.screen_name == "solver"
            assert len(app.screen_stack) == 1
            assert "no stages; 7 steps" in screen_text(app) or "no program is open" in screen_text(app)
        await press(pilot, app, "0", "7")
        assert app.screen_name == "solver"
        await press(pilot, app, "4", "q")
        assert app.screen_name == "solver"
        await typed(pilot, app, "solver 4")
        assert app.state.step == 4
        await typed(pilot, app, "solver 9")
        assert "solver takes a step from 0 to 7" in screen_text(app)
        assert app.state.step == 4
        await typed(pilot, app, f"open {SAMPLES[0]}")
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        assert app.screen_name == "passes"
        assert app.state.solving is None
        assert history.recent()[:2] == [str(SAMPLES[0].resolve()), str(Path(WAITING).resolve())]


async def test_a_file_is_read_again_at_the_same_step(tmp_path: Path) -> None:
    path = tmp_path / "own.relay"
    path.write_text(Path(WAITING).read_text())
    app = Explorer(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "c", "S")
        path.write_text(Path(WAITING).read_text().replace("(4,)", "(1,)"))
        await press(pilot, app, "r")
        assert app.state.step == 6
        assert any("%factor : Tensor[(1,), float32]" in line for line in table(app, "types"))
        path.write_text("1\n")
        await press(pilot, app, "r")
        assert app.state.step == app.state.solving.last == 1


async def test_steps_are_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    app = Explorer(WAITING)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "s")
        await typed(pilot, app, "export json")
        data = json.loads((tmp_path / "waiting-solver-1.json").read_text())
        assert data["schema"] == "rxe.relations/1"
        queued = [item["queued"] for item in data["runs"]]
        assert len(data["queued"]) == queued[-1]
        third = data["runs"][2]
        assert data["queued"][third["queued"] - third["waiting"] : third["queued"]] == [2]
        await typed(pilot, app, "export text")
        assert "Broadcast waits" in (tmp_path / "waiting-solver-1.txt").read_text()
        await typed(pilot, app, "export html")
        assert "Broadcast waits" in (tmp_path / "waiting-solver-1.html").read_text()
        await typed(pilot, app, "export svg")
        assert "no graph" in screen_text(app)
        await typed(pilot, app, "report")
        assert "wrote waiting-report.html" in screen_text(app)
        page = (tmp_path / "waiting-report.html").read_text()
        assert "Broadcast waits" in page


@pytest.mark.parametrize(
    "path",
    [WAITING, str(Path(WAITING).with_name("layer.relay")), FLATTEN],
    ids=lambda path: Path(path).name,
)
def test_the_report_has_every_step_and_table(path: str, tmp_path: Path) -> None:
    solving = read_solving(path)
    assert solving is not None
    goal = tmp_path / "report.html"
    done = rxe_cli("report", path, "-o", str(goal))
    assert done.exit_code == 0, done.output
    page = goal.read_text()
    assert page == solving_report(solving)
    shown = unescape(re.sub(r"<[^>]*>", "", page))
    for position in range(solving.last):
        assert visible(solving.line(position).text, 2_000).strip() in shown
        assert all(visible(text, 2_000).strip() in shown for text in solving.about(position))
    assert solving.verdict in shown
    for name, title in solving.titles.items():
        lines = solving.table(name, solving.last).lines
        assert (title in shown) is bool(len(lines))
        assert all(visible(line.text, 2_000).strip() in shown for line in lines)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


async def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "[bold]\x1b.relay"
    path.write_text(
        "# [red]\x1b]52;c;aGk=\x07 \u202e [/nope]\ndef @f(%x : Tensor[(2,), int8]) { add(%x, %x) }\n"
    )
    app = Explorer(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await press(pilot, app, "v", "v", "v")
        assert "\x1b" not in screen_text(app)
        assert "\u202e" not in screen_text(app)
        assert "[red]" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_is_told_of_a_step_is_never_cut(size: tuple[int, int]) -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        for number in range(app.state.solving.count + 1):
            said = [" ".join(line.split()) for line in app.state.solving.about(number)]
            assert all(line in told(app) for line in said)
            view = app.frame.query_one("#about", LineView)
            widest = max(len(line) for line in table(app, "about"))
            assert widest <= view.scrollable_content_region.width, "else the line ends with an ellipsis"
            await press(pilot, app, "s")
        await pilot.resize_terminal(size[0] + 60, size[1])
        await idle(pilot, app)
        await press(pilot, app, "C")
        await pilot.resize_terminal(max(100, size[0] - 60), size[1])
        await idle(pilot, app)
        assert max(len(line) for line in table(app, "about")) <= view.scrollable_content_region.width
        await pilot.resize_terminal(70, 24)
        await idle(pilot, app)
        assert max(len(line) for line in table(app, "about")) <= 70
