"""The branches of an If: what one binds is unknown in the other, and the If is what both are."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings

HEAD = "from tvm.script import relax as R, tirx as T\n\n"
N, M = 'R.Tensor((n,), "float32")', 'R.Tensor((m,), "float32")'


def info(one: str, other: str) -> str:
    text = f"""
@R.function(pure=False)
def main(a: R.Tensor(("n",), "float32"), b: R.Tensor(("m",), "float32"), c: R.Tensor((), "bool")):
    n = T.int64()
    m = T.int64()

    @R.function
    def f(z: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return z

    @R.function
    def g(z: R.Tensor("float32", ndim=1)) -> R.Tensor("float32", ndim=1):
        return z

    if c:
        y = {one}
    else:
        y = {other}
    return y
"""
    (fn,) = rxe.normalize(rxe.parse(HEAD + text)).relax_functions.values()
    return str(next(b.var.struct_info for b in bindings(fn) if b.var is not None and b.var.name == "y"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", "b", 'R.Tensor(dtype="float32", ndim=1)'),
        ("a", "R.add(a, a)", 'R.Tensor((n,), dtype="float32")'),
        ("(a, b)", "(a, a)", 'R.Tuple(R.Tensor((n,), dtype="float32"), R.Tensor(dtype="float32", ndim=1))'),
        ("a", "R.shape([2])", "R.Any"),
        ("R.shape([n])", "R.shape([m])", "R.Shape(ndim=1)"),
        ('R.astype(a, "int8")', "a", "R.Tensor((n,))"),
    ],
)
def test_an_if_is_what_both_branches_are(one: str, other: str, expected: str) -> None:
    assert info(one, other) == info(other, one) == expected


BOUND = """
@R.function
def main(x: R.Tensor("float32", ndim=1), c: R.Tensor((), "bool")):
    k = T.int64()
    if c:
        {first}
        y = {one}
    else:
        {second}
        y = {other}
    return y
"""


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("made", "read"), [("v = R.exp(x)", "v"), ('v = R.match_cast(x, R.Tensor((k,), "float32"))', "R.zeros((k,), 'int8')")]
)  # fmt: skip
def test_a_branch_does_not_see_what_the_other_binds(made: str, read: str, order: int) -> None:
    (first, one), (second, other) = [(made, "x"), ("w = R.exp(x)", read)][::order]
    text = HEAD + BOUND.format(first=first, one=one, second=second, other=other)
    try:
        problems = rxe.check(rxe.parse(text))
    except rxe.Failure as failure:
        problems = list(failure.diagnostics)
    assert [problem.code.id for problem in problems if problem.is_error]
