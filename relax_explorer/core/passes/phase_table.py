"""Phases and the order of passes, as tables: what each phase guarantees, and which pass establishes, needs or breaks what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from relax_explorer.core import passes as registry
from relax_explorer.core.passes.contract import Pass
from relax_explorer.core.passes.pass_order import ORDERS, unmet
from relax_explorer.core.passes.pipeline import Step
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

# Properties of a program that was read and normalized.
ALWAYS = (
    WELL_FORMED,
    PURE_DATAFLOW,
    BYOC_MARKED,
    NORMAL_FORM,
    NORMALIZED,
)


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
