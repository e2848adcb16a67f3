"""Commands that need no program: passes, phases, operators, and the page of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from relax_explorer.core import ops, passes
from relax_explorer.core.ops.kit import page
from relax_explorer.core.ops.kit.decl import Fusion, Op
from relax_explorer.core.passes import phase_table
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.examples import example
from relax_explorer.core.passes.live import TVM
from relax_explorer.core.passes.pass_order import required_passes
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.phases.phases import PHASES
from relax_explorer.core.program.module import IRModule
from relax_explorer.ui import live_settings
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.output import Exact, Remark, Result, aligned
from relax_explorer.ui.commands import COMMANDS
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.explanations import page_of
from relax_explorer.viz.visible import fields_of


def explain(subject: str) -> Result:
    """The page of `subject`. An unknown subject is refused, with similar names as a hint; a command has its own help."""
    try:
        return Result("explain", {}, [page_of(subject)])
    except KeyError as error:
        is_command = any(item.name == subject for item in COMMANDS)
        hint = f"; relax-explorer {subject} --help explains the command" if is_command else ""
        raise click.UsageError(f"{error.args[0]}{hint}") from None


def list_passes(subject: str | None, changing: str | None, explain: str | None, missing: bool) -> Result:
    """The passes, the page of one, or what an order of them lacks."""
    if subject is not None:
        if changing is not None or explain is not None or missing:
            raise click.UsageError("name a pass, or give an option that lists some: not both")
        return _of_tvm(subject) if subject.startswith(TVM) else _pass(subject)
    if explain is not None:
        return _order(explain)
    if missing:
        return _missing()
    from relax_explorer.ui.cli.opening import program_at

    return _passes(None if changing is None else program_at(changing))


def _passes(module: IRModule | None) -> Result:
    """Every pass with its summary. With a module, only the passes that would change it."""
    shown = list(passes.table().values())
    output.report(passes.problems())
    if module is not None:
        from relax_explorer.core.passes.pipeline import normalized, verdicts

        changing = {item.name for item in verdicts(normalized(module)[0]) if item.changes}
        shown = [pass_ for pass_ in shown if pass_.name in changing]
    lines = [f"{pass_.name:<24} {pass_.doc.splitlines()[0]}" for pass_ in shown]
    if module is None:
        lines.append("\nPipelines:")
        lines += [f"{name:<24} {','.join(parts)}" for name, parts in passes.PIPELINES.items()]
    rows = [_pass_row(pass_) for pass_ in shown]
    return Result("passes", {"passes": rows, "pipelines": dict(passes.PIPELINES)}, lines)


def _pass(name: str) -> Result:
    """The page of a pass. An unknown name is refused, with similar names as a hint."""
    try:
        found = passes.get(name)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    return replace(
        explain(found.name),
        schema="passes",
        data=lambda: {"passes": [{**_pass_row(found), "example": _example(found)}], "pipelines": {}},
    )


def _of_tvm(subject: str) -> Result:
    """TVM's passes and pipelines, or its page about one. They are asked of TVM itself."""
    asked = (live_settings.settings() or live_settings.Live()).started()
    if subject == TVM:
        found = [(f"{TVM}{name}", sentence) for name, sentence in asked.names()]
        rows = [{"name": name, "doc": sentence} for name, sentence in found]
        return Result("tvm_passes", {"passes": rows}, aligned(found))
    signature, text = asked.page(subject)
    rows = [{"name": subject, "doc": text.split("\n")[0], "signature": signature, "page": text}]
    return Result("tvm_passes", {"passes": rows}, [f"{subject}{signature}", "", Exact(text)])


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
        "options": [fields_of(option, "name type=kind default doc") for option in pass_.options],
        "requires": [q.name for q in pass_.requires],
        "required_passes": required_passes(pass_),
        "establishes": [q.name for q in pass_.establishes],
        "invalidates": [q.name for q in pass_.invalidates],
    }


def list_ops() -> Result:
    """Every operator and its available parts: inference, evaluation, lowering."""
    every = list(ops.table().values())
    head = ("operator", "runs", "lowered", "", "fusion", "what it is")
    running = sum(op.evaluate is not None or op.by_machine for op in every)
    lowered = sum(op.is_lowered() for op in every)
    lines = [
        *aligned([head, *map(_op_row, every)]),
        Remark(f"\n{len(every)} operators: {running} run here, {lowered} are lowered"),
        Remark("relax-explorer explain OPERATOR shows the details of one"),
    ]
    return Result("ops", lambda: {"operators": [page.describe(op) for op in every]}, lines)


def _op_row(op: type[Op]) -> tuple[str, ...]:
    name, effects = op.name.removeprefix("relax."), "effects" * (not op.pure)
    return name, _runs(op), _lowered(op), effects, _FUSIONS[op.fusion], page.sentence(op)


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


def phases(output_: Target | None) -> Result:
    """The phases and the contracts of passes."""
    return Result("phases", _data, _page(output.style()), file=output_ or STANDARD_OUTPUT)


def _page(style: str) -> Iterator[str]:
    if style == "text":
        yield Exact("\n".join(_text()))
    elif style == "markdown":
        yield Exact(phase_table.markdown())
    else:
        from relax_explorer.viz.call_structure import phase_graph

        graph = phase_graph()
        yield Exact({"svg": graph.svg, "dot": graph.dot, "mermaid": graph.mermaid}[style]())


def _data() -> dict[str, object]:
    names = "name=of.name meaning=of.meaning established_by=makers needed_by required_by broken_by"
    rows = [fields_of(row, names) for row in phase_table.properties()]
    phases = [
        {"name": str(phase), "properties": [q.name for q in needed]} for phase, needed in PHASES.items()
    ]
    return {"phases": phases, "properties": rows}


def _text() -> Iterator[str]:
    yield "Phases, each with what it adds:"
    known = set[str]()
    for phase, needed in PHASES.items():
        new = [q.name for q in needed if q.name not in known]
        known.update(new)
        yield f"  {phase:<14} {', '.join(new) or 'any program that can be read'}"
    yield "\nProperties:"
    for row in phase_table.properties():
        yield f"  {row.of.name}: {row.of.meaning}"
        asked = row.required_by if len(row.required_by) < 12 else ("nearly every pass",)
        for what, names in (
            ("established by", row.makers),
            ("needed by", row.needed_by),
            ("required by", asked),
        ):
            if names:
                yield f"      {what} {', '.join(names)}"
    yield "\nrelax-explorer passes --explain A,B,C checks an order. relax-explorer explain PASS shows a contract."


def _order(pipeline: str) -> Result:
    """What the places of the steps in a pipeline lack. The exit status is 1 if something is missing."""
    rows = phase_table.explained(steps(pipeline))
    lacks = any(row.missing or row.remark for row in rows)
    data = [{"pass": str(row.step), **fields_of(row, "missing hints remark may_come_first")} for row in rows]
    lines = []
    for number, row in enumerate(rows, 1):
        swap = f"  (or before {rows[number - 2].step})" if row.may_come_first else ""
        lines.append(f"{number:>3} {row.step}{swap}")
        for text, hint in zip(row.missing, row.hints, strict=True):
            lines.append(f"      lacks: {text}\n      {hint}")
        if row.remark:
            lines.append(f"      note: {row.remark}")
    verdict = "lacks something, unless the program has it" if lacks else "is complete"
    lines.append(f"\nThe order {verdict}.")
    return Result("order", {"steps": data, "complete": not lacks}, lines, lacks * output.FOUND)


def _missing() -> Result:
    """The passes of TVM that are missing here."""
    rows = phase_table.missing()
    lines = [f"{name:<34} {reason}" for name, reason in rows.items()]
    lines.append(f"\n{len(passes.names())} passes are there; relax-explorer passes lists them")
    return Result("missing", {"passes": rows}, lines)
