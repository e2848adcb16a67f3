"""Passes keep apart what differs in one place: lengths that may differ, groups in a circle, annotations that say more, spans."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.struct_info import VDevice
from relax_explorer.core.ir.walk import all_dims, bindings
from relax_explorer.core.passes import fusion_groups, pipeline
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.function_groups import Group, lift
from relax_explorer.core.passes.kept import _other_params
from relax_explorer.core.passes.replace_module import problem_of
from relax_explorer.core.passes.vdevices import _device
from relax_explorer.core.phases.external_code import codegen_of
from relax_explorer.core.phases.module_properties import _alias

F32 = dtype("float32")


def tensor(*dims: p.PrimExpr | int, ndim: int | None = None) -> s.TensorStructInfo:
    return s.TensorStructInfo(tuple(map(p.as_prim, dims)) or None, F32, len(dims) if ndim is None else ndim)


def of(text: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(f"@I.ir_module\nclass Module:\n{text}"))


PLAIN = """    @R.function
    def main({}):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
{}            R.output(r)
        return r
"""


def after(params: str, lines: str, *steps: str, **options: object) -> list[str]:
    """The lines of a program after some passes; the last one has the options."""
    body = "".join(f"            {line}\n" for line in lines.split("\n"))
    module = of(PLAIN.format(params, body))
    for step in steps[:-1]:
        module = rxe.apply_pass(module, step)
    script = rxe.apply_pass(module, steps[-1], **options).script()
    return [line.strip() for line in script.splitlines()]


def row(*dims: object) -> str:
    """`R.Tensor` of these lengths; texts are shape variables."""
    return f'R.Tensor(({"".join([f"{dim!r}, " for dim in dims])}), "float32")'


def test_a_variable_that_says_more_than_its_value_is_not_renamed() -> None:
    lines = f"a = R.exp(x)\nb: {row(4)} = a\nr = R.exp(b)"
    kept, gone = (after(f"x: {row(dim)}", lines, "CanonicalizeBindings") for dim in ("n", 4))
    assert [any(line.startswith("b: ") for line in each) for each in (kept, gone)] == [True, False]
    module = of(
        PLAIN.format(f"x: {row('n')}", "".join(f"            {line}\n" for line in lines.split("\n")))
    )
    assert [_alias(binding) for binding in bindings(module.relax_functions["main"])] == ["", "", ""]


@pytest.mark.parametrize(
    ("params", "lines", "word", "count"),
    [
        (f"x: {row(4, 8)}, a: {row('n', 8, 6)}, b: {row('m', 8, 3)}", "y = R.matmul(x, a)\nz = R.matmul(x, b)\nr = (y, z)", "R.matmul", 2),
        (f"x: {row(4, 8)}, a: {row('n', 8, 6)}, b: {row('n', 8, 3)}", "y = R.matmul(x, a)\nz = R.matmul(x, b)\nr = (y, z)", "R.matmul", 1),
        (
            f"x: {row(4, 8)}, a: {row(8, 6)}, b: {row(8, 3)}, c: {row('n', 1, 6)}, d: {row('m', 1, 3)}",
            "y = R.add(R.matmul(x, a), c)\nz = R.add(R.matmul(x, b), d)\nr = (y, z)", "R.add", 2,
        ),
        (
            f"x: {row(4, 8)}, a: {row(8, 6)}, b: {row(8, 3)}, c: {row('n', 1, 6)}, d: {row('n', 1, 3)}",
            "y = R.add(R.matmul(x, a), c)\nz = R.add(R.matmul(x, b), d)\nr = (y, z)", "R.add", 1,
        ),
    ],
)  # fmt: skip
def test_products_of_unlike_matrices_stay_apart(params: str, lines: str, word: str, count: int) -> None:
    assert sum(word in line for line in after(params, lines, "CombineParallelMatmul")) == count


def test_memory_is_reused_only_by_a_tensor_of_the_same_lengths() -> None:
    lines = "a = R.exp(x)\nr = R.add(a, y)"
    for dims, reused in ((("n", "n"), True), ((1, "n"), False)):
        params = f"x: {row(dims[0])}, y: {row(dims[1])}"
        found = after(params, lines, "DataflowUseInplaceCalls")
        assert any("inplace" in line and "r" in line.split(":")[0] for line in found) is reused, dims


def test_casts_that_only_casts_read_go_together() -> None:
    text = f"a = R.match_cast(x, {row('n')})\nb = R.match_cast(a, {row('n')})\nr = R.exp(x)"
    assert not any("match_cast" in line for line in after(f"x: {row('n')}", text, "ElideChecks"))
    text = text.replace("'n',", "4,")
    assert not any(
        "match_cast" in line for line in after(f"x: {row('n')}", text, "ElideChecks", errors="drop")
    )


def test_a_gradient_splits_at_each_end_and_cuts_each_side() -> None:
    params = ", ".join(f"{name}: {row(size)}" for name, size in zip("abcd", (2, 3, 4, 5), strict=True))
    lines = "y = R.concat((a, b, c, d), axis=0)\nr = R.sum(y)"
    assert any("[2, 5, 9]" in line for line in after(params, lines, "Gradient", func_name="main"))
    for size in ((6, 5), (5, 6)):  # one side reaches farther than the kernel
        params = f"x: {row(1, 1, *size)}, w: {row(1, 1, 3, 3)}"
        lines = "y = R.nn.conv2d(x, w, strides=[2, 2])\nr = R.sum(y)"
        assert any("strided_slice" in line for line in after(params, lines, "Gradient", func_name="main"))


def test_a_gradient_shares_no_length_with_its_function_and_has_places() -> None:
    lines = (
        f"            a = R.match_cast(x, {row('m')})\n            b = R.exp(a)\n            r = R.sum(b)\n"
    )
    params = f'x: R.Tensor("float32", ndim=1), unread: {row(3)}'
    new = rxe.apply_pass(of(PLAIN.format(params, lines)), "Gradient", func_name="main")
    functions = [new.relax_functions[name] for name in ("main", "main_adjoint")]
    lengths = [
        {dim for b in bindings(fn) if b.var for dim in all_dims(b.var.struct_info)} for fn in functions
    ]  # type: ignore[arg-type]
    assert lengths[0]
    assert lengths[0].isdisjoint(lengths[1])
    assert list(bindings(functions[1]))[-1].span == functions[0].body.body.span
    assert [b.var and b.var.name for b in bindings(functions[1]) if None in (b.span, b.value.span)] == []
    outside = of(
        f"    @R.function\n    def main(x: {row(2)}):\n        a = R.exp(x)\n        b = R.sum(a)\n        return b\n"
    )
    with pytest.raises(rxe.Failure) as caught:
        rxe.apply_pass(outside, "Gradient", func_name="main")
    assert caught.value.diagnostics[0].labels[0].place is next(bindings(outside.relax_functions["main"]))


def test_a_swap_is_that_of_the_matrix() -> None:
    lines = "f = R.permute_dims(w, axes=[0, 2, 1])\nr = R.matmul(x, f)"
    found = after(f"x: {row(4, 8)}, w: {row(2, 3, 8)}", lines, "FuseTransposeMatmul")
    assert any("fused_" in line or ("def " in line and "transpose" in line) for line in found)


def test_runs_beside_each_other_without_a_graph_are_one_block() -> None:
    text = f'    @R.function(pure=False)\n    def main(x: {row(2)}):\n        a = R.print(x, format="{{}}")\n        b = R.exp(x)\n        return b\n'
    module = of(text)
    assert rxe.apply_pass(module, "ConvertToDataflow", min_size=2) is module


def test_what_a_signature_was_and_is() -> None:
    old, new = (
        of(f"    @R.function\n    def main(x: {row(dim)}):\n        return x\n")["main"] for dim in ("n", 4)
    )
    assert isinstance(old, e.Function)
    assert isinstance(new, e.Function)
    (loss,) = _other_params("main", old, new)
    assert all(str(fn.params[0].struct_info) in loss.text for fn in (old, new))


def test_groups_in_a_circle_are_dissolved_and_others_take_place_and_names() -> None:
    lines = "a = R.exp(x)\nb = R.sin(x)\nc = R.add(b, a)\nd = R.add(a, b)\nu = R.exp(c)\nr = R.sin(u)"
    module = of(PLAIN.format(f"x: {row(4)}", "".join(f"            {line}\n" for line in lines.split("\n"))))
    fn = module.relax_functions["main"]
    a, b, c, d, u, r = bindings(fn)
    one, other, apart = (Group(Attrs({}), list(pair)) for pair in ((a, d), (b, c), (u, r)))  # type: ignore[arg-type]
    grouping = {a: one, d: one, b: other, c: other, u: apart, r: apart}
    lifted = lift(fn, PassSite(module), grouping)
    assert [x.var and x.var.name for x in bindings(lifted)] == ["a", "b", "c", "d", "r"]
    text = PLAIN.format(
        f"x: {row(4)}",
        '            a = R.add(x, R.const(1.0, "float32"))\n            r = R.multiply(a, R.const(2.0, "float32"))\n',
    )
    module = of(text)
    fn = module.relax_functions["main"]
    a, r = bindings(fn)
    one = Group(Attrs({}), [a, r])  # type: ignore[list-item]
    at = PassSite(module)
    (call,) = bindings(lift(fn, at, {a: one, r: one}, lift_constants=True))
    assert (call.span, call.value.span) == (r.span, r.span)
    made = at.editor.done().relax_functions[one.name]
    assert [param.name for param in made.params] == ["x", "param_0", "param_1"]


def test_an_unknown_profile_is_refused_by_each_pass() -> None:
    module = of(PLAIN.format(f"x: {row(4)}", "            r = R.exp(x)\n"))
    for name in ("FoldConstant", "LegalizeOps", "InlinePrivateFunctions"):
        with pytest.raises(rxe.Failure) as caught:
            rxe.apply_pass(module, name, profile="mine")
        assert caught.value.diagnostics[0].code.id == "RX0404"


def test_folding_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lines = 'a = R.divide(R.const(1.0, "float32"), R.const(0.0, "float32"))\nr = R.multiply(x, a)'
        assert not any("R.divide" in line for line in after(f"x: {row(4)}", lines, "FoldConstant"))


@pytest.mark.parametrize(("element", "is_fast"), [("float16", True), ("float32", True), ("float64", False)])
def test_erf_is_approximated_for_narrow_floats(element: str, is_fast: bool) -> None:
    found = after(f'x: R.Tensor((4,), "{element}")', "r = R.erf(x)", "FastMathTransform")
    assert any("T_fast_erf" in line for line in found) is is_fast


@pytest.mark.parametrize(("axis", "is_folded"), [(1, True), (-3, True), (-1, False)])
def test_a_norm_of_the_channels_is_folded(axis: int, is_folded: bool) -> None:
    one, weight = 'R.const([1.0], "float32")', 'R.const([[[[2.0]]]], "float32")'
    norm = f"R.nn.batch_norm(c1, {one}, {one}, {one}, {one}, axis={axis}, training=False)"
    params, lines = f"x: {row(1, 1, 6, 1)}", f"c1 = R.nn.conv2d(x, {weight})\nn1 = {norm}\nr = n1[0]"
    found = after(params, lines, "FoldBatchnormToConv2D")
    assert any("batch_norm" in line for line in found) is not is_folded


def test_names_of_groups_and_generators() -> None:
    kernel = e.GlobalVar("add1", None, None)
    var = e.DataflowVar("y", tensor(4))
    call = e.Call(e.op_ref("relax.call_tir"), (kernel, e.tuple_of((e.Var("x", tensor(4)),))))
    assert Group(Attrs({}), [e.VarBinding(var, call)]).name == "fused_add1"
    fn = of(
        f"    @R.function\n    def main(x: {row(4)}):\n        R.func_attr({{'Composite': 'my.conv.relu'}})\n        return x\n"
    )["main"]
    assert codegen_of(fn) == "my"


def test_groups_have_a_most_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion_groups, "MAX_DEPTH", 2)
    lines = "a = R.exp(x)\nb = R.sin(a)\nc = R.cos(b)\nd = R.tanh(c)\nr = R.sqrt(d)"
    found = after(f"x: {row(4)}", lines, "LegalizeOps", "AnnotateTIROpPattern", "FuseOps")
    body = found[
        found.index(
            "def main" if "def main" in found else next(line for line in found if line.startswith("def main"))
        ) :
    ]
    assert sum("cls.fused" in line for line in body) == 2


def test_closures_are_named_at_their_first_call() -> None:
    text = f"""    @R.function(private=True)
    def add(a: {row(2)}, b: {row(2)}) -> {row(2)}:
        return R.add(a, b)
    @R.function
    def main(x: {row(2)}):
        f = R.make_closure(Module.add, (x,))
        g = R.make_closure(Module.add, (x,))
        return x
"""
    module = of(text)
    found = [
        item
        for item in pipeline.run_step(pipeline.Step(rxe.passes.get("LegalizeOps")), module).problems
        if item.code.id == "RX0410"
    ]
    first = next(bindings(module.relax_functions["main"]))
    assert [label.place for item in found for label in item.labels] == [first], found


def test_a_field_of_a_graph_is_kept_where_it_says_more() -> None:
    text = f"""    @R.function
    def main(x: {row("n")}):
        with R.dataflow():
            a = R.exp(x)
            t = (a, x)
            R.output(t)
        y: {row(4)} = t[0]
        return y
"""
    module = of(text)
    assert rxe.apply_pass(module, "CanonicalizeBindings") is module


def test_a_common_product_has_the_place_of_the_first_one_and_constants_have_none() -> None:
    lines = "            y = R.matmul(x, a)\n            z = R.matmul(x, b)\n            r = (y, z)\n"
    module = of(PLAIN.format(f"x: {row(4, 8)}, a: {row(8, 6)}, b: {row(8, 3)}", lines))
    first = next(bindings(module.relax_functions["main"]))
    new = rxe.apply_pass(module, "CombineParallelMatmul").relax_functions["main"]
    assert {b.span for b in list(bindings(new))[:3]} == {first.value.span}
    params = f"x: {row(4, 8)}, v: {row(4, 8)}, a: {row(8, 6)}, b: {row(8, 3)}"
    lines = lines.replace(
        "r = (y, z)", "p = R.matmul(v, a)\n            q = R.matmul(v, b)\n            r = (y, z, p, q)"
    )
    bound = rxe.apply_pass(
        of(PLAIN.format(params, lines)), "BindParams", params={"x": np.ones((4, 8), "float32")}
    )
    assert rxe.apply_pass(bound, "CombineParallelMatmul").script().count("R.matmul") == 3


IMAGE, FILTER = f"x: {row(1, 4, 8, 8)}, w: {row(4, 4, 3, 3)}", "a = R.nn.conv2d(x, w, padding=[1, 1])\n"
LAYOUTS = {"relax.nn.conv2d": ["NHWC", "OHWI"]}


def test_operands_of_other_ranks_have_other_layouts() -> None:
    lines = f"{FILTER}b = R.add(a, p)\nc = R.add(b, q)\nr = R.add(c, q)"
    found = after(
        f"{IMAGE}, p: {row(1, 4, 8, 8)}, q: {row(4, 8, 8)}", lines, "ConvertLayout", desired_layouts=LAYOUTS
    )
    assert not any("permute_dims(q" in line for line in found)
    lines = f"{FILTER}b = R.match_cast(a, {row(1, 4, 8, 8)})\nr = R.exp(b)"
    module = of(PLAIN.format(IMAGE, "".join(f"            {line}\n" for line in lines.split("\n"))))
    new = rxe.apply_pass(module, "ConvertLayout", desired_layouts=LAYOUTS).relax_functions["main"]
    old = list(bindings(module.relax_functions["main"]))[1]
    assert [b.span for b in bindings(new) if type(b) is e.MatchCast] == [old.span]


@pytest.mark.parametrize(
    ("line", "is_permuted"),
    [
        ("r = R.exp(b)", True),
        ("r = R.add(t, b)", True),
        ("r = R.add(b, t)", False),
        ("r = R.add(t, t)", False),
    ],
)
def test_scalars_behind_a_reduction_are_those_of_tvm(line: str, is_permuted: bool) -> None:
    params, lines = f'{IMAGE}, t: R.Tensor((), "float32")', f"{FILTER}b = R.mean(a)\n{line}"
    found = after(params, lines, "ConvertLayout", desired_layouts=LAYOUTS, profile="tvm")
    assert any("axes=[])" in each for each in found) is is_permuted


def test_only_what_weights_tell_is_lifted() -> None:
    text = f"""    @R.function
    def main(x: {row(4)}, w: {row(4)}):
        R.func_attr({{"num_input": 1}})
        with R.dataflow():
            c = R.zeros(R.shape([4]), "float32")
            d = R.multiply(c, c)
            v = R.add(w, d)
            r = R.subtract(x, R.add(v, d))
            R.output(r)
        return r
"""
    new = rxe.apply_pass(of(text), "LiftTransformParams").relax_functions
    called = [
        {
            b.value.op.name
            for b in bindings(fn)
            if isinstance(b.value, e.Call) and isinstance(b.value.op, e.OpRef)
        }
        for fn in new.values()
    ]
    assert [("relax.multiply" in names, "relax.subtract" in names) for names in called] == [
        (True, False),
        (True, True),
    ]


def test_a_length_of_an_unread_cast_is_passed_on() -> None:
    text = f"""    @R.function
    def main(x: R.Tensor("float32", ndim=1), w: {row("n")}):
        R.func_attr({{"num_input": 1}})
        n = T.int64()
        with R.dataflow():
            v = R.sum(w)
            R.output(v)
        y = R.match_cast(x, {row("n")})
        return (x, v)
"""
    new = rxe.apply_pass(of(text), "LiftTransformParams")
    assert rxe.well_formed(new)
    assert len(new.relax_functions["main"].params) == 3


def test_increments_are_summed_where_a_length_may_be_one() -> None:
    found = after(
        f"x: {row(1)}, y: {row('n')}", "a = R.add(x, y)\nr = R.sum(a)", "Gradient", func_name="main"
    )
    assert any("collapse_sum_to" in line for line in found)


def test_closures_that_packed_functions_return_stay_what_their_calls_say() -> None:
    kind = f"R.Callable(({row(2)},), {row(2)})"
    text = f"""    @R.function(pure=False)
    def main(x: {row(2)}):
        @R.function
        def inner(z: {row(2)}) -> {row(2)}:
            return R.add(x, z)
        f = R.call_packed("make", x, sinfo_args={kind})
        g = R.call_pure_packed("make", x, sinfo_args={kind})
        h = inner(x)
        return (f, g, h)
"""
    new = rxe.apply_pass(of(text), "LambdaLift").relax_functions["main"]
    found = {b.var.name: b.var.struct_info for b in bindings(new) if b.var is not None}
    assert [isinstance(found[name], s.FuncStructInfo) for name in "fg"] == [True, True]


def test_an_edited_text_that_changes_nothing_leaves_the_module() -> None:
    text = f"""    @R.function
    def main(x: {row("n")}) -> {row(4)}:
        return x
    @R.function
    def other(x: {row(4)}):
        return x
"""
    module = of(text)
    assert rxe.check(module)
    outcome = pipeline.run_step(
        pipeline.Step(rxe.passes.get("ReplaceModule"), {"text": module.script()}), module
    )
    assert outcome.module is module
    assert list(outcome.problems) == []
    wrong = module.script().replace("return x", "return first", 1).replace("return x", "return second", 1)
    problem = problem_of(wrong, module)
    assert problem is not None
    assert "first" in problem.message


def test_lengths_of_parameters_of_nested_functions_keep_what_tells_them() -> None:
    text = f"""    @R.function(private=True)
    def own(x: {row(2)}, w: {row("n")}) -> {row(2)}:
        n = T.int64()
        @R.function
        def inner(y: {row(2)}, z: {row("n")}) -> {row(2)}:
            return y
        return x
    @R.function
    def main(x: {row(2)}, w: {row(3)}):
        r = Module.own(x, w)
        return r
"""
    new = rxe.apply_pass(of(text), "RemoveUnusedParameters")
    assert rxe.well_formed(new)
    assert len(new.relax_functions["own"].params) == 2


def test_the_first_field_tells_the_device() -> None:
    one, other = (VDevice("cpu", number, "global") for number in "01")
    infos = [s.TensorStructInfo((p.as_prim(2),), F32, -1, device) for device in (one, other)]
    assert _device(s.TupleStructInfo(tuple(infos))) == one


def test_a_pipeline_is_no_pass() -> None:
    module = of(PLAIN.format(f"x: {row(4)}", "            r = R.exp(x)\n"))
    for name, words in (("zero{a=1}", "is a pipeline"), ("FoldConstant,LegalizeOps", "more than one")):
        with pytest.raises(rxe.Failure, match=words):
            rxe.apply_pass(module, name)


def test_a_length_of_one_is_no_block() -> None:
    lines = f"{FILTER}b = R.add(a, p)\nc = R.add(b, q)\nr = R.add(c, p)"
    blocks = {"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}
    params = f"{IMAGE}, p: {row(1, 4, 8, 8)}, q: {row(1, 1, 8, 8)}"
    found = after(params, lines, "ConvertLayout", desired_layouts=blocks)
    assert any("layout_transform(p" in line for line in found)
    assert not any("layout_transform(q" in line for line in found)


def test_a_lifted_tuple_is_bound_behind_a_graph_as_in_tvm() -> None:
    text = f"""    @R.function
    def main(x: {row(4)}, w: {row(4)}):
        R.func_attr({{"num_input": 1}})
        a = R.exp(x)
        with R.dataflow():
            b = R.sin(w)
            c = R.add(a, b)
            R.output(c)
        return (a, c)
"""
    new = rxe.apply_pass(of(text), "LiftTransformParams", profile="tvm").relax_functions["main"]
    assert [(type(block), len(block.bindings)) for block in new.body.blocks][-1] == (e.BindingBlock, 1)


def test_simplified_bindings_are_known_by_what_they_were() -> None:
    lines = "            a = R.reshape(x, R.shape([n * 2 * 2]))\n            r = R.reshape(a, R.shape([n + n + n + n]))\n"
    module = of(PLAIN.format(f"x: {row('n', 4)}", lines))
    outcome = pipeline.run_step(pipeline.Step(rxe.passes.get("SimplifyShapes")), module)
    old = list(bindings(module.relax_functions["main"]))
    assert [list(change.before) for change in outcome.rewrites] == [old[:1], old[1:]]


def test_a_length_of_a_nested_function_is_bound() -> None:
    text = f"""    @R.function
    def main(x: {row(4)}):
        @R.function
        def inner(z: {row("k")}) -> {row("k")}:
            k = T.int64()
            return z
        y = inner(x)
        return y
"""
    assert (
        "k"
        not in rxe.apply_pass(of(text), "BindSymbolicVars", binding_map={"k": 4})
        .script()
        .split("def main")[1]
    )


def test_casts_have_the_place_of_what_they_are_for_and_are_its_successors() -> None:
    lines = "a = R.nn.softmax(x)\nr = R.matmul(a, a)"
    body = "".join(f"            {line}\n" for line in lines.split("\n"))
    outcome = pipeline.run_step(
        pipeline.Step(rxe.passes.get("ToMixedPrecision")), of(PLAIN.format(f"x: {row(4, 4)}", body))
    )
    assert [[b.var and b.var.name for b in change.after] for change in outcome.rewrites] == [["lv"], ["r"]]
    lines = "a = R.matmul(x, w)\nb = R.matmul(a, w)\nr = R.matmul(b, w)"
    body = "".join(f"            {line}\n" for line in lines.split("\n"))
    module = of(PLAIN.format(f"x: {row(4, 4)}, w: {row(4, 4)}", body).replace("return r", "return (r, x)"))
    options = {"fp16_input_names": ["x", "w"]}
    outcome = pipeline.run_step(pipeline.Step(rxe.passes.get("ToMixedPrecision"), options), module)
    new = list(bindings(outcome.module.relax_functions["main"]))
    assert [b.var and b.var.name for b in new if b.span is None] == []
    known = {after for change in outcome.rewrites for after in change.after}
    assert [b.var and b.var.name for b in new if b not in known] == ["x_1"]
    old = {b.var and b.var.name: b for b in bindings(module.relax_functions["main"])}
    casts = [after for change in outcome.rewrites if change.before == (old["a"],) for after in change.after]
    assert {cast.value.span for cast in casts} == {old["a"].value.span}


def test_a_kernel_gives_no_result_twice() -> None:
    text = f"""    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]
    @R.function(private=True)
    def fused(x: {row(4)}):
        R.func_attr({{"Primitive": True}})
        with R.dataflow():
            a = R.call_tir(Module.twice, (x,), out_sinfo={row(4)})
            r = (a, a)
            R.output(r)
        return r
    @R.function
    def main(x: {row(4)}):
        r = Module.fused(x)
        return r
"""
    assert "fused" in rxe.apply_pass(of(text), "FuseTIR").relax_functions


def test_a_composite_function_outside_of_graphs_is_named() -> None:
    text = f"""    @R.function(private=True)
    def product(a: {row(2, 2)}) -> {row(2, 2)}:
        R.func_attr({{"Composite": "my.product"}})
        return R.matmul(a, a)
    @R.function
    def main(x: {row(2, 2)}):
        y = Module.product(x)
        return y
"""
    outcome = pipeline.run_step(pipeline.Step(rxe.passes.get("MergeCompositeFunctions")), of(text))
    (problem,) = outcome.problems
    assert isinstance(problem.labels[0].place, e.Function)
