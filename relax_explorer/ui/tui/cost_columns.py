"""Columns of costs beside the bindings of a program, and the lines of `:` that ask for them and for heat in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.core.arith.polynomial import Polynomial
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.amounts import Lengths
from relax_explorer.core.cost.program_cost import Cost, ModuleCosts
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.shape_origins import binders
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.cost_rows import lengths_in
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.line_words import COUNTED, MEASURES, STORAGES
from relax_explorer.ui.tui.pictures import measured
from relax_explorer.viz.cost_text import bytes_text, change_text, number_text
from relax_explorer.viz.marked_graph import amount_text
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import columns as cells
from relax_explorer.viz.visible import fit

if TYPE_CHECKING:
    from relax_explorer.core.exec.one_run import BindingTimes
    from relax_explorer.core.session.snapshot import Snapshot
    from relax_explorer.ui.tui.state import Options

TITLES = {"flops": "FLOPs", "moved": "moved", "peak": "held", "time": "time"}
"""The columns, each with its title."""
_FORMATS = {"flops": number_text, "moved": bytes_text, "peak": bytes_text}
_NUMBER, _FORMULA = 9, 20  # cells of a column with numbers alone, and with expressions


@dataclass(frozen=True, slots=True)
class Counts:
    """What the functions of a module cost: for each binding, by identity, and in all; and times of those that ran."""

    bindings: Mapping[int, Mapping[str, Polynomial]]
    totals: Mapping[str, Mapping[str, Polynomial]]


_KNOWN: PerNode[Counts] = PerNode()
_TIMES: PerNode[Mapping[str, Mapping[int, float]]] = (
    PerNode()
)  # of each function that was measured, by bindings
_NO_TIMES: Mapping[str, Mapping[int, float]] = {}


def counts_of(module: IRModule) -> Counts:
    """The counts of all functions of a module. Large modules take seconds."""
    costs, rows = ModuleCosts(module), dict[int, dict[str, Polynomial]]()
    totals: dict[str, dict[str, Polynomial]] = {}
    for name in module.relax_functions:
        cost = costs.of(name)
        for row in cost.bindings:
            held = cost.held(row.binding)
            own = {"flops": row.work.flops, "moved": row.work.moved}
            rows[id(row.binding)] = own if held is None else {**own, "peak": held.polynomial}
        totals[name] = _totals(cost)
    return Counts(rows, totals)


def _totals(cost: Cost) -> dict[str, Polynomial]:
    total = cost.work.total
    return {"flops": total.flops, "moved": total.moved, "peak": cost.peak.amount}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: titles beside the head of a function, what it costs in all beside its result."""

    kinds: tuple[str, ...]
    lengths: Mapping[str, int]
    counts: Counts
    times: Mapping[str, Mapping[int, float]]
    widths: Mapping[str, int]
    room: int

    def beside(self, row: Row) -> str:
        """What stands at the right of a row: its StructInfo, if there is room, and its cells."""
        found = "".join([f"{fit(text, width - 1):>{width}}" for text, width in self._cells(row)])
        return f"{row.right}{found}" if cells(row.right) + cells(found) <= self.room else found

    def _cells(self, row: Row) -> list[tuple[str, int]]:
        return [(self._cell(row, kind), self.widths[kind]) for kind in self.kinds]

    def _cell(self, row: Row, kind: str) -> str:
        if row.kind == "head":
            return TITLES[kind]
        if kind == "time":
            return self._time(row)
        if isinstance(row.node, e.VarBinding | e.MatchCast):
            return self._text(kind, self.counts.bindings.get(id(row.node), {}).get(kind))
        of_all = self.counts.totals.get(row.function, {}) if row.kind == "return" else {}
        return self._text(kind, of_all.get(kind))

    def _time(self, row: Row) -> str:
        of_function = self.times.get(row.function, {})
        if row.kind == "return" and of_function:
            return amount_text(of_function.get(0, 0.0), "time")
        seconds = of_function.get(id(row.node))
        return "" if seconds is None else amount_text(seconds, "time")

    def _text(self, kind: str, poly: Polynomial | None) -> str:
        if poly is None:
            return ""
        return shown(kind, poly, self.lengths) if poly else "·"

    def change(self, before: Counts, function: str) -> str:
        """How the counts of a function differ from those of an earlier stage: `FLOPs same, moved −31 %`; empty if all are the same."""
        old, new = before.totals.get(function, {}), self.counts.totals.get(function, {})
        parts = []
        for kind in self.kinds:
            if kind in old and kind in new:
                pair = [amounts.value(side[kind], _probed(side[kind], self.lengths)) for side in (old, new)]
                text = change_text(*pair).strip(" ()")
                parts += [f"{TITLES[kind]} {text}"] * bool(text)
        return ", ".join(parts)


def shown(kind: str, poly: Polynomial, lengths: Mapping[str, int]) -> str:
    """An amount: a number if all of its lengths are given, else the expression."""
    number = amounts.value(poly, _named(poly, lengths))
    return _FORMATS[kind](number) if number is not None else amounts.text(poly)


def _named(poly: Polynomial, lengths: Mapping[str, int]) -> Lengths:
    return {var: lengths[var.name] for var in amounts.variables(poly) if var.name in lengths}


def _probed(poly: Polynomial, lengths: Mapping[str, int]) -> Lengths:
    return dict.fromkeys(amounts.variables(poly), amounts.PROBE) | dict(_named(poly, lengths))


def _widths(kinds: tuple[str, ...], counts: Counts, lengths: Mapping[str, int], room: int) -> dict[str, int]:
    """Cells of the columns, with a gap: as few as the largest text takes, and no more than an expression may."""
    widths = dict.fromkeys(kinds, min(_NUMBER, room // len(kinds)))
    most = min(_FORMULA, room // len(kinds))
    for own in (*counts.bindings.values(), *counts.totals.values()):
        for kind in kinds:
            poly = own.get(kind)
            if poly is not None and widths[kind] < most and any(atoms for atoms in poly):
                widths[kind] = min(most, max(widths[kind], cells(shown(kind, poly, lengths)) + 2))
    return widths


_LAST: PerNode[Columns] = PerNode()


# -- counting --------------------------------------------------------------------------------------------------------
# Counts of a stage are found by a job, once; a screen draws without them until then.


def columns_of(
    app: Host, options: Options, stage: Snapshot, width: int, redraw: Callable[[], None]
) -> Columns | None:
    """The columns that were asked for, for lines of so many cells; None if there are none, or none yet: then `redraw` is called later."""
    if not options.columns:
        return None
    counts = known(app, stage, redraw)
    if counts is None:
        return None
    lengths, kinds = dict(options.lengths), options.columns
    times, last = _TIMES.get(id(stage.module), _NO_TIMES), _LAST.get(id(stage.module))
    room = max(len(kinds), width // 2 - 2)  # as much as a line leaves at its right
    if (
        last is not None
        and last.times is times
        and (last.kinds, last.lengths, last.room) == (kinds, lengths, room)
    ):
        return last
    widths = _widths(kinds, counts, lengths, room)
    return _LAST.add(stage.module, Columns(kinds, lengths, counts, times, widths, room))


def known(app: Host, stage: Snapshot, redraw: Callable[[], None]) -> Counts | None:
    """The counts of a stage; None while a job finds them."""
    found = _KNOWN.get(id(stage.module))
    if found is not None:
        return found
    module = stage.module

    def done(counts: Counts) -> None:
        _KNOWN.add(module, counts)
        redraw()

    app.jobs.start(f"columns {stage.number}", "counting the bindings", lambda job: counts_of(module), done)
    return None


def _measure(app: Controls, function: str) -> None:
    """Run a function warm, for the column of times."""
    session, stage = app.state.opened
    given, interrupt = app.run_control.given(function), Interrupt()
    app.verdicts.interrupt = interrupt  # Esc cancels it

    def work(job: Job) -> BindingTimes | None:
        return measured(session, stage, function, given, interrupt)

    def done(times: BindingTimes | None) -> None:
        if times is None:
            app.say("cancelled")
            return
        seconds = {id(binding): row.inclusive for binding, row in times.rows.items()}
        known_times = _TIMES.get(id(stage.module), _NO_TIMES)
        _TIMES.add(stage.module, {**known_times, function: {**seconds, 0: times.total}})
        app.show_with(timed=app.state.options.timed + 1)
        app.say("medians of warm runs of each binding")

    app.jobs.start("heat", f"running {function}", work, done)


# -- lines -----------------------------------------------------------------------------------------------------------


def show_columns(app: Controls, text: str) -> str:
    """Show columns, or none without a word. Returns why not, or ""."""
    words, lengths, refusal = _asked(app, text, tuple(TITLES))
    if refusal:
        return refusal
    app.show_with(columns=tuple(dict.fromkeys(words)), lengths=lengths)
    if app.screen_name not in ("passes", "debug"):
        app.show_screen("passes")
    if "time" in words:
        _measure(app, app.run_control.function())
    elif words:
        app.say(
            f"{', '.join(TITLES[word] for word in words)}: the sums stand beside the result; columns alone ends it"
        )
    else:
        app.say("no columns")
    return ""


def show_heat(app: Controls, text: str) -> str:
    """Colour the graph by a measure, or by classes without one. Returns why not, or ""."""
    words, lengths, refusal = _asked(app, text, (*COUNTED, *MEASURES, STORAGES))
    if refusal or len(words) > 1:
        return refusal or "heat takes one measure"
    heat = words[0] if words else ""
    app.show_screen("graph")
    if heat in MEASURES:
        app.show_with(heat="", lengths=lengths, calls=False)
        app.perform(f"run_heat('{heat}')")
    else:
        app.show_with(heat=heat, lengths=lengths, calls=False)
    return ""


def _asked(
    app: Controls, text: str, choices: tuple[str, ...]
) -> tuple[list[str], tuple[tuple[str, int], ...], str]:
    """The words and the lengths of a line, which stay if it names none, and why it is refused."""
    stage = app.state.stage
    if stage is None:
        return [], (), "no program is open"
    parts = text.replace(",", " ").split()
    words = [part for part in parts if "=" not in part]
    lengths = lengths_in(" ".join(part for part in parts if "=" in part))
    wrong = next((word for word in words if word not in choices), None)
    if wrong is not None or lengths is None:
        return (
            [],
            (),
            f"it takes {', '.join(choices)}, and lengths such as n=16; not {fit(wrong or text, 40)!r}",
        )
    names = {var.name for fn in stage.module.relax_functions.values() for var in binders(fn)}
    strange = next((name for name in lengths if name not in names), None)
    if strange is not None:
        there = ", ".join(sorted(names)) or "none"
        return (
            [],
            (),
            f"no parameter and no match_cast has a shape variable {fit(strange, 40)!r}; there are {there}",
        )
    return words, tuple(lengths.items()) or app.state.options.lengths, ""
