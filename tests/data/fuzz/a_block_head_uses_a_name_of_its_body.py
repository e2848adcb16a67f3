from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(x: T.Buffer((T.int64(8),), "float32"), y: T.Buffer((T.int64(8),), "float32")):
        for i in range(T.int64(8)):
            with T.sblock("a"):
                v1 = T.axis.spatial(T.int64(8), i)
                v0 = T.where.spatial(T.int64(8), i)
                T.reads(x[v0])
                T.writes(y[v0])
                with T.init():
                    y[v0] = T.float32(0)
                y[v0] = x[v0]
