"""PrimFuncs as text: printed text reads back as the same program, here and in TVM."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
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
    "memory in another shape": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4, 8), "float32"), B: T.Buffer((32,), "float32")):
    A_1 = A.view(32)
    for i in range(32):
        B[i] = A_1[i]
""",
    "threads around the rest": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((32,), "float32")):
    with T.launch_thread("blockIdx.x", 4) as blockIdx_x:
        threadIdx_x = T.launch_thread("threadIdx.x", 8)
        A[blockIdx_x * 8 + threadIdx_x] = T.float32(0.0)
""",
    "a buffer that only an attribute of a block mentions": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.sblock("copy"):
            v_i = T.axis.spatial(4, i)
            T.reads(A[v_i])
            T.writes(B[v_i])
            C = T.Buffer((2, 2), "float32")
            T.sblock_attr({"layout_free_placeholders": [C]})
            B[v_i] = A[v_i]
""",
    "vectors inside of expressions": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int64")):
    A[0:4] = A[T.Ramp(0, 2, 4)] + T.Broadcast(T.float32(1.0), 4) * A[T.Ramp(4, 1, 4)]
    B[T.Ramp(0, 1, 4)] = T.Cast("int64x4", T.Ramp(0, 1, 4)) + T.Broadcast(T.int64(2), 4)
""",
    "scalars beside vectors": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int64"), n: T.int64, k: T.int32):
    A[0:4] = (n + A[0]) * T.float32x4(16)
    A[4:8] = k - (n * T.float32x4(16))
    B[0:4] = k * T.int64x4(2) - 3
    B[4:8] = T.Cast("int64x4", (T.int8x4(1) - 3) * T.int32x4(n))
""",
    "strides that a view introduces": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((T.int64(32), T.int64(32)), "float16")):
    for i in range(T.int64(2)):
        with T.sblock("fill"):
            v_i = T.axis.spatial(T.int64(2), i)
            T.reads()
            T.writes(A[v_i * T.int64(16):v_i * T.int64(16) + T.int64(16), T.int64(0):T.int64(16)])
            C = T.match_buffer(A[v_i * T.int64(16):v_i * T.int64(16) + T.int64(16), T.int64(0):T.int64(16)],
                (T.int64(16), T.int64(16)), "float16", strides=("d1", "d0"), offset_factor=16)
            T.tvm_fill_fragment(C.data, 16, 16, 16, C.elem_offset // C.strides[0], T.float32(0.0))
""",
    "a kernel that is launched": """
@T.prim_func(s_tir=True)
def f(a: T.handle("float16", "global"), n: T.int64):
    A = T.decl_buffer((n,), "float16", data=a)
    A[0] = T.float16(1.0)
    T.call_ffi_kernel("f_kernel", A.data, n, n // T.int64(256), T.int64(1024), launch_params=["blockIdx.x", "threadIdx.x"], ret_ty="int32")
""",
    "memory that an attribute speaks of": """
@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float16")):
    B = T.Buffer((16,), "float16", scope="shared")
    with T.attr(B, "fragment_layout", "row_major"):
        B_1 = T.alloc_buffer((16,), "float16", scope="shared")
        B_1[0] = A[0]
    B[1] = A[1]
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
# Functions with an unbound buffer: it corresponds to the one of the other text, but is not the same.
OF_NO_PLACE = {"a buffer that only an attribute of a block mentions", "memory that an attribute speaks of"}


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
    found = oracle.equal(text, rxe.parse(text).script()).get()
    assert found.mapped if name in OF_NO_PLACE else found.exact


@pytest.mark.parametrize(
    ("kind", "start", "extent"), [("uint8", 250, 10), ("int32", 2**31 - 3, 9), ("int64", 2**63 - 2, 7)]
)
def test_a_loop_past_the_last_number_of_its_dtype(kind: str, start: int, extent: int) -> None:
    fn = rxe.parse(
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    for i in range(3, 9):\n        A[0] = T.float32(1)\n"
    )["f"]
    number = dtype(kind)
    loop = replace(
        fn.body, var=p.PrimVar("i", number), start=p.IntImm(start, number), extent=p.IntImm(extent, number)
    )
    module = IRModule({"f": replace(fn, body=loop)})
    assert rxe.structural_equal(rxe.parse(module.script()), module)


@pytest.mark.parametrize("value", ["B", "[A, 1]", '{"x": A}', "n", "1"])
@pytest.mark.parametrize("name", ["tvm-0.27", "tvm-0.19"])
def test_attributes_that_name_buffers_read_back(name: str, value: str) -> None:
    module = rxe.parse(NAMED.format(value))
    again = rxe.parse(module.script(dialect=name))
    assert rxe.structural_equal(again, module)
    found = again["k"].attrs["a"]
    assert isinstance(found, type(module["k"].attrs["a"]))


NAMED = """
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def k(A: T.Buffer((n,), "int32"), B: T.Buffer((n,), "int32")):
        T.func_attr({{"a": {}}})
        for i in range(n):
            with T.sblock("B"):
                v = T.axis.spatial(n, i)
                B[v] = A[v]
"""
