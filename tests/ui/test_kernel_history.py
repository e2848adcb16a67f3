"""The history of a kernel: the stages that made, changed or removed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui.tui.app import Explorer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed

KERNEL = """@I.ir_module
class Module:
    @T.prim_func
    def twice(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("twice"):
                at = T.axis.spatial(4, i)
                Y[at] = X[at] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Module.twice, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
PLAIN = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.multiply(x, R.const(2.0, "float32"))
        return y
"""


@pytest.fixture
def kernels(tmp_path: Path) -> str:
    """Stages that make, leave, change and remove a kernel."""
    other = KERNEL.replace("return y", "z = R.add(y, y)\n        return z")
    wrong = other.replace("float32(2)", "float32(3)")
    stages = {"Read": PLAIN, "Made": KERNEL, "Same": KERNEL, "Other": other, "Wrong": wrong, "Gone": PLAIN}
    place = tmp_path / "kernels"
    place.mkdir()
    for number, (name, text) in enumerate(stages.items()):
        (place / f"{number:02}_{name}.py").write_text(text)
    return str(place)


@pytest.mark.parametrize("stage", [1, 2, 3, 4, 5])
async def test_the_history_of_a_kernel_leads_to_a_stage(kernels: str, stage: int) -> None:
    app = Explorer(kernels)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, f"stage {stage}")
        line = next(n for n, row in enumerate(app.view.rows) if row.function == "twice")
        app.view.move(line)
        await press(pilot, app, "w")
        assert "History of kernel twice" in screen_text(app)
        same = {2: ["2   Same                     unchanged"], 3: ["3   Other                    unchanged"]}
        assert [row.text.strip() for row in app.view.rows] == [
            "1 + Made                     made",
            *same.get(stage, []),
            "4 ~ Wrong                    changed: ~1",
            "5 - Gone                     removed",
        ]
        assert [row.node[0] for row in app.view.rows if row.mark == "▌"] == [stage]
        assert app.view.rows[app.view.cursor].node[0] == stage
        await press(pilot, app, "g", "enter")
        assert (app.state.selection.stage, app.state.selection.function) == (1, "twice")
        assert app.view.row is not None
        assert app.view.row.function == "twice"


@pytest.mark.parametrize("screen", ["passes", "graph"])
async def test_jumps_to_a_kernel_of_another_stage_lead_to_it(kernels: str, screen: str) -> None:
    """And not to what the stage changed first."""
    app = Explorer(kernels)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage 1")
        app.view.move(next(n for n, row in enumerate(app.view.rows) if row.function == "twice"))
        await typed(pilot, app, "stage 5")
        assert app.state.selection.function == "main"  # there is no such kernel
        await press(pilot, app, *(["3"] if screen == "graph" else []), "ctrl+o")
        await press(pilot, app, "1")
        assert (app.state.selection.stage, app.state.selection.function) == (1, "twice")
        assert app.view.row is not None
        assert app.view.row.function == "twice"


async def test_a_line_without_a_value_has_no_history(kernels: str) -> None:
    app = Explorer(kernels)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage 2")
        app.view.move(next(n for n, row in enumerate(app.view.rows) if row.function == "main"))
        await press(pilot, app, "w")
        assert "select a binding or a line of a kernel first" in screen_text(app)
