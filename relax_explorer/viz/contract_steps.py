"""The analysis of a program with shape contracts, step by step: contracts as assertions, decisions, types of values."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.check_words import words
from relax_explorer.core.shapes.contract_facts import Decided, Desugared, Learned, residual_rows
from relax_explorer.core.shapes.contract_text import read_contract
from relax_explorer.core.shapes.desugar import desugared_text, match_statement
from relax_explorer.core.shapes.propagate import analyse
from relax_explorer.viz.solving import LazyLines, Line, Solving, Table

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
            return f"refused: {errors} error{'s' * (errors != 1)}"
        count = len(self.found.residual)
        return f"accepted with {count} residual check{'s' * (count != 1)}"

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
            f"{functions} function{'s' * (functions != 1)}, {lets} statement{'s' * (lets != 1)}",
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
        left = self._upto(self._left, position)
        is_new = bool(left) and left[-1] == position
        return Table(
            LazyLines(len(left), lambda n: self._residual(n, position)), len(left) - 1 if is_new else None
        )

    def _upto(self, positions: list[int], position: int) -> list[int]:
        """Those of some positions that are not behind another one."""
        return [n for n in positions if n <= position]

    def _residual(self, number: int, position: int) -> Line:
        item, place = self.found.residual[number], self._left[number]
        where = item.place.line if item.place is not None else ""
        text = f"{where:>4}  assert {self.found.named(condition_text(item.condition))}  ({item.origin})"
        return Line(text, "+" if place == position else "·", place)

    def _values(self, position: int) -> Table:
        """The values that are known in the function of the step."""
        function = self._function_at(position)
        latest: dict[str, int] = {}
        for place in self._upto(self._learned, position):
            step = self.steps[place - 1]
            if isinstance(step, Learned) and step.function == function:
                latest[step.name] = place
        places = list(latest.values())
        return Table(
            LazyLines(len(places), lambda n: self._value(places[n], position)),
            places.index(position) if position in places else None,
        )

    def _value(self, place: int, position: int) -> Line:
        step = self.steps[place - 1]
        assert isinstance(step, Learned)  # only such steps are listed
        where = step.place.line if step.place is not None else ""
        return Line(f"{where:>4}  {step.name} : {step.type}", "~" if place == position else " ", place)

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
            LazyLines(len(self.desugared), lambda n: Line(self.desugared[n], "▶" if n in marked else " ")),
            min(marked, default=None),
        )

    def origin(self, name: str, position: int, number: int) -> int | None:
        """The step that made a line of a table so."""
        lines = self.table(name, position).lines
        return lines[number].goal if number < len(lines) else None

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
    if type(condition) is p.EQ:
        return (
            words(condition)
            if isinstance(condition.a, p.Mul)
            else f"{_side(condition.a)} == {_side(condition.b)}"
        )
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
