"""RX0060 to RX0089: what can be wrong with the text of a PrimFunc."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

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
WRITE_RACE = Code(
    "RX0063",
    "iterations that run at once write one element",
    "The iterations of a parallel loop, or of a loop bound to threads, run at the same time. Where a store's index does not depend "
    "on the loop variable, all of them write the same element, and which one comes last is open. This does not look at reductions "
    "over an axis of the block, nor at buffers that each iteration or thread has for itself.",
    "Let the index depend on the loop variable, or make the loop serial.",
    '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):\n    for i in T.parallel(4):\n        B[0] = A[i]\n',
    severity=Severity.WARNING,
)
BOUND_TWICE = Code(
    "RX0064",
    "axis or loop variable bound twice",
    "Two axes of a block have one name or follow the same loop variable, so that only a diagonal is reached; or a loop is inside another "
    "one whose variable has its name, which the body then can't see.",
    "Give each axis a name and a loop of its own.",
    '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4, 4), "int32")):\n    for i in range(4):\n        with T.sblock("b"):\n'
    '            v, w = T.axis.remap("SS", [i, i])\n            A[v, w] = 1\n',
    severity=Severity.WARNING,
)
