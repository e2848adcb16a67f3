"""What loops compute, whatever the name of the kernel, and in every form that lowering gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.tir.computation import Computation, computation
from relax_explorer.core.tir.stmt import PrimFunc

DATA = Path(__file__).parents[1] / "data"
C = Computation


def kernel(body: str, dtype: str = "float32") -> PrimFunc:
    """A kernel over vectors and matrices of 4 with these statements."""
    shapes = {"x": "(4,)", "y": "(4,)", "a": "(4, 4)", "b": "(4, 4)", "out": "(4, 4)", "o": "(4,)"}
    params = ", ".join(f'{name}: T.Buffer({shape}, "{dtype}")' for name, shape in shapes.items())
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = (
        "from tvm.script import tirx as T\n"
        f"@T.prim_func\ndef k({params}, at: T.Buffer((4,), 'int64'), on: T.Buffer((4,), 'bool')):\n{lines}\n"
    )
    found = next(iter(parse(text).functions.values()))
    assert isinstance(found, PrimFunc)
    return found


LOOP = "for i in T.serial(4):\n    "
NEST = "for i, j, k in T.grid(4, 4, 4):\n    "
BLOCK = (
    'for i, j, k in T.grid(4, 4, 4):\n    with T.sblock("own"):\n        vi, vj, vk = T.axis.remap("SSR", [i, j, k])\n'
    "        with T.init():\n            out[vi, vj] = T.float32(0)\n        "
)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (BLOCK + "out[vi, vj] = out[vi, vj] + a[vi, vk] * b[vk, vj]", C.CONTRACTION),
        (NEST + "out[i, j] = out[i, j] + a[i, k] * b[k, j]", C.CONTRACTION),
        (NEST + "out[i, j] = a[i, k] * b[k, j] * T.float32(2) + out[i, j]", C.CONTRACTION),
        (NEST + "out[i, j] = T.fma(a[i, k], b[k, j], out[i, j])", C.CONTRACTION),
        (NEST + "out[i, j] = out[i, j] + T.Select(k < 2, a[i, k], T.float32(0)) * b[k, j]", C.CONTRACTION),
        (NEST + "p: T.let[T.float32] = a[i, k] * b[k, j]\n    out[i, j] = out[i, j] + p", C.CONTRACTION),
        (LOOP + "o[0] = o[0] + x[i] * y[i]", C.CONTRACTION),
        # sums without products of what is summed
        (LOOP + "o[0] = o[0] + x[i]", C.REDUCTION),
        (LOOP + "o[0] = o[0] + x[i] * x[i]", C.REDUCTION),
        (LOOP + "o[0] = o[0] + x[i] * y[0]", C.REDUCTION),
        (LOOP + "o[0] = o[0] + x[i] * T.float32(3)", C.REDUCTION),
        (LOOP + "o[0] = o[0] + x[i] * T.Cast('float32', i)", C.REDUCTION),
        (LOOP + "o[0] = o[0] + x[at[i] * at[3 - i]]", C.REDUCTION),
        (LOOP + "o[0] = T.max(o[0], x[i])", C.REDUCTION),
        (NEST + "out[i, j] = T.max(out[i, j], a[i, k])", C.REDUCTION),
        (LOOP + "o[i] = o[i - 1] + x[i]", C.REDUCTION),
        # arithmetic
        (LOOP + "o[i] = x[i] * y[i]", C.ARITHMETIC),
        (LOOP + "o[i] = o[i] + x[i] * y[i]", C.ARITHMETIC),
        (LOOP + "o[i] = T.exp(x[i])", C.ARITHMETIC),
        (LOOP + "o[i] = T.Select(x[i] < y[i], x[i], y[i])", C.ARITHMETIC),
        (LOOP + "o[i] = T.if_then_else(on[i], x[i], y[i])", C.ARITHMETIC),
        (LOOP + "o[i] = T.Cast('float32', at[i])", C.ARITHMETIC),
        ("for i in T.thread_binding(4, thread='threadIdx.x'):\n    o[0] = o[0] + x[i] * y[i]", C.ARITHMETIC),
        # other places
        (LOOP + "o[i] = x[3 - i]", C.MOVE),
        (LOOP + "o[i] = x[at[i]]", C.MOVE),
        (LOOP + "o[i] = x[at[i] + at[3 - i] * T.int64(2)]", C.MOVE),
        (LOOP + "o[i] = T.if_then_else(i < 2, x[i], y[i - 2])", C.MOVE),
        (LOOP + "o[i] = o[3 - i]", C.MOVE),
        (LOOP + "o[i] = T.float32(0)\n    o[i] = x[3 - i]", C.MOVE),
        (LOOP + "o[i] = T.Cast('float32', i + 2)", C.FILL),
        ("at[0] = at[1] * at[2]", C.UNKNOWN),  # lengths
        (LOOP + "T.evaluate(T.call_extern('int32', 'foreign', i))", C.UNKNOWN),
        # the highest of several
        (LOOP + "o[0] = o[0] + x[i] * y[i]\n" + LOOP + "y[i] = T.exp(x[i])", C.CONTRACTION),
        (LOOP + "y[i] = T.exp(x[i])\n" + LOOP + "o[0] = T.max(o[0], x[i])", C.REDUCTION),
    ],
)  # fmt: skip
def test_loops_tell_what_is_computed(body: str, expected: Computation) -> None:
    assert computation(kernel(body)) is expected


def test_deep_values_are_read_in_order_of_their_size() -> None:
    text = "x[i]"
    for _ in range(3_000):
        text = f"T.max({text}, y[i])" if len(text) < 400 else text
    chain = "\n    ".join(
        [
            f"v{n}: T.let[T.float32] = v{n - 1} + v{n - 1}" if n else "v0: T.let[T.float32] = x[i]"
            for n in range(200)
        ]
    )
    assert computation(kernel(f"{LOOP}{chain}\n    o[i] = v199")) is C.ARITHMETIC
    assert computation(kernel(LOOP + f"o[i] = {text}")) is C.ARITHMETIC


@pytest.mark.parametrize(
    ("file", "names", "expected"),
    [
        ("cuda_schedules/matmul.py", ["fused_matmul_relu"], C.CONTRACTION),
        ("cuda_schedules/conv.py", ["conv2d"], C.CONTRACTION),
        ("kv_cache/cpu.py", ["batch_prefill_paged_kv_cpu"], C.CONTRACTION),
        ("kv_cache/cuda.py", ["batch_prefill_paged_kv", "tree_attn_paged_kv"], C.CONTRACTION),
        ("kv_cache/cpu.py", ["copy_single_page_cpu", "compact_kv_copy_cpu"], C.MOVE),
        ("corpus/llama/33_AttachGlobalSymbol.py", ["fused_matmul5_add1", "matmul2"], C.CONTRACTION),
        ("corpus/llama/33_AttachGlobalSymbol.py", ["rms_norm", "softmax"], C.REDUCTION),
        ("corpus/llama/33_AttachGlobalSymbol.py", ["fused_split1_silu_multiply1"], C.ARITHMETIC),
        ("corpus/llama/33_AttachGlobalSymbol.py", ["transpose", "take"], C.MOVE),
        ("corpus/llama/33_AttachGlobalSymbol.py", ["shape_func"], C.UNKNOWN),
    ],
)  # fmt: skip
def test_kernels_of_real_builds(file: str, names: list[str], expected: Computation) -> None:
    functions = load(DATA / file).functions
    for name in names:
        fn = functions[name]
        assert isinstance(fn, PrimFunc)
        assert computation(fn) is expected, name
