@I.ir_module
class M:
    @R.function
    def main(a: R.Tensor((2,), "float32"), b: R.Tensor((3,), "float32"), u: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool")):
        h = M.mk(a)  # revealed: R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"), True)
        w = h(b)  # error: [RX0213] "the parameter R.Tensor((2,)"
        k = h
        v = k(b)  # error: [RX0213]
        t = M.pair(a)  # revealed: R.Tuple(R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((2,), dtype="float32"), True), R.Tensor((2,), dtype="float32"))
        f = t[0]
        q = f(b)  # error: [RX0213]
        if c:
            i = M.mk(a)
        else:
            i = M
        j = i(b)  # error: [RX0213]
        l = M.mk(u)  # revealed: R.Callable((R.Tensor(dtype="float32", ndim=1),), R.Tensor(dtype="float32", ndim=1), True) # warning: [RX0218]
        n = M.deep(a)  # revealed: R.Callable((R.Tensor((m,), dtype="float32"),), R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((m,), dtype="float32"), True), True)
        o = n(b)  # revealed: R.Callable((R.Tensor((2,), dtype="float32"),), R.Tensor((3,), dtype="float32"), True)
        return w

    @R.function(private=True)
    def pair(x: R.Tensor(("n",), "float32")):
        g = M.mk(x)
        return (g, x)

    @R.function(private=True)
    def mk(x: R.Tensor(("n",), "float32")):
        n = T.int64()

        @R.function
        def g(z: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return z

        return g

    @R.function(private=True)
    def deep(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        m = T.int64()

        @R.function
        def outer(y: R.Tensor((m,), "float32")):
            @R.function
            def inner(z: R.Tensor((n,), "float32")) -> R.Tensor((m,), "float32"):
                return y

            return inner

        return outer
