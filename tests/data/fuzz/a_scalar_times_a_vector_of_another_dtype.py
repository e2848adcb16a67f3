@T.prim_func(s_tir=True)
def copy_single_page_cpu(pages: T.Buffer(("num_pages", 2, 4, page_size, 16), "float16"), src_page_id: T.int64, tgt_page_id: T.int64, copy_length: T.int64):
    num_pages = T.int32()
    T.func_attr({"tirx.is_scheduled": True})
    # with T.sblock("root"):
    for b, t in T.grid(copy_length * T.int64(64), 1):
        with T.sblock("copy"):
            vh = T.axis.spatial(4, T.Cast("int32", (b + T.Cast("int64", t)) // (copy_length * T.float32x4(16))))
            vp = T.axis.spatial(copy_length, (b + T.Cast("int64", t)) % (copy_length * T.int64(16)) // T.int64(16))
            vd = T.axis.spatial(16, T.Cast("int32", (b + T.Cast("int64", t)) % T.int64(16)))
            T.where(b + T.Cast("int64", t) < copy_length * T.int64(4) * T.int64(16))
            T.reads(pages[src_page_id, 0:2, vh, vp, vd])
            T.writes(pages[tgt_page_id, 0:2, vh, vp, vd])
            pages[tgt_page_id, 0, vh, vp, vd] = pages[src_page_id, 0, vh, vp, vd]
            pages[tgt_page_id, 1, vh, vp, vd] = pages[src_page_id, 1, vh, vp, vd]
