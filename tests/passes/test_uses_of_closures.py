"""What LambdaLift makes closures: their effects stay, for `invoke_closure` calls them, and functions of the module may take them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle

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


TAKING = f"""
@I.ir_module
class Module:
    @R.function(private=True)
    def use(k: R.Callable(({F},), {F}), y: {F}) -> {F}:
        r = k(y)
        return r
    @R.function(private=True)
    def use_pair(p: R.Tuple(R.Callable(({F},), {F}), {F}), y: {F}) -> {F}:
        k = p[0]
        v = p[1]
        r = k(v)
        return r
    @R.function(private=True)
    def pass_on(k: R.Callable(({F},), {F}), y: {F}) -> {F}:
        r = Module.use(k, y)
        return r
    @R.function
    def main(x: {F}, c: R.Tensor((), "bool")) -> {F}:
        @R.function
        def g(y: {F}) -> {F}:
            z = R.add(y, x)
            return z
LINES
"""
USES = {
    "an argument": "r = Module.use(g, x)\nreturn r",
    "a copy": "h = g\nr = Module.use(h, x)\nreturn r",
    "a tuple": "t = (g, x)\nr = Module.use_pair(t, x)\nreturn r",
    "a tuple in place": "r = Module.use_pair((g, x), x)\nreturn r",
    "a field": "t = (x, (g, x))\nu = t[1]\nh = u[0]\nr = Module.use(h, x)\ns = Module.use_pair(u, x)\nv = R.add(r, s)\nreturn v",
    "a branch": "if c:\n    a = Module.use(g, x)\n    r = a\nelse:\n    r = x\nreturn r",
    "a dataflow block": "with R.dataflow():\n    r = Module.use(g, x)\n    s = R.add(r, x)\n    R.output(s)\nreturn s",
    "through another one": "r = Module.pass_on(g, x)\nreturn r",
    "from another closure": f"@R.function\ndef h(y: {F}) -> {F}:\n    w = Module.use(g, y)\n    v = R.add(w, x)\n    return v\nr = h(x)\nreturn r",
    "a nested function": f"@R.function\ndef h(k: R.Callable(({F},), {F}), y: {F}) -> {F}:\n    w = k(y)\n    return w\nr = h(g, x)\nreturn r",
}


@pytest.mark.parametrize("use", USES)
def test_functions_take_closures_for_functions(use: str) -> None:
    lines = "".join(f"        {line}\n" for line in USES[use].splitlines())
    before = rxe.normalize(rxe.parse(TAKING.replace("LINES\n", lines)))
    args = [np.array([1, 2], np.float32), np.array(True)]
    result = rxe.run(before, "main", args)
    for road in ROADS:
        after = rxe.run_pipeline(before, road)
        assert [item for item in rxe.check(after) if item.is_error] == []
        np.testing.assert_array_equal(rxe.run(after, "main", args), result)
        assert "R.output(" not in USES[use] or road != "LambdaLift" or "R.output(s)" in after.script()


def test_what_holds_no_closure_is_not_cast() -> None:
    lines = "        t = (g, x)\n        v = t[1]\n        w = (v, x)\n        u = w[0]\n        r = Module.use(g, v)\n        s = Module.use(g, u)\n"
    text = TAKING.replace("LINES\n", lines + "        a = R.add(r, s)\n        return a\n")
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LambdaLift").script()
    assert after.count("R.match_cast(g, ") == after.count("R.match_cast(") == 2


def test_tvm_runs_what_takes_a_closure(oracle: Oracle) -> None:
    lines = "        r = Module.use(g, x)\n        return r\n"
    after = rxe.apply_pass(rxe.normalize(rxe.parse(TAKING.replace("LINES\n", lines))), "LambdaLift")
    args = [np.array([1, 2], np.float32), np.array(True)]
    np.testing.assert_array_equal(
        oracle.run(after.script(), "main", args).get(), rxe.run(after, "main", args)
    )
