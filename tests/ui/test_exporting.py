"""`:export` and `:report`: what a screen shows as a file in every format, with completion, and plain words when that fails."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import relax_explorer as rxe
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import completions
from relax_explorer.ui.tui.pictures import ENDINGS
from relax_explorer.ui.tui.typed import execute_typed
from tests.support.injection import unsafe
from tests.ui.test_looks import BROKEN, LAYER
from tests.ui.test_screens import idle, press
from tests.viz.test_report import MARKUP, document_in, parsed


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def typed(pilot: object, app: Explorer, text: str) -> str:
    """Execute a line; returns what the footer says."""
    execute_typed(app, text)
    await idle(pilot, app)
    return app.notice


async def test_a_stage_in_every_format() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        stage = app.state.stage
        said = {style: await typed(pilot, app, f"export {style}") for style in ENDINGS}
        assert said == {style: f"wrote broken_build-passes-1{ending}" for style, ending in ENDINGS.items()}
        text = Path("broken_build-passes-1.txt").read_text()
        assert "== 1 LegalizeOps  ~64 +29ƒ" in text
        assert re.search(r"^~  1 reshape +=.*@reshape\(ids\) +\(b \* s,\) i32$", text, re.MULTILINE)
        assert "== 5 of 5 changed" in text
        assert text.count("\n") > 40  # also what is below the screen
        page = Path("broken_build-passes-1.html").read_text()
        found = parsed(page)
        assert "script" not in found.count
        assert "reshape" in page
        data = json.loads(Path("broken_build-passes-1.json").read_text())
        assert (data["schema"], data["stage"], data["pass"], data["stat"]["changed"]) == (
            "rxe.stage/1",
            1,
            "LegalizeOps",
            64,
        )
        assert rxe.structural_equal(rxe.normalize(rxe.parse(data["text"])), stage.module)
        svg = ElementTree.fromstring(Path("broken_build-passes-1.svg").read_text())
        assert svg.tag.endswith("svg")
        assert Path("broken_build-passes-1.mmd").read_text().startswith("flowchart")
        assert Path("broken_build-passes-1.svg").read_text() != ""
        assert await typed(pilot, app, "export own name.html") == "wrote own name.html"
        assert "broken_build · Passes · stage 1 LegalizeOps" in Path("own name.html").read_text()


async def test_other_screens_export_what_they_show() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "2", "s", "s")
        await typed(pilot, app, "export text run.txt")
        text = Path("run.txt").read_text()
        assert re.search(r"^✓  1 normed ", text, re.MULTILINE)
        assert re.search(r"^▶  3 parts ", text, re.MULTILINE)
        assert "qkv    (3, 3, 48) f32" in text
        assert "b = 3 ← x.shape[0]" in text
        await press(pilot, app, "3", "a")
        await idle(pilot, app)
        for name in ("g.html", "g.json", "g.txt"):
            assert await typed(pilot, app, f"export {name}") == f"wrote {name}"
        assert "data:image/svg+xml;base64," in Path("g.html").read_text()
        graph = json.loads(Path("g.json").read_text())
        assert {"normed", "qkv"} <= {node["id"] for node in graph["nodes"]}
        assert "nn.layer_norm" in Path("g.txt").read_text()
        await press(pilot, app, "4")
        await typed(pilot, app, "export text p.txt")
        assert "no problems in 7 stages" in Path("p.txt").read_text()


async def test_the_report_has_a_run_and_tells_what_it_lacks() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert await typed(pilot, app, "report") == "wrote 12_transformer_layer-report.html"
        page = Path("12_transformer_layer-report.html").read_text()
        assert document_in(page)["run"]["steps"]
        assert "LegalizeOps" in page
        await press(pilot, app, "2", "I")  # inputs that don't fit
        await press(pilot, app, "escape")
        app.run_control.calls["main"] = type(app.run_control.call)("main", {"x": "nofile.npy"}, {})
        said = await typed(pilot, app, "report r.html")
        assert said.startswith("wrote r.html; no run: ")
        assert "nofile.npy" in said
        assert document_in(Path("r.html").read_text())["run"] is None


async def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert "export takes svg, html, json" in await typed(pilot, app, "export")
        assert "export takes" in await typed(pilot, app, "export png")
        assert "export takes" in await typed(pilot, app, "export a.png")
        assert "there is no folder" in await typed(pilot, app, "export svg none/a.svg")
        assert "it is a folder" in await typed(pilot, app, f"report {tmp_path}")
        assert "not standard output" in await typed(pilot, app, "report -")
        assert list(Path().glob("*.*")) == []
        assert len(app.screen_stack) == 1
    empty = Explorer(None)
    async with empty.run_test(size=(80, 24)) as pilot:
        assert await typed(pilot, empty, "report") == "no program is open"
        assert await typed(pilot, empty, "export svg") == "no program is open"


async def test_tab_completes_formats_and_files() -> None:
    Path("a.svg").touch()
    Path("model.py").touch()
    Path("folder").mkdir()
    state = Explorer(None).state
    assert completions(state, False, "expo") == ["export "]
    assert completions(state, False, "export ") == [
        *(f"export {style}" for style in (*ENDINGS, "tvm", "issue")),
        "export a.svg",
        "export folder/",
    ]
    assert completions(state, False, "export m") == ["export mermaid"]
    assert completions(state, False, "export svg ") == ["export svg a.svg", "export svg folder/"]
    assert completions(state, False, "report f") == ["report folder/"]


async def test_nothing_of_a_program_is_markup_in_an_export() -> None:
    Path("p.py").write_text(
        f'@R.function(pure=False)\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.str("{MARKUP}")\n    return y\n'
    )
    app = Explorer("p.py")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "export a.html")
        page = Path("a.html").read_text()
        assert "<img" not in page
        assert "&lt;img" in page
        assert not unsafe(page)
        parsed(page)
