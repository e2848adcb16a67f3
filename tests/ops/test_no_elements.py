"""A result without elements needs no computation, so no element can be wrong: neither before nor after lowering."""

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


READS = {
    "R.take(x, i, axis=0, mode='fast')": (2,),
    "R.take(x, i, axis=-2, mode='nan')": (2,),
    "R.gather_nd(x, i)": (2, 1),
    "R.index_tensor(x, (i,))": (2,),
    "R.scatter_nd(x, i, R.zeros((2, 0), 'float32'))": (2, 1),
}


@pytest.mark.parametrize("call", READS)
def test_what_reads_nothing_does_not_stop(call: str) -> None:
    head = f"@R.function\ndef main(x: R.Tensor((3, 0), 'float32'), i: R.Tensor({READS[call]}, 'int64')):\n"
    module = rxe.normalize(
        rxe.parse(f"{head}    with R.dataflow():\n        z = {call}\n        R.output(z)\n    return z\n")
    )
    values = [np.ones((3, 0), "float32"), np.full(READS[call], 7)]
    shapes = {rxe.run(one, "main", values).shape for one in (module, rxe.apply_pass(module, "LegalizeOps"))}
    assert shapes == {(3, 0) if "scatter" in call else (2, 0)}
