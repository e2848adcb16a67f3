"""What checks cost in a run, as text: of one check, and of the places that cost most."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.check_costs import Costs, Site, Spent
from relax_explorer.core.shapes.residual import PARAMETERS, RESULT, ShapeCheck
from relax_explorer.viz.heat import amount_text


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
