"""Functions in the hands of Python run in the memory of the program: stepping back undoes what they wrote."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

TEXT = """
@I.ir_module
class M:
    @T.prim_func
    def addone(A: T.Buffer((2,), "float32")):
        T.func_attr({"global_symbol": "addone"})
        for i in range(2):
            A[i] = A[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        @R.function(pure=False)
        def f() -> R.Tuple():
            _ = R.call_packed("addone", x)
            return R.tuple()

        y = R.call_packed("test.call", f)
        return x
"""


@pytest.mark.parametrize("lifted", [False, True])
def test_stepping_back_undoes_what_a_called_closure_wrote(lifted: bool) -> None:
    rxe.packed_function("test.call")(lambda f: f())
    module = rxe.normalize(rxe.parse(TEXT))
    x = np.zeros(2, np.float32)
    debugger = rxe.debug(rxe.apply_pass(module, "LambdaLift") if lifted else module, "main", [x])
    machine = debugger.machine
    while not machine.done:
        machine.step()
    assert machine.result.tolist() == [1, 1]
    while machine.undo() is not None:
        pass
    assert machine.frames[0].registers[machine.frames[0].plan.params[0]].tolist() == [0, 0]
    while not machine.done:
        machine.step()
    assert machine.result.tolist() == [1, 1]
