"""The problems that `run` reports: those of the functions that it executes."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.partial import concerning
from relax_explorer.core.session.snapshot import Snapshot


def of_the_run(stage: Snapshot, names: Iterable[str]) -> list[Diagnostic]:
    """Violations of rules that only the specification has, in the executed functions."""
    own = [item for item in stage.problems if item.spec_only]
    return list(dict.fromkeys([item for name in names for item in concerning(own, stage.module, name)]))
