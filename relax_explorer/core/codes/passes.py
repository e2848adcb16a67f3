"""RX04: passes, contracts and phases."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

UNKNOWN_PASS = Code(
    "RX0401", "unknown pass", "No pass or pipeline has this name.", "List them with `relax-explorer passes`."
)
UNMET_REQUIREMENT = Code(
    "RX0402",
    "requirement not met",
    "The pass needs a property that nothing before it establishes.",
    "Run the named pass before it.",
    "",
    Severity.WARNING,
)
BROKEN_CONTRACT = Code(
    "RX0403",
    "the pass broke its contract",
    "A property that the pass keeps or establishes does not hold after it.",
    "This is a defect of the pass; disable it.",
)
BAD_OPTION = Code(
    "RX0404",
    "wrong option of a pass",
    "The pass has no such option, or the value is of another type.",
    "See `relax-explorer explain PASS`.",
)
STOPS_UNREAD = Code(
    "RX0406",
    "a binding that nothing reads may stop the run",
    "Outside a dataflow block a pass keeps errors: dropping such a binding would drop its error, too.",
    'Drop it with DeadCodeElimination{errors="drop"}, as TVM does, or write it in a dataflow block.',
    "",
    Severity.NOTE,
)
NO_LEGALIZATION = Code(
    "RX0405",
    "operator has no lowering",
    "LegalizeOps leaves the call as it is.",
    "Skip the operator, or lower it by hand.",
    "",
    Severity.WARNING,
)
