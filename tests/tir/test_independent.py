"""Iterations of a loop that can run at the same time: what is proved, and that a proof means any order gives the same values."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.loop_nests import parallel_loop
from relax_explorer.core.exec.loop_statements import length_variables
from relax_explorer.core.exec.reference_kernel import run_reference
from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.independent import Iterations, independent_iterations

HEAD = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), C: T.Buffer((8, 8), "int32")):
"""
OUTER = "for i in T.parallel(8):\n    "


def kernel(body: str, head: str = HEAD) -> t.PrimFunc:
    fn = rxe.parse(head + "\n".join(f"    {line}" for line in body.splitlines()) + "\n")["f"]
    assert type(fn) is t.PrimFunc
    return fn


def proved(fn: t.PrimFunc, *lengths: int) -> Iterations | None:
    loop = parallel_loop(fn)
    assert loop is not None
    return independent_iterations(loop, dict(zip(length_variables(fn), lengths, strict=True)))


APART = {
    "own element": "B[i] = A[i]",
    "shifted": "B[i + 3] = B[i + 3] + A[63 - i]",
    "backwards": "B[63 - i] = A[i]",
    "tile": "for j in range(8):\n        B[i * 8 + j] = B[i * 8 + 7 - j]",
    "start of an inner loop": "for j in range(i * 4, i * 4 + 4):\n        B[j] = A[j]",
    "let": "v: T.let[T.int32] = i * 2\n    B[v] = A[v]",
    "second axis": "for j in range(8):\n        C[j, i] = C[7 - j, i] + 1",
    "two axes": "C[i // 4, i % 4] = A[i]",
    "halves of the fused index": "C[i // 2, i % 2 * 4] = A[i]",
    "quotient of the tile": "for j in range(4):\n        B[(i * 4 + j) // 4] = A[j]",
    "rest of the tile": "for j in range(4):\n        B[i * 4 + (i * 4 + j) % 4] = A[j]",
    "three digits": "B[i // 4 * 4 + i % 4 // 2 * 2 + i % 2] = A[i]",
    "branch": "if i < 4:\n        B[i] = A[0]\n    else:\n        B[i] = A[1]",
    "block": "with T.sblock('b'):\n        v = T.axis.spatial(8, 7 - i)\n        C[v, 0] = A[v]\n        C[v, 1] = C[v, 0]",
    "reduction": "for k in range(8):\n        with T.sblock('b'):\n            v, r = T.axis.remap('SR', [i, k])\n"
    "            with T.init():\n                B[v] = 0\n            B[v] = B[v] + C[v, r]",
    "scratch": "S = T.alloc_buffer((4,), 'int32')\n    for j in range(4):\n        S[j] = A[i * 4 + j]\n    B[i] = S[3] + S[0]",
    "scratch of a block": "with T.sblock('b'):\n        S = T.sblock_alloc_buffer((1,), 'int32')\n        S[0] = A[i]\n        B[i] = S[0]",
    "a value that depends on the iteration in the rest": "B[i * 2 + A[i] % 2] = 1",
}
TOGETHER = {
    "one element": "B[0] = A[i]",
    "overlap": "for j in range(9):\n        B[i * 8 - i % 8 + j] = A[0]",
    "neighbour read": "B[i] = B[i + 1]",
    "read elsewhere": "for j in range(8):\n        B[i * 8 + j] = B[j * 8 + i]",
    "tiles that overlap": "for j in range(8):\n        B[i * 7 + j] = A[j]",
    "half": "B[i // 2] = A[i]",
    "rest": "B[i % 4] = A[i]",
    "two axes that meet": "C[i // 4, i % 2] = A[i]",
    "unlike strides": "B[i * 2] = B[i * 3]",
    "unlike quotients": "B[i // 2 * 2] = B[i]",
    "place from memory": "B[A[i]] = 1",
    "let from memory": "v: T.let[T.int32] = A[i]\n    B[v] = 1",
    "sum": "with T.sblock('b'):\n        v = T.axis.reduce(8, i)\n        B[0] = B[0] + A[v]",
    "index read": "B[i] = A[B[i + 8]]",
    "condition read": "if B[i + 1] < 3:\n        B[i] = 0",
    "bound read": "for j in range(B[i + 1]):\n        B[i] = B[i] + j",
    "other axes": "for j in range(8):\n        C[j, i] = C[i, j]",
    "wrap": "B[T.Cast('int32', T.Cast('uint8', i * 64))] = A[i]",
    "rest of a double": "B[i * 2 % 4 + i // 4 * 4] = A[i]",
    "quotient of a successor": "B[i + (i + 1) // 2 - i // 2] = A[i]",
    "impure call": "B[i] = T.call_extern('int32', 'rand')",
    "pointer in a call": "B[i] = T.call_pure_extern('int32', 'f', B.data)",
    "view": "V = T.decl_buffer((64,), 'int32', data=B.data)\n    V[i] = A[i]",
    "pointer": "T.evaluate(T.call_packed('f', B.data))\n    B[i] = 1",
    "part of a buffer": "with T.sblock('b'):\n        S = T.match_buffer(B[0:8], (8,))\n        S[i] = A[i]",
}  # fmt: skip


def reads_alike(fn: t.PrimFunc, order: list[int]) -> bool:
    """True if the iterations, each alone and in this order, give what the loop gives."""
    loop = parallel_loop(fn)
    assert loop is not None
    random = np.random.default_rng(1)
    arrays = [random.integers(0, 60, shape).astype("int32") for shape in ((64,), (64,), (8, 8))]
    whole, alone = [item.copy() for item in arrays], [item.copy() for item in arrays]
    run_reference(fn, [], whole, Interrupt())
    for number in order:
        one = dataclasses.replace(
            loop, start=p.IntImm(number, loop.var.dtype), extent=p.IntImm(1, loop.var.dtype)
        )
        run_reference(t.PrimFunc(fn.params, one, None, fn.attrs, fn.s_tir), [], alone, Interrupt())
    return all(map(np.array_equal, whole, alone))


@pytest.mark.parametrize("body", APART.values(), ids=APART.keys())
def test_iterations_that_stay_apart_are_proved(body: str) -> None:
    fn = kernel(OUTER + body)
    found = proved(fn)
    assert found is not None
    assert (found.start, found.end) == (0, 8)
    assert reads_alike(fn, [5, 7, 0, 2, 1, 6, 4, 3])


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER.keys())
def test_iterations_that_may_meet_are_not_proved(body: str) -> None:
    assert proved(kernel(OUTER + body)) is None


def test_a_loop_with_a_start_or_without_iterations() -> None:
    found = proved(kernel("for i in T.parallel(3, 9):\n    B[i] = A[i]"))
    assert found is not None
    assert (found.start, found.end) == (3, 9)
    assert proved(kernel("for i in T.parallel(3, 3):\n    B[i] = A[i]")) is None


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("B: T.Buffer((8,), 'int32', strides=(1,))", "B[i] = 1"),
        (
            "B: T.Buffer((8,), 'int32'), h: T.handle",
            "V = T.decl_buffer((8,), 'int32', data=h)\n    V[i // 2] = 1",
        ),
    ],
)
def test_other_memory_is_not_proved(head: str, body: str) -> None:
    assert proved(kernel(OUTER + body, f"\n@T.prim_func(s_tir=True)\ndef f({head}):\n")) is None


def test_lengths_decide() -> None:
    head = "\n@T.prim_func(s_tir=True)\ndef f(d: T.handle):\n    n, m = T.int32(), T.int32()\n    D = T.match_buffer(d, (n, m), 'int32')\n"
    rows = kernel("for i in T.parallel(n):\n    for j in range(m):\n        D[i, j] = D[i, m - 1 - j]", head)
    found = proved(rows, 5, 3)
    assert found is not None
    assert (found.start, found.end) == (0, 5)
    fused = kernel("for i in T.parallel(12):\n    D[i // 4, i % 4] = 1", head)
    assert proved(fused, 3, 4) is not None
    tiles = kernel("for i in T.parallel(n):\n    for j in range(m):\n        D[0, i * 4 + j] = 1", head)
    assert proved(tiles, 5, 4) is not None
    assert proved(tiles, 5, 5) is None


def test_operations_count_loops_and_calls() -> None:
    cheap = proved(kernel(OUTER + "for j in range(4):\n        B[i * 4 + j] = A[j]"))
    dear = proved(kernel(OUTER + "for j in range(4):\n        B[i * 4 + j] = T.clz(A[j])"))
    once = proved(kernel(OUTER + "B[i] = A[0]"))
    assert cheap is not None
    assert dear is not None
    assert once is not None
    assert dear.operations > 2 * cheap.operations > 6 * once.operations


def index(random: Random, depth: int) -> str:
    """A random index over the loops `i` and `j`."""
    if depth == 0:
        return random.choice(["i", "i", "j", str(random.randrange(4))])
    inner, other = index(random, depth - 1), index(random, random.randrange(depth))
    number = random.choice([1, 2, 4, 8])
    return random.choice(
        [
            f"({inner} + {other})",
            f"({inner} * {number})",
            f"({inner} // {number})",
            f"({inner} % {number})",
            f"({inner} - {other})",
        ]
    )


def test_random_loops_that_are_proved_give_the_same_values_in_any_order() -> None:
    random, count, met = Random(3), 0, 0
    for _ in range(1500):
        store, load = (f"{index(random, random.randrange(1, 4))} % 64" for _ in range(2))
        load = random.choice([store, store, load])
        body = f"{OUTER}for j in range({random.choice([1, 2, 4])}):\n        B[{store}] = B[{load}] * 3 + A[i] + j"
        if random.random() < 0.4:
            store = f"{index(random, 1)} % 8, {index(random, 1)} % 8"
            body = f"{OUTER}for j in range(4):\n        C[{store}] = C[{store}] * 3 + A[i * 4 + j]"
        fn = kernel(body)
        order = list(range(8))
        random.shuffle(order)
        same = reads_alike(fn, order)
        if proved(fn) is not None:
            count += 1
            assert same, body
        met += not same
    assert count > 100
    assert met > 300
