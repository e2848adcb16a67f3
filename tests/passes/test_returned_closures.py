"""LambdaLift changes the calls of closures that another function of the module returns."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.pass_agreement import as_module

FLAT = 'R.Tensor((2,), "float32")'
MAKE = f"""
@R.function(private=True)
def make(x: {FLAT}) -> R.Tuple({FLAT}, R.Callable(({FLAT},), {FLAT})):
    e = R.exp(x)
    @R.function
    def f(z: {FLAT}) -> {FLAT}:
        r = R.add(e, z)
        return r
    t = (x, f)
    return t
"""
THROUGH = f"""
@R.function(private=True)
def through(x: {FLAT}) -> R.Callable(({FLAT},), {FLAT}):
    t = Module.make(x)
    f = t[1]
    return f
"""
ALONE = f"""
@R.function
def alone(x: {FLAT}, g: R.Callable(({FLAT},), {FLAT})) -> {FLAT}:
    k = Module.nesting
    y = Module.nesting(x)
    z = g(y)
    w = k(z)
    return w
@R.function(private=True)
def nesting(x: {FLAT}) -> {FLAT}:
    @R.function
    def f(z: {FLAT}) -> {FLAT}:
        return R.add(x, z)
    return f(x)
"""
MAIN = f"""
@R.function
def main(x: {FLAT}, c: R.Tensor((), "bool")) -> {FLAT}:
    BODY
    return r
"""
BODIES = {
    "a field": "t = Module.make(x)\n    f = t[1]\n    r = f(x)",
    "a copy": "h = Module.through(x)\n    k = h\n    r = k(x)",
    "a branch": "h = Module.through(x)\n    if c:\n        a = h(x)\n        r = a\n    else:\n        r = R.exp(x)",
    "both": "t = Module.make(x)\n    h = Module.through(x)\n    f = t[1]\n    a = h(x)\n    r = f(a)",
}


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_returned_closure_is_invoked(kind: str, is_first: bool) -> None:
    main = MAIN.replace("BODY", BODIES[kind])
    parts = [main, MAKE, THROUGH, ALONE] if is_first else [THROUGH, MAKE, ALONE, main]
    before = rxe.normalize(rxe.parse(as_module("".join(parts))))
    after = rxe.apply_pass(before, "LambdaLift")
    assert [item for item in rxe.check(after) if item.is_error] == []
    main = after.script().split("def main")[1].split("@R.function")[0]
    assert "R.invoke_pure_closure(" in main
    assert after["alone"] is before["alone"]
    inputs = [np.array([1, 2], "float32"), np.array(True)]
    np.testing.assert_allclose(rxe.run(after, "main", inputs), rxe.run(before, "main", inputs))
