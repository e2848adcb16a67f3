# If: a scalar bool selects one of two branches; both end by binding the same variable.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(flag: R.Tensor((), "bool"), x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        if flag:
            y = R.exp(x)
        else:
            zero = R.zeros(R.shape([3]), "float32")
            y = R.subtract(zero, x)
        result = R.add(y, y)
        return result
