"""The phase that a module claims (`rx.phase`) and the passes that it records (`rx.passes`): seed 001, about the order of phases."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, Severity
from relax_explorer.core.program.module import IRModule

ATTRIBUTE = "rx.phase"
HISTORY = "rx.passes"


def recorded(module: IRModule) -> tuple[str, ...] | None:
    """The names of the passes that made the module; None if it records none."""
    names = module.attrs.get(HISTORY)
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


def claims_lowered(module: IRModule) -> bool:
    """True if the module claims phase `lowered` or a later one."""
    claim = module.attrs.get(ATTRIBUTE)
    order = list(_phases().PHASES) if claim is not None else []
    return claim in order and order.index(claim) >= order.index("lowered")


def _phases() -> ModuleType:
    """The module that declares phases. Passes declare the properties, and lie above the checkers, so it is imported late."""
    return import_module("relax_explorer.core.passes.phases")


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
    declared = _phases()
    if not isinstance(claim, str) or claim not in declared.PHASES:
        text = f"{ATTRIBUTE} is {claim!r}, which is not a phase"
        yield Diagnostic(
            codes.WRONG_PHASE, text, help=f"the phases are {', '.join(declared.PHASES)}", spec_only=True
        )
        return
    for needed in declared.PHASES[claim]:
        if (violation := needed.violation(module)) is not None:
            text = f"the module claims the phase {claim}, but lacks {needed.name} ({needed.meaning})"
            yield _wrong(text, violation, _maker(needed.name))
    if not claims_lowered(module) and (violation := declared.too_early(module)) is not None:
        yield _wrong(f"the module claims the phase {claim}, but {violation[1]}", violation, "")
    ran = recorded(module)
    if claim == "high" and ran is not None and "LambdaLift" not in ran:
        for binding, name in declared.closure_calls(module)[:1]:
            text = f"the module claims the phase {claim}, and LambdaLift has not run, but {name} is called"
            yield _wrong(text, (binding, "here"), "")


def _mixed(module: IRModule) -> Iterator[Diagnostic]:
    """A warning if a module without a claim has code of two phases. It runs here, but code generation refuses it.

    No error: a lowering pass that is tried alone makes such a module, and LegalizeOps keeps operators of unknown shapes.
    """
    late = _phases().too_early(module)
    lowered = import_module("relax_explorer.core.passes.properties").NO_HIGH_LEVEL_OPS
    early = lowered.violation(module) if late is not None else None
    if late is not None and early is not None:
        text = f"{early[1]}, in a module that has code of a later phase: {late[1]}"
        labels = (Label(early[0], early[1], True), Label(late[0], late[1]))
        help = f"run {_maker(lowered.name)} before the passes that make such code; it tells which operators it keeps, and why"
        yield Diagnostic(
            codes.WRONG_PHASE, text, labels, help=help, severity=Severity.WARNING, spec_only=True
        )


def _wrong(text: str, violation: tuple[Any, str], maker: str) -> Diagnostic:
    place, sentence = violation
    help = f"run {maker}, or correct the attribute" if maker else codes.WRONG_PHASE.fix
    return Diagnostic(codes.WRONG_PHASE, text, (Label(place, sentence, True),), help=help, spec_only=True)


def _maker(name: str) -> str:
    """The passes that establish a property, as text."""
    registry = import_module("relax_explorer.core.passes")
    return " or ".join(registry.makers(name))
