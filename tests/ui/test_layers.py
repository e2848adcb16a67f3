"""Layers of the model in the explorer: as a column, folded, searched in one stage and in all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from relax_explorer.core.ir.layer_names import layer_names
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.typed import execute_typed
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

LLAMA = DATA / "llama"


def rows(app: Explorer, name: str) -> list[str]:
    return [line for line in screen_text(app).splitlines() if f" {name} " in line and "=" in line]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_column(size: tuple[int, int]) -> None:
    app = Explorer(str(LLAMA))
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        execute_typed(app, "layers")
        execute_typed(app, "go softmax1")
        await idle(pilot, app)
        assert "layers_1  (b, 4, s, s) f32" in rows(app, "softmax1")[0]
        await press(pilot, app, "right_square_bracket")
        assert "layers_1  (b, 4, s, s) f32" in rows(app, "softmax1")[0]
        execute_typed(app, "layers")
        await idle(pilot, app)
        assert "layers_1  (" not in screen_text(app)
        execute_typed(app, "layers")
        execute_typed(app, "diff beside")
        await idle(pilot, app)
        assert ("layers_1  (" in screen_text(app)) == (size[0] < 100), (
            "two stages side by side have no room for it"
        )


async def test_without_names_it_is_told(tmp_path: Path) -> None:
    text = "@R.function\ndef main(x: R.Tensor((2,))):\n    y = R.exp(x)\n    return y\n"
    (tmp_path / "a.py").write_text(text)
    app = Explorer(str(tmp_path / "a.py"), "")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        execute_typed(app, "layers")
        assert app.notice == "no name of a weight tells a layer"
        execute_typed(app, "fold layers")
        await idle(pilot, app)
        assert app.notice == "no layer has a number here"


async def test_layers_fold_together_and_alone() -> None:
    app = Explorer(str(LLAMA))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        execute_typed(app, "fold layers")
        await idle(pilot, app)
        shown = screen_text(app)
        assert "… layers_0: " in shown
        hidden = re.search(r"… layers_1: ([0-9]+) bindings", shown)
        assert hidden is not None
        own = sum(
            "layers_1" in layer
            for layer in layer_names(app.state.opened[1].module.relax_functions["forward"])
        )
        assert int(hidden[1]) == own - 1
        assert not rows(app, "softmax1")
        execute_typed(app, "go softmax1")
        await idle(pilot, app)
        assert rows(app, "softmax1"), "the fold opens around what is gone to"
        assert "… layers_0: " in screen_text(app)
        await press(pilot, app, "z")
        assert "… layers_1: " in screen_text(app)
        execute_typed(app, "fold open")
        await idle(pilot, app)
        assert "… layers_" not in screen_text(app)


async def test_a_search_finds_a_layer_in_one_stage_and_in_all() -> None:
    app = Explorer(str(LLAMA))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "slash", *"layer:layers_1", "enter")
        assert app.notice.endswith("with layer:layers_1; n next, N previous")
        assert "in layer layers_1" in screen_text(app)
        assert int(app.notice.split()[0]) > 20
        execute_typed(app, "all layer:layers_1_")
        await idle(pilot, app)
        assert screen_text(app).count("rms_norm") > 1
        assert "softmax1" not in screen_text(app)


def test_who_tells_the_layer() -> None:
    plain, told = [rxe_cli("who", str(LLAMA), "softmax1", *more) for more in ((), ("--layer",))]
    assert (plain.exit_code, told.exit_code) == (0, 0)
    assert "[layers_1]" not in plain.stdout
    assert told.stdout.splitlines()[0].endswith("[layers_1]")
    as_json = rxe_cli("who", str(LLAMA), "softmax1", "--format", "json").stdout
    assert '"layer": "layers_1"' in as_json


@pytest.mark.parametrize("stage", ["0", "33"])
def test_costs_are_told_by_the_layers_of_the_model(stage: str) -> None:
    done = rxe_cli("cost", str(LLAMA), "--by", "layer", "--stage", stage, "--no-chart")
    assert done.exit_code == 0, done.output
    found = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("layers_", "beside"))]
    assert found.count("layers_0") == found.count("layers_1") == found.count("beside") == 1


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 40), (140, 40), (200, 50)])
async def test_a_long_layer_takes_no_type_away(size: tuple[int, int], tmp_path: Path) -> None:
    """What has no room at the right of a line is not drawn at all."""
    text = """
@R.function
def main(x: R.Tensor((128, 4096, 64), "float32"), model_decoder_layers_12_self_attention_output_weight: R.Tensor((128, 4096, 64), "float32")):
    y = R.add(x, model_decoder_layers_12_self_attention_output_weight)
    return y
"""
    (tmp_path / "a.py").write_text(text)
    app = Explorer(str(tmp_path / "a.py"), "")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        execute_typed(app, "layers")
        await idle(pilot, app)
        (row,) = [line for line in screen_text(app).splitlines() if " y " in line and "= add" in line]
        assert "(128, 4096, 64) f32" in row
        assert "model" in row or size[0] < 80
