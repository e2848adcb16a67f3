# Tuples: `split` returns several values as one; an index selects a field.
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 6), "float32")):
        parts = R.split(x, 3, axis=1)
        first = parts[0]
        last = parts[2]
        total = R.add(first, last)
        pair = (total, first)
        return pair
