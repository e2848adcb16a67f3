# match_cast: the annotation of `x` is vague; the cast checks the value when the program runs, and `m` gets its value there.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)):
        m = T.int64()
        known = R.match_cast(x, R.Tensor((m, 4), "float32"))
        flat = R.reshape(known, R.shape([m * 4]))
        return flat
