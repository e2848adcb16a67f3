"""The work of kernels, counted from their loops, beside what a hand counts."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.kernel_work import KernelWork, kernel_work
from relax_explorer.core.tir.stmt import PrimFunc


def kernel(head: str, body: str) -> KernelWork:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").split("\n"))
    text = (
        f"@I.ir_module\nclass M:\n    @T.prim_func(private=True, s_tir=True)\n    def k({head}):\n{lines}\n"
    )
    fn = rxe.parse(text).functions["k"]
    assert isinstance(fn, PrimFunc)
    return kernel_work(fn)


def texts(work: KernelWork) -> list[str]:
    """FLOPs, functions, integer operations, bytes read, bytes written."""
    return [amounts.text(poly) for poly in work.work.amounts]


N = "n = T.int64()\n"
AB = "a: T.handle, b: T.handle"
BUFFERS = f'{N}A = T.match_buffer(a, (n,), "float32")\nB = T.match_buffer(b, (n,), "float32")\n'


def of_element(value: str) -> list[str]:
    head = 'for i in range(n):\n    with T.sblock("s"):\n        v = T.axis.spatial(n, i)\n'
    return texts(kernel(AB, f"{BUFFERS}{head}        B[v] = {value}"))


@pytest.mark.parametrize(
    ("value", "flops", "functions"),
    [
        ("A[v] + A[v]", "n", "0"),
        ("A[v] - A[v] * A[v] / A[v]", "3·n", "0"),
        ("T.max(T.min(A[v], A[n - 1 - v]), T.float32(1))", "2·n", "0"),
        ("T.exp(A[v])", "n", "n"),
        ("T.tanh(A[v]) * T.sqrt(A[v])", "3·n", "2·n"),
        ("A[v]", "0", "0"),
        ("T.fabs(A[v])", "0", "0"),
        ("T.floor(A[v])", "0", "0"),
        ('T.Cast("float32", T.Cast("float16", A[v]))', "0", "0"),
        ("T.if_then_else(A[v] > T.float32(0), A[v] * A[v], T.exp(A[v]) + A[v])", "2·n", "n"),
        ("T.Select(A[v] + A[v] > T.float32(0), A[v], T.float32(0))", "n", "0"),
        ("A[n - 1 - v] + T.float32(1)", "n", "0"),
        ('A[T.Cast("int64", T.floor(T.Cast("float32", v) * T.float32(0.5)))]', "0", "0"),
        ("A[v] * (T.sqrt(T.Cast(\"float32\", n)) + T.float32(1))", "n", "0"),
    ],
)  # fmt: skip
def test_of_an_expression_operations_and_functions_count(value: str, flops: str, functions: str) -> None:
    assert of_element(value)[:2] == [flops, functions]


def test_arithmetic_on_integers_stands_apart_and_that_of_indices_does_not_count() -> None:
    head = 'A: T.Buffer((T.int64(8),), "int32"), B: T.Buffer((T.int64(8),), "int32")'
    body = "for i in range(T.int64(8)):\n    B[i] = T.if_then_else(i + T.int64(1) < T.int64(4), A[T.int64(7) - i] * 3 + 1, 0)"
    assert texts(kernel(head, body)) == ["0", "0", "16", "32", "32"]


def test_a_variable_for_a_place_is_no_arithmetic_and_one_for_a_float_is() -> None:
    head = 'A: T.Buffer((T.int64(8),), "int32"), B: T.Buffer((T.int64(8),), "int32")'
    place = (
        "for i in range(T.int64(8)):\n    j: T.let[T.int64] = i * T.int64(3) % T.int64(8)\n    B[i] = A[j]"
    )
    assert texts(kernel(head, place))[:3] == ["0", "0", "0"]
    floats = head.replace("int32", "float32")
    value = "for i in range(T.int64(8)):\n    j: T.let[T.float32] = A[i] * A[i]\n    B[i] = j + j"
    assert texts(kernel(floats, value))[:3] == ["16", "0", "0"]


MATMUL = """
m = T.int64()
n = T.int64()
k = T.int64()
A = T.match_buffer(a, (m, k), "float32")
B = T.match_buffer(b, (k, n), "float32")
C = T.match_buffer(c, (m, n), "float32")
for i, j, r in T.grid(m, n, k):
    with T.sblock("matmul"):
        vi, vj, vr = T.axis.remap("SSR", [i, j, r])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vr] * B[vr, vj]
"""


def test_a_matmul_has_a_product_and_a_sum_for_each_term_and_moves_each_matrix_once() -> None:
    work = kernel("a: T.handle, b: T.handle, c: T.handle", MATMUL)
    assert texts(work) == ["2·k·m·n", "0", "0", "4·k·m + 4·k·n", "4·m·n"]
    assert work.work.unknown == work.work.at_most == ()


def test_loads_of_some_elements_move_only_these() -> None:
    head = 'W: T.Buffer((T.int64(1000), T.int64(4)), "float32"), ids: T.handle, out: T.handle'
    body = f"""{N}I = T.match_buffer(ids, (n,), "int32")
O = T.match_buffer(out, (n, 4), "float32")
for i, j in T.grid(n, 4):
    O[i, j] = W[I[i], j]"""
    work = kernel(head, body)
    assert texts(work)[:3] == ["0", "0", "0"]
    # Neither 16·n nor 16,000 bytes of W is always the smaller one, so the whole of W is the bound.
    assert texts(work)[3] == "4·n + 16,000"
    three = 'I: T.Buffer((T.int64(3),), "int32"), O: T.Buffer((T.int64(3), T.int64(4)), "float32")'
    head = f'W: T.Buffer((T.int64(1000), T.int64(4)), "float32"), {three}'
    few = kernel(head, "for i, j in T.grid(T.int64(3), T.int64(4)):\n    O[i, j] = W[I[i], j]")
    assert texts(few)[3:] == [f"{3 * 4 * 4 + 3 * 4}", "48"]


def test_a_loop_whose_length_depends_on_another_one_counts_its_longest_run_and_says_so() -> None:
    work = kernel(AB, BUFFERS + "for i in range(n):\n    for j in range(i + 1):\n        B[i] = B[i] + A[j]")
    assert texts(work)[0] == "n²"
    assert len(work.work.at_most) == 1


def test_a_loop_whose_length_elements_tell_and_a_while_loop_are_unknown() -> None:
    head = 'I: T.Buffer((T.int64(4),), "int32"), B: T.Buffer((T.int64(4),), "float32")'
    told = kernel(
        head, "for i in range(T.int64(4)):\n    for j in range(I[i]):\n        B[i] = B[i] + T.float32(1)"
    )
    assert told.work.unknown
    assert texts(told)[0] == "4"
    endless = kernel(head, "while B[0] < T.float32(4):\n    B[0] = B[0] + T.float32(1)")
    assert endless.work.unknown
    assert texts(endless)[0] == "1"


def test_of_two_branches_the_costlier_one_counts() -> None:
    for order in ("B[0] = A[0] + A[0]", "B[0] = A[0]"), ("B[0] = A[0]", "B[0] = A[0] + A[0]"):
        work = kernel(
            'A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")',
            f"for i in range(T.int64(4)):\n    if i < 2:\n        {order[0]}\n    else:\n        {order[1]}",
        )
        assert texts(work)[0] == "4"
        assert work.work.at_most


def test_buffers_of_the_kernel_move_nothing_and_are_its_scratch() -> None:
    body = (
        BUFFERS
        + """with T.sblock("root"):
    C = T.sblock_alloc_buffer((n,), "float32")
    for i in range(n):
        with T.sblock("c"):
            v = T.axis.spatial(n, i)
            C[v] = A[v] + T.float32(1)
    for i in range(n):
        with T.sblock("b"):
            v = T.axis.spatial(n, i)
            B[v] = C[v] * C[v]"""
    )
    work = kernel(AB, body)
    assert texts(work) == ["2·n", "0", "0", "4·n", "4·n"]
    assert amounts.text(work.scratch) == "4·n"


def test_a_call_of_code_that_is_not_shown_is_unknown() -> None:
    work = kernel(AB, BUFFERS + 'for i in range(n):\n    B[i] = T.call_extern("float32", "mine", A[i])')
    assert work.work.unknown


def test_a_kernel_that_updates_its_operand_reads_and_writes_it() -> None:
    body = f'{N}A = T.match_buffer(a, (n,), "float32")\nfor i in range(n):\n    A[i] = A[i] + T.float32(1)'
    assert texts(kernel("a: T.handle", body))[3:] == ["4·n", "4·n"]
