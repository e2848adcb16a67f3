"""Commands that need no program: passes, phases, operators, and the page of each."""

from __future__ import annotations

import click

from relax_explorer.core import ops, passes
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Fusion, Op
from relax_explorer.core.passes import phase_table
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.examples import example
from relax_explorer.core.passes.pass_order import required_passes
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.phases.phases import PHASES
from relax_explorer.core.program.module import IRModule
from relax_explorer.ui.cli import output
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.explanations import page_of


def explain(subject: str) -> int:
    """Print the page of `subject`. An unknown subject is refused, with similar names as a hint."""
    try:
        output.say(page_of(subject))
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    return output.OK


# -- tables ----------------------------------------------------------------------------------------------------------
# Print the lists of passes and operators.


def list_passes(
    subject: str | None, changing: str | None, explain: str | None, missing: bool, format: str
) -> int:
    """List passes, explain one, or explain an order of them."""
    if subject is not None:
        if changing is not None or explain is not None or missing:
            raise click.UsageError("name a pass, or give an option that lists some: not both")
        return print_pass(subject, format)
    if explain is not None:
        return print_order(explain, format)
    if missing:
        return print_missing(format)
    from relax_explorer.ui.cli.opening import program_at

    return print_passes(None if changing is None else program_at(changing), format)


def print_passes(module: IRModule | None, style: str) -> int:
    """Print every pass with its summary. With a module, print only the passes that would change it."""
    shown = list(passes.table().values())
    output.report(passes.problems())
    if module is not None:
        from relax_explorer.core.passes.pipeline import normalized, verdicts

        changing = {item.name for item in verdicts(normalized(module)[0]) if item.changes}
        shown = [pass_ for pass_ in shown if pass_.name in changing]
    if style == "json":
        rows = [_pass_row(pass_) for pass_ in shown]
        output.tell("passes", {"passes": rows, "pipelines": dict(passes.PIPELINES)})
        return output.OK
    for pass_ in shown:
        output.say(f"{pass_.name:<24} {pass_.doc.splitlines()[0]}")
    if module is None:
        output.say("\nPipelines:")
        for name, parts in passes.PIPELINES.items():
            output.say(f"{name:<24} {','.join(parts)}")
    return output.OK


def print_pass(name: str, style: str) -> int:
    """Print the page of a pass, or its row as JSON. An unknown name is refused, with similar names as a hint."""
    try:
        found = passes.get(name)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    if style == "json":
        row = {**_pass_row(found), "example": _example(found)}
        output.tell("passes", {"passes": [row], "pipelines": {}})
        return output.OK
    return explain(found.name)


def _example(of: Pass) -> dict[str, str] | None:
    shown = example(of)
    if shown is None:
        return None
    before = shown.before
    return {"step": str(shown.step), "before": before.script(), "after": shown.after(before).script()}


def _pass_row(pass_: Pass) -> dict[str, object]:
    return {
        "name": pass_.name,
        "doc": pass_.doc.splitlines()[0],
        "options": [
            {"name": o.name, "type": o.kind, "default": o.default, "doc": o.doc} for o in pass_.options
        ],
        "requires": [q.name for q in pass_.requires],
        "required_passes": required_passes(pass_),
        "establishes": [q.name for q in pass_.establishes],
        "invalidates": [q.name for q in pass_.invalidates],
    }


def list_ops(format: str) -> int:
    """Print every operator and its available parts: inference, evaluation, lowering."""
    every = list(ops.table().values())
    if format == "json":
        output.tell("ops", {"operators": [page.describe(op) for op in every]})
        return output.OK
    rows = [
        (
            op.name.removeprefix("relax."),
            _runs(op),
            _lowered(op),
            "effects" * (not op.pure),
            _FUSIONS[op.fusion],
        )
        for op in every
    ]
    head = ("operator", "runs", "lowered", "", "fusion")
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    for row, text in zip((head, *rows), ("what it is", *[page.sentence(op) for op in every]), strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        output.say(f"{cells}  {text}")
    running = sum(op.evaluate is not None or op.by_machine for op in every)
    lowered = sum(op.is_lowered() for op in every)
    output.say(f"\n{len(every)} operators: {running} run here, {lowered} are lowered", err=True)
    output.say("relax-explorer explain OPERATOR shows the details of one", err=True)
    return output.OK


def _runs(op: type[Op]) -> str:
    return "numpy" if op.evaluate is not None else "machine" if op.by_machine else "no"


def _lowered(op: type[Op]) -> str:
    if op.legalize is not None:
        return op.kernel_name()
    return op.packed or ("bindings" if op.is_lowered() else "no")


_FUSIONS = {
    Fusion.ELEMENTWISE: "element-wise",
    Fusion.BROADCAST: "broadcast",
    Fusion.INJECTIVE: "injective",
    Fusion.REDUCE: "reduce",
    Fusion.OUT_ELEMENTWISE: "complex",
    Fusion.TUPLE: "tuple",
    Fusion.OPAQUE: "opaque",
}


# -- phase output ----------------------------------------------------------------------------------------------------
# Print phases, contracts and the order of a pipeline.


def phases(format: str, output_: Target | None) -> int:
    """Print or write the phases and the contracts of passes."""
    output.write(_phases(format), output_ or STANDARD_OUTPUT)
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
        output.tell("order", {"steps": data, "complete": not lacks})
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
        output.tell("missing", {"passes": rows})
        return output.OK
    for name, reason in rows.items():
        output.say(f"{name:<34} {reason}")
    output.say(f"\n{len(passes.names())} passes are there; relax-explorer passes lists them")
    return output.OK
