# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused_matmul_add_tir_sigmoid_multiply(x: T.Buffer((n, T.int64(16)), "float32"), w: T.Buffer((T.int64(16), T.int64(16)), "float32"), b: T.Buffer((T.int64(16),), "float32"), T_multiply_intermediate: T.Buffer((n, T.int64(16)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((n, T.int64(16)))
        T_add_intermediate = T.sblock_alloc_buffer((n, T.int64(16)))
        compute_intermediate = T.sblock_alloc_buffer((n, T.int64(16)))
        for ax0, ax1, k0 in T.grid(n, T.int64(16), T.int64(16)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(x[v_ax0, v_k0], w[v_k0, v_ax1])
                T.writes(matmul_intermediate[v_ax0, v_ax1])
                with T.init():
                    matmul_intermediate[v_ax0, v_ax1] = T.float32(0.0)
                matmul_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + x[v_ax0, v_k0] * w[v_k0, v_ax1]
        for ax0, ax1 in T.grid(n, T.int64(16)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1], b[v_ax1])
                T.writes(T_add_intermediate[v_ax0, v_ax1])
                T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + b[v_ax1]
        for ax0, ax1 in T.grid(n, T.int64(16)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(T_add_intermediate[v_ax0, v_ax1])
                T.writes(compute_intermediate[v_ax0, v_ax1])
                compute_intermediate[v_ax0, v_ax1] = T.sigmoid(T_add_intermediate[v_ax0, v_ax1])
        for ax0, ax1 in T.grid(n, T.int64(16)):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1], compute_intermediate[v_ax0, v_ax1])
                T.writes(T_multiply_intermediate[v_ax0, v_ax1])
                T_multiply_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] * compute_intermediate[v_ax0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def matmul1(gated: T.Buffer((n, T.int64(16)), "float32"), w_out: T.Buffer((T.int64(16), T.int64(4)), "float32"), matmul: T.Buffer((n, T.int64(4)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(n, T.int64(4), T.int64(16)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(gated[v_ax0, v_k0], w_out[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + gated[v_ax0, v_k0] * w_out[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def softmax(scores: T.Buffer((n, T.int64(4)), "float32"), T_softmax_norm: T.Buffer((n, T.int64(4)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        T_softmax_maxelem = T.sblock_alloc_buffer((n,))
        T_softmax_exp = T.sblock_alloc_buffer((n, T.int64(4)))
        T_softmax_expsum = T.sblock_alloc_buffer((n,))
        for ax0, k0 in T.grid(n, T.int64(4)):
            with T.sblock("T_softmax_maxelem"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(scores[v_ax0, v_k0])
                T.writes(T_softmax_maxelem[v_ax0])
                with T.init():
                    T_softmax_maxelem[v_ax0] = T.float32(-3.4028234663852886e+38)
                T_softmax_maxelem[v_ax0] = T.max(T_softmax_maxelem[v_ax0], scores[v_ax0, v_k0])
        for ax0, ax1 in T.grid(n, T.int64(4)):
            with T.sblock("T_softmax_exp"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(scores[v_ax0, v_ax1], T_softmax_maxelem[v_ax0])
                T.writes(T_softmax_exp[v_ax0, v_ax1])
                T_softmax_exp[v_ax0, v_ax1] = T.exp(scores[v_ax0, v_ax1] - T_softmax_maxelem[v_ax0])
        for ax0, k0 in T.grid(n, T.int64(4)):
            with T.sblock("T_softmax_expsum"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(T_softmax_exp[v_ax0, v_k0])
                T.writes(T_softmax_expsum[v_ax0])
                with T.init():
                    T_softmax_expsum[v_ax0] = T.float32(0.0)
                T_softmax_expsum[v_ax0] = T_softmax_expsum[v_ax0] + T_softmax_exp[v_ax0, v_k0]
        for ax0, ax1 in T.grid(n, T.int64(4)):
            with T.sblock("T_softmax_norm"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(T_softmax_exp[v_ax0, v_ax1], T_softmax_expsum[v_ax0])
                T.writes(T_softmax_norm[v_ax0, v_ax1])
                T.sblock_attr({"axis": 1})
                T_softmax_norm[v_ax0, v_ax1] = T_softmax_exp[v_ax0, v_ax1] / T_softmax_expsum[v_ax0]

    @R.function
    def main(x: R.Tensor((n, 16), dtype="float32"), w: R.Tensor((16, 16), dtype="float32"), b: R.Tensor((16,), dtype="float32"), w_out: R.Tensor((16, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        cls = Module
        with R.dataflow():
            gated = R.call_tir(cls.fused_matmul_add_tir_sigmoid_multiply, (x, w, b), out_ty=R.Tensor((n, 16), dtype="float32"))
            scores = R.call_tir(cls.matmul1, (gated, w_out), out_ty=R.Tensor((n, 4), dtype="float32"))
            out = R.call_tir(cls.softmax, (scores,), out_ty=R.Tensor((n, 4), dtype="float32"))
            R.output(out)
        return out
