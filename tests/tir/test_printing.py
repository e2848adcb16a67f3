"""PrimFuncs as text: what is printed reads back as the same program, here and in TVM."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.equal import structural_equal
from tests.support.oracle import Oracle

FUNCTIONS = {
    "a block whose axes are those of the block around it": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("outer"):
            v_i = T.axis.spatial(4, i)
            T.reads(A[v_i, 0:8])
            T.writes(B[v_i])
            for j, k in T.grid(2, 4):
                with T.sblock("inner"):
                    v_i_1 = T.axis.spatial((v_i, v_i + 1), v_i)
                    v_j, v_k = T.axis.remap("RR", [j, k])
                    T.reads(A[v_i_1, v_j * 4 + v_k])
                    T.writes(B[v_i_1])
                    with T.init():
                        B[v_i_1] = T.float32(0.0)
                    B[v_i_1] = B[v_i_1] + A[v_i_1, v_j * 4 + v_k]
""",
    "a buffer whose place in memory is a variable": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32", elem_offset="offset"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("copy"):
            v_i = T.axis.spatial(4, i)
            T.reads(A[v_i])
            T.writes(B[v_i])
            B[v_i] = A[v_i]
""",
    "scalars": """
@T.prim_func
def f(A: T.Buffer((4,), "int32"), C: T.Buffer(("B + 1",), "int32"), D: T.Buffer(("B",), "int32")):
    B = T.int32()
    n: T.int32 = 0
    x: T.int32[2]
    c = A[0] + 1
    while n < 4 and T.bool(True):
        A[n] = T.Let(y * y, where={y: A[n]}) + c
        c = c * 2
        n += 1
    k: T.int32
    A[0] = B
    k = A[1]
    x[1] = k
""",
    "a block that mentions what it allocates, and a scalar of its own": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.sblock("x"):
            v_i = T.axis.spatial(4, i)
            B = T.sblock_alloc_buffer((4,), "int32")
            T.reads(A[v_i], B[v_i])
            T.writes(B[v_i], A[v_i])
            B[v_i] = A[v_i]
            A[v_i] = B[v_i] + 1
""",
    "pointers": """
@T.prim_func
def f(h: T.handle, axis: T.int64) -> T.int64:
    assert T.int64(0) <= axis, ("ValueError", ["the axis ", "is below 0"])
    ndim: T.let[T.int32] = T.tvm_struct_get(h, 0, 4, "int32")
    pointer: T.let[T.handle("int64", "global")] = T.tvm_struct_get(h, 0, 2, T.handle("int64", "global").ty)
    if T.isnullptr(pointer):
        return T.int64(0)
    else:
        shape = T.decl_buffer((ndim,), "int64", data=pointer, layout=None)
        return shape[axis]
""",
}


def program(name: str) -> str:
    lines = FUNCTIONS[name].strip().replace("\n", "\n    ").replace('"offset"', "offset")
    head = "offset = T.int64()\n" if "offset" in lines else ""
    lines = lines.replace("    c = A[0] + 1", "    y = T.int32()\n        c = A[0] + 1")
    return f"{head}@I.ir_module\nclass Module:\n    {lines}\n"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_printed_reads_back(name: str) -> None:
    module = rxe.parse(program(name))
    printed = module.script()
    again = rxe.parse(printed)
    assert structural_equal(module, again)
    assert again.script() == printed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tvm_reads_the_same(name: str, oracle: Oracle) -> None:
    text = program(name)
    assert oracle.equal(text, rxe.parse(text).script()).get().exact
