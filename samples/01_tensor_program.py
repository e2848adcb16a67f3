# A tensor program: each line binds one variable to one operation, and every variable has a StructInfo.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 4), "float32"), b: R.Tensor((4,), "float32")):
        product = R.matmul(x, w)
        shifted = R.add(product, b)
        result = R.nn.relu(shifted)
        return result
