"""The phase that a module claims by its attribute `rx.phase` (seed 001, the RFC about the order of phases)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.program.module import IRModule

ATTRIBUTE = "rx.phase"


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """An error for each property of the claimed phase that the module lacks.

    Passes declare the properties, and lie above the checkers. So they are imported only for modules that claim a phase.
    """
    claim = module.attrs.get(ATTRIBUTE)
    if claim is None:
        return
    declared = import_module("relax_explorer.core.passes.properties")
    phases = {str(phase): needed for phase, needed in declared.PHASES.items()}
    if claim not in phases:
        text = f"{ATTRIBUTE} is {claim!r}, which is not a phase"
        yield Diagnostic(codes.WRONG_PHASE, text, help=f"the phases are {', '.join(phases)}")
        return
    for needed in phases[claim]:
        violation = needed.violation(module)
        if violation is not None:
            place, sentence = violation
            text = f"the module claims the phase {claim}, but lacks {needed.name} ({needed.meaning})"
            yield Diagnostic(
                codes.WRONG_PHASE, text, (Label(place, sentence, True),), help=codes.WRONG_PHASE.fix
            )
