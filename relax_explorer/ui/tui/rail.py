"""The stages as rows of a list, or as one line for a narrow terminal."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside, Kind
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.framed import ButtonLine
from relax_explorer.viz.stage_line import aside_line, stage_line
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import columns, fit, visible


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
            rows += [*_folded(quiet), _aside(inner.pop(0), width)]
            quiet = []
        if is_quiet and not state.options.shows_unchanged:
            quiet.append(stage)
            continue
        rows += _folded(quiet)
        quiet = []
        rows.append(Row(stage_line(stage, _diff(session, stage), width), " ", stage.number))
        rows += off.get(stage.number, [])
    return [*rows, *_folded(quiet), *[_aside(item, width) for item in inner]]


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


def _folded(quiet: list[Snapshot]) -> list[Row]:
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
