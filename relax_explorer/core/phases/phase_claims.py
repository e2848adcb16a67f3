"""Claims of modules about their phase, compared with what they have: seed 001, about the order of phases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from relax_explorer.core.check.claimed_phase import ATTRIBUTE, HISTORY, claims_lowered, recorded
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, Severity
from relax_explorer.core.phases.module_properties import NO_HIGH_LEVEL_OPS, Property
from relax_explorer.core.phases.phases import PHASES, closure_calls, too_early
from relax_explorer.core.program.module import IRModule


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """A module with a claim or a history that is no name, or for each property of the claimed phase that the module lacks, an error.

    An operator of a later phase than the claimed one is an error, too. In a module without a claim, one beside an operator that
    LegalizeOps lowers is a warning: such a module is in no phase.
    """
    names = module.attrs.get(HISTORY, ())
    if not isinstance(names, (str, tuple)) or not all(isinstance(name, str) for name in names):
        text = f"{HISTORY} is {names!r}, which is no list of names"
        yield Diagnostic(codes.WRONG_PHASE, text, help=f'write "{HISTORY}": ["LegalizeOps"]', spec_only=True)
        return
    claim = module.attrs.get(ATTRIBUTE)
    if claim is None:
        yield from _mixed(module)
        return
    if not isinstance(claim, str) or claim not in PHASES:
        text = f"{ATTRIBUTE} is {claim!r}, which is not a phase"
        yield Diagnostic(codes.WRONG_PHASE, text, help=f"the phases are {', '.join(PHASES)}", spec_only=True)
        return
    for needed in PHASES[claim]:
        if (violation := needed.violation(module)) is not None:
            text = f"the module claims the phase {claim}, but lacks {needed.name} ({needed.meaning})"
            yield _wrong(text, violation, _maker(needed))
    if not claims_lowered(module) and (violation := too_early(module)) is not None:
        yield _wrong(f"the module claims the phase {claim}, but {violation[1]}", violation, "")
    ran = recorded(module)
    if claim == "high" and ran is not None and "LambdaLift" not in ran:
        for binding, name in closure_calls(module)[:1]:
            text = f"the module claims the phase {claim}, and LambdaLift has not run, but {name} is called"
            yield _wrong(text, (binding, "here"), "")


def _mixed(module: IRModule) -> Iterator[Diagnostic]:
    """A warning if a module without a claim has code of two phases. It runs here, but code generation refuses it.

    No error: a lowering pass that is tried alone makes such a module, and LegalizeOps keeps operators of unknown shapes.
    """
    late = too_early(module)
    early = NO_HIGH_LEVEL_OPS.violation(module) if late is not None else None
    if late is not None and early is not None:
        text = f"{early[1]}, in a module that has code of a later phase: {late[1]}"
        labels = (Label(early[0], early[1], True), Label(late[0], late[1]))
        help = f"run {_maker(NO_HIGH_LEVEL_OPS)} before the passes that make such code; it tells which operators it keeps, and why"
        yield Diagnostic(
            codes.WRONG_PHASE, text, labels, help=help, severity=Severity.WARNING, spec_only=True
        )


def _wrong(text: str, violation: tuple[Any, str], maker: str) -> Diagnostic:
    place, sentence = violation
    help = f"run {maker}, or correct the attribute" if maker else codes.WRONG_PHASE.fix
    return Diagnostic(codes.WRONG_PHASE, text, (Label(place, sentence, True),), help=help, spec_only=True)


def _maker(needed: Property) -> str:
    """The passes that establish a property, as text."""
    return " or ".join(needed.made_by)
