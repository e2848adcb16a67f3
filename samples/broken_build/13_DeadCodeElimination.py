# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

b = TypeVar("b")
s = TypeVar("s")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def fused_matmul1_multiply_add(permute_dims1: T.Buffer((b, T.int64(4), s, T.int64(8)), "float32"), permute_dims2: T.Buffer((b, T.int64(4), T.int64(8), s), "float32"), mask: T.Buffer((b, T.int64(1), s, s), "float32"), T_add_intermediate: T.Buffer((b, T.int64(4), s, s), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((b, T.int64(4), s, s))
        T_multiply_intermediate = T.sblock_alloc_buffer((b, T.int64(4), s, s))
        for i0, i1, i2, i3, k in T.grid(b, T.int64(4), s, s, T.int64(8)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_i3, v_k = T.axis.remap("SSSSR", [i0, i1, i2, i3, k])
                T.reads(permute_dims1[v_i0, v_i1, v_i2, v_k], permute_dims2[v_i0, v_i1, v_k, v_i3])
                T.writes(matmul_intermediate[v_i0, v_i1, v_i2, v_i3])
                with T.init():
                    matmul_intermediate[v_i0, v_i1, v_i2, v_i3] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1, v_i2, v_i3] = matmul_intermediate[v_i0, v_i1, v_i2, v_i3] + permute_dims1[v_i0, v_i1, v_i2, v_k] * permute_dims2[v_i0, v_i1, v_k, v_i3]
        for ax0, ax1, ax2, ax3 in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(matmul_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
                T.writes(T_multiply_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
                T_multiply_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = matmul_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] * T.float32(0.35355338454246521)
        for ax0, ax1, ax2, ax3 in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(T_multiply_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], mask[v_ax0, T.int64(0), v_ax2, v_ax3])
                T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
                T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = T_multiply_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + mask[v_ax0, T.int64(0), v_ax2, v_ax3]

    @T.prim_func(private=True, s_tir=True)
    def fused_matmul3_add1(reshape5: T.Buffer((b, s, T.int64(32)), "float32"), permute_dims5: T.Buffer((T.int64(32), T.int64(32)), "float32"), reshape1: T.Buffer((b, s, T.int64(32)), "float32"), T_add_intermediate: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((b, s, T.int64(32)))
        for i0, i1, i2, k in T.grid(b, s, T.int64(32), T.int64(32)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(reshape5[v_i0, v_i1, v_k], permute_dims5[v_k, v_i2])
                T.writes(matmul_intermediate[v_i0, v_i1, v_i2])
                with T.init():
                    matmul_intermediate[v_i0, v_i1, v_i2] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1, v_i2] = matmul_intermediate[v_i0, v_i1, v_i2] + reshape5[v_i0, v_i1, v_k] * permute_dims5[v_k, v_i2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(reshape1[v_ax0, v_ax1, v_ax2], matmul_intermediate[v_ax0, v_ax1, v_ax2])
                T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2])
                T_add_intermediate[v_ax0, v_ax1, v_ax2] = reshape1[v_ax0, v_ax1, v_ax2] + matmul_intermediate[v_ax0, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def fused_matmul5_add1(mul1: T.Buffer((b, s, T.int64(64)), "float32"), permute_dims7: T.Buffer((T.int64(64), T.int64(32)), "float32"), add1: T.Buffer((b, s, T.int64(32)), "float32"), T_add_intermediate: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((b, s, T.int64(32)))
        for i0, i1, i2, k in T.grid(b, s, T.int64(32), T.int64(64)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(mul1[v_i0, v_i1, v_k], permute_dims7[v_k, v_i2])
                T.writes(matmul_intermediate[v_i0, v_i1, v_i2])
                with T.init():
                    matmul_intermediate[v_i0, v_i1, v_i2] = T.float32(0.0)
                matmul_intermediate[v_i0, v_i1, v_i2] = matmul_intermediate[v_i0, v_i1, v_i2] + mul1[v_i0, v_i1, v_k] * permute_dims7[v_k, v_i2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_add"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(add1[v_ax0, v_ax1, v_ax2], matmul_intermediate[v_ax0, v_ax1, v_ax2])
                T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2])
                T_add_intermediate[v_ax0, v_ax1, v_ax2] = add1[v_ax0, v_ax1, v_ax2] + matmul_intermediate[v_ax0, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def fused_split1_silu_multiply1(matmul4: T.Buffer((b, s, T.int64(128)), "float32"), T_multiply_intermediate_1: T.Buffer((b, s, T.int64(64)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        T_split_sections_intermediate = T.sblock_alloc_buffer((b, s, T.int64(64)))
        T_split_sections_intermediate_1 = T.sblock_alloc_buffer((b, s, T.int64(64)))
        compute = T.sblock_alloc_buffer((b, s, T.int64(64)))
        T_multiply_intermediate = T.sblock_alloc_buffer((b, s, T.int64(64)))
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(64)):
            with T.sblock("T_split_sections"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(matmul4[v_ax0, v_ax1, v_ax2])
                T.writes(T_split_sections_intermediate[v_ax0, v_ax1, v_ax2])
                T_split_sections_intermediate[v_ax0, v_ax1, v_ax2] = matmul4[v_ax0, v_ax1, v_ax2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(64)):
            with T.sblock("T_split_sections_1"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(matmul4[v_ax0, v_ax1, v_ax2 + T.int64(64)])
                T.writes(T_split_sections_intermediate_1[v_ax0, v_ax1, v_ax2])
                T_split_sections_intermediate_1[v_ax0, v_ax1, v_ax2] = matmul4[v_ax0, v_ax1, v_ax2 + T.int64(64)]
        for i0, i1, i2 in T.grid(b, s, T.int64(64)):
            with T.sblock("compute"):
                v_i0, v_i1, v_i2 = T.axis.remap("SSS", [i0, i1, i2])
                T.reads(T_split_sections_intermediate[v_i0, v_i1, v_i2])
                T.writes(compute[v_i0, v_i1, v_i2])
                compute[v_i0, v_i1, v_i2] = T.sigmoid(T_split_sections_intermediate[v_i0, v_i1, v_i2])
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(64)):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(T_split_sections_intermediate[v_ax0, v_ax1, v_ax2], compute[v_ax0, v_ax1, v_ax2])
                T.writes(T_multiply_intermediate[v_ax0, v_ax1, v_ax2])
                T_multiply_intermediate[v_ax0, v_ax1, v_ax2] = T_split_sections_intermediate[v_ax0, v_ax1, v_ax2] * compute[v_ax0, v_ax1, v_ax2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(64)):
            with T.sblock("T_multiply1"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(T_multiply_intermediate[v_ax0, v_ax1, v_ax2], T_split_sections_intermediate_1[v_ax0, v_ax1, v_ax2])
                T.writes(T_multiply_intermediate_1[v_ax0, v_ax1, v_ax2])
                T_multiply_intermediate_1[v_ax0, v_ax1, v_ax2] = T_multiply_intermediate[v_ax0, v_ax1, v_ax2] * T_split_sections_intermediate_1[v_ax0, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def matmul(rms_norm: T.Buffer((b, s, T.int64(32)), "float32"), permute_dims: T.Buffer((T.int64(32), T.int64(96)), "float32"), matmul: T.Buffer((b, s, T.int64(96)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1, i2, k in T.grid(b, s, T.int64(96), T.int64(32)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(rms_norm[v_i0, v_i1, v_k], permute_dims[v_k, v_i2])
                T.writes(matmul[v_i0, v_i1, v_i2])
                with T.init():
                    matmul[v_i0, v_i1, v_i2] = T.float32(0.0)
                matmul[v_i0, v_i1, v_i2] = matmul[v_i0, v_i1, v_i2] + rms_norm[v_i0, v_i1, v_k] * permute_dims[v_k, v_i2]

    @T.prim_func(private=True, s_tir=True)
    def matmul2(softmax: T.Buffer((b, T.int64(4), s, s), "float32"), permute_dims3: T.Buffer((b, T.int64(4), s, T.int64(8)), "float32"), matmul: T.Buffer((b, T.int64(4), s, T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1, i2, i3, k in T.grid(b, T.int64(4), s, T.int64(8), s):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_i3, v_k = T.axis.remap("SSSSR", [i0, i1, i2, i3, k])
                T.reads(softmax[v_i0, v_i1, v_i2, v_k], permute_dims3[v_i0, v_i1, v_k, v_i3])
                T.writes(matmul[v_i0, v_i1, v_i2, v_i3])
                with T.init():
                    matmul[v_i0, v_i1, v_i2, v_i3] = T.float32(0.0)
                matmul[v_i0, v_i1, v_i2, v_i3] = matmul[v_i0, v_i1, v_i2, v_i3] + softmax[v_i0, v_i1, v_i2, v_k] * permute_dims3[v_i0, v_i1, v_k, v_i3]

    @T.prim_func(private=True, s_tir=True)
    def matmul4(rms_norm1: T.Buffer((b, s, T.int64(32)), "float32"), permute_dims6: T.Buffer((T.int64(32), T.int64(128)), "float32"), matmul: T.Buffer((b, s, T.int64(128)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1, i2, k in T.grid(b, s, T.int64(128), T.int64(32)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(rms_norm1[v_i0, v_i1, v_k], permute_dims6[v_k, v_i2])
                T.writes(matmul[v_i0, v_i1, v_i2])
                with T.init():
                    matmul[v_i0, v_i1, v_i2] = T.float32(0.0)
                matmul[v_i0, v_i1, v_i2] = matmul[v_i0, v_i1, v_i2] + rms_norm1[v_i0, v_i1, v_k] * permute_dims6[v_k, v_i2]

    @T.prim_func(private=True, s_tir=True)
    def matmul6(rms_norm4: T.Buffer((b, s, T.int64(32)), "float32"), permute_dims16: T.Buffer((T.int64(32), T.int64(50)), "float32"), matmul: T.Buffer((b, s, T.int64(50)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for i0, i1, i2, k in T.grid(b, s, T.int64(50), T.int64(32)):
            with T.sblock("matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(rms_norm4[v_i0, v_i1, v_k], permute_dims16[v_k, v_i2])
                T.writes(matmul[v_i0, v_i1, v_i2])
                with T.init():
                    matmul[v_i0, v_i1, v_i2] = T.float32(0.0)
                matmul[v_i0, v_i1, v_i2] = matmul[v_i0, v_i1, v_i2] + rms_norm4[v_i0, v_i1, v_k] * permute_dims16[v_k, v_i2]

    @T.prim_func(private=True, s_tir=True)
    def reshape(ids: T.Buffer((b, s), "int32"), T_reshape: T.Buffer(("b * s",), "int32")):
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(b * s):
            with T.sblock("T_reshape"):
                v_ax0 = T.axis.spatial(b * s, ax0)
                T.reads(ids[v_ax0 // s % b, v_ax0 % s])
                T.writes(T_reshape[v_ax0])
                T_reshape[v_ax0] = ids[v_ax0 // s % b, v_ax0 % s]

    @T.prim_func(private=True, s_tir=True)
    def reshape1(take: T.Buffer(("b * s", T.int64(32)), "float32"), T_reshape: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(take[(v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) % (b * s), v_ax2 % T.int64(32)])
                T.writes(T_reshape[v_ax0, v_ax1, v_ax2])
                T_reshape[v_ax0, v_ax1, v_ax2] = take[(v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) % (b * s), v_ax2 % T.int64(32)]

    @T.prim_func(private=True, s_tir=True)
    def reshape2(split_0: T.Buffer((b, s, T.int64(32)), "float32"), T_reshape: T.Buffer((b, s, T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(b, s, T.int64(4), T.int64(8)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(split_0[((v_ax2 * T.int64(8) + v_ax3) // T.int64(32) + v_ax0 * s + v_ax1) // s % b, ((v_ax2 * T.int64(8) + v_ax3) // T.int64(32) + v_ax0 * s + v_ax1) % s, (v_ax2 * T.int64(8) + v_ax3) % T.int64(32)])
                T.writes(T_reshape[v_ax0, v_ax1, v_ax2, v_ax3])
                T_reshape[v_ax0, v_ax1, v_ax2, v_ax3] = split_0[((v_ax2 * T.int64(8) + v_ax3) // T.int64(32) + v_ax0 * s + v_ax1) // s % b, ((v_ax2 * T.int64(8) + v_ax3) // T.int64(32) + v_ax0 * s + v_ax1) % s, (v_ax2 * T.int64(8) + v_ax3) % T.int64(32)]

    @T.prim_func(private=True, s_tir=True)
    def reshape3(permute_dims4: T.Buffer((b, s, T.int64(4), T.int64(8)), "float32"), T_reshape: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_reshape"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(permute_dims4[(v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) // s % b, (v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) % s, v_ax2 % T.int64(32) // T.int64(8), v_ax2 % T.int64(8)])
                T.writes(T_reshape[v_ax0, v_ax1, v_ax2])
                T_reshape[v_ax0, v_ax1, v_ax2] = permute_dims4[(v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) // s % b, (v_ax2 // T.int64(32) + v_ax0 * s + v_ax1) % s, v_ax2 % T.int64(32) // T.int64(8), v_ax2 % T.int64(8)]

    @T.prim_func(private=True, s_tir=True)
    def rms_norm(reshape1: T.Buffer((b, s, T.int64(32)), "float32"), layers_0_attn_norm_weight: T.Buffer((T.int64(32),), "float32"), T_cast: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        T_cast_1 = T.sblock_alloc_buffer((b, s, T.int64(32)))
        T_multiply = T.sblock_alloc_buffer((b, s, T.int64(32)))
        T_multiply_red = T.sblock_alloc_buffer((b, s))
        rsqrt = T.sblock_alloc_buffer((b, s))
        T_cast_2 = T.sblock_alloc_buffer((T.int64(32),))
        T_rms_norm = T.sblock_alloc_buffer((b, s, T.int64(32)))
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_cast"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(reshape1[v_ax0, v_ax1, v_ax2])
                T.writes(T_cast_1[v_ax0, v_ax1, v_ax2])
                T_cast_1[v_ax0, v_ax1, v_ax2] = reshape1[v_ax0, v_ax1, v_ax2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_multiply"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(T_cast_1[v_ax0, v_ax1, v_ax2])
                T.writes(T_multiply[v_ax0, v_ax1, v_ax2])
                T_multiply[v_ax0, v_ax1, v_ax2] = T_cast_1[v_ax0, v_ax1, v_ax2] * T_cast_1[v_ax0, v_ax1, v_ax2]
        for ax0, ax1, k2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_multiply_red"):
                v_ax0, v_ax1, v_k2 = T.axis.remap("SSR", [ax0, ax1, k2])
                T.reads(T_multiply[v_ax0, v_ax1, v_k2])
                T.writes(T_multiply_red[v_ax0, v_ax1])
                with T.init():
                    T_multiply_red[v_ax0, v_ax1] = T.float32(0.0)
                T_multiply_red[v_ax0, v_ax1] = T_multiply_red[v_ax0, v_ax1] + T_multiply[v_ax0, v_ax1, v_k2]
        for ax0, ax1 in T.grid(b, s):
            with T.sblock("rsqrt"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(T_multiply_red[v_ax0, v_ax1])
                T.writes(rsqrt[v_ax0, v_ax1])
                rsqrt[v_ax0, v_ax1] = T.rsqrt(T_multiply_red[v_ax0, v_ax1] / T.float32(32.0) + T.float32(1.0000000000000001e-05))
        for ax0 in range(T.int64(32)):
            with T.sblock("T_cast_1"):
                v_ax0 = T.axis.spatial(T.int64(32), ax0)
                T.reads(layers_0_attn_norm_weight[v_ax0])
                T.writes(T_cast_2[v_ax0])
                T_cast_2[v_ax0] = layers_0_attn_norm_weight[v_ax0]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_rms_norm"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(rsqrt[v_ax0, v_ax1], T_cast_1[v_ax0, v_ax1, v_ax2], T_cast_2[v_ax2])
                T.writes(T_rms_norm[v_ax0, v_ax1, v_ax2])
                T_rms_norm[v_ax0, v_ax1, v_ax2] = rsqrt[v_ax0, v_ax1] * T_cast_1[v_ax0, v_ax1, v_ax2] * T_cast_2[v_ax2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_cast_2"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(T_rms_norm[v_ax0, v_ax1, v_ax2])
                T.writes(T_cast[v_ax0, v_ax1, v_ax2])
                T_cast[v_ax0, v_ax1, v_ax2] = T_rms_norm[v_ax0, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def softmax(add: T.Buffer((b, T.int64(4), s, s), "float32"), T_softmax_norm: T.Buffer((b, T.int64(4), s, s), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        T_softmax_maxelem = T.sblock_alloc_buffer((b, T.int64(4), s))
        T_softmax_exp = T.sblock_alloc_buffer((b, T.int64(4), s, s))
        T_softmax_expsum = T.sblock_alloc_buffer((b, T.int64(4), s))
        for i0, i1, i2, k in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_softmax_maxelem"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(add[v_i0, v_i1, v_i2, v_k])
                T.writes(T_softmax_maxelem[v_i0, v_i1, v_i2])
                with T.init():
                    T_softmax_maxelem[v_i0, v_i1, v_i2] = T.float32(-340282346638528859811704183484516925440.0)
                T_softmax_maxelem[v_i0, v_i1, v_i2] = T.max(T_softmax_maxelem[v_i0, v_i1, v_i2], add[v_i0, v_i1, v_i2, v_k])
        for i0, i1, i2, i3 in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_softmax_exp"):
                v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                T.reads(add[v_i0, v_i1, v_i2, v_i3], T_softmax_maxelem[v_i0, v_i1, v_i2])
                T.writes(T_softmax_exp[v_i0, v_i1, v_i2, v_i3])
                T_softmax_exp[v_i0, v_i1, v_i2, v_i3] = T.exp(add[v_i0, v_i1, v_i2, v_i3] - T_softmax_maxelem[v_i0, v_i1, v_i2])
        for i0, i1, i2, k in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_softmax_expsum"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(T_softmax_exp[v_i0, v_i1, v_k, v_i2])
                T.writes(T_softmax_expsum[v_i0, v_i1, v_i2])
                with T.init():
                    T_softmax_expsum[v_i0, v_i1, v_i2] = T.float32(0.0)
                T_softmax_expsum[v_i0, v_i1, v_i2] = T_softmax_expsum[v_i0, v_i1, v_i2] + T_softmax_exp[v_i0, v_i1, v_k, v_i2]
        for i0, i1, i2, i3 in T.grid(b, T.int64(4), s, s):
            with T.sblock("T_softmax_norm"):
                v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
                T.reads(T_softmax_exp[v_i0, v_i1, v_i2, v_i3], T_softmax_expsum[v_i0, v_i1, v_i2])
                T.writes(T_softmax_norm[v_i0, v_i1, v_i2, v_i3])
                T.sblock_attr({"axis": 3})
                T_softmax_norm[v_i0, v_i1, v_i2, v_i3] = T_softmax_exp[v_i0, v_i1, v_i2, v_i3] / T_softmax_expsum[v_i0, v_i1, v_i2]

    @T.prim_func(private=True, s_tir=True)
    def split(matmul: T.Buffer((b, s, T.int64(96)), "float32"), T_split_sections: T.Buffer((b, s, T.int64(32)), "float32"), T_split_sections_1: T.Buffer((b, s, T.int64(32)), "float32"), T_split_sections_2: T.Buffer((b, s, T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_split_sections"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(matmul[v_ax0, v_ax1, v_ax2])
                T.writes(T_split_sections[v_ax0, v_ax1, v_ax2])
                T_split_sections[v_ax0, v_ax1, v_ax2] = matmul[v_ax0, v_ax1, v_ax2]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_split_sections_1"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(matmul[v_ax0, v_ax1, v_ax2 + T.int64(32)])
                T.writes(T_split_sections_1[v_ax0, v_ax1, v_ax2])
                T_split_sections_1[v_ax0, v_ax1, v_ax2] = matmul[v_ax0, v_ax1, v_ax2 + T.int64(32)]
        for ax0, ax1, ax2 in T.grid(b, s, T.int64(32)):
            with T.sblock("T_split_sections_2"):
                v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
                T.reads(matmul[v_ax0, v_ax1, v_ax2 + T.int64(64)])
                T.writes(T_split_sections_2[v_ax0, v_ax1, v_ax2])
                T_split_sections_2[v_ax0, v_ax1, v_ax2] = matmul[v_ax0, v_ax1, v_ax2 + T.int64(64)]

    @T.prim_func(private=True, s_tir=True)
    def take(embed_weight: T.Buffer((T.int64(50), T.int64(32)), "float32"), reshape: T.Buffer(("b * s",), "int32"), b: T.int64, s: T.int64, T_take: T.Buffer((b * s, T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(b * s, T.int64(32)):
            with T.sblock("T_take"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(embed_weight[reshape[v_ax0], v_ax1], reshape[v_ax0])
                T.writes(T_take[v_ax0, v_ax1])
                T_take[v_ax0, v_ax1] = embed_weight[reshape[v_ax0], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(layers_0_qkv_weight: T.Buffer((T.int64(96), T.int64(32)), "float32"), T_transpose: T.Buffer((T.int64(32), T.int64(96)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(32), T.int64(96)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(layers_0_qkv_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = layers_0_qkv_weight[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def transpose1(reshape2: T.Buffer((b, s, T.int64(4), T.int64(8)), "float32"), T_transpose: T.Buffer((b, T.int64(4), s, T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(b, T.int64(4), s, T.int64(8)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(reshape2[v_ax0, v_ax2, v_ax1, v_ax3])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2, v_ax3])
                T_transpose[v_ax0, v_ax1, v_ax2, v_ax3] = reshape2[v_ax0, v_ax2, v_ax1, v_ax3]

    @T.prim_func(private=True, s_tir=True)
    def transpose2(reshape3: T.Buffer((b, s, T.int64(4), T.int64(8)), "float32"), T_transpose: T.Buffer((b, T.int64(4), T.int64(8), s), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(b, T.int64(4), T.int64(8), s):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(reshape3[v_ax0, v_ax3, v_ax1, v_ax2])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2, v_ax3])
                T_transpose[v_ax0, v_ax1, v_ax2, v_ax3] = reshape3[v_ax0, v_ax3, v_ax1, v_ax2]

    @T.prim_func(private=True, s_tir=True)
    def transpose3(matmul2: T.Buffer((b, T.int64(4), s, T.int64(8)), "float32"), T_transpose: T.Buffer((b, s, T.int64(4), T.int64(8)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, ax2, ax3 in T.grid(b, s, T.int64(4), T.int64(8)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
                T.reads(matmul2[v_ax0, v_ax2, v_ax1, v_ax3])
                T.writes(T_transpose[v_ax0, v_ax1, v_ax2, v_ax3])
                T_transpose[v_ax0, v_ax1, v_ax2, v_ax3] = matmul2[v_ax0, v_ax2, v_ax1, v_ax3]

    @T.prim_func(private=True, s_tir=True)
    def transpose4(layers_0_o_weight: T.Buffer((T.int64(32), T.int64(32)), "float32"), T_transpose: T.Buffer((T.int64(32), T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(32), T.int64(32)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(layers_0_o_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = layers_0_o_weight[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def transpose5(layers_0_gate_up_weight: T.Buffer((T.int64(128), T.int64(32)), "float32"), T_transpose: T.Buffer((T.int64(32), T.int64(128)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(32), T.int64(128)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(layers_0_gate_up_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = layers_0_gate_up_weight[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def transpose6(layers_0_down_weight: T.Buffer((T.int64(32), T.int64(64)), "float32"), T_transpose: T.Buffer((T.int64(64), T.int64(32)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(64), T.int64(32)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(layers_0_down_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = layers_0_down_weight[v_ax1, v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def transpose7(head_weight: T.Buffer((T.int64(50), T.int64(32)), "float32"), T_transpose: T.Buffer((T.int64(32), T.int64(50)), "float32")):
        T.func_attr({"op_pattern": 2, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(32), T.int64(50)):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(head_weight[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = head_weight[v_ax1, v_ax0]

    @R.function
    def forward(ids: R.Tensor((b, s), dtype="int32"), mask: R.Tensor((b, 1, s, s), dtype="float32"), embed_weight: R.Tensor((50, 32), dtype="float32"), layers_0_attn_norm_weight: R.Tensor((32,), dtype="float32"), layers_0_qkv_weight: R.Tensor((96, 32), dtype="float32"), layers_0_o_weight: R.Tensor((32, 32), dtype="float32"), layers_0_ffn_norm_weight: R.Tensor((32,), dtype="float32"), layers_0_gate_up_weight: R.Tensor((128, 32), dtype="float32"), layers_0_down_weight: R.Tensor((32, 64), dtype="float32"), layers_1_attn_norm_weight: R.Tensor((32,), dtype="float32"), layers_1_qkv_weight: R.Tensor((96, 32), dtype="float32"), layers_1_o_weight: R.Tensor((32, 32), dtype="float32"), layers_1_ffn_norm_weight: R.Tensor((32,), dtype="float32"), layers_1_gate_up_weight: R.Tensor((128, 32), dtype="float32"), layers_1_down_weight: R.Tensor((32, 64), dtype="float32"), norm_weight: R.Tensor((32,), dtype="float32"), head_weight: R.Tensor((50, 32), dtype="float32")) -> R.Tensor((b, s, 50), dtype="float32"):
        R.func_attr({"num_input": 2})
        cls = Module
        with R.dataflow():
            reshape = R.call_tir(cls.reshape, (ids,), out_ty=R.Tensor((b * s,), dtype="int32"))
            take = R.call_tir(cls.take, (embed_weight, reshape, b, s), out_ty=R.Tensor((b * s, 32), dtype="float32"))
            reshape1 = R.call_tir(cls.reshape1, (take,), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            rms_norm = R.call_tir(cls.rms_norm, (reshape1, layers_0_attn_norm_weight), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims = R.call_tir(cls.transpose, (layers_0_qkv_weight,), out_ty=R.Tensor((32, 96), dtype="float32"))
            matmul = R.call_tir(cls.matmul, (rms_norm, permute_dims), out_ty=R.Tensor((b, s, 96), dtype="float32"))
            split = R.call_tir(cls.split, (matmul,), out_ty=[R.Tensor((b, s, 32), dtype="float32"), R.Tensor((b, s, 32), dtype="float32"), R.Tensor((b, s, 32), dtype="float32")])
            split_0: R.Tensor((b, s, 32), dtype="float32") = split[0]
            split_1: R.Tensor((b, s, 32), dtype="float32") = split[1]
            split_2: R.Tensor((b, s, 32), dtype="float32") = split[2]
            reshape2 = R.call_tir(cls.reshape2, (split_0,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims1 = R.call_tir(cls.transpose1, (reshape2,), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            reshape3 = R.call_tir(cls.reshape2, (split_1,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims2 = R.call_tir(cls.transpose2, (reshape3,), out_ty=R.Tensor((b, 4, 8, s), dtype="float32"))
            reshape4 = R.call_tir(cls.reshape2, (split_2,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims3 = R.call_tir(cls.transpose1, (reshape4,), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            lv = R.call_tir(cls.fused_matmul1_multiply_add, (permute_dims1, permute_dims2, mask), out_ty=R.Tensor((b, 4, s, s), dtype="float32"))
            softmax = R.call_tir(cls.softmax, (lv,), out_ty=R.Tensor((b, 4, s, s), dtype="float32"))
            matmul2 = R.call_tir(cls.matmul2, (softmax, permute_dims3), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            permute_dims4 = R.call_tir(cls.transpose3, (matmul2,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            reshape5 = R.call_tir(cls.reshape3, (permute_dims4,), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims5 = R.call_tir(cls.transpose4, (layers_0_o_weight,), out_ty=R.Tensor((32, 32), dtype="float32"))
            lv1 = R.call_tir(cls.fused_matmul3_add1, (reshape5, permute_dims5, reshape1), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            rms_norm1 = R.call_tir(cls.rms_norm, (lv1, layers_0_ffn_norm_weight), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims6 = R.call_tir(cls.transpose5, (layers_0_gate_up_weight,), out_ty=R.Tensor((32, 128), dtype="float32"))
            matmul4 = R.call_tir(cls.matmul4, (rms_norm1, permute_dims6), out_ty=R.Tensor((b, s, 128), dtype="float32"))
            lv2 = R.call_tir(cls.fused_split1_silu_multiply1, (matmul4,), out_ty=R.Tensor((b, s, 64), dtype="float32"))
            permute_dims7 = R.call_tir(cls.transpose6, (layers_0_down_weight,), out_ty=R.Tensor((64, 32), dtype="float32"))
            lv3 = R.call_tir(cls.fused_matmul5_add1, (lv2, permute_dims7, lv1), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            rms_norm2 = R.call_tir(cls.rms_norm, (lv3, layers_1_attn_norm_weight), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims8 = R.call_tir(cls.transpose, (layers_1_qkv_weight,), out_ty=R.Tensor((32, 96), dtype="float32"))
            matmul6 = R.call_tir(cls.matmul, (rms_norm2, permute_dims8), out_ty=R.Tensor((b, s, 96), dtype="float32"))
            split2 = R.call_tir(cls.split, (matmul6,), out_ty=[R.Tensor((b, s, 32), dtype="float32"), R.Tensor((b, s, 32), dtype="float32"), R.Tensor((b, s, 32), dtype="float32")])
            split_02: R.Tensor((b, s, 32), dtype="float32") = split2[0]
            split_12: R.Tensor((b, s, 32), dtype="float32") = split2[1]
            split_21: R.Tensor((b, s, 32), dtype="float32") = split2[2]
            reshape6 = R.call_tir(cls.reshape2, (split_02,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims9 = R.call_tir(cls.transpose1, (reshape6,), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            reshape7 = R.call_tir(cls.reshape2, (split_12,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims10 = R.call_tir(cls.transpose2, (reshape7,), out_ty=R.Tensor((b, 4, 8, s), dtype="float32"))
            reshape8 = R.call_tir(cls.reshape2, (split_21,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            permute_dims11 = R.call_tir(cls.transpose1, (reshape8,), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            lv4 = R.call_tir(cls.fused_matmul1_multiply_add, (permute_dims9, permute_dims10, mask), out_ty=R.Tensor((b, 4, s, s), dtype="float32"))
            softmax1 = R.call_tir(cls.softmax, (lv4,), out_ty=R.Tensor((b, 4, s, s), dtype="float32"))
            matmul8 = R.call_tir(cls.matmul2, (softmax1, permute_dims11), out_ty=R.Tensor((b, 4, s, 8), dtype="float32"))
            permute_dims12 = R.call_tir(cls.transpose3, (matmul8,), out_ty=R.Tensor((b, s, 4, 8), dtype="float32"))
            reshape9 = R.call_tir(cls.reshape3, (permute_dims12,), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims13 = R.call_tir(cls.transpose4, (layers_1_o_weight,), out_ty=R.Tensor((32, 32), dtype="float32"))
            lv5 = R.call_tir(cls.fused_matmul3_add1, (reshape9, permute_dims13, lv3), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            rms_norm3 = R.call_tir(cls.rms_norm, (lv5, layers_1_ffn_norm_weight), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims14 = R.call_tir(cls.transpose5, (layers_1_gate_up_weight,), out_ty=R.Tensor((32, 128), dtype="float32"))
            matmul10 = R.call_tir(cls.matmul4, (rms_norm3, permute_dims14), out_ty=R.Tensor((b, s, 128), dtype="float32"))
            lv6 = R.call_tir(cls.fused_split1_silu_multiply1, (matmul10,), out_ty=R.Tensor((b, s, 64), dtype="float32"))
            permute_dims15 = R.call_tir(cls.transpose6, (layers_1_down_weight,), out_ty=R.Tensor((64, 32), dtype="float32"))
            lv7 = R.call_tir(cls.fused_matmul5_add1, (lv6, permute_dims15, lv5), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            rms_norm4 = R.call_tir(cls.rms_norm, (lv7, norm_weight), out_ty=R.Tensor((b, s, 32), dtype="float32"))
            permute_dims16 = R.call_tir(cls.transpose7, (head_weight,), out_ty=R.Tensor((32, 50), dtype="float32"))
            gv = R.call_tir(cls.matmul6, (rms_norm4, permute_dims16), out_ty=R.Tensor((b, s, 50), dtype="float32"))
            R.output(gv)
        return gv
