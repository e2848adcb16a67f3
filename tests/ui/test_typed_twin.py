"""While a line is typed behind `:`, the footer shows the command line that does the same. It runs, and it answers what the line asks."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.debug_commands import DEBUG_COMMANDS
from relax_explorer.core.session.lockstep import LOCKSTEP_COMMANDS
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import KINDS
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.typed import TYPED, twin_of_line
from relax_explorer.ui.tui.widgets.framed import CommandInput
from tests.cli.test_commands import rxe_cli
from tests.ui.test_contract_answers import opened, program
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import FIRST, folder, idle, press, typed

__all__ = ["folder", "program"]

PRIVATE = FIRST.replace(
    "    @R.function\n    def other",
    "    @R.function(private=True)\n    def other",
)


def test_each_command_has_a_twin_or_a_reason() -> None:
    reasons = [item.twin for item in TYPED if isinstance(item.twin, str)]
    assert all(reason and not reason.endswith(".") for reason in reasons)


def test_each_argument_is_of_a_known_kind() -> None:
    known = {*KINDS, "text", "int"}  # nothing completes these two but choices
    for item in (*TYPED, *DEBUG_COMMANDS, *LOCKSTEP_COMMANDS):
        assert {argument.kind for argument in item.arguments} <= known, item.name
        assert item.usage.startswith(item.name)


def answer(line: str, exit_code: int = 0) -> str:
    """What a command line of the explorer prints."""
    head, _, last = line.rpartition(" | ")
    given = ""
    if head.startswith("echo "):
        given = shlex.split(head)[1]
    elif head:
        given = answer(head)
    program, *words = shlex.split(last)
    assert program == "relax-explorer"
    done = rxe_cli(*words, stdin=given)
    assert done.exit_code == exit_code, (line, done.output)
    return str(done.output)


RUNS = {
    "passes": {
        "stage 1": "= R.exp(x)",
        "stage Wrong": "= R.sin(x)",
        "go other": "def other",
        "who a": "2 = Wrong",
        "compare 0": "differ",
        "bisect": "Wrong",
        "checks": "at each call from outside",
        "checks given n == 7": "main",
        "checks costly": "in this run 1 time",
        "why c": "permute_dims",
        "what-if n = 7": "n = 7",
        "diff inline": "R.sin(x)",
        "since 0": "R.sin(x)",
        "export json": '"schema"',
        "export mermaid": "flowchart",
        "export tvm": "def main():",
        "picture": "<svg",
        "explain nn.relu": "relu",
    },
    "graph": {"export text": "permute_dims"},
    "debug": {
        "break c": "stopped after step 3: bind main c",
        "b op:sin": "stopped after step 1: bind main a",
        "b if n > 4": "stopped",
        "watch a": "step 1, a of main: a = (5, 3) f32",
        "step 2": "b = (3, 5) f32",
        "info shapes": "n = 5",
        "b c if max > 1": "breakpoint",
    },
}


@pytest.mark.parametrize("screen", RUNS)
async def test_a_twin_runs(folder: str, screen: str) -> None:
    app = Explorer(folder, call=CallInputs("", {"x": "ones"}, {"n": 5}))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        app.show_screen(screen)
        await idle(pilot, app)
        for line, expected in RUNS[screen].items():
            twin = twin_of_line(app, line)
            assert twin, line
            is_verdict = line.startswith(("compare", "bisect"))
            printed = answer(twin, 1 if is_verdict else 0)
            assert expected in printed, (twin, printed)


async def test_what_was_said_of_the_run(folder: str, tmp_path: Path) -> None:
    """Y and the twins give the inputs, the profile and the constants that the explorer was started with."""
    whole = str(tmp_path / "io.npz")
    for given, expected in (
        (CallInputs("", {"x": "ones"}), "--input x=ones"),
        (CallInputs("", {"0": whole}), f"--input {whole}"),
        (CallInputs("", {"0": "ones"}, {"n": 4}), "--input 0=ones --shape n=4"),
    ):
        app = Explorer(folder, call=given, profile="tvm")
        async with app.run_test(size=(120, 40)) as pilot:
            await idle(pilot, app)
            app.show_screen("debug", starts=False)
            assert expected in command_line(app)
            assert "--profile tvm" in command_line(app)
            assert expected in twin_of_line(app, "compare 1")


async def test_a_program_with_passes(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PRIVATE)
    app = Explorer(str(path), "CanonicalizeBindings,LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        assert twin_of_line(app, "passes FoldConstant").endswith("program.py --passes FoldConstant")
        assert "R.exp" in answer(twin_of_line(app, "passes FoldConstant"))
        assert "call_tir" in answer(twin_of_line(app, "profile tvm"))
        assert "--profile tvm" in twin_of_line(app, "profile tvm")
        assert "@" not in twin_of_line(app, "compare 0"), "the stages of passes are no files"
        assert "call_tir" in answer(twin_of_line(app, "stage LegalizeOps"))
        app.stage_control.show(1)
        between = twin_of_line(app, "compare 0")
        assert "program.py@0 " in between
        assert "program.py@1 " in between
        printed = answer(between)
        assert "@1 CanonicalizeBindings" in printed, "not the last stage"
        assert ": equal" in printed
        app.show_screen("compare", starts=False)
        app.verdicts.compare(2)
        await idle(pilot, app)
        assert "program.py@1 " in command_line(app)
        assert "program.py@2 " in command_line(app)
        assert "@2 LegalizeOps" in answer(command_line(app))
        app.stage_control.show(2)
        assert ": equal" in answer(twin_of_line(app, "compare 0"))
        assert "--theme mono" in twin_of_line(app, "theme mono")
        report = tmp_path / "page.html"
        answer(twin_of_line(app, f"report {report}"))
        assert report.read_text().startswith("<!doctype html>")
        app.stage_control.go_to(0, "other")
        app.show_screen("debug")
        await idle(pilot, app)
        twin = twin_of_line(app, "step")
        assert "--private" in twin
        assert "--stage 0" in twin, "the command line runs the stage that is shown, not the last one"
        assert "d = (2,) f32" in answer(twin)
        assert "--private --profile" not in command_line(app)
        assert "--stage 0" in command_line(app)


async def test_standard_input_has_no_stages_to_compare(program: str) -> None:
    app = Explorer(program, "CanonicalizeBindings,LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app)
        await typed(pilot, app, "relax")
        await wait(pilot, lambda: app.state.session is not None and app.state.stages == 3)
        await idle(pilot, app)
        app.stage_control.show(1)
        assert twin_of_line(app, "compare 0") == ""
        app.stage_control.show(2)
        assert " --relax | relax-explorer compare - --passes" in twin_of_line(app, "compare 0")


async def test_compare_alone_names_the_stage_that_it_would_take(folder: str) -> None:
    """The last one that changed something, not the first one."""
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        app.stage_control.show(2)
        assert "dumps@0 " in twin_of_line(app, "compare 0")
        session = app.state.session
        assert session is not None
        taken = app.verdicts.other(session)
        assert f"dumps@{taken} " in twin_of_line(app, "compare")
        app.stage_control.show(1)
        app.verdicts.compare(2)
        await idle(pilot, app)
        app.stage_control.show(2)
        assert "dumps@1 " in twin_of_line(app, "compare"), "the one compared last"
        assert twin_of_line(app, "compare 2") == "", "a stage with itself"


async def test_what_has_no_twin(folder: str) -> None:
    app = Explorer(folder)
    lines = [
        "",
        "nonsense",
        "stage 99",
        "open",
        "who",
        "all x",
        "compare Gone",
        "step",
        "exit",
        "theme",
        "why",
        "export html",
    ]
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert [line for line in lines if twin_of_line(app, line)] == []
        await press(pilot, app, "2")
        in_debug = ["help", "help step", "quit", "inputs", "rev nonsense", "mark a", "fold all"]
        assert [line for line in in_debug if twin_of_line(app, line)] == []


async def test_without_a_program() -> None:
    """Nothing fails, and nothing names a file that is not there."""
    app = Explorer("")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        alone = {
            line: twin_of_line(app, line)
            for line in (f"{item.name}{rest}" for item in TYPED for rest in ("", " x"))
        }
        assert {line: twin for line, twin in alone.items() if twin} == {
            "open x": "relax-explorer tui x",
            "explain x": "relax-explorer explain x",
        }
        assert twin_of_line(app, "theme light") == "relax-explorer tui --theme light"


@pytest.mark.parametrize(
    ("width", "keys"),
    [
        (80, " Tab completes  Esc leaves      "),
        (90, " Tab completes  Esc leaves      "),
        (91, " Tab completes  ↑ before  Enter runs  Esc leaves      "),
    ],
)
async def test_the_footer_follows_what_is_typed(
    folder: str, width: int, keys: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(folder).parent)
    app = Explorer(Path(folder).name)
    async with app.run_test(size=(width, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "colon")

        def footer() -> str:
            return screen_text(app).rstrip("\n").split("\n")[-1].rstrip()

        assert footer() == " Tab completes  ↑ before  Enter runs  Esc leaves"
        await press(pilot, app, *"explain")
        assert footer() == " Tab completes  ↑ before  Enter runs  Esc leaves"
        app.screen.query_one("#command", CommandInput).value = "explain R.sin"
        await idle(pilot, app)
        assert footer() == " Tab completes  ↑ before  Enter runs  Esc leaves      rxe explain R.sin"
        app.screen.query_one("#command", CommandInput).value = "stage Wrong"
        await idle(pilot, app)
        assert footer() == f"{keys}rxe show dumps --stage 2 --func main"
        await press(pilot, app, "escape")
        assert "rxe" not in footer()
