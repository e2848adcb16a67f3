"""RX09: faults of ours, which no program should be able to reach."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code

WRONG_VALUE = Code(
    "RX0901",
    "operator computed a value of another type",
    "What an operator of this project computed, or failed to compute, is not what its own rule says for the operands; the "
    "program is not to blame.",
    "Please report it, with the operands that the message shows.",
)
OWN_FAULT = Code(
    "RX0902",
    "work of the explorer failed",
    "The explorer came upon a case that nobody thought of. What was shown before stays, and the program is untouched.",
    "Please report it.",
)
