"""What solvers do, step by step: programs with shape contracts, and type inference by relations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.relations.inference import Typed, infer_relay
from relax_explorer.core.relations.solver import Item, Outcome, Run, Solver, Status, holes_of
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.conditions import words
from relax_explorer.core.shapes.contract_facts import Decided, Desugared, Learned, residual_rows
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.contract_tree import desugared_text, match_statement
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.load import read_text
from relax_explorer.viz.solving import Solving, Table, placed
from relax_explorer.viz.tables import LazyLines, Row, text_lines
from relax_explorer.viz.visible import counted

_GLYPHS = {Answer.YES: "✓", Answer.UNKNOWN: "·", Answer.NO: "✗"}
_WORDS = {Answer.YES: "proved", Answer.UNKNOWN: "left to the run", Answer.NO: "never holds"}


class ContractSteps(Solving):
    """A program with shape contracts."""

    command, schema = "shapes", "contracts"
    titles = {"types": "Values", "made": "Desugared", "left": "Left to the run", "program": "Program"}  # noqa: RUF012

    def __init__(self, text: str, path: str, keep_branches: bool = False) -> None:
        """Analyse the program. Raises Failure if the text is no program."""
        program, terms = read_contract(text, path)
        self.program, self.terms = program, terms
        self.functions = list(program.functions)
        self.found = analyse(program, terms, keep_branches, traced=True)
        self.steps = self.found.steps or []
        self.desugared = desugared_text(program, terms).strip().splitlines()
        self._wrapped = _lines_of_assertions(self.desugared)
        super().__init__(text, path, self.found.report.sorted(), [step.place for step in self.steps])
        self._left = [n for n, step in enumerate(self.steps, 1) if _is_left(step)]
        self._learned = [n for n, step in enumerate(self.steps, 1) if isinstance(step, Learned)]

    # -- steps -------------------------------------------------------------------------------------------------------

    @property
    def verdict(self) -> str:
        """The result in one line."""
        errors = len(self.found.report.errors)
        if errors:
            return f"refused: {counted(errors, 'error')}"
        count = len(self.found.residual)
        return f"accepted with {counted(count, 'residual check')}"

    @property
    def verdict_glyph(self) -> str:
        """How it ended."""
        return "✗" if self.found.report.errors else "·" if self.found.residual else "✓"

    def step(self, number: int) -> tuple[str, str]:
        """A step in a few words, and its glyph."""
        step = self.steps[number]
        if isinstance(step, Desugared):
            return f"contract of {step.name}: {step.kind}", "→"
        if isinstance(step, Learned):
            return f"{step.name} : {step.type}", "="
        return f"{step.guard}: {_WORDS[step.answer]}", _GLYPHS[step.answer]

    def details(self, number: int) -> list[str]:
        """A step in lines."""
        step = self.steps[number]
        if isinstance(step, Desugared):
            lines = [f"{step.name} : {step.kind}, in {step.function}, demands"]
            lines += [f"  {guard}" for guard in step.guards] or ["  nothing"]
            statement = match_statement(step.name, step.kind, [size for size, _ in step.captured])
            lines += [f"as a statement: {one}" for one in statement]
            return [*lines, *[f"  {size} stands for {length}" for size, length in step.captured]]
        if isinstance(step, Learned):
            return [f"{step.name} is known as", f"  {step.type}", f"in {step.function}"]
        lines = [f"{step.guard}", f"demanded by {step.origin}, in {step.function}"]
        here = self.found.named(condition_text(step.condition))
        lines += [f"here      {here}"] if here != condition_text(step.guard.condition) else []
        lines += [f"{_WORDS[step.answer]}{_failing(step)}"]
        return [*lines, *[f"because   {fact}" for fact in step.reasons]]

    def beginning(self) -> list[str]:
        """What there is before the first step."""
        functions, lets = len(self.program.functions), len(self.program.main)
        return [
            f"{counted(functions, 'function')}, {counted(lets, 'statement')}",
            "Each contract becomes assertions. A call or a let with a type demands them of its values:",
            "those that are proved are dropped, those that are not are left to the run.",
        ]

    def ending(self) -> list[str]:
        """What happened after the last step."""
        return []

    # -- tables ------------------------------------------------------------------------------------------------------

    def known(self, name: str, position: int) -> Table:
        """A table as it was after a step."""
        if name == "types":
            return self._values(position)
        if name == "made":
            return self._assertions(position)
        left = self._left[: bisect_right(self._left, position)]
        is_new = bool(left) and left[-1] == position
        shown = len(left) - 1 if is_new else None
        return Table(LazyLines(len(left), lambda n: self._residual(n, position)), shown)

    def _residual(self, number: int, position: int) -> Row:
        item, place = self.found.residual[number], self._left[number]
        text = f"assert {self.found.named(condition_text(item.condition))}  ({item.origin})"
        return Row(placed(item.place, text), "+" if place == position else "·", place)

    def _values(self, position: int) -> Table:
        """The values that are known in the function of the step."""
        function = self._function_at(position)
        latest: dict[str, int] = {}
        for place in self._learned[: bisect_right(self._learned, position)]:
            step = self.steps[place - 1]
            if isinstance(step, Learned) and step.function == function:
                latest[step.name] = place
        places = list(latest.values())
        return Table(
            LazyLines(len(places), lambda n: self._value(places[n], position)),
            places.index(position) if position in places else None,
        )

    def _value(self, place: int, position: int) -> Row:
        step = self.steps[place - 1]
        assert isinstance(step, Learned)  # only such steps are listed
        text = placed(step.place, f"{step.name} : {step.type}")
        return Row(text, "~" if place == position else " ", place)

    def _function_at(self, position: int) -> str:
        return self.steps[position - 1].function if 0 < position < self.last else "main"

    def _assertions(self, position: int) -> Table:
        """The desugared program. The assertion that is made or decided is marked."""
        step = self.steps[position - 1] if 0 < position < self.last else None
        marked: set[int] = set()
        if isinstance(step, Desugared):
            marked = {self._wrapped.get((step.function, str(guard)), -1) for guard in step.guards} - {-1}
        elif isinstance(step, Decided):
            owner = step.origin.removeprefix("the result of ")
            marked = {self._wrapped.get((owner, str(step.guard)), -1)} - {-1}
        return Table(
            LazyLines(len(self.desugared), lambda n: Row(self.desugared[n], "▶" if n in marked else " ")),
            min(marked, default=None),
        )

    def origin(self, name: str, position: int, number: int) -> int | None:
        """The step that made a line of a table so."""
        lines = self.table(name, position).lines
        goal: int | None = lines[number].node if number < len(lines) else None
        return goal

    # -- data --------------------------------------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """The types, what remains, and the steps."""
        names = ("function", "assertion", "origin", "line")
        return {
            "types": self.found.types,
            "asserted": self.found.asserted,
            "residual": [dict(zip(names, row, strict=True)) for row in residual_rows(self.found)],
            "chosen": [
                {
                    "line": None if call.span is None else call.span.line,
                    "function": call.function,
                    "implementation": name,
                }
                for call, name in self.found.chosen
            ],
            "steps": [self._data(number) for number in range(self.count)],
            "problems": [problem.to_json() for problem in self.problems],
        }

    def _data(self, number: int) -> dict[str, Any]:
        step = self.steps[number]
        row: dict[str, Any] = {
            "number": number + 1,
            "function": step.function,
            "line": None if step.place is None else step.place.line,
        }
        if isinstance(step, Desugared):
            captured = {str(size): str(length) for size, length in step.captured}
            assertions = [str(guard) for guard in step.guards]
            return row | {
                "contract": f"{step.name} : {step.kind}",
                "assertions": assertions,
                "captured": captured,
            }
        if isinstance(step, Learned):
            return row | {"value": step.name, "type": step.type}
        return row | {
            "assertion": str(step.guard),
            "here": self.found.named(condition_text(step.condition)),
            "origin": step.origin,
            "answer": _WORDS[step.answer],
            "because": [str(fact) for fact in step.reasons],
            "fails_with": {str(var): value for var, value in step.failing},
        }


def condition_text(condition: c.Condition) -> str:
    """A condition as the notation writes it. Of two numbers, the printer of Relax would write `T.EQ(2, 2)`."""
    if type(condition) is p.EQ and not isinstance(condition.a, p.Mul):
        return f"{_side(condition.a)} == {_side(condition.b)}"
    return words(condition)


def _side(side: p.PrimExpr) -> str:
    if isinstance(side, (p.FloorMod, p.FloorDiv)) and type(side.a) is type(side.b) is p.IntImm:
        return f"{side.a} {'%' if type(side) is p.FloorMod else '//'} {side.b}"
    return str(side)


def _is_left(step: object) -> bool:
    return isinstance(step, Decided) and step.answer is Answer.UNKNOWN


def _failing(step: Decided) -> str:
    """Lengths for which an assertion fails."""
    values = ", ".join(f"{var} = {value}" for var, value in step.failing)
    return f": it fails with {values}" if values else ""


def _lines_of_assertions(lines: list[str]) -> dict[tuple[str, str], int]:
    """The line of each assertion of each wrapper in a desugared program."""
    found, function = {}, ""
    for number, line in enumerate(lines):
        if line.startswith("inline @"):
            function = line.split(" ")[1]
        elif line.startswith("  assert "):
            found[function, line.strip().removesuffix(";")] = number
    return found


# -- relation steps --------------------------------------------------------------------------------------------------
# Type inference by relations, run by run.


_RUN_GLYPHS = {Outcome.HOLDS: "✓", Outcome.UNKNOWN: "·", Outcome.FAILS: "✗"}
_RUN_WORDS = {Outcome.HOLDS: "holds", Outcome.UNKNOWN: "waits", Outcome.FAILS: "fails"}
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
        return f"{self.typed.status.value}: {counted(relations, 'relation')}, {counted(runs, 'run')}"

    @property
    def verdict_glyph(self) -> str:
        """How it ended."""
        return _VERDICTS[self.typed.status]

    def step(self, number: int) -> tuple[str, str]:
        """A step in a few words, and its glyph."""
        run = self.runs[number]
        news = ", ".join(map(str, run.assigned))
        name = run.before.partition("(")[0]
        return f"{name} {_RUN_WORDS[run.outcome]}{': ' + news if news else ''}", _RUN_GLYPHS[run.outcome]

    def details(self, number: int) -> list[str]:
        """A step in lines."""
        run = self.runs[number]
        item, woken = run.item, self.typed.solver.queued[run.began : run.queued]
        again = f", run {self._begun[run.number]} of {item.runs}" if item.runs > 1 else ""
        lines = [f"relation {item.number}{again}: {_RUN_WORDS[run.outcome]}{self._why(run)}"]
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
            f"{counted(functions, 'function')}, {len(self.typed.solver.items)} relations",
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

        def line(number: int) -> Row:
            where, name, part = self._names[number]
            text = str(now.resolved(part))
            is_new = position > 0 and text != str(before.resolved(part))
            return Row(f"{where:>4}  {name} : {text}", "~" if is_new else "·" if "?" in text else " ")

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
        return bisect_right(self._made, position, key=itemgetter(0))

    def _assignment(self, number: int) -> Row:
        place, item = self._made[number]
        return Row(f"{place if place < self.last else 'end':>4}  {item}", node=place)

    def _queue(self, position: int) -> Table:
        if position == self.last or not self.runs:
            return Table([])
        if position == 0:
            return Table([self._waiting(self.runs[0].item, False)])
        run = self.runs[position - 1]
        queue = self.typed.solver.queue_after(run)
        first_woken = len(queue) - (run.queued - run.began)
        return Table(LazyLines(len(queue), lambda n: self._waiting(queue[n], n >= first_woken)))

    def _waiting(self, item: Item, is_woken: bool) -> Row:
        return Row(placed(_span(item), _named_item(item)), "+" if is_woken else " ")

    def origin(self, name: str, position: int, number: int) -> int | None:
        """The step that made a line of a table so."""
        table = self.table(name, position)
        if not number < len(table.lines):
            return None
        if name == "types":
            return self._since(position, self._names[number][2])
        if name == "left":
            queue = self.typed.solver.queue_after
            item = queue(self.runs[position - 1])[number] if position else self.runs[0].item
            return next((run.number for run in self.runs[position:] if run.item is item), None)
        goal: int | None = table.lines[number].node
        return goal

    def _since(self, position: int, part: object) -> int:
        """The first position at which a type was known as well as at this one."""
        goal = self._values_at(position).resolved(part)
        after = self.typed.solver.after
        return bisect_left(range(position), True, key=lambda n: after(n).resolved(part) == goal)

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


# -- solving files ---------------------------------------------------------------------------------------------------
# Files in the notations of type relations and of shape contracts, by their endings.


def read_solving(path: str, keep_branches: bool = False) -> Solving | None:
    """The steps of a file in one of these notations; None for any other file. Raises Failure or ParseError if it can't be read.

    With `keep_branches`, the bodies of functions with contracts are looked into at each call.
    """
    ending = Path(path).suffix
    if ending == CONTRACTS:
        return ContractSteps(read_text(path), path, keep_branches)
    return RelationSteps(read_text(path), path) if ending == RELATIONS else None


# -- solving report --------------------------------------------------------------------------------------------------


def solving_report(solving: Solving) -> str:
    """The steps as one page: the result, every step with what happened in it, and the tables at the end. It needs no network and no script."""
    from relax_explorer.viz.report import panes_page  # only a page needs it

    tables = [(title, solving.table(name, solving.last).lines) for name, title in solving.titles.items()]
    panes = [
        ("Result", text_lines(solving.about(solving.last))),
        (f"{solving.count} steps", list(_step_rows(solving))),
        *[(title, list(map(_sentence, lines))) for title, lines in tables if lines],
    ]
    return panes_page(f"{Path(solving.path).name} · {solving.count} steps", panes)


def _step_rows(solving: Solving) -> Iterator[Row]:
    """Each step, and below it what happened; the end stands in the result."""
    for position in range(solving.last):
        yield _sentence(solving.line(position))
        yield from text_lines([f"        {text}" for text in solving.about(position)], "muted")


def _sentence(row: Row) -> Row:
    """A row that is no line of a program."""
    return replace(row, pieces=(("text", row.text),))
