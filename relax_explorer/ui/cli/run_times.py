"""The times of the bindings of a run as text and data."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.exec.one_run import BindingTime, BindingTimes
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.cli import output


def report(times: BindingTimes, style: str) -> dict[str, Any]:
    """The data for JSON. In text style they are printed as a table instead."""
    rows = sorted(times.rows.values(), key=lambda row: -row.seconds)
    total = times.total
    if style == "json":
        return {"bindings": [_data(row, total) for row in rows], "seconds": total}
    output.say(
        f"{'ms':>10} {'share':>6} {'runs':>6} {'bytes':>12} {'compile ms':>10}  engine    binding",
        err=True,
    )
    for row in rows:
        share = f"{100 * row.seconds / total:.1f}%" if total else ""
        compiling = f"{row.compiling * 1000:.1f}" if row.compiling else ""
        output.say(
            f"{row.seconds * 1000:10.3f} {share:>6} {row.runs:6} {row.size:12,} {compiling:>10}  {row.engine:9} {_text(row)}",
            err=True,
        )
    compiled = sum([row.compiling for row in rows])
    tail = f", and {compiled * 1000:.1f} ms of compiling" if compiled else ""
    output.say(f"{total * 1000:10.3f} ms in {len(rows)} bindings{tail}", err=True)
    return {}


def _operator(binding: e.Binding) -> str:
    value = binding.value
    return getattr(value.op, "name", "") if type(value) is e.Call else type(value).__name__


def _text(row: BindingTime) -> str:
    name = row.binding.var.name if row.binding.var is not None else "_"
    value = row.binding.value
    callee = (
        value.args[0].name
        if type(value) is e.Call and value.args and isinstance(value.args[0], e.GlobalVar)
        else ""
    )
    return f"{row.function}: {name} = {_operator(row.binding)}{f'({callee})' if callee else ''}"


def _data(row: BindingTime, total: float) -> dict[str, Any]:
    return {
        "func": row.function,
        "var": row.binding.var.name if row.binding.var is not None else None,
        "op": _operator(row.binding),
        "engine": row.engine,
        "runs": row.runs,
        "ms": round(row.seconds * 1000, 4),
        "compile_ms": round(row.compiling * 1000, 4),
        "share": round(row.seconds / total, 4) if total else 0.0,
        "bytes": row.size,
    }
