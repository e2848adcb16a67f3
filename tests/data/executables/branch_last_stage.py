# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def compute_symbolic_expr() -> T.float64:
        T.func_attr({"tirx.is_host_func": True})
        return T.float64(1.5)

    @R.function(pure=False)
    def other(x: R.Any) -> R.Any:
        cls = Module
        shape_heap: R.Any = R.null_value()
        a: R.Any = cls.main(R.const(True, "bool"), x)
        return x

    @R.function(pure=False)
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Any, R.Any):
        cls = Module
        shape_heap: R.Any = R.null_value()
        R.call_packed("vm.builtin.check_tensor_info", c, 0, R.dtype("bool"), R.str("ErrorContext(fn=main, loc=param[0], param=c, annotation=R.Tensor((), dtype=\"bool\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[1], param=x, annotation=R.Tensor((2,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 1, 0, 2, R.str("ErrorContext(fn=main, loc=param[1], param=x, annotation=R.Tensor((2,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        if c:
            y_then: R.Any = R.call_packed("my.a", x)
            y: R.Any = y_then
        else:
            z: R.Any = R.call_packed("my.b", x)
            y_else: R.Any = R.call_packed("my.c", z, x)
            R.vm.kill_object(z)
            y: R.Any = y_else
        w: R.Tuple(R.Any, R.Tensor((2,), dtype="float32")) = y, x
        g: R.Any = R.call_packed("my.f", y, R.str("hello world"), -3, R.dtype("float32"))
        gv: T.float64 = cls.compute_symbolic_expr()
        h: R.Any = R.call_packed("my.f", gv, R.shape([2, 3]), w, (g, y))
        return (h, y)
