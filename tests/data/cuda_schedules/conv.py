# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def conv2d(x: T.Buffer((T.int64(1), T.int64(4), T.int64(12), T.int64(12)), "float32"), w: T.Buffer((T.int64(8), T.int64(4), T.int64(3), T.int64(3)), "float32"), conv2d_nchw: T.Buffer((T.int64(1), T.int64(8), T.int64(12), T.int64(12)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        conv2d_nchw_reindex_pad_local = T.sblock_alloc_buffer((T.int64(1), T.int64(160), T.int64(64)), scope="local")
        pad_temp_reindex_pad_shared = T.sblock_alloc_buffer((T.int64(1), T.int64(160), T.int64(48)), scope="shared")
        w_reindex_pad_shared = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(48)), scope="shared")
        for ax0_ax2_0_fused in T.thread_binding(T.int64(1), thread="blockIdx.y"):
            for ax1_0 in T.thread_binding(T.int64(5), thread="blockIdx.x"):
                for ax2_1 in T.thread_binding(T.int64(1), thread="vthread.y"):
                    for ax1_1 in T.thread_binding(T.int64(1), thread="vthread.x"):
                        for ax2_2 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                            for ax1_2 in T.thread_binding(T.int64(8), thread="threadIdx.x", annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                                for ax1_3_init, ax2_3_0_init in T.grid(T.int64(4), T.int64(2)):
                                    for ax2_3_1_init in T.vectorized(T.int64(2)):
                                        with T.sblock("conv2d_nchw_init"):
                                            v0 = T.axis.spatial(T.int64(1), T.int64(0))
                                            v1 = T.axis.spatial(T.int64(160), ax1_0 * T.int64(32) + ax1_1 * T.int64(32) + ax1_2 * T.int64(4) + ax1_3_init)
                                            v2 = T.axis.spatial(T.int64(64), ax2_1 * T.int64(64) + ax2_2 * T.int64(4) + ax2_3_0_init * T.int64(2) + ax2_3_1_init)
                                            T.reads()
                                            T.writes(conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2])
                                            conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2] = T.float32(0.0)
                                for ax3_0 in range(T.int64(3)):
                                    for ax0_ax1_ax2_fused_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                        for ax0_ax1_ax2_fused_1 in T.thread_binding(T.int64(8), thread="threadIdx.x"):
                                            for ax0_ax1_ax2_fused_2 in range(T.int64(2)):
                                                for ax0_ax1_ax2_fused_3 in T.vectorized(T.int64(2)):
                                                    with T.sblock("pad_temp_reindex_pad_shared"):
                                                        v0 = T.axis.spatial(T.int64(1), T.int64(0))
                                                        v1 = T.axis.spatial(T.int64(160), ax1_0 * T.int64(32) + (ax0_ax1_ax2_fused_0 * T.int64(32) + ax0_ax1_ax2_fused_1 * T.int64(4) + ax0_ax1_ax2_fused_2 * T.int64(2) + ax0_ax1_ax2_fused_3) // T.int64(16))
                                                        v2 = T.axis.spatial(T.int64(48), ax3_0 * T.int64(16) + (ax0_ax1_ax2_fused_0 * T.int64(32) + ax0_ax1_ax2_fused_1 * T.int64(4) + ax0_ax1_ax2_fused_2 * T.int64(2) + ax0_ax1_ax2_fused_3) % T.int64(16))
                                                        T.reads(x[T.int64(0), v2 // T.int64(9), v1 // T.int64(12) + v2 // T.int64(3) % T.int64(3) - T.int64(1), v1 % T.int64(12) + v2 % T.int64(3) - T.int64(1)])
                                                        T.writes(pad_temp_reindex_pad_shared[v0, v1, v2])
                                                        T.sblock_attr({"buffer_dim_align": [[0, 1, 8, 2]]})
                                                        pad_temp_reindex_pad_shared[v0, v1, v2] = T.if_then_else(v1 < T.int64(144) and v2 < T.int64(36), T.if_then_else(T.int64(1) <= v1 // T.int64(12) + v2 // T.int64(3) % T.int64(3) and v1 // T.int64(12) + v2 // T.int64(3) % T.int64(3) < T.int64(13) and T.int64(1) <= v1 % T.int64(12) + v2 % T.int64(3) and v1 % T.int64(12) + v2 % T.int64(3) < T.int64(13), x[T.int64(0), v2 // T.int64(9), v1 // T.int64(12) + v2 // T.int64(3) % T.int64(3) - T.int64(1), v1 % T.int64(12) + v2 % T.int64(3) - T.int64(1)], T.float32(0.0)), T.float32(0.0))
                                    for ax0_ax1_ax2_fused_0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                                        for ax0_ax1_ax2_fused_1 in T.thread_binding(T.int64(8), thread="threadIdx.x"):
                                            for ax0_ax1_ax2_fused_2 in range(T.int64(4)):
                                                for ax0_ax1_ax2_fused_3 in T.vectorized(T.int64(2)):
                                                    with T.sblock("w_reindex_pad_shared"):
                                                        v0 = T.axis.spatial(T.int64(1), T.int64(0))
                                                        v1 = T.axis.spatial(T.int64(64), (ax0_ax1_ax2_fused_0 * T.int64(64) + ax0_ax1_ax2_fused_1 * T.int64(8) + ax0_ax1_ax2_fused_2 * T.int64(2) + ax0_ax1_ax2_fused_3) // T.int64(16))
                                                        v2 = T.axis.spatial(T.int64(48), ax3_0 * T.int64(16) + (ax0_ax1_ax2_fused_0 * T.int64(64) + ax0_ax1_ax2_fused_1 * T.int64(8) + ax0_ax1_ax2_fused_2 * T.int64(2) + ax0_ax1_ax2_fused_3) % T.int64(16))
                                                        T.reads(w[v1, v2 // T.int64(9), v2 // T.int64(3) % T.int64(3), v2 % T.int64(3)])
                                                        T.writes(w_reindex_pad_shared[v0, v1, v2])
                                                        T.sblock_attr({"buffer_dim_align": [[0, 1, 8, 2]]})
                                                        w_reindex_pad_shared[v0, v1, v2] = T.if_then_else(v1 < T.int64(8) and v2 < T.int64(36), w[v1, v2 // T.int64(9), v2 // T.int64(3) % T.int64(3), v2 % T.int64(3)], T.float32(0.0))
                                    for ax3_1, ax1_3, ax2_3_0 in T.grid(T.int64(16), T.int64(4), T.int64(2)):
                                        for ax2_3_1 in T.vectorized(T.int64(2)):
                                            with T.sblock("conv2d_nchw_update"):
                                                v0 = T.axis.spatial(T.int64(1), T.int64(0))
                                                v1 = T.axis.spatial(T.int64(160), ax1_0 * T.int64(32) + ax1_1 * T.int64(32) + ax1_2 * T.int64(4) + ax1_3)
                                                v2 = T.axis.spatial(T.int64(64), ax2_1 * T.int64(64) + ax2_2 * T.int64(4) + ax2_3_0 * T.int64(2) + ax2_3_1)
                                                v3 = T.axis.reduce(T.int64(48), ax3_0 * T.int64(16) + ax3_1)
                                                T.reads(conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2], pad_temp_reindex_pad_shared[T.int64(0), v1, v3], w_reindex_pad_shared[T.int64(0), v2, v3])
                                                T.writes(conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2])
                                                conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2] = conv2d_nchw_reindex_pad_local[T.int64(0), v1, v2] + pad_temp_reindex_pad_shared[T.int64(0), v1, v3] * w_reindex_pad_shared[T.int64(0), v2, v3]
                                for ax0, ax1, ax2_0 in T.grid(T.int64(1), T.int64(4), T.int64(2)):
                                    for ax2_1_1 in T.vectorized(T.int64(2)):
                                        with T.sblock("conv2d_nchw_reindex_pad_local"):
                                            v0 = T.axis.spatial(T.int64(1), ax0)
                                            v1 = T.axis.spatial(T.int64(160), ax1_0 * T.int64(32) + ax1_2 * T.int64(4) + ax1)
                                            v2 = T.axis.spatial(T.int64(64), ax2_2 * T.int64(4) + ax2_0 * T.int64(2) + ax2_1_1)
                                            T.where(ax2_2 * T.int64(4) + ax2_0 * T.int64(2) + ax2_1_1 < T.int64(8) and ax1_0 * T.int64(32) + ax1_2 * T.int64(4) + ax1 < T.int64(144))
                                            T.reads(conv2d_nchw_reindex_pad_local[v0, v1, v2])
                                            T.writes(conv2d_nchw[T.int64(0), v2, v1 // T.int64(12), v1 % T.int64(12)])
                                            conv2d_nchw[T.int64(0), v2, v1 // T.int64(12), v1 % T.int64(12)] = conv2d_nchw_reindex_pad_local[v0, v1, v2]

    @R.function
    def main(x: R.Tensor((1, 4, 12, 12), dtype="float32"), w: R.Tensor((8, 4, 3, 3), dtype="float32")) -> R.Tensor((1, 8, 12, 12), dtype="float32"):
        cls = Module
        with R.dataflow():
            v0 = R.call_tir(cls.conv2d, (x, w), out_ty=R.Tensor((1, 8, 12, 12), dtype="float32"))
            R.output(v0)
        return v0