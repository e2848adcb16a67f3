# A symbolic shape: `n` is any length; it gets its value when the function is called, and shapes are computed from it.
from typing import TypeVar

from tvm.script import ir as I
from tvm.script import relax as R

n = TypeVar("n")


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32")):
        flat = R.reshape(x, R.shape([n * 4]))
        doubled = R.concat((flat, flat), axis=0)
        return doubled
