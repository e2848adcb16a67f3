@R.function(pure=False)
def main(x: R.Tensor((2, 3), "float32"), z: R.Tensor(ndim=1)):
    é = T.int64()
    w = R.match_cast(z, R.Tensor((é,)))
    _ = R.call_packed("test.inc_inplace", w, sinfo_args=R.Tensor((é,), "float32"))
    y: R.Tensor((é,), "float32") = R.astype(w, "float32")
    return y
