# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

s = TypeVar("s")
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def prefill(tokens: R.Tensor((s,), dtype="int64"), words: R.Tensor((32, 8), dtype="float32"), places: R.Tensor((16, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((s, 8), dtype="float32"):
        with R.dataflow():
            ones: R.Tensor((s,), dtype="int64") = R.ones(R.shape([s]), dtype="int64")
            lv: R.Tensor((s,), dtype="int64") = R.cumsum(ones, axis=0, dtype=None, exclusive=False)
            order: R.Tensor((s,), dtype="int64") = R.subtract(lv, ones)
            place: R.Tensor((s, 8), dtype="float32") = R.take(places, order, axis=0, mode="fast")
            lv1: R.Tensor((s, 8), dtype="float32") = R.take(words, tokens, axis=0, mode="fast")
            lv2: R.Tensor((s, 8), dtype="float32") = R.add(lv1, place)
            keys: R.Tensor((s, 8), dtype="float32") = R.matmul(lv2, w, out_dtype=None)
            R.output(keys)
        return keys

    @R.function
    def decode(token: R.Tensor((1,), dtype="int64"), keys: R.Tensor((n, 8), dtype="float32"), words: R.Tensor((32, 8), dtype="float32"), places: R.Tensor((16, 8), dtype="float32"), w: R.Tensor((8, 8), dtype="float32")) -> R.Tensor((1, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((n,), dtype="int64") = R.ones(R.shape([n]), dtype="int64")
            count: R.Tensor((1,), dtype="int64") = R.sum(lv, axis=[0], keepdims=True)
            place: R.Tensor((1, 8), dtype="float32") = R.take(places, count, axis=0, mode="fast")
            lv1: R.Tensor((1, 8), dtype="float32") = R.take(words, token, axis=0, mode="fast")
            lv2: R.Tensor((1, 8), dtype="float32") = R.add(lv1, place)
            key: R.Tensor((1, 8), dtype="float32") = R.matmul(lv2, w, out_dtype=None)
            lv3: R.Tensor((8, n), dtype="float32") = R.permute_dims(keys, axes=None)
            lv4: R.Tensor((1, n), dtype="float32") = R.matmul(key, lv3, out_dtype=None)
            weights: R.Tensor((1, n), dtype="float32") = R.nn.softmax(lv4, axis=-1)
            mixed: R.Tensor((1, 8), dtype="float32") = R.matmul(weights, keys, out_dtype=None)
            R.output(mixed)
        return mixed
