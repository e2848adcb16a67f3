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
