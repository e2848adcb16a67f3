"""The page in Chromium: keys and mouse at three widths, links, themes, and nothing on the console."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui.tui.keys import KEYS
from relax_explorer.ui.tui.rows import compact_rows
from relax_explorer.viz.report import SCRIPTS, asset, page_html, report
from tests.support.chromium import Page, browsed
from tests.support.deep_models import decoder
from tests.viz.test_page_document import made
from tests.viz.test_report import MARKUP, TRANSFORMER, broken, document_in, log_of

WIDTHS = (1280, 820, 390)
STATE = "page.explorer.state"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of the build that is wrong, with a run, and that of a model of three layers."""
    folder = tmp_path_factory.mktemp("pages")
    build, layers = broken(), Session(parse(decoder(3)), "zero,default_build")
    layers.run_all()
    texts = {"broken": report(build, log_of(build)), "layers": report(layers)}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text)
    return {name: folder / f"{name}.html" for name in texts}


@asynccontextmanager
async def opened(
    path: Path, profile: Path, width: int = 1280, link: str = "", dark: bool = False
) -> AsyncIterator[Page]:
    """A page in a window of some width; at the end its console must be empty."""
    async with browsed("about:blank", profile) as page:
        await page.size(width, 800, dark)
        await page.open(f"file://{path}{link}")
        await page.until("document.body.dataset.ready === 'yes'")
        yield page
        assert page.console == []


async def state(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = await page.value(STATE)
    return found


async def is_seen(page: Page, selector: str) -> bool:
    """True if an element has a size and lies in the window."""
    found: bool = await page.value(
        f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return false; const b = e.getBoundingClientRect(); "
        "return b.width > 0 && b.height > 0 && b.left < innerWidth && b.top < innerHeight && b.right > 0 })()"
    )
    return found


# -- jobs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
async def test_keys_and_mouse_reach_everything(width: int, written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["broken"], tmp_path, width) as page:
        await page.press("]")
        assert (await state(page))["stage"] == 1
        await page.click("#forward")
        assert (await state(page))["stage"] == 2
        assert await page.value("document.getElementById('sentence').textContent.includes('8 merges')")
        row = (await state(page))["row"]
        assert row >= 0  # the first change
        await page.press("c")
        assert (await state(page))["row"] > row
        for view, selector in (("2", "#content"), ("3", "#canvas svg"), ("4", "article.problem"), ("6", "details.check"),
                               ("alt+c", "#content table")):  # fmt: skip
            await page.press(view)
            assert await is_seen(page, selector), view
            assert not await page.value("document.documentElement.scrollWidth > innerWidth")
        for view in ("values", "graph", "problems", "beside", "checks", "cost", "program"):
            await page.click(f"#tab-{view}")
            assert (await state(page))["view"] == view
        assert await is_seen(page, "#program .row")
        await page.click("#program .row.binding")
        assert await page.value("document.querySelector('.row[aria-selected=\"true\"] .name') !== null")
        if width < 900:
            await page.click("#tab-stages")
            assert await is_seen(page, "#stages li")
            assert not await is_seen(page, "#program .row")
            await page.click("#stage-1")
            assert (await state(page))["pane"] == "main"
        else:
            await page.click("#stage-1")
        assert (await state(page))["stage"] == 1


async def test_the_jobs_of_a_newcomer_take_few_keys_that_are_named(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path) as page:
        hints = await page.value("document.getElementById('hints').textContent")
        for text in ("]next stage", "3 egraph as SVG", "2values, shape variables"):
            assert text in hints
        await page.press("]")  # a step through the pipeline
        assert (await state(page))["stage"] == 1
        await page.value(
            "window.saved = []; HTMLAnchorElement.prototype.click = function () { saved.push(this.download) }"
        )
        await page.press("3")
        await page.press("e")  # SVG
        assert await page.value("saved") == ["forward-1.svg"]
        await page.press("2")  # shape variables
        text = await page.value("document.getElementById('content').textContent")
        assert "ids.shape[0]" in text


async def test_the_svg_is_a_picture_of_its_own(written: dict[str, Path], tmp_path: Path) -> None:
    from xml.etree import ElementTree

    async with opened(written["broken"], tmp_path) as page:
        await page.press("3")
        text = await page.value("page.graph.document()")
        root = ElementTree.fromstring(text.encode())
        titles = [
            item.text
            for item in root.iter("{http://www.w3.org/2000/svg}text")
            if item.get("class") == "title"
        ]
        assert "softmax" in " ".join(filter(None, titles))
        assert ".drawing .is-matmul .shape" in text
        assert root.get("width")


# -- agreement --------------------------------------------------------------------------------------------------------


LINES = """(stage => { const e = page.explorer; e.change({stage, mode: 'inline', since: -1}); const body = e.body;
  e.folds.turned = new Set(); for (const fold of body.folds) if (e.folds.isClosed(body, fold)) e.folds.turn(body, fold);
  const found = linesOf(e.stages, stage, stage - 1, 'inline', e.folds);
  return found.filter(line => line.pair).map(({pair}) => { const isGone = pair.row < 0;
    const own = isGone ? e.stages.body(stage - 1) : body; const row = isGone ? pair.old : pair.row; const data = own.data(row);
    const note = isGone ? '' : e.stages.note(stage, row);
    return [own.kind(row), stage ? e.stages.glyph(pair.change, note) : '', data[2]] }) })"""


@pytest.mark.parametrize("name", ["broken", "lowered", "layers"])
async def test_lines_are_those_of_the_explorer(name: str, tmp_path: Path) -> None:
    """The mark and the name of every binding of every stage, in order, with the removed ones between them."""
    session, found = made(name)
    path = tmp_path / "page.html"
    path.write_text(page_html("x", found))
    async with opened(path, tmp_path / "profile") as page:
        for stage in session.stages:
            own = [[row.mark.strip(), row.text.split("=")[0].split()[-1]] for row in compact_rows(session, stage, "inline", ()).everything
                   if row.kind == "binding"]  # fmt: skip
            seen = await page.value(f"{LINES}({stage.number})")
            assert [item[1:] for item in seen if item[0] == "binding"] == own, stage


async def test_a_stage_beside_a_far_one_has_every_row_of_both_once(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path) as page:
        for since, stage in ((0, 5), (1, 4), (4, 1), (3, 3)):
            pairs = await page.value(f"page.explorer.stages.pairs({since}, {stage})")
            counts = [await page.value(f"page.explorer.stages.body({n}).rows.length") for n in (since, stage)]
            assert sorted(pair["old"] for pair in pairs if pair["old"] >= 0) == list(range(counts[0]))
            assert [pair["row"] for pair in pairs if pair["row"] >= 0] == list(range(counts[1]))


REMOVED = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        y = R.exp(x)
        return y

    @R.function(private=True)
    def nobody(x: R.Tensor((2,), "float32")):
        z = R.abs(x)
        return z
"""


async def test_any_stage_can_be_compared_with(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=25&view=beside") as page:
        before = await page.value("document.querySelectorAll('.row .before .code').length")
        choose = "(() => { const e = document.getElementById('since'); e.value = '0'; e.dispatchEvent(new Event('change')) })()"
        await page.value(choose)
        assert await page.value("page.explorer.since") == 0
        assert (
            await page.value("document.getElementById('sentence').textContent")
            == "Changes since stage 0 input. "
        )
        assert await page.value(
            "[...document.querySelectorAll('.before .code')].some(e => e.textContent.includes('nn.rms_norm'))"
        )
        assert before
        await page.until("location.hash.includes('since=0')")
        await page.press("b")
        assert await page.value("document.getElementById('since').value") == "-1"
        assert await page.value("page.explorer.since") == 4
        await page.value("location.hash = '#stage=25&since=1'")
        await page.until("page.explorer.since === 1", 15)


async def test_what_went_at_the_end_is_shown_at_the_end(tmp_path: Path) -> None:
    session = Session(parse(REMOVED), "DeadCodeElimination,LegalizeOps")
    session.run_all()
    path = tmp_path / "page.html"
    path.write_text(report(session))
    async with opened(path, tmp_path / "profile") as page:
        stage, count = len(session.stages) - 1, await page.value("page.explorer.stages.body(0).rows.length")
        pairs = await page.value(f"page.explorer.stages.pairs(0, {stage})")
        assert sorted(pair["old"] for pair in pairs if pair["old"] >= 0) == list(range(count))
        names = f"page.explorer.stages.pairs(0, {stage}).filter(p => p.row < 0).map(p => page.explorer.stages.body(0).functionOf(p.old))"
        assert set(await page.value(names)) == {"nobody"}


async def test_errors_stand_at_their_lines_also_where_no_program_was_read(tmp_path: Path) -> None:
    good = decoder(1)
    build = tmp_path / "build"
    build.mkdir()
    (build / "00_input.py").write_text(good)
    (build / "01_Bad.py").write_text(good.replace("R.matmul(", "R.matmul(((", 1))
    session = RecordedSession(open_build(build))
    session.run_all()
    path = tmp_path / "page.html"
    path.write_text(report(session))
    async with opened(path, tmp_path / "profile", 390, "#stage=1") as page:
        lines = "[...document.querySelectorAll('.row:has(.mark.error) .code')].map(e => e.textContent)"
        assert any("R.matmul(((" in text for text in await page.value(lines))
        assert (
            await page.value("document.getElementById('sentence').textContent")
            == "This stage could not be read as a program."
        )
        await page.press("4")
        await page.click("article .link")
        assert (await state(page))["row"] >= 0
        await page.press("5")  # a telephone has no room for two programs
        assert await page.value("page.program.mode") == "only"


async def test_the_history_of_a_value_follows_it_into_a_merge_and_back(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=0&function=forward&binding=add") as page:
        texts = await page.value("[...document.querySelectorAll('.history li')].map(li => li.textContent)")
        assert [text.split()[0].lstrip("+~-") for text in texts][:3] == ["0", "1", "4"]
        assert "@fused_matmul1_multiply_add" in texts[2]
        await page.click(".history li:nth-child(3) .link")
        assert await page.value("page.explorer.body.data(page.explorer.state.row)[2]") == "lv"
        assert await page.value(
            "document.getElementById('content').textContent.includes('merged from matmul1, mul, add by FuseOps')"
        )


def test_keys_mean_what_they_mean_in_the_explorer() -> None:
    """Every key of the page that the explorer has on the same screen does the same, in the same words."""
    import re

    text = asset("page/keys.js")
    rows = re.findall(r'keys: \[(.*?)\], does: "(.*?)", .*?(?:views: \["(\w+)"\])? ?\}', text)
    assert len(rows) > 40
    screens = {"": ("passes", "graph", "problems", "checks"), "graph": ("graph",), "values": ("debug",)}
    labels = {
        "Escape": "Esc",
        "ArrowDown": "down",
        "ArrowUp": "up",
        "ArrowLeft": "left",
        "ArrowRight": "right",
    }
    differing = []
    for keys, does, view in rows:
        for key in re.findall(r'"([^"]+)"', keys):
            label = labels.get(key, key)
            own = {
                row.description
                for row in KEYS
                if row.label == label and (not row.screens or set(row.screens) & set(screens[view]))
            }
            if own and not any(_alike(does, text) for text in own):
                differing.append((key, view, does, sorted(own)))
    assert [(key, view) for key, view, *_ in differing] == [
        ("+", "graph"),  # the page zooms, where the explorer shows a wider neighbourhood
        ("-", "graph"),
        ("f", "graph"),  # the page has no graph of calls: it goes to the next function
        ("Enter", ""),  # the page has nowhere else to go: it folds
    ]  # fmt: skip


def _alike(one: str, other: str) -> bool:
    """True if two sentences share most of their words."""
    left, right = ({word.strip(":,;.") for word in text.lower().split()} for text in (one, other))
    return len(left & right) >= min(2, len(right)) or bool(left & right - {"the", "of", "a", "to", "and"})


# -- links, search, folds ----------------------------------------------------------------------------------------------


async def test_a_link_leads_to_the_same_place(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(
        written["broken"], tmp_path, link="#stage=4&binding=lv1&function=forward&view=graph"
    ) as page:
        assert await page.value("page.explorer.body.data(page.explorer.state.row)[2]") == "lv1"
        assert (await state(page))["view"] == "graph"
        await page.press("]")
        await page.press("1")
        await page.press("d")
        await page.until("location.hash.includes('changes=beside')")
        link = await page.value("location.hash")
        assert "stage=12" in link
        before = await state(page)
        await page.call("Page.navigate", url="about:blank")
        await page.open(f"file://{written['broken']}{link}")
        after = await state(page)
        assert {key: after[key] for key in ("stage", "row", "view", "mode")} == {
            key: before[key] for key in ("stage", "row", "view", "mode")
        }
        await page.value("location.hash = '#stage=1&view=problems'")
        await page.until("page.explorer.state.view === 'problems'")
        assert (await state(page))["stage"] == 1


@pytest.mark.parametrize(
    "link",
    [
        "#stage=99&binding=nothing",
        "#stage=x&view=none&changes=?&since=-3&step=1e9",
        "#%%%&=&function=forward&line=99999",
    ],
)
async def test_a_wrong_link_opens_the_page_all_the_same(
    link: str, written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path, link=link) as page:
        assert await is_seen(page, "#program .row")
        await page.press("]")
        await page.press("j")


async def test_search_goes_from_match_to_match_and_opens_folds(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["layers"], tmp_path, link="#stage=0") as page:
        await page.press("/")
        for key in "softmax":
            await page.press(key)
        assert await page.value("document.getElementById('found').textContent") == "3 lines"
        await page.press("Enter")
        rows = []
        for _ in range(4):
            rows.append((await state(page))["row"])
            assert (
                await page.value("document.querySelector('.row[aria-selected=\"true\"] mark').textContent")
                == "softmax"
            )
            await page.press("n")
        assert rows[0] == rows[3]
        assert len(set(rows)) == 3
        await page.press("Escape")
        assert (await state(page))["find"] == ""


async def test_layers_kernels_and_functions_fold(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["layers"], tmp_path, link="#stage=1") as page:
        heads = "[...document.querySelectorAll('.row.layer')].map(row => row.getAttribute('aria-expanded'))"
        assert (await page.value(heads))[:3] == ["true", "false", "false"]
        count = await page.value("page.program.lines.length")
        await page.press("Z")
        assert await page.value("page.program.lines.length") > count
        await page.press("Z")
        assert await page.value("page.program.lines.length") < count
        await page.press("g")
        await page.press("z")
        assert await page.value("page.program.lines.length") > 3


async def test_the_graph_pans_zooms_and_leads_to_rows(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=4&view=graph") as page:
        names = "page.explorer.body.data(page.explorer.state.row)[2]"
        node = await page.value(
            "page.graph.elements.findIndex(e => e.querySelector('title').textContent.includes('softmax'))"
        )
        await page.value(f"page.graph.choose({node})")
        assert await page.value(names) == "softmax"
        await page.press("k")
        assert await page.value(names) == "lv"
        await page.press("j")
        assert await page.value(names) == "softmax"
        await page.click("#program .row.binding")
        assert await page.value("page.graph.node") == await page.value(
            f"page.graph.graph.nodes.findIndex((_, n) => page.graph.rowOf(page.graph.graph, n) === {(await state(page))['row']})"
        )
        place = await page.value("({...page.graph.place})")
        await page.drag((1000, 400), (940, 370))
        moved = await page.value("({...page.graph.place})")
        assert (moved["x"] - place["x"], moved["y"] - place["y"]) == (-60, -30)
        await page.press("+")
        assert await page.value("page.graph.place.scale") > moved["scale"]
        await page.call("Input.dispatchMouseEvent", type="mouseWheel", x=1000, y=400, deltaX=0, deltaY=300)
        await page.until(f"page.graph.place.scale < {moved['scale']}")
        nodes = await page.value("page.graph.elements.length")
        await page.press("z")
        assert await page.value("page.graph.elements.length") > nodes


async def test_the_graph_has_colours_of_storages_and_costs(written: dict[str, Path], tmp_path: Path) -> None:
    looks = "page.graph.elements.map(e => [...e.classList].find(c => /^(storage|heat)-/.test(c)) ?? '')"
    async with opened(written["broken"], tmp_path, link="#stage=0&view=graph&colours=FLOPs") as page:
        shown = await page.value(looks)
        assert "heat-4" in shown
        assert "heat-0" in shown
        assert "up to" in await page.value("document.getElementById('graph-legend').textContent")
        hottest = shown.index("heat-4")
        await page.value(f"page.graph.choose({hottest})")
        assert "FLOPs" in await page.value("document.getElementById('graph-node').textContent")
        await page.press("s")
        assert (await state(page))["paint"] == "bytes moved"
        assert await page.value(looks) != shown
        await page.press("s")
        await page.press("s")
        assert (await state(page))["paint"] == ""
        assert set(await page.value(looks)) == {""}
    titles = "s => Object.values(s.graphs).some(g => page.explorer.doc.graphs[g.once].paints[0].title === 'storages')"
    async with opened(written["layers"], tmp_path / "layers", link="#stage=0&view=graph") as page:
        planned = await page.value(f"page.explorer.doc.stages.findIndex({titles})")
        assert planned > 0
        await page.value(f"page.explorer.change({{stage: {planned}, paint: 'storages'}})")
        assert {"storage-0", "storage-none"} <= set(await page.value(looks))
        assert "s0, " in await page.value("document.getElementById('graph-legend').textContent")
        await page.value("page.explorer.goTo(0)")  # where nothing lies in a storage: the classes
        assert set(await page.value(looks)) == {""}
        await page.until("location.hash.includes('colours=storages')")


async def test_nodes_keep_their_places_from_stage_to_stage(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=0&view=graph") as page:
        await page.value(
            "page.graph.choose(page.graph.elements.findIndex(e => e.textContent.includes('softmax')))"
        )
        await page.press("+")
        place = await page.value("({...page.graph.place})")
        await page.press("]")
        assert await page.value("page.graph.svg.textContent.includes('permute_dims1')")
        assert await page.value("page.graph.elements[page.graph.node].textContent.includes('softmax')")
        assert await page.value("({...page.graph.place})") == place


async def test_the_run_is_stepped_through_and_its_row_is_marked(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=25&view=values") as page:
        await page.press("s")
        await page.press("s")
        assert (await state(page))["stage"] == 0
        assert (
            await page.value(
                "[...document.querySelectorAll('.row .mark')].filter(e => e.textContent === '▶').length"
            )
            == 1
        )
        first = await page.value("document.querySelector('.scrubber').textContent")
        await page.press("S")
        assert await page.value("document.querySelector('.scrubber').textContent") != first
        await page.press("$")
        await page.until("location.hash.includes('step=')")
        await page.press("s")  # behind the last one
        assert await page.value(
            "document.querySelector('.bars').getAttribute('aria-label').startsWith('distribution')"
        )


# -- looks, safety, speed -------------------------------------------------------------------------------------------


async def test_light_and_dark_follow_the_system_and_a_key(written: dict[str, Path], tmp_path: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    async with opened(written["broken"], tmp_path, dark=True) as page:
        assert await page.value(ground) == "rgb(16, 20, 24)"
        await page.press("T")
        assert await page.value(ground) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("dark", [False, True])
async def test_every_text_can_be_read(dark: bool, written: dict[str, Path], tmp_path: Path) -> None:
    """4.5:1 between each text and the ground below it (WCAG 2.1, 1.4.3)."""
    least = """(() => {
      const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => linear(c.startsWith('color') ? v : v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b };
      const ground = e => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c } };
      const bad = []; const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) { const e = walk.currentNode.parentElement, text = walk.currentNode.data.trim();
        if (!text || e.closest('svg, script, noscript, style') || !e.getClientRects().length) continue;
        const [a, b] = [lum(getComputedStyle(e).color), lum(ground(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); if (ratio < 4.5) bad.push([text.slice(0, 30), ratio, e.className]) }
      return bad })()"""
    async with opened(written["broken"], tmp_path, link="#stage=4&find=matmul", dark=dark) as page:
        for key in ("1", "2", "4", "5", "6", "alt+c", "?"):
            await page.press(key)
            assert await page.value(least) == [], key


async def test_screen_readers_find_lists_tabs_and_what_is_selected(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=4&binding=lv&function=forward") as page:
        assert await page.value(
            "document.getElementById(document.getElementById('program').getAttribute('aria-activedescendant')).textContent.includes('lv')"
        )
        assert await page.value("document.querySelectorAll('[role=tab][aria-selected=true]').length") == 1
        assert await page.value("document.getElementById('sentence').getAttribute('aria-live')") == "polite"
        named = "e => e.textContent.trim() || e.getAttribute('aria-label')"
        assert await page.value(f"[...document.querySelectorAll('button, input, select')].every({named})")
        names = await page.call("Accessibility.getFullAXTree")
        roles = [node["role"]["value"] for node in names["nodes"] if not node.get("ignored")]
        assert {"listbox", "tablist", "tab", "main", "slider", "option"} <= set(roles)
        order = []
        await page.value("document.body.focus()")
        for _ in range(14):
            await page.call(
                "Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9
            )
            order.append(await page.value("document.activeElement.id"))
        expected = ["slider", "find", "tab-program", "stages", "program", "content"]
        assert [name for name in order if name in expected] == expected[
            : len([name for name in order if name in expected])
        ]
        assert "program" in order


async def test_every_line_is_on_paper(written: dict[str, Path], tmp_path: Path) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=4") as page:
        await page.value("window.dispatchEvent(new Event('beforeprint'))")
        assert await page.value(
            "document.querySelectorAll('#program .row').length === page.program.lines.length"
        )
        await page.value("window.dispatchEvent(new Event('afterprint'))")
        assert await page.value(
            "document.querySelectorAll('#program .row').length < page.program.lines.length"
        )
        assert (await page.call("Page.printToPDF"))["data"]


async def test_names_of_a_program_are_texts_and_other_scripts_are_stopped(tmp_path: Path) -> None:
    source = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.str("§")\n    z = R.op("§", x)\n    return x\n'
    session = Session(parse(source.replace("§", MARKUP)), "LegalizeOps", f"<b>{MARKUP}")
    session.run_all()
    path = tmp_path / "page.html"
    path.write_text(report(session).replace("</body>", "<script>window.strange = true</script></body>"))
    async with browsed("about:blank", tmp_path / "profile") as page:
        await page.size(1280, 800)
        await page.open(f"file://{path}")
        for key in ("1", "j", "j", "2", "3", "4", "5", "6", "alt+c", "?"):
            await page.press(key)
            assert await page.value("document.querySelectorAll('img, b img, [onerror]').length") == 0
        assert await page.value("window.strange === undefined")
        assert await page.value("document.getElementById('program').textContent.includes('onerror=alert(1)')")
        assert [line for line in page.console if "Content Security Policy" not in line] == []


async def test_only_lines_in_sight_are_elements(tmp_path: Path) -> None:
    """500 bindings and 80 stages: few elements, and stages that are shown at once."""
    found = document_in(_large())
    path = tmp_path / "page.html"
    path.write_text(page_html("x", found))
    async with opened(path, tmp_path / "profile") as page:
        assert await page.value("page.explorer.stages.count") == 81
        await page.press("Z")
        assert await page.value("page.program.lines.length") > 500
        assert await page.value("document.querySelectorAll('#program .row').length") < 100
        for key in ("PageDown", "PageDown", "G", "g", "G"):
            await page.press(key)
            assert await page.value("document.querySelectorAll('#program .row').length") < 100
        await page.press("]")
        assert (await state(page))["stage"] > 0


def _large() -> str:
    """The page of 80 passes over 500 bindings."""
    session = Session(
        load_large(),
        ",".join(["CanonicalizeBindings", "LegalizeOps", "ToNonDataflow", "DeadCodeElimination"] * 20),
    )
    session.run_all()
    return report(session)


def load_large() -> Any:
    from relax_explorer.core.check.normalize import normalize

    return normalize(parse(decoder(28)))


# -- types -----------------------------------------------------------------------------------------------------------


TYPESCRIPT = "typescript@5.9.3"


def test_types_of_the_scripts_hold_also_for_a_document_that_python_made(tmp_path: Path) -> None:
    """`tsc --checkJs --strict`, with a real document as a value of the type that the scripts declare."""
    folder = Path(asset.__code__.co_filename).parent / "page"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    tsc = tmp_path / "node_modules" / ".bin" / "tsc"
    done = subprocess.run(
        [npm, "install", "--no-save", "--prefix", str(tmp_path), TYPESCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode or not tsc.exists():
        pytest.skip(f"npm does not answer: {done.stderr[-200:]}")
    session = Session.open(TRANSFORMER)
    found = document_in(report(session, log_of(session)))
    (tmp_path / "made.js").write_text(
        f"/** @type {{PageDocument}} */\nconst made_by_python = {json.dumps(found)};\n"
    )
    config = json.loads((folder / "tsconfig.json").read_text())
    assert config["files"] == [f"{name}.js" for name in SCRIPTS]
    config["files"] = [*(str(folder / name) for name in config["files"]), "made.js"]
    (tmp_path / "tsconfig.json").write_text(json.dumps(config))
    checked = subprocess.run(
        [str(tsc), "-p", str(tmp_path / "tsconfig.json")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert checked.stdout == ""
    assert checked.returncode == 0


# -- called functions --------------------------------------------------------------------------------------------------


async def test_called_functions_open_from_a_node_and_lead_back(
    written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(written["broken"], tmp_path, link="#stage=4&view=graph&function=forward") as page:
        doc = "page.explorer.doc.stages[page.explorer.state.stage]"
        assert await page.value(f"{doc}.by.startsWith('FuseOps')")
        calling = ("page.graph.graph.nodes.findIndex((_, n) => { page.graph.node = n; "
                   f"return page.graph.callee in {doc}.graphs }})")  # fmt: skip
        node = await page.value(calling)
        assert node >= 0
        await page.value(f"page.graph.choose({node})")
        callee = await page.value("page.graph.callee")
        assert callee.startswith("fused_")
        assert await page.value("document.getElementById('graph-callee').textContent") == f"open {callee}"
        before = await state(page)
        await page.press("o")
        assert await page.value("page.graph.function") == callee
        assert await page.value("page.explorer.body.functionOf(page.explorer.state.row)") == callee
        assert await page.value("document.querySelectorAll('#canvas .node').length") > 1
        await page.press("O")
        after = await state(page)
        assert (after["row"], await page.value("page.graph.function")) == (before["row"], "forward")
        assert await page.value("page.graph.node") == node
        await page.press("O")  # there is nothing more to go back to
        assert "no called function" in await page.value("document.getElementById('said').textContent")
        await page.click("#graph-callee")
        assert await page.value("page.graph.function") == callee
        await page.click("#graph-back")
        assert await page.value("page.graph.function") == "forward"
        assert await page.value("document.getElementById('graph-back').hidden")


@pytest.mark.parametrize("stage", [1, 25])
async def test_a_kernel_opens_its_lines_also_where_its_call_has_no_name(
    stage: int, written: dict[str, Path], tmp_path: Path
) -> None:
    async with opened(
        written["broken"], tmp_path, link=f"#stage={stage}&view=graph&function=forward"
    ) as page:
        node = await page.value(
            "page.graph.graph.nodes.findIndex((_, n) => page.graph.data(page.graph.graph, n)[1].includes('softmax'))"
        )
        await page.value(f"page.graph.choose({node})")
        await page.press("o")
        assert await page.value("page.explorer.body.kind(page.explorer.state.row)") == "kernel"
        assert "softmax" in await page.value("page.explorer.body.functionOf(page.explorer.state.row)")
        assert await page.value("page.graph.function") == "forward"  # a kernel has no graph
        shown = (
            "[...document.querySelectorAll('.row.line')].some((row) => row.textContent.includes('T.grid'))"
        )
        assert await page.value(shown)
        assert "changed here" in await page.value("document.getElementById('graph-legend').textContent")
        if stage == 25:  # its buffer is new, its value is not
            assert "added" not in await page.value(f"page.graph.elements[{node}].getAttribute('class')")
            assert "changed" in await page.value(f"page.graph.elements[{node}].getAttribute('class')")
        await page.press("O")
        assert await page.value("page.graph.node") == node
        await page.press("g")
        await page.value("page.graph.choose(0)")  # a parameter
        assert await page.value("page.graph.callee") == ""
