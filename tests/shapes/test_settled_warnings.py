"""Lengths that are proved settle a warning about a call only if nothing else about its arguments is open."""

from __future__ import annotations

import pytest

from relax_explorer.core.check import check
from relax_explorer.core.syntax.parser import parse

PROGRAM = """@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32"), f: {wanted}) -> R.Tensor(("n",), "float32"):
        return x

    @R.function
    def main(x: R.Tensor(("k",), "float32"), y: R.Tensor(("m",), "float32"), g: {given}) -> R.Tensor(("k",), "float32"):
        k, m = T.int64(), T.int64()
        c = R.match_cast(x, R.Tensor((m,), "float32"))
        z = Module.helper(x, y, g)
        return z
"""
THREE = 'R.Tensor((3,), "float32")'
ONE_AXIS = 'R.Tensor("float32", ndim=1)'


@pytest.mark.parametrize(("result", "warns"), [(THREE, False), (ONE_AXIS, True)])
def test_a_function_that_may_not_fit_is_told(result: str, warns: bool) -> None:
    wanted, given = f"R.Callable(({THREE},), {THREE})", f"R.Callable(({THREE},), {result})"
    found = check(parse(PROGRAM.format(wanted=wanted, given=given)))
    assert any("argument 3 of helper" in item.message for item in found) is warns
    assert bool(found) is warns
