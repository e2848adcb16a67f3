"""The rows of the screens: programs, problems, histories, and the list of stages. They are made from snapshots and need no terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.scope import origin
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.layer_names import layer_of
from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.compiled import Compiled
from relax_explorer.core.session.recorded import kernel_history
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Kind
from relax_explorer.core.shapes.residual import checks_at
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.tui.state import Selection, State
from relax_explorer.ui.tui.table_rows import BesideRows, TableRows
from relax_explorer.ui.tui.widgets.framed import ButtonLine
from relax_explorer.viz.compact import Compact
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.problem import render
from relax_explorer.viz.short import short_info
from relax_explorer.viz.stage_line import (
    KERNEL_MARKS,
    TRACE_MARKS,
    aside_line,
    change_counts,
    history_line,
    stage_line,
)
from relax_explorer.viz.table_diff import CONTEXT, GLYPHS, UNMARKED, TableDiff, group_text, unit_node
from relax_explorer.viz.table_diff import lines as diff_lines
from relax_explorer.viz.tables import Row, cell, plain
from relax_explorer.viz.visible import columns, counted, fit, visible

if TYPE_CHECKING:
    from relax_explorer.core.session.align import Trace

T = TypeVar("T")
_MESSAGE_WIDTH = 76  # a message is read whole in a terminal of 80 columns: only its frame is beside it


def ghost(node: object) -> str:
    """The StructInfo of a binding in a few characters."""
    var = node.var if isinstance(node, (e.VarBinding, e.MatchCast)) else None
    return "" if var is None or var.name == "_" else visible(short_info(var.struct_info), 36)


def cursor_in(shown: Sequence[Row], stage: Snapshot, selection: Selection, moved: bool) -> int:
    """The row to put the cursor on: the same binding, the same variable, the first change if the stage is another one, or the entry."""
    if isinstance(shown, TableRows):
        found = shown.row_of(selection.binding) if selection.binding is not None else None
        if found is None and selection.variable:
            found = shown.row_called(selection.function, selection.variable)
        changes = shown.changes() if found is None and moved else []
        if found is not None and _variable(shown.everything[found]) != selection.variable:  # it is left out
            found = next((number for number in shown.changes() if number >= found), found)
        start = selection.function if selection.function in stage.module.functions else stage.entry
        number = found if found is not None else changes[0] if changes else shown.start_of(start)
        return shown.line_of(number)
    same = (n for n, row in enumerate(shown) if row.node is not None and row.node is selection.binding)
    named = (n for n, row in enumerate(shown) if selection.variable and _variable(row) == selection.variable)
    changed = (n for n, row in enumerate(shown) if moved and row.mark != " ")
    entry = (n for n, row in enumerate(shown) if row.function == stage.entry)
    return next(chain(same, named, changed, entry), 0)


def _variable(row: Row) -> str:
    var = row.node.var if isinstance(row.node, (e.VarBinding, e.MatchCast)) else None
    return "" if var is None else str(var.name)


def marked_runs(shown: Sequence[Row]) -> list[int]:
    """The first row of each run of rows with a mark; rows in folds count."""
    if isinstance(shown, TableRows):
        return shown.changes()
    marked = [row.mark != " " for row in shown]
    return [n for n, is_marked in enumerate(marked) if is_marked and not (n and marked[n - 1])]


def function_starts(shown: Sequence[Row]) -> list[int]:
    """The first row of each function; rows in folds count."""
    if isinstance(shown, TableRows):
        return shown.starts()
    names = [row.function for row in shown]
    return [n for n, name in enumerate(names) if name and (n == 0 or names[n - 1] != name)]


def uses(stage: Snapshot, selection: Selection) -> list[e.Binding]:
    """The definition of the selected variable, and the bindings that read it, in order."""
    fn, binding = stage.module.functions.get(selection.function), selection.binding
    if type(fn) is not e.Function or binding is None or binding.var is None:
        return []
    derived = facts(fn)
    return [binding, *[derived.bindings[n] for n in derived.users(binding.var) if n < len(derived.bindings)]]


def table_of(stage: Snapshot) -> IrTable:
    """The table of a stage with all lines of its kernels."""
    return IrTable(stage, opened=None)


class Recent:
    """The tables and rows that were made last: neighbouring stages share a table, and to come back makes nothing."""

    MOST = 8

    def __init__(self) -> None:
        self._made: dict[Hashable, object] = {}

    def __len__(self) -> int:
        return len(self._made)

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for this key, or made now. A key goes with one kind of thing."""
        found = cast("T", self._made.pop(key)) if key in self._made else make()
        self._made[key] = found  # the newest is the last
        while len(self._made) > self.MOST:
            del self._made[next(iter(self._made))]
        return found


def compact_rows(
    session: Session,
    stage: Snapshot,
    mode: str,
    opened: Collection[str],
    width: int = 0,
    shift: int = 0,
    since: int | None = None,
    recent: Recent | None = None,
    layers: int = 0,
) -> TableRows:
    """A stage as a table. `mode` is inline (changes against the stage before, with removed rows), beside (the stage before at the
    left, in `width` cells from cell `shift` on), only (changes alone), or off.

    Changes are those since the stage before, or since `since`. `opened` are the kernels with all lines. A kernel that changed shows all of them too.
    `recent` keeps what is made. `layers` are the cells for the layer of each binding with its StructInfo, but
    where two stages stand side by side.
    """
    made, opened = Recent() if recent is None else recent, frozenset(opened)

    def table(at: Snapshot, shown: frozenset[str]) -> IrTable:
        return made((at, shown), lambda: IrTable(at, opened=shown))

    def rows() -> TableRows:
        if mode == "off" or not stage.number:
            return TableRows(table(stage, opened), layers=layers)
        base = stage.number - 1 if since is None else since
        diff = session.diff(base, stage.number)
        shown = opened | {fn.name for fn in diff.functions if fn.status == "changed"}
        before, after = table(session.stages[base], shown), table(stage, shown)
        found = TableDiff(before, after, diff, CONTEXT if mode == "only" else None)
        return (
            BesideRows(after, found, width, shift)
            if mode == "beside"
            else TableRows(after, found, layers=layers)
        )

    place = (width, shift) if mode == "beside" else ()
    return made((stage, mode, opened, place, since, layers), rows)


def text_rows(
    session: Session, stage: Snapshot, mode: str, is_full: bool, since: int | None = None
) -> list[Row]:
    """The text of a stage as TVMScript: with StructInfo as written if `is_full`, else at the right. `mode` as in `compact_rows`."""
    base = stage.number - 1 if since is None else since
    if mode == "only" and stage.number:
        found = diff_lines(session.diff(base, stage.number))
        return [replace(line, note="") for line in found] or [Row("nothing changed")]
    marks: dict[Any, str] = {}
    if mode == "inline" and stage.number:
        for fn in session.diff(base, stage.number).functions:
            for pair in fn.pairs:
                if pair.b is not None and pair.kind not in UNMARKED:
                    marks[unit_node(fn.new[pair.b])] = GLYPHS[pair.kind]
    printed = stage.printed if is_full else stage.printed_short
    return [
        Row(
            line.text,
            marks.get(line.node, " "),
            line.node,
            line.function,
            "" if is_full else ghost(line.node),
        )
        for line in printed.lines
    ]


def problem_rows(problem: Diagnostic, where: str = "") -> list[Row]:
    """A diagnostic: first the message, because paths are long, then place, excerpt, notes and hint."""
    shown = _folded(f"{problem.level}[{problem.code}]: {visible(problem.message)}")
    place = (
        f"{visible(problem.span.source.filename)}:{problem.span.line}:{problem.span.file_column}"
        if problem.span
        else ""
    )
    shown += [Row(f"  {text}") for text in (where, place) if text]
    for line in render(problem).split("\n")[1:]:
        shown += _folded(line, "    ") if line.startswith(_SENTENCES) else [Row(line)]
    return [*shown, Row("")]


_SENTENCES = ("  note: ", "  hint: ", "  origin: ")  # other lines below a message are those of the program


def _folded(line: str, indent: str = "  ") -> list[Row]:
    """A sentence in as many rows as it needs."""
    parts = textwrap.wrap(line, _MESSAGE_WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    return [Row(part) for part in parts]


def detail_lines(session: Session, stage: Snapshot, selection: Selection) -> list[str]:
    """Details of the selected binding: StructInfo, operator, uses."""
    binding = selection.binding
    var = getattr(binding, "var", None)
    fn = stage.module.functions.get(selection.function)
    if binding is None or var is None or type(fn) is not e.Function:
        problems = [visible(f"{p.code} {p.message}") for p in stage.problems[:3]]
        time = f", {stage.seconds * 1000:.0f} ms" if stage.seconds else ""  # a folder of stages does not tell
        ran = [visible(f"run by {stage.run_by}")] if stage.run_by else []
        return [visible(f"{stage.made_by}: {stage.phase}{time}"), *ran, *_function_line(fn), *problems]
    derived = facts(fn)
    number = derived.number.get(binding)
    kind = "DataflowVar" if isinstance(var, e.DataflowVar) else "Var"
    lines = [
        f"{var.name}: {var.struct_info}",
        f"{kind} #{0 if number is None else number + 1} of {selection.function}, read by {_readers(derived, var)}",
    ]
    if number is not None:
        read = [_numbered(derived, item) for item in derived.operands[number]]
        lines.append(f"reads {', '.join(read)}" if read else "reads nothing")
    lines[2:2] = _called(session, stage, binding)
    lines.append(origin(binding))
    if layer := layer_of(fn, binding):
        lines.append(f"in layer {layer}, as names of weights tell")
    lines[1:1] = [  # a terminal of 24 lines shows three
        *_regrouped(session, stage, selection),
        *_shape_checks(stage, binding, len(derived.bindings)),
    ]
    return [visible(line) for line in lines]


def _readers(derived: Facts, var: e.Var) -> str:
    users = derived.users(var)
    named = [
        _numbered(derived, item.var)
        for n in users[:6]
        if n < len(derived.bindings) and (item := derived.bindings[n]).var
    ]
    more = [f"{len(users) - 6} more"] if len(users) > 6 else []
    result = ["the result"] if users and users[-1] == len(derived.bindings) else []
    return ", ".join([*named, *more, *result]) or "nothing"


def _numbered(derived: Facts, var: e.Var) -> str:
    number = derived.defs.get(var)
    return (
        f"{var.name} #{number + 1}"
        if number is not None
        else f"{var.name} (parameter)"
        if var in derived.params
        else var.name
    )


def callee(binding: e.Binding | None) -> str:
    """The function or kernel of the module that a binding calls; empty if it calls none."""
    value = binding.value if binding is not None else None
    if type(value) is not e.Call:
        return ""
    if isinstance(value.op, e.GlobalVar):
        return value.op.name
    return next((arg.name for arg in value.args[:1] if isinstance(arg, e.GlobalVar)), "")


def _called(session: Session, stage: Snapshot, binding: e.Binding) -> list[str]:
    """A remark on a callee that this stage changed."""
    name = callee(binding)
    if not name or not stage.number or not stage.changed:
        return []
    statuses = {fn.name: fn.status for fn in session.diff(stage.number - 1, stage.number).functions}
    word = {"changed": "changed", "added": "added"}.get(statuses.get(name, ""))
    return [f"calls {name}, {word} here; Enter goes there"] if word else []


def _regrouped(session: Session, stage: Snapshot, selection: Selection) -> list[str]:
    """What the pass of this stage made the value from, if that was several bindings, or made of it. `≈` if no record tells."""
    if not stage.number or not stage.changed:
        return []
    for fn in session.diff(stage.number - 1, stage.number).functions:
        for group in fn.groups.values() if fn.name == selection.function else ():
            if fn.new[group.new[-1]] is selection.binding:
                return [f"{group_text(fn, group)} by {stage.made_by}{'' if group.exact else ' ≈'}"]
    return []


_MOST_CHECKED = 3000  # bindings: their checks take 50 ms once, which a key may wait


def _shape_checks(stage: Snapshot, binding: e.Binding, size: int) -> list[str]:
    """The checks of lengths that this binding demands: proved, or left to the run, and why."""
    if size > _MOST_CHECKED:
        return []
    words = {Answer.YES: "proved", Answer.UNKNOWN: "left to the run", Answer.NO: "fails in every run"}
    return [
        f"{words[check.answer]}: {check.text}"
        + (
            f", because {'; '.join(map(str, check.proof))}"
            if check.proof
            else f"; {check.why}"
            if check.why
            else ""
        )
        for check in checks_at(stage.module, binding)
    ]


def history_rows(session: Session, selection: Selection) -> list[Row]:
    """The history of the selected variable, and behind it the instructions of the executable that were made of it."""
    traces = _traces(session, selection)
    found = [
        Row(
            visible(history_line(trace.label, _doubt(trace), trace.made_by, _trace_text(trace))),
            "▌" if trace.stage == selection.stage else "~" if is_change else " ",
            (trace.stage, trace.bindings[0] if trace.bindings else None),
            selection.function,
        )
        for trace, is_change in traces
    ]
    return [*found, *_instruction_rows(session, found[-1].node[1] if found else None)]


def doubts(found: Sequence[Row]) -> str:
    """What the marks of doubt in a history mean: `  ≈ likely, ? perhaps the same value`; empty without one."""
    shown = [
        f"{mark} {text.split()[0]}"
        for mark, text in TRACE_MARKS.items()
        if any(f" {mark} " in row.text for row in found)
    ]
    return f"  {', '.join(shown)} the same value" if shown else ""


def _doubt(trace: Trace) -> str:
    """The mark of a value that is not surely the same; a blank for others, since `=` would say that nothing changed."""
    return trace.mark if trace.mark in TRACE_MARKS else " "


def _instruction_rows(session: Session, last: e.Binding | None) -> list[Row]:
    """The instructions of the executable that were made of a binding of the last stage."""
    made = _compiled(session) if last is not None else None
    if made is None or last is None:
        return []
    name = Path(made.path).name
    return [
        Row(visible(history_line("vm", "≈", name, made.text(place))), "~", None, place[0])
        for place in made.of([last])
    ]


def instructions_with(session: Session, text: str) -> list[Row]:
    """The instructions of the executable whose text contains `text`; each leads to the binding of the last stage that it came from."""
    made = _compiled(session)
    if made is None:
        return []
    last, found = session.stages[-1].number, []
    for function, number in made.found(text):
        place = made.links.place(function, number)
        node = place if isinstance(place, (e.VarBinding, e.MatchCast)) else None
        line = f" vm {Path(made.path).name:<18} {function} {made.text((function, number))}"
        found.append(Row(visible(line), " ", (last, node), function))
    return found


def _compiled(session: Session) -> Compiled | None:
    try:
        return session.compiled()
    except ParseError:  # the file is damaged; `diff FOLDER --between 1..executable` tells where
        return None


def has_kernel(stage: Snapshot, name: str) -> bool:
    """True if a stage has a kernel of this name."""
    return type(stage.module.functions.get(name)) is PrimFunc


def kernel_rows(session: Session, name: str, here: int) -> list[Row]:
    """The stages that made, changed or removed a kernel, and stage `here`. Those of the host build come last."""
    found: list[Row] = []
    for trace in kernel_history(session, name):
        stage, mark = trace.stage, KERNEL_MARKS.get(trace.change, " ")
        text = trace.change or "no kernel"
        if trace.diff is not None:
            text = f"changed: {change_counts(ModuleDiff((trace.diff,)))}"
        if mark != " " or (stage.number == here and found):
            line = history_line(stage.label, mark, stage.made_by, text)
            gutter = "▌" if stage.number == here else mark
            beside = next(
                (item for item in session.asides for own in item.stages if own.number == stage.label), None
            )
            node = (stage.number, None) if beside is None else beside
            found.append(Row(visible(line), gutter, node, name))
    return found


def _function_line(fn: object) -> list[str]:
    """What a function consists of."""
    if type(fn) is not e.Function:
        return []
    bindings = sum(len(block.bindings) for block in fn.body.blocks)
    parts = [
        counted(len(fn.params), "parameter"),
        counted(bindings, "binding"),
        *["private"] * fn.is_private,
        *["impure"] * (fn.pure is False),
    ]
    return [", ".join(parts)]


def history_lines(session: Session, selection: Selection) -> list[str]:
    """The stages that write the selected variable in another way, and the selected stage, in short lines."""
    found: list[tuple[Trace, bool, str]] = []
    before = ""
    for trace, _ in _traces(session, selection):
        text = _trace_text(trace, ("_", selection.variable))
        if trace.stage == selection.stage or text != before:
            found.append((trace, before not in ("", text), text))
        before = text
    wide = min(16, max([columns(trace.made_by) for trace, _, _ in found], default=0))
    return [
        f"{'▌' if trace.stage == selection.stage else ' '}{trace.label:>2} {cell(visible(trace.made_by), wide)} "
        f"{'~' if is_change else ' '}{_doubt(trace)} {visible(text)}"
        for trace, is_change, text in found
    ]


def _traces(session: Session, selection: Selection) -> list[tuple[Trace, bool]]:
    """The value of the selected variable in each stage, and whether the stage changed it."""
    from relax_explorer.core.session.align import history

    if selection.binding is None:
        return []
    found = history(session.stages, selection.stage, selection.function, selection.binding)
    texts = ["" if trace.gone else _trace_text(trace) for trace in found]
    return [(trace, n > 0 and texts[n] != texts[n - 1]) for n, trace in enumerate(found)]


def _trace_text(trace: Trace, known: Collection[str] = ()) -> str:
    """What the value is in a stage; `known` names are left out."""
    return trace.absence if trace.gone else "; ".join(_binding_text(b, known) for b in trace.bindings)


def _binding_text(binding: e.Binding, known: Collection[str]) -> str:
    name = binding.var.name if binding.var is not None else "_"
    info = short_info(binding.var.struct_info if binding.var is not None else None)
    return f"{'' if name in known else f'{name} = '}{plain(Compact(Names()).binding(binding))}  {info}"


# -- rail ------------------------------------------------------------------------------------------------------------
# The stages as rows of a list, or as one line for a narrow terminal.


@dataclass(frozen=True, slots=True)
class OffPass:
    """What the row of a pass that is off stands for: its number in the plan."""

    number: int


@dataclass(frozen=True, slots=True)
class Folder:
    """What the row of stages beside the main lineage, or of those around these, stands for: the path that opens them."""

    path: str


def rail_rows(state: State, width: int) -> list[Row]:
    """A row for each stage. Runs of stages that changed nothing become one row, unless they are asked for or selected."""
    session = state.session
    if session is None:
        return []
    rows: list[Row] = []
    quiet: list[Snapshot] = []
    off = _off(state, width)
    inner = list(session.asides)
    if session.outer:
        rows.append(
            Row(f"▴ {fit(visible(Path(session.outer).name, 60), width - 3)}/", " ", Folder(session.outer))
        )
    for stage in session.stages[: state.stages]:
        is_quiet = not stage.changed and not stage.problems and stage.number != state.selection.stage
        is_quiet = is_quiet and stage.number not in off
        while inner and inner[0].before is not None and inner[0].before <= stage.label:
            rows += [*_quiet_rows(quiet), _aside(inner.pop(0), width)]
            quiet = []
        if is_quiet and not state.options.shows_unchanged:
            quiet.append(stage)
            continue
        rows += _quiet_rows(quiet)
        quiet = []
        rows.append(Row(stage_line(stage, _diff(session, stage), width), " ", stage.number))
        rows += off.get(stage.number, [])
    return [*rows, *_quiet_rows(quiet), *[_aside(item, width) for item in inner]]


def _aside(item: Aside, width: int) -> Row:
    """The row of stages beside the main lineage. Pass managers are headings: what they hold stands above."""
    glyph = "─" if item.kind is Kind.MANAGER else "▸"
    return Row(f"{glyph} {fit(aside_line(item), width - 2)}", " ", Folder(item.path))


def _off(state: State, width: int) -> dict[int, list[Row]]:
    """The rows of the passes that are off, by the stage before them."""
    found: dict[int, list[Row]] = {}
    stage = 0
    for number, entry in enumerate(state.plan.entries if state.plan is not None else ()):
        if entry.is_on:
            stage += 1
        else:
            text = fit(f"✗ off {visible(str(entry.step), 60)}", width)
            found.setdefault(stage, []).append(Row(text, " ", OffPass(number)))
    return found


def _quiet_rows(quiet: list[Snapshot]) -> list[Row]:
    if not quiet:
        return []
    first, last = quiet[0], quiet[-1]
    if first is last:
        return [Row(f"○ {first.label} {visible(first.made_by, 60)}", " ", first.number)]
    return [Row(f"○ {first.label}–{last.label} ({len(quiet)} unchanged)", " ", first.number)]


def _diff(session: Session, stage: Snapshot) -> ModuleDiff | None:
    return session.diff(stage.number - 1, stage.number) if stage.number and stage.changed else None


def strip_line(state: State, width: int) -> ButtonLine:
    """The stage between its neighbours that changed the module: `‹ 3 A +1 │▌4 B ~2 │ 5 C ›`. A click goes there, or opens the list."""
    session, here, line = state.session, state.stage, ButtonLine()
    if session is None or here is None:
        return line
    known = session.stages[: state.stages]
    before = [item for item in known[: here.number] if item.changed][-1:]
    after = [item for item in known[here.number + 1 :] if item.changed][:1]
    room = max(12, (width - 10) // (1 + len(before) + len(after)))
    left_part, right_part = [[_short(session, item, room) for item in items] for items in (before, after)]
    taken = sum(columns(part) for part in [*left_part, *right_part])
    own = max(room, width - 10 - taken)  # what the neighbours leave
    middle = f"▌{stage_line(here, _diff(session, here), own).removeprefix('● ').removeprefix('○ ')}"
    parts = [
        re.sub("  +", "  ", part) for part in (*left_part, middle, *right_part)
    ]  # no columns in one line
    left, right = "‹" if before else " ", "›" if after else " "
    back, forward = "stage(-1, True)" if before else "", "stage(1, True)" if after else ""
    line.write(f" {left} ", back)
    for number, part in enumerate(parts):
        line.write(" │ " if number else "")
        line.write(part, back if number < len(before) else "next_pane" if number == len(before) else forward)
    line.write(f" {right}", forward)
    if line.width > width:
        line.text.truncate(width, overflow="ellipsis")
    return line


def _short(session: Session, stage: Snapshot, room: int) -> str:
    return stage_line(stage, _diff(session, stage), room).removeprefix("● ")
