"""Both programs in the compare screen: the pair under the cursor is marked in each, forward and back."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.session import compare, counterparts
from relax_explorer.core.session.build_files import open_build
from relax_explorer.core.session.compare import Trial
from relax_explorer.core.session.lockstep import lockstep
from relax_explorer.core.session.recorded import stage_of
from relax_explorer.core.session.samples import samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.ui.tui import pair_rows
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.pair_rows import PairView, pair_views
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import SAMPLES
from tests.ui.test_debugging import typed
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press

FIRST = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        unused = R.abs(x)
        a = Module.inner(x)
        b = R.negative(a)
        return b

    @R.function
    def inner(x: R.Tensor((2, 3), "float32")):
        p = R.exp(x)
        q = R.sin(p)
        return q
"""
SECOND = FIRST.replace("        unused = R.abs(x)\n", "").replace("R.sin(p)", "R.cos(p)")
SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
BROKEN = str(SAMPLES[0].parent / "broken_build")
OPENED = ("right_square_bracket", "5", "p", "g")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Two stages: the second one has no `unused`, and another value from `q` on."""
    place = tmp_path / "dumps"
    place.mkdir()
    for name, text in {"00_input": FIRST, "01_Wrong": SECOND}.items():
        (place / f"{name}.py").write_text(text)
    return str(place)


def marked(app: Explorer) -> list[str]:
    """The name that each program marks, and is centred on; `-` for none."""
    names = []
    for letter in "ab":
        view = app.screen.query_one(f"#program_{letter}", LineView)
        rows = [row for row in view.rows if row.mark == "▶"]
        names.append(rows[0].text.split()[1] if rows else "-")
        if rows:
            assert len(rows) == 1
            assert view.row is not None
            assert view.row.node is rows[0].node
    return names


@SIZES
async def test_steps_mark_the_pair_in_both_programs_and_steps_back_too(
    folder: str, size: tuple[int, int]
) -> None:
    app = Explorer(folder)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *OPENED)
        forward = [marked(app)]
        for _ in range(4):
            await press(pilot, app, "s")
            forward.append(marked(app))
        assert forward == [["unused", "-"], ["p", "p"], ["q", "q"], ["a", "a"], ["b", "b"]]
        await press(pilot, app, "s")
        assert "no further pair" in screen_text(app)
        for expected in forward[-2::-1]:
            await press(pilot, app, "S")
            assert marked(app) == expected
        assert "no further pair" not in screen_text(app)
        await press(pilot, app, "S")
        assert "no further pair" in screen_text(app)
        assert marked(app) == forward[0]
        await press(pilot, app, "c")
        assert marked(app) == ["q", "q"]
        assert "first [0, 0]: A " in screen_text(app).replace("\n", "") or size[0] == 80
        await press(pilot, app, "c", "C")
        assert marked(app) == ["q", "q"]


@SIZES
async def test_programs_stand_side_by_side_where_there_is_room(folder: str, size: tuple[int, int]) -> None:
    app = Explorer(folder)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *OPENED)
        a, b = [app.screen.query_one(f"#program_{letter}").region for letter in "ab"]
        pairs = app.screen.query_one("#pairs").region
        if size[0] < 100:
            assert (a.x, a.width) == (b.x, b.width)
            assert pairs.bottom <= a.y < a.bottom <= b.y
        else:
            assert (a.y, a.height) == (b.y, b.height)
            assert a.x < a.right <= b.x
        assert min(a.height, b.height) >= 6
        assert "A 0 input" in screen_text(app)
        await press(pilot, app, "p")
        assert not any(app.screen.query_one(f"#program_{letter}").display for letter in "ab")
        assert " A 5: " not in screen_text(app)


async def test_the_place_stays_when_the_programs_are_hidden_or_the_terminal_changes(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *OPENED, "s", "s", "s")
        assert marked(app) == ["a", "a"]
        await press(pilot, app, "p", "p")
        assert marked(app) == ["a", "a"]
        await pilot.resize_terminal(80, 24)
        await idle(pilot, app)
        assert marked(app) == ["a", "a"]
        await press(pilot, app, "4", "5")
        assert marked(app) == ["a", "a"]


async def test_a_program_is_read_without_leaving_the_pair(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *OPENED, "s", "tab", "G")
        assert app.view.id == "program_a"
        assert app.view.cursor == len(app.view.rows) - 1
        await press(pilot, app, "s")
        assert marked(app) == ["q", "q"]
        for _ in range(2):
            await pilot.click("#program_b", offset=(6, 3))
            await idle(pilot, app)
        assert app.screen_name == "compare"
        assert (app.view.id, marked(app)[0]) == ("program_b", "q")
        await press(pilot, app, "enter")
        assert app.screen_name == "passes"
        assert (app.state.selection.stage, app.state.selection.variable) == (1, "q")


async def test_tab_leaves_out_hidden_programs_and_p_needs_a_comparison(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "compare 0")  # with itself
        await press(pilot, app, "p")
        assert "nothing is compared yet" in screen_text(app)
        assert not app.state.options.shows_programs
        await press(pilot, app, "right_square_bracket", "tab")
        assert app.view.id == "pairs"


def views(first: str, second: str) -> tuple[PairView, ...]:
    sessions = [Session(rxe.parse(text)) for text in (first, second)]
    stages = [session.stages[0] for session in sessions]
    sample = samples_of(stages[0].module, "main", 1)[0]
    a, b = [stage_of(stage) for stage in stages]
    return pair_views(lockstep(Trial(a, b, "main", sample)), stages)


@pytest.mark.parametrize("changed", ["a", "b"])
def test_a_binding_that_ran_twice_is_marked_if_one_of_its_values_differs(changed: str) -> None:
    first = FIRST.replace("b = R.negative(a)", "b = Module.inner(x)")
    second = first.replace(
        f"{changed} = Module.inner(x)", f"c = R.add(x, x)\n        {changed} = Module.inner(c)"
    )
    glyphs: dict[str, set[str]] = {}
    for pair in views(first, second):
        if pair.b is not None and pair.b.binding is not None and pair.b.binding.var is not None:
            glyphs.setdefault(pair.b.binding.var.name, set()).add(pair.b.rows[pair.b.row].mark)
    assert glyphs["p"] == glyphs["q"] == glyphs[changed] == {"≠"}
    assert glyphs["unused"] == {"="}
    assert glyphs["c"] == {"b"}


def test_a_program_without_a_value_stays_unmarked_at_the_one_before() -> None:
    flow = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    with R.dataflow():\n'
    flow += (
        "".join([f"        {line}\n" for line in ("{}a = R.exp(x)", "{}b = R.sin(a)", "R.output(b)")])
        + "    return b\n"
    )
    found = views(flow.format("e = R.abs(x)\n        ", "f = R.cos(a)\n        "), flow.format("", ""))
    assert [pair.pairing.a.name for pair in found if pair.pairing.a] == ["e", "a", "f", "b"]
    places = [pair.b for pair in found if pair.b is not None]
    assert [spot.rows[spot.row].text.split()[1] for spot in places] == ["a", "a", "a", "b"]
    assert [spot.binding is None for spot in places] == [True, False, True, False]
    assert [[row.mark for row in spot.marked].count("▶") for spot in places] == [0, 1, 0, 1]
    assert found[0].lines[1] == found[2].lines[1] == " B has no value here"


def test_a_program_that_makes_no_value_shows_nothing() -> None:
    empty = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n'
    full = empty.replace("return x", "y = R.exp(x)\n    return y")
    (pair,) = views(empty, full)
    assert pair.a is None
    assert pair.b is not None
    assert pair.lines[0] == " A has no value here"
    assert pair.lines[2] == " only in B"


def test_a_nested_function_is_marked_among_all_functions() -> None:
    nested = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def local(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            e = R.abs(y)
            z = R.exp(y)
            return z
        a = local(x)
        return a

    @R.function
    def other(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        d = R.sqrt(x)
        return d
"""
    found = views(nested, nested.replace("            e = R.abs(y)\n", ""))
    shown = [(pair.b.rows[pair.b.row].text.split()[:3], pair.b.marked) for pair in found if pair.b]
    assert ["z" in words for words, _ in shown[:2]] == [True, True]
    assert [[row.mark for row in rows].count("▶") for _, rows in shown[:2]] == [0, 1]
    assert {row.function for row in shown[0][1]} >= {"main", "other"}


PHASES = {
    "labels": (counterparts._Labels, "label"),
    "pairs": (compare.Report, "pairing"),
    "rows": (pair_rows._Side, "_spot"),
}


@pytest.mark.parametrize("phase", PHASES)
async def test_escape_stops_the_pairing(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name = PHASES[phase]
    work, calls = getattr(owner, name), []

    def slow(self: object, *arguments: object) -> object:
        calls.append(self)
        time.sleep(0.2 if len(calls) > 3 else 0)
        return work(self, *arguments)

    monkeypatch.setattr(owner, name, slow)
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *["right_square_bracket"] * 3)
        await pilot.press("5")
        await wait(pilot, lambda: len(calls) > 4)
        before = len(calls)
        await pilot.press("escape")
        await wait(pilot, lambda: "cancelled" in screen_text(app))
        assert len(calls) <= before + 8  # of more than 50
        assert app.state.compared is None


@pytest.mark.parametrize("everything", [False, True])
def test_an_interrupt_stops_the_pairing_of_compare(everything: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name = PHASES["pairs" if everything else "labels"]
    interrupt, work, calls = Interrupt(), getattr(owner, name), []

    def cancelling(self: object, *arguments: object) -> object:
        calls.append(self)
        if len(calls) == 4:
            interrupt.cancel()
        return work(self, *arguments)

    monkeypatch.setattr(owner, name, cancelling)
    first, last = open_build(BROKEN).stages[0], open_build(BROKEN).stages[-1]
    with pytest.raises(Cancelled):
        compare.compare(first, last, everything=True, interrupt=interrupt)
    assert len(calls) == 4


async def test_what_differs_has_another_colour_than_what_does_not() -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *["right_square_bracket"] * 3, "5")
        view = app.frame.query_one("#pairs", LineView)
        colours: dict[str, set[str]] = {}
        for y in range(view.lines_shown):
            row = view.rows[int(view.scroll_offset.y) + y]
            last = [segment for segment in view.render_line(y) if segment.text.strip()][-1]
            assert last.style is not None
            assert last.style.color is not None
            colours.setdefault(row.mark, set()).add(last.style.color.name)
        assert colours["≠"] == {app.tokens.role("breakpoint").color}
        assert colours["="] == colours["a"] == {app.tokens.role("muted").color}


async def test_on_a_wide_screen_both_bindings_stand_beside_their_distance(folder: str) -> None:
    app = Explorer(folder)
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "5")
        await wait(pilot, lambda: app.state.compared is not None)
        view = app.screen.query_one("#pairs", LineView)
        shown = {row.node.pairing.a.name: row for row in view.rows if row.node.pairing.a is not None}
        for row in shown.values():
            assert len(row.text) == 200 - 6
            assert row.text.count("│") == 2
        sides = {name: [part.split() for part in row.text.split("│")] for name, row in shown.items()}
        assert sides["q"][0][:5] == ["2", "q", "=", "sin(p)", "(2,"]
        assert sides["q"][1][1:] == ["▪▪▪▪▪▪▪▪", "6", "of", "6"]
        assert sides["q"][2][:4] == ["2", "q", "=", "cos(p)"]
        assert sides["p"][1] == ["0"]
        roles = {
            name: {role for role, text in row.pieces if text.strip() == "0" or text.strip().endswith("of 6")}
            for name, row in shown.items()
        }
        assert (roles["q"], roles["p"]) == ({"breakpoint"}, {"muted"})
        assert sides["unused"][1:] == [["only", "in", "A"], []]
        title = screen_text(app).split("\n")[2]
        assert "A 0 input" in title
        assert "B 1 Wrong" in title
        line = next(line for line in screen_text(app).split("\n") if "sin(p)" in line)
        assert [n for n, cell in enumerate(title) if cell == "│"] == [
            n for n, cell in enumerate(line) if cell == "│"
        ]
        await pilot.resize_terminal(160, 60)
        await idle(pilot, app)
        assert "sin(p)" not in "".join(row.text for row in view.rows)
        assert "max|Δ|" in screen_text(app).split("\n")[2]


def test_a_row_of_two_programs_is_made_when_it_is_drawn() -> None:
    pairs = views(FIRST, SECOND)
    rows = pair_rows.PairRows(pairs, pair_rows.BESIDE)
    assert len(rows) == len(pairs) > 3
    assert rows[1:3] == [rows[1], rows[2]]
    assert rows[1] is rows[1]
    assert sorted(rows._rows) == [1, 2]
    assert {len(row.text) for row in rows} == {pair_rows.BESIDE}
    assert "│  " not in pair_rows.PairRows(pairs, pair_rows.BESIDE - 1).heading("x", "y")


LIFTS = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), w: R.Tensor((3, 4), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            R.output(y)
        return y
"""


async def test_the_cursor_may_stand_in_a_function_that_one_stage_lacks(tmp_path: Path) -> None:
    """LiftTransformParams puts the work on weights first: a comparison and a bisection run what all stages have."""
    path = tmp_path / "lifts.py"
    path.write_text(LIFTS)
    app = Explorer(str(path), pipeline="LiftTransformParams,BundleModelParams,LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        await idle(pilot, app)
        app.change(selection=replace(app.state.selection, function="main_transform_params", binding=None))
        await press(pilot, app, "5")
        await wait(pilot, lambda: app.state.compared is not None)
        assert app.state.compared is not None
        assert app.state.compared.result.function == "main"
        assert app.state.compared.result.equal
        await press(pilot, app, "1")
        assert app.state.selection.function == "main_transform_params"
        await press(pilot, app, "B")
        await wait(pilot, lambda: "Every stage gives the same results" in screen_text(app))
