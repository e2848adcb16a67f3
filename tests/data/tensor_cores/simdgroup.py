# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused_matmul_add(x: T.Buffer((T.int64(1), n, T.int64(64)), "float16"), lv: T.Buffer((T.int64(64), T.int64(128)), "float16"), b: T.Buffer((T.int64(128),), "float16"), T_add_intermediate: T.Buffer((T.int64(1), n, T.int64(128)), "float16")):
        T.func_attr({"tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_reindex_pad_shared = T.sblock_alloc_buffer((T.int64(1), (n + T.int64(15)) // T.int64(16) * T.int64(16), T.int64(64)), "float16", scope="shared")
        lv_reindex_shared = T.sblock_alloc_buffer((T.int64(1), T.int64(128), T.int64(64)), "float16", scope="shared")
        x_reindex_pad_shared_metal_simdgroup = T.sblock_alloc_buffer((T.int64(1), (n + T.int64(15)) // T.int64(16) * T.int64(16), T.int64(64)), "float16", scope="metal.simdgroup")
        lv_reindex_shared_metal_simdgroup = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(128)), "float16", scope="metal.simdgroup")
        matmul_intermediate_reindex_pad_metal_simdgroup = T.sblock_alloc_buffer((T.int64(1), (n + T.int64(15)) // T.int64(16) * T.int64(16), T.int64(128)), "float16", scope="metal.simdgroup")
        matmul_intermediate_reindex_pad_shared = T.sblock_alloc_buffer((T.int64(1), (n + T.int64(15)) // T.int64(16) * T.int64(16), T.int64(128)), "float16", scope="shared")
        for ax0 in T.thread_binding(T.int64(1), thread="blockIdx.z"):
            for ax1_0 in T.thread_binding((n + T.int64(15)) // T.int64(16), thread="blockIdx.x"):
                for ax2_0 in T.thread_binding(T.int64(2), thread="blockIdx.y"):
                    for ax1_1 in T.thread_binding(T.int64(1), thread="threadIdx.y"):
                        for ax2_1 in T.thread_binding(T.int64(4), thread="threadIdx.z"):
                            for ax1_2_init, ax2_2_init, ax1_3_init_0, ax2_3_init_0 in T.grid(T.int64(2), T.int64(2), T.int64(1), T.int64(1)):
                                with T.sblock("matmul_init_o"):
                                    v0_o = T.axis.spatial(T.int64(1), ax0)
                                    v1_o = T.axis.spatial(T.int64(2) * ((n + T.int64(15)) // T.int64(16)), ax1_0 * T.int64(2) + ax1_1 * T.int64(2) + ax1_2_init + ax1_3_init_0)
                                    v2_o = T.axis.spatial(T.int64(16), ax2_0 * T.int64(8) + ax2_1 * T.int64(2) + ax2_2_init + ax2_3_init_0)
                                    T.reads()
                                    T.writes(matmul_intermediate_reindex_pad_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                    A = T.match_buffer(matmul_intermediate_reindex_pad_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("d1", "d0"), scope="metal.simdgroup", offset_factor=1)
                                    T.metal.make_filled_simdgroup_matrix(A.data, A.elem_offset // A.strides[0] // T.int64(8) * (A.strides[0] // T.int64(8)) + A.elem_offset % A.strides[0] // T.int64(8), T.float32(0.0), 8, 8)
                            for ax3_0 in range(T.int64(2)):
                                for ax0_1, ax1_ax2_fused_0 in T.grid(T.int64(1), T.int64(1)):
                                    for ax1_ax2_fused_1 in T.thread_binding(T.int64(4), thread="threadIdx.z"):
                                        for ax1_ax2_fused_2 in T.thread_binding(T.int64(1), thread="threadIdx.y"):
                                            for ax1_ax2_fused_3 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                                for ax1_ax2_fused_4 in T.vectorized(T.int64(4)):
                                                    with T.sblock("x_reindex_pad_shared"):
                                                        v0 = T.axis.spatial(T.int64(1), ax0_1)
                                                        v1 = T.axis.spatial((n + T.int64(15)) // T.int64(16) * T.int64(16), ax1_0 * T.int64(16) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) // T.int64(32))
                                                        v2 = T.axis.spatial(T.int64(64), ax3_0 * T.int64(32) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) % T.int64(32))
                                                        T.reads(x[v0, v1, v2])
                                                        T.writes(x_reindex_pad_shared[v0, v1, v2])
                                                        x_reindex_pad_shared[v0, v1, v2] = T.if_then_else(v1 < n, x[v0, v1, v2], T.float16(0.0))
                                for ax0_1, ax1_ax2_fused_0 in T.grid(T.int64(1), T.int64(4)):
                                    for ax1_ax2_fused_1 in T.thread_binding(T.int64(4), thread="threadIdx.z"):
                                        for ax1_ax2_fused_2 in T.thread_binding(T.int64(1), thread="threadIdx.y"):
                                            for ax1_ax2_fused_3 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                                for ax1_ax2_fused_4 in T.vectorized(T.int64(4)):
                                                    with T.sblock("lv_reindex_shared"):
                                                        v0 = T.axis.spatial(T.int64(1), ax0_1)
                                                        v1 = T.axis.spatial(T.int64(128), ax2_0 * T.int64(64) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) // T.int64(32))
                                                        v2 = T.axis.spatial(T.int64(64), ax3_0 * T.int64(32) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) % T.int64(32))
                                                        T.reads(lv[v2, v1])
                                                        T.writes(lv_reindex_shared[v0, v1, v2])
                                                        lv_reindex_shared[v0, v1, v2] = lv[v2, v1]
                                for ax3_1 in range(T.int64(4)):
                                    for ax0_0, ax1_0_1 in T.grid(T.int64(2), T.int64(1)):
                                        with T.sblock("x_reindex_pad_shared_metal.simdgroup_o"):
                                            v0_o = T.axis.spatial(T.int64(1), T.int64(0))
                                            v1_o = T.axis.spatial(T.int64(2) * ((n + T.int64(15)) // T.int64(16)), ax1_0 * T.int64(2) + ax0_0)
                                            v2_o = T.axis.spatial(T.int64(8), ax3_0 * T.int64(4) + ax3_1 + ax1_0_1)
                                            T.reads(x_reindex_pad_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                            T.writes(x_reindex_pad_shared_metal_simdgroup[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                            A = T.match_buffer(x_reindex_pad_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("s1", "s0"), scope="shared", offset_factor=1)
                                            C = T.match_buffer(x_reindex_pad_shared_metal_simdgroup[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("d1", "d0"), scope="metal.simdgroup", offset_factor=1)
                                            T.metal.simdgroup_load(C.data, C.elem_offset // C.strides[0] // T.int64(8) * (C.strides[0] // T.int64(8)) + C.elem_offset % C.strides[0] // T.int64(8), T.tvm_access_ptr(T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * T.int64(8), 1), A.strides[0], 8, 8, T.bool(False))
                                    for ax0_0, ax1_0_1 in T.grid(T.int64(2), T.int64(1)):
                                        with T.sblock("lv_reindex_shared_metal.simdgroup_o"):
                                            v0_o = T.axis.spatial(T.int64(1), T.int64(0))
                                            v1_o = T.axis.spatial(T.int64(16), ax2_0 * T.int64(8) + ax2_1 * T.int64(2) + ax0_0)
                                            v2_o = T.axis.spatial(T.int64(8), ax3_0 * T.int64(4) + ax3_1 + ax1_0_1)
                                            T.reads(lv_reindex_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                            T.writes(lv_reindex_shared_metal_simdgroup[v0_o, v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8)])
                                            A = T.match_buffer(lv_reindex_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("s1", "s0"), scope="shared", offset_factor=1)
                                            C = T.match_buffer(lv_reindex_shared_metal_simdgroup[v0_o, v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("d1", "d0"), scope="metal.simdgroup", offset_factor=1)
                                            T.metal.simdgroup_load(C.data, C.elem_offset // C.strides[0] // T.int64(8) * (C.strides[0] // T.int64(8)) + C.elem_offset % C.strides[0] // T.int64(8), T.tvm_access_ptr(T.type_annotation("float16"), A.data, A.elem_offset, A.strides[0] * T.int64(8), 1), A.strides[0], 8, 8, T.bool(True))
                                    for ax1_2, ax2_2 in T.grid(T.int64(2), T.int64(2)):
                                        with T.sblock("matmul_update_o"):
                                            v0_o = T.axis.spatial(T.int64(1), ax0)
                                            v1_o = T.axis.spatial(T.int64(2) * ((n + T.int64(15)) // T.int64(16)), ax1_0 * T.int64(2) + ax1_1 * T.int64(2) + ax1_2)
                                            v2_o = T.axis.spatial(T.int64(16), ax2_0 * T.int64(8) + ax2_1 * T.int64(2) + ax2_2)
                                            v3_o = T.axis.reduce(T.int64(8), ax3_0 * T.int64(4) + ax3_1)
                                            T.reads(matmul_intermediate_reindex_pad_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], x_reindex_pad_shared_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v3_o * T.int64(8):v3_o * T.int64(8) + T.int64(8)], lv_reindex_shared_metal_simdgroup[T.int64(0), v3_o * T.int64(8):v3_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                            T.writes(matmul_intermediate_reindex_pad_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                            A = T.match_buffer(x_reindex_pad_shared_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v3_o * T.int64(8):v3_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("a1", "a0"), scope="metal.simdgroup", offset_factor=1)
                                            B = T.match_buffer(lv_reindex_shared_metal_simdgroup[T.int64(0), v3_o * T.int64(8):v3_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("b1", "b0"), scope="metal.simdgroup", offset_factor=1)
                                            C = T.match_buffer(matmul_intermediate_reindex_pad_metal_simdgroup[T.int64(0), v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("c1", "c0"), scope="metal.simdgroup", offset_factor=1)
                                            T.metal.simdgroup_multiply_accumulate(C.data, C.elem_offset // C.strides[0] // T.int64(8) * (C.strides[0] // T.int64(8)) + C.elem_offset % C.strides[0] // T.int64(8), A.data, A.elem_offset // A.strides[0] // T.int64(8) * (A.strides[0] // T.int64(8)) + A.elem_offset % A.strides[0] // T.int64(8), B.data, B.elem_offset // B.strides[0] // T.int64(8) * (B.strides[0] // T.int64(8)) + B.elem_offset % B.strides[0] // T.int64(8), C.data, C.elem_offset // C.strides[0] // T.int64(8) * (C.strides[0] // T.int64(8)) + C.elem_offset % C.strides[0] // T.int64(8))
                            for ax0_1, ax1_0_1, ax2_0_1 in T.grid(T.int64(1), T.int64(2), T.int64(2)):
                                with T.sblock("matmul_intermediate_reindex_pad_metal.simdgroup_o"):
                                    v0_o = T.axis.spatial(T.int64(1), ax0_1)
                                    v1_o = T.axis.spatial(T.int64(2) * ((n + T.int64(15)) // T.int64(16)), ax1_0 * T.int64(2) + ax1_0_1)
                                    v2_o = T.axis.spatial(T.int64(16), ax2_0 * T.int64(8) + ax2_1 * T.int64(2) + ax2_0_1)
                                    T.reads(matmul_intermediate_reindex_pad_metal_simdgroup[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                    T.writes(matmul_intermediate_reindex_pad_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)])
                                    A = T.match_buffer(matmul_intermediate_reindex_pad_metal_simdgroup[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("s1", "s0"), scope="metal.simdgroup", offset_factor=1)
                                    C = T.match_buffer(matmul_intermediate_reindex_pad_shared[v0_o, v1_o * T.int64(8):v1_o * T.int64(8) + T.int64(8), v2_o * T.int64(8):v2_o * T.int64(8) + T.int64(8)], (T.int64(8), T.int64(8)), "float16", strides=("d1", "d0"), scope="shared", offset_factor=1)
                                    T.metal.simdgroup_store(A.data, A.elem_offset // A.strides[0] // T.int64(8) * (A.strides[0] // T.int64(8)) + A.elem_offset % A.strides[0] // T.int64(8), T.tvm_access_ptr(T.type_annotation("float16"), C.data, C.elem_offset, C.strides[0] * T.int64(8), 2), C.strides[0], 8, 8, T.bool(False))
                    for ax0_1, ax1_ax2_fused_0 in T.grid(T.int64(1), T.int64(2)):
                        for ax1_ax2_fused_1 in T.thread_binding(T.int64(4), thread="threadIdx.z"):
                            for ax1_ax2_fused_2 in T.thread_binding(T.int64(1), thread="threadIdx.y"):
                                for ax1_ax2_fused_3 in T.thread_binding(T.int64(32), thread="threadIdx.x"):
                                    for ax1_ax2_fused_4 in T.vectorized(T.int64(4)):
                                        with T.sblock("matmul_intermediate_reindex_pad_shared"):
                                            v0 = T.axis.spatial(T.int64(1), ax0_1)
                                            v1 = T.axis.spatial((n + T.int64(15)) // T.int64(16) * T.int64(16), ax1_0 * T.int64(16) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) // T.int64(64))
                                            v2 = T.axis.spatial(T.int64(128), ax2_0 * T.int64(64) + (ax1_ax2_fused_0 * T.int64(512) + ax1_ax2_fused_1 * T.int64(128) + ax1_ax2_fused_2 * T.int64(128) + ax1_ax2_fused_3 * T.int64(4) + ax1_ax2_fused_4) % T.int64(64))
                                            T.where(ax1_0 * T.int64(16) + (((ax1_ax2_fused_0 * T.int64(4) + ax1_ax2_fused_1 + ax1_ax2_fused_2) * T.int64(32) + ax1_ax2_fused_3) * T.int64(4) + ax1_ax2_fused_4) // T.int64(64) < n)
                                            T.reads(matmul_intermediate_reindex_pad_shared[v0, v1, v2], b[v2])
                                            T.writes(T_add_intermediate[T.int64(0), v1, v2])
                                            T_add_intermediate[T.int64(0), v1, v2] = matmul_intermediate_reindex_pad_shared[v0, v1, v2] + b[v2]

    @T.prim_func(private=True, s_tir=True)
    def transpose(w: T.Buffer((T.int64(128), T.int64(64)), "float16"), T_transpose: T.Buffer((T.int64(64), T.int64(128)), "float16")):
        T.func_attr({"op_pattern": 2, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0_ax1_fused_0 in T.thread_binding(T.int64(32), thread="blockIdx.x"):
            for ax0_ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                with T.sblock("T_transpose"):
                    v0 = T.axis.spatial(T.int64(64), (ax0_ax1_fused_0 * T.int64(256) + ax0_ax1_fused_1) // T.int64(128))
                    v1 = T.axis.spatial(T.int64(128), (ax0_ax1_fused_0 * T.int64(256) + ax0_ax1_fused_1) % T.int64(128))
                    T.reads(w[v1, v0])
                    T.writes(T_transpose[v0, v1])
                    T_transpose[v0, v1] = w[v1, v0]

    @R.function
    def main(x: R.Tensor((1, n, 64), dtype="float16"), w: R.Tensor((128, 64), dtype="float16"), b: R.Tensor((128,), dtype="float16")) -> R.Tensor((1, n, 128), dtype="float16"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.transpose, (w,), out_ty=R.Tensor((64, 128), dtype="float16"))
            gv = R.call_tir(cls.fused_matmul_add, (x, lv, b), out_ty=R.Tensor((1, n, 128), dtype="float16"))
            R.output(gv)
        return gv