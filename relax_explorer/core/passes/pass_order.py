"""The order of passes: what a step requires at its place, which passes have to run before it, and when it refuses to run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from relax_explorer.core import passes as registry
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.readings import Reading
from relax_explorer.core.phases.module_properties import NORMAL_FORM, Property
from relax_explorer.core.program.module import IRModule

_ORDERS = (
    ("LegalizeOps", "LambdaLift", "calls of closures have no lowering, so operators are lowered first"),
    ("FuseOps", "CallTIRRewrite", "fusion reads call_tir, which CallTIRRewrite replaces"),
    (
        "StaticPlanBlockMemory",
        "LowerAllocTensor",
        "a tensor with a storage of its own is not planned any more",
    ),
    ("RunCodegen", "LegalizeOps", "code generators take operators, which LegalizeOps replaces by kernels"),
    (
        "ExpandMatmulOfSum AdjustMatmulOrder ReorderTakeAfterMatmul FoldBatchnormToConv2D FuseTransposeMatmul FuseOpsByPattern",
        "ToMixedPrecision",
        "casts part the operators of its patterns",
    ),
    (
        "EliminateCommonSubexpr FoldConstant CombineParallelMatmul FuseOpsByPattern",
        "DataflowUseInplaceCalls",
        "what a call overwrites can't be merged, folded or moved",
    ),
    (
        "RemoveUnusedParameters RemoveUnusedOutputs ExpandTupleArguments FuseTIR MergeCompositeFunctions",
        "InlinePrivateFunctions",
        "private functions are gone once their calls are inlined",
    ),
    ("StaticPlanBlockMemory", "KillAfterLastUse", "a tensor that is killed has its life already"),
    ("StaticPlanBlockMemory", "ConvertToDataflow", "a tensor that leaves a dataflow block is not planned"),
)
ORDERS = {(first, second): reason for firsts, second, reason in _ORDERS for first in firsts.split()}
"""Orders that contracts do not tell: the second pass comes after the first, for a reason."""


class Placed(Protocol):
    """A pass at a place of a pipeline."""

    @property
    def of(self) -> Pass:
        """The pass."""

    def result(self, held: Collection[Property]) -> set[Property]:
        """The properties behind the step, if `held` are those before it."""


def required_passes(of: Pass) -> tuple[tuple[str, ...], ...]:
    """The passes that have to run before a pass: for each required property the names of those that establish it.

    Normal form is left out, because every program that was read can have it.
    """
    required = [registry.makers(q.name) for q in of.requires if q is not NORMAL_FORM]
    return tuple([tuple(names) for names in required if names])


def explain(
    pipeline: Sequence[Placed], held: Collection[Property], ran: Sequence[str] = ()
) -> list[Diagnostic]:
    """Warnings about the order of steps: requirements that neither an earlier step nor `held` meets.

    `ran` names the passes that ran before the pipeline. No pass is run instead of a missing one.
    """
    return [problem for _, problem in unmet(pipeline, held, ran)]


def unmet(
    pipeline: Sequence[Placed], held: Collection[Property], ran: Sequence[str] = ()
) -> list[tuple[int, Diagnostic]]:
    """The same warnings, each with the number of its step."""
    held, done = set(held), list(ran)
    warnings = []
    gone: dict[Property, str] = {}  # the properties that a step established first, each with the step
    for name in ran:
        known = registry.table().get(name)
        gone.update(dict.fromkeys(known.establishes if known is not None else (), name))
    for number, step in enumerate(pipeline):
        if not step.of.has_contract:
            held, gone = step.result(held), {}
            continue
        removed = next((item for item in step.of.reads if item.gone_with in gone), None)
        if removed is not None and removed.gone_with is not None and step.of.name not in done:
            warnings.append((number, late(step.of, removed, gone[removed.gone_with])))
        for needed in step.of.requires:
            if needed not in held:
                text = f"{step.of.name} requires {needed.name} ({needed.meaning}), which does not hold there"
                warnings.append((number, Diagnostic(codes.UNMET_REQUIREMENT, text, help=_hint(needed, done))))
        new = {*step.of.establishes} - held
        held = step.result(held)
        gone = {**dict.fromkeys(new, step.of.name), **gone}
        gone = {q: name for q, name in gone.items() if q in held}
        done.append(step.of.name)
    return warnings


def late(of: Pass, removed: Reading, by: str) -> Diagnostic:
    """The warning that a pass finds nothing, because an earlier step has removed what it reads."""
    text = f"{of.name} finds nothing: it reads {removed.name}; {by} leaves none"
    return Diagnostic(codes.FINDS_NOTHING, text, help=f"run {of.name} before {by}", origin=of.name)


def turned(of: Pass, by: str) -> Diagnostic:
    """The warning that a pass finds nothing, because it comes after a step that belongs behind it."""
    text = f"{of.name} finds nothing after {by}: {ORDERS[of.name, by]}"
    return Diagnostic(codes.FINDS_NOTHING, text, help=f"run {of.name} before {by}", origin=of.name)


def _hint(needed: Property, done: Sequence[str]) -> str:
    makers = registry.makers(needed.name)
    again = [name for name in makers if name in done]
    if again:
        return f"{again[0]} has run, but it did not establish this, or a later pass broke it: run {again[0]} before it again"
    return f"run {' or '.join(makers)} before it" if makers else "no pass establishes it"


def refusal(of: Pass, module: IRModule) -> Diagnostic | None:
    """The reason why a pass refuses to run: the module lacks a property without which the result would be wrong."""
    for needed in of.needs:
        violation = needed.violation(module)
        if violation is not None:
            place, sentence = violation
            text = f"{of.name} can't run here: it needs {needed.name} ({needed.meaning})"
            makers = registry.makers(needed.name)
            help = f"run {' or '.join(makers)} before it" if makers else codes.NEEDS_ANOTHER_PASS.fix
            label = Label(place, sentence, True)
            return Diagnostic(codes.NEEDS_ANOTHER_PASS, text, (label,), help=help, origin=of.name)
    return None
