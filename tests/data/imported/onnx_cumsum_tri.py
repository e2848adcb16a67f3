# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def tile(A: T.Buffer((T.int64(4), T.int64(4)), "float32"), T_tile: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("T_tile"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(A[v_ax0 % T.int64(4), v_ax1 % T.int64(4)])
                T.writes(T_tile[v_ax0, v_ax1])
                T_tile[v_ax0, v_ax1] = A[v_ax0 % T.int64(4), v_ax1 % T.int64(4)]

    @R.function
    def main(x: R.Tensor((4, 4), dtype="float32")) -> R.Tensor((4, 8), dtype="float64"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((4, 4), dtype="float32") = R.cumsum(x, axis=1, dtype=None, exclusive=False)
            lv1: R.Tensor((4, 4), dtype="float32") = R.tril(lv, 0)
            lv2 = R.call_tir(cls.tile, (lv1,), out_ty=R.Tensor((4, 8), dtype="float32"))
            lv3: R.Tensor((4,), dtype="int64") = R.argmax(lv2, axis=1, keepdims=False)
            lv4: R.Tensor((4,), dtype="bool") = R.less(lv3, R.const(0, "int64"))
            lv5: R.Tensor((4,), dtype="int64") = R.add(lv3, R.const(8, "int64"))
            lv6: R.Tensor((4,), dtype="int64") = R.where(lv4, lv5, lv3)
            gv: R.Tensor((4, 8), dtype="float64") = R.one_hot(lv6, T.float64(1.0), T.float64(0.0), depth=8, axis=-1)
            R.output(gv)
        return gv