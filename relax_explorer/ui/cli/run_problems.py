"""The problems that `run` reports: those of the functions that it executes."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.session.builds import concerning
from relax_explorer.core.session.snapshot import Snapshot


def of_the_run(stage: Snapshot, names: Iterable[str]) -> list[Diagnostic]:
    """What TVM does not look for, in the executed functions: violations of rules of the specification, and destroyed values."""
    own = [item for item in stage.problems if item.is_ours]
    return list(dict.fromkeys([item for name in names for item in concerning(own, stage.module, name)]))
