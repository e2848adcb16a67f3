"""A nested function with effects that becomes a closure keeps them: `invoke_closure` calls it, and no later pass drops that."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe

F = 'R.Tensor((2,), "float32")'
TEXT = f"""
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: {F}, c: R.Tensor((), "bool")) -> {F}:
        k = R.add(x, x)
        @R.function(pure=False)
        def log(y: {F}) -> {F}:
            _ = R.call_packed("test.seen", k, y, ty_args=(R.Tuple,))
            return y
        @R.function
        def quiet(y: {F}) -> {F}:
            z = R.add(y, k)
            return z
LINES
"""
CALLS = {
    "read": "a = log(x)\nreturn a",
    "unread": "_ = log(x)\nreturn x",
    "through a copy": "g = log\n_ = g(x)\nreturn x",
    "through a tuple": "t = (quiet, log)\ng = t[1]\n_ = g(x)\nreturn x",
    "in a branch": "if c:\n    _ = log(x)\n    r = x\nelse:\n    r = k\nreturn r",
    "beside a pure one": "_ = log(x)\na = quiet(x)\n_1 = quiet(k)\nreturn a",
    "from inside another": f"@R.function(pure=False)\ndef h(y: {F}) -> {F}:\n    _ = log(y)\n    return y\n_1 = h(x)\nreturn x",
    "a chosen one": "if c:\n    g = log\nelse:\n    g = log\n_ = g(x)\nreturn x",
}
ROADS = [
    "LambdaLift",
    "LambdaLift,DeadCodeElimination",
    "LambdaLift,ConvertToDataflow,EliminateCommonSubexpr,CanonicalizeBindings",
    "LambdaLift,zero,default_build",
]


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("road", ROADS)
def test_the_effects_are_those_of_before(road: str, calls: str) -> None:
    seen: list[list[float]] = []
    rxe.packed_function("test.seen")(lambda k, y: seen.append([float(k[0]), float(y[0])]))
    lines = "".join(f"        {line}\n" for line in CALLS[calls].splitlines())
    before = rxe.normalize(rxe.parse(TEXT.replace("LINES\n", lines)))
    args = [np.array([1, 2], np.float32), np.array(True)]
    result = rxe.run(before, "main", args)
    wanted, seen[:] = [*seen], []
    after = rxe.run_pipeline(before, road)
    np.testing.assert_array_equal(rxe.run(after, "main", args), result)
    assert seen == wanted == [[2, 1]]


def test_only_closures_with_effects_are_impure() -> None:
    lines = "        _ = log(x)\n        a = quiet(x)\n        return a\n"
    after = rxe.apply_pass(rxe.normalize(rxe.parse(TEXT.replace("LINES\n", lines))), "LambdaLift").script()
    assert "R.invoke_closure(log, (x,)" in after
    assert "R.invoke_pure_closure(quiet, (x,)" in after
