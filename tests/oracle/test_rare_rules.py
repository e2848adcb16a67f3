"""Rules of the profile `tvm` that few programs meet: TVM does so, and the default profile does not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import relax_explorer as rxe
from tests.support.judged import Asker, Results, is_equal, judge
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module
from tests.support.pass_variants import variants

KERNEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                vi = T.axis.spatial(T.int64(4), i)
                A[vi] = A[vi] * T.float32(2)
"""


@dataclass(frozen=True)
class Rule:
    """A rule of a pass, and the body of a program that meets it."""

    of: str
    signature: str
    body: str
    kernel: bool = False
    is_pure: bool = True

    @property
    def text(self) -> str:
        """The program."""
        indent = "    " if self.kernel else ""
        pure = "" if self.is_pure else "(pure=False)"
        lines = [f"@R.function{pure}", f"def main({self.signature}):", *self.body.strip("\n").splitlines()]
        own = "\n".join([indent + line for line in lines])
        return f"{KERNEL}\n{own}\n" if self.kernel else as_module(own)


X = 'x: R.Tensor((4,), "float32")'
RULES = {
    "nothing is killed behind an If": Rule(
        "KillAfterLastUse",
        f'{X}, c: R.Tensor((), "bool")',
        """
    p = R.exp(x)
    q = R.cos(p)
    a = R.sin(q)
    if c:
        b = R.cos(a)
        r = R.sin(b)
    else:
        r = R.exp(a)
    e = R.negative(x)
    f = R.cos(e)
    return (r, f)""",
    ),
    "nothing is killed behind a nested function": Rule(
        "KillAfterLastUse",
        X,
        """
    a = R.exp(x)
    @R.function
    def g(z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.exp(z)
        return y
    e = g(a)
    h = R.exp(e)
    f = R.cos(h)
    return f""",
    ),
    "a reshape may share what is overwritten": Rule(
        "RewriteDataflowReshape",
        X,
        """
    cls = Module
    with R.dataflow():
        a = R.exp(x)
        b = R.reshape(a, (2, 2))
        c = R.call_tir_inplace(cls.twice, (a,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
        d = R.reshape(c, (2, 2))
        e = R.add(b, d)
        R.output(e)
    return e""",
        kernel=True,
    ),
    "the operand of an operator that is not lowered has no storage": Rule(
        "StaticPlanBlockMemory",
        X,
        """
    a = R.exp(x)
    b = R.cumsum(a, axis=0)
    c = R.cos(b)
    d = R.exp(c)
    return d""",
    ),
    "a count that is known is a constant": Rule(
        "LegalizeOps", X, '    y = R.arange(0, 4, 1, dtype="float32")\n    z = R.add(x, y)\n    return z'
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_the_profile_does_as_tvm(name: str, oracle: Oracle) -> None:
    rule = RULES[name]
    of = variants(rule.of)[0]
    results = Asker(oracle).ask(rule.text, of)
    assert isinstance(results, Results), results
    assert judge(results).kind == "equal", judge(results).details
    assert isinstance(results.ours, rxe.IRModule)
    other = rxe.apply_pass(results.program, rule.of, **of.options)
    assert not is_equal(results.ours, other), "both profiles do the same"
