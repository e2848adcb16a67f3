# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

s = TypeVar("s")
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(lv1: T.Buffer((T.int64(1), T.int64(8)), "float32"), place: T.Buffer((T.int64(1), T.int64(8)), "float32"), T_add: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), T.int64(8)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(lv1[v_ax0, v_ax1], place[v_ax0, v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = lv1[v_ax0, v_ax1] + place[v_ax0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def add1(lv1: T.Buffer((s, T.int64(8)), "float32"), place: T.Buffer((s, T.int64(8)), "float32"), T_add: T.Buffer((s, T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(s, T.int64(8)):
            with T.sblock("T_add"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(lv1[v_ax0, v_ax1], place[v_ax0, v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = lv1[v_ax0, v_ax1] + place[v_ax0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def cumsum(ones: T.Buffer((s,), "int64"), T_scan: T.Buffer((s,), "int64")):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            T.reads()
            T.writes()
            with T.sblock("T_scan"):
                vi = T.axis.spatial(T.int64(1), T.int64(0))
                for k in range(s):
                    if k == T.int64(0):
                        T_scan[k] = ones[k]
                    else:
                        T_scan[k] = T_scan[k - T.int64(1)] + ones[k]

    @T.prim_func(private=True, s_tir=True)
    def matmul(lv2: T.Buffer((T.int64(1), T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(8)), "float32"), matmul: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(1), T.int64(8), T.int64(8)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(lv2[v_ax0, v_k0], w[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + lv2[v_ax0, v_k0] * w[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def matmul1(key: T.Buffer((T.int64(1), T.int64(8)), "float32"), lv3: T.Buffer((T.int64(8), n), "float32"), matmul: T.Buffer((T.int64(1), n), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(1), n, T.int64(8)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(key[v_ax0, v_k0], lv3[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + key[v_ax0, v_k0] * lv3[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def matmul2(weights: T.Buffer((T.int64(1), n), "float32"), keys: T.Buffer((n, T.int64(8)), "float32"), matmul: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(T.int64(1), T.int64(8), n):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(weights[v_ax0, v_k0], keys[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + weights[v_ax0, v_k0] * keys[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def matmul3(lv2: T.Buffer((s, T.int64(8)), "float32"), w: T.Buffer((T.int64(8), T.int64(8)), "float32"), matmul: T.Buffer((s, T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k0 in T.grid(s, T.int64(8), T.int64(8)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k0 = T.axis.remap("SSR", [ax0, ax1, k0])
                T.reads(lv2[v_ax0, v_k0], w[v_k0, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + lv2[v_ax0, v_k0] * w[v_k0, v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def ones(n: T.int64, T_full: T.Buffer(("n - T.int64(1)",), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(n - T.int64(1)):
            with T.sblock("T_full"):
                v_ax0 = T.axis.spatial(n - T.int64(1), ax0)
                T.reads()
                T.writes(T_full[v_ax0])
                T_full[v_ax0] = T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def ones1(T_full: T.Buffer((s,), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(s):
            with T.sblock("T_full"):
                v_ax0 = T.axis.spatial(s, ax0)
                T.reads()
                T.writes(T_full[v_ax0])
                T_full[v_ax0] = T.int64(1)

    @T.prim_func(private=True, s_tir=True)
    def softmax(lv4: T.Buffer((T.int64(1), n), "float32"), T_softmax_norm: T.Buffer((T.int64(1), n), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        T_softmax_maxelem = T.sblock_alloc_buffer((T.int64(1),))
        T_softmax_exp = T.sblock_alloc_buffer((T.int64(1), n))
        T_softmax_expsum = T.sblock_alloc_buffer((T.int64(1),))
        for ax0, k0 in T.grid(T.int64(1), n):
            with T.sblock("T_softmax_maxelem"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(lv4[v_ax0, v_k0])
                T.writes(T_softmax_maxelem[v_ax0])
                with T.init():
                    T_softmax_maxelem[v_ax0] = T.float32(-3.4028234663852886e+38)
                T_softmax_maxelem[v_ax0] = T.max(T_softmax_maxelem[v_ax0], lv4[v_ax0, v_k0])
        for ax0, ax1 in T.grid(T.int64(1), n):
            with T.sblock("T_softmax_exp"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(lv4[v_ax0, v_ax1], T_softmax_maxelem[v_ax0])
                T.writes(T_softmax_exp[v_ax0, v_ax1])
                T_softmax_exp[v_ax0, v_ax1] = T.exp(lv4[v_ax0, v_ax1] - T_softmax_maxelem[v_ax0])
        for ax0, k0 in T.grid(T.int64(1), n):
            with T.sblock("T_softmax_expsum"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(T_softmax_exp[v_ax0, v_k0])
                T.writes(T_softmax_expsum[v_ax0])
                with T.init():
                    T_softmax_expsum[v_ax0] = T.float32(0.0)
                T_softmax_expsum[v_ax0] = T_softmax_expsum[v_ax0] + T_softmax_exp[v_ax0, v_k0]
        for ax0, ax1 in T.grid(T.int64(1), n):
            with T.sblock("T_softmax_norm"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(T_softmax_exp[v_ax0, v_ax1], T_softmax_expsum[v_ax0])
                T.writes(T_softmax_norm[v_ax0, v_ax1])
                T.sblock_attr({"axis": 1})
                T_softmax_norm[v_ax0, v_ax1] = T_softmax_exp[v_ax0, v_ax1] / T_softmax_expsum[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def subtract(lv: T.Buffer((s,), "int64"), ones: T.Buffer((s,), "int64"), T_subtract: T.Buffer((s,), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(s):
            with T.sblock("T_subtract"):
                v_ax0 = T.axis.spatial(s, ax0)
                T.reads(lv[v_ax0], ones[v_ax0])
                T.writes(T_subtract[v_ax0])
                T_subtract[v_ax0] = lv[v_ax0] - ones[v_ax0]

    @T.prim_func(private=True, s_tir=True)
    def sum(lv: T.Buffer(("n - T.int64(1)",), "int64"), n: T.int64, lv_red: T.Buffer((T.int64(1),), "int64")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, k0 in T.grid(T.int64(1), n - T.int64(1)):
            with T.sblock("lv_red"):
                v_ax0, v_k0 = T.axis.remap("SR", [ax0, k0])
                T.reads(lv[v_k0])
                T.writes(lv_red[v_ax0])
                with T.init():
                    lv_red[v_ax0] = T.int64(0)
                lv_red[v_ax0] = lv_red[v_ax0] + lv[v_k0]

    @T.prim_func(private=True, s_tir=True)
    def take(places: T.Buffer((T.int64(16), T.int64(8)), "float32"), count: T.Buffer((T.int64(1),), "int64"), T_take: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), T.int64(8)):
            with T.sblock("T_take"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(places[T.int64(0):T.int64(16), T.int64(0):T.int64(8)], count[v_ax0])
                T.writes(T_take[v_ax0, v_ax1])
                T_take[v_ax0, v_ax1] = places[count[v_ax0], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def take1(words: T.Buffer((T.int64(32), T.int64(8)), "float32"), token: T.Buffer((T.int64(1),), "int64"), T_take: T.Buffer((T.int64(1), T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(1), T.int64(8)):
            with T.sblock("T_take"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(words[T.int64(0):T.int64(32), T.int64(0):T.int64(8)], token[v_ax0])
                T.writes(T_take[v_ax0, v_ax1])
                T_take[v_ax0, v_ax1] = words[token[v_ax0], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def take2(places: T.Buffer((T.int64(16), T.int64(8)), "float32"), order: T.Buffer((s,), "int64"), T_take: T.Buffer((s, T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(s, T.int64(8)):
            with T.sblock("T_take"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(places[T.int64(0):T.int64(16), T.int64(0):T.int64(8)], order[v_ax0])
                T.writes(T_take[v_ax0, v_ax1])
                T_take[v_ax0, v_ax1] = places[order[v_ax0], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def take3(words: T.Buffer((T.int64(32), T.int64(8)), "float32"), tokens: T.Buffer((s,), "int64"), T_take: T.Buffer((s, T.int64(8)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(s, T.int64(8)):
            with T.sblock("T_take"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(words[T.int64(0):T.int64(32), T.int64(0):T.int64(8)], tokens[v_ax0])
                T.writes(T_take[v_ax0, v_ax1])
                T_take[v_ax0, v_ax1] = words[tokens[v_ax0], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def transpose(keys: T.Buffer((n, T.int64(8)), "float32"), T_transpose: T.Buffer((T.int64(8), n), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(T.int64(8), n):
            with T.sblock("T_transpose"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(keys[v_ax1, v_ax0])
                T.writes(T_transpose[v_ax0, v_ax1])
                T_transpose[v_ax0, v_ax1] = keys[v_ax1, v_ax0]

    @R.function
    def prefill(tokens: R.Tensor((s,), dtype="int64"), words: R.Tensor((32, 8), dtype="float32"), places: R.Tensor((16, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((s, 8), dtype="float32"):
        cls = Module
        with R.dataflow():
            ones = R.call_tir(cls.ones1, R.tuple(), out_ty=R.Tensor((s,), dtype="int64"))
            lv = R.call_tir(cls.cumsum, (ones,), out_ty=R.Tensor((s,), dtype="int64"))
            order = R.call_tir(cls.subtract, (lv, ones), out_ty=R.Tensor((s,), dtype="int64"))
            place = R.call_tir(cls.take2, (places, order), out_ty=R.Tensor((s, 8), dtype="float32"))
            lv1 = R.call_tir(cls.take3, (words, tokens), out_ty=R.Tensor((s, 8), dtype="float32"))
            lv2 = R.call_tir(cls.add1, (lv1, place), out_ty=R.Tensor((s, 8), dtype="float32"))
            keys = R.call_tir(cls.matmul3, (lv2, w), out_ty=R.Tensor((s, 8), dtype="float32"))
            R.output(keys)
        return keys

    @R.function
    def decode(token: R.Tensor((1,), dtype="int64"), keys: R.Tensor((n, 8), dtype="float32"), words: R.Tensor((32, 8), dtype="float32"), places: R.Tensor((16, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((1, 8), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.ones, (n,), out_ty=R.Tensor((n - 1,), dtype="int64"))
            count = R.call_tir(cls.sum, (lv, n), out_ty=R.Tensor((1,), dtype="int64"))
            place = R.call_tir(cls.take, (places, count), out_ty=R.Tensor((1, 8), dtype="float32"))
            lv1 = R.call_tir(cls.take1, (words, token), out_ty=R.Tensor((1, 8), dtype="float32"))
            lv2 = R.call_tir(cls.add, (lv1, place), out_ty=R.Tensor((1, 8), dtype="float32"))
            key = R.call_tir(cls.matmul, (lv2, w), out_ty=R.Tensor((1, 8), dtype="float32"))
            lv3 = R.call_tir(cls.transpose, (keys,), out_ty=R.Tensor((8, n), dtype="float32"))
            lv4 = R.call_tir(cls.matmul1, (key, lv3), out_ty=R.Tensor((1, n), dtype="float32"))
            weights = R.call_tir(cls.softmax, (lv4,), out_ty=R.Tensor((1, n), dtype="float32"))
            mixed = R.call_tir(cls.matmul2, (weights, keys), out_ty=R.Tensor((1, 8), dtype="float32"))
            R.output(mixed)
        return mixed
