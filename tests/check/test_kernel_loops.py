"""Parallel iterations that write the same element, and axes bound twice, get a warning; correct loops do not."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

HEAD = '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):\n'
THREAD = 'for i in T.thread_binding(4, thread="threadIdx.x"):\n'
LOCAL = '    L = T.alloc_buffer((4,), "int32", scope="local")\n    L1 = T.alloc_buffer((1,), "int32", scope="local")\n'
WRONG = {
    "the same value in a parallel loop": ("for i in T.parallel(4):\n    B[0] = 1", "RX0063"),
    "a sum": (THREAD + "    B[0] = B[0] + 1", "RX0063"),
    "a value of a thread": (THREAD + LOCAL + "    L1[0] = A[i, 0]\n    B[0] = L1[0]", "RX0063"),
    "a value that some threads store": (
        THREAD + LOCAL + "    L1[0] = 0\n    if i == 0:\n        L1[0] = 1\n    B[0] = L1[0]",
        "RX0063",
    ),
    "a value of the iteration before": (
        THREAD
        + LOCAL
        + "    L1[0] = 0\n    for k in range(3):\n        B[0] = L1[0]\n        L1[0] = A[i, k]",
        "RX0063",
    ),
    "a value of the iteration before, two loops further in": (
        THREAD
        + LOCAL
        + "    L1[0] = 0\n    for k in range(3):\n        for m in range(2):\n            B[0] = L1[0]\n"
        "        for m in range(2):\n            L1[0] = A[i, k]",
        "RX0063",
    ),
    "a reset that may not happen": (
        THREAD
        + LOCAL
        + "    L1[0] = A[i, 0]\n    for k in range(A[0, 0]):\n        L1[0] = 0\n    B[0] = L1[0]",
        "RX0063",
    ),
    "a reset of a part": (
        THREAD + LOCAL + "    L[3] = A[i, 0]\n    for k in range(3):\n        L[k] = 0\n    B[0] = L[3]",
        "RX0063",
    ),
    "a reset of one column": (
        THREAD + LOCAL + "    L[3] = A[i, 0]\n    for k in range(4):\n        L[0] = 0\n    B[0] = L[3]",
        "RX0063",
    ),
    "a loop of other lengths": (
        THREAD
        + LOCAL
        + "    L1[0] = 0\n    for k in range(A[i, 0]):\n        L1[0] = L1[0] + 1\n    B[0] = L1[0]",
        "RX0063",
    ),
    "a value that a loop leaves early": (
        THREAD
        + LOCAL
        + "    L1[0] = A[i, 0]\n    while L1[0] > 0:\n        L1[0] = L1[0] - 1\n    B[0] = L1[0]",
        "RX0063",
    ),
    "memory of a block, index of a thread": (
        THREAD + '    S = T.alloc_buffer((4,), "int32", scope="shared")\n    S[i] = A[i, 0]\n    B[0] = S[i]',
        "RX0063",
    ),
    "a parallel loop": ("for i in T.parallel(4):\n    B[0] = A[i, 0]", "RX0063"),
    "a thread": ('for i in T.thread_binding(4, thread="threadIdx.x"):\n    B[1] = A[i, 0]', "RX0063"),
    "an axis of another loop": (
        "for i in T.parallel(4):\n    for j in range(4):\n"
        '        with T.sblock("b"):\n            v = T.axis.spatial(4, j)\n            B[v] = A[i, v]',
        "RX0063",
    ),
    "a diagonal": (
        'for i in range(4):\n    with T.sblock("b"):\n        v, w = T.axis.remap("SS", [i, i])\n        A[v, w] = 1',
        "RX0064",
    ),
    "a loop in a loop of its name": (
        "for i in range(4):\n    for i in range(4):\n        B[i] = 1",
        "RX0064",
    ),
    "an axis of the same name": (
        'for i, j in T.grid(4, 4):\n    with T.sblock("b"):\n        v = T.axis.spatial(4, i)\n        v = T.axis.spatial(4, j)\n        B[v] = 1',
        "RX0064",
    ),
}
RIGHT = {
    "the same value of all threads": THREAD + "    B[0] = A[0, 0] + 5",
    "an element of a thread": THREAD + LOCAL + "    L1[0] = i\n    B[L1[0]] = A[i, 0]",
    "an element that a loop chooses": THREAD
    + LOCAL
    + "    L1[0] = i\n    while L1[0] < 4:\n        B[L1[0]] = A[i, 0]\n        L1[0] = L1[0] + 4",
    "a value that is reset": THREAD + LOCAL + "    L1[0] = A[i, 0]\n    L1[0] = 0\n    B[0] = L1[0]",
    "memory that a loop resets": THREAD
    + LOCAL
    + "    L[3] = A[i, 0]\n    for k in range(4):\n        L[k] = 0\n    B[0] = L[3]",
    "memory that is reset, and then summed": THREAD
    + LOCAL
    + "    L1[0] = A[i, 0]\n    for m in range(2):\n        L1[0] = 0\n        for k in range(4):\n"
    "            L1[0] = L1[0] + A[0, k]\n    B[0] = L1[0]",
    "memory of a block": THREAD
    + '    S = T.alloc_buffer((4,), "int32", scope="shared")\n    S[i] = A[i, 0]\n    B[0] = S[0]',
    "an axis that is bound again": THREAD
    + '    for j in T.thread_binding(4, thread="threadIdx.x"):\n        B[j] = A[j, 0]',
    "each its own": "for i in T.parallel(4):\n    B[i] = A[i, 0]",
    "through an axis": 'for i in T.parallel(4):\n    with T.sblock("b"):\n        v = T.axis.spatial(4, i)\n        B[v] = A[v, 0]',
    "one of the threads": 'for i in T.thread_binding(4, thread="threadIdx.x"):\n    if i == 0:\n        B[1] = A[i, 0]',
    "one iteration": "for i in T.parallel(1):\n    B[0] = A[i, 0]",
    "a serial loop": "for i in range(4):\n    B[0] = A[i, 0]",
    "a reduction": (
        'for k in T.thread_binding(4, thread="threadIdx.x"):\n    with T.sblock("b"):\n        v = T.axis.reduce(4, k)\n'
        "        with T.init():\n            B[0] = 0\n        B[0] = B[0] + A[v, 0]"
    ),
    "memory of each iteration": 'for i in T.parallel(4):\n    with T.sblock("b"):\n        v = T.axis.spatial(4, i)\n'
    '        C = T.sblock_alloc_buffer((1,), "int32")\n        C[0] = A[v, 0]\n        B[v] = C[0]',
    "a buffer of each iteration": 'for i in T.parallel(4):\n    C = T.alloc_buffer((1,), "int32")\n    C[0] = A[i, 0]\n    B[i] = C[0]',
    "loops one after the other": "for i in range(4):\n    B[i] = 1\nfor i in range(4):\n    B[i] = 2",
}


def codes(body: str) -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return [
        item.code.id for item in rxe.check(rxe.parse(HEAD + lines)) if item.code.id in ("RX0063", "RX0064")
    ]


@pytest.mark.parametrize(("body", "code"), WRONG.values(), ids=WRONG)
def test_what_is_doubtful_is_told(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    ("loop", "name"),
    [
        ("T.parallel(4)", "parallel"),
        ('T.thread_binding(4, thread="threadIdx.x")', "threadIdx.x"),
        ("T.thread_binding(4)", "thread"),
    ],
)
def test_the_loop_is_named(loop: str, name: str) -> None:
    (found,) = rxe.check(f"{HEAD}    for i in {loop}:\n        B[0] = A[i, 0]\n")
    assert f"every iteration of the {name} loop over i" in found.message
    assert [label.primary for label in found.labels] == [True]


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_not(body: str) -> None:
    assert codes(body) == []


def test_loops_in_loops_are_looked_at_once() -> None:
    depth = 40
    loops = "".join(f"{'    ' * n}for i{n} in range(1):\n" for n in range(depth))
    assert codes(f"{loops}{'    ' * depth}B[0] = 1") == []
