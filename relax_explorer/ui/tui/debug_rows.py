"""What the debug screen shows at one position: the program with marks, tables of values, shapes, calls and breakpoints, and lines of steps.

A RunView is made in the thread that moves the debugger. Nothing else reads the debugger, so no screen sees a half-done step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from textwrap import wrap

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.frame import Activation, Frame
from relax_explorer.core.exec.plan import plan
from relax_explorer.core.exec.shape_origins import origin
from relax_explorer.core.exec.shape_panel import shape_panel
from relax_explorer.core.exec.step_count import step_count
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_session import DebugSession, Inside, Place, listing_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.ui.tui.table_rows import TableRows
from relax_explorer.viz.debug_text import breakpoint_text, place_text, watch_text
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.length_text import check_line, constraint_line
from relax_explorer.viz.tables import LazyRows, Row, apart
from relax_explorer.viz.value_table import (
    CELLS,
    HEAD,
    Readers,
    known_readers,
    readers,
    value_columns,
    value_row,
)
from relax_explorer.viz.visible import columns, fit, visible


class DoneValues(Mapping[int, Value]):
    """The values that the bindings of a frame have made so far, by the identity of the binding.

    The registers are copied, for the frame goes on: those that were written, since the garbage collector visits each copy.
    """

    def __init__(self, frame: Frame) -> None:
        self._code, self._places = frame.plan.code, frame.plan.places
        self._registers = frame.registers[: frame.plan.written_before(frame.pc)]

    def __getitem__(self, node: int) -> Value:
        """The value of the last instruction of the binding that was done. Raises KeyError if none was: its register is empty."""
        for place in reversed(self._places[node]):
            slot = self._code[place].target
            if slot < len(self._registers) and self._registers[slot] is not None:
                return self._registers[slot]
        raise KeyError(node)

    def __iter__(self) -> Iterator[int]:
        return (node for node in self._places if node in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class RunMarks(Mapping[int, str]):
    """The marks of the rows of a table, by the identity of the node: some of their own, ✓ for done, · for a binding that is not done."""

    def __init__(self, table: IrTable, done: DoneValues, own: Mapping[int, str]) -> None:
        self._table, self._done, self._own = table, done, own

    def __getitem__(self, node: int) -> str:
        """The mark of a node. Raises KeyError if it has none."""
        mark = self._own.get(node) or ("✓" if node in self._done else "")
        if mark:
            return mark
        if self._table.places[self._table.row_of[node]].kind != "binding":
            raise KeyError(node)
        return "·"

    def __iter__(self) -> Iterator[int]:
        return (node for node in self._table.row_of if node in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True  # a run has marks; to count them would visit each row


# -- debug rows ------------------------------------------------------------------------------------------------------
# What the debug screen shows at one position: the program with marks, and tables of values, shapes, calls and
# breakpoints.


MOST = 200  # rows of a table
NAMES = ((120, 32), (90, 24), (0, 16))  # cells of a name at most in a table of values from a width on
WITH_READERS = 104  # cells of a table of values from which on it tells the readers
IN_ROW = 34  # cells of lengths and loop variables in a row of the narrowest panel
MOST_STEPS = 100  # from an earlier position whose rows are looked at again
LONG = 20_000  # rows of a function from which on constraints are not listed, and readers come later: both take a moment


@dataclass(frozen=True, slots=True)
class CallView:
    """Where a run of the calls of a file is: the number of the call, its line, all functions, and the first steps that are known."""

    number: int
    text: str
    functions: tuple[str, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """One position of a run: where it is, and the rows of all tables."""

    stage: int
    function: str
    position: int
    last: int  # the last step that was reached so far, or the last of all
    now: int  # the row of the next binding or the last store
    node: e.Binding | None  # the next binding
    next: str
    shapes_line: str
    lines: TableRows
    values: ValueRows
    shapes: tuple[Row, ...]
    calls: tuple[Row, ...]
    points: tuple[Row, ...]
    watches: tuple[Row, ...]
    hits: tuple[int, ...] = ()  # positions of the hits of breakpoints
    is_done: bool = False
    knows_end: bool = False  # True if `last` is the last step of all: the run came to its end, or no value decides where it is
    call: CallView | None = None  # of the calls of a file
    store: int | None = (
        None  # the last store of the PrimFunc that is walked, 0 before the first one; None outside
    )
    title: str = ""  # the function, and the PrimFunc that is walked


class ValueRows(LazyRows[Row]):
    """The table of values for one width. A row reads its array when it is drawn. Wide rows tell the readers, too."""

    def __init__(
        self, items: Sequence[tuple[str, Value, str]], width: int = 74, readers: Readers | None = None
    ) -> None:
        super().__init__()
        self.items, self.width, self.readers = items, width, readers
        self._has_readers = readers is not None and width >= WITH_READERS
        width = width - CELLS - 1 if self._has_readers else width
        self._own_width = width
        most = next(most for least, most in NAMES if width >= least)
        longest = max([len(name) for name, _, _ in items[:MOST]], default=most)
        self.name_width = min(max(longest, 6), most)
        self._before: dict[str, Row] = {}  # the rows of the step before, by name

    def after(self, before: ValueRows) -> ValueRows:
        """These rows, which take the text of values that stayed from the rows of another step."""
        if (before.width, before.name_width, before.readers) == (self.width, self.name_width, self.readers):
            self._before = {row.function: row for row in before._rows.values()}
        return self

    def __len__(self) -> int:
        return len(self.items)

    def _made(self, number: int) -> Row:
        name, value, mark = self.items[number]
        old = self._before.get(name)
        if old is not None and old.node is value:
            return old if old.mark == mark else replace(old, mark=mark)
        text = value_row(name, value, self._own_width, self.name_width)
        if self._has_readers and self.readers is not None:
            text = apart(text, self.readers.cells(name), self.width).rstrip()
        return Row(text, mark, value, name)

    def of_width(self, width: int) -> ValueRows:
        """The same values in rows of another width."""
        return self if width == self.width else ValueRows(self.items, width, self.readers)

    @property
    def head(self) -> str:
        """The titles of the columns."""
        text = value_columns(self._own_width, self.name_width).heading
        return apart(text, HEAD, self.width).rstrip() if self._has_readers else text


def prepare(session: Session, stage: Snapshot, name: str, fn: e.Function, tables: dict[str, IrTable]) -> None:
    """Find what a run of a function looks up in its program, before there is a run."""
    listing_of(session, stage.number)
    table = tables[name] = IrTable(stage, name)
    made = plan(fn, name)
    _ = table.row_of, made.places, made.bound_before(0), made.written_before(0)


def run_view(
    stage: Snapshot, session: DebugSession, tables: dict[str, IrTable], before: RunView | None, width: int
) -> RunView:
    """The view of the current position. `tables` keeps the tables of the functions of the stage; rows stay that look as `before`."""
    debugger = session.debugger
    name = shown_function(stage, session)
    if name not in tables:
        tables[name] = IrTable(stage, name, None if name else ())
    lines = marked_lines(session, tables[name])
    place = session.place_of(0)
    fn = stage.module.functions.get(debugger.frame.name)
    found: Readers | None = None
    if type(fn) is e.Function and debugger.inside is None:  # the operands of a kernel have other names
        found = known_readers(fn) if len(lines) > LONG else readers(fn)
    values = ValueRows(_values(session), width, found)
    if before is not None and _keeps_values(session, before.position):
        lines, values = lines.after(before.lines), values.after(before.values)
    for number in range(
        min(len(values), 16)
    ):  # here, so that the first screen of arrays is not read by the UI thread
        values[number]
    hits = {at for item in debugger.breakpoints for at in item.hits}
    last, knows_end = _end(session, before)
    return RunView(
        stage.number, debugger.frame.name, debugger.position, last, _now(session, lines), debugger.next_binding,
        "the run is over" if debugger.done else visible(next_text(place, session.frames[0])), _shapes_line(session), lines, values,
        tuple(islice(_shape_rows(session, len(lines)), MOST)), tuple(_call_rows(session)), tuple(_point_rows(session)), tuple(_watch_rows(session)),
        tuple(sorted(hits)), debugger.done, knows_end,
        _call_view(session), None if debugger.inside is None else debugger.inside.number, _title(session),
    )  # fmt: skip


def _title(session: DebugSession) -> str:
    """The function that runs; a PrimFunc that is walked with the one that calls it."""
    debugger = session.debugger
    return (
        debugger.frame.name if debugger.inside is None else f"{debugger.frame.name} ▸ {debugger.inside.name}"
    )


def _end(session: DebugSession, before: RunView | None) -> tuple[int, bool]:
    """The last step that is known, and whether it is the last of all."""
    debugger = session.debugger
    if debugger.done:
        return debugger.position, True
    if before is not None:
        return max(before.last, debugger.position), before.knows_end
    total = None if session.calls is not None else step_count(debugger.module, debugger.frames[0].name)
    return (debugger.position, False) if total is None else (total, True)


def _call_view(session: DebugSession) -> CallView | None:
    if session.calls is None:
        return None
    number, program = session.calls.number, session.calls.program
    functions = tuple([visible(call.function.rpartition(".")[2], 40) for call in program.calls])
    return CallView(number, visible(program.named_line(number), 300), functions, tuple(session.calls.starts))


def _keeps_values(session: DebugSession, position: int) -> bool:
    """True if no step between a position and the present one wrote into a value."""
    debugger = session.debugger
    first, last = sorted((position, debugger.position))
    return last - first <= MOST_STEPS and not any(
        change.memory or change.states for change in debugger.machine.log[first:last]
    )


def _now(session: DebugSession, lines: TableRows) -> int:
    """The row of the next binding or of the last store; the last row after the end."""
    walk = session.debugger.inside
    node = session.debugger.next_binding if walk is None else walk.stored
    row = None if node is None else lines.row_of(node)
    return row if row is not None else 0 if walk is not None else len(lines) - 1


def marked_lines(session: DebugSession, table: IrTable) -> TableRows:
    """The function that runs: ▶ now, ● ◆ ○ breakpoint, with a condition, disabled, ✓ done in this call, · not done."""
    debugger, walk = session.debugger, session.debugger.inside
    if walk is not None:
        return TableRows(table, marks={id(walk.stored): "▶"})
    own = {id(binding): _mark(item) for item in debugger.breakpoints for binding in item.bindings}
    if debugger.next_binding is not None:
        own[id(debugger.next_binding)] = "▶"
    values = DoneValues(debugger.frame)
    return TableRows(table, marks=RunMarks(table, values, own), values=values)


def shown_function(stage: Snapshot, session: DebugSession) -> str:
    """The function to show: the PrimFunc that is walked, else the one that runs; all if that is nested in another."""
    walk = session.debugger.inside
    name = walk.name if walk is not None else session.debugger.frame.name
    return name if name in stage.module.functions else ""


def _mark(point: Breakpoint) -> str:
    return "○" if not point.is_enabled else "●" if point.condition is None else "◆"


def _values(session: DebugSession) -> list[tuple[str, Value, str]]:
    """Names, values and marks: the result, the value just bound, then the values of the frame, the newest first."""
    debugger, place = session.debugger, session.place_of(0)
    if isinstance(place, Inside):
        found = [(name, value, "▶") for name, value in place.operands]
        return [*found, *[(name, value, " ") for name, value in reversed(session.frames[0].values.items())]]
    event, newest = debugger.event, ""
    rows: list[tuple[str, Value, str]] = []
    if debugger.done:
        rows.append(("result", debugger.result, "▶"))
    elif event.kind in ("bind", "return") and event.binding is not None and event.binding.var is not None:
        newest = event.binding.var.name
        rows.append((newest, event.value, "▶"))
    values = list(debugger.frame.values.items())
    return [
        *rows,
        *[
            (name, value, " ")
            for name, value in reversed(values)
            if not (type(value) is tuple and _is_nothing(name, value)) and name != newest
        ],
    ]


def _is_nothing(name: str, value: Value) -> bool:
    """True for what a call for its effect returns; lowered programs have hundreds."""
    return isinstance(value, tuple) and not value and name.startswith("_")


def _shapes_line(session: DebugSession) -> str:
    shapes = session.debugger.frame.shape_vars.items()
    return visible(", ".join(f"{name} = {value}" for name, value in shapes), 120)


def _shape_rows(session: DebugSession, size: int) -> Iterator[Row]:
    """Shape variables with their origins, what mentions them, and the checks."""
    if session.debugger.inside is not None:
        place = session.place_of(0)
        loops = place.loops if isinstance(place, Inside) else {}
        lengths = session.frames[0].shape_vars  # first, since loops have many variables
        for group in (lengths, loops):
            yield from _sentences(
                wrap(", ".join(f"{name} = {value}" for name, value in group.items()), IN_ROW)
            )
    elif size > LONG:
        frame = session.debugger.frame
        yield from _sentences(
            f"{var.name} = {value} ← {origin(frame, var)}" for var, value in frame.dims.items()
        )
    else:
        panel = shape_panel(session.debugger)
        for variable in panel.variables:
            yield from _sentences([str(variable), *[f"    {line}" for line in variable.before]])
            own = [item for item in variable.constraints if item.dimension != variable.name or item.count > 1]
            for item in own[:6]:
                yield Row(visible(f"  {constraint_line(item)}"), "✗" if item.holds is False else " ")
        yield from _sentences(check_line(item, False) for item in panel.checks)
        if not panel.variables and not panel.checks:
            yield Row(f"{visible(panel.function)} has no shape variables")


def _sentences(texts: Iterable[str]) -> Iterator[Row]:
    return (Row(visible(text)) for text in texts)


def _call_rows(session: DebugSession) -> Iterator[Row]:
    """The open calls, innermost first, each with its shape variables."""
    for level, frame in enumerate(session.frames[:50]):
        where = next_text(session.place_of(level), frame)
        text = f"{level} {frame.name}{lengths_text(frame.shape_vars)}, {where}"
        yield Row(visible(text), ">" if level == session.level else " ")


def next_text(place: Place | Inside | None, frame: Activation) -> str:
    """`y = R.add(x, x)` as written, if the text has a line for it: the mark ▶ stands at its row, which has its number."""
    if not isinstance(place, Place) or not place.line:
        return place_text(place, frame)
    var = place.binding.var
    # a line may compute several values, of which only the last has its name
    is_inner = var is not None and not re.match(rf"{re.escape(var.name)}\b", place.text)
    return binding_text(place.binding) if is_inner else place.text


def lengths_text(lengths: Mapping[str, int]) -> str:
    """` n=4 m=8`; empty if a frame has no shape variables."""
    return "".join([f" {name}={value}" for name, value in lengths.items()])


def _point_rows(session: DebugSession) -> Iterator[Row]:
    """The breakpoints with their hits up to here."""
    debugger = session.debugger
    for item in debugger.breakpoints:
        text = breakpoint_text(item, debugger.hits_of(item))
        yield Row(visible(text), "▶" if item in debugger.stops else _mark(item), item.number)


def _watch_rows(session: DebugSession) -> Iterator[Row]:
    """The watches with their values; * marks those that changed."""
    for item, value, missing in session.watched():
        mark = "*" if item.is_changed else " "
        yield Row(visible(watch_text(item, value, missing)), mark, value, item.expression.text)


# -- timeline --------------------------------------------------------------------------------------------------------
# The steps of a run as one line: done, now, not yet; breakpoints that hit.


def timeline(view: RunView, width: int) -> str:
    """`━━━●━▶┄┄┄ step 6 of 12`, at most `width` cells.

    The end is the last step of all, or the last one that was reached so far, with `+`. `┼` starts a call of a file.
    """
    label = _label(view)
    cells = max(1, width - len(label) - 1)
    now = column(view.position, view.last, cells)
    line = ["━" if n < now else "┄" for n in range(cells)]
    for start in view.call.starts[1:] if view.call is not None else ():
        if start <= view.last:
            line[column(start, view.last, cells)] = "┼"
    for hit in view.hits:
        if hit <= view.last:
            line[column(hit, view.last, cells)] = "●"
    line[now] = "▶"
    return f" {''.join(line)}{label}"


def _label(view: RunView) -> str:
    """`+` while nobody knows how many steps follow; inside a PrimFunc the store, too."""
    store = "" if view.store is None else f", store {view.store}"
    return f" step {view.position} of {view.last}{'' if view.knows_end else '+'}{store} "


def column(position: int, last: int, cells: int) -> int:
    """The cell of a step."""
    return 0 if last <= 0 else min(cells - 1, position * (cells - 1) // last)


def step_at(cell: int, view: RunView, width: int) -> int:
    """The step that a cell of the line shows."""
    label = _label(view)
    cells = max(1, width - len(label) - 1)
    place = max(0, min(cells - 1, cell - 1))
    return 0 if cells == 1 else round(place * view.last / (cells - 1))


# -- call line -------------------------------------------------------------------------------------------------------
# The calls of a file in one line: the one that runs, and a bar of all of them.


LEAST_BAR = 100  # cells of the line from which on it has a bar
_TEXT = 0.42  # of the line, at most, for the call if there is a bar
_SHORTEST = 6  # cells of a call in the bar
_MOST = 40  # calls in the bar


def call_line(view: CallView, position: int, last: int, width: int) -> str:
    """` call 3 of 5  decode(ids=[[8]], total=4)   ├─init┼──prefill──┼─decode▶┼─decode─┤  step 97 of 214`, at most `width` cells."""
    head = f" call {view.number} of {len(view.functions)}  {view.text}"
    if width < LEAST_BAR:
        return fit(head, width - 1)
    end = f"  step {position} of {last} "
    head = fit(head, int(width * _TEXT))
    room = width - columns(head) - columns(end) - 3
    shown = bar(view, room)
    gap = " " * (room - columns(shown) + 3)
    return f"{head}{gap}{shown}{end}"


def bar(view: CallView, width: int) -> str:
    """The calls side by side, as long as their names have room; else those around the one that runs."""
    number = view.number - 1
    most = max(1, min(_MOST, (width - 1) // (_SHORTEST + 1)))
    first = max(0, min(number - most // 2, len(view.functions) - most))
    shown = view.functions[first : first + most]
    each = max(_SHORTEST, min(14, (width - 1) // len(shown) - 1))
    cells = []
    for place, name in enumerate(shown, first):
        mark = "▶" if place == number else "─"
        text = name.lstrip("_")[: each - 2]
        cells.append(f"─{text}{mark}{'─' * (each - 2 - columns(text))}")
    left, right = "├" if not first else "┄", "┤" if first + len(shown) == len(view.functions) else "┄"
    return f"{left}{'┼'.join(cells)}{right}"
