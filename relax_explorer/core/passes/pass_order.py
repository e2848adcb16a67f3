"""The order of passes: what a step requires at its place, which passes have to run before it, and when it refuses to run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

from relax_explorer.core import passes as registry
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.passes.readings import Reading
from relax_explorer.core.phases.module_properties import (
    BYOC_MARKED,
    NORMAL_FORM,
    NORMALIZED,
    PROPERTIES,
    PURE_DATAFLOW,
    WELL_FORMED,
    Property,
)
from relax_explorer.core.phases.phases import PHASES
from relax_explorer.core.program.module import IRModule

# Orders that contracts do not tell: the second pass comes after the first, for a reason.
ORDERS = {
    ("LegalizeOps", "LambdaLift"): "calls of closures have no lowering, so operators are lowered first",
    ("FuseOps", "CallTIRRewrite"): "fusion reads call_tir, which CallTIRRewrite replaces",
    (
        "StaticPlanBlockMemory",
        "LowerAllocTensor",
    ): "a tensor with a storage of its own is not planned any more",
    ("RunCodegen", "LegalizeOps"): "code generators take operators, which LegalizeOps replaces by kernels",
    **dict.fromkeys(
        [
            (name, "ToMixedPrecision")
            for name in (
                *(
                    "ExpandMatmulOfSum",
                    "AdjustMatmulOrder",
                    "ReorderTakeAfterMatmul",
                    "FoldBatchnormToConv2D",
                ),
                *("FuseTransposeMatmul", "FuseOpsByPattern"),
            )
        ],
        "casts part the operators of its patterns",
    ),
    **dict.fromkeys(
        [
            (name, "DataflowUseInplaceCalls")
            for name in (
                "EliminateCommonSubexpr",
                "FoldConstant",
                "CombineParallelMatmul",
                "FuseOpsByPattern",
            )
        ],
        "what a call overwrites can't be merged, folded or moved",
    ),
    **dict.fromkeys(
        [
            (name, "InlinePrivateFunctions")
            for name in (
                "RemoveUnusedParameters",
                "RemoveUnusedOutputs",
                "ExpandTupleArguments",
                "FuseTIR",
                "MergeCompositeFunctions",
            )
        ],
        "private functions are gone once their calls are inlined",
    ),
    ("StaticPlanBlockMemory", "KillAfterLastUse"): "a tensor that is killed has its life already",
    ("StaticPlanBlockMemory", "ConvertToDataflow"): "a tensor that leaves a dataflow block is not planned",
}


class Placed(Protocol):
    """A pass at a place of a pipeline."""

    @property
    def of(self) -> Pass:
        """The pass."""

    def breaks(self) -> set[Property]:
        """The properties that the pass may break with its options."""


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
        removed = next((item for item in step.of.reads if item.gone_with in gone), None)
        if removed is not None and removed.gone_with is not None and step.of.name not in done:
            warnings.append((number, late(step.of, removed, gone[removed.gone_with])))
        for needed in step.of.requires:
            if needed not in held:
                text = f"{step.of.name} requires {needed.name} ({needed.meaning}), which does not hold there"
                warnings.append((number, Diagnostic(codes.UNMET_REQUIREMENT, text, help=_hint(needed, done))))
        new = {*step.of.establishes} - held
        held -= step.breaks()
        held |= set(step.of.establishes)
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


# -- phase table -----------------------------------------------------------------------------------------------------
# Phases and the order of passes, as tables: what each phase guarantees, and which pass establishes, needs or breaks
# what.


ALWAYS = (
    WELL_FORMED,
    PURE_DATAFLOW,
    BYOC_MARKED,
    NORMAL_FORM,
    NORMALIZED,
)  # properties of a program that was read and normalized


class PropertyRow(NamedTuple):
    """A property with the names of the passes that establish, need, ask for, and break it."""

    of: Property
    makers: tuple[str, ...]
    needed_by: tuple[str, ...]
    required_by: tuple[str, ...]
    broken_by: tuple[str, ...]


def properties() -> Iterator[PropertyRow]:
    """Every property, in the order of lowering."""
    passes = list(registry.table().values())
    for q in PROPERTIES:
        yield PropertyRow(
            q,
            tuple([p.name for p in passes if q in p.establishes]),
            tuple([p.name for p in passes if q in p.needs]),
            tuple([p.name for p in passes if q in p.requires and q not in p.needs]),
            tuple([p.name for p in passes if q in p.invalidates]),
        )


class StepRow(NamedTuple):
    """A step of a pipeline: what its place lacks, a remark, and True if it may change places with the step before it."""

    step: Step
    missing: tuple[str, ...]
    hints: tuple[str, ...]
    remark: str
    may_come_first: bool


def explained(pipeline: Sequence[Step]) -> list[StepRow]:
    """The steps of a pipeline with remarks about their order, for any program that was read and normalized."""
    lacking: dict[int, list[tuple[str, str]]] = {}
    for number, problem in unmet(pipeline, ALWAYS):
        lacking.setdefault(number, []).append((problem.message, problem.help))
    rows = []
    for number, step in enumerate(pipeline):
        found = lacking.get(number, [])
        texts, hints = tuple([text for text, _ in found]), tuple([hint for _, hint in found])
        before = pipeline[number - 1] if number else step
        first = before.of is not step.of and commuting(before.of, step.of)
        rows.append(StepRow(step, texts, hints, _remark(pipeline, number), first))
    return rows


def _remark(pipeline: Sequence[Step], number: int) -> str:
    """What the order does not need, or turns around."""
    step = pipeline[number]
    if number and str(pipeline[number - 1]) == str(step):
        return "the step before it is the same, so it changes nothing"
    later = {other.of.name for other in pipeline[number + 1 :]} - {
        other.of.name for other in pipeline[:number]
    }
    for (first, second), reason in ORDERS.items():
        if step.of.name == second and first in later:
            return f"{first} comes after it: {reason}"
    return ""


def commuting(a: Pass, b: Pass) -> bool:
    """True if the contracts of two passes set no order between them."""
    ordered = {(a.name, b.name), (b.name, a.name)} & ORDERS.keys()
    return not (
        ordered
        or set(a.establishes) & set(b.requires)
        or set(b.establishes) & set(a.requires)
        or set(a.invalidates) & {*b.requires, *b.establishes}
        or set(b.invalidates) & {*a.requires, *a.establishes}
        or {reading.gone_with for reading in a.reads} & set(b.establishes)
        or {reading.gone_with for reading in b.reads} & set(a.establishes)
    )


# Passes of TVM 0.27 that are missing here, with the reason.
MISSING = {
    "AlterOpImpl": "swaps PrimFuncs by tables of a vendor",
    "AttachAttrLayoutFreeBuffers": "marks buffers for schedulers, which are not part of the explorer",
    "LazyGetInput": "needs callbacks of a runtime that loads weights",
    "LazySetOutput": "needs callbacks of a runtime",
    "LazyTransformParams": "needs callbacks of a runtime that loads weights",
    "SpecializePrimFuncBasedOnCallSite": "changes scopes of buffers for one vendor",
    "SplitCallTIRByPattern": "needs the patterns of a vendor's library",
    "SplitLayoutRewritePreproc": "divides kernels that a scheduler wrote",
}


def missing() -> dict[str, str]:
    """The passes of TVM that are missing, with reasons."""
    return {name: reason for name, reason in MISSING.items() if name not in registry.table()}


_INTRODUCTION = (
    "A phase is a set of properties. A module is in the last phase whose properties all hold. A pass *needs* properties without",
    "which it refuses to run (RX0407), and *requires* others, without which a pipeline gets a warning (RX0402). After each pass the",
    "properties that it establishes, and those that it keeps, are checked (RX0403).",
    "",
    'A module may claim its phase: `I.module_attrs({"rx.phase": "high"})`. Then each pass writes the phase that it reached, and what',
    "the claimed phase forbids is an error (RX0408). `opt --record`, and `record=True` in Python, begin such a claim. Without one,",
    "passes write none: the phase follows from the program at any time, TVM knows no such attribute, and a result would differ from",
    "TVM's by it. A module without a claim is in phase `high`, unless it has code of later phases. If it has both, it is in no phase,",
    "which is a warning (RX0408): a lowering pass that is tried alone gives such a module, and so do operators that LegalizeOps keeps.",
    "",
)


def markdown() -> str:
    """The page "Phases and pass order": phases, properties, passes."""
    lines = [
        "# Phases and pass order",
        "",
        "This page is generated from the contracts of the passes: `relax-explorer phases --format markdown`.",
        "",
        *_INTRODUCTION,
        "## Phases",
        "",
        "| Phase | Properties |",
        "|---|---|",
        *[f"| {phase} | {', '.join(q.name for q in needed) or '–'} |" for phase, needed in PHASES.items()],
        "",
        "## Properties",
        "",
        "| Property | Meaning | Established by | Needed by | Required by |",
        "|---|---|---|---|---|",
    ]
    for row in properties():
        asked = ", ".join(row.required_by) if len(row.required_by) < 12 else "nearly every pass"
        cells = (row.of.name, row.of.meaning, ", ".join(row.makers), ", ".join(row.needed_by), asked)
        lines.append("| " + " | ".join(cell or "–" for cell in cells) + " |")
    lines += ["", "## Orders that contracts do not tell", "", "| First | Then | Reason |", "|---|---|---|"]
    lines += [f"| {first} | {second} | {reason} |" for (first, second), reason in ORDERS.items()]
    lines += ["", "## Pipelines", ""]
    for name, steps in registry.PIPELINES.items():
        lines += [f"`{name}`: {', '.join(steps)}", ""]
    lines += ["## Passes", "", "| Pass | What it does | Breaks |", "|---|---|---|"]
    for pass_ in registry.table().values():
        broken = ", ".join(q.name for q in pass_.invalidates) or "–"
        lines.append(f"| {pass_.name} | {pass_.doc.splitlines()[0]} | {broken} |")
    lines += ["", "## Passes of TVM that are missing", "", "| Pass | Reason |", "|---|---|"]
    lines += [f"| {name} | {reason} |" for name, reason in missing().items()]
    return "\n".join(lines) + "\n"
