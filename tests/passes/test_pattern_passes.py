"""The passes with patterns on small programs: what they rewrite, what stays, and what they record."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import get
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.pattern_rules import Rule, apply_rules, call
from relax_explorer.core.patterns import is_call_packed, is_gv, is_op, is_tuple_get_item, wildcard
from relax_explorer.core.patterns.pattern import Pattern
from tests.passes.test_passes import body
from tests.support.pass_agreement import programs
from tests.support.roundtrip import function
from tests.support.work import calls

X = 'x: R.Tensor((4, 6), "float32")'


def after(name: str, text: str) -> rxe.IRModule:
    module = rxe.normalize(rxe.parse(text))
    result = rxe.apply_pass(module, name)
    assert rxe.well_formed(result)
    return result


def in_graph(lines: str, outputs: str) -> str:
    indented = "".join(f"    {line}\n" for line in lines.strip().splitlines())
    return f"with R.dataflow():\n{indented}    R.output({outputs})\nreturn {outputs}"


def lines_after(name: str, lines: str, outputs: str, params: str = X) -> list[str]:
    """The bindings of a graph after a pass."""
    return body(after(name, function(in_graph(lines, outputs), params)))[1:-2]


# -- reshapes -------------------------------------------------------------------------------------------------------


def test_a_chain_of_reshapes_is_one() -> None:
    chain = "a = R.reshape(x, R.shape([24]))\nb = R.reshape(a, R.shape([8, 3]))\nc = R.reshape(b, R.shape([3, 8]))"
    assert lines_after("RemoveRedundantReshape", chain, "c") == ["c = R.reshape(x, R.shape([3, 8]))"]


def test_a_reshape_that_others_read_stays_for_them() -> None:
    lines = "a = R.reshape(x, R.shape([24]))\nb = R.reshape(a, R.shape([8, 3]))\nu = R.exp(a)"
    assert lines_after("RemoveRedundantReshape", lines, "b, u") == [
        "a = R.reshape(x, R.shape([24]))", "b = R.reshape(x, R.shape([8, 3]))", "u = R.exp(a)",
    ]  # fmt: skip


def test_a_reshape_to_the_same_shape_is_a_copy() -> None:
    assert lines_after("RemoveRedundantReshape", "a = R.exp(x)\nb = R.reshape(a, R.shape([4, 6]))", "b") == [
        "b = R.exp(x)"
    ]
    symbolic = 'x: R.Tensor(("n", 6), "float32"), y: R.Tensor(("m", 6), "float32")'
    lines = "a = R.reshape(x, R.shape([n, 6]))\nb = R.reshape(y, R.shape([n, 6]))\nc = R.add(a, b)"
    assert lines_after("RemoveRedundantReshape", lines, "c", symbolic) == [
        "b = R.reshape(y, R.shape([n, 6]))", "c = R.add(x, b)",
    ]  # fmt: skip


def test_a_length_0_that_would_mean_another_keeps_both() -> None:
    graph = in_graph("a = R.reshape(x, R.shape([-1, 5]))\nb = R.reshape(a, R.shape([0, 7]))", "b")
    for shape, count in (("(3, 0)", 2), ("(0, 3)", 1)):
        module = rxe.normalize(rxe.parse(function(graph, f'x: R.Tensor({shape}, "float32")')))
        result = rxe.apply_pass(module, "RemoveRedundantReshape")
        assert len(list(bindings(result["main"]))) == count  # type: ignore[arg-type]


def test_a_pattern_looks_through_one_block_only() -> None:
    text = "a = R.reshape(x, R.shape([24]))\n" + in_graph("b = R.reshape(a, R.shape([8, 3]))", "b")
    assert body(after("RemoveRedundantReshape", function(text, X)))[0] == "a = R.reshape(x, R.shape([24]))"
    branches = (
        "if c:\n    a = R.reshape(x, R.shape([24]))\n    b = R.reshape(a, R.shape([8, 3]))\n"
        "else:\n    b = R.reshape(x, R.shape([8, 3]))\nreturn b"
    )
    result = body(after("RemoveRedundantReshape", function(branches, f'{X}, c: R.Tensor((), "bool")')))
    assert sum("R.shape([24])" in line for line in result) == 0


def test_memory_that_may_be_overwritten_is_not_read_later() -> None:
    write = (
        'b = R.call_inplace_packed("bump", x, inplace_indices=[0], '
        'sinfo_args=(R.Tensor((4, 6), "float32"),))\n'
    )
    params = f'{X}, y: R.Tensor((4, 6), "float32"), w: R.Tensor((2, 4), "float32")'
    for between, products in (("", 2), (write, 1)):
        text = f"s = R.add(x, y)\n{between}z = R.matmul(w, s)\nreturn z"
        result = body(after("ExpandMatmulOfSum", function(text, params)))
        assert sum("R.matmul" in line for line in result) == products


def test_a_primitive_function_stays() -> None:
    graph = in_graph("a = R.reshape(x, R.shape([24]))\nb = R.reshape(a, R.shape([8, 3]))", "b")
    module = rxe.normalize(rxe.parse(function('R.func_attr({"Primitive": True})\n' + graph, X)))
    assert module["main"].attrs.get("Primitive")  # type: ignore[union-attr]
    assert rxe.apply_pass(module, "RemoveRedundantReshape") is module


# -- products -------------------------------------------------------------------------------------------------------

LORA = 'x: R.Tensor((16, 32), "float32"), a: R.Tensor((32, 2), "float32"), b: R.Tensor((2, 64), "float32")'


@pytest.mark.parametrize(
    ("lines", "params", "expected"),
    [
        ("t = R.matmul(a, b)\ny = R.matmul(x, t)", LORA, "lv = matmul(x, a); y = matmul(lv, b)"),
        ("t = R.matmul(x, a)\ny = R.matmul(t, b)", LORA, ""),  # in the better order
        ("t = R.matmul(a, b)\ny = R.matmul(x, t)", LORA.replace("(16", "(640").replace("(32, 2)", "(32, 99)").replace("(2, 64)", "(99, 64)"), ""),
        ("t = R.matmul(a, b)\ny = R.matmul(x, t)", LORA.replace("(16,", '("n",'), "lv = matmul(x, a); y = matmul(lv, b)"),
        ("t = R.matmul(a, b)\ny = R.matmul(x, t)", LORA.replace("(16,", '("n",').replace("64", '"m"'), ""),  # m = 1 is possible
        ("t = R.matmul(a, b, out_dtype='float16')\ny = R.matmul(R.astype(x, 'float16'), t)", LORA, ""),
        ("t = R.permute_dims(R.matmul(R.permute_dims(b), R.permute_dims(a)), axes=[0, 1])\ny = R.matmul(t, x)",
         LORA.replace("(16, 32)", "(32, 1)"), ""),
    ],
)  # fmt: skip
def test_three_factors_are_multiplied_in_the_cheaper_order(lines: str, params: str, expected: str) -> None:
    text = function(in_graph(lines, "y"), params)
    module = rxe.normalize(rxe.parse(text))
    result = rxe.apply_pass(module, "AdjustMatmulOrder")
    if not expected:
        assert result is module
        return
    found = [line.replace("R.", "").replace(", out_dtype=None", "") for line in body(result)[1:-2]]
    assert "; ".join(found) == expected


def test_a_transposed_product_is_taken_apart() -> None:
    params = (
        'x: R.Tensor((16, 32), "float32"), a: R.Tensor((2, 32), "float32"), b: R.Tensor((64, 2), "float32")'
    )
    lines = lines_after(
        "AdjustMatmulOrder", "t = R.permute_dims(R.matmul(b, a))\ny = R.matmul(x, t)", "y", params
    )
    assert sum("permute_dims(a" in line or "permute_dims(b" in line for line in lines) == 2
    identity = params.replace("(2, 32)", "(2, 64)").replace("(64, 2)", "(32, 2)")
    kept = lines_after(
        "AdjustMatmulOrder",
        "t = R.permute_dims(R.matmul(b, a), axes=[0, 1])\ny = R.matmul(x, t)",
        "y",
        identity,
    )
    assert sum("axes=[0, 1]" in line for line in kept) == 1


def test_a_vector_in_the_middle_keeps_the_order() -> None:
    params = 'a: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32"), c: R.Tensor((8, 1), "float32")'
    module = rxe.normalize(
        rxe.parse(function(in_graph("t = R.matmul(a, b)\ny = R.matmul(t, c)", "y"), params))
    )
    assert rxe.apply_pass(module, "AdjustMatmulOrder") is module


def test_bounds_of_shape_variables_decide() -> None:
    params = 'x: R.Tensor((16, 32), "float32"), a: R.Tensor((32, "r"), "float32"), b: R.Tensor(("r", 16), "float32")'
    graph = in_graph("t = R.matmul(a, b)\ny = R.matmul(x, t)", "y")
    for bound, is_changed in ((32, True), (33, False), (None, False)):  # r < 32 pays
        attr = "" if bound is None else f'R.func_attr({{"tir_var_upper_bound": {{"r": {bound}}}}})\n'
        module = rxe.normalize(rxe.parse(function(attr + graph, params)))
        assert (rxe.apply_pass(module, "AdjustMatmulOrder") is not module) is is_changed, bound


def test_a_product_with_a_sum_is_expanded_unless_both_terms_are_weights() -> None:
    params = (
        'x: R.Tensor((16, 32), "float32"), a: R.Tensor((32, 2), "float32"), b: R.Tensor((32, 2), "float32")'
    )
    lines = "s = R.add(a, b)\ny = R.matmul(x, s)"
    assert len(lines_after("ExpandMatmulOfSum", lines, "y", params)) == 3
    for count, is_kept in ((0, True), (1, True), (2, False), (3, False)):
        attr = f'R.func_attr({{"num_input": {count}}})\n'
        module = rxe.normalize(rxe.parse(function(attr + in_graph(lines, "y"), params)))
        assert (rxe.apply_pass(module, "ExpandMatmulOfSum") is module) is is_kept


MATRIX = 'x: R.Tensor((16, 32), "float32"), a: R.Tensor((32, 2), "float32")'
TURNED = MATRIX.replace("(32, 2)", "(2, 32)")
VECTOR = MATRIX.replace("(32, 2)", "(32,)")


@pytest.mark.parametrize(
    ("params", "shape", "is_factor"),
    [
        (MATRIX, (32, 1), True), (MATRIX, (1, 2), False), (MATRIX, (2,), False), (MATRIX, (), False),
        (MATRIX, (1, 32, 2), True), (MATRIX, (1, 1, 2), False),
        (TURNED, (1, 32), True), (TURNED, (2, 1), False), (TURNED, (32,), False), (TURNED, (), False),
        (MATRIX.replace("32, 2", "32, 32"), (32,), False), (VECTOR, (32,), True), (VECTOR, (1,), False), (VECTOR, (), False),
    ],
)  # fmt: skip
def test_a_summand_that_is_broadcast_may_be_a_factor(
    params: str, shape: tuple[int, ...], is_factor: bool
) -> None:
    total = "R.permute_dims(R.add(a, b))" if params is TURNED else "R.add(a, b)"
    text = function(
        in_graph(f"s = {total}\ny = R.matmul(x, s)", "y"), f'{params}, b: R.Tensor({shape}, "float32")'
    )
    module = rxe.normalize(rxe.parse(text))
    result = rxe.apply_pass(module, "ExpandMatmulOfSum")
    assert (result is not module) is is_factor
    assert result["main"].struct_info == module["main"].struct_info  # type: ignore[union-attr]


@pytest.mark.parametrize("dtypes", [("float16", "float32"), ("float32", "float16")])
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("AdjustMatmulOrder", "t = R.matmul(a, a, out_dtype='{0}')\ny = R.matmul(R.astype(x, '{0}'), t, out_dtype='{0}')"),
        ("ExpandMatmulOfSum", "t = R.add(a, a)\ny = R.matmul(x, t, out_dtype='{0}')"),
        ("ReorderTakeAfterMatmul", "t = R.take(a, i, axis=1)\ny = R.matmul(x, t, out_dtype='{0}')"),
    ],
)  # fmt: skip
def test_a_product_with_a_dtype_of_its_own_stays(name: str, lines: str, dtypes: tuple[str, str]) -> None:
    of, wanted = dtypes
    params = f'x: R.Tensor((1, 8), "{of}"), a: R.Tensor((8, 8), "{of}"), i: R.Tensor((2,), "int64")'
    for dtype, is_kept in ((wanted, True), (of, False)):
        module = rxe.normalize(rxe.parse(function(in_graph(lines.format(dtype), "y"), params)))
        assert (rxe.apply_pass(module, name) is module) is is_kept


def test_the_results_are_the_same() -> None:
    apart = "T.index_map(lambda i: (i // 4, i % 4))"
    together = "T.index_map(lambda i, j: (i * 4 + j,))"
    axes = "R.permute_dims(a, axes=[1, 2, 0])"
    texts = {
        "AdjustMatmulOrder": function(in_graph("t = R.permute_dims(R.matmul(R.permute_dims(b), R.permute_dims(a)))\ny = R.matmul(x, t)", "y"), LORA),
        "ExpandMatmulOfSum": function(in_graph("y = R.matmul(x, R.add(a, a))", "y"), LORA),
        "ReorderPermuteDimsAfterConcat": function(
            in_graph("y = R.concat((" + axes + ", " + axes + "), axis=-1)", "y"), 'a: R.Tensor((2, 3, 4), "float32")'
        ),
        "ReorderTakeAfterMatmul": function(
            in_graph("y = R.matmul(x, R.take(w, R.const([2, 0, 1, 2], 'int64'), axis=0))", "y"),
            'x: R.Tensor((4, 2, 3), "float32"), w: R.Tensor((3, 3, 5), "float32")',
        ),
        "OptimizeLayoutTransform": function(
            in_graph("a = R.layout_transform(x, index_map=" + apart + ", pad_value=None)\n"
                     "y = R.layout_transform(a, index_map=" + together + ", pad_value=None)", "y"), 'x: R.Tensor((12,), "float32")'
        ),
    }  # fmt: skip
    for name, text in texts.items():
        before = rxe.normalize(rxe.parse(text))
        changed = after(name, text)
        assert changed is not before, name
        shapes = [tuple(int(str(n)) for n in param.struct_info.dims) for param in before["main"].params]  # type: ignore[union-attr]
        inputs = [
            np.random.default_rng(n).standard_normal(shape).astype("float32")
            for n, shape in enumerate(shapes)
        ]
        np.testing.assert_allclose(
            rxe.run(changed, "main", inputs),
            rxe.run(before, "main", inputs),
            rtol=1e-4,
            atol=1e-5,
            err_msg=name,
        )


@pytest.mark.parametrize(("kernel", "left"), [("remove_pad", 2), ("other", 4)])
def test_only_a_kernel_that_removes_a_pad_may_stand_between_two_transforms(kernel: str, left: int) -> None:
    text = next(text for title, text in programs().items() if "transforms: pads" in title)
    marked = text.replace('"operator_name": "remove_pad"', f'"operator_name": "{kernel}"')
    assert after("OptimizeLayoutTransform", marked).script().count("R.layout_transform(") == left


def test_an_extern_function_between_two_transforms_stays() -> None:
    turn = "index_map=T.index_map(lambda i, j: (j, i))"
    text = f"""
@I.ir_module
class Module:
    f = R.ExternFunc("my.f")

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.layout_transform(x, {turn})
            z = R.call_tir(Module.f, (y,), out_ty=R.Tensor((4, 4), "float32"))
            w = R.layout_transform(z, {turn})
            R.output(w)
        return w
"""
    before = rxe.normalize(rxe.parse(text))
    assert after("OptimizeLayoutTransform", text).script() == before.script()


# -- rules ----------------------------------------------------------------------------------------------------------


def test_a_change_is_recorded_under_the_name_of_its_rule() -> None:
    text = function(in_graph("t = R.matmul(a, b)\ny = R.matmul(x, t)", "y"), LORA)
    _, site = get("AdjustMatmulOrder").apply(rxe.normalize(rxe.parse(text)))
    (rewritten,) = [item for item in site.recorded.rewrites() if item.rule == "reorder three factors"]
    assert [b.var.name for b in rewritten.before] == ["y"]
    assert [b.var.name for b in rewritten.after][-1] == "y"
    assert {item.rule for item in site.recorded.rewrites()} == {"reorder three factors", "AdjustMatmulOrder"}


def test_a_rule_that_undoes_another_ends() -> None:
    x = wildcard()
    there = Rule("there", is_op("relax.sin")(x), lambda found: call("relax.cos", found[x]))
    back = Rule("back", is_op("relax.cos")(x), lambda found: call("relax.sin", found[x]))
    module = rxe.normalize(rxe.parse(function(in_graph("y = R.sin(x)", "y"), X)))
    fn = module["main"]
    assert isinstance(fn, e.Function)
    assert len(list(bindings(apply_rules(fn, PassSite(module, "main"), [there, back])))) == 1


def test_a_value_that_says_less_is_not_taken() -> None:
    x = wildcard()
    text = function(
        "y = R.match_cast(u, R.Tensor((2,), 'float32'))\n" + in_graph("z = R.sin(y)", "z"),
        'u: R.Tensor("float32", ndim=1)',
    )
    module = rxe.normalize(rxe.parse(text))
    fn = module["main"]
    assert isinstance(fn, e.Function)
    lose = Rule("lose the length", is_op("relax.sin")(x), lambda found: call("relax.cos", fn.params[0]))
    assert apply_rules(fn, PassSite(module, "main"), [lose]) is fn


def test_rules_take_time_linear_in_the_bindings() -> None:
    def work(count: int) -> int:
        lines = "\n".join(
            f"v{n} = R.reshape({f'v{n - 1}' if n else 'x'}, R.shape([{'4, 6' if n % 2 else '24'}]))"
            for n in range(count)
        )
        module = rxe.normalize(rxe.parse(function(in_graph(lines, f"v{count - 1}"), X)))
        results: list[rxe.IRModule] = []
        count_of_calls = calls(lambda: results.append(rxe.apply_pass(module, "RemoveRedundantReshape")))
        (result,) = results
        assert len(list(bindings(result["main"]))) < 2  # type: ignore[arg-type]
        return count_of_calls

    assert work(800) < 8 * 1.1 * work(100)


@pytest.mark.parametrize("given", ["left", "right"])
@pytest.mark.parametrize(
    ("a", "b", "c", "best"),
    [
        ((2, 1, 4), (4, 4), (4, 4), "left"),
        ((2, 2, 4), (4, 4), (4, 4), ""),  # both take 128 multiplications
        ((3, 2, 4), (4, 4), (4, 4), "right"),
        ((2, 4), (3, 4, 4), (4, 4), "left"),
        ((5, 4), (3, 4, 4), (4, 4), "right"),
        ((5, 4), (4, 4), (3, 4, 4), "left"),
        ((3, 5, 4), (4, 4), (3, 4, 4), "right"),
    ],
)
def test_a_batch_counts_as_many_products(
    a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...], best: str, given: str
) -> None:
    lines = (
        "v = R.matmul(a, b)\ny = R.matmul(v, c)"
        if given == "left"
        else "v = R.matmul(b, c)\ny = R.matmul(a, v)"
    )
    params = ", ".join(
        f'{name}: R.Tensor({shape}, "float32")' for name, shape in zip("abc", (a, b, c), strict=True)
    )
    module = rxe.normalize(rxe.parse(function(in_graph(lines, "y"), params)))
    result = rxe.apply_pass(module, "AdjustMatmulOrder")
    assert ("R.matmul(a, b" in result.script()) is ((best or given) == "left")


def test_a_matrix_may_be_a_factor_of_both_products() -> None:
    lines = "p = R.add(w, w)\nq = R.matmul(w, p)\nt = R.permute_dims(q)\ny = R.matmul(p, t)"
    module = rxe.normalize(rxe.parse(function(in_graph(lines, "y"), 'w: R.Tensor((4, 4), "float32")')))
    w = np.arange(16, dtype="float32").reshape(4, 4) / 8
    after = rxe.apply_pass(module, "AdjustMatmulOrder")
    np.testing.assert_allclose(rxe.run(after, "main", [w]), rxe.run(module, "main", [w]), rtol=1e-5)


@pytest.mark.parametrize(
    "lines",
    [
        "a = R.exp(x)\nb = R.add(a, x)",
        "a = R.exp(x)\nb = R.add(x, a)",
        "a = R.exp(x)\nc = a\nb = R.add(x, c)",
    ],
)
def test_operands_of_a_sum_may_stand_in_either_order(lines: str) -> None:
    x, y = wildcard(), wildcard()
    rule = Rule(
        "sum",
        is_op("relax.add")(is_op("relax.exp")(x), y),
        lambda found: call("relax.subtract", found[x], found[y]),
    )
    module = rxe.normalize(rxe.parse(function(in_graph(lines, "b"), X)))
    new = apply_rules(module["main"], PassSite(module, "main"), [rule])
    assert [getattr(b.value, "op", None) for b in bindings(new)] == [e.op_ref("relax.subtract")]


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (
            is_call_packed("test.f"),
            'y = R.call_packed("test.f", x, pure=True, ty_args=(R.Tensor((4, 6), "float32"),))',
        ),
        (is_gv("own")(wildcard()), "y = Module.own(x)"),
        (is_tuple_get_item(wildcard(), 0), "y = t[0]"),
        (is_op("relax.exp")(wildcard()), "y = R.exp(x)"),
        (wildcard().has_shape((4, 6)), "y = R.exp(x)"),
    ],
    ids=["a packed function", "a function", "a field", "an operator", "anything"],
)
def test_a_rule_may_have_any_root(pattern: Pattern, line: str) -> None:
    own = f"""
    @R.function(private=True)
    def own(x: {X[3:]}):
        y = R.sin(x)
        return y
"""
    main = f"""
    @R.function
    def main({X}, t: R.Tuple(R.Tensor((4, 6), "float32"), R.Tensor((4, 6), "float32"))):
        with R.dataflow():
            {line}
            R.output(y)
        return y
"""
    module = rxe.normalize(rxe.parse(f"@I.ir_module\nclass Module:\n{own}{main}"))
    param = module["main"].params[0]
    site = PassSite(module, "main")
    new = apply_rules(module["main"], site, [Rule("any", pattern, lambda _: call("relax.cos", param))])
    assert e.op_ref("relax.cos") in [getattr(b.value, "op", None) for b in bindings(new)]
