"""A closure that calls itself keeps calling itself when a pass renames it."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.ready_modules import after as after_pass

# The type of `g` names `s`, a copy that CanonicalizeBindings replaces.
COPIED = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor("float32"), again: R.Tensor((), "bool")) -> R.Tensor("float32"):
        s0 = R.shape_of(x)
        s = s0
        y = R.match_cast(x, R.Tensor(s, dtype="float32"))

        @R.function
        def g(q: R.Tensor(s, dtype="float32"), more: R.Tensor((), "bool")) -> R.Tensor(s, dtype="float32"):
            if more:
                r = g(q, R.const(False, "bool"))
            else:
                r = R.add(q, q)
            return r

        w = g(y, again)
        return w
"""
# Here `g` is a dataflow variable, which ToNonDataflow replaces.
DATAFLOW = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), again: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
        with R.dataflow():
            @R.function
            def g(q: R.Tensor((2, 3), "float32"), more: R.Tensor((), "bool")) -> R.Tensor((2, 3), "float32"):
                if more:
                    r = g(q, R.const(False, "bool"))
                else:
                    r = R.add(q, q)
                return r
            w = g(x, again)
            R.output(w)
        return w
"""


@pytest.mark.parametrize("text", [COPIED, DATAFLOW], ids=["copied type", "dataflow"])
@pytest.mark.parametrize("name", rxe.passes.names())
def test_it_calls_itself_after_every_pass(name: str, text: str) -> None:
    after = after_pass(rxe.normalize(rxe.parse(text)), name)
    assert rxe.structural_equal(rxe.normalize(rxe.parse(after.script())), after)
    ones = np.ones((2, 3), np.float32)
    assert (np.asarray(rxe.run(after, "main", [ones, np.bool_(True)])) == 2 * ones).all()
