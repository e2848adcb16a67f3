"""A graph as a heat map: each node says how long it took, or how many bytes its value holds, and is coloured by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.check_costs import Costs, Site, Spent
from relax_explorer.core.shapes.residual import PARAMETERS, RESULT, ShapeCheck
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Node
from relax_explorer.viz.palette import HEAT_LEVELS

Measure = Literal["time", "bytes"]
_UNITS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_SIZES = ((1, "B"), (1 << 10, "KiB"), (1 << 20, "MiB"), (1 << 30, "GiB"))


def heated(drawing: Drawing, times: BindingTimes, measure: Measure) -> Drawing:
    """The heat map of a graph. A node that stands for several bindings shows their sum; a call shows what its callee took too."""
    amounts = [_amount(node, times, measure) for node in drawing.nodes]
    most = max([amount for amount in amounts if amount is not None], default=0.0)
    whole = times.total if measure == "time" else sum([amount for amount in amounts if amount is not None])
    nodes = tuple(
        node if amount is None else _heated(node, amount, most, whole, measure)
        for node, amount in zip(drawing.nodes, amounts, strict=True)
    )
    steps = [most * (level + 1) / HEAT_LEVELS for level in range(HEAT_LEVELS)]
    legend = tuple(
        (f"heat-{level}", f"up to {amount_text(step, measure)}") for level, step in enumerate(steps)
    )
    what = "time of each binding in one run" if measure == "time" else "bytes of each value in one run"
    note = f"{what}, {amount_text(whole, measure)} in all"
    return replace(drawing, nodes=nodes, legend=legend, notes=(note, *drawing.notes))


def _amount(node: Node, times: BindingTimes, measure: Measure) -> float | None:
    """The seconds or bytes of a node; None if it did not run."""
    rows = [
        times.rows[source]
        for source in node.sources
        if isinstance(source, (e.VarBinding, e.MatchCast)) and source in times.rows
    ]
    if not rows:
        return None
    return sum([row.inclusive if measure == "time" else float(row.size) for row in rows])


def _heated(node: Node, amount: float, most: float, whole: float, measure: Measure) -> Node:
    level = min(HEAT_LEVELS - 1, int(HEAT_LEVELS * amount / most)) if most else 0
    share = f" {100 * amount / whole:.0f}%" if whole else ""
    text = f"{amount_text(amount, measure)}{share}"
    return replace(node, heat=level, badge=f"{node.badge}  {text}" if node.badge else text)


def amount_text(amount: float, measure: Measure) -> str:
    """`1.5 ms` or `2.0 KiB`: three digits in the unit that fits."""
    units = _UNITS if measure == "time" else _SIZES
    size, name = next(((size, name) for size, name in reversed(units) if amount >= size), units[0])
    return f"{amount / size:.3g} {name}"


# -- check cost text -------------------------------------------------------------------------------------------------
# What checks cost in a run, as text: of one check, and of the places that cost most.


def spent_text(spent: Spent) -> str:
    """`3 times, 12.1 µs, 4 KiB`."""
    return f"{spent.times} time{'s' * (spent.times != 1)}, {amount_text(spent.seconds, 'time')}, {amount_text(spent.size, 'bytes')}"


def call_text(check: ShapeCheck, costs: Costs) -> str:
    """What the call of a check did in all, `the call: 3 times, 1.2 ms, 64 KiB`; "" if its place is no call."""
    call = costs.by_binding.get(id(check.place))
    is_call = isinstance(check.place, e.Binding) and isinstance(check.place.value, e.Call)
    return f"the call: {spent_text(call)}" if call is not None and is_call else ""


def share_text(costs: Costs) -> str:
    """`checks took 35.1 µs of 210 µs (17 %)`."""
    share = f" ({100 * costs.checking / costs.seconds:.0f} %)" if costs.seconds else ""
    whole = amount_text(costs.seconds, "time")
    return f"checks took {amount_text(costs.checking, 'time')} of {whole}{share}"


def site_rows(sites: Sequence[Site]) -> list[list[str]]:
    """The columns of a table of places: time of the checks, times, bytes, time of the call, the place, what is checked there."""
    return [
        [
            amount_text(site.spent.seconds, "time"),
            str(site.spent.times),
            amount_text(site.spent.size, "bytes"),
            "" if site.call is None else amount_text(site.call.seconds, "time"),
            _place(site.checks[0]),
            _conditions(site.checks),
        ]
        for site in sites
    ]


HEADS = ("checks", "times", "bytes", "call", "place", "left to the run")


def _place(check: ShapeCheck) -> str:
    if check.kind == PARAMETERS:
        return f"{check.function}: each call from outside"
    if check.kind == RESULT:
        return f"{check.function}: the result"
    span = getattr(check.place, "span", None)
    var = getattr(check.place, "var", None)
    name = f"{var.name}, {check.word}" if var is not None else check.word
    return f"{check.function}: {name}{'' if span is None else f', line {span.line}'}"


def _conditions(checks: Sequence[ShapeCheck]) -> str:
    """The first condition, and how many more there are."""
    more = len(checks) - 1
    return checks[0].text + (f" and {more} more" if more else "")
