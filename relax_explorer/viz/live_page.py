"""The page of a session whose server sends the parts of the document when they are looked at.

A part is named by a path: `stage/4`, `graph/4/main`, `checks/4`, `cost/4`, `run`, `values/2`, `more/4`. Rows, nodes, graphs and layouts are numbered
once for all parts, and an answer has those behind the ones that its reader has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from relax_explorer.core.session.compiled_beside import BesideOurs
from relax_explorer.core.session.run_log import RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.viz.cost_page import cost_data
from relax_explorer.viz.page_document import Programs, frame, head
from relax_explorer.viz.page_facts import (
    checks_data,
    compiled_data,
    problems_data,
    run_data,
    shapes_data,
    step_values,
)
from relax_explorer.viz.page_graphs import Graphs

CHUNK = 64  # steps of a run whose values come together
Runs = tuple[RunLog | None, BesideOurs | None]
Part = dict[str, object]


class LivePage:
    """The document of a session, part by part. `run` runs its first stage, once, when the first value is looked at.

    A session is used by one thread at a time: its caller sees to that.
    """

    def __init__(self, session: Session, run: Callable[[Session], Runs]) -> None:
        self.session = session
        self._run = run
        self._runs: Runs | None = None
        self._programs = Programs(session, Graphs(math.inf))
        self.is_complete = False

    def advance(self) -> bool:
        """Make or read the next stage; False after the last one."""
        self.is_complete = self.session.advance() is None
        return not self.is_complete

    def document(self) -> Part:
        """The document before anything was looked at: the stages that are there, without their programs."""
        empty: dict[str, list[object]] = {
            key: [] for key in ("bodies", "changes", "rows", "graphs", "nodes", "layouts", "shapes", "checks")
        }
        rest = {"left_out": 0, "cost": None, "run": None, "compiled": None, "chunk": CHUNK}
        return {**frame(self.session), **empty, **rest, **self._stages(0)}

    def _stages(self, start: int) -> Part:
        """The stages from one on; what is wrong with them once all are there."""
        stages = self.session.stages[start:]
        problems = problems_data(self.session, self._programs.body) if self.is_complete else []
        told = {"summary": frame(self.session)["summary"], "is_complete": self.is_complete}
        return {"stages": [head(stage) for stage in stages], "problems": problems, **told}

    def part(self, path: str, known: Mapping[str, int]) -> Part | None:
        """A part, with what its reader does not know yet; None if there is no such part."""
        kind, _, rest = path.partition("/")
        number, _, name = rest.partition("/")
        at = int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else 0
        make = self._makers.get(kind)
        if make is None or (kind in _OF_STAGES and at >= len(self.session.stages)):
            return None
        found = make(self, at, name)
        if kind == "more":  # it numbers nothing
            return found
        rows = {"rows": self._programs.rows.data(known.get("rows", 0))}
        counts = {key: known.get(key, 0) for key in ("graphs", "nodes", "layouts")}
        return {**found, **rows, **self._programs.graphs.data(**counts)}

    def _more(self, start: int, name: str) -> Part:
        return self._stages(start)

    def _stage(self, number: int, name: str) -> Part:
        programs, stage = self._programs, self.session.stages[number]
        found = programs.stage(number)
        names = stage.module.relax_functions
        changes = found["changes"]
        assert isinstance(changes, int)
        body = programs.body(number).data()
        changed = programs.changes[changes] if changes >= 0 else None
        shapes = {"stage": number, "functions": shapes_data(stage, self._log if number == 0 else None)}
        return {
            "stage": {**found, "graphs": {function: {} for function in names}},
            "body": body,
            "change": changed,
            "shape": shapes,
        }

    def _graph(self, number: int, name: str) -> Part:
        module = self.session.stages[number].module
        return {"graph": self._programs.graphs.one(module, name) if name in module.relax_functions else {}}

    def _checks(self, number: int, name: str) -> Part:
        return {"check": checks_data(self.session.stages[number], self._programs.body(number))}

    def _cost(self, number: int, name: str) -> Part:
        own = self.session.stages[self._programs.own(number)]
        return {"cost": cost_data(self.session, [own])}

    @property
    def _log(self) -> RunLog | None:
        """The run, if something has asked for it."""
        return None if self._runs is None else self._runs[0]

    def _ran(self) -> Runs:
        if self._runs is None:
            self._runs = self._run(self.session)
        return self._runs

    def _of_run(self, number: int, name: str) -> Part:
        log, compiled = self._ran()
        shapes = {"stage": 0, "functions": shapes_data(self.session.stages[0], log)}
        found = run_data(log, self._programs.body(0), with_values=False)
        return {"run": found, "compiled": compiled_data(compiled), "shape": shapes}

    def _values(self, number: int, name: str) -> Part:
        log, _ = self._ran()
        steps = range(number * CHUNK, (number + 1) * CHUNK)
        return {"values": [] if log is None else step_values(log, self._programs.body(0), steps)}

    _makers: Mapping[str, Callable[[LivePage, int, str], Part]] = {
        "more": _more,
        "stage": _stage,
        "graph": _graph,
        "checks": _checks,
        "cost": _cost,
        "run": _of_run,
        "values": _values,
    }


_OF_STAGES = frozenset({"stage", "graph", "checks", "cost"})
