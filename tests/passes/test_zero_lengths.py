"""A length that becomes 0 stays a length of 0. Written in a reshape, a 0 would mean the length of the operand at the same place."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e

BIND = 'BindSymbolicVars{binding_map={"n":0}}'
SPECIALIZE = 'SpecializeShapes{func_name="main",bindings=["n=0"],public=True}'
HEAD = """@R.function
def main({params}):
    n = T.int64()
{body}
"""
X = 'x: R.Tensor(("n", 4), "float32")'
HALVED = "    y = R.reshape(x, R.shape([2, n * 2]))\n    return y"
DATAFLOW = """    with R.dataflow():
        y = R.reshape(x, R.shape([2, n * 2]))
        z = R.reshape(R.exp(y), R.shape([n * 2, 2]))
        R.output(z)
    return z"""
NESTED = """    @R.function
    def inner(u: R.Tensor(("n", 4), "float32")) -> R.Tensor((2, "n * 2"), "float32"):
        v = R.reshape(u, R.shape([2, n * 2]))
        return v
    y = inner(x)
    return y"""
BRANCH = """    if c:
        y = R.reshape(x, R.shape([2, n * 2]))
    else:
        y = R.zeros(R.shape([2, n * 2]), "float32")
    return y"""
UNKNOWN = "    y = R.reshape(x, R.shape([n, 4]))\n    return y"
PROGRAMS = {
    "plain": (X, HALVED, (2, 0)),
    "dataflow": (X, DATAFLOW, (0, 2)),
    "nested": (X, NESTED, (2, 0)),
    "branch": (f'{X}, c: R.Tensor((), "bool")', BRANCH, (2, 0)),
    "unknown": (f'x: R.Tensor("float32", ndim=2), w: {X[3:]}', UNKNOWN, (0, 4)),
    "another place": (X, "    y = R.reshape(x, R.shape([2, n, 5]))\n    return y", (2, 0, 5)),
    "behind the rank": (X, "    y = R.reshape(x, R.shape([2, 4, n]))\n    return y", (2, 4, 0)),
    "by name": (X, "    s = R.shape([2, n * 2])\n    y = R.reshape(x, s)\n    return y", (2, 0)),
    "in a tuple": (X, "    y = (x, R.reshape(x, R.shape([2, n])))\n    z = y[1]\n    return z", (2, 0)),
}


def arguments(params: str) -> list[object]:
    empty = np.zeros((0, 4), "float32")
    return [empty, *([np.array(True)] * ("c:" in params)), *([empty] * ("w:" in params))]


@pytest.mark.parametrize(
    "then",
    [
        "",
        ",LegalizeOps",
        ",CanonicalizeBindings,FoldConstant,SimplifyShapes",
        ",LambdaLift,zero,default_build",
    ],
)
@pytest.mark.parametrize("first", [BIND, SPECIALIZE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reshape_keeps_its_meaning(name: str, first: str, then: str) -> None:
    params, body, shape = PROGRAMS[name]
    module = rxe.normalize(rxe.parse(HEAD.format(params=params, body=body)))
    assert rxe.run(module, "main", arguments(params)).shape == shape
    new = rxe.run_pipeline(module, f"{first},ToNonDataflow{then}")
    entry = "main" if first == BIND else "main_n0"
    assert rxe.run(new, entry, arguments(params)).shape == shape
    assert rxe.run(rxe.parse(new.script()), entry, arguments(params)).shape == shape


INLINED = """@I.ir_module
class M:
    @R.function(private=True)
    def inner(x: R.Tensor(("n", 4), "float32")) -> R.Tensor((2, "n * 2"), "float32"):
        n = T.int64()
        y = R.reshape(x, R.shape([2, n * 2]))
        return y
    @R.function(private=True)
    def outer(x: R.Tensor(("n", 4), "float32")) -> R.Tensor((2, "n * 2"), "float32"):
        n = T.int64()
        y = M.inner(x)
        return y
    @R.function
    def main(x: R.Tensor((0, 4), "float32")):
        BODY
"""
PLAIN = "z = M.{}(x)\n        return z"
GRAPH = "with R.dataflow():\n            z = M.{}(x)\n            R.output(z)\n        return z"


@pytest.mark.parametrize("callee", ["inner", "outer"])
@pytest.mark.parametrize("body", [PLAIN, GRAPH])
def test_inlining_keeps_it(body: str, callee: str) -> None:
    module = rxe.normalize(rxe.parse(INLINED.replace("BODY", body.format(callee))))
    new = rxe.apply_pass(module, "InlinePrivateFunctions")
    assert "M." not in new.script()
    assert rxe.run(rxe.parse(new.script()), "main", [np.zeros((0, 4), "float32")]).shape == (2, 0)


def shapes_held(body: str) -> list[e.Binding]:
    module = rxe.normalize(rxe.parse(HEAD.format(params=X, body=body)))
    fn = rxe.run_pipeline(module, BIND).relax_functions["main"]
    return [one for block in fn.body.blocks for one in block.bindings if type(one.value) is e.ShapeExpr]


def test_only_such_shapes_have_bindings() -> None:
    assert shapes_held("    y = R.reshape(x, R.shape([n, 2, 2]))\n    return y") == [], (
        "x has this length there"
    )
    assert shapes_held("    y = R.zeros(R.shape([2, n]), 'float32')\n    return y") == []
    (held, again) = shapes_held(DATAFLOW)
    assert type(held.var) is type(again.var) is e.DataflowVar
    (held,) = shapes_held(HALVED)
    assert type(held.var) is e.Var
    assert held.span is not None


def test_a_written_zero_behind_the_rank_is_refused() -> None:
    text = HEAD.format(params=X, body="    y = R.reshape(x, R.shape([2, 4, 0]))\n    return y")
    assert any("no such axis" in problem.message for problem in rxe.check(rxe.parse(text)))
