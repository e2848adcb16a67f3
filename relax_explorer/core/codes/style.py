"""RX03: unused things and style."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

UNUSED_BINDING = Code(
    "RX0301",
    "value is never used",
    "Nothing reads the variable, and computing it has no effect.",
    "Remove it, or run DeadCodeElimination.",
    '@R.function\ndef f(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    return x\n',
    Severity.NOTE,
)
