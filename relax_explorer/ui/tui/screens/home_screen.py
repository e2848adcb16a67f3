"""The home screen: recent files, samples, and how to bring a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from textual.app import ComposeResult
from textual.widgets import Static

from relax_explorer.ui import directories, history
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.framed import CursorMoved
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

RECIPE = """import pathlib
import tvm

@tvm.instrument.pass_instrument
class Dump:
    number = 0

    def run_before_pass(self, mod, info):
        if not self.number:
            self.write(mod, "input")

    def run_after_pass(self, mod, info):
        self.write(mod, info.name.split(".")[-1])

    def write(self, mod, name):
        pathlib.Path("dumps").mkdir(exist_ok=True)
        path = pathlib.Path(f"dumps/{self.number:03}_{name}.py")
        path.write_text(mod.script(show_meta=True))
        self.number += 1

with tvm.transform.PassContext(instruments=[Dump()]):
    tvm.compile(mod, "llvm")
"""


# -- home screen -----------------------------------------------------------------------------------------------------
# The home screen: recent files, samples, and how to bring a build.


TOUR = object()  # the node of the row that starts the tour


class HomeScreen(Frame):
    """Files to open; Enter opens one."""

    BINDINGS = keys.bindings("home")
    name_ = "home"
    panes = ("home",)
    titles: Mapping[str, str] = MappingProxyType({})  # the samples by their paths

    def compose_body(self) -> ComposeResult:
        """The list."""
        yield LineView("home", colored=False)
        yield Static(id="home_about", markup=False)

    def draw(self, state: State, old: State) -> None:
        """List the files once, and again when another program was opened."""
        view = self.lines("home")
        if not len(view.rows) or state.path != old.path:
            self.titles = {str(path): _title(path) for path in directories.samples()}
            found = list(home_rows(self.titles, history.recent() if self.explorer.permit.is_all else []))
            view.show(
                found,
                next(n for n, row in enumerate(found) if row.node is not None)
                if any(row.node for row in found)
                else 0,
            )
            view.border_title = "Relax Explorer"
            view.border_subtitle = "Enter opens · :open PATH · ? keys"
            self._draw_about()

    def action_down(self) -> None:
        self._to_next(1)

    def action_up(self) -> None:
        self._to_next(-1)

    def _to_next(self, step: int) -> None:
        """To the next line that opens something; if there is none, the view scrolls on to what else it says."""
        view = self.lines("home")
        ahead = range(view.cursor + step, len(view.rows) if step > 0 else -1, step)
        found = next((number for number in ahead if view.rows[number].node is not None), None)
        view.move(view.cursor + step if found is None else found)

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Tell of the line under the cursor."""
        self._draw_about()

    def _draw_about(self) -> None:
        """The sentence about a sample, or the path of a file, as a whole: the list cuts long ones."""
        row = self.lines("home").row
        path = row.node if row is not None and isinstance(row.node, str) and row.node is not RECIPE else ""
        self.query_one("#home_about", Static).update(visible(self.titles.get(path, path), 300))

    def action_enter(self) -> None:
        row = self.lines("home").row
        if row is None or row.node is None:
            self.explorer.say("this line opens nothing")
        elif row.node is TOUR:
            self.explorer.tutorial.start()
        elif row.node is RECIPE:
            self.explorer.copied(RECIPE)
            self.explorer.say("copied: paste it around your call of tvm.compile, then rxe dumps")
        else:
            self.explorer.stage_control.open(str(row.node))

    def action_back(self) -> None:
        if self.explorer.state.session is None:
            self.explorer.leave()
        else:
            super().action_back()


def home_rows(titles: Mapping[str, str], known: Sequence[str]) -> Iterator[Row]:
    """Recent files, samples with their titles, and how to record a build."""
    if known:
        yield Row("Recent", "#")
        yield from [Row(f"  {visible(path, 200)}", " ", path) for path in known[:5]]
        yield Row("")
    yield Row("Samples", "#")
    yield Row("  a tour                   find the pass that broke a build, in eight keys", " ", TOUR)
    for sample, title in titles.items():
        yield Row(f"  {Path(sample).stem:<24} {visible(title, 100)}", " ", sample)
    yield Row("")
    yield Row("Your build", "#")
    yield Row("  rxe FILE.py              a module in TVMScript; passes run on it here")
    yield Row("  rxe FOLDER               numbered stages: 00_input.py, 01_LegalizeOps.py, …")
    yield Row(
        "  rxe record -- COMMAND    records a build of TVM, such as `python build.py`; then: rxe build.rxs"
    )
    yield Row("  mod.script()             prints a stage in Python; show_meta=True keeps its constants")
    yield Row("")
    yield Row("Record the stages of your build: Enter copies this Python; then: rxe dumps", "#", RECIPE)
    yield from [Row(f"  {line}", " ", RECIPE) for line in RECIPE.splitlines()]


def _title(path: Path) -> str:
    """The first line of a sample, or of the README of a build."""
    file = path / "README.md" if path.is_dir() else path
    first = file.read_text(encoding="utf-8").splitlines()[:1] if file.is_file() else []
    return first[0].lstrip("# ") if first else ""
