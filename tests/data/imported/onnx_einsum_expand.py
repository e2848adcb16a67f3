# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def einsum(x: T.Buffer((T.int64(1), T.int64(3), T.int64(4)), "float32"), w: T.Buffer((T.int64(1), T.int64(4), T.int64(5)), "float32"), T_einsum: T.Buffer((T.int64(1), T.int64(3), T.int64(5)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, j in T.grid(T.int64(1), T.int64(3), T.int64(5), T.int64(4)):
            with T.sblock("T_einsum"):
                v_ax0, v_ax1, v_ax2, v_j = T.axis.remap("SSSR", [ax0, ax1, ax2, j])
                T.reads(x[v_ax0, v_ax1, v_j], w[v_ax0, v_j, v_ax2])
                T.writes(T_einsum[v_ax0, v_ax1, v_ax2])
                with T.init():
                    T_einsum[v_ax0, v_ax1, v_ax2] = T.float32(0.0)
                T_einsum[v_ax0, v_ax1, v_ax2] = T_einsum[v_ax0, v_ax1, v_ax2] + x[v_ax0, v_ax1, v_j] * w[v_ax0, v_j, v_ax2]

    @R.function
    def main(x: R.Tensor((1, 3, 4), dtype="float32"), w: R.Tensor((1, 4, 5), dtype="float32"), v: R.Tensor((1, 1, 5), dtype="float32")) -> R.Tensor((3, 5), dtype="float32"):
        R.func_attr({"num_input": 3})
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.einsum, (x, w), out_ty=R.Tensor((1, 3, 5), dtype="float32"))
            lv1: R.Tensor((1, 3, 5), dtype="float32") = R.broadcast_to(v, R.shape([1, 3, 5]))
            lv2: R.Tensor((1, 3, 5), dtype="float32") = R.add(lv, lv1)
            gv: R.Tensor((3, 5), dtype="float32") = R.squeeze(lv2, axis=[0])
            R.output(gv)
        return gv