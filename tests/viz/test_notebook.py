"""What notebooks show: every value has a view, nothing of a program is markup in it, and it can be read in light and dark."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

import relax_explorer as rxe
from relax_explorer.core import shown
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.core.session.recorded import RecordedSession
from relax_explorer.core.session.run_log import logged
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.viz import notebook
from relax_explorer.viz.notebook import MOST_ROWS
from tests.support.chromium import CHROMIUM, DUMPING, browsed
from tests.support.injection import LATER, PLACES, program, unsafe
from tests.viz.test_report import BROKEN, MARKUP, TRANSFORMER, parsed


def values_of(session: Session) -> dict[str, object]:
    """One value of each kind that has a view."""
    stage, last = session.stages[0], session.stages[-1]
    fn = stage.module.functions[stage.entry]
    run = session.debug(stage.entry, generated_inputs(fn, {})[0])
    for _ in range(4):
        run.step()
    ended = session.debug(stage.entry, generated_inputs(fn, {})[0])
    while not ended.done:
        ended.step()
    return {
        "module": last.module, "function": fn, "kernel": last.module["matmul"], "stage": last, "session": session,
        "difference": session.diff(0, len(session.stages) - 1), "graph": rxe.graph(stage.module), "run": run, "run at its end": ended,
        "log": logged(session.debug(stage.entry, generated_inputs(fn, {})[0])),
    }  # fmt: skip


@pytest.fixture(scope="module")
def values() -> dict[str, object]:
    return values_of(Session.open(TRANSFORMER))


SAID = {
    "module": ("Module", "main", "@matmul", "return "),
    "function": ("Relax function", "nn.layer_norm", "normed"),
    "kernel": ("matmul", "PrimFunc", "with T.sblock", "float32"),
    "stage": ("6 ToNonDataflow", "non-dataflow"),
    "session": ("7 stages, 2 changed", "LegalizeOps", "~21"),
    "difference": ("~21 k3", 'class="removed"', "R.nn.layer_norm"),
    "graph": ("data:image/svg+xml;base64,", "32 nodes"),
    "run": ("step 4, before lv1", "b = 3, s = 3", "w_qkv"),
    "run at its end": ("at the end", "result"),
    "log": ("25 steps", "normed = (3, 3, 16)"),
}


@pytest.mark.parametrize("name", SAID)
def test_ipython_shows_each_value(name: str, values: dict[str, object]) -> None:
    data, _ = DisplayFormatter().format(values[name])
    assert ("image/svg+xml" in data) == (name == "graph")
    assert data["text/plain"] == repr(values[name])
    assert len(data["text/plain"]) < 200
    page = data["text/html"]
    assert page == rxe.html(values[name]) == values[name]._repr_html_()
    searched = page + re.sub("<[^>]*>", "", page)
    assert [text for text in SAID[name] if text not in searched] == []
    found = parsed(page)
    assert not found.ids  # two outputs of a notebook would share them
    assert not found.links
    assert all(source.startswith("data:") for source in found.sources)
    assert "script" not in found.count


def test_a_value_of_others_has_no_view() -> None:
    with pytest.raises(TypeError, match="no view of int"):
        rxe.html(3)


def test_the_core_alone_shows_the_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "_maker", [])
    data, _ = DisplayFormatter().format(IRModule({}))
    assert data == {"text/plain": "<IRModule Module: empty>"}


def test_the_first_view_loads_what_draws() -> None:
    code = """import sys, relax_explorer as rxe
module = rxe.parse("@R.function\\ndef f(): return R.const(1)")
print("relax_explorer.viz" in sys.modules)
module._repr_html_()
print("relax_explorer.viz" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_what_is_long_is_cut_and_said() -> None:
    lines = "".join(f"    v{n} = R.add(x, x)\n" for n in range(1_000))
    text = f'@R.function\ndef main(x: R.Tensor((2,), "float32")):\n{lines}    return v0\n'
    module, other = rxe.parse(text), rxe.parse(text.replace("R.add", "R.multiply"))
    page = rxe.html(module)
    assert page.count("<tr>") == MOST_ROWS
    assert f"{1002 - MOST_ROWS} of 1,002 lines are hidden; print(module.script()) has all of them." in page
    page = rxe.html(Session(module, "").diff(0, 0))
    assert "hidden" not in page
    from relax_explorer.core.session.align import diff_modules

    page = rxe.html(diff_modules(module, other))
    shown_changes = page.count('class="added"')
    assert page.count('<tr class="added"><td class="glyph">+</td>') == shown_changes
    assert shown_changes in (MOST_ROWS // 2, MOST_ROWS // 2 - 1)
    assert f"{1000 - shown_changes} of 1,000 changes are hidden" in page
    session = Session(module, "")
    assert "lines are hidden; print(stage.module.script())" in rxe.html(session.stages[0])
    assert f"{1001 - MOST_ROWS} of 1,001 steps are hidden" in rxe.html(
        logged(session.debug("main", [[1.0, 2.0]]))
    )
    run = session.debug("main", [[1.0, 2.0]])
    while not run.done:
        run.step()
    assert "952 of 1,002 values are hidden" in rxe.html(run)


OTHER = '@R.function\ndef other(a: R.Object) -> R.Tensor((2,), "int8"): return R.zeros((2,), "int8")\n\n'
TYPED = """@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
    y = R.add(x, R.multiply(x, x))
    if c:
        z = R.sum(y, axis=1)
    else:
        z = R.mean(y, axis=1)
    return (z, {})
"""


def _infos(value: object) -> list[str]:
    found = re.findall('<td class="info">(.*?)</td>', rxe.html(value))
    return [re.sub("<[^>]*>", "", item).strip() for item in found]


def test_a_module_that_was_only_parsed_has_types() -> None:
    module = rxe.parse(TYPED.format("y"))
    assert _infos(module) == _infos(rxe.normalize(module)) == _infos(module["main"])
    assert {"(n, 4) f32", "(n,) f32"} <= set(_infos(module))


def test_a_function_that_calls_others_and_a_wrong_module_are_shown_as_they_are() -> None:
    calling = rxe.parse(OTHER + TYPED.format("other(x)"))
    assert "(n,) f32" in _infos(calling)
    assert not [item for item in _infos(calling["main"]) if "object" in item], (
        "what `other` returns is unknown there"
    )
    assert "→ ((n,) f32, (2,) i8)" in _infos(rxe.normalize(calling)["main"])
    wrong = rxe.parse(TYPED.format("R.matmul(x, x)"))
    assert "(n,) f32" in _infos(wrong)


def test_tables_are_as_wide_as_their_types_under_the_style_sheet_of_jupyter() -> None:
    """It has `table-layout: fixed`, which gives each column the same share, or what the first row says."""
    page = rxe.html(rxe.parse(TYPED.format("y")))
    rule = re.search(r"^\.rxe table \{([^}]*)\}", page, re.MULTILINE)
    assert rule is not None
    assert "table-layout: auto" in rule[1]


def test_odd_programs_have_a_view() -> None:
    assert "The module has no function." in rxe.html(IRModule({}))
    assert "return x" in re.sub(
        "<[^>]*>", "", rxe.html(rxe.parse("@R.function\ndef f(x: R.Object): return x"))
    )
    session = RecordedSession(open_build(BROKEN))
    session.run_all()
    assert "13 DeadCodeElimination" in rxe.html(session.stages[-2])
    assert "6 stages" in rxe.html(session)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_of_a_program_is_markup(place: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_bytes(program(place, MARKUP + LATER))
    try:
        module = load(path)
    except rxe.Failure:
        return  # the test of messages covers it
    session = Session(module, "LegalizeOps", f"</b>{MARKUP}")
    session.run_all()
    diff = session.diff(0, 1)
    functions = [fn for fn in module.functions.values() if isinstance(fn, shown.Shown)]
    for value in (module, *functions, session, session.stages[0], diff):
        page = rxe.html(value)
        assert "<img src=x" not in page
        assert not unsafe(page.replace("\n", ""))
        parsed(page)


# -- in a browser ---------------------------------------------------------------------------------------------------

PROBE = """<script>
const linear = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number); return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b); };
const ground = item => { for (; item; item = item.parentElement) {
  const found = getComputedStyle(item).backgroundColor; if (!/, 0\\)$/.test(found)) return found; } };
let least = 21; const where = [];
for (const item of document.querySelectorAll(".rxe *")) {
  if (![...item.childNodes].some(part => part.nodeType === 3 && part.data.trim()) || item.tagName === "STYLE") continue;
  const pair = [light(getComputedStyle(item).color), light(ground(item))].sort((a, b) => a - b);
  const found = (pair[1] + 0.05) / (pair[0] + 0.05);
  if (found < 4.5) where.push(item.className + " in " + item.parentElement.className + " " + found.toFixed(2));
  least = Math.min(least, found);
}
document.title = JSON.stringify({least, where: [...new Set(where)], ground: getComputedStyle(document.querySelector(".rxe")).backgroundColor,
  loaded: [...document.images].every(image => image.naturalWidth > 0), wide: document.documentElement.scrollWidth > innerWidth});
</script>"""
# What JupyterLab says of tables in outputs.
JUPYTER = """<style>body { margin: 8px; } .jp-RenderedHTMLCommon table { border-collapse: collapse; font-size: 12px; table-layout: fixed; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { text-align: right; white-space: normal; padding: 0.5em; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #fff; } .jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: #f5f5f5; }
</style>"""


@pytest.mark.parametrize("is_light", [True, False], ids=["light", "dark"])
def test_a_browser_shows_them(is_light: bool, values: dict[str, object], tmp_path: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    views = "\n".join(
        f'<div class="jp-RenderedHTMLCommon">{rxe.html(value)}</div>' for value in values.values()
    )
    path = tmp_path / "notebook.html"
    theme = f'data-jp-theme-light="{str(is_light).lower()}"'
    path.write_text(f'<!doctype html><meta charset="utf-8">{JUPYTER}<body {theme}>{views}{PROBE}</body>')
    command = [
        CHROMIUM,
        *DUMPING,
        "--window-size=700,900",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        f"file://{path}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "CONSOLE" not in done.stderr
    said = json.loads(re.search("<title>(.*?)</title>", done.stdout)[1])
    assert said["where"] == []
    assert said["least"] >= 4.5
    assert said["ground"] == ("rgb(255, 255, 255)" if is_light else "rgb(16, 20, 24)")
    assert said["loaded"]
    assert not said["wide"]


# -- the page of a session --------------------------------------------------------------------------------------------


async def test_a_session_is_its_page_in_a_frame_that_reaches_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><body>{rxe.html(Session.open(TRANSFORMER))}</body>'
    )
    async with browsed("about:blank", tmp_path / "profile") as page:
        await page.size(1280, 900)
        await page.open(f"file://{path}")
        async with asyncio.timeout(20):
            while await page.value_in_frame("document.body.dataset.ready") != "yes":
                await asyncio.sleep(0.05)
        await page.click("iframe")
        await page.press("]")
        assert await page.value_in_frame("page.explorer.state.stage") > 0
        await page.press("3")
        assert await page.value_in_frame("document.querySelectorAll('#canvas .node').length") > 20
        assert (
            await page.value_in_frame(
                "(() => { try { return parent.document.title } catch { return 'refused' } })()"
            )
            == "refused"
        )
        assert page.console == []
        await page.click("summary")
        assert await page.value("document.querySelector('details table').getBoundingClientRect().height") > 50


@pytest.mark.parametrize("limit", ["MOST_PAGE", "MOST_BINDINGS"])
def test_a_session_with_a_large_page_is_a_table(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, limit, 20)
    shown = rxe.html(Session.open(TRANSFORMER))
    assert "<iframe" not in shown
    assert "relax-explorer report writes it" in shown
    assert "LegalizeOps" in shown


def test_nbconvert_keeps_the_page_and_the_table() -> None:
    nbformat, nbconvert = pytest.importorskip("nbformat"), pytest.importorskip("nbconvert")
    new = nbformat.v4
    data, _ = DisplayFormatter().format(Session.open(TRANSFORMER))
    cell = new.new_code_cell("session", outputs=[new.new_output("execute_result", data=data)])
    page, _ = nbconvert.HTMLExporter().from_notebook_node(new.new_notebook(cells=[cell]))
    assert 'sandbox="allow-scripts allow-downloads" srcdoc="' in page
    assert "The stages as a table" in page
