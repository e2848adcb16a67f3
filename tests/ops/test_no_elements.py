"""Where a result has no elements nothing is computed, so nothing can be wrong with an element: before lowering as after it."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

PROGRAM = """
@R.function
def main(x: R.Tensor({x}, "{dtype}"), y: R.Tensor({y}, "{dtype}")):
    with R.dataflow():
        z = R.{name}(x, y)
        R.output(z)
    return z
"""
SHAPES = [((0,), ()), ((0,), (1,)), ((0, 3), (1, 3)), ((1, 3), (0, 1)), ((0,), (0,))]
BAD = {"divide": 0, "floor_divide": 0, "mod": 0, "floor_mod": 0, "left_shift": -1, "right_shift": 64}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", BAD)
def test_what_computes_nothing_does_not_stop(name: str, dtype: str) -> None:
    for left, right in SHAPES:
        module = rxe.normalize(rxe.parse(PROGRAM.format(x=left, y=right, name=name, dtype=dtype)))
        values = [np.ones(left, dtype), np.full(right, BAD[name], dtype)]
        for one in (module, rxe.apply_pass(module, "LegalizeOps")):
            assert rxe.run(one, "main", values).shape == np.broadcast_shapes(left, right)


@pytest.mark.parametrize("name", BAD)
def test_what_computes_something_does(name: str) -> None:
    module = rxe.normalize(rxe.parse(PROGRAM.format(x=(2,), y=(1,), name=name, dtype="int32")))
    values = [np.ones(2, "int32"), np.full(1, BAD[name], "int32")]
    with pytest.raises(rxe.Failure):
        rxe.run(module, "main", values)
