# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def cast(q: T.Buffer((T.int64(4), T.int64(8)), "float32"), compute: T.Buffer((T.int64(4), T.int64(8)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(q[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.Cast("float16", q[v_ax0, v_ax1])

    @T.prim_func(private=True, s_tir=True)
    def cast1(mixed16: T.Buffer((T.int64(4), T.int64(8)), "float16"), compute: T.Buffer((T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(8)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(mixed16[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.Cast("float32", mixed16[v_ax0, v_ax1])

    @T.prim_func(private=True, s_tir=True)
    def divide(powers: T.Buffer((T.int64(4), T.int64(4)), "float16"), total: T.Buffer((T.int64(4), T.int64(1)), "float16"), T_divide: T.Buffer((T.int64(4), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("T_divide"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(powers[v_ax0, v_ax1], total[v_ax0, T.int64(0)])
                T.writes(T_divide[v_ax0, v_ax1])
                T_divide[v_ax0, v_ax1] = powers[v_ax0, v_ax1] / total[v_ax0, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def matmul(q16: T.Buffer((T.int64(4), T.int64(8)), "float16"), gv: T.Buffer((T.int64(8), T.int64(4)), "float16"), matmul: T.Buffer((T.int64(4), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(4), T.int64(4), T.int64(8)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(q16[v_ax0, v_k0], gv[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float16(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + q16[v_ax0, v_k0] * gv[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def matmul1(weights: T.Buffer((T.int64(4), T.int64(4)), "float16"), v16: T.Buffer((T.int64(4), T.int64(8)), "float16"), matmul: T.Buffer((T.int64(4), T.int64(8)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(4), T.int64(8), T.int64(4)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(weights[v_ax0, v_k0], v16[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float16(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + weights[v_ax0, v_k0] * v16[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def max(masked: T.Buffer((T.int64(4), T.int64(4)), "float16"), masked_red: T.Buffer((T.int64(4), T.int64(1)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(4), T.int64(1), T.int64(4)):
            with T.sblock("masked_red"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(masked[v_ax0, v_k0])
                T.writes(masked_red[v_ax0, v_ax1])
                with T.init():
                    masked_red[v_ax0, v_ax1] = T.float16(-65504.0)
                masked_red[v_ax0, v_ax1] = T.max(masked_red[v_ax0, v_ax1], masked[v_ax0, v_k0])

    @T.prim_func(private=True, s_tir=True)
    def subtract(masked: T.Buffer((T.int64(4), T.int64(4)), "float16"), top: T.Buffer((T.int64(4), T.int64(1)), "float16"), T_subtract: T.Buffer((T.int64(4), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("T_subtract"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(masked[v_ax0, v_ax1], top[v_ax0, T.int64(0)])
                T.writes(T_subtract[v_ax0, v_ax1])
                T_subtract[v_ax0, v_ax1] = masked[v_ax0, v_ax1] - top[v_ax0, T.int64(0)]

    @T.prim_func(private=True, s_tir=True)
    def sum(powers: T.Buffer((T.int64(4), T.int64(4)), "float16"), powers_red: T.Buffer((T.int64(4), T.int64(1)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(4), T.int64(1), T.int64(4)):
            with T.sblock("powers_red"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(powers[v_ax0, v_k0])
                T.writes(powers_red[v_ax0, v_ax1])
                with T.init():
                    powers_red[v_ax0, v_ax1] = T.float16(0.0)
                powers_red[v_ax0, v_ax1] = powers_red[v_ax0, v_ax1] + powers[v_ax0, v_k0]

    @T.prim_func(private=True, s_tir=True)
    def tir_exp(shifted: T.Buffer((T.int64(4), T.int64(4)), "float16"), compute: T.Buffer((T.int64(4), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(shifted[v_ax0, v_ax1])
                T.writes(compute[v_ax0, v_ax1])
                compute[v_ax0, v_ax1] = T.exp(shifted[v_ax0, v_ax1])

    @T.prim_func(private=True, s_tir=True)
    def transpose(k16: T.Buffer((T.int64(4), T.int64(8)), "float16"), T_transpose: T.Buffer((T.int64(8), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(8), T.int64(4)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(k16[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = k16[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def where(seen: T.Buffer((T.int64(4), T.int64(4)), "bool"), scores: T.Buffer((T.int64(4), T.int64(4)), "float16"), C: T.Buffer((), "float16"), T_where: T.Buffer((T.int64(4), T.int64(4)), "float16")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("T_where"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(seen[v_ax0, v_ax1], scores[v_ax0, v_ax1], C[()])
                T.writes(T_where[v_ax0, v_ax1])
                T_where[v_ax0, v_ax1] = T.Select(seen[v_ax0, v_ax1], scores[v_ax0, v_ax1], C[()])

    @R.function
    def main(q: R.Tensor((4, 8), dtype="float32"), k: R.Tensor((4, 8), dtype="float32"), v: R.Tensor((4, 8), dtype="float32"), seen: R.Tensor((4, 4), dtype="bool")) -> R.Tensor((4, 8), dtype="float32"):
        cls = Module
        with R.dataflow():
            q16 = R.call_tir(cls.cast, (q,), out_ty=R.Tensor((4, 8), dtype="float16"))
            k16 = R.call_tir(cls.cast, (k,), out_ty=R.Tensor((4, 8), dtype="float16"))
            v16 = R.call_tir(cls.cast, (v,), out_ty=R.Tensor((4, 8), dtype="float16"))
            gv = R.call_tir(cls.transpose, (k16,), out_ty=R.Tensor((8, 4), dtype="float16"))
            scores = R.call_tir(cls.matmul, (q16, gv), out_ty=R.Tensor((4, 4), dtype="float16"))
            masked = R.call_tir(cls.where, (seen, scores, R.const("-inf", "float16")), out_ty=R.Tensor((4, 4), dtype="float16"))
            top = R.call_tir(cls.max, (masked,), out_ty=R.Tensor((4, 1), dtype="float16"))
            shifted = R.call_tir(cls.subtract, (masked, top), out_ty=R.Tensor((4, 4), dtype="float16"))
            powers = R.call_tir(cls.tir_exp, (shifted,), out_ty=R.Tensor((4, 4), dtype="float16"))
            total = R.call_tir(cls.sum, (powers,), out_ty=R.Tensor((4, 1), dtype="float16"))
            weights = R.call_tir(cls.divide, (powers, total), out_ty=R.Tensor((4, 4), dtype="float16"))
            mixed16 = R.call_tir(cls.matmul1, (weights, v16), out_ty=R.Tensor((4, 8), dtype="float16"))
            mixed = R.call_tir(cls.cast1, (mixed16,), out_ty=R.Tensor((4, 8), dtype="float32"))
            R.output(mixed)
        return mixed
