# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

n = TypeVar("n")
m = TypeVar("m")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def shape_func(H: T.Buffer((T.int64(3),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(2)] = T.int64(4) * H[T.int64(0)]

    @T.prim_func(s_tir=True)
    def add(x: T.Buffer((n,), "float32"), x_1: T.Buffer((n,), "float32"), T_add: T.Buffer((n,), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        for ax0 in range(n):
            with T.sblock("T_add"):
                v_ax0 = T.axis.spatial(n, ax0)
                T.reads(x[v_ax0], x_1[v_ax0])
                T.writes(T_add[v_ax0])
                T_add[v_ax0] = x[v_ax0] + x_1[v_ax0]

    @R.function
    def main(x: R.Tensor((n,), dtype="float32"), y: R.Tensor((m,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (3,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, 1, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", y, 1, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[1], param=y, annotation=R.Tensor((m,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 1, 1, 0, R.str("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", y, shape_heap, 1, 1, 1, R.str("ErrorContext(fn=main, loc=param[1], param=y, annotation=R.Tensor((m,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        cls.shape_func(shape_heap)
        gv: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(gv, 0, R.dtype("uint8"), R.str("global"))
        gv1: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 0, ty_args=(R.Shape(ndim=1),))
        alloc: R.Tensor(dtype="float32", ndim=1) = R.vm.alloc_tensor(storage, 0, gv1, R.dtype("float32"), 0)
        R.vm.kill_object(storage)
        cls.add(x, x, alloc)
        R.call_packed("vm.builtin.match_shape", y, shape_heap, 1, 3, 0, R.str("ErrorContext(match_cast, ty=R.Tensor((n,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        w: R.Tensor((n,), dtype="float32") = R.match_cast(y, R.Tensor((n,), dtype="float32"))
        gv2: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage1: R.Any = R.vm.alloc_storage(gv2, 0, R.dtype("uint8"), R.str("global"))
        gv3: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 0, ty_args=(R.Shape(ndim=1),))
        alloc1: R.Tensor(dtype="float32", ndim=1) = R.vm.alloc_tensor(storage1, 0, gv3, R.dtype("float32"), 0)
        R.vm.kill_object(storage1)
        cls.add(alloc, w, alloc1)
        R.vm.kill_object(alloc)
        R.vm.kill_object(w)
        R.call_packed("vm.builtin.match_shape", alloc1, shape_heap, 1, 3, 0, R.str("ErrorContext(fn=main, loc=return, annotation=R.Tensor((n,), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        return alloc1
