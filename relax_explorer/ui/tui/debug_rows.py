"""The rows of the debug pane: text with marks, values, and breakpoints, watches and calls. They need no terminal."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.shape_origins import origin
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.debug_session import DebugSession, Inside
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.rows import ghost
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.debug_text import breakpoint_text, inside_text, place_text, value_text, watch_text

MOST = 200  # rows of values


@dataclass(frozen=True, slots=True)
class DebugView:
    """All rows of the debug pane at one position; made in the thread that moves the debugger."""

    lines: tuple[Row, ...]
    values: tuple[Row, ...]
    watches: tuple[Row, ...]
    points: tuple[Row, ...]  # breakpoints and calls


def debug_view(stage: Snapshot, session: DebugSession) -> DebugView:
    """The rows at the current position."""
    return DebugView(
        tuple(debug_rows(stage, session)),
        tuple(value_rows(session)),
        tuple(watch_rows(session)),
        tuple(point_rows(session)),
    )


def debug_rows(stage: Snapshot, session: DebugSession) -> list[Row]:
    """The text of the function that runs: ▶ now, ● ◆ ○ breakpoint, with a condition, disabled, ✓ done in this call, · not done."""
    debugger, walk = session.debugger, session.debugger.inside
    if walk is not None:
        own = [line for line in stage.printed_short.lines if line.function == walk.name]
        marked = next((n for n, line in enumerate(own) if line.node is walk.stored), 0)
        return [
            Row(line.text, "▶" if n == marked else " ", line.node, line.function)
            for n, line in enumerate(own)
        ]
    frame, now = debugger.frame, debugger.next_binding
    done = {
        at.binding
        for at in frame.plan.code[: frame.pc]
        if at.binding and frame.registers[at.target] is not None
    }
    marks = {binding: _mark(item) for item in debugger.breakpoints for binding in item.bindings}
    rows = []
    for line in stage.printed_short.lines:
        if line.function != frame.name and frame.name in stage.module.functions:
            continue
        gutter = " "
        if isinstance(line.node, (e.VarBinding, e.MatchCast)):
            passed = "✓" if line.node in done else "·"
            gutter = "▶" if line.node is now else marks.get(line.node, passed)
        rows.append(Row(line.text, gutter, line.node, line.function, ghost(line.node)))
    return rows


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
