"""Take a text through everything: every pass with its changes, every view, and a session like the explorer's."""

from __future__ import annotations

from relax_explorer.core.codes import internal
from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import table
from relax_explorer.core.passes.pipeline import Step, normalized, run_step
from relax_explorer.core.phases.module_properties import PROPERTIES
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import diff_modules
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.state import Selection
from relax_explorer.viz import table_diff
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.problem import render

OURS = frozenset({internal.WRONG_VALUE, internal.OWN_FAULT, pass_codes.BROKEN_CONTRACT})
MOST_VIEWED = 40
"""The number of bindings of a stage shown in detail."""


class OwnFault(Exception):
    """A diagnostic that only a fault of this project causes."""


def walk(module: IRModule, clean: bool) -> None:
    """Take a module through everything; problems of the program are no faults, faults of the project are raised."""
    if clean:
        _every_pass(normalized(module)[0])
    _session(module)


def is_fault(item: Diagnostic) -> bool:
    """True if a diagnostic blames this project, not the program."""
    return item.code in OURS


def _refuse_own(items: object) -> None:
    for item in items:  # type: ignore[attr-defined]  # diagnostics
        if is_fault(item):
            raise OwnFault(f"{item.code.id} {item.message}")


def _every_pass(module: IRModule) -> None:
    """Each pass alone: its result is verified, compared with its input, and drawn."""
    held = [q for q in PROPERTIES if q.holds(module)]
    for of in table().values():
        try:
            outcome = run_step(Step(of), module, True, held)
        except Failure as failure:
            _refuse_own(failure.diagnostics)
            continue
        _refuse_own(outcome.problems)
        if outcome.changed:
            list(table_diff.lines(diff_modules(module, outcome.module)))


def _session(module: IRModule) -> None:
    """Open a session of the program with the default pipeline, and every view of its first and last stage."""
    session = Session(module, "default")
    session.run_all()
    for stage in (session.stages[0], session.stages[-1]):
        for item in stage.located:
            _refuse_own([item])
            render(item)
        for name in stage.module.relax_functions:
            made = graph(stage.module, name)
            made.dot()
            made.scoped(60).terminal(80)
        for mode in ("inline", "only"):
            rows.text_rows(session, stage, mode, True)
            list(rows.compact_rows(session, stage, mode, frozenset()))
    last = session.stages[-1]
    list(table_diff.lines(session.diff(0, last.number)))
    for name, fn in last.module.relax_functions.items():
        for binding in list(bindings(fn))[:MOST_VIEWED]:
            binding_text(binding)
            rows.detail_lines(session, last, Selection(last.number, name, binding))
