"""The lengths that a call of a new function returns are simplified, whatever form they have in the group that it computes."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from tests.oracle.test_reading import CALLS, module_of

LONG = "(d * 2 + 1) // 2"
TEXT = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def k(x: T.handle, d: T.int64, y: T.handle):
        T.func_attr({{"op_pattern": 0}})
        n = T.int64()
        A = T.match_buffer(x, (n, d * 2))
        B = T.match_buffer(y, (n, {LONG}))
        for i, j in T.grid(n, {LONG}):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w]
    @T.prim_func(private=True, s_tir=True)
    def l(x: T.handle, d: T.int64, y: T.handle):
        T.func_attr({{"op_pattern": 0}})
        n = T.int64()
        A = T.match_buffer(x, (n, {LONG}))
        B = T.match_buffer(y, (n, {LONG}))
        for i, j in T.grid(n, {LONG}):
            with T.sblock("b"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] + T.float32(1)
    @R.function
    def main(x: R.Tensor(("n", "d * 2"), "float32"), s: R.Shape(["d"])):
        n = T.int64()
        d = T.int64()
        cls = Module
        with R.dataflow():
            LINES
            R.output(c)
        return c
"""
KERNELS = [
    f'a = R.call_tir(cls.k, (x, d), out_ty=R.Tensor((n, {LONG}), "float32"))',
    f'c = R.call_tir(cls.l, (a, d), out_ty=R.Tensor((n, {LONG}), "float32"))',
]
ONE = [KERNELS[0], "c = R.exp(a)"]
TWO = [KERNELS[0], "b = R.exp(a)", "c = (a, b)"]
PATTERN = "my.g: exp(call_tir(_, _))"


def _module(lines: list[str]) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(TEXT.replace("LINES", "\n            ".join(lines))))


def _calls(module: rxe.IRModule) -> list[e.Binding]:
    """The bindings of calls of functions of the module."""
    return [
        b for b in bindings(module["main"]) if type(b.value) is e.Call and type(b.value.op) is e.GlobalVar
    ]


@pytest.mark.parametrize("annotated", [False, True])
@pytest.mark.parametrize("lines", [KERNELS, ONE, TWO], ids=["FuseOps", "by pattern", "two results"])
def test_a_call_of_a_group_has_simplified_lengths(lines: list[str], annotated: bool) -> None:
    given = _module(lines)
    if lines is KERNELS:
        fused = rxe.apply_pass(given, "FuseOps")
    else:
        fused = rxe.apply_pass(given, "FuseOpsByPattern", patterns=(PATTERN,), annotate_codegen=annotated)
    (call,) = _calls(fused)
    short = 'R.Tensor((n, d), dtype="float32")'
    assert str(call.value.struct_info) == (f"R.Tuple({short}, {short})" if lines is TWO else short)
    assert rxe.well_formed(fused)
    (c,) = [b for b in bindings(fused["main"]) if b.var is not None and b.var.name == "c"]
    assert LONG in str(c.var and c.var.struct_info)  # readers see the lengths of the group


PIPELINES = ["InlinePrivateFunctions,CanonicalizeBindings", "ConvertToDataflow,FuseOps", "zero,default_build"]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", CALLS)
def test_passes_agree_with_the_lengths_of_calls(name: str, pipeline: str) -> None:
    result = rxe.run_pipeline(rxe.normalize(rxe.parse(module_of(CALLS[name]))), pipeline)
    assert rxe.well_formed(result)
