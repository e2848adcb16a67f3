"""A check that fails in code of the virtual machine points to the line of the program that it was made for (RX0518, RX0503)."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

TEXT = """@I.ir_module
class Module:
    @R.function(private=True)
    def helper(a: R.Tensor(("k",), "float32"),
               b: R.Tensor(("k",), "float32")):  # params
        d = R.add(a, b)
        return d
    @R.function
    def cast(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n = T.int64()
        z = R.match_cast(y, R.Tensor((n,), "float32"))  # cast
        w = R.add(x, z)
        return w
    @R.function
    def branch(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
        n = T.int64()
        if c:
            z = R.match_cast(y, R.Tensor((n,), "float32"))  # branch
            w = R.add(x, z)
        else:
            w = R.exp(x)
        return w
    @R.function
    def params(x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1)):
        w = Module.helper(x, y)
        return w
    @R.function
    def inner(x: R.Tensor("float32", ndim=1), y: R.Tensor("float32", ndim=1)):
        n = T.int64()
        u = R.match_cast(x, R.Tensor((n,), "float32"))
        v = R.match_cast(y, R.Tensor((n,), "float32"))  # inner
        w = Module.helper(u, v)
        return w
    @R.function
    def result(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)) -> R.Tensor(("n",), "float32"):
        w = R.call_pure_packed("test.places.same", y, ty_args=R.Tensor("float32", ndim=1))  # result
        return w
"""


@rxe.packed_function("test.places.same")
def same(value: np.ndarray) -> np.ndarray:
    return value


SHORT, LONG = np.ones(3, "float32"), np.ones(4, "float32")
CALLS = {name: (SHORT, LONG) for name in ("cast", "params", "inner", "result")}
CALLS["branch"] = (np.array(True), SHORT, LONG)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_the_check_that_fails_has_its_line(name: str, profile: str) -> None:
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(TEXT)), "default_build", profile=profile)
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, name, list(CALLS[name]))
    problem = caught.value.diagnostics[0]
    span, lines = problem.span, TEXT.splitlines()
    assert span is not None
    if problem.code.id == "RX0507":  # TVM drops a cast that the next kernel tells
        assert profile == "tvm"
        assert "R.add" in lines[span.line - 1]
    else:
        assert problem.code.id in ("RX0518", "RX0503", "RX0501")
        assert not problem.message.startswith("_")  # a binding without a name of its own
        assert f"# {name}" in lines[span.line - 1]
