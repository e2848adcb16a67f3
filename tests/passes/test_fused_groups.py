"""The groups of FuseOps: equal ones share a function, whose lengths are found once, and each is recorded."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import fuse_ops
from relax_explorer.core.passes.pipeline import Outcome, Step, run_step
from relax_explorer.core.program.module import IRModule
from tests.support.roundtrip import function

LONG = 'R.Tensor(("n * 2",), "float32")'
PARAMS = f'x: {LONG}, s: R.Shape(["n"])'


def _ready(block: str, params: str = PARAMS) -> IRModule:
    """A module with dataflow blocks, ready for FuseOps."""
    text = function(block, params)
    return rxe.run_pipeline(rxe.normalize(rxe.parse(text)), "LegalizeOps,AnnotateTIROpPattern")


def _fused(block: str, params: str = PARAMS) -> Outcome:
    return run_step(Step(passes.get("FuseOps")), _ready(block, params))


def _block(lines: list[str], *outputs: str) -> str:
    body = "".join([f"    {line}\n" for line in lines])
    return f"n = T.int64()\nwith R.dataflow():\n{body}    R.output({', '.join(outputs)})\n"


def _looks(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often FuseOps looks for the lengths in StructInfo, in a block of this many equal groups."""
    lines = [line for n in range(count) for line in (f"y{n} = R.exp(x)", f"z{n} = R.sin(y{n})")]
    outputs = [f"z{n}" for n in range(count)]
    module = _ready(f"{_block(lines, *outputs)}return ({', '.join(outputs)},)")
    looked, untold = list[object](), fuse_ops.untold_lengths
    with monkeypatch.context() as patch:
        patch.setattr(fuse_ops, "untold_lengths", lambda *infos: looked.append(infos) or untold(*infos))
        after = rxe.apply_pass(module, "FuseOps")
    assert [fn.attrs.get("Primitive") for fn in after.relax_functions.values()] == [True, None]
    assert after.script().count("R.shape([n])") == count
    return len(looked)


def test_lengths_are_found_once_for_equal_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(2, monkeypatch) == _looks(20, monkeypatch)


def test_groups_with_other_struct_info_are_other_functions() -> None:
    kernel = """    @T.prim_func(private=True)
    def f(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("f"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] + a[v]
"""
    four, known = 'R.Tensor((4,), "float32")', 'R.Tensor("float32", ndim=1)'
    lines, results = "", []
    for n, (given, annotation) in enumerate([("x", four), ("y", four), ("x", known), ("x", four)]):
        lines += f"            a{n} = R.call_tir(cls.f, ({given},), {four})\n"
        lines += f"            b{n}: {annotation} = R.call_tir(cls.f, (a{n},), {four})\n"
        results.append(f"b{n}")
    text = f"""
@I.ir_module
class M:
{kernel}    @R.function
    def main(x: {four}, y: {known}):
        cls = M
        with R.dataflow():
{lines}            R.output({", ".join(results)})
        return ({", ".join(results)})
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FuseOps")
    functions = [fn for fn in after.relax_functions.values() if fn.is_private]
    signatures = [str(fn.struct_info) for fn in functions]
    assert len(set(signatures)) == len(signatures) == 3


def test_each_group_is_recorded() -> None:
    """A field from outside is read in front of the call, and a group that nothing reads has no successor."""
    lines = ["a = t[0]", "b = R.exp(a)", "u = R.exp(x)", "v = R.sin(u)", "w = R.negative(x)"]
    takes = 'x: R.Tensor((4,), "float32"), t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))'
    outcome = _fused(f"{_block(lines, 'b', 'w')}return (b, w)", takes)
    changes = [
        ([b.var.name for b in change.before], [b.var.name for b in change.after])
        for change in outcome.rewrites
    ]
    assert changes == [(["a", "b"], ["b"]), (["b"], ["lv"]), (["u", "v"], [])]
    main = outcome.module["main"]
    assert isinstance(main, e.Function)
    assert [b.var.name for b in bindings(main) if b.var is not None] == ["lv", "b", "w"]


def test_a_block_without_groups_is_the_same_object() -> None:
    grouped = _block(["y = R.exp(x)", "z = R.sin(y)"], "z")
    module = _ready(
        f"{grouped}k = R.print(z, format='')\n{_block(['v = R.exp(z)'], 'v').partition(chr(10))[2]}return v"
    )
    after = rxe.apply_pass(module, "FuseOps")
    old, new = module["main"], after["main"]
    assert isinstance(old, e.Function)
    assert isinstance(new, e.Function)
    assert [a is b for a, b in zip(old.body.blocks, new.body.blocks, strict=True)] == [False, True, True]
    assert rxe.apply_pass(after, "FuseOps") is after


def test_a_block_without_bindings_goes() -> None:
    outcome = _fused(f"{_block(['y = R.exp(x)', 'z = R.sin(y)'])}return x")
    main = outcome.module["main"]
    assert isinstance(main, e.Function)
    assert not main.body.blocks


SCALED = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(k: T.int64, a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                b[v] = a[v] * T.Cast("float32", k)
    @R.function
    def main(x: R.Tensor((4,), "float32"), p: T.int64):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.scale, (R.prim_value(2), x), out_ty=R.Tensor((4,), "float32"))
            b = R.call_tir(cls.scale, (R.prim_value(p + 1), a), out_ty=R.Tensor((4,), "float32"))
            c = R.call_tir(cls.scale, (R.prim_value(OTHER), b), out_ty=R.Tensor((4,), "float32"))
            d = R.call_tir(cls.scale, (p, c), out_ty=R.Tensor((4,), "float32"))
            R.output(d)
        return d
"""


@pytest.mark.parametrize("other", [2, 3])
def test_numbers_stand_in_the_function_of_a_group(other: int) -> None:
    module = rxe.normalize(rxe.parse(SCALED.replace("OTHER", str(other))))
    after = rxe.apply_pass(module, "FuseOps")
    fused = next(fn for fn in after.relax_functions.values() if "Primitive" in fn.attrs)
    assert [str(param.struct_info) for param in fused.params] == [
        'R.Tensor((4,), dtype="float32")', "T.int64", "T.int64",
    ]  # fmt: skip
    x = np.arange(4, dtype="float32")
    for result in (after, rxe.apply_pass(after, "FuseTIR")):
        assert np.array_equal(rxe.run(result, "main", [x, 5]), x * 2 * 6 * other * 5)


def test_fields_of_fields_are_grouped_without_a_kernel() -> None:
    pair = 'R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))'
    lines = ["p = t[0]", "q = p[1]", "r = R.exp(q)"]
    text = function(
        _block(lines, "r").removeprefix("n = T.int64()\n") + "return r", f"t: R.Tuple({pair}, R.Tensor)"
    )
    fused = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FuseOps")
    assert [type(b.value) for b in bindings(fused["fused"])] == [e.TupleGetItem]
    alone = text.replace("q = p[1]", "q = t[1]")
    assert rxe.apply_pass(rxe.normalize(rxe.parse(alone)), "FuseOps").relax_functions.keys() == {"main"}


@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_what_only_a_dropped_function_reads_goes(profile: str) -> None:
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))) -> R.Tensor((2,), "float32"):
        return t[0]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        v = R.exp(x)
        @R.function
        def g(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return v
        w = g(v)
        return x
"""
    after = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FuseTIR", profile=profile)
    assert not [*bindings(after.relax_functions["main"])]
