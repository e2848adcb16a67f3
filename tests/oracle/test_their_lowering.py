"""A program lowered by TVM runs here and computes the same as before.

This tests one example for each operator; `python -m tests.oracle.their_lowering` runs all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.oracle.operator_values import UNEXPLAINED
from tests.oracle.their_lowering import REASONS, Reason, examples_of, outcome
from tests.support.oracle import Oracle
from tests.support.packed_kernels import KERNELS, VALUES, kernel, outputs

EVALUATED = [op for op in table().values() if op.evaluate is not None]


@pytest.mark.parametrize("op", EVALUATED, ids=lambda op: op.name.removeprefix("relax."))
def test_what_tvm_lowers_runs_here(op: type[Op], oracle: Oracle) -> None:
    found = outcome(examples_of(op)[0], oracle)
    assert found.kind != UNEXPLAINED, str(found)


@pytest.mark.parametrize("row", REASONS, ids=lambda row: row.names)
def test_every_reason_is_seen(row: Reason, oracle: Oracle) -> None:
    calls = [call for op in EVALUATED for call in examples_of(op) if row.is_about(call)]
    assert any(row.explains(call, outcome(call, oracle).text) for call in calls)


@pytest.mark.parametrize("name", KERNELS)
def test_sorting_functions_do_as_those_of_tvm(name: str, oracle: Oracle) -> None:
    made = outputs(name)
    filled = ", ".join([f'R.Tensor({array.shape}, "{array.dtype}")' for array in made])
    text = kernel(name).replace("@T.prim_func(", "@T.prim_func(private=True, ").replace("\n", "\n    ")
    program = (
        f"@I.ir_module\nclass Module:\n    {text.rstrip()}\n    @R.function\n"
        f'    def main(x: R.Tensor((2, 5), "float32")):\n        y = R.call_tir(Module.f, (x,), out_ty=[{filled}])\n'
        "        return y\n"
    )
    theirs = oracle.run(program, "main", [VALUES]).get()
    ours = rxe.run(rxe.parse(program), "main", [VALUES])
    for found, wanted in zip(
        *[item if isinstance(item, tuple) else (item,) for item in (ours, theirs)], strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
