"""Programs with shape contracts in the explorer: their other forms, a copy for sizes, branches, and their Relax module."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from textual.pilot import Pilot

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import completions
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.typed import TYPED
from tests.cli.test_commands import rxe_cli
from tests.ui.test_explaining import page
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_looks import CONTRACTS as FLATTEN
from tests.ui.test_looks import RELATIONS as WAITING
from tests.ui.test_screens import idle, press, typed

NAMES = ("desugared", "matches", "split", "copy", "relax", "keep-branches")
ADD = """@ff = fn(x : Tensor([n, m * 4], int8)) : Tensor([n, m * 4], int8) { let y = @add(x, x); y }
let a : Tensor([8, 16], int8) = ..;
let b = @ff(a);
let c : Tensor([8, k], int8) = ..;
let d = @ff(c);
"""
BRANCH = """@h = fn(x : Tensor([n, m], int8)) : Tensor { if (x.dim(0) > 4) { @concat(x, x) } else { x } }
let a : Tensor([8, 3], int8) = ..;
let b = @h(a);
"""


async def opened(pilot: Pilot[object], app: Explorer) -> None:
    await wait(pilot, lambda: app.state.solving is not None)
    await idle(pilot, app)


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "add.shapes"
    path.write_text(ADD)
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("desugared", ["--desugared"]),
        ("matches", ["--matches"]),
        ("split", ["--split"]),
        ("copy ff: n=8, m=4", ["--copy", "ff: n=8, m=4"]),
    ],
)
async def test_a_form_is_that_of_the_command_line(
    program: str, size: tuple[int, int], line: str, options: list[str]
) -> None:
    app = Explorer(program)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, line)
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        shown = page(app)
        printed = rxe_cli("shapes", program, *options).stdout.splitlines()
        assert shown == printed
        assert len(printed) > 1
        await press(pilot, app, "escape")
        assert app.state.solving is not None


async def test_the_relax_module_has_stages_a_graph_and_a_run(program: str, tmp_path: Path) -> None:
    given = {}
    for name, shape in {"a": (8, 16), "c": (8, 12)}.items():
        np.save(tmp_path / f"{name}.npy", np.ones(shape, "int8"))
        given[name] = str(tmp_path / f"{name}.npy")
    app = Explorer(program, "CanonicalizeBindings,LegalizeOps", call=CallInputs("", given))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, "relax")
        await wait(pilot, lambda: app.state.session is not None and app.state.stages == 3)
        await idle(pilot, app)
        assert (app.screen_name, app.state.solving) == ("passes", None)
        assert "7 goes back" in screen_text(app)
        assert "7 Solver" in screen_text(app)
        stage = app.state.stage
        assert stage is not None
        assert list(stage.module.functions)[-1] == "main"
        twin = command_line(app)
        assert twin.startswith(f"relax-explorer shapes {program} --relax | relax-explorer show -")
        await press(pilot, app, "2")
        await wait(pilot, lambda: app.state.run is not None)
        await idle(pilot, app)
        await press(pilot, app, "dollar_sign")
        await idle(pilot, app)
        assert app.state.run is not None
        assert app.state.run.is_done, "what it calls is registered"
        await press(pilot, app, "7")
        await opened(pilot, app)
        assert (app.screen_name, app.state.session) == ("solver", None)
        await press(pilot, app, "s")
        assert app.state.step == 1


async def test_branches_are_looked_into_and_no_longer(tmp_path: Path) -> None:
    path = tmp_path / "branch.shapes"
    path.write_text(BRANCH)
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        counts = []
        for is_on in (False, True, False):
            before = app.state.solving
            assert before is not None
            counts.append([before.line(n).text for n in range(before.last)])
            twin = command_line(app)
            assert ("--keep-branches" in twin) is is_on
            shown = rxe_cli(*twin.split()[1:]).stdout
            assert shown
            assert ("branch by branch" in screen_text(app)) is is_on
            await press(pilot, app, "r")
            assert app.state.options.keep_branches is is_on, "reading the file again keeps it"
            await typed(pilot, app, "keep-branches")
            await wait(pilot, lambda old=app.state.solving, held=before: app.state.solving is not held)
            await idle(pilot, app)
        assert counts[0] == counts[2]
        assert counts[0] != counts[1]
        await typed(pilot, app, f"open {FLATTEN}")
        await idle(pilot, app)
        assert app.state.options.keep_branches is False, "it belongs to the other program"


@pytest.mark.parametrize("name", NAMES)
async def test_other_programs_are_told_what_a_command_needs(name: str) -> None:
    app = Explorer(WAITING)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, f"{name} ff: n=8")
        assert f"{name} needs shape contracts" in screen_text(app)
        assert not isinstance(app.screen, Popup)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("copy", "copy takes a function and sizes"),
        ("copy gg: n=8", "gives no sizes of a function; there are ff"),
        ("copy ff: q=8", "q"),
        ("copy ff: n=", "gives no sizes"),
    ],
)
async def test_wrong_sizes_are_told(program: str, text: str, said: str) -> None:
    app = Explorer(program)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, text)
        await idle(pilot, app)
        assert said in screen_text(app)
        await press(pilot, app, "escape")
        assert app.state.solving is not None


async def test_what_relax_cannot_express_keeps_the_contracts(tmp_path: Path) -> None:
    path = tmp_path / "branch.shapes"
    path.write_text(BRANCH)
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, "relax")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        assert "has no form in Relax" in " ".join(page(app))
        await press(pilot, app, "escape")
        assert (app.screen_name, app.state.session) == ("solver", None)


async def test_an_empty_program_has_no_forms(tmp_path: Path) -> None:
    path = tmp_path / "empty.shapes"
    path.write_text("let a : Tensor([8], int8) = ..;\n")
    app = Explorer(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        for name in ("matches", "split"):
            await typed(pilot, app, name)
            await wait(pilot, lambda: isinstance(app.screen, Popup))
            assert page(app) == ["this program has no function with a contract"]
            await press(pilot, app, "escape")


async def test_the_commands_complete(program: str) -> None:
    assert {item.name for item in TYPED} >= set(NAMES)
    app = Explorer(program)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app)
        assert completions(app.state, False, "copy ") == ["copy ff:"]
        assert "keep-branches " in completions(app.state, False, "kee")
