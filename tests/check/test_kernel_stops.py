"""Kernels that never fail, and kernels that may stop: each line is a body over A[n, 4], B[n, 4] and I[n]."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.stopping import kernel_may_stop
from relax_explorer.core.ir.node import replace
from relax_explorer.core.tir import stmt as t

HEAD = """
@T.prim_func(s_tir=True)
def kernel(a: T.handle, i_: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(4)), "float32")
    I = T.match_buffer(i_, (n,), "int64")
    B = T.match_buffer(b, (n, T.int64(4)), "float32")
    for i in range({extent}):
        with T.sblock("s"):
            v = T.axis.spatial(n, i)
            {body}
"""
RETURN = {
    "an element of each": "B[v, T.int64(0)] = A[v, T.int64(3)]",
    "a computed index": "B[v, v % T.int64(4)] = A[v * T.int64(2) // T.int64(2), T.int64(1)]",
    "a choice": "B[v, T.int64(0)] = T.if_then_else(A[v, T.int64(0)] > T.float32(0), T.exp(A[v, T.int64(1)]), T.float32(1))",
    "conditions joined": (
        "B[v, T.int64(0)] = T.Select(T.Not(A[v, T.int64(0)] < T.float32(1) or A[v, T.int64(1)] >= T.float32(2) and v != T.int64(3)), "
        "T.min(A[v, T.int64(0)], T.float32(1)) - T.max(A[v, T.int64(1)], T.float32(2)), T.Cast('float32', v * T.int64(2)))"
    ),
    "a choice of statements": (
        "if A[v, T.int64(0)] > T.float32(0):\n                B[v, T.int64(0)] = T.float32(1)\n"
        "            else:\n                B[v, T.int64(3)] = T.float32(1)"
    ),
    "memory of its own": (
        "C = T.sblock_alloc_buffer((T.int64(4),), 'float32')\n            C[T.int64(1)] = A[v, T.int64(0)]\n"
        "            B[v, T.int64(0)] = C[T.int64(1)]"
    ),
    "floats divided": "B[v, T.int64(0)] = A[v, T.int64(0)] / A[v, T.int64(1)]",
}
STOP = {
    "one beyond the end": "B[v, T.int64(0)] = A[v + T.int64(1), T.int64(0)]",
    "one before the start": "B[v, T.int64(0)] = A[v - T.int64(1), T.int64(0)]",
    "beyond a literal length": "B[v, T.int64(4)] = A[v, T.int64(0)]",
    "a loaded index": "B[I[v], T.int64(0)] = A[v, T.int64(0)]",
    "a load in a condition": "if A[v + T.int64(1), T.int64(0)] > T.float32(0):\n                B[v, T.int64(0)] = T.float32(1)",
    "in the other case": (
        "if A[v, T.int64(0)] > T.float32(0):\n                B[v, T.int64(0)] = T.float32(1)\n"
        "            else:\n                B[v, T.int64(5)] = T.float32(1)"
    ),
    "an integer divided": "B[v, T.int64(0)] = T.Cast('float32', I[v] // I[v])",
    "an unknown function": "B[v, T.int64(0)] = T.call_extern('float32', 'f', A[v, T.int64(0)])",
    "an index that may wrap": "B[T.Cast('int64', T.Cast('int8', v)), T.int64(0)] = A[v, T.int64(0)]",
    "a start that may be negative": "B[v, T.int64(0)] = A[n - T.int64(5), T.int64(0)]",
    "an end that may be missing": "B[v, T.int64(0)] = A[T.int64(2), T.int64(0)]",
    "a divisor that may be 0": "B[v, T.int64(0)] = T.Cast('float32', v // (n - T.int64(5)))",
    "a divisor that starts at 0": (
        "for k in range(T.int64(9)):\n                B[v, T.int64(0)] = T.Cast('float32', v // k)"
    ),
    "a divisor that starts somewhere": (
        "for k in range(v % T.int64(4), v % T.int64(4) + T.int64(1)):\n                B[v, T.int64(0)] = T.Cast('float32', v // k)"
    ),
    "a loop from a loaded number": "for k in range(I[v], I[v] + T.int64(1)):\n                B[k, T.int64(0)] = T.float32(0)",
    "a loop without end": "while A[v, T.int64(0)] > T.float32(0):\n                B[v, T.int64(0)] = T.float32(1)",
    "in init": (
        "for k in range(T.int64(4)):\n                with T.sblock('r'):\n                    w = T.axis.reduce(T.int64(4), k)\n"
        "                    with T.init():\n                        B[v + T.int64(1), T.int64(0)] = T.float32(0)\n"
        "                    B[v, T.int64(0)] = B[v, T.int64(0)] + A[v, w]"
    ),
}


def kernel(body: str, extent: str = "n") -> t.PrimFunc:
    found = rxe.parse(HEAD.format(body=body, extent=extent))["kernel"]
    assert isinstance(found, t.PrimFunc)
    return found


@pytest.mark.parametrize("name", RETURN)
def test_it_ends_without_an_error(name: str) -> None:
    assert not kernel_may_stop(kernel(RETURN[name]))


@pytest.mark.parametrize("name", STOP)
def test_it_may_stop(name: str) -> None:
    assert kernel_may_stop(kernel(STOP[name]))


FUNCTIONS = """
    likely exp exp2 exp10 log log2 log10 log1p sqrt rsqrt tanh sigmoid erf sin cos tan asin acos atan sinh cosh asinh acosh atanh
    fabs abs floor ceil round trunc nearbyint isnan isinf isfinite pow copysign hypot atan2
"""


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_functions_of_numbers_return(name: str) -> None:
    more = ", A[v, T.int64(1)]" if name in ("pow", "copysign", "hypot", "atan2") else ""
    body = f"B[v, T.int64(0)] = T.Cast('float32', T.{name}(A[v, T.int64(0)]{more}))"
    assert not kernel_may_stop(kernel(body))


def test_a_part_of_a_buffer_may_not_fit() -> None:
    body = "C = T.match_buffer(A[v, T.int64(0):T.int64(4)], (T.int64(9),), 'float32')\n            B[v, T.int64(0)] = C[0]"
    assert kernel_may_stop(kernel(body))


def test_too_few_indices_may_stop() -> None:
    """No text expresses this, but a program may be built so."""
    whole = kernel(RETURN["an element of each"])
    assert not kernel_may_stop(whole)
    assert kernel_may_stop(replace(whole, body=without_an_index(whole.body)))


def without_an_index(node: t.Stmt) -> t.Stmt:
    if isinstance(node, t.BufferStore):
        return replace(node, indices=node.indices[:1])
    return replace(node, body=without_an_index(node.body))


def test_a_loop_that_runs_too_far_may_stop() -> None:
    body = RETURN["an element of each"]
    assert not kernel_may_stop(kernel(body, "n"))
    assert kernel_may_stop(kernel(body, "n + T.int64(1)"))
    assert not kernel_may_stop(kernel(body, "n - T.int64(1)"))


CALL = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def scale(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("s"):
                v = T.axis.spatial(n, i)
                B[v] = A[v] * T.float32(2)
    @T.prim_func(private=True, s_tir=True)
    def sized(a: T.handle, b: T.handle, k: T.int64):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("s"):
                v = T.axis.spatial(n, i)
                B[v] = A[v]
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n = T.int64()
        m = T.int64()
        cls = M
        dead = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((OUT,), "float32"))
        return y
"""


@pytest.mark.parametrize(
    ("call", "stays"),
    [
        ('R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((n,), "float32"))', False),
        ('R.call_tir(cls.scale, x, out_sinfo=[R.Tensor((n,), "float32")])', False),
        ('R.call_tir(cls.sized, (x,), out_sinfo=R.Tensor((n,), "float32"), tir_vars=R.shape([n]))', True),
        ('R.call_tir(cls.none, (x,), out_sinfo=R.Tensor((n,), "float32"))', True),
    ],
)
def test_calls_of_kernels(call: str, stays: bool) -> None:
    text = CALL.replace('R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((OUT,), "float32"))', call)
    module = rxe.normalize(rxe.parse(text))
    assert ("dead" in rxe.apply_pass(module, "DeadCodeElimination").script()) is stays


@pytest.mark.parametrize(("out", "stays"), [("n", False), ("m", True)])
def test_a_kernel_whose_buffers_may_not_fit_may_stop(out: str, stays: bool) -> None:
    module = rxe.normalize(rxe.parse(CALL.replace("OUT", out)))
    after = rxe.apply_pass(module, "DeadCodeElimination")
    assert ("dead" in after.script()) is stays
