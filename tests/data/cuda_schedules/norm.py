# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def layer_norm(x: T.Buffer((T.int64(8), T.int64(64)), "float32"), g: T.Buffer((T.int64(64),), "float32"), b: T.Buffer((T.int64(64),), "float32"), T_layer_norm: T.Buffer((T.int64(8), T.int64(64)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_sum_shared = T.sblock_alloc_buffer((T.int64(8),), scope="shared")
        x_var_sum_shared = T.sblock_alloc_buffer((T.int64(8),), scope="shared")
        for ax0_fused in T.thread_binding(T.int64(8), thread="blockIdx.x"):
            for ax0 in range(T.int64(1)):
                for ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    for ax1_fused_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                        with T.sblock("x_sum"):
                            v0 = T.axis.spatial(T.int64(8), ax0_fused + ax0)
                            v1 = T.axis.reduce(T.int64(64), ax1_fused_0 * T.int64(256) + ax1_fused_1)
                            T.where(ax1_fused_0 * T.int64(256) + ax1_fused_1 < T.int64(64))
                            T.reads(x[v0, v1])
                            T.writes(x_sum_shared[v0])
                            with T.init():
                                x_sum_shared[v0] = T.float32(0.0)
                            x_sum_shared[v0] = x_sum_shared[v0] + x[v0, v1]
            for ax0 in range(T.int64(1)):
                for ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    for ax1_fused_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                        with T.sblock("x_var_sum"):
                            v0 = T.axis.spatial(T.int64(8), ax0_fused + ax0)
                            v1 = T.axis.reduce(T.int64(64), ax1_fused_0 * T.int64(256) + ax1_fused_1)
                            T.where(ax1_fused_0 * T.int64(256) + ax1_fused_1 < T.int64(64))
                            T.reads(x[v0, v1], x_sum_shared[v0])
                            T.writes(x_var_sum_shared[v0])
                            with T.init():
                                x_var_sum_shared[v0] = T.float32(0.0)
                            x_var_sum_shared[v0] = x_var_sum_shared[v0] + (x[v0, v1] - x_sum_shared[v0] / T.float32(64.0)) * (x[v0, v1] - x_sum_shared[v0] / T.float32(64.0))
            for ax1_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                for ax1_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                    with T.sblock("T_layer_norm"):
                        v0 = T.axis.spatial(T.int64(8), ax0_fused)
                        v1 = T.axis.spatial(T.int64(64), ax1_0 * T.int64(256) + ax1_1)
                        T.where(ax1_0 * T.int64(256) + ax1_1 < T.int64(64))
                        T.reads(x[v0, v1], x_sum_shared[v0], x_var_sum_shared[v0], g[v1], b[v1])
                        T.writes(T_layer_norm[v0, v1])
                        T_layer_norm[v0, v1] = (x[v0, v1] - x_sum_shared[v0] / T.float32(64.0)) * T.rsqrt(x_var_sum_shared[v0] / T.float32(64.0) + T.float32(1.0000000000000001e-05)) * g[v1] + b[v1]

    @R.function
    def main(x: R.Tensor((8, 64), dtype="float32"), g: R.Tensor((64,), dtype="float32"), b: R.Tensor((64,), dtype="float32")) -> R.Tensor((8, 64), dtype="float32"):
        cls = Module
        with R.dataflow():
            v0 = R.call_tir(cls.layer_norm, (x, g, b), out_ty=R.Tensor((8, 64), dtype="float32"))
            R.output(v0)
        return v0