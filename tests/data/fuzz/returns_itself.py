@R.function
def main(c: R.Tensor((), "bool")):
    with R.dataflow():
        a = R.assert_op(c)  # error: [RX0112]
        R.output()
    return main
