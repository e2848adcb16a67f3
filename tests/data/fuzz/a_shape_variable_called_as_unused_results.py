@R.function(pure=False)
def main(x: R.Tensor((2,é), "float32")):
    t = (x, (x,))
    y = t[0]
    _ = R.call_packed("test.inc_inplace", y)
    z = t[1][0]
    return z
