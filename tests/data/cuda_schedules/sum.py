# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(v0: T.Buffer((T.int64(8), T.int64(64)), "float32"), v0_1: T.Buffer((T.int64(8), T.int64(64)), "float32"), T_add: T.Buffer((T.int64(8), T.int64(64)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding(T.int64(1), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(1024), thread="threadIdx.x"):
                with T.sblock("T_add"):
                    v0_2 = T.axis.spatial(T.int64(8), (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) // T.int64(64))
                    v1 = T.axis.spatial(T.int64(64), (ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1) % T.int64(64))
                    T.where(ax0_ax1_fused_0 * T.int64(1024) + ax0_ax1_fused_1 < T.int64(512))
                    T.reads(v0[v0_2, v1], v0_1[v0_2, v1])
                    T.writes(T_add[v0_2, v1])
                    T_add[v0_2, v1] = v0[v0_2, v1] + v0_1[v0_2, v1]

    @T.prim_func(private=True, s_tir=True)
    def sum(x: T.Buffer((T.int64(8), T.int64(5), T.int64(64)), "float32"), x_red: T.Buffer((T.int64(8), T.int64(64)), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_red_rf_local = T.sblock_alloc_buffer((T.int64(16), T.int64(8), T.int64(64)), scope="local")
        for ax0_ax1_fused_0 in T.thread_binding(T.int64(32), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                for ax2_fused_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                    with T.sblock("x_red_rf_init"):
                        vax2_fused_1 = T.axis.spatial(T.int64(16), ax2_fused_1)
                        v0 = T.axis.spatial(T.int64(8), (ax0_ax1_fused_0 * T.int64(16) + ax0_ax1_fused_1) // T.int64(64))
                        v1 = T.axis.spatial(T.int64(64), (ax0_ax1_fused_0 * T.int64(16) + ax0_ax1_fused_1) % T.int64(64))
                        T.reads()
                        T.writes(x_red_rf_local[vax2_fused_1, v0, v1])
                        x_red_rf_local[vax2_fused_1, v0, v1] = T.float32(0.0)
                    for ax2_fused_0, u in T.grid(T.int64(1), 1):
                        with T.sblock("x_red_rf_update"):
                            vax2_fused_1 = T.axis.spatial(T.int64(16), ax2_fused_1)
                            v0 = T.axis.spatial(T.int64(8), (ax0_ax1_fused_0 * T.int64(16) + ax0_ax1_fused_1) // T.int64(64))
                            v1 = T.axis.spatial(T.int64(64), (ax0_ax1_fused_0 * T.int64(16) + ax0_ax1_fused_1) % T.int64(64))
                            vax2_fused_0 = T.axis.reduce(T.int64(1), ax2_fused_0)
                            T.where(ax2_fused_0 * T.int64(16) + ax2_fused_1 < T.int64(5))
                            T.reads(x_red_rf_local[vax2_fused_1, v0, v1], x[v0, vax2_fused_0 * T.int64(16) + vax2_fused_1, v1])
                            T.writes(x_red_rf_local[vax2_fused_1, v0, v1])
                            x_red_rf_local[vax2_fused_1, v0, v1] = x_red_rf_local[vax2_fused_1, v0, v1] + x[v0, vax2_fused_0 * T.int64(16) + vax2_fused_1, v1]
            for ax1_ax2_fused in T.thread_binding(T.int64(16), thread="threadIdx.x"):
                for ax0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                    with T.sblock("x_red"):
                        vax2_fused_1 = T.axis.reduce(T.int64(16), ax0)
                        v0 = T.axis.spatial(T.int64(8), ax0_ax1_fused_0 // T.int64(4))
                        v1 = T.axis.spatial(T.int64(64), ax0_ax1_fused_0 % T.int64(4) * T.int64(16) + ax1_ax2_fused)
                        T.reads(x_red_rf_local[vax2_fused_1, v0, v1])
                        T.writes(x_red[v0, v1])
                        with T.init():
                            x_red[v0, v1] = T.float32(0.0)
                        x_red[v0, v1] = x_red[v0, v1] + x_red_rf_local[vax2_fused_1, v0, v1]

    @R.function
    def main(x: R.Tensor((8, 5, 64), dtype="float32")) -> R.Tensor((8, 64), dtype="float32"):
        cls = Module
        with R.dataflow():
            v0 = R.call_tir(cls.sum, (x,), out_ty=R.Tensor((8, 64), dtype="float32"))
            v2 = R.call_tir(cls.add, (v0, v0), out_ty=R.Tensor((8, 64), dtype="float32"))
            R.output(v2)
        return v2