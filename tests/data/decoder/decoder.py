# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

page_size = TypeVar("page_size")
num_pages = TypeVar("num_pages")
pages_elem_offset = TypeVar("pages_elem_offset")
position_map_elem_offset = TypeVar("position_map_elem_offset")
seqlen = TypeVar("seqlen")
ntoken = TypeVar("ntoken")
max_batch_size = TypeVar("max_batch_size")
max_total_seq_len = TypeVar("max_total_seq_len")
prefill_chunk_size = TypeVar("prefill_chunk_size")
support_sliding_window = TypeVar("support_sliding_window")
b = TypeVar("b")
s = TypeVar("s")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def batch_decode_paged_kv_cpu(Q: T.Buffer(("B", 4, 16), "float32"), pages: T.Buffer(("max_num_pages", 2, 2, 16, 16), "float32"), page_table_indptr: T.Buffer((B + 1,), "int32", offset_factor=1), page_table_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((B,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((B,), "int32", offset_factor=1), q_rope_position: T.Buffer((B,), "int32", offset_factor=1), output: T.Buffer((B, 4, 16), "float32"), lse: T.Buffer((B, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        B = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in range(B):
            with T.sblock("attn"):
                kv_chunk_len = T.Buffer((1,), "int32")
                T.reads(page_table_indptr[b:b + 2], length_info[b], q_rope_position[b], Q[b, 0:4, 0:16], page_table_values[page_table_indptr[b]:page_table_indptr[b] + ((kv_chunk_len[0] - 1) // 16 + 1)], k_rope_pos_offset[b], pages[0:max_num_pages, 0:2, 0:2, 0:16, 0:16])
                T.writes(output[b, 0:4, 0:16], lse[b, 0:4])
                O_local = T.sblock_alloc_buffer((16,))
                Q_local = T.sblock_alloc_buffer((16,))
                K_local = T.sblock_alloc_buffer((16,))
                V_local = T.sblock_alloc_buffer((16,))
                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32")
                m_val = T.sblock_alloc_buffer((1,))
                new_m = T.sblock_alloc_buffer((1,))
                d_val = T.sblock_alloc_buffer((1,))
                S_val = T.sblock_alloc_buffer((1,))
                scale_O = T.sblock_alloc_buffer((1,))
                factor = T.sblock_alloc_buffer((1,))
                cur_page_indptr_begin: T.let[T.int32] = page_table_indptr[b]
                cur_page_indptr_end: T.let[T.int32] = page_table_indptr[b + 1]
                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[b], 0)
                for h_qo in range(4):
                    m_val[0] = T.float32(-50000.0)
                    d_val[0] = T.float32(1.0)
                    for d in range(16):
                        O_local[d] = T.float32(0.0)
                    for d in range(16):
                        freq = T.float32()
                        Q_local[d] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * Q[b, h_qo, d] + T.sin(freq) * T.if_then_else(d < 8, Q[b, h_qo, d + 8] * T.float32(-1.0), Q[b, h_qo, d - 8]), where={freq: T.Cast("float32", q_rope_position[b]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), Q[b, h_qo, d])
                    for row_idx in range(kv_chunk_len[0]):
                        seq_offset: T.let[T.int32] = row_idx
                        page_no: T.let[T.int32] = page_table_values[cur_page_indptr_begin + seq_offset // 16]
                        page_offset: T.let[T.int32] = seq_offset % 16
                        for d in range(16):
                            freq = T.float32()
                            K_local[d] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * pages[page_no, 0, h_qo // 2, page_offset, d] + T.sin(freq) * T.if_then_else(d < 8, pages[page_no, 0, h_qo // 2, page_offset, d + 8] * T.float32(-1.0), pages[page_no, 0, h_qo // 2, page_offset, d - 8]), where={freq: T.Cast("float32", k_rope_pos_offset[b] + row_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, h_qo // 2, page_offset, d])
                        S_val[0] = T.float32(0.0)
                        for d in range(16):
                            S_val[0] = S_val[0] + Q_local[d] * K_local[d]
                        S_val[0] = S_val[0] * (sm_scale * T.float32(1.4426950408889634))
                        new_m[0] = T.max(m_val[0], S_val[0])
                        d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0]) + T.exp2(S_val[0] - new_m[0])
                        scale_O[0] = T.exp2(m_val[0] - new_m[0])
                        for d in range(16):
                            O_local[d] = O_local[d] * scale_O[0]
                        m_val[0] = new_m[0]
                        for d in range(16):
                            V_local[d] = pages[page_no, 1, h_qo // 2, page_offset, d]
                        factor[0] = T.exp2(S_val[0] - m_val[0])
                        for d in range(16):
                            O_local[d] = O_local[d] + V_local[d] * factor[0]
                    for d in range(16):
                        O_local[d] = O_local[d] / d_val[0]
                        output[b, h_qo, d] = O_local[d]
                    lse[b, h_qo] = m_val[0] + T.log2(d_val[0])

    @T.prim_func(s_tir=True)
    def batch_decode_paged_kv_cpu_sliding_window(Q: T.Buffer(("B", 4, 16), "float32"), pages: T.Buffer(("max_num_pages", 2, 2, 16, 16), "float32"), page_table_indptr: T.Buffer((B + 1,), "int32", offset_factor=1), page_table_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((3, B), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((B,), "int32", offset_factor=1), q_rope_position: T.Buffer((B,), "int32", offset_factor=1), output: T.Buffer((B, 4, 16), "float32"), lse: T.Buffer((B, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        B = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b in range(B):
            with T.sblock("attn"):
                T.reads(page_table_indptr[b:b + 2], length_info[0:3, b], q_rope_position[b], Q[b, 0:4, 0:16], page_table_values[0:nnz_pages], k_rope_pos_offset[b], pages[0:max_num_pages, 0:2, 0:2, 0:16, 0:16])
                T.writes(output[b, 0:4, 0:16], lse[b, 0:4])
                O_local = T.sblock_alloc_buffer((16,))
                Q_local = T.sblock_alloc_buffer((16,))
                K_local = T.sblock_alloc_buffer((16,))
                V_local = T.sblock_alloc_buffer((16,))
                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32")
                m_val = T.sblock_alloc_buffer((1,))
                new_m = T.sblock_alloc_buffer((1,))
                d_val = T.sblock_alloc_buffer((1,))
                S_val = T.sblock_alloc_buffer((1,))
                scale_O = T.sblock_alloc_buffer((1,))
                factor = T.sblock_alloc_buffer((1,))
                cur_page_indptr_begin: T.let[T.int32] = page_table_indptr[b]
                cur_page_indptr_end: T.let[T.int32] = page_table_indptr[b + 1]
                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[0, b] - length_info[1, b] + length_info[2, b], 0)
                for h_qo in range(4):
                    m_val[0] = T.float32(-50000.0)
                    d_val[0] = T.float32(1.0)
                    for d in range(16):
                        O_local[d] = T.float32(0.0)
                    for d in range(16):
                        freq = T.float32()
                        Q_local[d] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * Q[b, h_qo, d] + T.sin(freq) * T.if_then_else(d < 8, Q[b, h_qo, d + 8] * T.float32(-1.0), Q[b, h_qo, d - 8]), where={freq: T.Cast("float32", q_rope_position[b]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), Q[b, h_qo, d])
                    for row_idx in range(kv_chunk_len[0]):
                        seq_offset: T.let[T.int32] = T.if_then_else(row_idx < length_info[2, b], row_idx, row_idx - length_info[2, b] + length_info[1, b])
                        page_no: T.let[T.int32] = page_table_values[cur_page_indptr_begin + seq_offset // 16]
                        page_offset: T.let[T.int32] = seq_offset % 16
                        for d in range(16):
                            freq = T.float32()
                            K_local[d] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * pages[page_no, 0, h_qo // 2, page_offset, d] + T.sin(freq) * T.if_then_else(d < 8, pages[page_no, 0, h_qo // 2, page_offset, d + 8] * T.float32(-1.0), pages[page_no, 0, h_qo // 2, page_offset, d - 8]), where={freq: T.Cast("float32", k_rope_pos_offset[b] + row_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, h_qo // 2, page_offset, d])
                        S_val[0] = T.float32(0.0)
                        for d in range(16):
                            S_val[0] = S_val[0] + Q_local[d] * K_local[d]
                        S_val[0] = S_val[0] * (sm_scale * T.float32(1.4426950408889634))
                        new_m[0] = T.max(m_val[0], S_val[0])
                        d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0]) + T.exp2(S_val[0] - new_m[0])
                        scale_O[0] = T.exp2(m_val[0] - new_m[0])
                        for d in range(16):
                            O_local[d] = O_local[d] * scale_O[0]
                        m_val[0] = new_m[0]
                        for d in range(16):
                            V_local[d] = pages[page_no, 1, h_qo // 2, page_offset, d]
                        factor[0] = T.exp2(S_val[0] - m_val[0])
                        for d in range(16):
                            O_local[d] = O_local[d] + V_local[d] * factor[0]
                    for d in range(16):
                        O_local[d] = O_local[d] / d_val[0]
                        output[b, h_qo, d] = O_local[d]
                    lse[b, h_qo] = m_val[0] + T.log2(d_val[0])

    @T.prim_func(s_tir=True)
    def batch_prefill_paged_kv_cpu(q: T.Buffer(("total_len", 4, 16), "float32"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 2, 16, 16), "float32"), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((batch_size,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float32"), lse: T.Buffer((total_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        # with T.sblock("root"):
        for h_qo, b_idx in T.grid(4, batch_size):
            with T.sblock("attn"):
                T.reads(page_indptr[b_idx:b_idx + 2], length_info[b_idx], q_indptr[b_idx:b_idx + 2], q_rope_position[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx])], q[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo, 0:16], page_values[page_indptr[b_idx]:page_indptr[b_idx] + max_num_pages], k_rope_pos_offset[b_idx], pages[0:max_num_pages, 0:2, h_qo // 2, 0:16, 0:16])
                T.writes(output[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo, 0:16], lse[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo])
                O_local = T.sblock_alloc_buffer((16,))
                Q_local = T.sblock_alloc_buffer((16,))
                K_local = T.sblock_alloc_buffer((16,))
                V_local = T.sblock_alloc_buffer((16,))
                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32")
                m_val = T.sblock_alloc_buffer((1,))
                new_m = T.sblock_alloc_buffer((1,))
                d_val = T.sblock_alloc_buffer((1,))
                S_val = T.sblock_alloc_buffer((1,))
                scale_O = T.sblock_alloc_buffer((1,))
                factor = T.sblock_alloc_buffer((1,))
                cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[b_idx], 0)
                for q_idx in range(q_indptr[b_idx + 1] - q_indptr[b_idx]):
                    m_val[0] = T.float32(-50000.0)
                    d_val[0] = T.float32(1.0)
                    for d_idx in range(16):
                        O_local[d_idx] = T.float32(0.0)
                    curl_q: T.let[T.int32] = q_indptr[b_idx] + q_idx
                    for d_idx in range(16):
                        freq = T.float32()
                        Q_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * q[curl_q, h_qo, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, q[curl_q, h_qo, d_idx + 8] * T.float32(-1.0), q[curl_q, h_qo, d_idx - 8]), where={freq: T.Cast("float32", q_rope_position[curl_q]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), q[curl_q, h_qo, d_idx])
                    for row_idx in range(max_num_pages * 16):
                        if row_idx < kv_chunk_len[0]:
                            page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + row_idx // 16]
                            page_offset: T.let[T.int32] = row_idx % 16
                            for d_idx in range(16):
                                freq = T.float32()
                                K_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * pages[page_no, 0, h_qo // 2, page_offset, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, pages[page_no, 0, h_qo // 2, page_offset, d_idx + 8] * T.float32(-1.0), pages[page_no, 0, h_qo // 2, page_offset, d_idx - 8]), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + row_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, h_qo // 2, page_offset, d_idx])
                                V_local[d_idx] = pages[page_no, 1, h_qo // 2, page_offset, d_idx]
                            S_val[0] = T.float32(0.0)
                            for d_idx in range(16):
                                S_val[0] = S_val[0] + Q_local[d_idx] * K_local[d_idx]
                            S_val[0] = S_val[0] * (sm_scale * T.float32(1.4426950408889634))
                            if T.if_then_else(T.And(causal > 0, T.bool(False)), row_idx < kv_chunk_len[0] and row_idx >= T.max(kv_chunk_len[0] - T.max(0 - q_idx - 1, 0), 0), T.if_then_else(causal > 0, row_idx < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + q_idx + 1, row_idx < kv_chunk_len[0])):
                                new_m[0] = T.max(m_val[0], S_val[0])
                            else:
                                S_val[0] = T.float32(-50000.0)
                            d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0])
                            d_val[0] = d_val[0] + T.exp2(S_val[0] - new_m[0])
                            scale_O[0] = T.exp2(m_val[0] - new_m[0])
                            m_val[0] = new_m[0]
                            factor[0] = T.exp2(S_val[0] - m_val[0])
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] * scale_O[d_idx]
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] + V_local[d_idx] * factor[0]
                    for d_idx in range(16):
                        O_local[d_idx] = O_local[d_idx] / d_val[0]
                        output[curl_q, h_qo, d_idx] = O_local[d_idx]
                    lse[curl_q, h_qo] = m_val[0] + T.log2(d_val[0])

    @T.prim_func(s_tir=True)
    def batch_prefill_paged_kv_cpu_sliding_window(q: T.Buffer(("total_len", 4, 16), "float32"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 2, 16, 16), "float32"), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((3, batch_size), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float32"), lse: T.Buffer((total_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        # with T.sblock("root"):
        for h_qo, b_idx in T.grid(4, batch_size):
            with T.sblock("attn"):
                T.reads(page_indptr[b_idx:b_idx + 2], length_info[0:3, b_idx], q_indptr[b_idx:b_idx + 2], q_rope_position[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx])], q[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo, 0:16], page_values[0:nnz_pages], k_rope_pos_offset[b_idx], pages[0:max_num_pages, 0:2, h_qo // 2, 0:16, 0:16])
                T.writes(output[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo, 0:16], lse[q_indptr[b_idx]:q_indptr[b_idx] + (q_indptr[b_idx + 1] - q_indptr[b_idx]), h_qo])
                O_local = T.sblock_alloc_buffer((16,))
                Q_local = T.sblock_alloc_buffer((16,))
                K_local = T.sblock_alloc_buffer((16,))
                V_local = T.sblock_alloc_buffer((16,))
                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32")
                m_val = T.sblock_alloc_buffer((1,))
                new_m = T.sblock_alloc_buffer((1,))
                d_val = T.sblock_alloc_buffer((1,))
                S_val = T.sblock_alloc_buffer((1,))
                scale_O = T.sblock_alloc_buffer((1,))
                factor = T.sblock_alloc_buffer((1,))
                cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[0, b_idx] - length_info[1, b_idx] + length_info[2, b_idx], 0)
                for q_idx in range(q_indptr[b_idx + 1] - q_indptr[b_idx]):
                    m_val[0] = T.float32(-50000.0)
                    d_val[0] = T.float32(1.0)
                    for d_idx in range(16):
                        O_local[d_idx] = T.float32(0.0)
                    curl_q: T.let[T.int32] = q_indptr[b_idx] + q_idx
                    for d_idx in range(16):
                        freq = T.float32()
                        Q_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * q[curl_q, h_qo, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, q[curl_q, h_qo, d_idx + 8] * T.float32(-1.0), q[curl_q, h_qo, d_idx - 8]), where={freq: T.Cast("float32", q_rope_position[curl_q]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), q[curl_q, h_qo, d_idx])
                    for row_idx in range(max_num_pages * 16):
                        if row_idx < kv_chunk_len[0]:
                            page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + T.if_then_else(row_idx < length_info[2, b_idx], row_idx, row_idx - length_info[2, b_idx] + length_info[1, b_idx]) // 16]
                            page_offset: T.let[T.int32] = T.if_then_else(row_idx < length_info[2, b_idx], row_idx, row_idx - length_info[2, b_idx] + length_info[1, b_idx]) % 16
                            for d_idx in range(16):
                                freq = T.float32()
                                K_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * pages[page_no, 0, h_qo // 2, page_offset, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, pages[page_no, 0, h_qo // 2, page_offset, d_idx + 8] * T.float32(-1.0), pages[page_no, 0, h_qo // 2, page_offset, d_idx - 8]), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + row_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, h_qo // 2, page_offset, d_idx])
                                V_local[d_idx] = pages[page_no, 1, h_qo // 2, page_offset, d_idx]
                            S_val[0] = T.float32(0.0)
                            for d_idx in range(16):
                                S_val[0] = S_val[0] + Q_local[d_idx] * K_local[d_idx]
                            S_val[0] = S_val[0] * (sm_scale * T.float32(1.4426950408889634))
                            if T.if_then_else(T.And(causal > 0, T.bool(True)), row_idx < kv_chunk_len[0] and row_idx >= T.max(kv_chunk_len[0] - T.max(1024 - q_idx - 1, 0), 0), T.if_then_else(causal > 0, row_idx < kv_chunk_len[0] - (q_indptr[b_idx + 1] - q_indptr[b_idx]) + q_idx + 1, row_idx < kv_chunk_len[0])):
                                new_m[0] = T.max(m_val[0], S_val[0])
                            else:
                                S_val[0] = T.float32(-50000.0)
                            d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0])
                            d_val[0] = d_val[0] + T.exp2(S_val[0] - new_m[0])
                            scale_O[0] = T.exp2(m_val[0] - new_m[0])
                            m_val[0] = new_m[0]
                            factor[0] = T.exp2(S_val[0] - m_val[0])
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] * scale_O[d_idx]
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] + V_local[d_idx] * factor[0]
                    for d_idx in range(16):
                        O_local[d_idx] = O_local[d_idx] / d_val[0]
                        output[curl_q, h_qo, d_idx] = O_local[d_idx]
                    lse[curl_q, h_qo] = m_val[0] + T.log2(d_val[0])

    @T.prim_func(s_tir=True)
    def batch_prefill_ragged_kv(q: T.Buffer(("qo_len", 4, 16), "float32"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), k: T.Buffer(("kv_len", 2, 16), "float32"), v: T.Buffer((kv_len, 2, 16), "float32"), kv_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), q_rope_position: T.Buffer((qo_len,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), output: T.Buffer((qo_len, 4, 16), "float32"), lse: T.Buffer((qo_len, 4), "float32"), causal: T.int32, rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        qo_len = T.int32()
        batch_size = T.int32()
        kv_len = T.int32()
        # with T.sblock("root"):
        for b in range(batch_size):
            with T.sblock("attn"):
                T.reads(q_indptr[b:b + 2], kv_indptr[b:b + 2], q_rope_position[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b])], q[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4, 0:16], k_rope_pos_offset[b], k[kv_indptr[b]:kv_indptr[b] + (kv_indptr[b + 1] - kv_indptr[b]), 0:2, 0:16], v[kv_indptr[b]:kv_indptr[b] + (kv_indptr[b + 1] - kv_indptr[b]), 0:2, 0:16])
                T.writes(output[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4, 0:16], lse[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4])
                softmax_sum = T.sblock_alloc_buffer((4,))
                m_prev = T.sblock_alloc_buffer((4,))
                m_new = T.sblock_alloc_buffer((4,))
                d_prev = T.sblock_alloc_buffer((4,))
                d_new = T.sblock_alloc_buffer((4,))
                p_sum = T.sblock_alloc_buffer((16,))
                max_score = T.sblock_alloc_buffer((4,))
                attention_scores = T.sblock_alloc_buffer((kv_len, 4))
                exp_scores = T.sblock_alloc_buffer((kv_len, 4))
                attention_score = T.sblock_alloc_buffer((1,))
                query_val = T.sblock_alloc_buffer((1,))
                key_val = T.sblock_alloc_buffer((1,))
                result = T.sblock_alloc_buffer((1,))
                for q_idx in range(q_indptr[b + 1] - q_indptr[b]):
                    for i in range(4):
                        max_score[i] = T.float32(-50000.0)
                        m_prev[i] = T.float32(-50000.0)
                        d_prev[i] = T.float32(1.0)
                    for k_idx, h in T.grid(kv_indptr[b + 1] - kv_indptr[b], 4):
                        h_kv_idx: T.let[T.int32] = h // 2
                        if T.if_then_else(causal > 0, k_idx < kv_indptr[b + 1] - kv_indptr[b] - (q_indptr[b + 1] - q_indptr[b]) + q_idx + 1, k_idx < kv_indptr[b + 1] - kv_indptr[b]):
                            result[0] = T.float32(0.0)
                            for d_idx in range(16):
                                freq = T.float32()
                                query_val[0] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * q[q_indptr[b] + q_idx, h, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, q[q_indptr[b] + q_idx, h, d_idx + 8] * T.float32(-1.0), q[q_indptr[b] + q_idx, h, d_idx - 8]), where={freq: T.Cast("float32", q_rope_position[q_indptr[b] + q_idx]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), q[q_indptr[b] + q_idx, h, d_idx])
                                freq_1 = T.float32()
                                key_val[0] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq_1) * k[kv_indptr[b] + k_idx, h_kv_idx, d_idx] + T.sin(freq_1) * T.if_then_else(d_idx < 8, k[kv_indptr[b] + k_idx, h_kv_idx, d_idx + 8] * T.float32(-1.0), k[kv_indptr[b] + k_idx, h_kv_idx, d_idx - 8]), where={freq_1: T.Cast("float32", k_rope_pos_offset[b] + k_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), k[kv_indptr[b] + k_idx, h_kv_idx, d_idx])
                                result[0] = result[0] + query_val[0] * key_val[0]
                            attention_score[0] = result[0] * T.float32(1.4426950408889634) * sm_scale
                        else:
                            attention_score[0] = T.float32(-72134.752044448163) * sm_scale
                        attention_scores[k_idx, h] = attention_score[0]
                        max_score[h] = T.max(max_score[h], attention_score[0])
                        m_new[h] = T.max(m_prev[h], max_score[h])
                    for h in range(4):
                        d_new[h] = d_prev[h] * T.exp2(m_prev[h] - m_new[h])
                    for h in range(4):
                        softmax_sum[h] = T.float32(0.0)
                        for k_idx in range(kv_indptr[b + 1] - kv_indptr[b]):
                            exp_scores[k_idx, h] = T.exp2(attention_scores[k_idx, h] - m_new[h])
                            softmax_sum[h] = softmax_sum[h] + exp_scores[k_idx, h]
                        d_new[h] = d_new[h] + softmax_sum[h]
                    for h in range(4):
                        h_kv_idx: T.let[T.int32] = h // 2
                        for i in range(16):
                            p_sum[i] = T.float32(0.0)
                        for v_idx in range(kv_indptr[b + 1] - kv_indptr[b]):
                            weight: T.let[T.float32] = exp_scores[v_idx, h] / d_new[h]
                            for i in range(16):
                                p_sum[i] = p_sum[i] + v[kv_indptr[b] + v_idx, h_kv_idx, i] * weight
                        for i in range(16):
                            output[q_indptr[b] + q_idx, h, i] = p_sum[i]
                        lse[q_indptr[b] + q_idx, h] = m_new[h] + T.log2(d_new[h])

    @T.prim_func(s_tir=True)
    def batch_tree_attn(q: T.Buffer(("qo_len", 4, 16), "float32"), q_indptr: T.Buffer(("batch_size_plus_1",), "int32", offset_factor=1), k: T.Buffer(("kv_len", 2, 16), "float32"), v: T.Buffer((kv_len, 2, 16), "float32"), kv_indptr: T.Buffer((batch_size_plus_1,), "int32", offset_factor=1), q_rope_position: T.Buffer((qo_len,), "int32", offset_factor=1), mn_indptr: T.Buffer((batch_size_plus_1,), "int32", offset_factor=1), mask: T.Buffer(("tree_size", 2), "int32", offset_factor=1), output: T.Buffer((qo_len, 4, 16), "float32"), lse: T.Buffer((qo_len, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32):
        qo_len = T.int32()
        batch_size_plus_1 = T.int32()
        kv_len = T.int32()
        tree_size = T.int32()
        # with T.sblock("root"):
        for b in range(batch_size_plus_1 - 1):
            with T.sblock("attn"):
                T.reads(q_indptr[b:b + 2], kv_indptr[b:b + 2], mn_indptr[b:b + 2], mask[T.min(mn_indptr[b + 1] + q_indptr[b] - q_indptr[b + 1], kv_indptr[b] + mn_indptr[b + 1] - kv_indptr[b + 1]):T.min(mn_indptr[b + 1] + q_indptr[b] - q_indptr[b + 1], kv_indptr[b] + mn_indptr[b + 1] - kv_indptr[b + 1]) + (mn_indptr[b + 1] - T.min(mn_indptr[b + 1] + q_indptr[b] - q_indptr[b + 1], kv_indptr[b] + mn_indptr[b + 1] - kv_indptr[b + 1])), 0:2], q_rope_position[T.min(q_indptr[b], kv_indptr[b]):T.min(q_indptr[b], kv_indptr[b]) + (T.max(q_indptr[b + 1], kv_indptr[b + 1]) - T.min(q_indptr[b], kv_indptr[b]))], q[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4, 0:16], k[kv_indptr[b]:kv_indptr[b] + (kv_indptr[b + 1] - kv_indptr[b]), 0:2, 0:16], v[kv_indptr[b]:kv_indptr[b] + (kv_indptr[b + 1] - kv_indptr[b]), 0:2, 0:16])
                T.writes(output[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4, 0:16], lse[q_indptr[b]:q_indptr[b] + (q_indptr[b + 1] - q_indptr[b]), 0:4])
                softmax_sum = T.sblock_alloc_buffer((4,))
                m_prev = T.sblock_alloc_buffer((4,))
                m_new = T.sblock_alloc_buffer((4,))
                d_prev = T.sblock_alloc_buffer((4,))
                d_new = T.sblock_alloc_buffer((4,))
                p_sum = T.sblock_alloc_buffer((16,))
                max_score = T.sblock_alloc_buffer((4,))
                attention_scores = T.sblock_alloc_buffer((kv_len, 4))
                exp_scores = T.sblock_alloc_buffer((kv_len, 4))
                attention_score = T.sblock_alloc_buffer((1,))
                query_val = T.sblock_alloc_buffer((1,))
                key_val = T.sblock_alloc_buffer((1,))
                result = T.sblock_alloc_buffer((1,))
                for q_idx in range(q_indptr[b + 1] - q_indptr[b]):
                    for i in range(4):
                        max_score[i] = T.float32(-50000.0)
                        m_prev[i] = T.float32(-50000.0)
                        d_prev[i] = T.float32(1.0)
                    for k_idx, h in T.grid(kv_indptr[b + 1] - kv_indptr[b], 4):
                        h_kv_idx: T.let[T.int32] = h // 2
                        if k_idx < kv_indptr[b + 1] - kv_indptr[b] and (k_idx < kv_indptr[b + 1] - kv_indptr[b] - (mn_indptr[b + 1] - mn_indptr[b]) or mask[mn_indptr[b] + (q_idx + (mn_indptr[b + 1] - mn_indptr[b]) - (q_indptr[b + 1] - q_indptr[b])), 0] >= mask[mn_indptr[b] + (k_idx - (kv_indptr[b + 1] - kv_indptr[b] - (mn_indptr[b + 1] - mn_indptr[b]))), 0] and mask[mn_indptr[b] + (q_idx + (mn_indptr[b + 1] - mn_indptr[b]) - (q_indptr[b + 1] - q_indptr[b])), 0] < mask[mn_indptr[b] + (k_idx - (kv_indptr[b + 1] - kv_indptr[b] - (mn_indptr[b + 1] - mn_indptr[b]))), 1]):
                            result[0] = T.float32(0.0)
                            for d_idx in range(16):
                                freq = T.float32()
                                query_val[0] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * q[q_indptr[b] + q_idx, h, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, q[q_indptr[b] + q_idx, h, d_idx + 8] * T.float32(-1.0), q[q_indptr[b] + q_idx, h, d_idx - 8]), where={freq: T.Cast("float32", q_rope_position[q_indptr[b] + q_idx]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), q[q_indptr[b] + q_idx, h, d_idx])
                                freq_1 = T.float32()
                                key_val[0] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq_1) * k[kv_indptr[b] + k_idx, h_kv_idx, d_idx] + T.sin(freq_1) * T.if_then_else(d_idx < 8, k[kv_indptr[b] + k_idx, h_kv_idx, d_idx + 8] * T.float32(-1.0), k[kv_indptr[b] + k_idx, h_kv_idx, d_idx - 8]), where={freq_1: T.Cast("float32", q_rope_position[kv_indptr[b] + k_idx]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), k[kv_indptr[b] + k_idx, h_kv_idx, d_idx])
                                result[0] = result[0] + query_val[0] * key_val[0]
                            attention_score[0] = result[0] * T.float32(1.4426950408889634) * sm_scale
                        else:
                            attention_score[0] = T.float32(-72134.752044448163) * sm_scale
                        attention_scores[k_idx, h] = attention_score[0]
                        max_score[h] = T.max(max_score[h], attention_score[0])
                        m_new[h] = T.max(m_prev[h], max_score[h])
                    for h in range(4):
                        d_new[h] = d_prev[h] * T.exp2(m_prev[h] - m_new[h])
                    for h in range(4):
                        softmax_sum[h] = T.float32(0.0)
                        for k_idx in range(kv_indptr[b + 1] - kv_indptr[b]):
                            exp_scores[k_idx, h] = T.exp2(attention_scores[k_idx, h] - m_new[h])
                            softmax_sum[h] = softmax_sum[h] + exp_scores[k_idx, h]
                        d_new[h] = d_new[h] + softmax_sum[h]
                    for h in range(4):
                        h_kv_idx: T.let[T.int32] = h // 2
                        for i in range(16):
                            p_sum[i] = T.float32(0.0)
                        for v_idx in range(kv_indptr[b + 1] - kv_indptr[b]):
                            weight: T.let[T.float32] = exp_scores[v_idx, h] / d_new[h]
                            for i in range(16):
                                p_sum[i] = p_sum[i] + v[kv_indptr[b] + v_idx, h_kv_idx, i] * weight
                        for i in range(16):
                            output[q_indptr[b] + q_idx, h, i] = p_sum[i]
                        lse[q_indptr[b] + q_idx, h] = m_new[h] + T.log2(d_new[h])

    @T.prim_func(s_tir=True)
    def compact_kv_copy_cpu(pages: T.Buffer(("num_pages", 2, 2, 16, 16), "float32"), copy_length_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), copy_src_dst_pos: T.Buffer((2, "total_copy_length"), "int32", offset_factor=1), batch_size: T.int32):
        num_pages = T.int32()
        total_copy_length = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        with T.sblock("root"):
            T.reads()
            T.writes()
            for bhd_o, bhd_i in T.grid(batch_size * 4, 8):
                b: T.int32 = (bhd_o * 8 + bhd_i) // 32
                h: T.int32 = (bhd_o * 8 + bhd_i) // 16 % 2
                d: T.int32 = (bhd_o * 8 + bhd_i) % 16
                if bhd_o * 8 + bhd_i < batch_size * 2 * 16:
                    for i in range(copy_length_indptr[b + 1] - copy_length_indptr[b]):
                        src_pos: T.int32 = copy_src_dst_pos[0, copy_length_indptr[b] + i]
                        dst_pos: T.int32 = copy_src_dst_pos[1, copy_length_indptr[b] + i]
                        pages[dst_pos // 16, 0, h, dst_pos % 16, d] = pages[src_pos // 16, 0, h, src_pos % 16, d]
                        pages[dst_pos // 16, 1, h, dst_pos % 16, d] = pages[src_pos // 16, 1, h, src_pos % 16, d]

    @T.prim_func(s_tir=True)
    def copy_single_page_cpu(pages: T.Buffer(("num_pages", 2, 2, page_size, 16), "float32"), src_page_id: T.int64, tgt_page_id: T.int64, copy_length: T.int64):
        num_pages = T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for b, t in T.grid(copy_length * T.int64(32), 1):
            with T.sblock("copy"):
                vh = T.axis.spatial(2, T.Cast("int32", (b + T.Cast("int64", t)) // (copy_length * T.int64(16))))
                vp = T.axis.spatial(copy_length, (b + T.Cast("int64", t)) % (copy_length * T.int64(16)) // T.int64(16))
                vd = T.axis.spatial(16, T.Cast("int32", (b + T.Cast("int64", t)) % T.int64(16)))
                T.where(b + T.Cast("int64", t) < copy_length * T.int64(2) * T.int64(16))
                T.reads(pages[src_page_id, 0:2, vh, vp, vd])
                T.writes(pages[tgt_page_id, 0:2, vh, vp, vd])
                pages[tgt_page_id, 0, vh, vp, vd] = pages[src_page_id, 0, vh, vp, vd]
                pages[tgt_page_id, 1, vh, vp, vd] = pages[src_page_id, 1, vh, vp, vd]

    @T.prim_func(s_tir=True)
    def fused_rope(qkv: T.Buffer(("seq_len", 8, 16), "float32"), position_map: T.Buffer((seq_len,), "int32", offset_factor=1), q: T.Buffer((seq_len, 4, 16), "float32"), k: T.Buffer((seq_len, 2, 16), "float32"), v: T.Buffer((seq_len, 2, 16), "float32"), apply_rope: T.int64):
        seq_len = T.int32()
        T.func_attr({"op_pattern": 8, "tirx.noalias": True})
        # with T.sblock("root"):
        for iters_0, iters_1, iters_2 in T.grid(seq_len, 8, 16):
            with T.sblock("llama_fused_rope"):
                s, h, d = T.axis.remap("SSS", [iters_0, iters_1, iters_2])
                T.reads(position_map[s], qkv[s, h, d - 8:d - 8 + 17])
                T.writes(q[s, h, d], k[s, h - 4, d], v[s, h - 6, d])
                if h < 4:
                    freq = T.float32()
                    q[s, h, d] = T.if_then_else(apply_rope > T.int64(0) and d < 16, T.Let(T.cos(freq) * qkv[s, h, d] + T.sin(freq) * T.if_then_else(d < 8, qkv[s, h, d + 8] * T.float32(-1.0), qkv[s, h, d - 8]), where={freq: T.Cast("float32", position_map[s]) / T.pow(T.float32(10000.0), T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), qkv[s, h, d])
                else:
                    if h < 6:
                        freq = T.float32()
                        k[s, h - 4, d] = T.if_then_else(apply_rope > T.int64(0) and d < 16, T.Let(T.cos(freq) * qkv[s, h, d] + T.sin(freq) * T.if_then_else(d < 8, qkv[s, h, d + 8] * T.float32(-1.0), qkv[s, h, d - 8]), where={freq: T.Cast("float32", position_map[s]) / T.pow(T.float32(10000.0), T.Cast("float32", d * 2 % 16) / T.float32(16.0))}), qkv[s, h, d])
                    else:
                        v[s, h - 6, d] = qkv[s, h, d]

    @T.prim_func(s_tir=True)
    def merge_state_inplace_cpu(V: T.Buffer(("N", "H", "D"), "float32"), S: T.Buffer((N, H), "float32"), V_other: T.Buffer((N, H, D), "float32"), S_other: T.Buffer((N, H), "float32")):
        N, H, D = T.int32(), T.int32(), T.int32()
        T.func_attr({"tirx.is_scheduled": True})
        # with T.sblock("root"):
        for n, h in T.grid(N, H):
            with T.sblock("merge"):
                T.reads(S[n, h], S_other[n, h], V[n, h, 0:D], V_other[n, h, 0:D])
                T.writes(V[n, h, 0:D], S[n, h])
                s_val = T.sblock_alloc_buffer((1,))
                s_other_val = T.sblock_alloc_buffer((1,))
                s_max = T.sblock_alloc_buffer((1,))
                scale = T.sblock_alloc_buffer((1,))
                other_scale = T.sblock_alloc_buffer((1,))
                s_val[0] = S[n, h]
                s_other_val[0] = S_other[n, h]
                s_max[0] = T.max(s_val[0], s_other_val[0])
                s_val[0] = T.exp2(s_val[0] - s_max[0])
                s_other_val[0] = T.exp2(s_other_val[0] - s_max[0])
                scale[0] = s_val[0] / (s_val[0] + s_other_val[0])
                other_scale[0] = s_other_val[0] / (s_val[0] + s_other_val[0])
                for d in range(D):
                    V[n, h, d] = V[n, h, d] * scale[0] + V_other[n, h, d] * other_scale[0]
                S[n, h] = T.log2(s_val[0] + s_other_val[0]) + s_max[0]

    @T.prim_func(s_tir=True)
    def tir_kv_cache_debug_get_kv(pages: T.Buffer((num_pages, 2, 2, page_size, 16), "float32", elem_offset=pages_elem_offset), position_map: T.Buffer((seqlen,), "int32", elem_offset=position_map_elem_offset), k_data: T.Buffer((2, seqlen, 2, 16), "float32"), v_data: T.Buffer((2, seqlen, 2, 16), "float32"), layer_id: T.int64):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for p, h, d in T.grid(seqlen, 2, 16):
            with T.sblock("copy0"):
                vp, vh, vd = T.axis.remap("SSS", [p, h, d])
                T.reads(position_map[vp], pages[T.Cast("int64", position_map[vp]) // page_size, 0:2, vh, T.Cast("int64", position_map[vp]) % page_size, vd])
                T.writes(k_data[layer_id, vp, vh, vd], v_data[layer_id, vp, vh, vd])
                position: T.int32 = position_map[vp]
                k_data[layer_id, vp, vh, vd] = pages[T.Cast("int64", position) // page_size, 0, vh, T.Cast("int64", position) % page_size, vd]
                v_data[layer_id, vp, vh, vd] = pages[T.Cast("int64", position) // page_size, 1, vh, T.Cast("int64", position) % page_size, vd]

    @T.prim_func(s_tir=True)
    def tir_kv_cache_transpose_append(pages: T.Buffer((num_pages, 2, 2, 16, 16), "float32", elem_offset=pages_elem_offset), k_data: T.Buffer((ntoken, 2, 16), "float32"), v_data: T.Buffer((ntoken, 2, 16), "float32"), position_map: T.Buffer((ntoken,), "int32", offset_factor=1)):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for global_pos, h, f in T.grid(ntoken, 2, 16):
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
    def tir_kv_cache_transpose_append_mla(pages: T.Buffer((num_pages, 16, 16), "float32", elem_offset=pages_elem_offset), kv_data: T.Buffer((ntoken, 16), "float32"), position_map: T.Buffer((ntoken,), "int32", offset_factor=1)):
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
    def tree_attn_paged_kv_cpu(q: T.Buffer(("total_len", 4, 16), "float32"), q_indptr: T.Buffer(("batch_size + 1",), "int32", offset_factor=1), pages: T.Buffer(("max_num_pages", 2, 2, 16, 16), "float32"), page_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), page_values: T.Buffer(("nnz_pages",), "int32", offset_factor=1), length_info: T.Buffer((batch_size,), "int32", offset_factor=1), k_rope_pos_offset: T.Buffer((batch_size,), "int32", offset_factor=1), q_rope_position: T.Buffer((total_len,), "int32", offset_factor=1), output: T.Buffer((total_len, 4, 16), "float32"), lse: T.Buffer((total_len, 4), "float32"), rotary_mode: T.int32, rope_scale: T.float32, rope_theta: T.float32, sm_scale: T.float32, tree_order_indptr: T.Buffer((batch_size + 1,), "int32", offset_factor=1), tree_order: T.Buffer(("total_tree_order_len", 2), "int32", offset_factor=1)):
        total_len = T.int32()
        batch_size = T.int32()
        max_num_pages = T.int32()
        nnz_pages = T.int32()
        total_tree_order_len = T.int32()
        # with T.sblock("root"):
        assert rotary_mode == 0, ("RuntimeError", ["Inline rotary mode is not supported in tree attention."])
        for h_qo, b_idx in T.grid(4, batch_size):
            with T.sblock("attn"):
                T.reads()
                T.writes()
                O_local = T.sblock_alloc_buffer((16,))
                Q_local = T.sblock_alloc_buffer((16,))
                K_local = T.sblock_alloc_buffer((16,))
                V_local = T.sblock_alloc_buffer((16,))
                kv_chunk_len = T.sblock_alloc_buffer((1,), "int32")
                m_val = T.sblock_alloc_buffer((1,))
                new_m = T.sblock_alloc_buffer((1,))
                d_val = T.sblock_alloc_buffer((1,))
                S_val = T.sblock_alloc_buffer((1,))
                scale_O = T.sblock_alloc_buffer((1,))
                factor = T.sblock_alloc_buffer((1,))
                cur_page_indptr_begin: T.let[T.int32] = page_indptr[b_idx]
                cur_page_indptr_end: T.let[T.int32] = page_indptr[b_idx + 1]
                kv_chunk_len[0] = T.if_then_else(cur_page_indptr_begin != cur_page_indptr_end, (cur_page_indptr_end - cur_page_indptr_begin - 1) * 16 + length_info[b_idx], 0)
                for q_idx in range(q_indptr[b_idx + 1] - q_indptr[b_idx]):
                    m_val[0] = T.float32(-50000.0)
                    d_val[0] = T.float32(1.0)
                    for d_idx in range(16):
                        O_local[d_idx] = T.float32(0.0)
                    curl_q: T.let[T.int32] = q_indptr[b_idx] + q_idx
                    for d_idx in range(16):
                        freq = T.float32()
                        Q_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * q[curl_q, h_qo, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, q[curl_q, h_qo, d_idx + 8] * T.float32(-1.0), q[curl_q, h_qo, d_idx - 8]), where={freq: T.Cast("float32", q_rope_position[curl_q]) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), q[curl_q, h_qo, d_idx])
                    for row_idx in range(max_num_pages * 16):
                        if row_idx < kv_chunk_len[0]:
                            page_no: T.let[T.int32] = page_values[cur_page_indptr_begin + row_idx // 16]
                            page_offset: T.let[T.int32] = row_idx % 16
                            for d_idx in range(16):
                                freq = T.float32()
                                K_local[d_idx] = T.if_then_else(rotary_mode == 1, T.Let(T.cos(freq) * pages[page_no, 0, h_qo // 2, page_offset, d_idx] + T.sin(freq) * T.if_then_else(d_idx < 8, pages[page_no, 0, h_qo // 2, page_offset, d_idx + 8] * T.float32(-1.0), pages[page_no, 0, h_qo // 2, page_offset, d_idx - 8]), where={freq: T.Cast("float32", k_rope_pos_offset[b_idx] + row_idx) * rope_scale / T.pow(rope_theta, T.Cast("float32", d_idx * 2 % 16) / T.float32(16.0))}), pages[page_no, 0, h_qo // 2, page_offset, d_idx])
                                V_local[d_idx] = pages[page_no, 1, h_qo // 2, page_offset, d_idx]
                            S_val[0] = T.float32(0.0)
                            for d_idx in range(16):
                                S_val[0] = S_val[0] + Q_local[d_idx] * K_local[d_idx]
                            S_val[0] = S_val[0] * (sm_scale * T.float32(1.4426950408889634))
                            if row_idx < kv_chunk_len[0] and (row_idx < kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) or tree_order[tree_order_indptr[b_idx] + (q_idx + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] >= tree_order[tree_order_indptr[b_idx] + (row_idx - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 0] and tree_order[tree_order_indptr[b_idx] + (q_idx + (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]) - (q_indptr[b_idx + 1] - q_indptr[b_idx])), 0] < tree_order[tree_order_indptr[b_idx] + (row_idx - (kv_chunk_len[0] - (tree_order_indptr[b_idx + 1] - tree_order_indptr[b_idx]))), 1]):
                                new_m[0] = T.max(m_val[0], S_val[0])
                            else:
                                S_val[0] = T.float32(-50000.0)
                            d_val[0] = d_val[0] * T.exp2(m_val[0] - new_m[0])
                            d_val[0] = d_val[0] + T.exp2(S_val[0] - new_m[0])
                            scale_O[0] = T.exp2(m_val[0] - new_m[0])
                            m_val[0] = new_m[0]
                            factor[0] = T.exp2(S_val[0] - m_val[0])
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] * scale_O[d_idx]
                            for d_idx in range(16):
                                O_local[d_idx] = O_local[d_idx] + V_local[d_idx] * factor[0]
                    for d_idx in range(16):
                        O_local[d_idx] = O_local[d_idx] / d_val[0]
                        output[curl_q, h_qo, d_idx] = O_local[d_idx]
                    lse[curl_q, h_qo] = m_val[0] + T.log2(d_val[0])

    @R.function
    def create_cache(max_batch_size_1: R.Shape([max_batch_size]), max_total_seq_len_1: R.Shape([max_total_seq_len]), prefill_chunk_size_1: R.Shape([prefill_chunk_size]), page_size_1: R.Shape([page_size]), support_sliding_window_1: R.Shape([support_sliding_window])) -> R.Any:
        R.func_attr({"num_input": 5})
        cls = Module
        with R.dataflow():
            lv4: R.Tensor((), dtype="float32") = R.zeros(R.shape([]), dtype="float32")
            paged_kv_cache: R.Any = R.call_pure_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([max_batch_size, max_total_seq_len, prefill_chunk_size, page_size, support_sliding_window, 1024]), R.shape([0, 2]), 4, 2, 16, 16, R.shape([0, 0]), False, 1, 1, 10000, 0, lv4, cls.tir_kv_cache_transpose_append, cls.tir_kv_cache_transpose_append_mla, (R.str("tirx"), cls.batch_prefill_ragged_kv), (R.str("tirx"), cls.batch_prefill_paged_kv_cpu), (R.str("tirx"), cls.batch_decode_paged_kv_cpu), (R.str("tirx"), cls.batch_prefill_paged_kv_cpu_sliding_window), (R.str("tirx"), cls.batch_decode_paged_kv_cpu_sliding_window), (R.str("tirx"), cls.batch_tree_attn), (R.str("tirx"), cls.tree_attn_paged_kv_cpu), R.tuple(), (cls.merge_state_inplace_cpu,), cls.fused_rope, cls.copy_single_page_cpu, cls.tir_kv_cache_debug_get_kv, cls.compact_kv_copy_cpu, ty_args=(R.Any,))
            gv2: R.Any = paged_kv_cache
            R.output(gv2)
        return gv2

    @R.function
    def decode(ids: R.Tensor((b, 1), dtype="int32"), kv: R.Any, packed_params: R.Tuple(R.Tensor((50, 64), dtype="float32"), R.Tensor((128, 64), dtype="float32"), R.Tensor((64, 64), dtype="float32"), R.Tensor((192, 64), dtype="float32"), R.Tensor((64, 96), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((128, 64), dtype="float32"), R.Tensor((64, 64), dtype="float32"), R.Tensor((192, 64), dtype="float32"), R.Tensor((64, 96), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((50, 64), dtype="float32"))) -> R.Tuple(R.Tensor((b, 1, 50), dtype="float32"), R.Any):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            embed_weight1: R.Tensor((50, 64), dtype="float32") = packed_params[0]
            layers_0_a_qkv_weight1: R.Tensor((128, 64), dtype="float32") = packed_params[1]
            layers_0_a_o_weight1: R.Tensor((64, 64), dtype="float32") = packed_params[2]
            layers_0_m_up_weight1: R.Tensor((192, 64), dtype="float32") = packed_params[3]
            layers_0_m_down_weight1: R.Tensor((64, 96), dtype="float32") = packed_params[4]
            layers_0_n1_weight1: R.Tensor((64,), dtype="float32") = packed_params[5]
            layers_0_n2_weight1: R.Tensor((64,), dtype="float32") = packed_params[6]
            layers_1_a_qkv_weight1: R.Tensor((128, 64), dtype="float32") = packed_params[7]
            layers_1_a_o_weight1: R.Tensor((64, 64), dtype="float32") = packed_params[8]
            layers_1_m_up_weight1: R.Tensor((192, 64), dtype="float32") = packed_params[9]
            layers_1_m_down_weight1: R.Tensor((64, 96), dtype="float32") = packed_params[10]
            layers_1_n1_weight1: R.Tensor((64,), dtype="float32") = packed_params[11]
            layers_1_n2_weight1: R.Tensor((64,), dtype="float32") = packed_params[12]
            norm_weight1: R.Tensor((64,), dtype="float32") = packed_params[13]
            head_weight1: R.Tensor((50, 64), dtype="float32") = packed_params[14]
            reshape10: R.Tensor((b,), dtype="int32") = R.reshape(ids, R.shape([b]))
            take1: R.Tensor((b, 64), dtype="float32") = R.take(embed_weight1, reshape10, axis=0, mode="fast")
            reshape11: R.Tensor((b, 1, 64), dtype="float32") = R.reshape(take1, R.shape([b, 1, 64]))
            rms_norm5: R.Tensor((b, 1, 64), dtype="float32") = R.nn.rms_norm(reshape11, layers_0_n1_weight1, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims9: R.Tensor((64, 128), dtype="float32") = R.permute_dims(layers_0_a_qkv_weight1, axes=None)
            matmul9: R.Tensor((b, 1, 128), dtype="float32") = R.matmul(rms_norm5, permute_dims9, out_dtype=None)
            reshape12: R.Tensor((b, 1, 8, 16), dtype="float32") = R.reshape(matmul9, R.shape([b, 1, 8, 16]))
            reshape13: R.Tensor((b, 8, 16), dtype="float32") = R.reshape(reshape12, R.shape([b, 8, 16]))
            lv2 = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, 0, T.float64(0.25), reshape13), out_ty=R.Tensor((b, 4, 16), dtype="float32"))
            reshape14: R.Tensor((b, 1, 4, 16), dtype="float32") = R.reshape(lv2, R.shape([b, 1, 4, 16]))
            reshape15: R.Tensor((b, 1, 64), dtype="float32") = R.reshape(reshape14, R.shape([b, 1, 64]))
            permute_dims10: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_0_a_o_weight1, axes=None)
            matmul10: R.Tensor((b, 1, 64), dtype="float32") = R.matmul(reshape15, permute_dims10, out_dtype=None)
            add4: R.Tensor((b, 1, 64), dtype="float32") = R.add(reshape11, matmul10)
            rms_norm6: R.Tensor((b, 1, 64), dtype="float32") = R.nn.rms_norm(add4, layers_0_n2_weight1, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims11: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_0_m_up_weight1, axes=None)
            matmul11: R.Tensor((b, 1, 192), dtype="float32") = R.matmul(rms_norm6, permute_dims11, out_dtype=None)
            split2: R.Tuple(R.Tensor((b, 1, 96), dtype="float32"), R.Tensor((b, 1, 96), dtype="float32")) = R.split(matmul11, indices_or_sections=2, axis=-1)
            split_02: R.Tensor((b, 1, 96), dtype="float32") = split2[0]
            split_12: R.Tensor((b, 1, 96), dtype="float32") = split2[1]
            silu2: R.Tensor((b, 1, 96), dtype="float32") = R.nn.silu(split_02)
            mul2: R.Tensor((b, 1, 96), dtype="float32") = R.multiply(silu2, split_12)
            permute_dims12: R.Tensor((96, 64), dtype="float32") = R.permute_dims(layers_0_m_down_weight1, axes=None)
            matmul12: R.Tensor((b, 1, 64), dtype="float32") = R.matmul(mul2, permute_dims12, out_dtype=None)
            add5: R.Tensor((b, 1, 64), dtype="float32") = R.add(add4, matmul12)
            rms_norm7: R.Tensor((b, 1, 64), dtype="float32") = R.nn.rms_norm(add5, layers_1_n1_weight1, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims13: R.Tensor((64, 128), dtype="float32") = R.permute_dims(layers_1_a_qkv_weight1, axes=None)
            matmul13: R.Tensor((b, 1, 128), dtype="float32") = R.matmul(rms_norm7, permute_dims13, out_dtype=None)
            reshape16: R.Tensor((b, 1, 8, 16), dtype="float32") = R.reshape(matmul13, R.shape([b, 1, 8, 16]))
            reshape17: R.Tensor((b, 8, 16), dtype="float32") = R.reshape(reshape16, R.shape([b, 8, 16]))
            lv3 = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, 1, T.float64(0.25), reshape17), out_ty=R.Tensor((b, 4, 16), dtype="float32"))
            reshape18: R.Tensor((b, 1, 4, 16), dtype="float32") = R.reshape(lv3, R.shape([b, 1, 4, 16]))
            reshape19: R.Tensor((b, 1, 64), dtype="float32") = R.reshape(reshape18, R.shape([b, 1, 64]))
            permute_dims14: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_1_a_o_weight1, axes=None)
            matmul14: R.Tensor((b, 1, 64), dtype="float32") = R.matmul(reshape19, permute_dims14, out_dtype=None)
            add6: R.Tensor((b, 1, 64), dtype="float32") = R.add(add5, matmul14)
            rms_norm8: R.Tensor((b, 1, 64), dtype="float32") = R.nn.rms_norm(add6, layers_1_n2_weight1, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims15: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_1_m_up_weight1, axes=None)
            matmul15: R.Tensor((b, 1, 192), dtype="float32") = R.matmul(rms_norm8, permute_dims15, out_dtype=None)
            split3: R.Tuple(R.Tensor((b, 1, 96), dtype="float32"), R.Tensor((b, 1, 96), dtype="float32")) = R.split(matmul15, indices_or_sections=2, axis=-1)
            split_03: R.Tensor((b, 1, 96), dtype="float32") = split3[0]
            split_13: R.Tensor((b, 1, 96), dtype="float32") = split3[1]
            silu3: R.Tensor((b, 1, 96), dtype="float32") = R.nn.silu(split_03)
            mul3: R.Tensor((b, 1, 96), dtype="float32") = R.multiply(silu3, split_13)
            permute_dims16: R.Tensor((96, 64), dtype="float32") = R.permute_dims(layers_1_m_down_weight1, axes=None)
            matmul16: R.Tensor((b, 1, 64), dtype="float32") = R.matmul(mul3, permute_dims16, out_dtype=None)
            add7: R.Tensor((b, 1, 64), dtype="float32") = R.add(add6, matmul16)
            rms_norm9: R.Tensor((b, 1, 64), dtype="float32") = R.nn.rms_norm(add7, norm_weight1, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims17: R.Tensor((64, 50), dtype="float32") = R.permute_dims(head_weight1, axes=None)
            matmul17: R.Tensor((b, 1, 50), dtype="float32") = R.matmul(rms_norm9, permute_dims17, out_dtype=None)
            gv1: R.Tuple(R.Tensor((b, 1, 50), dtype="float32"), R.Any) = matmul17, kv
            R.output(gv1)
        return gv1

    @R.function
    def prefill(ids: R.Tensor((1, s), dtype="int32"), kv: R.Any, packed_params: R.Tuple(R.Tensor((50, 64), dtype="float32"), R.Tensor((128, 64), dtype="float32"), R.Tensor((64, 64), dtype="float32"), R.Tensor((192, 64), dtype="float32"), R.Tensor((64, 96), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((128, 64), dtype="float32"), R.Tensor((64, 64), dtype="float32"), R.Tensor((192, 64), dtype="float32"), R.Tensor((64, 96), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((50, 64), dtype="float32"))) -> R.Tuple(R.Tensor((1, s, 50), dtype="float32"), R.Any):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            embed_weight: R.Tensor((50, 64), dtype="float32") = packed_params[0]
            layers_0_a_qkv_weight: R.Tensor((128, 64), dtype="float32") = packed_params[1]
            layers_0_a_o_weight: R.Tensor((64, 64), dtype="float32") = packed_params[2]
            layers_0_m_up_weight: R.Tensor((192, 64), dtype="float32") = packed_params[3]
            layers_0_m_down_weight: R.Tensor((64, 96), dtype="float32") = packed_params[4]
            layers_0_n1_weight: R.Tensor((64,), dtype="float32") = packed_params[5]
            layers_0_n2_weight: R.Tensor((64,), dtype="float32") = packed_params[6]
            layers_1_a_qkv_weight: R.Tensor((128, 64), dtype="float32") = packed_params[7]
            layers_1_a_o_weight: R.Tensor((64, 64), dtype="float32") = packed_params[8]
            layers_1_m_up_weight: R.Tensor((192, 64), dtype="float32") = packed_params[9]
            layers_1_m_down_weight: R.Tensor((64, 96), dtype="float32") = packed_params[10]
            layers_1_n1_weight: R.Tensor((64,), dtype="float32") = packed_params[11]
            layers_1_n2_weight: R.Tensor((64,), dtype="float32") = packed_params[12]
            norm_weight: R.Tensor((64,), dtype="float32") = packed_params[13]
            head_weight: R.Tensor((50, 64), dtype="float32") = packed_params[14]
            reshape: R.Tensor((s,), dtype="int32") = R.reshape(ids, R.shape([s]))
            take: R.Tensor((s, 64), dtype="float32") = R.take(embed_weight, reshape, axis=0, mode="fast")
            reshape1: R.Tensor((1, s, 64), dtype="float32") = R.reshape(take, R.shape([1, s, 64]))
            rms_norm: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(reshape1, layers_0_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims: R.Tensor((64, 128), dtype="float32") = R.permute_dims(layers_0_a_qkv_weight, axes=None)
            matmul: R.Tensor((1, s, 128), dtype="float32") = R.matmul(rms_norm, permute_dims, out_dtype=None)
            reshape2: R.Tensor((1, s, 8, 16), dtype="float32") = R.reshape(matmul, R.shape([1, s, 8, 16]))
            reshape3: R.Tensor((s, 8, 16), dtype="float32") = R.reshape(reshape2, R.shape([s, 8, 16]))
            lv = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, 0, T.float64(0.25), reshape3), out_ty=R.Tensor((s, 4, 16), dtype="float32"))
            reshape4: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(lv, R.shape([1, s, 4, 16]))
            reshape5: R.Tensor((1, s, 64), dtype="float32") = R.reshape(reshape4, R.shape([1, s, 64]))
            permute_dims1: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_0_a_o_weight, axes=None)
            matmul1: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape5, permute_dims1, out_dtype=None)
            add: R.Tensor((1, s, 64), dtype="float32") = R.add(reshape1, matmul1)
            rms_norm1: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add, layers_0_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims2: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_0_m_up_weight, axes=None)
            matmul2: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm1, permute_dims2, out_dtype=None)
            split: R.Tuple(R.Tensor((1, s, 96), dtype="float32"), R.Tensor((1, s, 96), dtype="float32")) = R.split(matmul2, indices_or_sections=2, axis=-1)
            split_0: R.Tensor((1, s, 96), dtype="float32") = split[0]
            split_1: R.Tensor((1, s, 96), dtype="float32") = split[1]
            silu: R.Tensor((1, s, 96), dtype="float32") = R.nn.silu(split_0)
            mul: R.Tensor((1, s, 96), dtype="float32") = R.multiply(silu, split_1)
            permute_dims3: R.Tensor((96, 64), dtype="float32") = R.permute_dims(layers_0_m_down_weight, axes=None)
            matmul3: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul, permute_dims3, out_dtype=None)
            add1: R.Tensor((1, s, 64), dtype="float32") = R.add(add, matmul3)
            rms_norm2: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add1, layers_1_n1_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims4: R.Tensor((64, 128), dtype="float32") = R.permute_dims(layers_1_a_qkv_weight, axes=None)
            matmul4: R.Tensor((1, s, 128), dtype="float32") = R.matmul(rms_norm2, permute_dims4, out_dtype=None)
            reshape6: R.Tensor((1, s, 8, 16), dtype="float32") = R.reshape(matmul4, R.shape([1, s, 8, 16]))
            reshape7: R.Tensor((s, 8, 16), dtype="float32") = R.reshape(reshape6, R.shape([s, 8, 16]))
            lv1 = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (kv, 1, T.float64(0.25), reshape7), out_ty=R.Tensor((s, 4, 16), dtype="float32"))
            reshape8: R.Tensor((1, s, 4, 16), dtype="float32") = R.reshape(lv1, R.shape([1, s, 4, 16]))
            reshape9: R.Tensor((1, s, 64), dtype="float32") = R.reshape(reshape8, R.shape([1, s, 64]))
            permute_dims5: R.Tensor((64, 64), dtype="float32") = R.permute_dims(layers_1_a_o_weight, axes=None)
            matmul5: R.Tensor((1, s, 64), dtype="float32") = R.matmul(reshape9, permute_dims5, out_dtype=None)
            add2: R.Tensor((1, s, 64), dtype="float32") = R.add(add1, matmul5)
            rms_norm3: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add2, layers_1_n2_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims6: R.Tensor((64, 192), dtype="float32") = R.permute_dims(layers_1_m_up_weight, axes=None)
            matmul6: R.Tensor((1, s, 192), dtype="float32") = R.matmul(rms_norm3, permute_dims6, out_dtype=None)
            split1: R.Tuple(R.Tensor((1, s, 96), dtype="float32"), R.Tensor((1, s, 96), dtype="float32")) = R.split(matmul6, indices_or_sections=2, axis=-1)
            split_01: R.Tensor((1, s, 96), dtype="float32") = split1[0]
            split_11: R.Tensor((1, s, 96), dtype="float32") = split1[1]
            silu1: R.Tensor((1, s, 96), dtype="float32") = R.nn.silu(split_01)
            mul1: R.Tensor((1, s, 96), dtype="float32") = R.multiply(silu1, split_11)
            permute_dims7: R.Tensor((96, 64), dtype="float32") = R.permute_dims(layers_1_m_down_weight, axes=None)
            matmul7: R.Tensor((1, s, 64), dtype="float32") = R.matmul(mul1, permute_dims7, out_dtype=None)
            add3: R.Tensor((1, s, 64), dtype="float32") = R.add(add2, matmul7)
            rms_norm4: R.Tensor((1, s, 64), dtype="float32") = R.nn.rms_norm(add3, norm_weight, axes=[-1], epsilon=1.0000000000000001e-05)
            permute_dims8: R.Tensor((64, 50), dtype="float32") = R.permute_dims(head_weight, axes=None)
            matmul8: R.Tensor((1, s, 50), dtype="float32") = R.matmul(rms_norm4, permute_dims8, out_dtype=None)
            gv: R.Tuple(R.Tensor((1, s, 50), dtype="float32"), R.Any) = matmul8, kv
            R.output(gv)
        return gv