"""The checks of lengths of a stage as a list: which are shown, as rows, and one of them in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.run_log import Costs
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck, shape_checks
from relax_explorer.viz.lexer import highlight
from relax_explorer.viz.marked_graph import call_text, share_text, spent_text
from relax_explorer.viz.tables import LazyLines, Row, cell, colored_row
from relax_explorer.viz.visible import columns, counted, fit, visible

FILTERS = {
    "remaining": "what is left to the run, or always fails",
    "proved": "what is proved",
    "given": "what a condition decides",
    "all": "all checks",
    "costly": "what the run spent on them, the longest first",
}
"""The words of `:checks`, and what each shows."""
_GLYPHS = {Answer.YES: "✓", Answer.UNKNOWN: "·", Answer.NO: "✗"}
_WORDS = {Answer.YES: "proved", Answer.UNKNOWN: "left to the run", Answer.NO: "failing in every run"}
_ANSWERS = {**_WORDS, Answer.NO: "it fails in every run"}
_OUTSIDE = "each call from outside"


@dataclass(frozen=True, eq=False)
class Entry:
    """The checks that each call of a function from outside makes; they are no fault of the program, so they share a row."""

    function: str
    checks: tuple[ShapeCheck, ...]


@dataclass(frozen=True, eq=False)
class Head:
    """A line above checks, of one function or of a run, and more about it. `function` is that of the first check below."""

    function: str
    text: str
    about: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CheckList:
    """The checks of a stage: a head for each function (or one for a run), then what is shown of it.

    `widths` are those of the columns with all their text: binding, condition, what demands it, why it remains. `costs` are those of
    the run so far, if there is one.
    """

    items: tuple[Head | ShapeCheck | Entry, ...]
    widths: tuple[int, int, int, int]
    costs: Costs | None = None

    @property
    def is_empty(self) -> bool:
        """True if no check is shown."""
        return not any(isinstance(item, (ShapeCheck, Entry)) for item in self.items)


def conditions_of(module: IRModule, function: str, condition: str) -> dict[str, list[p.PrimExpr]] | None:
    """Conditions by the function that they are about; None for an empty text. Raises Failure for a wrong one."""
    return read_conditions(condition, LengthNames(module, function)) if condition else None


def checks_of(module: IRModule, function: str, condition: str) -> dict[str, list[ShapeCheck]]:
    """The checks of each function, if conditions hold (none for an empty text); their bare names are those of `function`."""
    found: dict[str, list[ShapeCheck]] = {name: [] for name in module.relax_functions}
    for check in shape_checks(module, conditions_of(module, function, condition)):
        found[check.function].append(check)
    return found


def listed(checks: dict[str, list[ShapeCheck]], shown: str, costs: Costs | None) -> CheckList:
    """The checks that a filter shows. Reasons and widths are found here, off the thread that draws."""
    items: list[Head | ShapeCheck | Entry] = []
    if shown == "costly":
        items += _costly(checks, costs)
    for name, found in checks.items() if shown != "costly" else ():
        kept = [check for check in found if shown == "all" or _is_shown(check, shown)]
        is_entry = [shown == "remaining" and _is_of_entry(check) for check in kept]
        entry = tuple([check for check, is_own in zip(kept, is_entry, strict=True) if is_own])
        items.append(_group(name, found))
        items += [check for check, is_own in zip(kept, is_entry, strict=True) if not is_own]
        items += [Entry(name, entry)] if entry else []
    widths = [(0, 0, 0, 0)] + [_widths(item) for item in items if isinstance(item, ShapeCheck)]
    names, conditions, demands, reasons = (max(column) for column in zip(*widths, strict=True))
    return CheckList(tuple(items), (names, conditions, demands, reasons), costs)


def _costly(checks: dict[str, list[ShapeCheck]], costs: Costs | None) -> Iterator[Head | ShapeCheck | Entry]:
    """What a run spent, then the places that it checked. A place with several checks has the row of the first one."""
    sites = [] if costs is None else costs.sites([check for found in checks.values() for check in found])
    if costs is not None and sites:
        text = f"in this run {share_text(costs)}"
        parts = "of the checks, of operators that compared lengths, and of buffers of kernels"
        yield Head(sites[0].checks[0].function, text, (f"{text}: {parts}",))
    for site in sites:
        first = site.checks[0]
        yield Entry(first.function, site.checks) if first.kind == PARAMETERS else first


def _widths(check: ShapeCheck) -> tuple[int, int, int, int]:
    texts = (_binding(check), visible(check.text), _demand(check), visible(check.why))
    return columns(texts[0]), columns(texts[1]), columns(texts[2]), columns(texts[3])


def _group(name: str, checks: Sequence[ShapeCheck]) -> Head:
    """How many checks a function has of each answer, and how many of each kind remain."""
    counts = [(sum(check.answer is answer for check in checks), word) for answer, word in _WORDS.items()]
    told = ", ".join([f"{number} {word}" for number, word in counts if number])
    left = Counter(check.word for check in checks if check.answer is Answer.UNKNOWN)
    text = f"{visible(name, 60)}: {told or 'nothing to check'}"
    kinds = ", ".join(f"{kind}: {number}" for kind, number in left.items())
    return Head(name, text, (text, *([f"left to the run by kind: {kinds}"] if kinds else [])))


def _is_of_entry(check: ShapeCheck) -> bool:
    return check.kind == PARAMETERS and check.answer is Answer.UNKNOWN


def _is_shown(check: ShapeCheck, shown: str) -> bool:
    """True for what remains or always fails, what is proved, or what a given condition decides."""
    if shown == "given":
        return any(fact.why == "given" for fact in check.proof)
    return (check.answer is Answer.YES) == (shown == "proved")


# -- rows -------------------------------------------------------------------------------------------------------------


def check_rows(found: CheckList, width: int) -> LazyLines[Row]:
    """A row for each item: line, binding, condition, what demands it, why it remains."""
    names, conditions, demands, reasons = found.widths
    names = min(names, 20)
    room = max(20, width - names - 10)
    conditions = min(conditions, room // 2)
    demands = min(demands, max(room // 3, room - conditions - reasons - 4))

    def row(number: int) -> Row:
        item = found.items[number]
        if isinstance(item, Head):
            return colored_row([("title", item.text)], " ", item, item.function)
        if isinstance(item, Entry):
            return _entry_row(item, found.costs)
        return _check_row(item, found.costs, (names, conditions, demands))

    return LazyLines(len(found.items), row)


def _check_row(check: ShapeCheck, costs: Costs | None, widths: tuple[int, int, int]) -> Row:
    names, conditions, demands = widths
    condition = fit(visible(check.text), conditions)
    spent = None if costs is None else costs.of(check)
    why = f"  {visible(check.why, 120)}" if check.why else ""
    pieces = (
        ("number", f"{_line(check):>5}  "),
        ("var", f"{cell(_binding(check), names)}  "),
        *(
            highlight(condition) if " is a " not in condition else (("text", condition),)
        ),  # a sentence is no code
        ("text", " " * (conditions - columns(condition) + 2)),
        ("attribute", cell(_demand(check), demands)),
        ("muted", why),
    )
    cost = "" if spent is None else spent_text(spent)
    return colored_row(pieces, _GLYPHS[check.answer], check, check.function, cost)


def _entry_row(entry: Entry, costs: Costs | None) -> Row:
    lengths = sum(check.condition is not None for check in entry.checks)
    counts = [(len(entry.checks) - lengths, "kind"), (lengths, "length")]
    told = ", ".join(counted(number, noun) for number, noun in counts if number)
    text = f"{'':7}{_OUTSIDE}: {told}"
    spent = None if costs is None else costs.of(entry.checks[0])
    cost = "" if spent is None else spent_text(spent)
    return colored_row([("muted", text)], "·", entry, entry.function, cost)


def _demand(check: ShapeCheck) -> str:
    return _OUTSIDE if check.kind == PARAMETERS else visible(f"{check.word}: {check.subject}", 60)


def _line(check: ShapeCheck) -> str:
    span = getattr(check.place, "span", None)
    return "" if span is None else str(span.line)


def _binding(check: ShapeCheck) -> str:
    var = getattr(check.place, "var", None)
    return visible(
        check.subject if var is None and check.kind == PARAMETERS else "" if var is None else var.name, 40
    )


# -- one check ----------------------------------------------------------------------------------------------------------


def place_of(node: object) -> e.Binding | None:
    """The binding of a row, if it has one."""
    place = node.place if isinstance(node, ShapeCheck) else None
    return place if isinstance(place, e.Binding) else None


def check_details(row: Row, found: CheckList) -> list[str]:
    """What stands in a row, in sentences."""
    node = row.node
    if isinstance(node, Entry):
        cost = [] if found.costs is None else [_cost(node.checks[0], found.costs)]
        return [_OUTSIDE, *[f"  {visible(check.text, 200)}" for check in node.checks], *cost]
    if isinstance(node, Head):
        return list(node.about)
    assert isinstance(node, ShapeCheck)  # rows have no other nodes
    line = f", line {_line(node)}" if _line(node) else ""
    if node.kind == PARAMETERS:
        demand = f"made at each call of {node.function} from outside{line}"
    else:
        binding = f", {_binding(node)}" if _binding(node) else ""
        demand = f"demanded by {node.word}: {node.subject} in {node.function}{binding}{line}"
    lines = [f"{node.text}: {_ANSWERS[node.answer]}", demand]
    lines += [f"because {'; '.join(map(str, node.proof))}"] if node.proof else []
    lines += [f"why: {node.why}"] if node.why else []
    lines += [f"to remove it: {node.remedy}"] if node.remedy else []
    if found.costs is not None:
        lines.append(_cost(node, found.costs))
    return [visible(line, 600) for line in lines]


def _cost(check: ShapeCheck, costs: Costs) -> str:
    """What a check cost in the run, and its call."""
    spent, call = costs.of(check), call_text(check, costs)
    if spent is None:
        return "in this run: not made yet"
    return f"in this run: {spent_text(spent)}{'; ' + call if call else ''}"
