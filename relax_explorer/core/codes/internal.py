"""RX09: faults of the explorer itself. No program should be able to cause one."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code

WRONG_VALUE = Code(
    "RX0901",
    "operator computed a value of another type",
    "The evaluation of an operator contradicts the type that its own inference gave. This is a defect of the explorer, not of "
    "the program.",
    "Please report it, with the operands in the message.",
)
OWN_FAULT = Code(
    "RX0902",
    "internal error of the explorer",
    "The explorer met a case that it does not handle. The view stays as it was, and the program is unchanged.",
    "Please report it.",
)
