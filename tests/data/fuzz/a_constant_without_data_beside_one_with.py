@R.function
def main():
    a = R.const(1, "int32")  # revealed: R.Tensor((), dtype="int32")
    b = R.const([[1, 2], [3, 4]], "float32")  # revealed: R.Tensor((2, 2), dtype="float32")
    return (metadata['ir.GenericConst'][0], b)
