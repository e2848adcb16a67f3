"""RX0060 to RX0089: problems in the text of a PrimFunc."""

from __future__ import annotations

from relax_explorer.core.diagnostics import Code, Severity

TIR_STATEMENT = Code(
    "RX0060",
    "not a statement of a PrimFunc",
    "A PrimFunc consists of loops, blocks, stores, lets, conditions and calls with an effect.",
    "Use only these statements.",
    "@T.prim_func\ndef f():\n    import os\n",
)
TIR_EXPRESSION = Code(
    "RX0061",
    "not an expression of a PrimFunc",
    "Only running Python could give this text a value, and the explorer never executes a text.",
    "Write the value itself.",
    '@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    A[0] = [1]\n',
)
TIR_PARAMETER = Code(
    "RX0062",
    "not a parameter of a PrimFunc",
    "A parameter is a T.Buffer, a T.handle with a T.match_buffer, or a scalar such as T.int64.",
    "Use one of these annotations.",
    "@T.prim_func\ndef f(A: int):\n    pass\n",
)
WRITE_RACE = Code(
    "RX0063",
    "parallel iterations write the same element",
    "The iterations of a parallel loop, or of a loop bound to threads, run at the same time. The index of this store does not "
    "depend on the loop variable, so all iterations write the same element, in no fixed order. Reductions over an axis of the "
    "block, buffers private to an iteration or thread, and values that are the same in all threads of a GPU are not told.",
    "Let the index depend on the loop variable, or make the loop serial.",
    '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):\n    for i in T.parallel(4):\n        B[0] = A[i]\n',
    severity=Severity.WARNING,
)
BOUND_TWICE = Code(
    "RX0064",
    "axis or loop variable bound twice",
    "Two axes of a block share a name or a loop variable, so the block reaches only a diagonal. Or a loop variable has the name "
    "of an outer loop variable and hides it.",
    "Give each axis its own name and its own loop.",
    '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4, 4), "int32")):\n    for i in range(4):\n        with T.sblock("b"):\n'
    '            v, w = T.axis.remap("SS", [i, i])\n            A[v, w] = 1\n',
    severity=Severity.WARNING,
)
LENGTH_NOT_ALONE = Code(
    "RX0065",
    "length of a PrimFunc that is no dimension by itself",
    "A PrimFunc finds the values of its shape variables in the lengths of its buffers. TVM looks at dimensions that are one variable. "
    "The explorer also solves `m * 4 + 1` for `m`, and a call whose length has no solution stops; from `n * m` alone nothing follows.",
    "Pass a buffer that has this length, or the length as a scalar parameter.",
    '@T.prim_func\ndef f(A: T.Buffer(("m * 4",), "int32")):\n    m = T.int64()\n    A[0] = 1\n',
    severity=Severity.WARNING,
)
