@R.function
def y(x: R.Tensor((2,), "float32"), kv: R.Any) -> R.Tuple(R.Tensor((2,), "float32"), R.Any):
    with R.dataflow():
        lv = R.call_dps_packed("f", (kv, x), out_ty=R.Tensor((2,), "float32"))
        main: R.Tensor((2,), "float32") = R.nn.softmax(64, axis=-1)
        gv: R.Tuple(R.Tensor((2,), "float32"), R.Any) = y, kv
        R.output(gv)
    return gv
