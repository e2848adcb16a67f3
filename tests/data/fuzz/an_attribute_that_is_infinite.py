@T.prim_func(s_tir=True)
def max_pool2d(lv17: T.Buffer((T.int64(2), T.int64(4), T.int64(8), T.int64(8)), "float32"), pool_max: T.Buffer((T.int64(2), T.int64(4), T.int64(4), T.int64(4)), "float32")):
    T.func_attr({"op_pattern":1e4004, "tirx.noalias": True})
    # with T.sblock("root"):
    for ax0, ax1, ax2, ax3, rv0, rv1 in T.grid(T.int64(2), T.int64(4), T.int64(4), T.int64(4), T.int64(2), T.int64(2)):
        with T.sblock("pool_max"):
            v_ax0, v_ax1, v_ax2, v_ax3, v_rv0, v_rv1 = T.axis.remap("SSSSRR", [ax0, ax1, ax2, ax3, rv0, rv1])
            T.reads(lv17[v_ax0, v_ax1, v_ax2 * T.int64(2) + v_rv0, v_ax3 * T.int64(2) + v_rv1])
            T.writes(pool_max[v_ax0, v_ax1, v_ax2, v_ax3])
            T.sblock_attr({"schedule_rule": "meta_schedule.pool_max"})
            with T.init():
                pool_max[v_ax0, v_ax1, v_ax2, v_ax3] = T.float32(-340282346638528859811704183484516925440.0)
            pool_max[v_ax0, v_ax1, v_ax2, v_ax3] = T.max(pool_max[v_ax0, v_ax1, v_ax2, v_ax3], lv17[v_ax0, v_ax1, v_ax2 * T.int64(2) + v_rv0, v_ax3 * T.int64(2) + v_rv1])
