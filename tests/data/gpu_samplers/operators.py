# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

b = TypeVar("b")
batch = TypeVar("batch")
vocab_size = TypeVar("vocab_size")
out_batch = TypeVar("out_batch")
m = TypeVar("m")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def filter_with_top_p_top_k(prob: T.Buffer((b, T.int64(300)), "float32"), lv2: T.Buffer((b, T.int64(1)), "float32"), filter_with_top_p_top_k: T.Buffer((b, T.int64(300)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for i, j in T.grid(b, T.int64(300)):
            with T.sblock("filter_with_top_p_top_k"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(lv2[v_i, T.int64(0)], prob[v_i, v_j])
                T.writes(filter_with_top_p_top_k[v_i, v_j])
                filter_with_top_p_top_k[v_i, v_j] = T.Select(lv2[v_i, T.int64(0)] <= prob[v_i, v_j], prob[v_i, v_j], T.float32(0.0))

    @T.prim_func(private=True, s_tir=True)
    def get_index_from_sorted(cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), indices: T.Buffer((batch, vocab_size), "int32"), renorm_prob: T.Buffer((batch, 1), "float32"), usample: T.Buffer((out_batch, 1), "float32"), sample_indices: T.Buffer((out_batch, 1), "int64"), output_index: T.Buffer((out_batch, 1), "int32")):
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(out_batch, vocab_size):
            with T.sblock("T_get_index_from_sorted"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(usample[v_ax0, T.int64(0)], cumsum_sorted[sample_indices[v_ax0, T.int64(0)], v_ax1 - T.int64(1):v_ax1 - T.int64(1) + T.int64(2)], sample_indices[v_ax0, T.int64(0)], renorm_prob[sample_indices[v_ax0, T.int64(0)], 0], indices[sample_indices[v_ax0, T.int64(0)], T.min(T.int64(0), v_ax1):T.min(T.int64(0), v_ax1) + (T.max(T.int64(0), v_ax1) + T.int64(1) - T.min(T.int64(0), v_ax1))])
                T.writes(output_index[v_ax0, 0])
                if usample[v_ax0, T.int64(0)] < cumsum_sorted[sample_indices[v_ax0, T.int64(0)], v_ax1] / renorm_prob[sample_indices[v_ax0, T.int64(0)], 0] or v_ax1 + T.int64(1) == vocab_size:
                    if v_ax1 == T.int64(0):
                        output_index[v_ax0, 0] = indices[sample_indices[v_ax0, T.int64(0)], 0]
                    else:
                        if usample[v_ax0, T.int64(0)] >= cumsum_sorted[sample_indices[v_ax0, T.int64(0)], v_ax1 - T.int64(1)] / renorm_prob[sample_indices[v_ax0, T.int64(0)], 0]:
                            output_index[v_ax0, 0] = indices[sample_indices[v_ax0, T.int64(0)], v_ax1]

    @T.prim_func(private=True, s_tir=True)
    def get_renorm_cutoff(sorted_prob: T.Buffer((batch, vocab_size), "float32"), cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), top_p: T.Buffer((batch, 1), "float32"), top_k: T.Buffer((batch, 1), "int32"), cutoff: T.Buffer((batch, 1), "float32")):
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(batch, vocab_size):
            with T.sblock("T_get_renorm_cutoff"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(cumsum_sorted[v_ax0, T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)):T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + (T.max(T.max(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + T.int64(1) - T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)))], top_p[v_ax0, 0], top_k[v_ax0, 0], sorted_prob[v_ax0, T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)):T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + (T.max(T.max(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + T.int64(1) - T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)))])
                T.writes(cutoff[v_ax0, 0])
                if (cumsum_sorted[v_ax0, 0] < top_p[v_ax0, 0] and top_k[v_ax0, 0] > 1) == T.bool(False):
                    cutoff[v_ax0, 0] = sorted_prob[v_ax0, 0]
                else:
                    if (cumsum_sorted[v_ax0, v_ax1] < top_p[v_ax0, 0] and v_ax1 + T.int64(1) < T.Cast("int64", top_k[v_ax0, 0])) == T.bool(True):
                        if v_ax1 + T.int64(1) == vocab_size:
                            cutoff[v_ax0, 0] = sorted_prob[v_ax0, v_ax1]
                        else:
                            if (cumsum_sorted[v_ax0, v_ax1 + T.int64(1)] < top_p[v_ax0, 0] and v_ax1 + T.int64(1) + T.int64(1) < T.Cast("int64", top_k[v_ax0, 0])) == T.bool(False):
                                cutoff[v_ax0, 0] = sorted_prob[v_ax0, v_ax1 + T.int64(1)]

    @T.prim_func(private=True, s_tir=True)
    def get_renorm_prob(cumsum_sorted: T.Buffer((batch, vocab_size), "float32"), top_p: T.Buffer((batch, 1), "float32"), top_k: T.Buffer((batch, 1), "int32"), renorm_prob: T.Buffer((batch, 1), "float32")):
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(batch, vocab_size):
            with T.sblock("T_get_renorm_prob"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(cumsum_sorted[v_ax0, T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)):T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + (T.max(T.max(T.int64(0), v_ax1), v_ax1 + T.int64(1)) + T.int64(1) - T.min(T.min(T.int64(0), v_ax1), v_ax1 + T.int64(1)))], top_p[v_ax0, 0], top_k[v_ax0, 0])
                T.writes(renorm_prob[v_ax0, 0])
                if not (cumsum_sorted[v_ax0, 0] < top_p[v_ax0, 0] and top_k[v_ax0, 0] > 1):
                    renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, 0]
                else:
                    if cumsum_sorted[v_ax0, v_ax1] < top_p[v_ax0, 0] and v_ax1 + T.int64(1) < T.Cast("int64", top_k[v_ax0, 0]):
                        if v_ax1 + T.int64(1) == vocab_size:
                            renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, v_ax1]
                        else:
                            if not (cumsum_sorted[v_ax0, v_ax1 + T.int64(1)] < top_p[v_ax0, 0] and v_ax1 + T.int64(1) + T.int64(1) < T.Cast("int64", top_k[v_ax0, 0])):
                                renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, v_ax1 + T.int64(1)]

    @R.function
    def argsort(probs: R.Tensor((b, 300), dtype="float32")) -> R.Tuple(R.Tensor((b, 300), dtype="float32"), R.Tensor((b, 300), dtype="int32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            argsort: R.Tensor((b, 300), dtype="int32") = R.argsort(probs, axis=-1, descending=True, dtype="int32")
            sort: R.Tensor((b, 300), dtype="float32") = R.sort(probs, axis=-1, descending=True)
            gv1: R.Tuple(R.Tensor((b, 300), dtype="float32"), R.Tensor((b, 300), dtype="int32")) = (sort, argsort)
            R.output(gv1)
        return gv1

    @R.function
    def cums(x: R.Tensor((b, 1300), dtype="int32")) -> R.Tensor((b, 1300), dtype="int32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            cumsum2: R.Tensor((b, 1300), dtype="int32") = R.cumsum(x, axis=1, dtype="int32", exclusive=False)
            gv5: R.Tensor((b, 1300), dtype="int32") = cumsum2
            R.output(gv5)
        return gv5

    @R.function
    def renorm(prob: R.Tensor((b, 300), dtype="float32"), sorted_prob: R.Tensor((b, 300), dtype="float32"), p: R.Tensor((b, 1), dtype="float32"), k: R.Tensor((b, 1), dtype="int32")) -> R.Tensor((b, 300), dtype="float32"):
        R.func_attr({"num_input": 4})
        cls = Module
        with R.dataflow():
            cumsum1: R.Tensor((b, 300), dtype="float32") = R.cumsum(sorted_prob, axis=1, dtype=None, exclusive=False)
            lv2 = R.call_tir(cls.get_renorm_cutoff, (sorted_prob, cumsum1, p, k), out_ty=R.Tensor((b, 1), dtype="float32"))
            lv3 = R.call_tir(cls.filter_with_top_p_top_k, (prob, lv2), out_ty=R.Tensor((b, 300), dtype="float32"))
            sum: R.Tensor((b, 1), dtype="float32") = R.sum(lv3, axis=[1], keepdims=True)
            divide1: R.Tensor((b, 300), dtype="float32") = R.divide(lv3, sum)
            gv4: R.Tensor((b, 300), dtype="float32") = divide1
            R.output(gv4)
        return gv4

    @R.function
    def sample(prob: R.Tensor((b, 300), dtype="float32"), u: R.Tensor((m, 1), dtype="float32"), idx: R.Tensor((m, 1), dtype="int64")) -> R.Tensor((m, 1), dtype="int32"):
        R.func_attr({"num_input": 3})
        with R.dataflow():
            multinomial_from_uniform: R.Tensor((m, 1), dtype="int32") = R.multinomial_from_uniform(prob, u, idx, dtype="int32")
            gv2: R.Tensor((m, 1), dtype="int32") = multinomial_from_uniform
            R.output(gv2)
        return gv2

    @R.function
    def topp(prob: R.Tensor((b, 300), dtype="float32"), idx: R.Tensor((b, 300), dtype="int32"), p: R.Tensor((b, 1), dtype="float32"), k: R.Tensor((b, 1), dtype="int32"), u: R.Tensor((m, 1), dtype="float32"), si: R.Tensor((m, 1), dtype="int64")) -> R.Tensor((m, 1), dtype="int32"):
        R.func_attr({"num_input": 6})
        cls = Module
        with R.dataflow():
            cumsum: R.Tensor((b, 300), dtype="float32") = R.cumsum(prob, axis=1, dtype=None, exclusive=False)
            lv = R.call_tir(cls.get_renorm_prob, (cumsum, p, k), out_ty=R.Tensor((b, 1), dtype="float32"))
            lv1 = R.call_tir(cls.get_index_from_sorted, (cumsum, idx, lv, u, si), out_ty=R.Tensor((m, 1), dtype="int32"))
            gv3: R.Tensor((m, 1), dtype="int32") = lv1
            R.output(gv3)
        return gv3
