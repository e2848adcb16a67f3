"""Kernels compiled by LLVM give the bits of those compiled by numba, and of the reference evaluator."""

from __future__ import annotations

import resource
import threading

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import Kernel, compile_prim_func, uncompiled
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.llvm_kernel import Param, llvm_module
from relax_explorer.core.exec.loop_statements import translate
from relax_explorer.core.tir.stmt import PrimFunc

EXPRESSIONS = {
    "float32": (
        "T.exp(A[v]) / (A[v] - B[v])", "T.sqrt(T.abs(A[v])) + T.tanh(B[v]) * T.erf(A[v])", "T.max(A[v], T.min(B[v], T.float32(0.5)))",
        "T.if_then_else(A[v] > B[v] and v < 5, T.floor(A[v]), T.ceil(B[v]))", "T.pow(T.abs(A[v]), B[v]) + T.log(T.abs(B[v]))",
        "T.Cast('float32', T.Cast('int32', A[v] * T.float32(1e9)))", "T.sin(A[v]) - T.cos(B[v]) * T.round(A[v])",
        "T.Select(T.isnan(A[v]), B[v], T.rsqrt(T.abs(A[v])))", "T.sigmoid(A[v]) * T.trunc(B[v])", "T.Cast('float32', v // 3 - v % 2)",
        "T.Cast('float32', T.Cast('float16', A[v] * T.float32(1e5)))", "T.Cast('float32', T.Cast('bfloat16', A[v])) - B[v]",
        "T.Cast('float32', T.Cast('float8_e4m3fn', A[v] * T.float32(1e-3))) + T.Cast('float32', T.Cast('float8_e5m2', B[v] * T.float32(5e4)))",
        "T.log2(T.abs(A[v]))", "T.log10(T.abs(B[v]))", "T.log1p(T.abs(A[v]))", "T.tan(A[v])", "T.atan2(A[v], B[v])", "T.sinh(A[v])",
        "T.asinh(A[v])", "T.fmod(A[v], B[v])", "T.exp2(B[v])", "T.reinterpret('float32', T.reinterpret('int32', A[v]) + 1)",
    ),
    "float16": ("A[v] * B[v] + T.float16(0.1)", "T.Cast('float16', v) / B[v]"),
    "float64": ("A[v] * B[v] + T.exp(B[v])", "T.Cast('float64', T.Cast('float32', A[v])) / B[v]", "T.tanh(A[v]) - T.erf(B[v])"),
    "int32": (
        "A[v] * B[v] - A[v]", "A[v] // (B[v] * 2 + 1) + A[v] % (B[v] * 2 + 1)", "T.truncdiv(A[v], B[v] * 2 + 1)",
        "T.bitwise_and(A[v], B[v]) + T.bitwise_xor(A[v], T.bitwise_not(B[v]))", "T.shift_left(A[v], 3) + T.shift_right(B[v], 1)",
        "T.Cast('int32', T.Cast('uint8', A[v]) + T.Cast('uint8', B[v]))", "T.Cast('int32', T.Cast('bool', A[v]))",
    ),
    "int8": ("A[v] * B[v]", "A[v] + B[v]", "T.Cast('int8', T.Cast('float32', A[v]) * T.float32(1.5))"),
    "uint8": ("A[v] * B[v]", "A[v] - B[v]", "T.max(A[v], B[v])"),
    "bool": ("A[v] and B[v]", "not A[v] or B[v]", "A[v] == B[v]"),
}  # fmt: skip
CASES = [(dtype, text) for dtype, texts in EXPRESSIONS.items() for text in texts]


def function(body: str, *buffers: str) -> PrimFunc:
    """A PrimFunc of buffers A, B, C, …"""
    params = ", ".join(f"{name}: T.Buffer({shape})" for name, shape in zip("ABCD", buffers, strict=False))
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    found = rxe.parse(f"@T.prim_func\ndef f({params}):\n{lines}\n")["f"]
    assert type(found) is PrimFunc
    return found


def by_llvm(fn: PrimFunc) -> Kernel:
    """The kernel, which must have a translation to LLVM."""
    kernel = compile_prim_func(fn)
    assert kernel.code is not None
    return kernel


@pytest.mark.parametrize(("dtype", "expression"), CASES)
def test_both_compilers_give_the_same_bits(dtype: str, expression: str) -> None:
    fn = function(f"for v in range(9):\n    C[v] = {expression}", *[f'(9,), "{dtype}"'] * 3)
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((2, 9)) * 3).astype(dtype if dtype != "uint8" else "int8").astype(dtype)
    if dtype.startswith("float"):
        a[:4] = [np.nan, np.inf, -np.inf, -0.0]
    results = []
    kernel, by_numba = by_llvm(fn), compile_prim_func(fn, by_numba=True)
    for run in (kernel, uncompiled(fn), by_numba):
        results.append(np.zeros(9, dtype))
        run(a, b, results[-1])
    assert kernel.code is not None
    assert by_numba.code is not None
    assert (kernel.code.is_by_numba, by_numba.code.is_by_numba) == (False, True)
    assert results[0].tobytes() == results[2].tobytes()
    np.testing.assert_array_max_ulp(results[0], results[1], 2) if dtype.startswith("float") else None
    assert dtype.startswith("float") or results[0].tobytes() == results[1].tobytes()


SHIFT = "for i in range(1000):\n    B[i] = A[i] + T.float32(1)"


def test_arrays_that_share_memory_are_written_in_order() -> None:
    fn = function(SHIFT, *['(1000,), "float32"'] * 2)
    base = np.zeros(1001, np.float32)
    by_llvm(fn)(base[:-1], base[1:])
    assert base.tolist() == list(range(1001))
    apart = np.zeros(1000, np.float32)
    compile_prim_func(fn)(base[:-1], apart)
    assert apart.tolist() == list(range(1, 1001))


MEMORY = """
for i in range(2000):
    with T.sblock("row"):
        row = T.axis.spatial(2000, i)
        C = T.sblock_alloc_buffer((100000,), "float32")
        for j in range(100000 // 50):
            C[j * 50] = A[row] + T.Cast("float32", j)
        B[row] = C[T.Cast("int32", A[row]) * 50]
"""


def test_memory_allocated_in_a_loop_is_given_back() -> None:
    fn = function(MEMORY.strip(), *['(2000,), "float32"'] * 2)
    a, b = np.arange(2000, dtype=np.float32), np.zeros(2000, np.float32)
    kernel = by_llvm(fn)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kernel(a, b)
    assert b.tolist() == (2 * a).tolist()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB, of 800 MB in all


ROWS = """
for i in range(A.shape[0]):
    with T.sblock("row"):
{memory}
{stores}
        B[i] = {sum}
"""


@pytest.mark.parametrize(
    ("count", "length", "of_system"), [(1, 4000, 0), (4, 4000, 0), (8, 4000, 4), (1, 20000, 1), (40, 64, 0)]
)
def test_rows_lie_on_the_stack_while_there_is_room(count: int, length: int, of_system: int) -> None:
    names = [f"C{n}" for n in range(count)]
    memory = [f"        {name} = T.sblock_alloc_buffer(({length},))" for name in names]
    stores = [f"        {name}[{length - 1}] = A[i] * T.float32({n + 1})" for n, name in enumerate(names)]
    body = ROWS.replace("{memory}", "\n".join(memory)).replace("{stores}", "\n".join(stores))
    body = body.replace("{sum}", " + ".join([f"{name}[{length - 1}]" for name in names]))
    fn = function(body.replace("A.shape[0]", "300").strip(), *['(300,), "float32"'] * 2)
    routine = translate(fn).routine
    module = str(llvm_module(routine, [Param("", "float32", (300,))] * 2, True, "k"))
    assert module.count('call i8* @"malloc"') == of_system
    a, b = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    by_llvm(fn)(a, b)
    assert b.tolist() == (a * (count * (count + 1) // 2)).tolist()


def test_an_endless_loop_is_cancelled() -> None:
    fn = function("while A[0] == 0:\n    A[1] = A[1] + 1", '(2,), "int64"')
    interrupt, values = Interrupt(), np.zeros(2, np.int64)
    threading.Timer(0.2, interrupt.cancel).start()
    with pytest.raises(Cancelled):
        by_llvm(fn)(values, interrupt=interrupt)
    assert values[1] > 0
