"""The rows of the debug pane: text with marks, values, and breakpoints, watches and calls. They need no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.shape_origins import origin
from relax_explorer.core.session.debug_session import DebugSession, Inside
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.rows import TableRows
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.debug_text import breakpoint_text, inside_text, place_text, value_text, watch_text
from relax_explorer.viz.ir_table import IrTable

MOST = 200  # rows of values


@dataclass(frozen=True, slots=True)
class DebugView:
    """All rows of the debug pane at one position; made in the thread that moves the debugger."""

    lines: Sequence[Row]
    values: tuple[Row, ...]
    watches: tuple[Row, ...]
    points: tuple[Row, ...]  # breakpoints and calls
    now: int = 0  # the row of the next binding or the last store


def debug_view(stage: Snapshot, session: DebugSession, tables: dict[str, IrTable]) -> DebugView:
    """The rows at the current position. `tables` keeps the tables of the functions of the stage."""
    name = shown_function(stage, session)
    if name not in tables:
        tables[name] = IrTable(stage, name, None if name else ())
    lines = debug_rows(stage, session, tables[name])
    return DebugView(
        lines,
        tuple(value_rows(session)),
        tuple(watch_rows(session)),
        tuple(point_rows(session)),
        _now(session, lines),
    )


def _now(session: DebugSession, lines: TableRows) -> int:
    """The row of the next binding or of the last store; the last row after the end."""
    walk = session.debugger.inside
    node = session.debugger.next_binding if walk is None else walk.stored
    row = None if node is None else lines.row_of(node)
    return row if row is not None else 0 if walk is not None else len(lines) - 1


def debug_rows(stage: Snapshot, session: DebugSession, table: IrTable) -> TableRows:
    """The function that runs: ▶ now, ● ◆ ○ breakpoint, with a condition, disabled, ✓ done in this call, · not done.

    `table` is that of the function.
    """
    debugger, walk = session.debugger, session.debugger.inside
    if walk is not None:
        return TableRows(table, marks={id(walk.stored): "▶"})
    frame, now = debugger.frame, debugger.next_binding
    marks = {id(place.node): "·" for place in table.places if place.kind == "binding"}
    for at in frame.plan.code[: frame.pc]:
        if at.binding and frame.registers[at.target] is not None:
            marks[id(at.binding)] = "✓"
    marks |= {id(binding): _mark(item) for item in debugger.breakpoints for binding in item.bindings}
    if now is not None:
        marks[id(now)] = "▶"
    return TableRows(table, marks=marks)


def shown_function(stage: Snapshot, session: DebugSession) -> str:
    """The function to show: the PrimFunc that is walked, else the one that runs; all if that is nested in another."""
    walk = session.debugger.inside
    name = walk.name if walk is not None else session.debugger.frame.name
    return name if name in stage.module.functions else ""


def _mark(point: Breakpoint) -> str:
    return "○" if not point.is_enabled else "●" if point.condition is None else "◆"


def _inside_rows(session: DebugSession, at: Inside) -> list[Row]:
    """The last store of a PrimFunc, what it read, the loops, and the values of all names."""
    rows = [Row(f"step {session.debugger.position}   {inside_text(at)}")]
    rows += [Row(f"from {name} = {value_text(value)}", "▶") for name, value in at.operands]
    values = session.frames[0].values.items()
    return [*rows, *[Row(f"{name} = {value_text(value)}") for name, value in reversed(values)]][:MOST]


def value_rows(session: DebugSession) -> list[Row]:
    """The last step, the shape variables, and the values of the frame, the newest first."""
    debugger, place = session.debugger, session.place_of(0)
    if isinstance(place, Inside):
        return _inside_rows(session, place)
    shapes = ", ".join(f"{name} = {value}" for name, value in debugger.frame.shape_vars.items())
    depth = " ▸ ".join(frame.name for frame in debugger.frames[-4:]) or "returned"
    rows = [Row(f"step {debugger.position}   {depth}   {shapes}")]
    event, newest = debugger.event, ""
    if debugger.done:
        rows.append(Row(f"result: {value_text(debugger.result)}", "▶"))
    elif event.kind in ("bind", "return") and event.binding is not None and event.binding.var is not None:
        newest = event.binding.var.name
        rows.append(Row(f"{newest} = {value_text(event.value)}", "▶"))
    frame = debugger.frame
    rows += [Row(f"{var.name} = {value} ← {origin(frame, var)}") for var, value in frame.dims.items()]
    values = list(frame.values.items())
    rows += [Row(f"{name} = {value_text(value)}") for name, value in reversed(values) if name != newest]
    return rows[:MOST]


def watch_rows(session: DebugSession) -> list[Row]:
    """The watches with their values; * marks those that changed."""
    return [
        Row(watch_text(item, value, missing), "*" if item.is_changed else " ")
        for item, value, missing in session.watched()
    ]


def point_rows(session: DebugSession) -> list[Row]:
    """The breakpoints with their hits up to here, and the open calls, innermost first."""
    debugger = session.debugger
    stops = debugger.stops
    rows = [
        Row(breakpoint_text(item, debugger.hits_of(item)), "▶" if item in stops else _mark(item))
        for item in debugger.breakpoints
    ]
    for level, frame in enumerate(session.frames[:50]):
        place = place_text(session.place_of(level), frame)
        rows.append(Row(f"{level} {frame.name}, {place}", ">" if level == session.level else " "))
    return rows
