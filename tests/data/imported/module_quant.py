# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def deq(w: T.Buffer((T.int64(16), T.int64(4)), "uint32"), sc: T.Buffer((T.int64(16), T.int64(1)), "float16"), deq: T.Buffer((T.int64(16), T.int64(32)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(16), T.int64(32)):
            with T.sblock("deq"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(w[v_i, v_j // T.int64(8)], sc[v_i, T.int64(0)])
                T.writes(deq[v_i, v_j])
                deq[v_i, v_j] = T.Cast("float16", w[v_i, v_j // T.int64(8)] >> T.Cast("uint32", v_j % T.int64(8) * T.int64(4)) & T.uint32(15)) * sc[v_i, T.int64(0)]

    @R.function
    def forward(x: R.Tensor((n, 32), dtype="float16"), w: R.Tensor((16, 4), dtype="uint32"), sc: R.Tensor((16, 1), dtype="float16")) -> R.Tensor((n, 16), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.deq, (w, sc), out_ty=R.Tensor((16, 32), dtype="float16"))
            permute_dims: R.Tensor((32, 16), dtype="float16") = R.permute_dims(lv, axes=None)
            matmul: R.Tensor((n, 16), dtype="float32") = R.matmul(x, permute_dims, out_dtype="float32")
            gv: R.Tensor((n, 16), dtype="float32") = matmul
            R.output(gv)
        return gv