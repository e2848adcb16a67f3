"""Every view of every stage of a program; `python -m tests.viz.every_view` shows all corpus files and samples."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.state import Selection
from relax_explorer.viz import table_diff
from relax_explorer.viz.ir_graph import graph
from tests.support.roundtrip import SAMPLES, STAGES


def show(path: Path, pipeline: str = "default", histories: int = 5) -> int:
    """Make every view of a file; returns the number of shown bindings. A view that fails raises."""
    session = Session.open(path, pipeline)
    seen = 0
    for stage in session.stages:
        if stage.changed:
            for name in stage.module.relax_functions:
                made = graph(stage.module, name)
                assert made.dot()
                made.scoped(200).terminal(100)
        for mode in ("inline", "only", "off"):
            assert rows.text_rows(session, stage, mode, False)
            table = rows.compact_rows(session, stage, mode, frozenset(stage.module.functions))
            assert table[:]  # writes every row
    last = session.stages[-1]
    list(table_diff.lines(session.diff(0, last.number)))
    for name, fn in last.module.relax_functions.items():
        unnamed = 0
        for binding in bindings(fn):
            assert binding_text(binding)
            selected = Selection(last.number, name, binding)
            assert rows.detail_lines(session, last, selected)
            unnamed += (binding.var is None or binding.var.name == "_") and unnamed < histories
            if unnamed and unnamed <= histories:
                assert rows.history_rows(session, selected)
            seen += 1
    return seen


def main() -> None:
    """Show all files, with the seconds of each."""
    for path in [*STAGES, *SAMPLES]:
        start = time.perf_counter()
        seen = show(path)
        sys.stdout.write(
            f"{time.perf_counter() - start:6.2f} s {seen:5} bindings  {path.parent.name}/{path.name}\n"
        )


if __name__ == "__main__":
    main()
