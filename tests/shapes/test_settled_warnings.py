"""Lengths that are proved settle a warning about a call only if nothing else about its arguments is open."""

from __future__ import annotations

import pytest

from relax_explorer.core.check.normalize import normalize
from relax_explorer.core.passes.pipeline import run_pipeline
from relax_explorer.core.phases.module_check import check
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


LOWERED = """@I.ir_module
class Module:
    @R.function(private=True)
    def inner(x: R.Tensor(("n", 3), "float32"), s: R.Shape(["n * 2"])) -> R.Tensor(("n * 2",), "float32"):
        n = T.int64()
        y = R.zeros(s, "float32")
        return y

    @R.function
    def main(x: R.Tensor(("n", 3), "float32")) -> R.Tuple(R.Tensor(("n * 2",), "float32"), R.Shape(["n", 1])):
        n = T.int64()
        s = R.shape([n * 2])
        y = Module.inner(x, s)
        return (y, R.shape([n, 1]))
"""


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_lengths_in_a_shape_heap_are_not_missed(profile: str) -> None:
    module = normalize(parse(LOWERED))
    assert not list(check(module, profile=profile))
    lowered = run_pipeline(module, ["zero", "default_build"]).script()
    assert "vm.builtin.alloc_shape_heap" in lowered
    assert "RX0240" not in _codes(lowered, profile)
    assert "RX0218" not in _codes(lowered, profile)
    result = '-> R.Tensor(("n * 2",), dtype="float32")'
    assert result in lowered
    for wrong in ('R.Tensor((4, 4), dtype="float32")', 'R.Tensor(("n * 2",), dtype="int32")'):
        assert "RX0109" in _codes(lowered.replace(result, f"-> {wrong}"), profile)


def _codes(text: str, profile: str) -> list[str]:
    return [item.code.id for item in check(parse(text), profile=profile)]
