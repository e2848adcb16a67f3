@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")):
    s = R.memory.alloc_storage(R.shape([16]), R.prim_value(0), R.str("global"), R.dtype("float32"))
    t = R.memory.alloc_tensor(s, s, R.prim_value(0), R.shape([4]), R.dtype("float32"))
    return t
