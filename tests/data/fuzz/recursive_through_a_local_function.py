@I.ir_module
class M:
    @R.function
    def f(g: R.Callable((R.Tensor(("n",), "float32"),), R.Tensor(("n",), "float32")), x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        y = g(x)
        return y
    @R.function
    def h(x: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        return x
    @R.function
    def main(x: R.Tensor((3,), "float32")):
        z = M.f(M.h, x)  # revealed: R.Tensor((3,).Tensor((2,), "float32"):
        @R.function
        def k(q: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                z: R.Tensor((2,), "float32") = M.main(q)
                R.output(z)
            return z
        with R.dataflow():
            y: R.Tensor((2,), "float32") = M.main(x)  # error: [RX0141]
            R.output(y)
        v = k(y)
        return v
