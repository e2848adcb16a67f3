"""The requirements of the user interface, one test each. Its name stands in the identifier of the test, as in the chapters of the language."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from xml.etree import ElementTree

import numpy as np
import pytest

from relax_explorer import IRModule, normalize
from relax_explorer.core.phases.phases import phase
from relax_explorer.core.session import snapshot
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.debug_session import DebugSession
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.pipeline_editor import PipelineEditor
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.framed import Box, FixedLines
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.lexer import highlight
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text, wait
from tests.ui.test_screens import idle, press, typed, under_cursor

Test = TypeVar("Test", bound=Callable[..., object])
PIPELINE = "CanonicalizeBindings,LegalizeOps,ToNonDataflow"
BLOCK = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            R.output(b)
        return b
"""
SHORTER = """@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor(("n",), "float32"), count: R.Tensor((), "int32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        stop = R.less_equal(count, R.const(0, "int32"))
        if stop:
            r = R.match_cast(x, R.Tensor((m,), "float32"))
        else:
            less = R.subtract(count, R.const(1, "int32"))
            longer = R.concat((x, x))
            r = Module.f(longer, less)
        return r
"""
CLOSURE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        @R.function
        def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            s = R.add(x, y)
            return s
        z = inner(x)
        return z
"""
GROUP = """@I.ir_module
class Module:
    @R.function
    def even(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        stop = R.equal(n, R.const(0, "int32"))
        if stop:
            r = R.const(True, "bool")
        else:
            less = R.subtract(n, R.const(1, "int32"))
            r = Module.odd(less)
        return r

    @R.function
    def odd(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        stop = R.equal(n, R.const(0, "int32"))
        if stop:
            r = R.const(False, "bool")
        else:
            less = R.subtract(n, R.const(1, "int32"))
            r = Module.even(less)
        return r

    @R.function
    def main(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        a = Module.even(n)
        return a
"""
BLOCKS = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            c = R.cos(a)
            R.output(b, c)
        y = R.add(b, c)
        with R.dataflow():
            d = R.exp(y)
            f = R.add(d, b)
            R.output(f)
        return f
"""
VALUES = """@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32")):
        shape = R.shape([4, 5])
        pair = (x, (x, shape))
        inner = pair[1]
        same = x
        storage = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"))
        return inner
"""
TWICE = """@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((3, 40), "float32")) -> R.Tensor((3, 40), "float32"):
        a = R.add(x, x)
        return a

    @R.function
    def main(x: R.Tensor((3, 40), "float32")):
        p = Module.f(x)
        q = Module.f(p)
        return q
"""
BESIDE = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        a = R.const([[0, 1, 2], [3, 4, 5]], "float32")
        b = R.multiply(x, a)
        pair = (a, b)
        n = R.prim_value(6)
        big = R.arange(0, 40000, 1, "float32")
        later = R.add(a, a)
        return later
"""
CAST = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor("float32", ndim=2)) -> R.Tensor((3, 3), "float32"):
        a = R.exp(x)
        b = R.match_cast(a, R.Tensor((3, 3), "float32"))
        return b
"""


def item(name: str) -> Callable[[Test], Test]:
    """Names the requirement of a test."""
    return pytest.mark.parametrize("requirement", [name])


def file(folder: Path, text: str) -> str:
    path = folder / "program.py"
    path.write_text(text)
    return str(path)


@item("UI-01")
async def test_a_module_opens_with_its_panes(requirement: str) -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        for name in ("ir", "stages", "details", "history", "footer"):
            assert app.frame.query_one(f"#{name}").size.area, name
        roles = {role for row in app.view.rows for role, _ in row.pieces}
        assert {"var", "muted", "keyword"} <= roles
        assert any(row.right for row in app.view.rows)  # StructInfo


@item("UI-02")
async def test_passes_are_stepped_forward_and_back(requirement: str) -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        found = []
        for key in ("alt+right_square_bracket", "alt+right_square_bracket", "alt+left_square_bracket"):
            await press(pilot, app, key)
            found.append(app.state.selection.stage)
        assert found == [1, 2, 1]
        await press(pilot, app, "t", "t")
        assert app.state.session is not None
        text = "\n".join(row.text for row in app.view.rows).strip()
        assert text == app.state.session.stages[1].module.script().strip()


@item("UI-03")
@pytest.mark.parametrize("density", [0, 1])
async def test_changes_between_any_two_stages(requirement: str, density: int) -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "stage 3")
        await press(pilot, app, *"t" * density)
        assert "LegalizeOps" not in str(app.view.border_title)
        before = [row.mark for row in app.view.rows]
        assert "~" not in before
        await typed(pilot, app, "since 0")
        assert "since 0 input" in app.view._title
        assert "~" in [row.mark for row in app.view.rows]
        assert "~3 +3ƒ" in app.view._title  # with three kernels
        await typed(pilot, app, "since 9")
        assert "no stage '9'" in screen_text(app)
        await typed(pilot, app, "stage 1")
        assert "since" in app.view._title or app.state.selection.stage == 1
        await typed(pilot, app, "stage 3")
        await typed(pilot, app, "since")
        assert [row.mark for row in app.view.rows] == before
        assert "since" not in app.view._title


@item("UI-04")
async def test_the_struct_info_of_the_selected_binding(requirement: str, tmp_path: Path) -> None:
    app = Explorer(file(tmp_path, BLOCK))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        for name, kind in (("a", "DataflowVar"), ("b", "Var")):
            await typed(pilot, app, f"go {name}")
            assert f'{name}: R.Tensor((3,), dtype="float32")' in screen_text(app)
            assert f"{kind} #" in screen_text(app)
            assert app.view.row.right == "(3,) f32"


@item("UI-05")
async def test_the_graph_of_a_block(requirement: str, tmp_path: Path) -> None:
    drawn = graph(parse(BLOCK), "main")
    names = {node.id: node.title for node in drawn.nodes}
    assert len(names) >= 3
    app = Explorer(file(tmp_path, BLOCK), "", screen="graph")
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.screen_name == "graph" and "sin" in screen_text(app))
        lines = screen_text(app).split("\n")
        rows = [next(n for n, line in enumerate(lines) if word in line) for word in ("x ", "exp", "sin")]
        assert rows == sorted(rows)


@item("UI-05")
def test_inputs_uses_and_outputs_of_a_block(requirement: str) -> None:
    """Values of other blocks are inputs. What a dataflow block outputs looks unlike its own variables, without colours, too."""
    module = normalize(parse(BLOCKS))
    found = {}
    for number in (0, 1, 2):
        drawn = graph(module, "main", block=number)
        uses = {edge.source + edge.target for edge in drawn.edges}
        found[number] = ({node.id for node in drawn.nodes}, uses, {n.id for n in drawn.nodes if n.is_output})
    assert found == {
        0: ({"x", "a", "b", "c"}, {"xa", "ab", "ac"}, {"b", "c"}),
        1: ({"b", "c", "y"}, {"by", "cy"}, set()),
        2: ({"y", "b", "d", "f"}, {"yd", "df", "bf"}, {"f"}),
    }
    whole = graph(module, "main")
    for look, count in (
        (whole.terminal(), "╘═"),
        (whole.terminal(ascii=True), "#= "),
        (whole.dot(), "peripheries=2"),
        (whole.svg("builtin"), "output of a dataflow block"),
    ):
        assert look.count(count) == 3, look
    lines = re.findall(r'<path class="shape" d="M[^"]*H[^"]*"', whole.svg("builtin"))
    assert len(lines) == 3
    assert "class n2,n3,n6 block-output" in whole.mermaid()
    assert [node["output"] for node in whole.data()["nodes"]].count(True) == 3


@item("UI-06")
def test_the_graph_is_written_as_svg(requirement: str, tmp_path: Path) -> None:
    """In equal bytes in any process. Without Graphviz, our own layout is used, and the message says so."""
    path = file(tmp_path, BLOCKS)
    texts = []
    for seed in ("1", "2"):
        target = tmp_path / f"{seed}.svg"
        words = [sys.executable, "-m", "relax_explorer", "graph", path, "--block", "2", "-o", str(target)]
        done = subprocess.run(
            words, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        texts.append(target.read_text())
    assert texts[0] == texts[1]
    assert ElementTree.fromstring(texts[0]).tag == "{http://www.w3.org/2000/svg}svg"
    names = re.findall(r'<text class="(?:title|line)"[^>]*>([^<]*)</text>', texts[0])
    assert set(names) == {"y", "b", "exp", "d", "add", "f"}
    (tmp_path / "pygraphviz.py").write_text("raise ImportError")
    words = [sys.executable, "-m", "relax_explorer", "graph", path, "-o", str(tmp_path / "own.svg")]
    without = {**os.environ, "PATH": "", "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, env=without, capture_output=True, text=True, check=True)
    assert "laid out by builtin" in done.stderr
    assert ElementTree.fromstring((tmp_path / "own.svg").read_text()).tag.endswith("svg")


@item("UI-07")
async def test_evaluation_is_stepped_into_calls(requirement: str) -> None:
    app = Explorer(str(SAMPLES[5]), "", screen="debug")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        found = []
        for _ in range(2):
            await press(pilot, app, "s")
            found.append(f"{app.state.run.function}.{app.state.selection.variable}")
        assert found == ["power.stop", "power.r"]
        assert len(app.frame.query_one("#calls", LineView).rows) == 2
        await press(pilot, app, "o")
        assert app.state.run.function == "main"
        await press(pilot, app, "r")
        assert app.state.run.position == 0


@item("UI-08")
async def test_shape_variables_of_each_activation(requirement: str, tmp_path: Path) -> None:
    app = Explorer(file(tmp_path, SHORTER), "", screen="debug")
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "inputs")
        await press(pilot, app, *"2", "down", "down", "2", "enter")
        calls = app.frame.query_one("#calls", LineView)
        for _ in range(40):
            if len(calls.rows) == 3:
                break
            await press(pilot, app, "s")
        assert [row.text.split(",")[0] for row in calls.rows] == ["0 f n=8", "1 f n=4", "2 f n=2"]
        assert "n = 8 ← x.shape[0]" in screen_text(app)


@item("UI-09")
async def test_a_closure_is_inspected(requirement: str, tmp_path: Path) -> None:
    app = Explorer(file(tmp_path, CLOSURE), "", screen="debug")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s", "g", "j", "i")
        assert "closure" in screen_text(app)
        assert "n = 3" in screen_text(app)


@item("UI-09")
async def test_values_of_each_kind_are_inspected(requirement: str, tmp_path: Path) -> None:
    """The value of the line under the cursor, after the run, too."""
    app = Explorer(file(tmp_path, VALUES), "", screen="debug", call=CallInputs(sources={"x": "arange"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "c", "g")
        found = {}
        for name in ("shape", "pair", "inner", "same", "storage", "result"):
            await press(pilot, app, "j", "i")
            view = app.screen.query_one("#popup", LineView)
            found[name] = [row.text for row in view.rows]
            assert found[name][0].startswith(name), found[name]
            await press(pilot, app, "escape")
    assert found["shape"][0] == "shape = shape(4, 5)"
    assert found["pair"][0] == "pair: tuple of 2"
    parts = [part for line in found["pair"] for part in re.findall(r"^(pair\S*?)(?::| =)", line)]
    assert parts == ["pair", "pair[0]", "pair[1]", "pair[1][0]", "pair[1][1]"]
    assert found["same"][:3] == [
        "same: (2, 3) f32, 6 elements, 24 bytes",
        "min 0   max 5   mean 2.5   std 1.71",
        "distribution ██ ██ ██   nan 0   inf 0",
    ]
    elements = [line.split() for line in found["same"] if re.fullmatch(r"[\d ]+", line)]
    assert elements == [["0", "0", "1", "2"], ["1", "3", "4", "5"]]
    assert "storage of 16 bytes" in found["storage"][0]
    assert found["result"][0] == "result: tuple of 2"


@item("UI-09")
async def test_a_wide_screen_shows_the_value_under_the_cursor(requirement: str, tmp_path: Path) -> None:
    """Of the program, of the table of values, and after each step; a value that does not exist yet is not shown."""
    app = Explorer(file(tmp_path, VALUES), "", screen="debug", call=CallInputs(sources={"x": "arange"}))
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)

        async def shown() -> tuple[str, str]:
            await wait(pilot, lambda: app.is_at_rest)
            box = app.frame.query_one("#inspector", Box)
            return str(box.border_title).strip(), app.frame.query_one("#inspector_text", FixedLines).text

        await press(pilot, app, "s")
        assert await shown() == (
            "shape",
            "shape = shape(4, 5)",
        )  # the newest: the cursor waits on the next one
        await press(pilot, app, "s")
        title, text = await shown()
        assert (title, text.split("\n")[0]) == ("pair", "pair: tuple of 2")
        await press(pilot, app, "j")
        assert await shown() == ("same", "same has no value at step 2")
        app.frame.query_one("#values").focus()
        await press(pilot, app, "G")
        title, text = await shown()
        assert (title, text.split("\n")[:2]) == (
            "x",
            ["x: (2, 3) f32, 6 elements, 24 bytes", "min 0   max 5   mean 2.5   std 1.71"],
        )
        await press(pilot, app, "S", "S")
        title, text = await shown()
        assert (title, text.split("\n")[0]) == ("x", "x: (2, 3) f32, 6 elements, 24 bytes")
    narrower = Explorer(file(tmp_path, VALUES), "", screen="debug")
    async with narrower.run_test(size=(120, 40)) as pilot:
        await idle(pilot, narrower)
        assert not narrower.frame.query_one("#inspector").size.height


@item("UI-09")
async def test_a_very_wide_screen_shows_values_beside_their_bindings(
    requirement: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([[0, 1, 2], [np.nan, np.inf, 5]], "float32"))
    text = file(tmp_path, BESIDE)
    app = Explorer(text, "", screen="debug", call=CallInputs(sources={"x": str(path)}))
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s", "s", "s", "s", "s")
        rows = {row.text.split()[1]: row.right for row in app.view.rows if " = " in row.text}
        found = {name: ghost.split("32")[-1].strip() for name, ghost in rows.items()}
        assert found == {
            "a": "██ ██ ██ 0 … 5",
            "b": "█▄     ▄ ‼ 2 not finite",
            "pair": "",
            "n": "int64 6  6",
            "big": "≈████████ 0 … 4e+04",
            "later": "",
        }
        assert "0 … 5" in screen_text(app)
        await press(pilot, app, "S", "S", "S", "S", "S")
        assert "0 … 5" not in "".join(row.right for row in app.view.rows)
    app = Explorer(text, "", screen="debug", call=CallInputs(sources={"x": str(path)}))
    async with app.run_test(size=(169, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "s")
        assert not any("…" in row.right for row in app.view.rows)


@item("UI-09")
async def test_another_call_has_other_values_of_the_same_name(requirement: str, tmp_path: Path) -> None:
    call = CallInputs(sources={"x": "ones"})
    app = Explorer(file(tmp_path, TWICE), "", screen="debug", call=call)
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)
        found = {}
        for step in range(1, 7):
            await typed(pilot, app, f"goto {step}")
            await wait(pilot, lambda: app.is_at_rest)
            if str(app.frame.query_one("#inspector", Box).border_title).strip() == "a":
                text = app.frame.query_one("#inspector_text", FixedLines).text
                found[step] = re.findall(r"min (\S+)", text)
        first, *_, last = found
        for step in (first, last, first):  # with nothing in between
            await typed(pilot, app, f"goto {step}")
            await wait(pilot, lambda: app.is_at_rest)
            text = app.frame.query_one("#inspector_text", FixedLines).text
            assert re.findall(r"min (\S+)", text) == found[step]
        assert (found[first], found[last]) == (["2"], ["4"])


@item("UI-09")
async def test_inspecting_copies_no_value(requirement: str, tmp_path: Path) -> None:
    app = Explorer(file(tmp_path, VALUES), "", screen="debug")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "c", "g", "j", "j", "j", "j", "i")
        session = app.run_control.session
        assert isinstance(session, DebugSession)
        held = session.debugger.frame.values
        shown = {name: value for name, value, _ in app.state.run.values.items}
        for name in ("x", "same", "pair", "storage"):
            assert shown[name] is held[name]


@item("UI-10")
async def test_a_problem_leads_to_its_line(requirement: str, tmp_path: Path) -> None:
    text = BLOCK.replace("main(x", 'main(w: R.Tensor((4,), "float32"), x').replace(
        "R.sin(a)", "R.matmul(a, w)"
    )
    app = Explorer(file(tmp_path, text), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "4")
        row = next(n for n, row in enumerate(app.view.rows) if "error[" in row.text)
        assert any(":7:" in item.text for item in app.view.rows[row:])
        app.view.move(row)
        await press(pilot, app, "enter")
        assert app.screen_name == "passes"
        assert app.state.selection.variable == "b"


@item("UI-11")
async def test_a_pass_that_cannot_run_has_its_reason(requirement: str) -> None:
    app = Explorer(LLAMA, "LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "E", "tab", "slash", *"vmshape", "enter")
        editor = app.screen
        assert isinstance(editor, PipelineEditor)
        await wait(pilot, lambda: "VMShapeLower" in editor.choices.verdicts)
        row, of_tvm = editor.view.rows
        assert row.text == "✗ VMShapeLower"
        assert of_tvm.text == "> tvm:VMShapeLower"
        assert {role for role, _ in row.pieces} == {"muted"}
        assert "it needs NO_DATAFLOW" in screen_text(app)


@item("UI-11")
async def test_the_header_names_the_phase_of_the_stage(
    requirement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is derived beside the thread that draws, which would miss keys meanwhile."""
    threads = []

    def watched(module: IRModule) -> str:
        threads.append(threading.current_thread())
        return phase(module)

    monkeypatch.setattr(snapshot, "phase", watched)
    passes = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
    app = Explorer(file(tmp_path, BLOCK), passes)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        found = []
        for _ in range(5):
            found.append(screen_text(app).split("\n")[0].split(" · ")[-1].strip())
            await press(pilot, app, "alt+right_square_bracket")
    assert found == ["high", "legalized", "non-dataflow", "non-dataflow", "lowered"]
    assert len(threads) == 5
    assert threading.main_thread() not in threads


@item("UI-12")
async def test_missing_passes_are_named_and_inserted(requirement: str) -> None:
    app = Explorer(LLAMA, "CallTIRRewrite")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "E")
        assert app.screen.view.rows[0].mark == "!"
        assert "! 1 run ToNonDataflow before it: CallTIRRewrite requires" in screen_text(app)
        assert app.screen.plan.text == "CallTIRRewrite"  # never by itself
        await press(pilot, app, "i")
        assert app.screen.plan.text == "ToNonDataflow,RemovePurityChecking,CallTIRRewrite"
        assert {row.mark for row in app.screen.steps.rows} == {" "}


@item("UI-15")
async def test_each_screen_has_a_command(requirement: str, tmp_path: Path) -> None:
    done = rxe_cli(
        "check", file(tmp_path, BLOCK.replace("R.sin(a)", "R.sin(missing)")), "--output-format", "json"
    )
    assert done.exit_code == 1
    (problem, *_) = json.loads(done.output)["problems"]
    assert problem["code"].startswith("RX")
    wanted = {
        "passes": "with R.dataflow():\n            a = R.call_tir(cls.tir_exp, (x,)",
        "debug": "step 1, main: a = (3,) f32",
        "graph": "╭─ a ────────╮",
        "problems": "no problems",
        "compare": "sample 1 of 1 (seed 0): equal",
        "checks": "at each call from outside: 1 kind",
    }
    wanted_last = {"ranks": "2 ranks met 0 times"}
    # a program has no solver: UI-14
    assert {*wanted, *wanted_last, "solver", "home"} == set(keys.SCREENS)
    app = Explorer(file(tmp_path, BLOCK), PIPELINE)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        assert not app.rank_control.ask("2")
        shown = [*enumerate(wanted.items(), 1), *enumerate(wanted_last.items(), 8)]
        for key, (screen, text) in shown:
            await press(pilot, app, str(key))
            assert app.screen_name == screen
            program, *words = shlex.split(command_line(app))
            printed = rxe_cli(*words, stdin="step\nquit\n")
            assert program == "relax-explorer"
            assert printed.exit_code == 0, printed.output
            assert text in printed.output, printed.output


@item("UI-16")
def test_programs_are_highlighted(requirement: str) -> None:
    for line in Session.open(LLAMA, "LegalizeOps").stages[1].module.script().split("\n")[:300]:
        assert "".join(text for _, text in highlight(line)) == line
    assert ("keyword", "def") in highlight("def main(x):")
    assert highlight("@R.function")[0][0] != "text"


@item("UI-17")
@pytest.mark.parametrize("length", [0, 1, 1000])
def test_both_engines_give_equal_results(requirement: str, length: int, tmp_path: Path) -> None:
    found = []
    for engine in ("reference", "numba"):
        out = tmp_path / f"{engine}.npz"
        done = rxe_cli("run", str(SAMPLES[3]), "--engine", engine, "--shape", f"n={length}", "-o", str(out))
        assert done.exit_code == 0, done.output
        with np.load(out) as arrays:
            found.append([arrays[name] for name in arrays.files])
    assert len(found[0]) == len(found[1]) > 0
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@item("UI-17")
def test_the_engine_that_was_asked_for_runs(requirement: str, tmp_path: Path) -> None:
    """The reference compiles nothing. What numba compiled is kept, and a second run takes it from there."""

    def kept(engine: str) -> dict[str, int]:
        words = ["run", str(SAMPLES[3]), "--engine", engine, "--input", "ones", "--shape", "n=3"]
        command = [sys.executable, "-m", "relax_explorer", *words]
        env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        assert "0.5" in subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        return {str(path): path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    assert kept("reference") == {}
    first = kept("numba")
    assert first
    assert kept("numba") == first


@item("UI-18")
async def test_an_error_stops_where_it_happens(requirement: str, tmp_path: Path) -> None:
    """The stepper stands at the failing binding. What was computed before is there, and the run can go back."""
    given = tmp_path / "x.npy"
    np.save(given, np.zeros((2, 5), "float32"))
    call = CallInputs(sources={"x": str(given)})
    app = Explorer(file(tmp_path, CAST), "", screen="debug", call=call)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "c")
        assert "error[RX0503]" in screen_text(app)
        await press(pilot, app, "escape")
        assert under_cursor(app).startswith(" 2 b ")
        found = {name: value for name, value, _ in app.state.run.values.items}
        assert set(found) == {"x", "a"}
        assert np.array_equal(found["a"].data, np.exp(np.zeros((2, 5), "float32")))
        await press(pilot, app, "S")
        assert app.state.run.position == 0
        assert under_cursor(app).startswith(" 1 a ")
        assert app.is_running


ALONE = """
import socket, sys
for name in ("tvm", "pygraphviz", "cupy", "torch"):
    sys.modules[name] = None
def refuse(*words, **options):
    raise SystemExit("the network was asked")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import asyncio
from relax_explorer.ui.tui.app import Explorer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

async def look():
    app = Explorer(sys.argv[1])
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        for key in "12345":
            await press(pilot, app, key)
            print(app.screen_name, len(screen_text(app)) > 200, "exp" in screen_text(app))

asyncio.run(look())
"""


@item("UI-19")
def test_the_explorer_needs_neither_tvm_nor_a_network(requirement: str, tmp_path: Path) -> None:
    """Nor a GPU, nor Graphviz: all screens are drawn without them."""
    words = [sys.executable, "-c", ALONE, file(tmp_path, BLOCK)]
    env = {**os.environ, "PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == ["passes True True", "debug True True", "graph True True"]
    assert done.stdout.split()[9::3] == ["problems", "compare"]


@item("UI-21")
async def test_500_bindings_open_and_step_fast(requirement: str, tmp_path: Path) -> None:
    lines = "".join(f"        a{n + 1} = R.add(a{n}, a{n})\n" for n in range(500))
    text = f"""@I.ir_module
class Module:
    @R.function
    def main(a0: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
{lines}        return a500
"""
    app = Explorer(file(tmp_path, text), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await press(pilot, app, "2", "s")
        await press(pilot, app, "s", "s", "s")
        assert isinstance(app.run_control.session, DebugSession)
        assert Session.open(tmp_path / "program.py", "").stages


@item("UI-22")
async def test_the_graph_screen_shows_calls_and_recursive_groups(requirement: str, tmp_path: Path) -> None:
    app = Explorer(file(tmp_path, GROUP), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "f")
        assert "recursive group: even, odd" in screen_text(app)
        assert screen_text(app).count("recursive ") >= 3  # the group, and both functions
        assert app.state.selection.function == "main"
        assert "called by 0, calls 1" in screen_text(app)
        await press(pilot, app, "j")
        assert app.state.selection.function == "even"
        await press(pilot, app, "z")  # a key for the graph of one function
        assert "f shows it" in screen_text(app)
        assert app.state.options.layers == "once"
        await press(pilot, app, "Y")
        assert "graph" in app.notice
        assert "--calls" in app.notice
        assert "--func" not in app.notice
        await press(pilot, app, "k", "minus", "minus")  # the neighbours of main
        assert "showing 2 of 3 nodes" in str(app.frame.query_one("#graph").border_title)
        await press(pilot, app, "a", "j", "enter")
        assert not app.state.options.calls
        assert "less" in screen_text(app)  # a binding of even
