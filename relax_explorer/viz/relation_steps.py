"""Type inference by relations, run by run."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.relations.inference import Typed, infer_relay
from relax_explorer.core.relations.solver import Item, Outcome, Run, Solver, Status, holes_of
from relax_explorer.core.source import Span
from relax_explorer.viz.solving import LazyLines, Line, Solving, Table

_GLYPHS = {Outcome.HOLDS: "✓", Outcome.UNKNOWN: "·", Outcome.FAILS: "✗"}
_WORDS = {Outcome.HOLDS: "holds", Outcome.UNKNOWN: "waits", Outcome.FAILS: "fails"}
_VERDICTS = {Status.SOLVED: "✓", Status.STUCK: "·", Status.FAILED: "✗"}


class RelationSteps(Solving):
    """A program in Relay's notation. Each run of a relation is a step."""

    command = schema = "relations"
    titles = {"types": "Types", "made": "Assigned", "left": "Queue", "program": "Program"}  # noqa: RUF012

    def __init__(self, text: str, path: str) -> None:
        """Infer the types. Raises Failure if the text is no program."""
        self.typed = typed = infer_relay(text, path)
        self.runs = typed.solver.trace
        super().__init__(text, path, typed.report.sorted(), [_span(run.item) for run in self.runs])
        self._values: dict[int, Solver] = {}  # of the positions shown last
        self._names = self._named(typed)
        self._made = [
            (place, item)
            for place, run in enumerate([*self.runs, None], 1)
            for item in (typed.solver.unified if run is None else (*run.unified, *run.assigned))
        ]
        self._begun: dict[int, int] = {}  # the run of a relation by the number of the run
        times = [0] * (len(typed.solver.items) + 1)
        for run in self.runs:
            times[run.item.number] += 1
            self._begun[run.number] = times[run.item.number]

    @staticmethod
    def _named(typed: Typed) -> list[tuple[str, str, Any]]:
        """The line, the name and the type of each function, each variable and the result."""
        found: list[tuple[Span | None, str, Any]] = [
            (fn.span, f"@{name}", fn.type) for name, fn in typed.program.functions.items()
        ]
        found += [(var.span, f"%{var.name}", var.type) for var in typed.variables]
        found += [(None, "result", typed.result)] if typed.result is not None else []
        return [("" if span is None else str(span.line), name, part) for span, name, part in found]

    # -- steps -------------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The result in one line."""
        relations, runs = len(self.typed.solver.items), len(self.runs)
        return f"{self.typed.status.value}: {relations} relation{'s' * (relations != 1)}, {runs} run{'s' * (runs != 1)}"

    @property
    def verdict_glyph(self) -> str:
        """How it ended."""
        return _VERDICTS[self.typed.status]

    def step(self, number: int) -> tuple[str, str]:
        """A step in a few words, and its glyph."""
        run = self.runs[number]
        news = ", ".join(map(str, run.assigned))
        name = run.before.partition("(")[0]
        return f"{name} {_WORDS[run.outcome]}{': ' + news if news else ''}", _GLYPHS[run.outcome]

    def details(self, number: int) -> list[str]:
        """A step in lines."""
        run = self.runs[number]
        item, woken = run.item, self.typed.solver.queued[run.began : run.queued]
        again = f", run {self._begun[run.number]} of {item.runs}" if item.runs > 1 else ""
        lines = [f"relation {item.number}{again}: {_WORDS[run.outcome]}{self._why(run)}"]
        lines += [f"before    {run.before}", f"after     {run.after}"]
        lines += [f"assigned  {one}" for one in run.assigned]
        lines += [f"queued    {_named_item(one)}" for one in woken]
        return [*lines, *[f"unified   {one}" for one in run.unified]]

    def _why(self, run: Run) -> str:
        """Why a relation fails, or the holes that it waits for."""
        if run.outcome is Outcome.FAILS and run.item.reason:
            return f": {run.item.reason}"
        if run.outcome is not Outcome.UNKNOWN:
            return ""
        open_ = holes_of(self._values_at(run.number).resolved_types(run.item))
        return f" for {', '.join(map(str, open_))}" if open_ else ": it may hold or not"

    def beginning(self) -> list[str]:
        """What there is before the first step."""
        functions = len(self.typed.program.functions)
        return [
            f"{functions} function{'s' * (functions != 1)}, {len(self.typed.solver.items)} relations",
            "Every call adds a relation to the queue.",
            "The first of the queue runs; one that waits for a type runs again once that type is known.",
        ]

    def ending(self) -> list[str]:
        """What happened after the last step."""
        return [f"unified   {one}" for one in self.typed.solver.unified]

    # -- tables ------------------------------------------------------------------------------------------------------

    def known(self, name: str, position: int) -> Table:
        """A table as it was after a step."""
        if name == "types":
            return self._types(position)
        if name == "made":
            made = self._made_by(position)
            return Table(LazyLines(made, self._assignment), made - 1 if made else None)
        return self._queue(position)

    def _types(self, position: int) -> Table:
        now, before = self._values_at(position), self._values_at(max(0, position - 1))

        def line(number: int) -> Line:
            where, name, part = self._names[number]
            text = str(now.resolved(part))
            is_new = position > 0 and text != str(before.resolved(part))
            return Line(f"{where:>4}  {name} : {text}", "~" if is_new else "·" if "?" in text else " ")

        new = self._changed(position)
        return Table(LazyLines(len(self._names), line), new)

    def _changed(self, position: int) -> int | None:
        """The first type that a step changed."""
        now, before = self._values_at(position), self._values_at(max(0, position - 1))
        parts = enumerate(part for _, _, part in self._names)
        return next((n for n, part in parts if now.resolved(part) != before.resolved(part)), None)

    def _values_at(self, position: int) -> Solver:
        if position >= self.last:
            return self.typed.solver
        found = self._values.get(position)
        if found is None:
            found = self.typed.solver.after(position)
            self._values = {
                place: known for place, known in self._values.items() if abs(place - position) == 1
            }
            self._values[position] = found
        return found

    def _made_by(self, position: int) -> int:
        """The number of assignments up to a position."""
        low, high = 0, len(self._made)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._made[middle][0] <= position else (low, middle)
        return low

    def _assignment(self, number: int) -> Line:
        place, item = self._made[number]
        return Line(f"{place if place < self.last else 'end':>4}  {item}", goal=place)

    def _queue(self, position: int) -> Table:
        if position == self.last or not self.runs:
            return Table([])
        if position == 0:
            return Table([self._waiting(self.runs[0].item, 0, None)])
        run = self.runs[position - 1]
        queue = self.typed.solver.queue_after(run)
        woken = run.queued - run.began
        first_woken = len(queue) - woken
        return Table(
            LazyLines(
                len(queue), lambda n: self._waiting(queue[n], position, run if n >= first_woken else None)
            )
        )

    def _waiting(self, item: Item, position: int, run: Run | None) -> Line:
        span = _span(item)
        where = span.line if span is not None else ""
        return Line(f"{where:>4}  {_named_item(item)}", "+" if run is not None else " ")

    def origin(self, name: str, position: int, number: int) -> int | None:
        """The step that made a line of a table so."""
        table = self.table(name, position)
        if not number < len(table.lines):
            return None
        if name == "types":
            return self._since(position, self._names[number][2])
        if name == "left":
            item = (
                self.runs[0].item
                if position == 0
                else self.typed.solver.queue_after(self.runs[position - 1])[number]
            )
            return next((run.number for run in self.runs[position:] if run.item is item), None)
        return table.lines[number].goal

    def _since(self, position: int, part: object) -> int:
        """The first position at which a type was known as well as at this one."""
        goal = self._values_at(position).resolved(part)
        low, high = 0, position
        while low < high:
            middle = (low + high) // 2
            is_known = self.typed.solver.after(middle).resolved(part) == goal
            low, high = (low, middle) if is_known else (middle + 1, high)
        return low

    # -- data --------------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """The types, the relations, and the runs. The queue after a run are the last `waiting` of the first `queued` relations."""
        typed = self.typed
        return {
            "status": typed.status.value,
            "functions": {name: str(function) for name, function in typed.functions.items()},
            "variables": [
                {"name": v.name, "type": str(typed.solver.resolved(v.type))} for v in typed.variables
            ],
            "result": None if typed.main is None else str(typed.main),
            "relations": [self._relation(item) for item in typed.solver.items],
            "queued": [item.number for item in typed.solver.queued],
            "runs": [_run(run) for run in self.runs],
            "unified": list(map(str, typed.solver.unified)),
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _relation(self, item: Item) -> dict[str, Any]:
        span = _span(item)
        return {
            "number": item.number,
            "text": self.typed.solver.text(item),
            "line": None if span is None else span.line,
            "outcome": item.outcome.value,
            "reason": item.reason,
            "runs": item.runs,
        }


def _span(item: Item) -> Span | None:
    return getattr(item.place, "span", None)


def _named_item(item: Item) -> str:
    return f"relation {item.number}, {getattr(item.constraint, 'name', type(item.constraint).__name__)}"


def _run(run: Run) -> dict[str, Any]:
    return {
        "number": run.number,
        "relation": run.item.number,
        "before": run.before,
        "after": run.after,
        "outcome": run.outcome.value,
        "unified": list(map(str, run.unified)),
        "assigned": list(map(str, run.assigned)),
        "queued": run.queued,
        "waiting": run.waiting,
    }
