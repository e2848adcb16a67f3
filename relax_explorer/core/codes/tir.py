"""RX0060 to RX0089: what can be wrong with the text of a PrimFunc."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code

TIR_STATEMENT = Code(
    "RX0060",
    "not a statement of a PrimFunc",
    "A PrimFunc has loops, blocks, stores, lets, conditions and calls for effect.",
    "Write it with these.",
    "@T.prim_func\ndef f():\n    import os\n",
)
TIR_EXPRESSION = Code(
    "RX0061",
    "not an expression of a PrimFunc",
    "The text would have to be executed as Python to have a value; it never is.",
    "Write the value itself.",
    '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = [1]\n',
)
TIR_PARAMETER = Code(
    "RX0062",
    "not a parameter of a PrimFunc",
    "A parameter is a T.Buffer, a T.handle that T.match_buffer names, or a scalar such as T.int64.",
    "Annotate it so.",
    "@T.prim_func\ndef f(A: int):\n    pass\n",
)
