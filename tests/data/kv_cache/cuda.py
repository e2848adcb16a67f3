# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

pages_elem_offset = TypeVar("pages_elem_offset")
page_size = TypeVar("page_size")
num_pages = TypeVar("num_pages")
position_map_elem_offset = TypeVar("position_map_elem_offset")
seqlen = TypeVar("seqlen")
ntoken = TypeVar("ntoken")
max_batch_size = TypeVar("max_batch_size")
max_total_seq_len = TypeVar("max_total_seq_len")
prefill_chunk_size = TypeVar("prefill_chunk_size")
support_sliding_window = TypeVar("support_sliding_window")
s = TypeVar("s")
vocab = TypeVar("vocab")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def batch_decode_paged_kv(Q: T.Buffer(("B", 4, 16), "float16"), pages: T.Buffer(("max_num_pages", 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), page_table_indptr: T.Buffer((B + 1,), "int32", offset_factor=1), page_table_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((B,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((B,), "int32", offset_factor=1), q_rope_position: T.Buffer((B,), "int32", offset_factor=1), output: T.Buffer((B, 4, 16), "float16"), lse: T.Buffer((B, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        B = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for bx in T.thread_binding(B, thread="blockIdx.x"):
            for fused_by_bz in T.thread_binding(4, thread="blockIdx.y"):
                for ty in T.thread_binding(1, thread="threadIdx.y"):
                    for tx in T.thread_binding(4, thread="threadIdx.x"):
                        for tz in T.thread_binding(128, thread="threadIdx.z"):
                            with T.sblock("attn"):
                                T.reads(page_table_indptr[bx:bx + 2], length_info[bx], q_rope_position[bx], Q[bx, fused_by_bz // 4 + ty + fused_by_bz % 4, tx * 4 - 8:tx * 4 - 8 + 20])
                                T.writes(output[bx, fused_by_bz % 4 + fused_by_bz // 4 + ty, tx * 4:tx * 4 + 4], lse[bx, fused_by_bz % 4 + fused_by_bz // 4 + ty])
                                Q_local = T.sblock_alloc_buffer((4,), "float16", scope="local")
                                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                                K_smem = T.sblock_alloc_buffer((256, 16), "float16", scope="shared")
                                V_smem = T.sblock_alloc_buffer((256, 16), "float16", scope="shared")
                                O_allreduce = T.sblock_alloc_buffer((128, 1, 16), scope="shared")
                                md_allreduce = T.sblock_alloc_buffer((128, 1, 2), scope="shared")
                                S_reduce_local = T.sblock_alloc_buffer((1,), scope="local")
                                t0 = T.sblock_alloc_buffer((1,), scope="local")
                                S_local = T.sblock_alloc_buffer((2,), scope="local")
                                QK_local = T.sblock_alloc_buffer((4,), scope="local")
                                V_local = T.sblock_alloc_buffer((4,), "float16", scope="local")
                                m_prev = T.sblock_alloc_buffer((1,), scope="local")
                                d_prev = T.sblock_alloc_buffer((1,), scope="local")
                                other_m = T.sblock_alloc_buffer((1,), scope="local")
                                other_d = T.sblock_alloc_buffer((1,), scope="local")
                                exp_mprev = T.sblock_alloc_buffer((1,), scope="local")
                                exp_otherm = T.sblock_alloc_buffer((1,), scope="local")
                                other_o = T.sblock_alloc_buffer((4,), scope="local")
                                st_m = T.sblock_alloc_buffer((1,), scope="local")
                                st_d = T.sblock_alloc_buffer((1,), scope="local")
                                O_local = T.sblock_alloc_buffer((4,), scope="local")
                                by: T.let[T.int32] = fused_by_bz % 4
                                bz: T.let[T.int32] = fused_by_bz // 4
                                batch_idx: T.let[T.int32] = bx
                                cur_page_indptr_begin: T.let[T.int32] = page_table_indptr[batch_idx]
                                cur_page_indptr_end: T.let[T.int32] = page_table_indptr[batch_idx + 1]
                                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[batch_idx], 0)
                                st_m[0] = T.float32(-50000.0)
                                st_d[0] = T.float32(1.0)
                                for vec in T.vectorized(4):
                                    O_local[vec] = T.float32(0.0)
                                for vec in T.vectorized(4):
                                    freq = T.float32()
                                    Q_local[vec] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", Q[bx, by + bz + ty, tx * 4 + vec]) + T.sin(freq) * T.Cast("float32", T.if_then_else(tx * 4 + vec < 8, Q[bx, by + bz + ty, tx * 4 + vec + 8] * T.float16(-1.0), Q[bx, by + bz + ty, tx * 4 + vec - 8]))), where={freq: T.Cast("float32", q_rope_position[batch_idx]) * rope_scale / T.pow(rope_theta, T.Cast("float32", (tx * 4 + vec) * 2 % 16) / T.float32(16.0))}), Q[bx, by + bz + ty, tx * 4 + vec])
                                for iterator in range((kv_chunk_len[0] + 255) // 256):
                                    tile_start_s: T.let[T.int32] = (tz + ty) * 2
                                    tile_start_g: T.let[T.int32] = (iterator * 128 + tz + ty) * 2
                                    for j in range(2):
                                        with T.sblock("KV_load"):
                                            T.reads()
                                            T.writes()
                                            row_g: T.let[T.int32] = tile_start_g + j
                                            if row_g < kv_chunk_len[0]:
                                                seq_offset: T.let[T.int32] = row_g
                                                page_no: T.let[T.int32] = page_table_values[cur_page_indptr_begin + seq_offset // 16]
                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                for vec in T.vectorized(4):
                                                    freq = T.float32()
                                                    K_smem[tile_start_s + j, tx * 4 + vec] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", pages[page_no, 0, by, page_offset, tx * 4 + vec]) + T.sin(freq) * T.Cast("float32", T.if_then_else(tx * 4 + vec < 8, pages[page_no, 0, by, page_offset, tx * 4 + vec + 8] * T.float16(-1.0), pages[page_no, 0, by, page_offset, tx * 4 + vec - 8]))), where={freq: T.Cast("float32", k_rope_pos_offset[batch_idx] + row_g) * rope_scale / T.pow(rope_theta, T.Cast("float32", (tx * 4 + vec) * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, by, page_offset, tx * 4 + vec])
                                                    V_smem[tile_start_s + j, tx * 4 + vec] = pages[page_no, 1, by, page_offset, tx * 4 + vec]
                                            else:
                                                for vec in T.vectorized(4):
                                                    K_smem[tile_start_s + j, tx * 4 + vec] = T.float16(0.0)
                                                    V_smem[tile_start_s + j, tx * 4 + vec] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    m_prev[0] = st_m[0]
                                    for j in range(2):
                                        for vec in T.vectorized(4):
                                            QK_local[vec] = T.Cast("float32", Q_local[vec]) * T.Cast("float32", K_smem[tz * 2 + j, tx * 4 + vec]) * sm_scale * T.float32(1.4426950408889634)
                                        S_reduce_local[0] = T.float32(0.0)
                                        for vec in T.unroll(4):
                                            S_reduce_local[0] = S_reduce_local[0] + QK_local[vec]
                                        with T.sblock("block_cross_thread"):
                                            T.reads(S_reduce_local[0])
                                            T.writes(t0[0])
                                            T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0.0)]), "reduce_scope", 0)
                                            T.tvm_thread_allreduce(T.uint32(1), S_reduce_local[0], T.bool(True), t0[0], tx)
                                        S_local[j] = T.float32(-50000.0)
                                        if (iterator * 128 + tz) * 2 + j < kv_chunk_len[0]:
                                            S_local[j] = t0[0]
                                        st_m[0] = T.max(st_m[0], S_local[j])
                                    o_scale: T.let[T.float32] = T.exp2(m_prev[0] - st_m[0])
                                    st_d[0] = st_d[0] * o_scale
                                    for j in range(2):
                                        S_local[j] = T.exp2(S_local[j] - st_m[0])
                                        st_d[0] = st_d[0] + S_local[j]
                                    for j in T.vectorized(4):
                                        O_local[j] = O_local[j] * o_scale
                                    for j in range(2):
                                        for vec in T.vectorized(4):
                                            V_local[vec] = V_smem[tz * 2 + j, tx * 4 + vec]
                                        for vec in T.vectorized(4):
                                            O_local[vec] = O_local[vec] + T.Cast("float32", V_local[vec]) * S_local[j]
                                for vec in T.vectorized(4):
                                    O_allreduce[tz, ty, tx * 4 + vec] = O_local[vec]
                                md_allreduce[tz, ty, 0] = st_m[0]
                                md_allreduce[tz, ty, 1] = st_d[0]
                                T.tvm_storage_sync("shared", T.bool(False), -1)
                                st_m[0] = T.float32(-50000.0)
                                st_d[0] = T.float32(1.0)
                                for vec in T.vectorized(4):
                                    O_local[vec] = T.float32(0.0)
                                for j in range(128):
                                    m_prev[0] = st_m[0]
                                    d_prev[0] = st_d[0]
                                    other_m[0] = md_allreduce[j, ty, 0]
                                    other_d[0] = md_allreduce[j, ty, 1]
                                    for vec in T.vectorized(4):
                                        other_o[vec] = O_allreduce[j, ty, tx * 4 + vec]
                                    st_m[0] = T.max(st_m[0], other_m[0])
                                    st_d[0] = d_prev[0] * T.exp2(m_prev[0] - st_m[0]) + other_d[0] * T.exp2(other_m[0] - st_m[0])
                                    exp_mprev[0] = T.exp2(m_prev[0] - st_m[0])
                                    exp_otherm[0] = T.exp2(other_m[0] - st_m[0])
                                    for vec in T.vectorized(4):
                                        O_local[vec] = O_local[vec] * exp_mprev[0] + other_o[vec] * exp_otherm[0]
                                for vec in T.vectorized(4):
                                    O_local[vec] = O_local[vec] / st_d[0]
                                for vec in T.vectorized(4):
                                    output[batch_idx, by + bz + ty, tx * 4 + vec] = T.Cast("float16", O_local[vec])
                                lse[batch_idx, by + bz + ty] = st_m[0] + T.log2(st_d[0])

    @T.prim_func(s_tir=True)
    def batch_decode_paged_kv_sliding_window(Q: T.Buffer(("B", 4, 16), "float16"), pages: T.Buffer(("max_num_pages", 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), page_table_indptr: T.Buffer((B + 1,), "int32", offset_factor=1), page_table_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((3, B), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((B,), "int32", offset_factor=1), q_rope_position: T.Buffer((B,), "int32", offset_factor=1), output: T.Buffer((B, 4, 16), "float16"), lse: T.Buffer((B, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        B = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for bx in T.thread_binding(B, thread="blockIdx.x"):
            for fused_by_bz in T.thread_binding(4, thread="blockIdx.y"):
                for ty in T.thread_binding(1, thread="threadIdx.y"):
                    for tx in T.thread_binding(4, thread="threadIdx.x"):
                        for tz in T.thread_binding(128, thread="threadIdx.z"):
                            with T.sblock("attn"):
                                T.reads(page_table_indptr[bx:bx + 2], length_info[0:3, bx], q_rope_position[bx], Q[bx, fused_by_bz // 4 + ty + fused_by_bz % 4, tx * 4 - 8:tx * 4 - 8 + 20])
                                T.writes(output[bx, fused_by_bz % 4 + fused_by_bz // 4 + ty, tx * 4:tx * 4 + 4], lse[bx, fused_by_bz % 4 + fused_by_bz // 4 + ty])
                                Q_local = T.sblock_alloc_buffer((4,), "float16", scope="local")
                                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                                K_smem = T.sblock_alloc_buffer((256, 16), "float16", scope="shared")
                                V_smem = T.sblock_alloc_buffer((256, 16), "float16", scope="shared")
                                O_allreduce = T.sblock_alloc_buffer((128, 1, 16), scope="shared")
                                md_allreduce = T.sblock_alloc_buffer((128, 1, 2), scope="shared")
                                S_reduce_local = T.sblock_alloc_buffer((1,), scope="local")
                                t0 = T.sblock_alloc_buffer((1,), scope="local")
                                S_local = T.sblock_alloc_buffer((2,), scope="local")
                                QK_local = T.sblock_alloc_buffer((4,), scope="local")
                                V_local = T.sblock_alloc_buffer((4,), "float16", scope="local")
                                m_prev = T.sblock_alloc_buffer((1,), scope="local")
                                d_prev = T.sblock_alloc_buffer((1,), scope="local")
                                other_m = T.sblock_alloc_buffer((1,), scope="local")
                                other_d = T.sblock_alloc_buffer((1,), scope="local")
                                exp_mprev = T.sblock_alloc_buffer((1,), scope="local")
                                exp_otherm = T.sblock_alloc_buffer((1,), scope="local")
                                other_o = T.sblock_alloc_buffer((4,), scope="local")
                                st_m = T.sblock_alloc_buffer((1,), scope="local")
                                st_d = T.sblock_alloc_buffer((1,), scope="local")
                                O_local = T.sblock_alloc_buffer((4,), scope="local")
                                by: T.let[T.int32] = fused_by_bz % 4
                                bz: T.let[T.int32] = fused_by_bz // 4
                                batch_idx: T.let[T.int32] = bx
                                cur_page_indptr_begin: T.let[T.int32] = page_table_indptr[batch_idx]
                                cur_page_indptr_end: T.let[T.int32] = page_table_indptr[batch_idx + 1]
                                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[0, batch_idx] - length_info[1, batch_idx] + length_info[2, batch_idx], 0)
                                st_m[0] = T.float32(-50000.0)
                                st_d[0] = T.float32(1.0)
                                for vec in T.vectorized(4):
                                    O_local[vec] = T.float32(0.0)
                                for vec in T.vectorized(4):
                                    freq = T.float32()
                                    Q_local[vec] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", Q[bx, by + bz + ty, tx * 4 + vec]) + T.sin(freq) * T.Cast("float32", T.if_then_else(tx * 4 + vec < 8, Q[bx, by + bz + ty, tx * 4 + vec + 8] * T.float16(-1.0), Q[bx, by + bz + ty, tx * 4 + vec - 8]))), where={freq: T.Cast("float32", q_rope_position[batch_idx]) * rope_scale / T.pow(rope_theta, T.Cast("float32", (tx * 4 + vec) * 2 % 16) / T.float32(16.0))}), Q[bx, by + bz + ty, tx * 4 + vec])
                                for iterator in range((kv_chunk_len[0] + 255) // 256):
                                    tile_start_s: T.let[T.int32] = (tz + ty) * 2
                                    tile_start_g: T.let[T.int32] = (iterator * 128 + tz + ty) * 2
                                    for j in range(2):
                                        with T.sblock("KV_load"):
                                            T.reads()
                                            T.writes()
                                            row_g: T.let[T.int32] = tile_start_g + j
                                            if row_g < kv_chunk_len[0]:
                                                seq_offset: T.let[T.int32] = T.if_then_else(row_g < length_info[2, batch_idx], row_g, row_g - length_info[2, batch_idx] + length_info[1, batch_idx])
                                                page_no: T.let[T.int32] = page_table_values[cur_page_indptr_begin + seq_offset // 16]
                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                for vec in T.vectorized(4):
                                                    freq = T.float32()
                                                    K_smem[tile_start_s + j, tx * 4 + vec] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", pages[page_no, 0, by, page_offset, tx * 4 + vec]) + T.sin(freq) * T.Cast("float32", T.if_then_else(tx * 4 + vec < 8, pages[page_no, 0, by, page_offset, tx * 4 + vec + 8] * T.float16(-1.0), pages[page_no, 0, by, page_offset, tx * 4 + vec - 8]))), where={freq: T.Cast("float32", k_rope_pos_offset[batch_idx] + row_g) * rope_scale / T.pow(rope_theta, T.Cast("float32", (tx * 4 + vec) * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, by, page_offset, tx * 4 + vec])
                                                    V_smem[tile_start_s + j, tx * 4 + vec] = pages[page_no, 1, by, page_offset, tx * 4 + vec]
                                            else:
                                                for vec in T.vectorized(4):
                                                    K_smem[tile_start_s + j, tx * 4 + vec] = T.float16(0.0)
                                                    V_smem[tile_start_s + j, tx * 4 + vec] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    m_prev[0] = st_m[0]
                                    for j in range(2):
                                        for vec in T.vectorized(4):
                                            QK_local[vec] = T.Cast("float32", Q_local[vec]) * T.Cast("float32", K_smem[tz * 2 + j, tx * 4 + vec]) * sm_scale * T.float32(1.4426950408889634)
                                        S_reduce_local[0] = T.float32(0.0)
                                        for vec in T.unroll(4):
                                            S_reduce_local[0] = S_reduce_local[0] + QK_local[vec]
                                        with T.sblock("block_cross_thread"):
                                            T.reads(S_reduce_local[0])
                                            T.writes(t0[0])
                                            T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0.0)]), "reduce_scope", 0)
                                            T.tvm_thread_allreduce(T.uint32(1), S_reduce_local[0], T.bool(True), t0[0], tx)
                                        S_local[j] = T.float32(-50000.0)
                                        if (iterator * 128 + tz) * 2 + j < kv_chunk_len[0]:
                                            S_local[j] = t0[0]
                                        st_m[0] = T.max(st_m[0], S_local[j])
                                    o_scale: T.let[T.float32] = T.exp2(m_prev[0] - st_m[0])
                                    st_d[0] = st_d[0] * o_scale
                                    for j in range(2):
                                        S_local[j] = T.exp2(S_local[j] - st_m[0])
                                        st_d[0] = st_d[0] + S_local[j]
                                    for j in T.vectorized(4):
                                        O_local[j] = O_local[j] * o_scale
                                    for j in range(2):
                                        for vec in T.vectorized(4):
                                            V_local[vec] = V_smem[tz * 2 + j, tx * 4 + vec]
                                        for vec in T.vectorized(4):
                                            O_local[vec] = O_local[vec] + T.Cast("float32", V_local[vec]) * S_local[j]
                                for vec in T.vectorized(4):
                                    O_allreduce[tz, ty, tx * 4 + vec] = O_local[vec]
                                md_allreduce[tz, ty, 0] = st_m[0]
                                md_allreduce[tz, ty, 1] = st_d[0]
                                T.tvm_storage_sync("shared", T.bool(False), -1)
                                st_m[0] = T.float32(-50000.0)
                                st_d[0] = T.float32(1.0)
                                for vec in T.vectorized(4):
                                    O_local[vec] = T.float32(0.0)
                                for j in range(128):
                                    m_prev[0] = st_m[0]
                                    d_prev[0] = st_d[0]
                                    other_m[0] = md_allreduce[j, ty, 0]
                                    other_d[0] = md_allreduce[j, ty, 1]
                                    for vec in T.vectorized(4):
                                        other_o[vec] = O_allreduce[j, ty, tx * 4 + vec]
                                    st_m[0] = T.max(st_m[0], other_m[0])
                                    st_d[0] = d_prev[0] * T.exp2(m_prev[0] - st_m[0]) + other_d[0] * T.exp2(other_m[0] - st_m[0])
                                    exp_mprev[0] = T.exp2(m_prev[0] - st_m[0])
                                    exp_otherm[0] = T.exp2(other_m[0] - st_m[0])
                                    for vec in T.vectorized(4):
                                        O_local[vec] = O_local[vec] * exp_mprev[0] + other_o[vec] * exp_otherm[0]
                                for vec in T.vectorized(4):
                                    O_local[vec] = O_local[vec] / st_d[0]
                                for vec in T.vectorized(4):
                                    output[batch_idx, by + bz + ty, tx * 4 + vec] = T.Cast("float16", O_local[vec])
                                lse[batch_idx, by + bz + ty] = st_m[0] + T.log2(st_d[0])

    @T.prim_func(s_tir=True)
    def batch_prefill_paged_kv(q: T.Buffer(("total_len", 4, 16), "float16"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((batch_size,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float16"), lse: T.Buffer((total_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for lbx in T.thread_binding(16, thread="blockIdx.x"):
            for lby in T.thread_binding(4, thread="blockIdx.y"):
                for lty in T.thread_binding(4, thread="threadIdx.y"):
                    for ltx in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("attn"):
                            bx, by, ty, tx = T.axis.remap("SSSS", [lbx, lby, lty, ltx])
                            T.reads()
                            T.writes()
                            tile_id = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_idx = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_tiles = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_rows = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            iterator = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            Q_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            K_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            V_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            O_local = T.sblock_alloc_buffer((32, 16), scope="local")
                            S_smem = T.sblock_alloc_buffer((32, 32), scope="shared")
                            S_local = T.sblock_alloc_buffer((32, 32), scope="local")
                            m_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_prev_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            d_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_new = T.sblock_alloc_buffer((1,), scope="local")
                            m_prev = T.sblock_alloc_buffer((1,), scope="local")
                            d_new = T.sblock_alloc_buffer((1,), scope="local")
                            tile_id[0] = bx
                            batch_idx[0] = 0
                            batch_rows[0] = q_indptr[1] - q_indptr[0]
                            batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                            while T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                while tile_id[0] >= batch_tiles[0] and batch_idx[0] < batch_size:
                                    tile_id[0] = tile_id[0] - batch_tiles[0]
                                    batch_idx[0] = batch_idx[0] + 1
                                    if batch_idx[0] < batch_size:
                                        b_idx: T.let[T.int32] = batch_idx[0]
                                        batch_rows[0] = q_indptr[b_idx + 1] - q_indptr[b_idx]
                                        batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                                if T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                    b_idx: T.let[T.int32] = batch_idx[0]
                                    LH_start: T.let[T.int32] = tile_id[0] * 32
                                    q_indptr_val: T.let[T.int32] = q_indptr[b_idx]
                                    cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                                    cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                                    kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[b_idx], 0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for i in range(1):
                                        row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                        if row < 32:
                                            m_smem[row] = T.float32(-50000.0)
                                            d_smem[row] = T.float32(1.0)
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads()
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = T.float32(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for li_1_lj_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_1_lj_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_0, lj_0_0 in T.grid(1, 1):
                                                for lj_1 in T.vectorized(4):
                                                    with T.sblock("Q_load"):
                                                        i = T.axis.spatial(32, li_0 * 32 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) // 4)
                                                        j = T.axis.spatial(16, lj_0_0 * 16 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) % 4 * 4 + lj_1)
                                                        T.reads()
                                                        T.writes()
                                                        cur_L: T.let[T.int32] = q_indptr_val + (LH_start + i)
                                                        cur_H_qo: T.let[T.int32] = by
                                                        if cur_L < q_indptr[b_idx + 1]:
                                                            freq = T.float32()
                                                            Q_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", q[cur_L, cur_H_qo, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, q[cur_L, cur_H_qo, j + 8] * T.float16(-1.0), q[cur_L, cur_H_qo, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), q[cur_L, cur_H_qo, j])
                                                        else:
                                                            Q_smem[i, j] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for iterator_1 in range((kv_chunk_len[0] + 31) // 32):
                                        L_kv_start: T.let[T.int32] = iterator_1 * 32
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("K_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = cur_L
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                freq = T.float32()
                                                                K_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", pages[page_no, 0, by, page_offset, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, pages[page_no, 0, by, page_offset, j + 8] * T.float16(-1.0), pages[page_no, 0, by, page_offset, j - 8]))), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + cur_L) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, by, page_offset, j])
                                                            else:
                                                                K_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("V_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = cur_L
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                V_smem[i, j] = pages[page_no, 1, by, page_offset, j]
                                                            else:
                                                                V_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(Q_smem[0:32, 0:16], K_smem[0:32, 0:16])
                                            T.writes(S_local[0:32, 0:32])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(4):
                                                                with T.sblock("S_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 4 + lj_1_0_init * 4 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(S_local[i, j])
                                                                    S_local[i, j] = T.float32(0.0)
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0 in range(1):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(4):
                                                                    for lk_1 in range(16):
                                                                        with T.sblock("S_gemm_update"):
                                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                            k = T.axis.reduce(16, lk_0 * 16 + lk_1)
                                                                            T.reads(S_local[i, j], Q_smem[i, k], K_smem[j, k])
                                                                            T.writes(S_local[i, j])
                                                                            S_local[i, j] = S_local[i, j] + T.Cast("float32", Q_smem[i, k]) * T.Cast("float32", K_smem[j, k]) * sm_scale * T.float32(1.4426950408889634)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_1 in range(2):
                                                    for lj_1_0 in T.unroll(1):
                                                        for lj_1_1 in T.vectorized(4):
                                                            with T.sblock("S_store"):
                                                                i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                T.reads(S_local[i, j])
                                                                T.writes(S_smem[i, j])
                                                                S_smem[i, j] = S_local[i, j]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update1"):
                                                    T.reads(m_smem[row], kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], m_new[i], S_smem[row, 0:32], d_smem[row], m_prev[i])
                                                    T.writes(m_prev[i], m_new[i], d_new[i])
                                                    m_prev[i] = m_smem[row]
                                                    m_new[i] = m_smem[row]
                                                    row_: T.let[T.int32] = LH_start + row
                                                    for j in range(32):
                                                        if T.if_then_else(T.And(causal > 0, T.bool(False)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(0 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            m_new[i] = T.max(m_new[i], S_smem[row, j])
                                                    d_new[i] = d_smem[row] * T.exp2(m_prev[i] - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            with T.sblock("update"):
                                                T.reads(kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], S_smem[row, 0:32], m_new[i])
                                                T.writes(S_smem[row, 0:32])
                                                for j in range(32):
                                                    if row < 32:
                                                        row_: T.let[T.int32] = LH_start + row
                                                        if T.if_then_else(T.And(causal > 0, T.bool(False)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(0 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            S_smem[row, j] = T.exp2(S_smem[row, j] - m_new[i])
                                                        else:
                                                            S_smem[row, j] = T.exp2(T.float32(-50000.0) - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update"):
                                                    T.reads(d_new[i], S_smem[row, 0:32], m_new[i], m_prev[i])
                                                    T.writes(d_new[i], m_smem[row], d_smem[row], m_prev_smem[row])
                                                    for j in range(32):
                                                        d_new[i] = d_new[i] + S_smem[row, j]
                                                    m_smem[row] = m_new[i]
                                                    d_smem[row] = d_new[i]
                                                    m_prev_smem[row] = m_prev[i]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(m_prev_smem[0:32], m_smem[0:32], S_smem[0:32, 0:32], V_smem[0:32, 0:16])
                                            T.writes(O_local[0:32, 0:16])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(2):
                                                                with T.sblock("O_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 2 + lj_1_0_init * 2 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(O_local[i, j])
                                                                    O_local[i, j] = O_local[i, j] * T.exp2(m_prev_smem[i] - m_smem[i])
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, lk_1 in T.grid(2, 16):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(2):
                                                                    with T.sblock("O_gemm_update"):
                                                                        i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                        j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                                        k = T.axis.reduce(32, lk_0 * 16 + lk_1)
                                                                        T.reads(O_local[i, j], m_prev_smem[i], m_smem[i], S_smem[i, k], V_smem[k, j])
                                                                        T.writes(O_local[i, j])
                                                                        O_local[i, j] = O_local[i, j] + S_smem[i, k] * T.Cast("float32", V_smem[k, j])
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_store"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads(q_indptr[b_idx:b_idx + 2], O_local[i, j], d_smem[i])
                                                            T.writes(output[q_indptr[b_idx] + (LH_start + i), by, j])
                                                            cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                            cur_H_qo: T.let[T.int32] = by
                                                            if cur_L < q_indptr[b_idx + 1]:
                                                                output[cur_L, cur_H_qo, j] = T.Cast("float16", O_local[i, j] / d_smem[i])
                                    for li_0 in range(1):
                                        for li_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                with T.sblock("lse_store"):
                                                    i = T.axis.spatial(32, li_0 * 128 + li_1 * 32 + li_2)
                                                    T.where((li_0 * 4 + li_1) * 32 + li_2 < 32)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], m_smem[i], d_smem[i])
                                                    T.writes(lse[q_indptr[b_idx] + (LH_start + i), by])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        lse[cur_L, cur_H_qo] = m_smem[i] + T.log2(d_smem[i])
                                    tile_id[0] = tile_id[0] + 16

    @T.prim_func(s_tir=True)
    def batch_prefill_paged_kv_sliding_window(q: T.Buffer(("total_len", 4, 16), "float16"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((3, batch_size), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float16"), lse: T.Buffer((total_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for lbx in T.thread_binding(16, thread="blockIdx.x"):
            for lby in T.thread_binding(4, thread="blockIdx.y"):
                for lty in T.thread_binding(4, thread="threadIdx.y"):
                    for ltx in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("attn"):
                            bx, by, ty, tx = T.axis.remap("SSSS", [lbx, lby, lty, ltx])
                            T.reads()
                            T.writes()
                            tile_id = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_idx = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_tiles = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_rows = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            iterator = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            Q_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            K_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            V_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            O_local = T.sblock_alloc_buffer((32, 16), scope="local")
                            S_smem = T.sblock_alloc_buffer((32, 32), scope="shared")
                            S_local = T.sblock_alloc_buffer((32, 32), scope="local")
                            m_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_prev_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            d_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_new = T.sblock_alloc_buffer((1,), scope="local")
                            m_prev = T.sblock_alloc_buffer((1,), scope="local")
                            d_new = T.sblock_alloc_buffer((1,), scope="local")
                            tile_id[0] = bx
                            batch_idx[0] = 0
                            batch_rows[0] = q_indptr[1] - q_indptr[0]
                            batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                            while T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                while tile_id[0] >= batch_tiles[0] and batch_idx[0] < batch_size:
                                    tile_id[0] = tile_id[0] - batch_tiles[0]
                                    batch_idx[0] = batch_idx[0] + 1
                                    if batch_idx[0] < batch_size:
                                        b_idx: T.let[T.int32] = batch_idx[0]
                                        batch_rows[0] = q_indptr[b_idx + 1] - q_indptr[b_idx]
                                        batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                                if T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                    b_idx: T.let[T.int32] = batch_idx[0]
                                    LH_start: T.let[T.int32] = tile_id[0] * 32
                                    q_indptr_val: T.let[T.int32] = q_indptr[b_idx]
                                    cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                                    cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                                    kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[0, b_idx] - length_info[1, b_idx] + length_info[2, b_idx], 0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for i in range(1):
                                        row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                        if row < 32:
                                            m_smem[row] = T.float32(-50000.0)
                                            d_smem[row] = T.float32(1.0)
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads()
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = T.float32(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for li_1_lj_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_1_lj_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_0, lj_0_0 in T.grid(1, 1):
                                                for lj_1 in T.vectorized(4):
                                                    with T.sblock("Q_load"):
                                                        i = T.axis.spatial(32, li_0 * 32 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) // 4)
                                                        j = T.axis.spatial(16, lj_0_0 * 16 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) % 4 * 4 + lj_1)
                                                        T.reads()
                                                        T.writes()
                                                        cur_L: T.let[T.int32] = q_indptr_val + (LH_start + i)
                                                        cur_H_qo: T.let[T.int32] = by
                                                        if cur_L < q_indptr[b_idx + 1]:
                                                            freq = T.float32()
                                                            Q_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", q[cur_L, cur_H_qo, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, q[cur_L, cur_H_qo, j + 8] * T.float16(-1.0), q[cur_L, cur_H_qo, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), q[cur_L, cur_H_qo, j])
                                                        else:
                                                            Q_smem[i, j] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for iterator_1 in range((kv_chunk_len[0] + 31) // 32):
                                        L_kv_start: T.let[T.int32] = iterator_1 * 32
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("K_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = T.if_then_else(cur_L < length_info[2, b_idx], cur_L, cur_L - length_info[2, b_idx] + length_info[1, b_idx])
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                freq = T.float32()
                                                                K_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", pages[page_no, 0, by, page_offset, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, pages[page_no, 0, by, page_offset, j + 8] * T.float16(-1.0), pages[page_no, 0, by, page_offset, j - 8]))), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + cur_L) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, by, page_offset, j])
                                                            else:
                                                                K_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("V_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = T.if_then_else(cur_L < length_info[2, b_idx], cur_L, cur_L - length_info[2, b_idx] + length_info[1, b_idx])
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                V_smem[i, j] = pages[page_no, 1, by, page_offset, j]
                                                            else:
                                                                V_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(Q_smem[0:32, 0:16], K_smem[0:32, 0:16])
                                            T.writes(S_local[0:32, 0:32])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(4):
                                                                with T.sblock("S_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 4 + lj_1_0_init * 4 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(S_local[i, j])
                                                                    S_local[i, j] = T.float32(0.0)
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0 in range(1):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(4):
                                                                    for lk_1 in range(16):
                                                                        with T.sblock("S_gemm_update"):
                                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                            k = T.axis.reduce(16, lk_0 * 16 + lk_1)
                                                                            T.reads(S_local[i, j], Q_smem[i, k], K_smem[j, k])
                                                                            T.writes(S_local[i, j])
                                                                            S_local[i, j] = S_local[i, j] + T.Cast("float32", Q_smem[i, k]) * T.Cast("float32", K_smem[j, k]) * sm_scale * T.float32(1.4426950408889634)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_1 in range(2):
                                                    for lj_1_0 in T.unroll(1):
                                                        for lj_1_1 in T.vectorized(4):
                                                            with T.sblock("S_store"):
                                                                i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                T.reads(S_local[i, j])
                                                                T.writes(S_smem[i, j])
                                                                S_smem[i, j] = S_local[i, j]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update1"):
                                                    T.reads(m_smem[row], kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], m_new[i], S_smem[row, 0:32], d_smem[row], m_prev[i])
                                                    T.writes(m_prev[i], m_new[i], d_new[i])
                                                    m_prev[i] = m_smem[row]
                                                    m_new[i] = m_smem[row]
                                                    row_: T.let[T.int32] = LH_start + row
                                                    for j in range(32):
                                                        if T.if_then_else(T.And(causal > 0, T.bool(True)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(1024 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            m_new[i] = T.max(m_new[i], S_smem[row, j])
                                                    d_new[i] = d_smem[row] * T.exp2(m_prev[i] - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            with T.sblock("update"):
                                                T.reads(kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], S_smem[row, 0:32], m_new[i])
                                                T.writes(S_smem[row, 0:32])
                                                for j in range(32):
                                                    if row < 32:
                                                        row_: T.let[T.int32] = LH_start + row
                                                        if T.if_then_else(T.And(causal > 0, T.bool(True)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(1024 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            S_smem[row, j] = T.exp2(S_smem[row, j] - m_new[i])
                                                        else:
                                                            S_smem[row, j] = T.exp2(T.float32(-50000.0) - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update"):
                                                    T.reads(d_new[i], S_smem[row, 0:32], m_new[i], m_prev[i])
                                                    T.writes(d_new[i], m_smem[row], d_smem[row], m_prev_smem[row])
                                                    for j in range(32):
                                                        d_new[i] = d_new[i] + S_smem[row, j]
                                                    m_smem[row] = m_new[i]
                                                    d_smem[row] = d_new[i]
                                                    m_prev_smem[row] = m_prev[i]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(m_prev_smem[0:32], m_smem[0:32], S_smem[0:32, 0:32], V_smem[0:32, 0:16])
                                            T.writes(O_local[0:32, 0:16])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(2):
                                                                with T.sblock("O_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 2 + lj_1_0_init * 2 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(O_local[i, j])
                                                                    O_local[i, j] = O_local[i, j] * T.exp2(m_prev_smem[i] - m_smem[i])
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, lk_1 in T.grid(2, 16):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(2):
                                                                    with T.sblock("O_gemm_update"):
                                                                        i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                        j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                                        k = T.axis.reduce(32, lk_0 * 16 + lk_1)
                                                                        T.reads(O_local[i, j], m_prev_smem[i], m_smem[i], S_smem[i, k], V_smem[k, j])
                                                                        T.writes(O_local[i, j])
                                                                        O_local[i, j] = O_local[i, j] + S_smem[i, k] * T.Cast("float32", V_smem[k, j])
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_store"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads(q_indptr[b_idx:b_idx + 2], O_local[i, j], d_smem[i])
                                                            T.writes(output[q_indptr[b_idx] + (LH_start + i), by, j])
                                                            cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                            cur_H_qo: T.let[T.int32] = by
                                                            if cur_L < q_indptr[b_idx + 1]:
                                                                output[cur_L, cur_H_qo, j] = T.Cast("float16", O_local[i, j] / d_smem[i])
                                    for li_0 in range(1):
                                        for li_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                with T.sblock("lse_store"):
                                                    i = T.axis.spatial(32, li_0 * 128 + li_1 * 32 + li_2)
                                                    T.where((li_0 * 4 + li_1) * 32 + li_2 < 32)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], m_smem[i], d_smem[i])
                                                    T.writes(lse[q_indptr[b_idx] + (LH_start + i), by])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        lse[cur_L, cur_H_qo] = m_smem[i] + T.log2(d_smem[i])
                                    tile_id[0] = tile_id[0] + 16

    @T.prim_func(s_tir=True)
    def batch_prefill_ragged_kv(q: T.Buffer(("qo_len", 4, 16), "float16"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), k: T.Buffer(("kv_len", 4, 16), "float16"), v: T.Buffer((kv_len, 4, 16), "float16"), kv_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), q_rope_position: T.Buffer((qo_len,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), output: T.Buffer((qo_len, 4, 16), "float16"), lse: T.Buffer((qo_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        qo_len = T.int32()
        batch_size = T.int32()
        kv_len = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for lbx in T.thread_binding(16, thread="blockIdx.x"):
            for lby in T.thread_binding(4, thread="blockIdx.y"):
                for lty in T.thread_binding(4, thread="threadIdx.y"):
                    for ltx in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("attn"):
                            bx, by, ty, tx = T.axis.remap("SSSS", [lbx, lby, lty, ltx])
                            T.reads()
                            T.writes()
                            tile_id = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_idx = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_tiles = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_rows = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            iterator = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            Q_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            K_smem = T.sblock_alloc_buffer((16, 32), "float16", scope="shared")
                            V_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            O_local = T.sblock_alloc_buffer((32, 16), scope="local")
                            S_smem = T.sblock_alloc_buffer((32, 32), scope="shared")
                            S_local = T.sblock_alloc_buffer((32, 32), scope="local")
                            m_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_prev_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            d_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_new = T.sblock_alloc_buffer((1,), scope="local")
                            m_prev = T.sblock_alloc_buffer((1,), scope="local")
                            d_new = T.sblock_alloc_buffer((1,), scope="local")
                            tile_id[0] = bx
                            batch_idx[0] = 0
                            batch_rows[0] = q_indptr[1] - q_indptr[0]
                            batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                            while T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                while tile_id[0] >= batch_tiles[0] and batch_idx[0] < batch_size:
                                    tile_id[0] = tile_id[0] - batch_tiles[0]
                                    batch_idx[0] = batch_idx[0] + 1
                                    if batch_idx[0] < batch_size:
                                        b_idx: T.let[T.int32] = batch_idx[0]
                                        batch_rows[0] = q_indptr[b_idx + 1] - q_indptr[b_idx]
                                        batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                                if T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                    b_idx: T.let[T.int32] = batch_idx[0]
                                    q_indptr_val: T.let[T.int32] = q_indptr[b_idx]
                                    LH_start: T.let[T.int32] = tile_id[0] * 32
                                    kv_chunk_len[0] = kv_indptr[b_idx + 1] - kv_indptr[b_idx]
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for i in range(1):
                                        row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                        if row < 32:
                                            m_smem[row] = T.float32(-50000.0)
                                            d_smem[row] = T.float32(1.0)
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads()
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = T.float32(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for li_1_lj_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_1_lj_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_0, lj_0_0 in T.grid(1, 1):
                                                for lj_1 in T.vectorized(4):
                                                    with T.sblock("Q_load"):
                                                        i = T.axis.spatial(32, li_0 * 32 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) // 4)
                                                        j = T.axis.spatial(16, lj_0_0 * 16 + (li_1_lj_0_1_fused_0 * 32 + li_1_lj_0_1_fused_1) % 4 * 4 + lj_1)
                                                        T.reads()
                                                        T.writes()
                                                        cur_L: T.let[T.int32] = q_indptr_val + (LH_start + i)
                                                        cur_H_qo: T.let[T.int32] = by
                                                        if cur_L < q_indptr[b_idx + 1]:
                                                            freq = T.float32()
                                                            Q_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", q[cur_L, cur_H_qo, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, q[cur_L, cur_H_qo, j + 8] * T.float16(-1.0), q[cur_L, cur_H_qo, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), q[cur_L, cur_H_qo, j])
                                                        else:
                                                            Q_smem[i, j] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for iterator_1 in range((kv_chunk_len[0] + 31) // 32):
                                        L_kv_start: T.let[T.int32] = iterator_1 * 32
                                        L_kv_base: T.let[T.int32] = kv_indptr[b_idx]
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("K_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads(kv_chunk_len[0], k_rope_pos_offset[b_idx], k[L_kv_base + L_kv_start + i, by, j - 8:j - 8 + 17])
                                                            T.writes(K_smem[j, i])
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                freq = T.float32()
                                                                K_smem[j, i] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", k[L_kv_base + cur_L, by, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, k[L_kv_base + cur_L, by, j + 8] * T.float16(-1.0), k[L_kv_base + cur_L, by, j - 8]))), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + cur_L) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), k[L_kv_base + cur_L, by, j])
                                                            else:
                                                                K_smem[j, i] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for lz_1_ly_0_1_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for lz_1_ly_0_1_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for lz_0, ly_0_0 in T.grid(1, 1):
                                                    for ly_1 in T.vectorized(4):
                                                        with T.sblock("V_load"):
                                                            i = T.axis.spatial(32, lz_0 * 32 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) // 4)
                                                            j = T.axis.spatial(16, ly_0_0 * 16 + (lz_1_ly_0_1_fused_0 * 32 + lz_1_ly_0_1_fused_1) % 4 * 4 + ly_1)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                V_smem[i, j] = v[L_kv_base + cur_L, by, j]
                                                            else:
                                                                V_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(Q_smem[0:32, 0:16], K_smem[0:16, 0:32])
                                            T.writes(S_local[0:32, 0:32])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(4):
                                                                with T.sblock("S_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 4 + lj_1_0_init * 4 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(S_local[i, j])
                                                                    S_local[i, j] = T.float32(0.0)
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0 in range(1):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(4):
                                                                    for lk_1 in range(16):
                                                                        with T.sblock("S_gemm_update"):
                                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                            k_1 = T.axis.reduce(16, lk_0 * 16 + lk_1)
                                                                            T.reads(S_local[i, j], Q_smem[i, k_1], K_smem[k_1, j])
                                                                            T.writes(S_local[i, j])
                                                                            S_local[i, j] = S_local[i, j] + T.Cast("float32", Q_smem[i, k_1]) * T.Cast("float32", K_smem[k_1, j]) * sm_scale * T.float32(1.4426950408889634)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_1 in range(2):
                                                    for lj_1_0 in T.unroll(1):
                                                        for lj_1_1 in T.vectorized(4):
                                                            with T.sblock("S_store"):
                                                                i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1_0 * 4 + lj_1_1)
                                                                T.reads(S_local[i, j])
                                                                T.writes(S_smem[i, j])
                                                                S_smem[i, j] = S_local[i, j]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update1"):
                                                    T.reads(m_smem[row], kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], m_new[i], S_smem[row, 0:32], d_smem[row], m_prev[i])
                                                    T.writes(m_prev[i], m_new[i], d_new[i])
                                                    m_prev[i] = m_smem[row]
                                                    m_new[i] = m_smem[row]
                                                    row_: T.let[T.int32] = LH_start + row
                                                    for j in range(32):
                                                        if T.if_then_else(T.And(causal > 0, T.bool(False)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(0 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            m_new[i] = T.max(m_new[i], S_smem[row, j])
                                                    d_new[i] = d_smem[row] * T.exp2(m_prev[i] - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            with T.sblock("update"):
                                                T.reads(kv_chunk_len[0], q_indptr[b_idx:b_idx + 2], S_smem[row, 0:32], m_new[i])
                                                T.writes(S_smem[row, 0:32])
                                                for j in range(32):
                                                    if row < 32:
                                                        row_: T.let[T.int32] = LH_start + row
                                                        if T.if_then_else(T.And(causal > 0, T.bool(False)), L_kv_start + j < kv_chunk_len[0] and L_kv_start + j >= T.max(kv_chunk_len[0] - T.max(0 - row_ - 1, 0), 0), T.if_then_else(causal > 0, L_kv_start + j < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + row_ + 1, L_kv_start + j < kv_chunk_len[0])):
                                                            S_smem[row, j] = T.exp2(S_smem[row, j] - m_new[i])
                                                        else:
                                                            S_smem[row, j] = T.exp2(T.float32(-50000.0) - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update"):
                                                    T.reads(d_new[i], S_smem[row, 0:32], m_new[i], m_prev[i])
                                                    T.writes(d_new[i], m_smem[row], d_smem[row], m_prev_smem[row])
                                                    for j in range(32):
                                                        d_new[i] = d_new[i] + S_smem[row, j]
                                                    m_smem[row] = m_new[i]
                                                    d_smem[row] = d_new[i]
                                                    m_prev_smem[row] = m_prev[i]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(m_prev_smem[0:32], m_smem[0:32], S_smem[0:32, 0:32], V_smem[0:32, 0:16])
                                            T.writes(O_local[0:32, 0:16])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init in T.unroll(2):
                                                        for lj_1_0_init in T.unroll(1):
                                                            for lj_1_1_init in T.vectorized(2):
                                                                with T.sblock("O_gemm_init"):
                                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 2 + lj_1_0_init * 2 + lj_1_1_init)
                                                                    T.reads()
                                                                    T.writes(O_local[i, j])
                                                                    O_local[i, j] = O_local[i, j] * T.exp2(m_prev_smem[i] - m_smem[i])
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, lk_1 in T.grid(2, 16):
                                                        for li_1 in T.unroll(2):
                                                            for lj_1_0 in T.unroll(1):
                                                                for lj_1_1 in T.vectorized(2):
                                                                    with T.sblock("O_gemm_update"):
                                                                        i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                                        j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                                        k_1 = T.axis.reduce(32, lk_0 * 16 + lk_1)
                                                                        T.reads(O_local[i, j], m_prev_smem[i], m_smem[i], S_smem[i, k_1], V_smem[k_1, j])
                                                                        T.writes(O_local[i, j])
                                                                        O_local[i, j] = O_local[i, j] + S_smem[i, k_1] * T.Cast("float32", V_smem[k_1, j])
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1 in range(2):
                                                for lj_1_0 in T.unroll(1):
                                                    for lj_1_1 in T.vectorized(2):
                                                        with T.sblock("O_store"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1_0 * 2 + lj_1_1)
                                                            T.reads(q_indptr[b_idx:b_idx + 2], O_local[i, j], d_smem[i])
                                                            T.writes(output[q_indptr[b_idx] + (LH_start + i), by, j])
                                                            cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                            cur_H_qo: T.let[T.int32] = by
                                                            if cur_L < q_indptr[b_idx + 1]:
                                                                output[cur_L, cur_H_qo, j] = T.Cast("float16", O_local[i, j] / d_smem[i])
                                    for li_0 in range(1):
                                        for li_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                with T.sblock("lse_store"):
                                                    i = T.axis.spatial(32, li_0 * 128 + li_1 * 32 + li_2)
                                                    T.where((li_0 * 4 + li_1) * 32 + li_2 < 32)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], m_smem[i], d_smem[i])
                                                    T.writes(lse[q_indptr[b_idx] + (LH_start + i), by])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        lse[cur_L, cur_H_qo] = m_smem[i] + T.log2(d_smem[i])
                                    tile_id[0] = tile_id[0] + 16

    @T.prim_func(s_tir=True)
    def batch_tree_attn(q: T.Buffer(("qo_len", 4, 16), "float16"), q_indptr: T.Buffer(("batch_size_plus_1",), "int32", offset_factor=1), k: T.Buffer(("kv_len", 4, 16), "float16"), v: T.Buffer((kv_len, 4, 16), "float16"), kv_indptr: T.Buffer((batch_size_plus_1,), "int32", offset_factor=1), q_rope_position: T.Buffer((qo_len,), "int32", offset_factor=1), mn_indptr: T.Buffer((batch_size_plus_1,), "int32", offset_factor=1), mask: T.Buffer(("tree_size", 2), "int32", offset_factor=1), output: T.Buffer((qo_len, 4, 16), "float16"), lse: T.Buffer((qo_len, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        qo_len = T.int32()
        batch_size_plus_1 = T.int32()
        kv_len = T.int32()
        tree_size = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for lbx in T.thread_binding(16, thread="blockIdx.x"):
            for lby in T.thread_binding(4, thread="blockIdx.y"):
                for lty in T.thread_binding(4, thread="threadIdx.y"):
                    for ltx in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("attn"):
                            bx, by, ty, tx = T.axis.remap("SSSS", [lbx, lby, lty, ltx])
                            T.reads()
                            T.writes()
                            tile_id = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_idx = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_tiles = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_rows = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            iterator = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            Q_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            K_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            V_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            O_local = T.sblock_alloc_buffer((32, 16), scope="local")
                            S_smem = T.sblock_alloc_buffer((32, 32), scope="shared")
                            S_local = T.sblock_alloc_buffer((32, 32), scope="local")
                            m_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_prev_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            d_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_new = T.sblock_alloc_buffer((1,), scope="local")
                            m_prev = T.sblock_alloc_buffer((1,), scope="local")
                            d_new = T.sblock_alloc_buffer((1,), scope="local")
                            tile_id[0] = bx
                            batch_idx[0] = 0
                            batch_rows[0] = q_indptr[1] - q_indptr[0]
                            batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                            while T.tvm_thread_invariant(batch_idx[0] < batch_size_plus_1 - 1):
                                while tile_id[0] >= batch_tiles[0] and batch_idx[0] < batch_size_plus_1 - 1:
                                    tile_id[0] = tile_id[0] - batch_tiles[0]
                                    batch_idx[0] = batch_idx[0] + 1
                                    if batch_idx[0] < batch_size_plus_1 - 1:
                                        b_idx: T.let[T.int32] = batch_idx[0]
                                        batch_rows[0] = q_indptr[b_idx + 1] - q_indptr[b_idx]
                                        batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                                if T.tvm_thread_invariant(batch_idx[0] < batch_size_plus_1 - 1):
                                    b_idx: T.let[T.int32] = batch_idx[0]
                                    LH_start: T.let[T.int32] = tile_id[0] * 32
                                    q_indptr_val: T.let[T.int32] = q_indptr[b_idx]
                                    kv_chunk_len[0] = kv_indptr[b_idx + 1] - kv_indptr[b_idx]
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for i in range(1):
                                        row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                        if row < 32:
                                            m_smem[row] = T.float32(-50000.0)
                                            d_smem[row] = T.float32(1.0)
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1, lj_1 in T.grid(2, 2):
                                                with T.sblock("O_init"):
                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                    T.reads()
                                                    T.writes(O_local[i, j])
                                                    O_local[i, j] = T.float32(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for li_lj_fused_0 in range(1):
                                        for li_lj_fused_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_lj_fused_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_lj_fused_3 in T.vectorized(4):
                                                    with T.sblock("Q_load"):
                                                        i = T.axis.spatial(32, (li_lj_fused_0 * 512 + li_lj_fused_1 * 128 + li_lj_fused_2 * 4 + li_lj_fused_3) // 16)
                                                        j = T.axis.spatial(16, (li_lj_fused_0 * 512 + li_lj_fused_1 * 128 + li_lj_fused_2 * 4 + li_lj_fused_3) % 16)
                                                        T.reads()
                                                        T.writes()
                                                        cur_L: T.let[T.int32] = q_indptr_val + (LH_start + i)
                                                        cur_H_qo: T.let[T.int32] = by
                                                        if cur_L < q_indptr[b_idx + 1]:
                                                            freq = T.float32()
                                                            Q_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", q[cur_L, cur_H_qo, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, q[cur_L, cur_H_qo, j + 8] * T.float16(-1.0), q[cur_L, cur_H_qo, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), q[cur_L, cur_H_qo, j])
                                                        else:
                                                            Q_smem[i, j] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for iterator_1 in range((kv_chunk_len[0] + 31) // 32):
                                        L_kv_start: T.let[T.int32] = iterator_1 * 32
                                        L_kv_base: T.let[T.int32] = kv_indptr[b_idx]
                                        for lz_ly_fused_0 in range(1):
                                            for lz_ly_fused_1 in T.thread_binding(4, thread="threadIdx.y"):
                                                for lz_ly_fused_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lz_ly_fused_3 in T.vectorized(4):
                                                        with T.sblock("KV_load"):
                                                            i = T.axis.spatial(32, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) // 16)
                                                            j = T.axis.spatial(16, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) % 16)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_base + L_kv_start + i
                                                            if L_kv_start + i < kv_chunk_len[0]:
                                                                freq = T.float32()
                                                                K_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", k[cur_L, by, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, k[cur_L, by, j + 8] * T.float16(-1.0), k[cur_L, by, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), k[cur_L, by, j])
                                                                V_smem[i, j] = v[cur_L, by, j]
                                                            else:
                                                                K_smem[i, j] = T.float16(0.0)
                                                                V_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(Q_smem[0:32, 0:16], K_smem[0:32, 0:16])
                                            T.writes(S_local[0:32, 0:32])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init, lj_1_init in T.grid(2, 4):
                                                        with T.sblock("S_gemm_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 4 + lj_1_init)
                                                            T.reads()
                                                            T.writes(S_local[i, j])
                                                            S_local[i, j] = T.float32(0.0)
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, li_1, lj_1, lk_1 in T.grid(2, 2, 4, 8):
                                                        with T.sblock("S_gemm_update"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1)
                                                            k_1 = T.axis.reduce(16, lk_0 * 8 + lk_1)
                                                            T.reads(S_local[i, j], Q_smem[i, k_1], K_smem[j, k_1])
                                                            T.writes(S_local[i, j])
                                                            S_local[i, j] = S_local[i, j] + T.Cast("float32", Q_smem[i, k_1]) * T.Cast("float32", K_smem[j, k_1]) * sm_scale * T.float32(1.4426950408889634)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_1, lj_1 in T.grid(2, 4):
                                                    with T.sblock("S_store"):
                                                        i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                        j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1)
                                                        T.reads(S_local[i, j])
                                                        T.writes(S_smem[i, j])
                                                        S_smem[i, j] = S_local[i, j]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update1"):
                                                    T.reads(m_smem[row], kv_chunk_len[0], mn_indptr[b_idx:b_idx + 2], mask[T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0]):T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0]) + (T.max(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] + 31 - kv_chunk_len[0]) + 1 - T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0])), 0:2], q_indptr[b_idx:b_idx + 2], m_new[i], S_smem[row, 0:32], d_smem[row], m_prev[i])
                                                    T.writes(m_prev[i], m_new[i], d_new[i])
                                                    m_prev[i] = m_smem[row]
                                                    m_new[i] = m_smem[row]
                                                    row_: T.let[T.int32] = LH_start + row
                                                    for j in range(32):
                                                        if L_kv_start + j < kv_chunk_len[0] and (L_kv_start + j < kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) or mask[mn_indptr[b_idx] + (row_ + (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] >= mask[mn_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]))), 0] and mask[mn_indptr[b_idx] + (row_ + (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] < mask[mn_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]))), 1]):
                                                            m_new[i] = T.max(m_new[i], S_smem[row, j])
                                                    d_new[i] = d_smem[row] * T.exp2(m_prev[i] - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            with T.sblock("update"):
                                                T.reads(kv_chunk_len[0], mn_indptr[b_idx:b_idx + 2], mask[T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0]):T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0]) + (T.max(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] + 31 - kv_chunk_len[0]) + 1 - T.min(LH_start + row + mn_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + mn_indptr[b_idx + 1] - kv_chunk_len[0])), 0:2], q_indptr[b_idx:b_idx + 2], S_smem[row, 0:32], m_new[i])
                                                T.writes(S_smem[row, 0:32])
                                                for j in range(32):
                                                    if row < 32:
                                                        row_: T.let[T.int32] = LH_start + row
                                                        if L_kv_start + j < kv_chunk_len[0] and (L_kv_start + j < kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) or mask[mn_indptr[b_idx] + (row_ + (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] >= mask[mn_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]))), 0] and mask[mn_indptr[b_idx] + (row_ + (mn_indptr[b_idx + 1] - mn_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] < mask[mn_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (mn_indptr[b_idx + 1] - mn_indptr[b_idx]))), 1]):
                                                            S_smem[row, j] = T.exp2(S_smem[row, j] - m_new[i])
                                                        else:
                                                            S_smem[row, j] = T.exp2(T.float32(-50000.0) - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update"):
                                                    T.reads(d_new[i], S_smem[row, 0:32], m_new[i], m_prev[i])
                                                    T.writes(d_new[i], m_smem[row], d_smem[row], m_prev_smem[row])
                                                    for j in range(32):
                                                        d_new[i] = d_new[i] + S_smem[row, j]
                                                    m_smem[row] = m_new[i]
                                                    d_smem[row] = d_new[i]
                                                    m_prev_smem[row] = m_prev[i]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(m_prev_smem[0:32], m_smem[0:32], S_smem[0:32, 0:32], V_smem[0:32, 0:16])
                                            T.writes(O_local[0:32, 0:16])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init, lj_1_init in T.grid(2, 2):
                                                        with T.sblock("O_gemm_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 2 + lj_1_init)
                                                            T.reads()
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = O_local[i, j] * T.exp2(m_prev_smem[i] - m_smem[i])
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, lk_1, li_1, lj_1 in T.grid(4, 8, 2, 2):
                                                        with T.sblock("O_gemm_update"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                            k_1 = T.axis.reduce(32, lk_0 * 8 + lk_1)
                                                            T.reads(O_local[i, j], m_prev_smem[i], m_smem[i], S_smem[i, k_1], V_smem[k_1, j])
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = O_local[i, j] + S_smem[i, k_1] * T.Cast("float32", V_smem[k_1, j])
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1, lj_1 in T.grid(2, 2):
                                                with T.sblock("O_store"):
                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], O_local[i, j], d_smem[i])
                                                    T.writes(output[q_indptr[b_idx] + (LH_start + i), by, j])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        output[cur_L, cur_H_qo, j] = T.Cast("float16", O_local[i, j] / d_smem[i])
                                    for li_0 in range(1):
                                        for li_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                with T.sblock("lse_store"):
                                                    i = T.axis.spatial(32, li_0 * 128 + li_1 * 32 + li_2)
                                                    T.where((li_0 * 4 + li_1) * 32 + li_2 < 32)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], m_smem[i], d_smem[i])
                                                    T.writes(lse[q_indptr[b_idx] + (LH_start + i), by])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        lse[cur_L, cur_H_qo] = m_smem[i] + T.log2(d_smem[i])
                                    tile_id[0] = tile_id[0] + 16

    @T.prim_func(s_tir=True)
    def compact_kv_copy(pages: T.Buffer(("num_pages", 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), copy_length_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), copy_src_dst_pos: T.Buffer((2, "total_copy_length"), "int32", offset_factor=1), batch_size: T.int32):
        num_pages = T.int32()
        total_copy_length = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        with T.sblock("root"):
            T.reads()
            T.writes()
            for bhd_o in T.thread_binding((batch_size * 64 + 1023) // 1024, thread="blockIdx.x"):
                for bhd_i in T.thread_binding(1024, thread="threadIdx.x"):
                    b: T.int32 = (bhd_o * 1024 + bhd_i) // 64
                    h: T.int32 = (bhd_o * 1024 + bhd_i) // 16 % 4
                    d: T.int32 = (bhd_o * 1024 + bhd_i) % 16
                    if bhd_o * 1024 + bhd_i < batch_size * 4 * 16:
                        for i in range(copy_length_indptr[b + 1] - copy_length_indptr[b]):
                            src_pos: T.int32 = copy_src_dst_pos[0, copy_length_indptr[b] + i]
                            dst_pos: T.int32 = copy_src_dst_pos[1, copy_length_indptr[b] + i]
                            pages[dst_pos // 16, 0, h, dst_pos % 16, d] = pages[src_pos // 16, 0, h, src_pos % 16, d]
                            pages[dst_pos // 16, 1, h, dst_pos % 16, d] = pages[src_pos // 16, 1, h, src_pos % 16, d]

    @T.prim_func(s_tir=True)
    def copy_single_page(pages: T.Buffer(("num_pages", 2, 4, page_size, 16), "float16", elem_offset=pages_elem_offset), src_page_id: T.int64, tgt_page_id: T.int64, copy_length: T.int64):
        num_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in T.thread_binding((copy_length * T.int64(64) + T.int64(1023)) // T.int64(1024), thread="blockIdx.x"):
            for t in T.thread_binding(1024, thread="threadIdx.x"):
                with T.sblock("copy"):
                    vh = T.axis.spatial(4, T.Cast("int32", (b * T.int64(1024) + T.Cast("int64", t)) // (copy_length * T.int64(16))))
                    vp = T.axis.spatial(copy_length, (b * T.int64(1024) + T.Cast("int64", t)) % (copy_length * T.int64(16)) // T.int64(16))
                    vd = T.axis.spatial(16, T.Cast("int32", (b * T.int64(1024) + T.Cast("int64", t)) % T.int64(16)))
                    T.where(b * T.int64(1024) + T.Cast("int64", t) < copy_length * T.int64(4) * T.int64(16))
                    T.reads(pages[src_page_id, 0:2, vh, vp, vd])
                    T.writes(pages[tgt_page_id, 0:2, vh, vp, vd])
                    pages[tgt_page_id, 0, vh, vp, vd] = pages[src_page_id, 0, vh, vp, vd]
                    pages[tgt_page_id, 1, vh, vp, vd] = pages[src_page_id, 1, vh, vp, vd]

    @T.prim_func(s_tir=True)
    def fused_rope(qkv: T.Buffer(("seq_len", 12, 16), "float16"), position_map: T.Buffer((seq_len,), "int32", offset_factor=1), q: T.Buffer((seq_len, 4, 16), "float16"), k: T.Buffer((seq_len, 4, 16), "float16"), v: T.Buffer((seq_len, 4, 16), "float16"), apply_rope: T.int64):
        seq_len = T.int32()
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for iters_0, iters_1, iters_2 in T.grid(seq_len, 12, 16):
            with T.sblock("llama_fused_rope"):
                s, h, d = T.axis.remap("SSS", [iters_0, iters_1, iters_2])
                T.reads(position_map[s], qkv[s, h, d - 8:d - 8 + 17])
                T.writes(q[s, h, d], k[s, h - 4, d], v[s, h - 8, d])
                if h < 4:
                    freq = T.float32()
                    q[s, h, d] = T.if_then_else(apply_rope > T.int64(0) and d < 16, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", qkv[s, h, d]) + T.sin(freq) * T.Cast("float32", T.if_then_else(d < 8, qkv[s, h, d + 8] * T.float16(-1.0), qkv[s, h, d - 8]))), where={freq: T.Cast("float32", position_map[s]) / T.pow(T.float32(10000.0), T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), qkv[s, h, d])
                else:
                    if h < 8:
                        freq = T.float32()
                        k[s, h - 4, d] = T.if_then_else(apply_rope > T.int64(0) and d < 16, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", qkv[s, h, d]) + T.sin(freq) * T.Cast("float32", T.if_then_else(d < 8, qkv[s, h, d + 8] * T.float16(-1.0), qkv[s, h, d - 8]))), where={freq: T.Cast("float32", position_map[s]) / T.pow(T.float32(10000.0), T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), qkv[s, h, d])
                    else:
                        v[s, h - 8, d] = qkv[s, h, d]

    @T.prim_func(s_tir=True)
    def tir_attention_merge_state(V: T.Buffer(("N", "H", "D"), "float16"), S: T.Buffer((N, H), "float32"), V_other: T.Buffer((N, H, D), "float16"), S_other: T.Buffer((N, H), "float32")):
        N, H, D = T.int32(), T.int32(), T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for bx in T.thread_binding(N, thread="blockIdx.x"):
            for by in T.thread_binding(1, thread="blockIdx.y"):
                for ty in T.thread_binding(4, thread="threadIdx.y"):
                    for tx in T.thread_binding(4, thread="threadIdx.x"):
                        with T.sblock("merge"):
                            T.reads(S[bx, ty + by * 4], S_other[bx, ty + by * 4], V[bx, ty + by * 4, tx * 4:tx * 4 + 4], V_other[bx, ty + by * 4, tx * 4:tx * 4 + 4])
                            T.writes(V[bx, ty + by * 4, tx * 4:tx * 4 + 4], S[bx, ty + by * 4])
                            s_val = T.sblock_alloc_buffer((1,), scope="local")
                            s_other_val = T.sblock_alloc_buffer((1,), scope="local")
                            s_max = T.sblock_alloc_buffer((1,), scope="local")
                            scale = T.sblock_alloc_buffer((1,), scope="local")
                            other_scale = T.sblock_alloc_buffer((1,), scope="local")
                            v_vec = T.sblock_alloc_buffer((4,), "float16", scope="local")
                            v_other_vec = T.sblock_alloc_buffer((4,), "float16", scope="local")
                            s_val[0] = S[bx, ty + by * 4]
                            s_other_val[0] = S_other[bx, ty + by * 4]
                            s_max[0] = T.max(s_val[0], s_other_val[0])
                            s_val[0] = T.exp2(s_val[0] - s_max[0])
                            s_other_val[0] = T.exp2(s_other_val[0] - s_max[0])
                            scale[0] = s_val[0] / (s_val[0] + s_other_val[0])
                            other_scale[0] = s_other_val[0] / (s_val[0] + s_other_val[0])
                            for vec in T.vectorized(4):
                                v_vec[vec] = V[bx, ty + by * 4, tx * 4 + vec]
                            for vec in T.vectorized(4):
                                v_other_vec[vec] = V_other[bx, ty + by * 4, tx * 4 + vec]
                            for vec in range(4):
                                v_vec[vec] = T.Cast("float16", T.Cast("float32", v_vec[vec]) * scale[0] + T.Cast("float32", v_other_vec[vec]) * other_scale[0])
                            for vec in T.vectorized(4):
                                V[bx, ty + by * 4, tx * 4 + vec] = v_vec[vec]
                            S[bx, ty + by * 4] = T.log2(s_val[0] + s_other_val[0]) + s_max[0]

    @T.prim_func(s_tir=True)
    def tir_kv_cache_debug_get_kv(pages: T.Buffer((num_pages, 2, 4, page_size, 16), "float16", elem_offset=pages_elem_offset), position_map: T.Buffer((seqlen,), "int32", elem_offset=position_map_elem_offset), k_data: T.Buffer((1, seqlen, 4, 16), "float16"), v_data: T.Buffer((1, seqlen, 4, 16), "float16"), layer_id: T.int64):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for p, h, d in T.grid(seqlen, 4, 16):
            with T.sblock("copy0"):
                vp, vh, vd = T.axis.remap("SSS", [p, h, d])
                T.reads(position_map[vp], pages[T.Cast("int64", position_map[vp]) // page_size, 0:2, vh, T.Cast("int64", position_map[vp]) % page_size, vd])
                T.writes(k_data[layer_id, vp, vh, vd], v_data[layer_id, vp, vh, vd])
                position: T.int32 = position_map[vp]
                k_data[layer_id, vp, vh, vd] = pages[T.Cast("int64", position) // page_size, 0, vh, T.Cast("int64", position) % page_size, vd]
                v_data[layer_id, vp, vh, vd] = pages[T.Cast("int64", position) // page_size, 1, vh, T.Cast("int64", position) % page_size, vd]

    @T.prim_func(s_tir=True)
    def tir_kv_cache_transpose_append(pages: T.Buffer((num_pages, 2, 4, 16, 16), "float16", elem_offset=pages_elem_offset), k_data: T.Buffer((ntoken, 4, 16), "float16"), v_data: T.Buffer((ntoken, 4, 16), "float16"), position_map: T.Buffer((ntoken,), "int32", offset_factor=1)):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for global_pos, h, f in T.grid(ntoken, 4, 16):
            if position_map[global_pos] != -1:
                with T.sblock("k_transpose_append"):
                    vgpos, vh, vf = T.axis.remap("SSS", [global_pos, h, f])
                    T.reads(position_map[vgpos], k_data[vgpos, vh, vf])
                    T.writes(pages[position_map[vgpos] // 16, 0, vh, position_map[vgpos] % 16, vf])
                    position: T.int32 = position_map[vgpos]
                    pages[position // 16, 0, vh, position % 16, vf] = k_data[vgpos, vh, vf]
                with T.sblock("v_transpose_append"):
                    vgpos, vh, vf = T.axis.remap("SSS", [global_pos, h, f])
                    T.reads(position_map[vgpos], v_data[vgpos, vh, vf])
                    T.writes(pages[position_map[vgpos] // 16, 1, vh, position_map[vgpos] % 16, vf])
                    position: T.int32 = position_map[vgpos]
                    pages[position // 16, 1, vh, position % 16, vf] = v_data[vgpos, vh, vf]

    @T.prim_func(s_tir=True)
    def tir_kv_cache_transpose_append_mla(pages: T.Buffer((num_pages, 16, 16), "float16", elem_offset=pages_elem_offset), kv_data: T.Buffer((ntoken, 16), "float16"), position_map: T.Buffer((ntoken,), "int32", offset_factor=1)):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for global_pos, f in T.grid(ntoken, 16):
            if position_map[global_pos] != -1:
                with T.sblock("k_transpose_append"):
                    vgpos, vf = T.axis.remap("SS", [global_pos, f])
                    T.reads(position_map[vgpos], kv_data[vgpos, vf])
                    T.writes(pages[position_map[vgpos] // 16, position_map[vgpos] % 16, vf])
                    position: T.int32 = position_map[vgpos]
                    pages[position // 16, position % 16, vf] = kv_data[vgpos, vf]

    @T.prim_func(s_tir=True)
    def tree_attn_paged_kv(q: T.Buffer(("total_len", 4, 16), "float16"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 4, 16, 16), "float16"), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((batch_size,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float16"), lse: T.Buffer((total_len, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32, tree_order_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), tree_order: T.Buffer(("total_tree_order_len", 2), "int32", offset_factor=1)):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        total_tree_order_len = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        assert rotary_mode == 0, ("RuntimeError", ["Inline rotary mode is not supported in tree attention."])
        for lbx in T.thread_binding(16, thread="blockIdx.x"):
            for lby in T.thread_binding(4, thread="blockIdx.y"):
                for lty in T.thread_binding(4, thread="threadIdx.y"):
                    for ltx in T.thread_binding(32, thread="threadIdx.x"):
                        with T.sblock("attn"):
                            bx, by, ty, tx = T.axis.remap("SSSS", [lbx, lby, lty, ltx])
                            T.reads()
                            T.writes()
                            tile_id = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_idx = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_tiles = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            batch_rows = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            iterator = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            kv_chunk_len = T.sblock_alloc_buffer((1,), "int32", scope="local")
                            Q_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            K_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            V_smem = T.sblock_alloc_buffer((32, 16), "float16", scope="shared")
                            O_local = T.sblock_alloc_buffer((32, 16), scope="local")
                            S_smem = T.sblock_alloc_buffer((32, 32), scope="shared")
                            S_local = T.sblock_alloc_buffer((32, 32), scope="local")
                            m_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_prev_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            d_smem = T.sblock_alloc_buffer((32,), scope="shared")
                            m_new = T.sblock_alloc_buffer((1,), scope="local")
                            m_prev = T.sblock_alloc_buffer((1,), scope="local")
                            d_new = T.sblock_alloc_buffer((1,), scope="local")
                            tile_id[0] = bx
                            batch_idx[0] = 0
                            batch_rows[0] = q_indptr[1] - q_indptr[0]
                            batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                            while T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                while tile_id[0] >= batch_tiles[0] and batch_idx[0] < batch_size:
                                    tile_id[0] = tile_id[0] - batch_tiles[0]
                                    batch_idx[0] = batch_idx[0] + 1
                                    if batch_idx[0] < batch_size:
                                        b_idx: T.let[T.int32] = batch_idx[0]
                                        batch_rows[0] = q_indptr[b_idx + 1] - q_indptr[b_idx]
                                        batch_tiles[0] = (batch_rows[0] + 32 - 1) // 32
                                if T.tvm_thread_invariant(batch_idx[0] < batch_size):
                                    b_idx: T.let[T.int32] = batch_idx[0]
                                    LH_start: T.let[T.int32] = tile_id[0] * 32
                                    q_indptr_val: T.let[T.int32] = q_indptr[b_idx]
                                    cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                                    cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                                    kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[b_idx], 0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for i in range(1):
                                        row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                        if row < 32:
                                            m_smem[row] = T.float32(-50000.0)
                                            d_smem[row] = T.float32(1.0)
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1, lj_1 in T.grid(2, 2):
                                                with T.sblock("O_init"):
                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                    T.reads()
                                                    T.writes(O_local[i, j])
                                                    O_local[i, j] = T.float32(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for li_lj_fused_0 in range(1):
                                        for li_lj_fused_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_lj_fused_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_lj_fused_3 in T.vectorized(4):
                                                    with T.sblock("Q_load"):
                                                        i = T.axis.spatial(32, (li_lj_fused_0 * 512 + li_lj_fused_1 * 128 + li_lj_fused_2 * 4 + li_lj_fused_3) // 16)
                                                        j = T.axis.spatial(16, (li_lj_fused_0 * 512 + li_lj_fused_1 * 128 + li_lj_fused_2 * 4 + li_lj_fused_3) % 16)
                                                        T.reads()
                                                        T.writes()
                                                        cur_L: T.let[T.int32] = q_indptr_val + (LH_start + i)
                                                        cur_H_qo: T.let[T.int32] = by
                                                        if cur_L < q_indptr[b_idx + 1]:
                                                            freq = T.float32()
                                                            Q_smem[i, j] = T.if_then_else(rotary_mode == 1, T.Let(T.Cast("float16", T.cos(freq) * T.Cast("float32", q[cur_L, cur_H_qo, j]) + T.sin(freq) * T.Cast("float32", T.if_then_else(j < 8, q[cur_L, cur_H_qo, j + 8] * T.float16(-1.0), q[cur_L, cur_H_qo, j - 8]))), where={freq: T.Cast("float32", q_rope_position[cur_L]) * rope_scale / T.pow(rope_theta, T.Cast("float32", j * 2 % 16) / T.float32(16.0))}), q[cur_L, cur_H_qo, j])
                                                        else:
                                                            Q_smem[i, j] = T.float16(0.0)
                                    T.tvm_storage_sync("shared", T.bool(False), -1)
                                    for iterator_1 in range((kv_chunk_len[0] + 31) // 32):
                                        L_kv_start: T.let[T.int32] = iterator_1 * 32
                                        for lz_ly_fused_0 in range(1):
                                            for lz_ly_fused_1 in T.thread_binding(4, thread="threadIdx.y"):
                                                for lz_ly_fused_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lz_ly_fused_3 in T.vectorized(4):
                                                        with T.sblock("K_load"):
                                                            i = T.axis.spatial(32, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) // 16)
                                                            j = T.axis.spatial(16, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) % 16)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = cur_L
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                K_smem[i, j] = pages[page_no, 0, by, page_offset, j]
                                                            else:
                                                                K_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for lz_ly_fused_0 in range(1):
                                            for lz_ly_fused_1 in T.thread_binding(4, thread="threadIdx.y"):
                                                for lz_ly_fused_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lz_ly_fused_3 in T.vectorized(4):
                                                        with T.sblock("V_load"):
                                                            i = T.axis.spatial(32, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) // 16)
                                                            j = T.axis.spatial(16, (lz_ly_fused_0 * 512 + lz_ly_fused_1 * 128 + lz_ly_fused_2 * 4 + lz_ly_fused_3) % 16)
                                                            T.reads()
                                                            T.writes()
                                                            cur_L: T.let[T.int32] = L_kv_start + i
                                                            if cur_L < kv_chunk_len[0]:
                                                                seq_offset: T.let[T.int32] = cur_L
                                                                page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + seq_offset // 16]
                                                                page_offset: T.let[T.int32] = seq_offset % 16
                                                                V_smem[i, j] = pages[page_no, 1, by, page_offset, j]
                                                            else:
                                                                V_smem[i, j] = T.float16(0.0)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(Q_smem[0:32, 0:16], K_smem[0:32, 0:16])
                                            T.writes(S_local[0:32, 0:32])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init, lj_1_init in T.grid(2, 4):
                                                        with T.sblock("S_gemm_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 4 + lj_1_init)
                                                            T.reads()
                                                            T.writes(S_local[i, j])
                                                            S_local[i, j] = T.float32(0.0)
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, li_1, lj_1, lk_1 in T.grid(2, 2, 4, 8):
                                                        with T.sblock("S_gemm_update"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1)
                                                            k = T.axis.reduce(16, lk_0 * 8 + lk_1)
                                                            T.reads(S_local[i, j], Q_smem[i, k], K_smem[j, k])
                                                            T.writes(S_local[i, j])
                                                            S_local[i, j] = S_local[i, j] + T.Cast("float32", Q_smem[i, k]) * T.Cast("float32", K_smem[j, k]) * sm_scale * T.float32(1.4426950408889634)
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                for li_1, lj_1 in T.grid(2, 4):
                                                    with T.sblock("S_store"):
                                                        i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                        j = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 4 + lj_1)
                                                        T.reads(S_local[i, j])
                                                        T.writes(S_smem[i, j])
                                                        S_smem[i, j] = S_local[i, j]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update1"):
                                                    T.reads(m_smem[row], kv_chunk_len[0], tree_order_indptr[b_idx:b_idx + 2], tree_order[T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0]):T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0]) + (T.max(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] + 31 - kv_chunk_len[0]) + 1 - T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0])), 0:2], q_indptr[b_idx:b_idx + 2], m_new[i], S_smem[row, 0:32], d_smem[row], m_prev[i])
                                                    T.writes(m_prev[i], m_new[i], d_new[i])
                                                    m_prev[i] = m_smem[row]
                                                    m_new[i] = m_smem[row]
                                                    row_: T.let[T.int32] = LH_start + row
                                                    for j in range(32):
                                                        if L_kv_start + j < kv_chunk_len[0] and (L_kv_start + j < kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) or tree_order[tree_order_indptr[b_idx] + (row_ + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] >= tree_order[tree_order_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 0] and tree_order[tree_order_indptr[b_idx] + (row_ + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] < tree_order[tree_order_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 1]):
                                                            m_new[i] = T.max(m_new[i], S_smem[row, j])
                                                    d_new[i] = d_smem[row] * T.exp2(m_prev[i] - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            with T.sblock("update"):
                                                T.reads(kv_chunk_len[0], tree_order_indptr[b_idx:b_idx + 2], tree_order[T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0]):T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0]) + (T.max(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] + 31 - kv_chunk_len[0]) + 1 - T.min(LH_start + row + tree_order_indptr[b_idx + 1] + q_indptr[b_idx] - q_indptr[b_idx + 1], L_kv_start + tree_order_indptr[b_idx + 1] - kv_chunk_len[0])), 0:2], q_indptr[b_idx:b_idx + 2], S_smem[row, 0:32], m_new[i])
                                                T.writes(S_smem[row, 0:32])
                                                for j in range(32):
                                                    if row < 32:
                                                        row_: T.let[T.int32] = LH_start + row
                                                        if L_kv_start + j < kv_chunk_len[0] and (L_kv_start + j < kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) or tree_order[tree_order_indptr[b_idx] + (row_ + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] >= tree_order[tree_order_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 0] and tree_order[tree_order_indptr[b_idx] + (row_ + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] < tree_order[tree_order_indptr[b_idx] + (L_kv_start + j - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 1]):
                                                            S_smem[row, j] = T.exp2(S_smem[row, j] - m_new[i])
                                                        else:
                                                            S_smem[row, j] = T.exp2(T.float32(-50000.0) - m_new[i])
                                        for i in range(1):
                                            row: T.let[T.int32] = i * 32 * 4 + ty * 32 + tx
                                            if row < 32:
                                                with T.sblock("update"):
                                                    T.reads(d_new[i], S_smem[row, 0:32], m_new[i], m_prev[i])
                                                    T.writes(d_new[i], m_smem[row], d_smem[row], m_prev_smem[row])
                                                    for j in range(32):
                                                        d_new[i] = d_new[i] + S_smem[row, j]
                                                    m_smem[row] = m_new[i]
                                                    d_smem[row] = d_new[i]
                                                    m_prev_smem[row] = m_prev[i]
                                        T.tvm_storage_sync("shared", T.bool(False), -1)
                                        with T.sblock(""):
                                            T.reads(m_prev_smem[0:32], m_smem[0:32], S_smem[0:32, 0:32], V_smem[0:32, 0:16])
                                            T.writes(O_local[0:32, 0:16])
                                            for li_0_lj_0_fused_0_init in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1_init in T.thread_binding(32, thread="threadIdx.x"):
                                                    for li_1_init, lj_1_init in T.grid(2, 2):
                                                        with T.sblock("O_gemm_init"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) // 8 * 2 + li_1_init)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0_init * 32 + li_0_lj_0_fused_1_init) % 8 * 2 + lj_1_init)
                                                            T.reads()
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = O_local[i, j] * T.exp2(m_prev_smem[i] - m_smem[i])
                                            for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                                for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                                    for lk_0, lk_1, li_1, lj_1 in T.grid(4, 8, 2, 2):
                                                        with T.sblock("O_gemm_update"):
                                                            i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                            j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                            k = T.axis.reduce(32, lk_0 * 8 + lk_1)
                                                            T.reads(O_local[i, j], m_prev_smem[i], m_smem[i], S_smem[i, k], V_smem[k, j])
                                                            T.writes(O_local[i, j])
                                                            O_local[i, j] = O_local[i, j] + S_smem[i, k] * T.Cast("float32", V_smem[k, j])
                                    for li_0_lj_0_fused_0 in T.thread_binding(4, thread="threadIdx.y"):
                                        for li_0_lj_0_fused_1 in T.thread_binding(32, thread="threadIdx.x"):
                                            for li_1, lj_1 in T.grid(2, 2):
                                                with T.sblock("O_store"):
                                                    i = T.axis.spatial(32, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) // 8 * 2 + li_1)
                                                    j = T.axis.spatial(16, (li_0_lj_0_fused_0 * 32 + li_0_lj_0_fused_1) % 8 * 2 + lj_1)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], O_local[i, j], d_smem[i])
                                                    T.writes(output[q_indptr[b_idx] + (LH_start + i), by, j])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        output[cur_L, cur_H_qo, j] = T.Cast("float16", O_local[i, j] / d_smem[i])
                                    for li_0 in range(1):
                                        for li_1 in T.thread_binding(4, thread="threadIdx.y"):
                                            for li_2 in T.thread_binding(32, thread="threadIdx.x"):
                                                with T.sblock("lse_store"):
                                                    i = T.axis.spatial(32, li_0 * 128 + li_1 * 32 + li_2)
                                                    T.where((li_0 * 4 + li_1) * 32 + li_2 < 32)
                                                    T.reads(q_indptr[b_idx:b_idx + 2], m_smem[i], d_smem[i])
                                                    T.writes(lse[q_indptr[b_idx] + (LH_start + i), by])
                                                    cur_L: T.let[T.int32] = q_indptr[b_idx] + (LH_start + i)
                                                    cur_H_qo: T.let[T.int32] = by
                                                    if cur_L < q_indptr[b_idx + 1]:
                                                        lse[cur_L, cur_H_qo] = m_smem[i] + T.log2(d_smem[i])
                                    tile_id[0] = tile_id[0] + 16

    @R.function
    def create_tir_paged_kv_cache(max_batch_size_1: R.Shape([max_batch_size]), max_total_seq_len_1: R.Shape([max_total_seq_len]), prefill_chunk_size_1: R.Shape([prefill_chunk_size]), page_size_1: R.Shape([page_size]), support_sliding_window_1: R.Shape([support_sliding_window])) -> R.Any:
        R.func_attr({"num_input": 5})
        cls = Module
        with R.dataflow():
            lv1: R.Tensor((), dtype="float16") = R.zeros(R.shape([]), dtype="float16")
            paged_kv_cache: R.Any = R.call_pure_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window, 1024]), R.shape([0, 1]), 4, 4, 16, 16, R.shape([0]), False, 1, 1, 10000, 0, lv1, cls.tir_kv_cache_transpose_append, cls.tir_kv_cache_transpose_append_mla, (R.str("tirx"), cls.batch_prefill_ragged_kv), (R.str("tirx"), cls.batch_prefill_paged_kv), (R.str("tirx"), cls.batch_decode_paged_kv), (R.str("tirx"), cls.batch_prefill_paged_kv_sliding_window), (R.str("tirx"), cls.batch_decode_paged_kv_sliding_window), (R.str("tirx"), cls.tree_attn_paged_kv), (R.str("tirx"), cls.batch_tree_attn), R.tuple(), (cls.tir_attention_merge_state,), cls.fused_rope, cls.copy_single_page, cls.tir_kv_cache_debug_get_kv, cls.compact_kv_copy, ty_args=(R.Any,))
            gv2: R.Any = paged_kv_cache
            R.output(gv2)
        return gv2

    @R.function
    def embed(ids: R.Tensor((s,), dtype="int32"), packed_params: R.Tuple(R.Tensor((vocab, 64), dtype="float16"), R.Tensor((64,), dtype="float16"), R.Tensor((192, 64), dtype="float16"), R.Tensor((64, 64), dtype="float16"))) -> R.Tensor((s, 64), dtype="float16"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            e_weight1: R.Tensor((vocab, 64), dtype="float16") = packed_params[0]
            n_weight1: R.Tensor((64,), dtype="float16") = packed_params[1]
            qkv_weight1: R.Tensor((192, 64), dtype="float16") = packed_params[2]
            o_weight1: R.Tensor((64, 64), dtype="float16") = packed_params[3]
            take: R.Tensor((s, 64), dtype="float16") = R.take(e_weight1, ids, axis=0, mode="fast")
            gv1: R.Tensor((s, 64), dtype="float16") = take
            R.output(gv1)
        return gv1

    @R.function
    def prefill(x: R.Tensor((1, s, 64), dtype="float16"), kv: R.Any, packed_params: R.Tuple(R.Tensor((vocab, 64), dtype="float16"), R.Tensor((64,), dtype="float16"), R.Tensor((192, 64), dtype="float16"), R.Tensor((64, 64), dtype="float16"))) -> R.Tuple(R.Tensor((1, s, 64), dtype="float16"), R.Any):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            e_weight: R.Tensor((vocab, 64), dtype="float16") = packed_params[0]
            n_weight: R.Tensor((64,), dtype="float16") = packed_params[1]
            qkv_weight: R.Tensor((192, 64), dtype="float16") = packed_params[2]
            o_weight: R.Tensor((64, 64), dtype="float16") = packed_params[3]
            rms_norm: R.Tensor((1, s, 64), dtype="float16") = R.nn.rms_norm(x, n_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((64, 192), dtype="float16") = R.permute_dims(qkv_weight, axes=None)
            matmul: R.Tensor((1, s, 192), dtype="float16") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            reshape: R.Tensor((1, s, 12, 16), dtype="float16") = R.reshape(matmul, R.shape([1, s, 12, 16]))
            reshape1: R.Tensor((s, 12, 16), dtype="float16") = R.reshape(reshape, R.shape([s, 12, 16]))
            lv = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, 0, T.float64(0.25), reshape1), out_ty=R.Tensor((s, 4, 16), dtype="float16"))
            reshape2: R.Tensor((1, s, 4, 16), dtype="float16") = R.reshape(lv, R.shape([1, s, 4, 16]))
            reshape3: R.Tensor((1, s, 64), dtype="float16") = R.reshape(reshape2, R.shape([1, s, 64]))
            permute_dims1: R.Tensor((64, 64), dtype="float16") = R.permute_dims(o_weight, axes=None)
            matmul1: R.Tensor((1, s, 64), dtype="float16") = R.matmul(reshape3, permute_dims1, out_dtype=None)
            add: R.Tensor((1, s, 64), dtype="float16") = R.add(matmul1, x)
            softmax: R.Tensor((1, s, 64), dtype="float16") = R.nn.softmax(add, axis=-1)
            gv: R.Tuple(R.Tensor((1, s, 64), dtype="float16"), R.Any) = softmax, kv
            R.output(gv)
        return gv