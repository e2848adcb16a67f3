"""MergeCompositeFunctions and RunCodegen: which calls become one, and that a packed function can stand for them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pass_order import explain
from relax_explorer.core.passes.pipeline import Outcome, run, steps
from relax_explorer.core.phases.module_properties import (
    BYOC_MARKED,
    NORMAL_FORM,
    PURE_DATAFLOW,
    WELL_FORMED,
    holding,
)
from tests.passes.test_fusion_by_pattern import SQUARE, main_calls
from tests.passes.test_pattern_passes import in_graph
from tests.support.roundtrip import function

PATTERNS = ["my.dense: relu(matmul(_, _))", "my.product: matmul(_, _)", "other.curve: sigmoid(_)"]


def merged(lines: str, outputs: str) -> rxe.IRModule:
    module = rxe.normalize(rxe.parse(function(in_graph(lines, outputs), SQUARE)))
    result = rxe.run_pipeline(
        rxe.apply_pass(module, "FuseOpsByPattern", patterns=PATTERNS), ["MergeCompositeFunctions"]
    )
    assert rxe.well_formed(result)
    inputs = [np.random.default_rng(n).standard_normal((4, 4)).astype("float32") for n in range(2)]
    for one, other in zip(rxe.run(result, "main", inputs), rxe.run(module, "main", inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return result


@pytest.mark.parametrize(
    ("lines", "regions"),
    [
        ("a = R.nn.relu(R.matmul(x, w))\ny = R.matmul(a, w)", 1),  # a chain
        ("a = R.matmul(x, w)\nb = R.matmul(w, x)\ny = R.matmul(a, b)", 1),  # two operands
        (
            "a = R.matmul(x, w)\nb = R.exp(a)\ny = R.matmul(a, b)",
            2,
        ),  # what depends on a through exp can't join it
        (
            "a = R.matmul(x, w)\nb = R.sigmoid(a)\ny = R.matmul(b, w)",
            3,
        ),  # another code generator between them
        ("a = R.matmul(x, w)\nb = R.exp(w)\ny = R.matmul(a, b)", 1),
        ("a = R.matmul(x, w)\nb = R.exp(a)\nc = R.matmul(b, w)\nd = R.exp(c)\ny = R.matmul(c, d)", 3),
        ("p = R.matmul(x, w)\nq = R.nn.relu(p)\nr = R.exp(q)\ny = R.add(p, r)", 1),  # several results
        ("p = R.matmul(x, w)\no = R.sigmoid(p)\nu = R.matmul(o, o)\ny = R.matmul(p, u)", 3),
        ("a = R.matmul(x, w)\nb = R.matmul(w, x)\nt = R.exp(b)\nj = R.matmul(a, b)\ny = R.matmul(j, t)", 2),
        (
            "m = R.matmul(x, w)\ne = R.exp(m)\na = R.matmul(w, w)\nb = R.matmul(e, w)\nj = R.matmul(a, b)\ny = R.matmul(m, j)",
            2,
        ),  # what joins has the needs of both
    ],
)
def test_connected_calls_of_one_code_generator_are_one(lines: str, regions: int) -> None:
    module = merged(lines, "y")
    assert sum(name.endswith(("_my", "_other")) for name in main_calls(module)) == regions
    for fn in module.relax_functions.values():
        assert not fn.attrs.get("Composite")
        assert bool(fn.attrs.get("Codegen")) is (fn is not module["main"])


def test_a_composite_function_is_contained_once_for_several_calls() -> None:
    module = merged("a = R.nn.relu(R.matmul(x, w))\ny = R.nn.relu(R.matmul(a, w))", "y")
    (outer,) = [fn for fn in module.relax_functions.values() if fn.attrs.get("Codegen")]
    kinds = [type(binding.value) for binding in bindings(outer, nested=False)]
    assert kinds == [e.Function, e.Call, e.Call]


def test_nothing_composite_is_nothing_to_do() -> None:
    module = rxe.normalize(rxe.parse(function(in_graph("y = R.matmul(x, w)", "y"), SQUARE)))
    assert rxe.apply_pass(module, "MergeCompositeFunctions") is module
    assert rxe.apply_pass(module, "RunCodegen") is module


def test_what_nothing_reads_or_calls_goes() -> None:
    private = "    @R.function(private=True)\n    def unused(x: R.Object):\n        return x\n"
    text = function(in_graph("d = R.exp(x)\ny = R.matmul(x, w)", "y"), SQUARE) + private
    module = rxe.normalize(rxe.parse(text))
    assert len(module.functions) == 2
    after = rxe.apply_pass(module, "MergeCompositeFunctions")
    assert len(after.functions) == 1
    assert "R.exp" not in after.script()


def test_a_function_for_a_code_generator_that_nothing_calls_stays() -> None:
    module = merged("y = R.matmul(x, w)", "y")
    alone = module.having({name: fn for name, fn in module.functions.items() if name != "main"})
    assert rxe.apply_pass(alone, "RunCodegen") is alone


def test_a_packed_function_stands_for_a_compiled_one() -> None:
    module = rxe.apply_pass(merged("a = R.nn.relu(R.matmul(x, w))\ny = R.exp(a)", "y"), "RunCodegen")
    assert set(module.functions) == {"main"}
    first, second = bindings(module["main"])  # type: ignore[arg-type]
    assert isinstance(first.value, e.Call)
    packed, args = first.value.args
    assert isinstance(packed, e.ExternFunc)
    assert packed.name == "fused_relax_matmul_relax_nn_relu1_my"
    assert isinstance(args, e.Tuple)
    assert [field.name for field in args.fields] == ["x", "w"]  # type: ignore[attr-defined]
    assert isinstance(second.value, e.Call)


def test_several_results_of_a_packed_function_are_a_tuple() -> None:
    lines = "p = R.matmul(x, w)\nq = R.nn.relu(p)\nr = R.exp(q)\ny = R.add(p, r)"
    module = rxe.apply_pass(merged(lines, "y"), "RunCodegen")
    assert [item.code.id for item in rxe.check(module) if item.is_error] == ["RX0112"]  # pure in TVM only
    assert main_calls(module)[:3] == ["relax.call_dps_packed", "TupleGetItem", "TupleGetItem"]


PARTS = 'FuseOpsByPattern{patterns="my.dense: relu(matmul(_, _))"}'
MARKED = 'FuseOpsByPattern{patterns="my.dense: relu(matmul(_, _))",annotate_codegen=True}'
BEHIND = "LegalizeOps,ToNonDataflow,RemovePurityChecking"


def outcomes(pipeline: str, head: str = "@R.function") -> list[Outcome]:
    """A product and a relu of it in a dataflow block, and what a pipeline does with them."""
    text = function(in_graph("a = R.nn.relu(R.matmul(x, w))\ny = R.exp(a)", "y"), SQUARE)
    text = text.replace("@R.function", head)
    module = rxe.normalize(rxe.parse(text))
    return list(run(module, steps(pipeline), holding(module)))


def told(found: list[Outcome]) -> list[tuple[str, str, bool]]:
    return [(item.step.of.name, p.code.id, p.is_error) for item in found for p in item.problems]


@pytest.mark.parametrize("head", ["@R.function", "@R.function(pure=True)"])
@pytest.mark.parametrize("start", [f"{PARTS},MergeCompositeFunctions", MARKED])
def test_external_code_in_a_dataflow_block_is_a_warning(start: str, head: str) -> None:
    found = outcomes(f"{start},RunCodegen,{BEHIND}", head)
    assert told(found) == [("RunCodegen", "RX0415", False)]
    (place,) = [label.place for item in found for p in item.problems for label in p.labels]
    assert place.op is e.op_ref("relax.call_dps_packed")
    assert not PURE_DATAFLOW.holds(found[-len(BEHIND.split(",")) - 1].module)
    assert PURE_DATAFLOW.holds(found[-1].module)
    assert WELL_FORMED.holds(found[-1].module)


def test_external_code_in_an_ordinary_block_needs_no_warning() -> None:
    assert told(outcomes(f"{MARKED},ToNonDataflow,RunCodegen")) == []


def test_effects_from_before_are_not_told_again() -> None:
    packed = 'R.call_dps_packed("f", (x,), out_ty=R.Tensor((4, 4), "float32"))'
    text = function(in_graph(f"a = {packed}\ny = R.nn.relu(R.matmul(a, w))", "y"), SQUARE)
    module = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)), "FuseOpsByPattern", patterns=PATTERNS, annotate_codegen=True
    )
    (found,) = run(module, steps("RunCodegen"), holding(module))
    assert len(found.module.functions) < len(module.functions)
    assert not found.problems


def test_functions_that_name_their_code_generator_are_marked() -> None:
    parts, merge = outcomes(f"{PARTS},MergeCompositeFunctions")
    assert BYOC_MARKED.violation(parts.module) is not None
    assert BYOC_MARKED in parts.waived
    assert BYOC_MARKED.holds(merge.module)
    assert BYOC_MARKED in merge.holding(set())
    (marked,) = outcomes(MARKED)
    assert BYOC_MARKED.holds(marked.module)
    assert BYOC_MARKED in marked.holding({BYOC_MARKED})
    assert BYOC_MARKED not in parts.holding({BYOC_MARKED})


def test_an_order_without_marks_is_warned_of_before_it_runs() -> None:
    assert [item.code.id for item in explain(steps(f"{PARTS},RunCodegen"), [NORMAL_FORM, BYOC_MARKED])] == [
        "RX0402"
    ]
    assert not explain(steps(f"{MARKED},RunCodegen"), [NORMAL_FORM, BYOC_MARKED])
    assert not explain(steps(f"{PARTS},MergeCompositeFunctions,RunCodegen"), [NORMAL_FORM, BYOC_MARKED])


def test_a_composite_function_called_outside_a_dataflow_block_is_told() -> None:
    found = outcomes(f"{PARTS},ToNonDataflow,MergeCompositeFunctions")
    codes = ("RX0416", "RX0418")  # what is left to do, and the order that does it
    assert told(found) == [("MergeCompositeFunctions", code, False) for code in codes]
    assert BYOC_MARKED in found[-1].waived
    assert told(outcomes(f"{PARTS},ToNonDataflow,ConvertToDataflow,MergeCompositeFunctions")) == []


def test_a_composite_function_that_nothing_calls_needs_no_mark() -> None:
    text = function(in_graph("y = R.matmul(x, R.permute_dims(w))", "y"), SQUARE)
    done = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FuseTransposeMatmul")
    assert any(fn.attrs.get("Composite") for fn in done.relax_functions.values())
    assert BYOC_MARKED.holds(done)


UNREAD = """
@I.ir_module
class M:
    @R.function
    def lib(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "my"})
        y = R.exp(x)
        return y
    @R.function(private=True)
    def uncalled(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32"), i: R.Tensor((2,), "int32")):
        cls = M
        unread = R.multiply(x, x)
        stops = R.floor_divide(i, i)
        a = CALL
        return a
"""


@pytest.mark.parametrize("call", ["cls.lib(x)", "R.sin(x)"])
@pytest.mark.parametrize("profile", ["spec", "tvm"])
def test_run_codegen_drops_what_is_dead(call: str, profile: str) -> None:
    module = rxe.normalize(rxe.parse(UNREAD.replace("CALL", call)))
    text = rxe.apply_pass(module, "RunCodegen", profile=profile).script()
    assert "unread" not in text
    assert "def uncalled" not in text
    assert ("def lib" in text) is (call == "R.sin(x)")
    assert ("stops" in text) is (profile == "spec")


SHAPELESS = """
@I.ir_module
class M:
    @R.function
    def lib(x: R.Tensor(("n",), "float32")) -> RESULT:
        R.func_attr({"Codegen": "my"})
        return BODY
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool"), s: R.Shape(ndim=1)):
        cls = M
        CALL
        return y
"""
FLAT = 'R.Tensor(("n",), "float32")'
CALLED = "y = cls.lib(x)"
IN_BRANCHES = "if c:\n            y = cls.lib(x)\n        else:\n            y = cls.lib(x)"


@pytest.mark.parametrize(
    ("result", "body", "call"),
    [
        ('R.Tensor(ndim=1, dtype="float32")', "x", CALLED),
        ('R.Tensor(dtype="float32")', "x", CALLED),
        ('R.Tensor(("n",))', "x", CALLED),
        ("R.Object", "x", CALLED),
        ("R.Shape(ndim=1)", "R.shape_of(x)", CALLED),
        ('R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(ndim=1, dtype="float32"))', "(x, x)", CALLED),
        ('R.Tuple(R.Tuple(R.Tensor(("n",), "float32")))', "((x,),)", CALLED),
        ('R.Tensor(ndim=1, dtype="float32")', "x", IN_BRANCHES),
        (FLAT, "x", "f = cls.lib\n        y = f(x)"),
        (FLAT, "x", "f = cls.lib\n        z = cls.lib(x)\n        y = f(z)"),
        (FLAT, "x", "y = (cls.lib, cls.lib(x))"),
        (FLAT, "x", 'y = R.call_packed("g", cls.lib, sinfo_args=(R.Tensor((2,), "float32"),))'),
    ],
)  # fmt: skip
def test_a_function_stays_for_which_no_packed_one_can_stand(result: str, body: str, call: str) -> None:
    text = SHAPELESS.replace("RESULT", result).replace("BODY", body).replace("CALL", call)
    module = rxe.normalize(rxe.parse(text))
    (found,) = run(module, steps("RunCodegen"), holding(module))
    assert found.module is module
    assert told([found]) == [("RunCodegen", "RX0417", False)]


def test_only_the_function_stays_that_must() -> None:
    other = (
        SHAPELESS.replace("RESULT", FLAT)
        .replace("BODY", "x")
        .replace("CALL", "y = cls.lib(x)\n        f = cls.kept")
    )
    kept = "    @R.function\n    def kept(x: R.Tensor((2,))):\n        R.func_attr({'Codegen': 'my'})\n        return x\n"
    text = rxe.apply_pass(
        rxe.normalize(rxe.parse(other.replace("return y", "return (y, f)") + kept)), "RunCodegen"
    ).script()
    assert "def lib" not in text
    assert 'R.call_dps_packed("lib", (x,), out_ty=R.Tensor((2,), dtype="float32"))' in text
    assert "def kept" in text


@pytest.mark.parametrize("call", [CALLED, "f = cls.lib\n        y = f(x)"])
def test_a_function_that_stays_is_told_where_it_is(call: str) -> None:
    result = 'R.Tensor(ndim=1, dtype="float32")' if call is CALLED else FLAT
    text = SHAPELESS.replace("RESULT", result).replace("BODY", "x").replace("CALL", call)
    module = rxe.normalize(rxe.parse(text))
    (found,) = run(module, steps("RunCodegen"), holding(module))
    (problem,) = found.problems
    assert "lib stays: " in problem.message
    assert ("match_cast" if call is CALLED else "by its name") in problem.help
    line = text.split("\n")[problem.primary.place.span.line - 1]  # type: ignore[union-attr]
    assert line.strip().startswith("y = cls.lib(x)" if call is CALLED else "def lib")


COPIES = """
@R.function
def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32"), z: R.Tensor(("n", 4), "float32")):
    first = R.sin(x)
    with R.dataflow():
        a = R.exp(first)
        b = R.nn.relu(R.matmul(a, y))
        p = R.exp(z)
        e = first
        f = e
        d = R.exp(p)
        g = p
        h = (first, e)
        i = h[0]
        j = h
        k = first
        q = R.nn.relu(R.matmul(k, y))
        s = q
        w = z
        l = j
        R.output(b, d, f, g, i, j, k, s, w, l)
    return (b, d, f, g, i, j, k, s, w, l)
"""
"""Copies of values from outside of the block and of its own, of a copy, of a tuple and of the result of a group."""


@pytest.mark.parametrize(
    ("profile", "order"),
    [("spec", "a b p e f d g h i j k s w l"), ("tvm", "e f k a b w p g d h j l i s")],
)
@pytest.mark.parametrize("patterns", [PATTERNS, ["my.none: tan(_)"]])
def test_copies_move_to_their_value_in_the_profile_tvm(profile: str, order: str, patterns: list[str]) -> None:
    module = rxe.apply_pass(rxe.normalize(rxe.parse(COPIES)), "FuseOpsByPattern", patterns=patterns)
    after = rxe.apply_pass(module, "MergeCompositeFunctions", profile=profile)
    assert rxe.well_formed(after)
    names = [binding.var.name for binding in bindings(after["main"]) if binding.var is not None]
    assert [name for name in names if name in order.split()] == order.split()
