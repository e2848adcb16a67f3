"""The names for chapters about passes and phases: the outcome of a pipeline on the program, and claims of phases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from click.testing import CliRunner

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir.expr import Call
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pass_order import explain, required_passes
from relax_explorer.core.passes.phase_table import explained
from relax_explorer.core.passes.pipeline import Outcome, run, steps
from relax_explorer.core.phases import module_properties, phases
from relax_explorer.core.program.module import IRModule
from relax_explorer.ui.cli.main import group


def command(*words: str) -> tuple[int, str]:
    """The status and the output of a command."""
    done = CliRunner().invoke(group, words)
    return done.exit_code, done.output


def named(problems: Sequence[Diagnostic]) -> list[tuple[str, str]]:
    """The codes and the levels of diagnostics."""
    return [(item.code.id, str(item.level)) for item in problems]


NAMES = {
    "command": command, "named": named, "passes": passes, "phases": phases, "properties": module_properties, "explain": explain,
    "required_passes": required_passes, "explained": explained, "steps": steps,
}  # fmt: skip


def about(module: IRModule | None) -> dict[str, Any]:
    """Functions that apply passes to the program of a chapter."""

    def ready() -> IRModule:
        assert module is not None
        normal: IRModule = rxe.normalize(module)
        return normal

    def outcomes(pipeline: str, phase_check: str = "error") -> list[Outcome]:
        """The outcome of each step on the program."""
        return list(run(ready(), steps(pipeline), module_properties.holding(ready()), True, phase_check))

    def after(pipeline: str, **options: Any) -> IRModule:
        """The program after passes."""
        result: IRModule = rxe.run_pipeline(ready(), pipeline, **options)
        return result

    def lacks(phase: str, of: IRModule | None = None) -> list[str]:
        """The problems of a module that claims a phase."""
        claiming = of or ready()
        claiming = replace(claiming, attrs=claiming.attrs.having(**{"rx.phase": phase}))
        return [item.message for item in rxe.check(claiming) if item.code.id in ("RX0408", "RX0121")]

    def operators(of: IRModule) -> list[str]:
        """The names of the operators, PrimFuncs and packed functions that a module calls, in order."""
        values = [b.value for fn in of.relax_functions.values() for b in bindings(fn)]
        return [getattr(value.op, "name", "") for value in values if type(value) is Call]

    return {"outcomes": outcomes, "after": after, "lacks": lacks, "operators": operators, "ready": ready}
