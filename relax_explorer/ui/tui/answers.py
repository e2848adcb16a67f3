"""What the `:` line answers: pages that explain, where lengths come from, checks of lengths, and programs with shape contracts in other forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.run_log import Costs
from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.core.shapes.length_names import LengthNames, read_conditions
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck, shape_checks
from relax_explorer.core.shapes.why import Why, what_if, why, why_at
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.state import room
from relax_explorer.viz.explanations import page_of
from relax_explorer.viz.length_text import Line, what_if_lines, why_lines
from relax_explorer.viz.lexer import highlight
from relax_explorer.viz.marked_graph import call_text, share_text, spent_text
from relax_explorer.viz.solver_steps import ContractSteps
from relax_explorer.viz.tables import LazyLines, Row, cell, colored_row
from relax_explorer.viz.visible import columns, counted, fit, visible

_CODE = re.compile(r"\bRX[0-9]{4}\b")
_INDENT = re.compile(r" *(\S+ {2,})?")


def explain(app: Controls, text: str) -> None:
    """Show the page of a name, or of what is selected."""
    subject = text or _selected(app)
    if not subject:
        app.say("explain takes a name (matmul, FuseOps, RX0203); or select an operator")
        return
    width = room(app.size.width)

    def work(job: Job) -> list[str] | str:
        try:
            lines = _joined(page_of(subject).split("\n"))
        except KeyError as error:
            return str(error.args[0])
        return [part for line in lines for part in _wrapped(visible(line, 2_000), width)]

    def done(found: list[str] | str) -> None:
        if isinstance(found, str):
            app.say(found)
        else:
            app.show_text(visible(subject, 60), found)

    app.jobs.start("checks", f"explaining {visible(subject, 60)}", work, done)


def _selected(app: Controls) -> str:
    """The code of the problem under the cursor, else the operator of the selected binding, else the pass that made the stage."""
    row, stage = app.view.row, app.state.stage
    if app.screen_name == "problems":
        view = app.view
        above = [view.rows[n].text for n in range(view.cursor, -1, -1)]
        return next((hit[0] for line in above if (hit := _CODE.search(line))), "")
    binding = app.state.selection.binding
    if app.view.id == "stages" and row is not None and stage is not None:
        return stage.made_by if stage.number else ""
    call = binding.value if binding is not None else None
    op = call.op if isinstance(call, e.Call) else None
    return op.name if isinstance(op, e.OpRef) and find(op.name) is not None else ""


def _joined(lines: list[str]) -> list[str]:
    """Paragraphs as one line each: a docstring is cut at the width of a source file. Indented lines and lists stay."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        is_text = bool(line) and not line.startswith((" ", "* "))
        goes_on = is_text and before and not before.startswith((" ", "* ")) and not before.endswith(":")
        if goes_on:
            found[-1] = f"{before} {line}"
        else:
            found.append(line)
    return found


def _wrapped(line: str, width: int) -> list[str]:
    """A line cut at words; what follows stands below its text, and that of a program deeper."""
    hit = _INDENT.match(line)
    deeper = 4 if line.startswith("    ") else 0
    inner = " " * min(len(hit[0]) + deeper if hit is not None else 0, width // 3)
    return wrap(line, width, subsequent_indent=inner) or [""]


# -- length answers --------------------------------------------------------------------------------------------------
# `why` and `what-if` of the command line of the explorer: where lengths come from, and what a condition makes of
# them.


def show_why(app: Controls, text: str) -> None:
    """Show where the lengths of a value come from: that of the text, or the selected one."""
    selection = app.state.selection
    if text:
        _show_why(app, text, lambda module, function: why(module, function, text))
    elif selection.binding is not None:
        show_why_at(app, selection.function, selection.binding)
    else:
        app.say("why takes a value, such as y, y[0] or main.y[0]")


def show_why_at(app: Controls, function: str, place: e.Binding | e.Function) -> None:
    """Show where the lengths of a binding come from, or those of the result of a function."""
    var = None if isinstance(place, e.Function) else place.var
    value = "the result" if isinstance(place, e.Function) else "" if var is None else var.name
    _show_why(app, value or "the value", lambda module, _: why_at(module, function, place))


def _show_why(app: Controls, value: str, explain: Callable[[IRModule, str], Why]) -> None:
    """Show why the lengths of a value are what they are."""

    def ask(module: IRModule, function: str) -> tuple[str, list[Line]]:
        found = explain(module, function)
        return found.function, why_lines(found)

    _show(app, f"Where the lengths of {visible(value, 60)} come from", ask)


def show_what_if(app: Controls, text: str) -> None:
    """Show what the lengths of the selected function become under a condition."""
    if not text:
        app.say("what-if takes a condition, such as n = 7, m <= 2 * n or layer.n = 7")
        return

    def ask(module: IRModule, function: str) -> tuple[str, list[Line]]:
        found = what_if(module, function, text)
        return found.function, what_if_lines(found, text)

    _show(app, f"What lengths become if {visible(text, 60)}", ask)


def _show(app: Controls, title: str, ask: Callable[[IRModule, str], tuple[str, list[Line]]]) -> None:
    """List an answer, found off the UI thread. Enter goes to the binding of a line."""
    stage = app.state.stage
    if stage is None:
        app.say("no program is open")
        return
    number, module, width = stage.number, stage.module, room(app.size.width)
    function = app.run_control.function()

    def work(job: Job) -> list[Row]:
        name, lines = ask(module, function)
        return _rows(module, name, lines, width)

    def done(rows: list[Row]) -> None:
        app.show_rows(f"{title}, stage {stage.label}", rows, 0, go)

    def go(row: Row) -> None:
        app.stage_control.go_to(number, row.function, row.node if isinstance(row.node, e.Binding) else None)
        app.show_screen("passes")

    app.jobs.start("checks", "looking at lengths", work, done)


def _rows(module: IRModule, function: str, lines: Sequence[Line], width: int) -> list[Row]:
    """The lines with their bindings; long ones are wrapped below their beginning."""
    fn = module.relax_functions.get(function)
    by_span = {id(item.span): item for item in (() if fn is None else bindings(fn)) if item.span is not None}
    rows = []
    for text, place in lines:
        node = place if isinstance(place, e.Binding) else by_span.get(id(place))
        inner = " " * (len(text) - len(text.lstrip()) + 4)
        rows += [
            Row(part, " ", node, function)
            for part in wrap(visible(text, 600), width, subsequent_indent=inner, drop_whitespace=False)
        ]
    return rows


# -- contract answers ------------------------------------------------------------------------------------------------
# What the `:` line answers about a program with shape contracts: its other forms, a copy for sizes, and its Relax
# module.


TITLES = {
    "desugared": "Contracts as assertions",
    "matches": "Contracts as match_shape statements",
    "split": "Shape functions apart from the data",
}
"""The forms that are shown as text, by the names of their commands."""


def answer(app: Controls, command: str, text: str) -> None:
    """Answer a command about the open program. If that has no contracts, a notice tells what the command needs."""
    contracts = app.state.solving
    if not isinstance(contracts, ContractSteps):
        back = "; 7 goes back to it" if app.stage_control.is_from_contracts else ""
        app.say(f"{command} needs shape contracts, a .shapes file{back}")
    elif command == "relax":
        app.stage_control.open_as_relax(contracts)
    elif (
        command == "keep-branches"
    ):  # look into the functions that are called, branch by branch, or no longer
        app.show_with(keep_branches=not app.state.options.keep_branches)
        app.stage_control.open(app.state.path)
    elif command in TITLES:
        program, terms, form = contracts.program, contracts.terms, FORMS[command]
        _show_form(app, TITLES[command], lambda: form(program, terms))
    elif text:
        program, terms = contracts.program, contracts.terms
        _show_form(app, f"Copy for {visible(text, 60)}", lambda: copy_of(program, terms, text))
    else:
        app.say("copy takes a function and sizes, such as ff: n=8, m=4")


def _show_form(app: Controls, title: str, form: Callable[[], Iterable[str]]) -> None:
    """Show text that is made off the UI thread."""

    def work(job: Job) -> list[str]:
        return [visible(line, 2_000) for line in form()]

    def done(lines: list[str]) -> None:
        app.show_text(title, lines or ["this program has no function with a contract"])

    app.jobs.start("checks", "looking at contracts", work, done)


# -- check list ------------------------------------------------------------------------------------------------------
# The checks of lengths of a stage: which are shown, as rows, and one of them in sentences.


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


def show_checks(app: Controls, text: str) -> None:
    """Show the checks that a `:checks` line asks for."""
    word, _, condition = text.partition(" ")
    shown = word or "remaining"
    stage = app.state.stage
    if shown not in FILTERS or (shown == "given") != bool(condition):
        app.say("checks takes remaining, proved, all, costly, or given, such as given n == 7")
    elif stage is None:
        app.say("no program is open")
    else:
        given = (app.run_control.function(), condition) if condition else ("", "")
        try:
            asked = conditions_of(stage.module, *given)
        except Failure as failure:
            app.show_failures(failure.diagnostics)
            return
        if asked is not None and len(asked) == 1:  # it may name another function
            given = (next(iter(asked)), condition)
        app.show_with(checks=shown, given=given)
        app.show_screen("checks")


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
