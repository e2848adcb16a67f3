# call_tir: a kernel written as loops (a PrimFunc) fills a tensor that call_tir allocates for it.
from typing import TypeVar

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

n = TypeVar("n")


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((n, T.int64(4)), "float32"), B: T.Buffer((n, T.int64(4)), "float32")):
        for i, j in T.grid(n, T.int64(4)):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(0.5)

    @R.function
    def main(x: R.Tensor((n, 4), "float32")):
        cls = Module
        half = R.call_tir(cls.scale, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
        return half
