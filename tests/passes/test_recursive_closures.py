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


HIDDEN = {
    "a copy": "h = f\n                q = h(less)",
    "a copy of a copy": "g = f\n                h = g\n                q = h(less)",
    "a field": "t = (k, f)\n                h = t[1]\n                q = h(less)",
    "its name": "q = f(less)",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_recursive_call_stays_outside_of_dataflow_blocks(name: str) -> None:
    text = f"""@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        @R.function
        def f(k: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            stop = R.less(k, R.const(1, "int32"))
            if stop:
                r = k
            else:
                less = R.subtract(k, R.const(1, "int32"))
                twice = R.add(less, less)
                {HIDDEN[name]}
                r = R.add(q, twice)
            return r
        z = f(x)
        return z
"""
    old = rxe.normalize(rxe.parse(text))
    new = rxe.apply_pass(old, "ConvertToDataflow", min_size=1)
    assert not [problem for problem in rxe.check(new) if problem.is_error]
    for number in (0, 5):
        value = np.array(number, "int32")
        assert int(np.asarray(rxe.run(new, "main", [value]))) == int(
            np.asarray(rxe.run(old, "main", [value]))
        )
    (call,) = [line for line in new.script().splitlines() if " = f(" in line and "z:" not in line]
    assert len(call) - len(call.lstrip()) == 20  # in a block it would be 24
    assert "with R.dataflow():" in new.script()


def test_a_recursive_call_by_a_copy_of_a_global_name_stays_outside() -> None:
    text = """@I.ir_module
class Module:
    @R.function
    def main(k: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        stop = R.less(k, R.const(1, "int32"))
        if stop:
            r = k
        else:
            h = Module.main
            less = R.subtract(k, R.const(1, "int32"))
            q = h(less)
            r = R.add(q, less)
        return r
"""
    new = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "ConvertToDataflow", min_size=1)
    assert not [problem for problem in rxe.check(new) if problem.is_error]
