"""The rows of the panes: text with gutters. They are made from snapshots and need no terminal."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.check.origin import origin
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.tui.selection import Selection
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.diff import GLYPHS, unit_node
from relax_explorer.viz.diff import lines as diff_lines
from relax_explorer.viz.problem import render
from relax_explorer.viz.short import short_info
from relax_explorer.viz.visible import visible


def ghost(node: Any) -> str:
    """The StructInfo of a binding in a few characters."""
    var = node.var if isinstance(node, (e.VarBinding, e.MatchCast)) else None
    return "" if var is None or var.name == "_" else visible(short_info(var.struct_info), 36)


def stage_rows(session: Session, stage: Snapshot, mode: str, density: str = "ghost") -> list[Row]:
    """The text of a stage.

    `density` is ghost (StructInfo at the right), full (as TVMScript writes it) or none; `mode` is marks (changes against the
    stage before in the gutter), only (changes alone), or plain.
    """
    if mode == "only" and stage.number:
        found = diff_lines(session.diff(stage.number - 1, stage.number))
        return [Row(line.text, line.glyph, line.binding) for line in found] or [Row("nothing changed")]
    marks: dict[Any, str] = {}
    if mode == "marks" and stage.number:
        for fn in session.diff(stage.number - 1, stage.number).functions:
            for pair in fn.pairs:
                if pair.b is not None and pair.kind not in ("same", "renamed"):
                    marks[unit_node(fn.new[pair.b])] = GLYPHS[pair.kind]
    printed = stage.printed if density == "full" else stage.printed_short
    shown = density == "ghost"
    return [
        Row(line.text, marks.get(line.node, " "), line.node, line.function, ghost(line.node) if shown else "")
        for line in printed.lines
    ]


def problem_rows(problem: Diagnostic, where: str = "") -> list[Row]:
    """A diagnostic: first the message, because paths are long, then place, excerpt, notes and hint."""
    shown = [Row(f"{problem.level}[{problem.code}]: {visible(problem.message)}")]
    place = (
        f"{visible(problem.span.source.filename)}:{problem.span.line}:{problem.span.column + 1}"
        if problem.span
        else ""
    )
    shown += [Row(f"  {text}") for text in (where, place) if text]
    return shown + [Row(line) for line in render(problem).split("\n")[1:]] + [Row("")]


def detail_lines(session: Session, stage: Snapshot, selection: Selection) -> list[str]:
    """Details of the selected binding: StructInfo, operator, uses."""
    binding = selection.binding
    var = getattr(binding, "var", None)
    fn = stage.module.functions.get(selection.function)
    if var is None or type(fn) is not e.Function:
        problems = [visible(f"{p.code} {p.message}") for p in stage.problems[:3]]
        return [visible(f"{stage.made_by}: {stage.phase}, {stage.seconds * 1000:.0f} ms"), *problems]
    derived = facts(fn)
    users = [derived.bindings[n].var for n in derived.users(var) if n < len(derived.bindings)]
    names = ", ".join(user.name for user in users[:6] if user is not None) or (
        "the result" if derived.users(var) else "nothing"
    )
    kind = "DataflowVar" if isinstance(var, e.DataflowVar) else "Var"
    lines = [f"{var.name}: {var.struct_info}", f"{kind} of {selection.function}, read by {names}"]
    if binding is not None:
        lines.append(origin(binding))
    return [visible(line) for line in lines]


def history_rows(session: Session, selection: Selection) -> list[Row]:
    """The history of the selected variable."""
    from relax_explorer.core.session.provenance import history

    found = history(session.stages, selection.stage, selection.function, selection.binding)
    rows = []
    for trace in found:
        text = "gone" if trace.gone else "; ".join(_binding_text(b) for b in trace.bindings)
        rows.append(Row(f"{trace.stage:3} {trace.mark} {trace.made_by:<24} {text}"))
    return rows


def _binding_text(binding: e.Binding) -> str:
    value = binding.value
    name = binding.var.name if binding.var is not None else "_"
    op = getattr(value.op, "name", "call") if type(value) is e.Call else type(value).__name__
    return f"{name} = {op}  {short_info(binding.var.struct_info if binding.var is not None else None)}"
