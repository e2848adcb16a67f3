"""The data of the page: one document made of a session, in which programs, changes and graphs that are equal stand once."""

from __future__ import annotations

from relax_explorer.core.session.align import ModuleDiff
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
    programs = _Programs(session)
    changed = sum(stage.changed for stage in session.stages[1:])
    ends = list(dict.fromkeys([session.stages[0], programs.last]))
    told = [stage for stage in session.stages if stage.changed or not stage.number]
    told = told if sum(map(_size, told)) <= MOST_TOLD else ends
    return {
        "version": VERSION,
        "program": visible(title or session.filename or "program", 200),
        "tool": f"Relax Explorer {__version__}",
        "summary": f"{len(session.stages)} stages, {changed} changed the module",
        "roles": {letter: role for role, letter in page_rows.ROLES.items()},
        "kinds": {"row": page_rows.KINDS, "fold": page_rows.FOLDS, "change": page_changes.KINDS},
        "glyphs": {**GLYPHS, **GROUP_GLYPHS},
        "marks": [list(mark) for mark in MARKS["passes"]],
        "stages": programs.stages,
        "asides": [[item.before, visible(aside_line(item), 200)] for item in session.asides],
        "bodies": programs.bodies,
        "changes": programs.changes,
        "rows": programs.rows.data(),
        **programs.graphs.data(),
        "left_out": programs.graphs.left_out,
        "problems": problems_data(session, programs.by_stage),
        "shapes": [{"stage": stage.number, "functions": shapes_data(stage, log)} for stage in ends],
        "checks": [checks_data(stage, programs.by_stage[stage.number]) for stage in told],
        "cost": cost_data(session, told),
        "run": run_data(log, programs.by_stage[0]),
        "compiled": compiled_data(compiled),
    }


def _size(stage: Snapshot) -> int:
    """The bindings of a stage."""
    functions = stage.module.relax_functions.values()
    return sum(len(block.bindings) for fn in functions for block in fn.body.blocks)


class _Programs:
    """The programs of all stages: their rows, what each stage changed, their graphs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rows, self.graphs = Rows(), Graphs()
        self.bodies: list[dict[str, object]] = []
        self.changes: list[dict[str, object]] = []
        self.stages: list[dict[str, object]] = []
        self.by_stage: list[Body] = []
        self._side: Side  # of the stage before
        self.last = next(stage for stage in reversed(session.stages) if stage.changed or not stage.number)
        for stage in session.stages:
            self._add(stage)

    def _add(self, stage: Snapshot) -> None:
        session, diff = self.session, None
        if stage.number and not stage.changed:
            self.by_stage.append(self.by_stage[-1])
            self.stages.append({**self.stages[-1], **_about(session, stage, None), "changes": -1})
            return
        table = IrTable(stage)
        body = self.rows.body(table)
        if stage.number:
            diff = session.diff(stage.number - 1, stage.number)
            self.changes.append(changes_data(self._side, Side(table, body), diff))
        self._side = Side(table, body)
        self.by_stage.append(body)
        self.bodies.append(body.data())
        graphs = self.graphs.of(stage.module, not stage.number or stage is self.last)
        own = {
            "body": len(self.bodies) - 1,
            "changes": len(self.changes) - 1 if stage.number else -1,
            "graphs": {visible(name, 200): found for name, found in graphs.items()},
            "entry": visible(stage.entry, 200),
        }
        self.stages.append({**own, **_about(session, stage, diff)})


def _about(session: Session, stage: Snapshot, diff: ModuleDiff | None) -> dict[str, object]:
    """What stands in the list of stages, and the sentence above the program."""
    errors = len([item for item in stage.problems if item.is_error])
    return {
        "label": stage.label,
        "by": visible(stage.made_by, 200),
        "changed": stage.changed,
        "told": visible(stage_sentence(session, stage, width=MAX_WIDTH), MAX_WIDTH),
        "counts": "" if diff is None else change_counts(diff),
        "phase": "" if stage.text else stage.phase,
        "seconds": stage.seconds,
        "errors": errors,
        "warnings": len(stage.problems) - errors,
        "run_by": visible(stage.run_by, 200),
    }
