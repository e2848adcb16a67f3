"""The shape panel as text and as data for JSON."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.exec.shape_panel import CheckRow, Constraint, ShapePanel

_MARKS = {True: "✓", False: "✗", None: "·"}
_SUBJECT = 60


def shape_lines(panel: ShapePanel, most: int = 6, is_timed: bool = True) -> list[str]:
    """The panel, line by line. `most` constraints are shown for each variable, the times only if `is_timed`."""
    lines = [
        f"shape variables of {panel.function}:"
        if panel.variables
        else f"{panel.function} has no shape variables"
    ]
    for variable in panel.variables:
        lines.append(f"  {variable}")
        lines += [f"      {line}" for line in variable.before]
        own = [item for item in variable.constraints if item.dimension != variable.name or item.count > 1]
        lines += [f"    {constraint_line(item)}" for item in own[:most]]
        lines += [f"    and {len(own) - most} more dimensions"] if len(own) > most else []
    if panel.checks:
        lines.append(f"checks in {panel.function}:")
        lines += [f"  {check_line(item, is_timed)}" for item in panel.checks]
    return lines


def constraint_line(item: Constraint) -> str:
    """A constraint: `✓ y.shape[1] = n * 2 = 6, by parameter`."""
    more = f" and {item.count - len(item.places)} more" if item.count > len(item.places) else ""
    value = "" if item.required is None else f" = {item.required}"
    found = f", found {item.found}" if item.holds is False else ""
    return f"{_MARKS[item.holds]} {', '.join(item.places)}{more} = {item.dimension}{value}{found}, by {item.rule}"


def check_line(item: CheckRow, is_timed: bool = True) -> str:
    """A check: `✓ step 3 match_cast x: R.Tensor((n,)), checked in 0.012 ms`."""
    if item.outcome == "failed":
        return f"✗ step {item.step} {item.subject}"
    subject = item.subject if len(item.subject) <= _SUBJECT else item.subject[: _SUBJECT - 1] + "…"
    time = f" in {item.seconds * 1000:.3f} ms" if is_timed else ""
    return f"✓ step {item.step} {item.kind} {subject}, {item.outcome}{time}"


def shape_data(panel: ShapePanel) -> dict[str, Any]:
    """The panel as data for JSON."""
    return {
        "func": panel.function,
        "variables": [
            {
                "name": variable.name,
                "value": variable.value,
                "origin": None
                if variable.origin is None
                else {"kind": variable.origin.kind, "place": variable.origin.place},
                "chain": list(variable.before),
                "constraints": [
                    {
                        "dimension": item.dimension,
                        "places": list(item.places),
                        "count": item.count,
                        "by": item.rule,
                        "required": item.required,
                        "found": item.found,
                        "holds": item.holds,
                    }
                    for item in variable.constraints
                ],
            }
            for variable in panel.variables
        ],
        "checks": [
            {
                "step": item.step,
                "kind": item.kind,
                "of": item.subject,
                "outcome": item.outcome,
                "ms": round(item.seconds * 1000, 4),
                "line": item.span.line if item.span is not None else None,
            }
            for item in panel.checks
        ],
    }
