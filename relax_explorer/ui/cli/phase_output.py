"""Print phases, contracts and the order of a pipeline."""

from __future__ import annotations

from relax_explorer.core import passes
from relax_explorer.core.passes import phase_table
from relax_explorer.core.passes.phases import PHASES
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.ui.cli import output
from relax_explorer.ui.files import STANDARD_OUTPUT, Target


def print_phases(style: str, target: Target | None) -> int:
    """Print or write the phases and the contracts of passes."""
    output.write(_phases(style), target or STANDARD_OUTPUT)
    return output.OK


def _phases(style: str) -> str:
    if style == "markdown":
        return phase_table.markdown()
    if style == "json":
        return output.document("phases", _data()) + "\n"
    if style == "text":
        return _text()
    from relax_explorer.viz.call_structure import phase_graph

    graph = phase_graph()
    return {"svg": graph.svg, "dot": graph.dot, "mermaid": graph.mermaid}[style]()


def _data() -> dict[str, object]:
    rows = [
        {
            "name": row.of.name,
            "meaning": row.of.meaning,
            "established_by": row.makers,
            "needed_by": row.needed_by,
            "required_by": row.required_by,
            "broken_by": row.broken_by,
        }
        for row in phase_table.properties()
    ]
    phases = [
        {"name": str(phase), "properties": [q.name for q in needed]} for phase, needed in PHASES.items()
    ]
    return {"phases": phases, "properties": rows}


def _text() -> str:
    lines, known = ["Phases, each with what it adds:"], set[str]()
    for phase, needed in PHASES.items():
        new = [q.name for q in needed if q.name not in known]
        known.update(new)
        lines.append(f"  {phase:<14} {', '.join(new) or 'any program that can be read'}")
    lines.append("\nProperties:")
    for row in phase_table.properties():
        lines.append(f"  {row.of.name}: {row.of.meaning}")
        asked = row.required_by if len(row.required_by) < 12 else ("nearly every pass",)
        for what, names in (
            ("established by", row.makers),
            ("needed by", row.needed_by),
            ("required by", asked),
        ):
            if names:
                lines.append(f"      {what} {', '.join(names)}")
    lines.append(
        "\nrelax-explorer passes --explain A,B,C checks an order. relax-explorer explain PASS shows a contract."
    )
    return "\n".join(lines) + "\n"


def print_order(pipeline: str, style: str) -> int:
    """Print what the places of the steps in a pipeline lack. The exit status is 1 if something is missing."""
    rows = phase_table.explained(steps(pipeline))
    lacks = any(row.missing or row.remark for row in rows)
    if style == "json":
        data = [
            {
                "pass": str(row.step),
                "missing": row.missing,
                "hints": row.hints,
                "remark": row.remark,
                "may_come_first": row.may_come_first,
            }
            for row in rows
        ]
        output.say(output.document("order", {"steps": data, "complete": not lacks}))
        return output.FOUND if lacks else output.OK
    for number, row in enumerate(rows, 1):
        swap = f"  (or before {rows[number - 2].step})" if row.may_come_first else ""
        output.say(f"{number:>3} {row.step}{swap}")
        for text, hint in zip(row.missing, row.hints, strict=True):
            output.say(f"      lacks: {text}\n      {hint}")
        if row.remark:
            output.say(f"      note: {row.remark}")
    output.say(
        "\nThe order lacks something, unless the program has it." if lacks else "\nThe order is complete."
    )
    return output.FOUND if lacks else output.OK


def print_missing(style: str) -> int:
    """Print the passes of TVM that are missing here."""
    rows = phase_table.missing()
    if style == "json":
        output.say(output.document("missing", {"passes": rows}))
        return output.OK
    for name, reason in rows.items():
        output.say(f"{name:<34} {reason}")
    output.say(f"\n{len(passes.names())} passes are there; relax-explorer passes lists them")
    return output.OK
