"""Kernels scheduled for GPUs run: one thread after the other, or together if they exchange values inside a loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, uncompiled
from relax_explorer.core.exec.simt_kernel import needs_simt
from relax_explorer.core.tir.stmt import PrimFunc
from tests.perf.exec import _program

Compile = Callable[[PrimFunc], Callable[..., object]]
SCHEDULES = Path(__file__).parent.parent / "data" / "cuda_schedules"
PROGRAMS = {
    "matmul": _program({"x": (64, 48), "y": (48, 32)}, ["R.matmul(x, y)", "R.nn.relu(v0)"]),
    "softmax": _program({"x": (8, 100)}, ["R.nn.softmax(x, axis=-1)"]),
    "norm": _program({"x": (8, 64), "g": (64,), "b": (64,)}, ["R.nn.layer_norm(x, g, b, axes=[-1])"]),
    "mv": _program({"x": (1, 64), "y": (96, 64)}, ["R.matmul(x, R.permute_dims(y))"]),
    "conv": _program({"x": (1, 4, 12, 12), "w": (8, 4, 3, 3)}, ["R.nn.conv2d(x, w, padding=[1, 1, 1, 1])"]),
    "sum": _program({"x": (8, 5, 64)}, ["R.sum(x, axis=[1])", "R.mean(x, axis=[-1])", "R.add(v0, v0)"]),
}


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        *[(name, "numba") for name in PROGRAMS],
        *[(name, "reference") for name in ("softmax", "norm", "mv", "sum")],
    ],
)
def test_a_program_that_tvm_scheduled_for_cuda_has_the_values_of_its_operators(
    name: str, engine: str
) -> None:
    text, shapes = PROGRAMS[name]
    random = np.random.default_rng(0)
    args = [random.standard_normal(shape).astype("float32") for shape in shapes]
    scheduled = rxe.parse((SCHEDULES / f"{name}.py").read_text(encoding="utf-8"))
    assert "thread_binding" in scheduled.script()
    found = rxe.run(scheduled, "main", args, engine=engine)
    np.testing.assert_allclose(found, rxe.run(rxe.parse(text), "main", args), rtol=2e-5, atol=1e-5)


SHIFT = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.sblock_alloc_buffer((8,), "float32", scope="shared")
{body}
"""
APART = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    S[tx] = A[tx]
for ty in T.thread_binding(8, thread="threadIdx.x"):
    B[ty] = S[7 - ty]"""
TOGETHER = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    S[tx] = A[tx]
    B[tx] = S[7 - tx]"""
BY_BLOCK = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.sblock("fill"):
        v = T.axis.spatial(8, tx)
        S[v] = A[v]
    B[tx] = S[7 - tx]"""
BY_LET = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    v: T.let[T.int32] = tx
    S[v] = A[v]
    B[tx] = S[7 - tx]"""
BY_LOOP = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    for i in range(tx, tx + 1):
        S[i] = A[i]
    B[tx] = S[7 - tx]"""
REFILLED = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    for inner in T.thread_binding(8, thread="threadIdx.x"):
        S[inner] = A[inner]
    B[tx] = S[7 - tx]"""
OWN_ELEMENT = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.sblock("fill"):
        v = T.axis.spatial(8, tx)
        S[v] = A[7 - v]
    with T.sblock("use"):
        v = T.axis.spatial(8, tx)
        B[v] = S[v]"""
IN_ONE_BLOCK = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.sblock("both"):
        v = T.axis.spatial(8, tx)
        S[v] = A[v]
        B[v] = S[7 - v]"""
ADDED_TO = """for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.sblock("sum"):
        v = T.axis.spatial(8, tx)
        S[v] = T.float32(1)
        S[v] = S[v] + A[7 - v]
        B[v] = S[v] - T.float32(1)"""
ONE_BLOCK = """for bx in T.thread_binding(8, thread="blockIdx.x"):
    S[bx] = A[bx]
    B[bx] = S[bx]"""
OWN = TOGETHER.replace("S[7 - tx]", "A[7 - tx]").replace("    S[tx] = A[tx]\n", "")
WAITING = TOGETHER.replace("    B[tx]", '    T.evaluate(T.tvm_storage_sync("shared"))\n    B[tx]')


def shift(body: str) -> PrimFunc:
    return rxe.parse(SHIFT.format(body="\n".join(f"    {line}" for line in body.splitlines())))["f"]


@pytest.mark.parametrize("kernel", [compile_prim_func, uncompiled])
@pytest.mark.parametrize("body", [APART, REFILLED, OWN, OWN_ELEMENT, ADDED_TO])
def test_threads_run_one_after_the_other(body: str, kernel: Compile) -> None:
    assert not needs_simt(shift(body))
    result = np.zeros(8, "float32")
    kernel(shift(body))(np.arange(8, dtype="float32"), result)
    assert result.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_blocks_have_memory_of_their_own() -> None:
    result = np.zeros(8, "float32")
    compile_prim_func(shift(ONE_BLOCK))(np.arange(8, dtype="float32"), result)
    assert result.tolist() == list(range(8))


@pytest.mark.parametrize("kernel", [compile_prim_func, uncompiled])
@pytest.mark.parametrize("body", [TOGETHER, BY_BLOCK, BY_LET, IN_ONE_BLOCK, BY_LOOP, WAITING])
def test_threads_that_exchange_values_run_together(body: str, kernel: Compile) -> None:
    assert needs_simt(shift(body))
    result = np.zeros(8, "float32")
    kernel(shift(body))(np.arange(8, dtype="float32"), result)
    assert result.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("scope", ["local", "global"])
def test_memory_of_one_thread_is_no_exchange(scope: str) -> None:
    text = SHIFT.format(body="\n".join(f"    {line}" for line in TOGETHER.splitlines())).replace(
        "7 - tx", "tx"
    )
    fn, result = rxe.parse(text.replace('"shared"', f'"{scope}"'))["f"], np.zeros(8, "float32")
    compile_prim_func(fn)(np.arange(8, dtype="float32"), result)
    assert result.tolist() == list(range(8))
