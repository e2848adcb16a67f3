"""Kernels whose GPU threads work together: all threads of a block run each statement at once, and read before one writes."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import simt_kernel
from relax_explorer.core.exec.compiled_kernel import compile_prim_func, lengths_of
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.simt_kernel import needs_simt, run_simt
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

DATA = Path(__file__).parent.parent / "data"
SAMPLERS = DATA / "gpu_samplers"
RANDOM = np.random.default_rng(0)


TURNED = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        with T.launch_thread("threadIdx.x", 8) as tx:
            S = T.alloc_shared((8,))
            S[tx] = A[tx]
            B[tx] = S[7 - tx]
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((8,), "float32"))
        return y
"""


def distributions(rows: int) -> np.ndarray:
    found = RANDOM.random((rows, 300)).astype("float32")
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def inputs(function: str, rows: int) -> list[np.ndarray]:
    prob, draws = distributions(rows), RANDOM.random((4, 1)).astype("float32")
    rows_drawn = RANDOM.integers(0, rows, (4, 1))
    down = -np.sort(-prob, axis=1)
    limits = [np.full((rows, 1), 0.7, "float32"), np.full((rows, 1), 90, "int32")]
    return {
        "argsort": [prob],
        "cums": [RANDOM.integers(-9, 9, (rows, 1300)).astype("int32")],
        "sample": [prob, draws, rows_drawn],
        "renorm": [prob, down, *limits],
        "topp": [down, np.argsort(-prob, axis=1).astype("int32"), *limits, draws, rows_drawn],
    }[function]


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("function", ["argsort", "cums", "sample", "renorm", "topp"])
def test_kernels_of_tvm_for_samplers_compute_what_the_operators_do(function: str, rows: int) -> None:
    args = inputs(function, rows)
    wanted = rxe.run(rxe.load(SAMPLERS / "operators.py"), function, args)
    module = rxe.load(SAMPLERS / "cuda.py")
    for engine in ("llvm", "reference") if rows == 1 and function in ("argsort", "sample") else ("llvm",):
        found = rxe.run(module, function, args, engine=engine)
        for a, b in zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            assert a.dtype == b.dtype


def test_a_wrong_kernel_is_noticed() -> None:
    text = (SAMPLERS / "cuda.py").read_text()
    assert text.count("if tx >= T.int64(1) << i:") > 1
    wrong = rxe.parse(text.replace("if tx >= T.int64(1) << i:", "if tx > T.int64(1) << i:"))
    args = inputs("cums", 2)
    assert (rxe.run(wrong, "cums", args) != rxe.run(rxe.load(SAMPLERS / "operators.py"), "cums", args)).any()


# -- ordinary kernels ------------------------------------------------------------------------------------------------
# Kernels whose threads exchange nothing have the same values as SIMT.


def kernels(*folders: str) -> list[object]:
    found = {}
    for path in sorted(path for folder in folders for path in (DATA / folder).rglob("*.py")):
        for name, fn in rxe.load(path).functions.items():
            if type(fn) is PrimFunc:
                found[f"{path.relative_to(DATA)}:{name}"] = fn
    return [pytest.param(fn, id=name) for name, fn in found.items()]


@pytest.mark.parametrize("fn", kernels("cuda_schedules"))
def test_kernels_of_threads_that_do_not_exchange_anything(fn: PrimFunc) -> None:
    buffers = [param for param in fn.params if isinstance(param, Buffer)]
    shapes = [tuple(evaluate(dim, {}) for dim in buffer.shape) for buffer in buffers]
    args = [RANDOM.standard_normal(shape).astype("float32") for shape in shapes]
    compiled = [arg.copy() for arg in args]
    compile_prim_func(fn)(*compiled)
    run_simt(fn, [], args, Interrupt())
    for a, b in zip(args, compiled, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


# -- rules -----------------------------------------------------------------------------------------------------------


FUNCTION = '@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((8,), "{}"), B: T.Buffer((8,), "{}")):\n{}\n'
LAUNCH = 'with T.launch_thread("threadIdx.x", 8) as tx:'


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def function(text: str, types: tuple[str, str] = ("float32", "float32")) -> PrimFunc:
    fn = rxe.parse(FUNCTION.format(*types, indented(text)))["f"]
    assert isinstance(fn, PrimFunc)
    assert needs_simt(fn)
    return fn


def kernel(body: str, head: str = "", types: tuple[str, str] = ("float32", "float32")) -> PrimFunc:
    return function("\n".join([*head.splitlines(), LAUNCH, indented(body)]), types)


def ran(fn: PrimFunc) -> list[float]:
    a, b = (np.dtype(str(param.dtype)) for param in fn.params)
    out = np.zeros(8, b)
    lengths_of(fn)(np.arange(8).astype(a), out)
    return list(out.tolist())


def test_a_thread_has_memory_and_variables_of_its_own() -> None:
    sums = "L = T.alloc_local((1,))\nL[0] = A[tx]\nfor i in range(3):\n    L[0] = L[0] + T.Cast('float32', tx)\nB[tx] = L[0]"
    assert ran(kernel(sums)) == [4.0 * n for n in range(8)]
    before = 'L = T.sblock_alloc_buffer((1,), "float32", scope="local")'
    assert ran(kernel("L[0] = A[7 - tx]\nB[tx] = L[0]", before)) == list(range(7, -1, -1))


def test_memory_that_threads_share_is_read_before_it_is_written() -> None:
    body = "S = T.alloc_shared((8,))\nS[tx] = A[tx]\nif tx > 0:\n    S[tx] = S[tx] + S[tx - 1]\nB[tx] = S[tx]"
    assert ran(kernel(body)) == [0, *[n + n - 1.0 for n in range(1, 8)]]


def test_each_block_begins_anew() -> None:
    body = "S = T.alloc_shared((4,))\nS[tx] = A[bx * 4 + tx]\nB[bx * 4 + tx] = S[3 - tx]"
    launch = f'with T.launch_thread("threadIdx.x", 4) as tx:\n{indented(body)}'
    blocks = f'for bx in T.thread_binding(2, thread="blockIdx.x"):\n{indented(launch)}'
    assert ran(function(blocks)) == [3, 2, 1, 0, 7, 6, 5, 4]


@pytest.mark.parametrize("bytes_at_once", [1 << 24, 40, 1])
@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.parametrize("scope", ["local", "shared"])
def test_elements_that_threads_number_stay_from_loop_to_loop(
    scope: str, is_inside: bool, bytes_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As schedules with partial sums have them: an axis for the threads, in memory of the block or of the whole kernel."""
    monkeypatch.setattr(simt_kernel, "_MOST_BYTES", bytes_at_once)
    first = 'for tx in T.thread_binding(4, thread="threadIdx.x"):\n    L[tx] = A[bx * 4 + tx]'
    second = 'for ty in T.thread_binding(4, thread="threadIdx.x"):\n    B[bx * 4 + ty] = L[ty]'
    memory = f'L = T.sblock_alloc_buffer((4,), "float32", scope="{scope}")\n'
    body = f'{memory if is_inside else ""}{first}\nT.tvm_storage_sync("shared")\n{second}'
    inner = f"with T.sblock('work'):\n{indented(body)}"
    blocks = f'for bx in T.thread_binding(2, thread="blockIdx.x"):\n{indented(inner)}'
    assert ran(function(f"{'' if is_inside else memory}{blocks}")) == list(range(8))


def test_large_memory_of_blocks_is_not_there_for_each_block() -> None:
    """Before TVM makes buffers compact, a schedule has one in shared memory that is as large as a whole operand."""
    memory = f'S = T.sblock_alloc_buffer(({1 << 22},), "float32", scope="shared")\n'
    lines = "S[bx * 8 + tx] = A[tx]\nT.tvm_storage_sync('shared')\nB[tx] = S[bx * 8 + 7 - tx]"
    body = f'for tx in T.thread_binding(8, thread="threadIdx.x"):\n{indented(lines)}'
    fn = function(f'{memory}for bx in T.thread_binding(64, thread="blockIdx.x"):\n{indented(body)}')
    tracemalloc.start()
    assert ran(fn) == [7, 6, 5, 4, 3, 2, 1, 0]
    assert tracemalloc.get_traced_memory()[1] < 1.5 * (4 << 22)
    tracemalloc.stop()


@pytest.mark.parametrize("place", ["0", "tx // 8"])
def test_threads_that_add_to_one_result_do_so_one_by_one(place: str) -> None:
    """As schedules mean it, before TVM makes a reduction of all threads of it."""
    init = "    with T.init():\n        S[0] = T.float32(100)"
    block = f"with T.sblock('sum'):\n    k = T.axis.reduce(8, tx)\n{init}\n    S[0] = S[0] + A[k]"
    text = kernel(
        f"{block}\nB[tx] = S[{place}]", 'S = T.sblock_alloc_buffer((1,), "float32", scope="shared")'
    )
    assert ran(text) == [128.0] * 8


def test_threads_leave_loops_and_branches_one_by_one() -> None:
    loop = "L = T.alloc_local((1,))\nL[0] = T.float32(0)\nwhile L[0] * L[0] < A[tx]:\n    L[0] = L[0] + T.float32(1)\nB[tx] = L[0]"
    assert ran(kernel(loop)) == [0, 1, 2, 2, 2, 3, 3, 3]
    triangle = "B[tx] = T.float32(0)\nfor i in range(tx):\n    B[tx] = B[tx] + A[i]"
    assert ran(kernel(triangle)) == [0, 0, 1, 3, 6, 10, 15, 21]
    branch = "if A[tx] < T.float32(3):\n    B[tx] = T.float32(1)\nelse:\n    B[tx] = T.float32(2)"
    assert ran(kernel(branch)) == [1, 1, 1, 2, 2, 2, 2, 2]
    shifted = "for i in range(tx, tx + 2):\n    if i < 8:\n        B[tx] = A[i]"
    assert ran(kernel(shifted)) == [1, 2, 3, 4, 5, 6, 7, 7]


def test_what_no_thread_evaluates_stops_nothing() -> None:
    assert ran(kernel("B[tx] = T.if_then_else(tx > 0, A[tx - 1], T.float32(9))")) == [9, *range(7)]
    assert ran(kernel("if tx > 0 and A[tx - 1] > T.float32(2):\n    B[tx] = A[tx]")) == [
        0,
        0,
        0,
        0,
        4,
        5,
        6,
        7,
    ]
    assert ran(kernel("if tx == 0 or A[tx - 1] > T.float32(2):\n    B[tx] = A[tx]")) == [
        0,
        0,
        0,
        0,
        4,
        5,
        6,
        7,
    ]
    assert ran(kernel("if tx > 0:\n    B[tx] = T.Cast('float32', 8 // tx)")) == [0, 8, 4, 2, 2, 1, 1, 1]
    assert ran(kernel("if tx > 7:\n    B[tx + 99] = A[tx]")) == [0] * 8


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("B[tx] = A[tx + 3]", r"an index of buffer A is 8, its axis 0 has length 8 .*, where tx = 5"),
        ("if tx > 2:\n    B[tx - 4] = A[tx]", r"an index of buffer B is -1, .* where tx = 3"),
        ("B[tx] = T.Cast('float32', 8 // (tx - 2))", r"a divisor is 0.* where tx = 2"),
        ("B[tx] = T.Cast('float32', T.shift_left(1, tx * 8))", r"an integer of 32 bits is shifted by 32 .*, where tx = 4"),
        ("for i in range(4):\n    B[tx * 2 + i] = A[tx]", r"an index of buffer B is 8, .* where tx = 4, i = 0|tx = 3"),
    ],
)  # fmt: skip
def test_what_a_thread_does_wrong_names_the_thread(body: str, sentence: str) -> None:
    with pytest.raises(Failure, match=sentence):
        ran(kernel(body))


def test_numbers_are_those_of_their_dtypes() -> None:
    of_ints = ("int32", "int32")
    assert ran(kernel("B[tx] = A[tx] * 1073741824 * 2", types=of_ints)) == [0, -2147483648] * 4
    assert ran(kernel("B[tx] = (A[tx] - 4) // 3", types=of_ints)) == [-2, -1, -1, -1, 0, 0, 0, 1]
    assert ran(kernel("B[tx] = T.truncdiv(A[tx] - 4, 3)", types=of_ints)) == [-1, -1, 0, 0, 0, 0, 0, 1]
    assert ran(kernel("B[tx] = T.truncmod(A[tx] - 4, 3)", types=of_ints)) == [-1, 0, -2, -1, 0, 1, 2, 0]
    assert ran(kernel("B[tx] = (A[tx] - 4) % 3", types=of_ints)) == [2, 0, 1, 2, 0, 1, 2, 0]
    assert ran(kernel("B[tx] = T.clz(A[tx])", types=of_ints)) == [32, 31, 30, 30, 29, 29, 29, 29]
    assert ran(kernel("B[tx] = T.popcount(A[tx])", types=of_ints)) == [0, 1, 1, 2, 1, 2, 2, 3]
    large = kernel("B[tx] = T.Cast('int32', A[tx] * T.float32(1e9))", types=("float32", "int32"))
    assert ran(large)[:4] == [0, 10**9, 2 * 10**9, -(2**31)]
    assert ran(kernel("B[tx] = T.Cast('int8', A[tx] * 60)", types=("int32", "int8"))) == [0, 60, 120, -76, -16, 44, 104, -92]  # fmt: skip
    half = kernel("B[tx] = T.Cast('float32', T.Cast('float16', A[tx] * T.float32(1001)))")
    assert ran(half) == [0, 1001, 2002, 3004, 4004, 5004, 6008, 7008]
    assert ran(kernel("B[tx] = T.max(T.min(A[tx], T.float32(5)), T.float32(2))")) == [2, 2, 2, 3, 4, 5, 5, 5]


def test_a_run_can_be_cancelled() -> None:
    interrupt = Interrupt()
    interrupt.cancel()
    fn = kernel("while A[tx] >= T.float32(0):\n    B[tx] = A[tx]")
    with pytest.raises(Cancelled):
        run_simt(fn, [], [np.arange(8, dtype="float32"), np.zeros(8, "float32")], interrupt)


@pytest.mark.parametrize(
    "body", ["T.ptx_wait_group(0)", "B[tx] = T.tvm_warp_shuffle(T.uint32(1), A[tx], 0, 32, 32)"]
)
def test_what_the_hardware_alone_does_is_refused(body: str) -> None:
    with pytest.raises(Failure, match="can't be evaluated"):
        ran(kernel(body))


def test_memory_of_a_warp_is_refused() -> None:
    body = 'W = T.sblock_alloc_buffer((8,), "float32", scope="warp")'
    with pytest.raises(Failure, match="a buffer of the scope warp"):
        ran(kernel("W[tx] = A[tx]\nB[tx] = W[7 - tx]", body))


def test_more_blocks_than_run_at_once_give_the_same() -> None:
    rows = 700
    args = [RANDOM.integers(-9, 9, (rows, 1300)).astype("int32")]
    wanted, found = (rxe.run(rxe.load(SAMPLERS / name), "cums", args) for name in ("operators.py", "cuda.py"))
    np.testing.assert_array_equal(wanted, found)


def test_the_debugger_runs_such_a_kernel_as_a_whole() -> None:
    module = rxe.parse(TURNED)
    args = [np.arange(8, dtype="float32")]
    debugger = Debugger(module, "main", args)
    with pytest.raises(Failure, match="this PrimFunc runs as a whole"):
        debugger.enter()
    assert rxe.run(module, "main", args).tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
