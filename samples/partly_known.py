# Shapes that are known in part: `R.any_dim` is a length without a name (an experiment, tests/spec/22_wildcards.md).
# `rxe shapes samples/partly_known.py` lists the one check that is left to the run, and names its place.
# `rxe opt samples/partly_known.py -p LowerWildcards` gives each such length a name, as TVM needs it.


@I.ir_module
class Module:
    I.module_attrs({"wildcard_dims": True})

    @R.function
    def main(
        images: R.Tensor(("n", 28, R.any_dim), "float32"), weight: R.Tensor((28, 10), "float32")
    ) -> R.Tuple(R.Tensor(("n", 10), "float32"), R.Tensor(("n",), "float32")):
        n = T.int64()
        with R.dataflow():
            rows: R.Tensor((n, 28), "float32") = R.sum(images, axis=2)  # the length without a name is gone
            scores: R.Tensor((n, 10), "float32") = R.matmul(rows, weight)
            R.output(scores)
        square = R.match_cast(images, R.Tensor((n, 28, 28), "float32"))  # checked: images.shape[2] == 28
        both: R.Tensor((n, 28, 28), "float32") = R.add(images, square)  # nothing is left to check here
        total: R.Tensor((n,), "float32") = R.sum(both, axis=[1, 2])
        return (scores, total)
