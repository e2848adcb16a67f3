def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((4, 3), "float32")):
    z = R.matmul(x, y)  # error: [RX0203] "4 and y"
@R.y
    