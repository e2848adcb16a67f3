"""What one step leaves for later ones: lengths after a failed check, those that a closure keeps, and functions checked at run time."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.frame import Frame

F = np.float32
HEAD = "from tvm.script import relax as R, tirx as T\n\n"


def lengths(frame: Frame) -> dict[str, int]:
    return {var.name: length for var, length in frame.dims.items()}


def test_a_match_cast_that_fails_binds_nothing() -> None:
    text = """
@R.function
def main(x: R.Tensor("float32", ndim=2), t: R.Tuple(R.Tensor("float32", ndim=1), R.Tensor("float32", ndim=1))):
    n = T.int64()
    m = T.int64()
    k = T.int64()
    y = R.match_cast(x, R.Tensor((n, n), "float32"))
    u = R.match_cast(t, R.Tuple(R.Tensor((m,), "float32"), R.Tensor((m * 2,), "float32")))
    return y
"""
    module = rxe.parse(HEAD + text)
    pair = (np.zeros(2, F), np.zeros(3, F))
    for square, known in ((np.zeros((2, 3), F), {}), (np.zeros((2, 2), F), {"n": 2})):
        debugger = Debugger(module, "main", [square, pair])
        for _ in known:
            debugger.step()
        for _ in range(2):  # and the second attempt fails as the first did
            with pytest.raises(rxe.Failure) as caught:
                debugger.step()
            assert caught.value.diagnostics[0].code.id == "RX0503"
            assert lengths(debugger.frame) == known


def test_a_closure_keeps_the_lengths_of_its_making() -> None:
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1)):
    n = T.int64()
    m = T.int64()

    @R.function
    def inner(z: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        k = T.int64()
        w = R.match_cast(z, R.Tensor((k,), "float32"))
        return w

    b = R.match_cast(y, R.Tensor((m,), "float32"))
    c = inner(x)
    d = inner(c)
    return (b, d)
"""
    debugger = Debugger(rxe.parse(HEAD + text), "main", [np.zeros(2, F), np.zeros(3, F)])
    seen = []
    while not debugger.done:
        debugger.step()
        if len(debugger.frames) == 2:
            frame = debugger.frame
            assert {var.name: length for var, length in frame.outer.items()} == {"n": 2}
            seen.append(lengths(frame))
    assert seen == [{"n": 2}, {"n": 2, "k": 2}] * 2
    assert [array.shape for array in debugger.result] == [(3,), (2,)]


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        ("R.Callable((R.Tensor(ndim=1),), R.Tensor(ndim=1), True)", True),
        ("R.Callable((R.Tensor((3,)),), R.Tensor(ndim=1), True)", True),
        ("R.Callable((R.Tensor(ndim=1),), R.Tensor((3,)), True)", False),
        ("R.Callable((R.Object,), R.Tensor(ndim=1), True)", False),
        ('R.Callable((R.Tensor(ndim=1),), R.Tensor("float32", ndim=1), True)', False),
    ],
)
def test_a_function_of_which_it_is_unknown_is_refused(wanted: str, passes: bool) -> None:
    text = f"""
@R.function
def main(x: R.Tensor(ndim=1)):
    @R.function
    def inner(z: R.Tensor(ndim=1)) -> R.Tensor(ndim=1):
        return z

    t = (inner, x)
    f = R.match_cast(t, R.Tuple({wanted}, R.Object))
    return x
"""
    module = rxe.parse(HEAD + text)
    if passes:
        rxe.run(module, "main", [np.zeros(3, F)])
        return
    with pytest.raises(rxe.Failure) as caught:
        rxe.run(module, "main", [np.zeros(3, F)])
    assert caught.value.diagnostics[0].code.id == "RX0503"
