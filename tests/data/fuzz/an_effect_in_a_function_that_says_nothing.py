# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor((3,), dtype="int64")) -> R.Shape(ndim=3):
        lv: R.Shape(ndim=3) = R.call_packed("vm.builtin.tensor_to_shape", x, ty_args=(R.Shape(ndim=3),))
        return lv
