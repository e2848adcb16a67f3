"""Values of the library as text: on one line for `repr`, whole for `print`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from relax_explorer.core.patterns.matches import Occurrence
from relax_explorer.core.session.align import ModuleDiff, Trace
from relax_explorer.core.syntax import node_text
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.viz import table_diff
from relax_explorer.viz.visible import counted

if TYPE_CHECKING:
    from relax_explorer.viz.plain_verdicts import Texts


def text(value: object, is_brief: bool) -> str:
    """A value as text; empty for one that has none."""
    for kind, (brief, whole) in _texts().items():
        if isinstance(value, kind):
            return brief(value) if is_brief else "\n".join(whole(value))
    return node_text.first_line(value) if is_brief else node_text.text_of(value)


def trace_text(trace: Trace) -> str:
    """What a value is in one stage: its bindings, or why there are none."""
    return trace.absence if trace.gone else "; ".join(map(binding_text, trace.bindings))


def _trace(trace: Trace) -> str:
    return f"{trace.label} {trace.made_by} {trace.mark} {trace_text(trace)}"


def _match(found: Occurrence) -> str:
    return "; ".join(map(binding_text, found.bindings))


def _diff(found: ModuleDiff) -> str:
    return f"of {counted(len(found.functions), 'function')}: {table_diff.stat_line(found)}"


def _diff_lines(found: ModuleDiff) -> Iterator[str]:
    return (f"{line.mark} {line.text}" for line in table_diff.lines(found))


@cache
def _texts() -> dict[type, Texts]:
    """The texts of each class. Those of runs need numpy and the machine, which whoever shows programs alone never loads."""
    from relax_explorer.viz.plain_verdicts import VERDICT_TEXTS, alone

    return {
        **VERDICT_TEXTS,
        Trace: alone(_trace),
        Occurrence: alone(_match),
        ModuleDiff: (_diff, _diff_lines),
    }
