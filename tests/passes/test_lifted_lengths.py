"""A lifted function takes the lengths that functions around it bind, not those that it binds itself."""

from __future__ import annotations

import re
from textwrap import indent

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import run_pipeline

HEAD = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), z: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool")):
    n, m = T.int64(), T.int64()
"""
OPEN = "R.Tensor('float32', ndim=2)"
OWN = f"""@R.function
def f(r: {OPEN}) -> {OPEN}:
    a = T.int64()
    w = R.match_cast(r, R.Tensor((a, n), 'float32'))
    return R.reshape(w, R.shape([n, a]))
return f(z)
"""
BRANCH = (
    OWN.replace("w =", "if c:\n        w =")
    .replace("'))\n    return", "'))\n    else:\n        w = z\n    return", 1)
    .replace("R.shape([n, a])", "R.shape([n, n])")
)
DEEP = f"""@R.function
def f(r: R.Tensor(('a', 'b'), 'float32'), q: {OPEN}) -> {OPEN}:
    a, b = T.int64(), T.int64()
    @R.function
    def g(u: {OPEN}) -> {OPEN}:
        w = R.match_cast(u, R.Tensor((a, b), 'float32'))
        return w
    return g(q)
return f(x, z)
"""
CAST = f"""@R.function
def f(q: {OPEN}) -> {OPEN}:
    a, b = T.int64(), T.int64()
    v = R.match_cast(q, R.Tensor((a, b), 'float32'))
    @R.function
    def g(u: {OPEN}) -> {OPEN}:
        k = T.int64()
        w = R.match_cast(u, R.Tensor((a, k), 'float32'))
        return R.reshape(w, R.shape([k, a]))
    return g(x)
return f(z)
"""
HELD = f"""v = R.concat((x, z), axis=0)
k = T.int64()
w = R.match_cast(v, R.Tensor((k, m), 'float32'))
u = R.reshape(w, R.shape([k * m, 1]))
@R.function
def f(q: {OPEN}) -> {OPEN}:
    return R.add(q, R.sum(u))
return f(z)
"""
FAR = f"""@R.function
def f(q: {OPEN}) -> {OPEN}:
    @R.function
    def g(u: {OPEN}) -> {OPEN}:
        w = R.match_cast(u, R.Tensor((n, n), 'float32'))
        return w
    return g(q)
return f(z)
"""
TWO = f"""a = T.int64()
@R.function
def f(r: {OPEN}) -> {OPEN}:
    w = R.match_cast(r, R.Tensor((a, a), 'float32'))
    return w
@R.function
def g(r: {OPEN}) -> {OPEN}:
    w = R.match_cast(r, R.Tensor((a, n), 'float32'))
    return w
y = f(z)
return g(y)
"""
AROUND = f"""if c:
    k = T.int64()
    v = R.match_cast(z, R.Tensor((k, m), 'float32'))
    @R.function
    def f(r: {OPEN}) -> {OPEN}:
        w = R.match_cast(r, R.Tensor((k, n), 'float32'))
        return w
    y = f(z)
else:
    y = z
return y
"""


@pytest.mark.parametrize(
    ("body", "lengths"),
    [
        (OWN, {"f": "n"}),
        (BRANCH, {"f": "n"}),
        (DEEP, {"f": "", "g": "a, b"}),
        (CAST, {"f": "", "g": "a"}),
        (HELD, {"f": "k, m"}),
        (FAR, {"f": "n", "g": "n"}),
        (TWO, {"f": "", "g": "n"}),
        (AROUND, {"f": "k, n"}),
    ],
    ids=[
        "own",
        "in_a_branch",
        "of_parameters",
        "of_a_cast",
        "captured",
        "far",
        "two_functions",
        "around_in_a_branch",
    ],
)
def test_a_lifted_function_takes_lengths_of_functions_around_it(body: str, lengths: dict[str, str]) -> None:
    module = rxe.normalize(rxe.parse(HEAD + indent(body, "    ")))
    lifted = rxe.apply_pass(module, "LambdaLift")
    assert not [item for item in rxe.check(lifted, profile="tvm") if item.is_error]
    for name, taken in lengths.items():
        told = [str(param.struct_info) for param in lifted.relax_functions[f"main_{name}"].params]
        shapes = [info for info in told if info.startswith("R.Shape(")]
        assert re.findall(r"\[(.*)\]", "".join(shapes)) == ([taken] if taken else [])
    machine = run_pipeline(module, ["LambdaLift", "zero", "default_build"])
    ends = []
    for shape in ((2, 2), (2, 3), (3, 2), (0, 0), (3, 3)):
        args = [np.ones((2, 2), "float32"), np.ones(shape, "float32"), np.array(True)]
        found = [_outcome(program, args) for program in (module, lifted, machine)]
        assert len(set(found)) == 1, (shape, found)
        ends.append(found[0] is not None)
    assert any(ends)
    assert not all(ends)


@pytest.mark.parametrize(
    "value",
    ["R.shape([n, 1])", "R.prim_value(n * 2)", "(q, (R.prim_value(1), R.shape([2, n])))"],
)
def test_a_length_in_a_value_alone_is_taken(value: str) -> None:
    body = (
        f"@R.function\ndef f(q: {OPEN}) -> {OPEN}:\n"
        f"    s = R.call_pure_packed('seen', {value}, ty_args=R.Object)\n    return q\nreturn f(z)\n"
    )
    module = rxe.normalize(rxe.parse(HEAD + indent(body, "    ")))
    lifted = rxe.apply_pass(module, "LambdaLift")
    assert str(lifted.relax_functions["main_f"].params[1].struct_info) == "R.Shape([n])"
    assert not [item for item in rxe.check(lifted, profile="tvm") if item.is_error]


def _outcome(program: rxe.IRModule, args: list[np.ndarray]) -> tuple[int, ...] | None:
    try:
        return tuple(rxe.run(program, "main", args).shape)
    except Failure:
        return None
