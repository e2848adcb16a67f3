"""Folders of stages that a build printed: stages are read one by one, and one that can't be read is kept as text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.ui.tui.app import Explorer
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA
from tests.ui.test_explorer import screen_text, wait

FIRST = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""
SECOND = FIRST.replace("R.exp", "R.sqrt")
BROKEN = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((2,"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four stages: a change, a stage that can't be read, and one like the first."""
    texts = {"00_input": FIRST, "01_Rewrite": SECOND, "02_Broken": BROKEN, "03_Undo": FIRST}
    place = tmp_path / "dumps"
    place.mkdir()
    for name, text in texts.items():
        (place / f"{name}.py").write_text(text)
    return place


def session_of(path: Path) -> RecordedSession:
    session = RecordedSession(open_build(path))
    session.run_all()
    return session


def test_the_stages_of_a_folder(folder: Path) -> None:
    session = session_of(folder)
    assert [(stage.made_by, stage.changed) for stage in session.stages] == [
        ("input", True), ("Rewrite", True), ("Broken", True), ("Undo", True)]  # fmt: skip
    assert session.total == 3
    assert session.diff(0, 1).functions[0].count("changed") == 1
    assert session.advance() is None


def test_a_stage_that_cannot_be_read_is_text_with_its_problem(folder: Path) -> None:
    broken = session_of(folder).stages[2]
    assert broken.text == BROKEN
    assert "\n".join(line.text for line in broken.printed.lines) == BROKEN
    (problem,) = broken.located
    assert str(problem.code) == "RX0007"
    assert problem.span.line == 4
    assert not broken.module.functions


def test_an_equal_stage_is_the_same_module(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}_same.py").write_text(FIRST)
    session = session_of(tmp_path)
    assert [stage.changed for stage in session.stages] == [True, False, False]
    assert session.stages[2].module is session.stages[0].module


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("{a}\n# after Rewrite\n{b}", 2),
        ("{a}\n# -----\n{b}", 2),
        ("{a}\n# -----\n# from tvm.script import ir as I\n\n{b}", 2),
        ("{a}\n# -----\n\nfrom tvm.script import ir as I\n{b}", 2),
        ("{f}\n# -----\n{f}", 2),
        ("{a}\n# -----\n# the end", 1),
        ("# -----\n# a model\n# -----\n{a}", 1),
        ("{f}", 1),
        ("@R.function\ndef main(x: R.Tensor((2,))):\n# -----\n    y = R.add(x, x)\n# after add\n    return y\n", 1),
        (
            "@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((2,))):\n# after relu\n        y = R.add(x, x)\n"
            "# -----\n        return y\n",
            1,
        ),
        ("@I.ir_module\nclass M:\n# -----\n    @R.function\n    def main(x: R.Tensor((2,))):\n        return x\n", 1),
        ("from tvm.script import relax as R\n@I.ir_module\nclass M:\n    pass\n# -----\nmodel = M\n", 1),
    ],
)  # fmt: skip
def test_a_heading_stands_before_a_program(text: str, stages: int, tmp_path: Path) -> None:
    function = "@R.function\ndef main(x: R.Tensor((2,))):\n    return x\n"
    path = tmp_path / "text.py"
    path.write_text(text.format(a=FIRST, b=SECOND, f=function))
    assert len(open_build(path).stages) == stages


def test_one_text_with_headings_is_several_stages_and_one_program_is_none(tmp_path: Path) -> None:
    both = tmp_path / "both.py"
    both.write_text(f"{FIRST}\n# after Rewrite\n{SECOND}")
    assert [stage.made_by for stage in open_build(both).stages] == ["input", "Rewrite"]
    one = tmp_path / "one.py"
    one.write_text(FIRST)
    assert not open_build(one).is_recorded
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(Failure, match="has no files such as"):
        open_build(empty)


def test_listeners_hear_of_every_stage_but_the_first(folder: Path) -> None:
    session = RecordedSession(open_build(folder))
    heard: list[int] = []
    session.listeners.append(lambda stage: heard.append(stage.number))
    session.run_all()
    assert heard == [1, 2, 3]


def test_the_history_of_a_value_crosses_recorded_stages(tmp_path: Path) -> None:
    for number, name in enumerate(("00_input.py", "01_LegalizeOps.py")):
        shutil.copy(DATA / "mlp" / name, tmp_path / f"{number}_{name[3:]}")
    session = session_of(tmp_path)
    names = [
        line.text.split(" = ")[0].split(":")[0].strip()
        for line in session.stages[1].printed.lines
        if "call_tir" in line.text
    ]
    found = session.who(names[0])
    assert [trace.stage for trace in found] == [0, 1]


@pytest.mark.parametrize("arguments", [
    ["show", "{}", "--stage", "1"], ["diff", "{}", "--between", "0..1"], ["who", "{}", "y"], ["graph", "{}", "--format", "dot"],
])  # fmt: skip
def test_the_commands_take_a_folder(folder: Path, arguments: list[str]) -> None:
    (folder / "02_Broken.py").unlink()
    done = rxe_cli(*[item.format(folder) for item in arguments])
    assert done.exit_code == 0, done.output
    assert "sqrt" in done.output or "exp" in done.output


def test_a_folder_has_its_passes_already(folder: Path) -> None:
    done = rxe_cli("show", str(folder), "--passes", "LegalizeOps")
    assert done.exit_code == 2
    assert "--passes goes on from one of them" in done.output


def test_changes_between_stages_of_a_folder_as_json(folder: Path) -> None:
    done = rxe_cli("diff", str(folder), "--between", "0..1", "--style", "json")
    document: dict[str, Any] = json.loads(done.stdout)
    (change,) = [item for item in document["changes"] if item["kind"] == "changed"]
    assert change["b"]["var"] == "y"


async def test_the_explorer_opens_a_folder(folder: Path) -> None:
    app = Explorer(str(folder))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None and len(app.state.session.stages) == 4)
        assert "stage 0/3" in screen_text(app)
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert "sqrt" in screen_text(app)
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert "def main(x: R.Tensor((2," in screen_text(app)  # the text of the stage that can't be read
        await pilot.press("4")
        await pilot.pause()
        assert "RX0007" in screen_text(app)
        await pilot.press("1", "right_square_bracket")
        await pilot.pause()
        assert "exp(x)" in screen_text(app)
