"""The effects of PrimFuncs; TVM calls a pure Relax function ill-formed if it calls one with an effect."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.tir.traverse import has_effect, overwritten
from tests.support.oracle import Oracle

# Bodies of `f(A: T.Buffer((4,), "int32"), n: T.int64) -> T.int32`, True for an effect.
BODIES = {
    "reads an element": ("return A[n]", False),
    "calls mathematics": ('return T.Cast("int32", T.floor(T.sqrt(T.Cast("float32", A[0]))))', False),
    "chooses": ("return T.if_then_else(n > T.int64(2), A[0], A[1])", False),
    "writes its own buffer": ("B = T.alloc_buffer((4,), 'int32')\nB[0] = A[0] + 1\nreturn B[0]", False),
    "writes what it was given": ("A[0] = 1\nreturn A[0]", True),
    "writes it in a loop": ("for i in range(4):\n    A[i] = 1\nreturn A[0]", True),
    "writes its own through a view": (
        "B = T.alloc_buffer((4,), 'int32')\nC = T.decl_buffer((2,), 'int32', data=B.data)\nC[0] = 1\nreturn B[0]",
        True,
    ),
    "writes what it was given through a view": (
        "B = T.decl_buffer((4,), 'int32', data=A.data)\nB[0] = 1\nreturn A[0]",
        True,
    ),
    "writes it through a pointer": (
        "p: T.let[T.handle('int32', 'global')] = A.data\nB = T.decl_buffer((4,), 'int32', data=p)\nB[0] = 1\nreturn A[0]",
        True,
    ),
    "reads its description": ("return T.tvm_struct_get(A.data, 0, 4, 'int32')", False),
    "calls anything": ('T.call_packed("lib.f", n)\nreturn A[0]', True),
}


def program(name: str) -> str:
    body = BODIES[name][0].replace("\n", "\n        ")
    return (
        "@I.ir_module\nclass Module:\n    @T.prim_func(private=True)\n"
        f'    def f(A: T.Buffer((4,), "int32"), n: T.int64) -> T.int32:\n        {body}\n'
        "    @R.function\n"
        '    def main(x: R.Tensor((4,), "int32"), y: R.Tensor(("m",), "int32")):\n        m = T.int64()\n'
        "        z = Module.f(x, m)\n        return z\n"
    )


@pytest.mark.parametrize("name", BODIES)
def test_effect(name: str) -> None:
    module = rxe.parse(program(name))
    assert has_effect(module["f"]) is BODIES[name][1]
    errors = {item.code.id for item in rxe.check(module) if item.is_error}
    assert errors == (
        {"RX0121"} if BODIES[name][1] else set()
    )  # only lowered programs call such a PrimFunc directly


@pytest.mark.parametrize("name", BODIES)
def test_tvm_agrees(name: str, oracle: Oracle) -> None:
    text = program(name)
    verdict = oracle.well_formed(text).get()
    ours = [item for item in rxe.check(rxe.parse(text), profile="tvm") if item.is_error]
    assert verdict.well_formed is (not ours), verdict.message


# Bodies of `f(A, B, n)` over two buffers, and the numbers of the parameters that they may overwrite.
STORES = {
    "nothing": ("T.evaluate(0)", set()),
    "the second": ("B[0] = A[0]", {1}),
    "both": ("B[0] = A[0]\nA[1] = B[0]", {0, 1}),
    "the first, in a branch": ("if n > 1:\n    for i in range(4):\n        A[i] = B[i]", {0}),
    "the second, in the init of a block": (
        "for i in range(4):\n    with T.sblock('b'):\n        v = T.axis.reduce(4, i)\n        with T.init():\n"
        "            B[0] = 0\n        T.evaluate(A[v])",
        {1},
    ),
    "its own": ("C = T.alloc_buffer((4,), 'int32')\nC[0] = A[0]", set()),
    "its own, then the second": ("C = T.alloc_buffer((4,), 'int32')\nC[0] = A[0]\nB[0] = C[0]", {1}),
    "a view of the first": ("C = T.decl_buffer((4,), 'int32', data=A.data)\nC[0] = B[0]", {0, 1, 2}),
    "a view through a pointer": (
        "p: T.let[T.handle('int32', 'global')] = A.data\nC = T.decl_buffer((4,), 'int32', data=p)\nC[0] = B[0]",
        {0, 1, 2},
    ),
    "a part of the first": (
        "with T.sblock('b'):\n    C = T.match_buffer(A[0:2], (2,), 'int32')\n    C[0] = B[0]",
        {0, 1, 2},
    ),
    "what a callee wants": ("T.call_packed('lib.f', A.data)\nB[0] = 1", {0, 1, 2}),
}


@pytest.mark.parametrize("name", STORES)
def test_what_a_call_may_overwrite(name: str) -> None:
    body, wanted = STORES[name]
    text = (
        '@T.prim_func\ndef f(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), n: T.int64):\n    '
        + body.replace("\n", "\n    ")
        + "\n"
    )
    assert overwritten(rxe.parse(text)["f"]) == wanted


def test_parameters_with_a_pointer_may_be_one_array() -> None:
    text = (
        "@T.prim_func\ndef f(a: T.handle, b: T.handle):\n    A = T.match_buffer(a, (4,), 'int32')\n"
        "    B = T.match_buffer(b, (4,), 'int32', data=A.data)\n    A[0] = B[0]\n"
    )
    assert overwritten(rxe.parse(text)["f"]) == {0, 1}
