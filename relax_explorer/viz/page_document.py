"""The data of the page: one document made of a session, in which programs, changes and graphs that are equal stand once."""

from __future__ import annotations

from relax_explorer.core.session.compiled_beside import BesideOurs
from relax_explorer.core.session.run_log import RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.version import __version__
from relax_explorer.viz import page_changes, page_rows
from relax_explorer.viz.cost_page import cost_data
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.page_changes import Side, changes_data
from relax_explorer.viz.page_facts import checks_data, compiled_data, problems_data, run_data, shapes_data
from relax_explorer.viz.page_graphs import Graphs
from relax_explorer.viz.page_rows import Body, Rows
from relax_explorer.viz.stage_line import aside_line, change_counts
from relax_explorer.viz.stage_sentence import stage_sentence
from relax_explorer.viz.table_diff import GLYPHS, GROUP_GLYPHS
from relax_explorer.viz.tables import MAX_WIDTH
from relax_explorer.viz.tokens import MARKS
from relax_explorer.viz.visible import visible

VERSION = 1  # of the form of the document
MOST_TOLD = 6_000  # bindings of all stages whose checks and costs are on the page; with more, those of the first and the last one are


def document(
    session: Session, log: RunLog | None = None, title: str = "", compiled: BesideOurs | None = None
) -> dict[str, object]:
    """The document of a session whose passes have run. `log` is a run of its first stage, `compiled` one of the compiled program."""
    programs = Programs(session, Graphs())
    last = next(stage for stage in reversed(session.stages) if stage.changed or not stage.number)
    stages: list[dict[str, object]] = []
    for number, stage in enumerate(session.stages):
        is_new = programs.own(number) == number
        graphs = programs.graphs_of(number, not number or stage is last) if is_new else stages[-1]["graphs"]
        stages.append({**programs.stage(number), "graphs": graphs})
    ends = list(dict.fromkeys([session.stages[0], last]))
    told = [stage for stage in session.stages if stage.changed or not stage.number]
    told = told if sum(map(_size, told)) <= MOST_TOLD else ends
    return {
        **frame(session, title),
        "stages": stages,
        "bodies": programs.bodies,
        "changes": programs.changes,
        "rows": programs.rows.data(),
        **programs.graphs.data(),
        "left_out": programs.graphs.left_out,
        "problems": problems_data(session, programs.body),
        "shapes": [{"stage": stage.number, "functions": shapes_data(stage, log)} for stage in ends],
        "checks": [checks_data(stage, programs.body(stage.number)) for stage in told],
        "cost": cost_data(session, told),
        "run": run_data(log, programs.body(0)),
        "compiled": compiled_data(compiled),
    }


def frame(session: Session, title: str = "") -> dict[str, object]:
    """What a document tells of a session as a whole."""
    changed = sum(stage.changed for stage in session.stages[1:])
    return {
        "version": VERSION,
        "program": visible(title or session.filename or "program", 200),
        "tool": f"Relax Explorer {__version__}",
        "summary": f"{len(session.stages)} stages, {changed} changed the module",
        "roles": {letter: role for role, letter in page_rows.ROLES.items()},
        "kinds": {"row": page_rows.KINDS, "fold": page_rows.FOLDS, "change": page_changes.KINDS},
        "glyphs": {**GLYPHS, **GROUP_GLYPHS},
        "marks": [list(mark) for mark in MARKS["passes"]],
        "asides": [[item.before, visible(aside_line(item), 200)] for item in session.asides],
    }


def _size(stage: Snapshot) -> int:
    """The bindings of a stage."""
    functions = stage.module.relax_functions.values()
    return sum(len(block.bindings) for fn in functions for block in fn.body.blocks)


class Programs:
    """The programs of stages: their rows, what each stage changed, their graphs. A stage is worked on when it is asked for first."""

    def __init__(self, session: Session, graphs: Graphs) -> None:
        self.session, self.graphs, self.rows = session, graphs, Rows()
        self.bodies: list[dict[str, object]] = []
        self.changes: list[dict[str, object]] = []
        self._sides: dict[int, tuple[Side, int]] = {}  # by the number of a stage, with the number of its body
        self._stages: dict[int, dict[str, object]] = {}

    def own(self, number: int) -> int:
        """The stage whose program a stage has: itself, or the last one before it that changed the module."""
        while number and not self.session.stages[number].changed:
            number -= 1
        return number

    def side(self, number: int) -> Side:
        """The rows of a stage."""
        return self._side(number)[0]

    def body(self, number: int) -> Body:
        """The program of a stage."""
        return self.side(number).body

    def _side(self, number: int) -> tuple[Side, int]:
        number = self.own(number)
        found = self._sides.get(number)
        if found is None:
            table = IrTable(self.session.stages[number])
            body = self.rows.body(table)
            found = self._sides[number] = Side(table, body), len(self.bodies)
            self.bodies.append(body.data())
        return found

    def stage(self, number: int) -> dict[str, object]:
        """What the page has of a stage, without its graphs."""
        if number not in self._stages:
            self._stages[number] = self._made(number)
        return self._stages[number]

    def _made(self, number: int) -> dict[str, object]:
        stage, diff = self.session.stages[number], None
        has_changes = number > 0 and stage.changed
        side, body = self._side(number)
        if has_changes:
            diff = self.session.diff(number - 1, number)
            self.changes.append(changes_data(self.side(number - 1), side, diff))
        changes = len(self.changes) - 1 if has_changes else -1
        told = visible(stage_sentence(self.session, stage, width=MAX_WIDTH), MAX_WIDTH)
        counts = "" if diff is None else change_counts(diff)
        return {**head(stage), "body": body, "changes": changes, "told": told, "counts": counts}

    def graphs_of(self, number: int, is_end: bool) -> dict[str, object]:
        """The numbers of the graphs of a stage."""
        module = self.session.stages[self.own(number)].module
        return {visible(name, 200): found for name, found in self.graphs.of(module, is_end).items()}


def head(stage: Snapshot) -> dict[str, object]:
    """What stands in the list of stages before a stage was worked on."""
    errors = len([item for item in stage.problems if item.is_error])
    return {
        "label": stage.label,
        "by": visible(stage.made_by, 200),
        "changed": stage.changed,
        "told": "",
        "counts": "",
        "phase": "" if stage.text else stage.phase,
        "seconds": stage.seconds,
        "errors": errors,
        "warnings": len(stage.problems) - errors,
        "run_by": visible(stage.run_by, 200),
        "body": -1,
        "changes": -1,
        "graphs": {},
        "entry": visible(stage.entry, 200),
    }
