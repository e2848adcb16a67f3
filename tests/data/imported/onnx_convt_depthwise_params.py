# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def maximum(A: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32"), lv13: T.Buffer((), "float32"), T_maximum: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(3), T.int64(11), T.int64(11)):
            with T.sblock("T_maximum"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(A[v_ax0, v_ax1, v_ax2, v_ax3], lv13[()])
                T.writes(T_maximum[v_ax0, v_ax1, v_ax2, v_ax3])
                T_maximum[v_ax0, v_ax1, v_ax2, v_ax3] = T.max(A[v_ax0, v_ax1, v_ax2, v_ax3], lv13[()])

    @T.prim_func(private=True, s_tir=True)
    def minimum(lv15: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32"), lv17: T.Buffer((), "float32"), T_minimum: T.Buffer((T.int64(1), T.int64(3), T.int64(11), T.int64(11)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(3), T.int64(11), T.int64(11)):
            with T.sblock("T_minimum"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(lv15[v_ax0, v_ax1, v_ax2, v_ax3], lv17[()])
                T.writes(T_minimum[v_ax0, v_ax1, v_ax2, v_ax3])
                T_minimum[v_ax0, v_ax1, v_ax2, v_ax3] = T.min(lv15[v_ax0, v_ax1, v_ax2, v_ax3], lv17[()])

    @R.function
    def main(x: R.Tensor((1, 4, 5, 5), dtype="float32"), w: R.Tensor((4, 1, 3, 3), dtype="float32"), w2: R.Tensor((4, 3, 3, 3), dtype="float32"), g: R.Tensor((3,), dtype="float32"), be: R.Tensor((3,), dtype="float32"), lo: R.Tensor((), dtype="float32"), hi: R.Tensor((), dtype="float32")) -> R.Tensor((1, 3, 11, 11), dtype="float32"):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((1, 4, 5, 5), dtype="float32") = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=4, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype=None)
            lv1: R.Tensor((1, 3, 11, 11), dtype="float32") = R.nn.conv2d_transpose(lv, w2, strides=[2, 2], padding=[0, 0, 0, 0], output_padding=[0, 0], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="IOHW", out_layout="NCHW", out_dtype=None)
            lv2: R.Tensor((1, 3, 11, 11), dtype="float32") = R.nn.leakyrelu(lv1, alpha=0.10000000149011612)
            lv3: R.Tensor((1, 3, 1, 1), dtype="float32") = R.mean(lv2, axis=[2, 3], keepdims=True)
            lv4: R.Tensor((1, 3, 11, 11), dtype="float32") = R.subtract(lv2, lv3)
            lv5: R.Tensor((1, 3, 1, 1), dtype="float32") = R.variance(lv2, axis=[2, 3], keepdims=True)
            lv6: R.Tensor((1, 3, 1, 1), dtype="float32") = R.add(lv5, R.const(9.9999997473787516e-06, "float32"))
            lv7: R.Tensor((1, 3, 1, 1), dtype="float32") = R.sqrt(lv6)
            lv8: R.Tensor((1, 3, 11, 11), dtype="float32") = R.divide(lv4, lv7)
            lv9: R.Tensor((3, 1, 1), dtype="float32") = R.reshape(g, R.shape([3, 1, 1]))
            lv10: R.Tensor((1, 3, 11, 11), dtype="float32") = R.multiply(lv8, lv9)
            lv11: R.Tensor((3, 1, 1), dtype="float32") = R.reshape(be, R.shape([3, 1, 1]))
            lv12: R.Tensor((), dtype="bool") = R.isnan(lo)
            lv13: R.Tensor((), dtype="float32") = R.where(lv12, R.const("-inf", "float32"), lo)
            lv14: R.Tensor((1, 3, 11, 11), dtype="float32") = R.add(lv10, lv11)
            lv15 = R.call_tir(cls.maximum, (lv14, lv13), out_ty=R.Tensor((1, 3, 11, 11), dtype="float32"))
            lv16: R.Tensor((), dtype="bool") = R.isnan(hi)
            lv17: R.Tensor((), dtype="float32") = R.where(lv16, R.const("inf", "float32"), hi)
            lv18 = R.call_tir(cls.minimum, (lv15, lv17), out_ty=R.Tensor((1, 3, 11, 11), dtype="float32"))
            gv: R.Tensor((1, 3, 11, 11), dtype="float32") = lv18
            R.output(gv)
        return gv