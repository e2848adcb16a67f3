"""FuseOpsByPattern and FuseTransposeMatmul on small programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import get
from tests.passes.test_pattern_passes import in_graph
from tests.support.roundtrip import function
from tests.support.work import calls

SQUARE = 'x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")'
DENSE = "my.dense: relu(matmul(_, _))"


def fused(lines: str, outputs: str, *patterns: str, params: str = SQUARE, **options: Any) -> rxe.IRModule:
    module = rxe.normalize(rxe.parse(function(in_graph(lines, outputs), params)))
    result = rxe.apply_pass(module, "FuseOpsByPattern", patterns=list(patterns), **options)
    assert rxe.well_formed(result)
    if result is not module:
        inputs = [np.random.default_rng(n).standard_normal((4, 4)).astype("float32") for n in range(len(module["main"].params))]  # type: ignore[union-attr]  # fmt: skip
        theirs, ours = (rxe.run(program, "main", inputs) for program in (module, result))
        for a, b in zip(theirs, ours, strict=True) if isinstance(ours, tuple) else [(theirs, ours)]:
            np.testing.assert_allclose(a, b, rtol=1e-5)
    return result


def main_calls(module: rxe.IRModule) -> list[str]:
    """What each binding of main calls or is."""
    values = [binding.value for binding in bindings(module["main"])]  # type: ignore[arg-type]
    return [v.op.name if type(v) is e.Call else type(v).__name__ for v in values]  # type: ignore[attr-defined]


def test_a_match_becomes_a_composite_function() -> None:
    module = fused("a = R.matmul(x, w)\nb = R.nn.relu(a)\nc = R.exp(b)", "c", DENSE)
    name = "fused_relax_matmul_relax_nn_relu"
    assert main_calls(module) == [name, "relax.exp"]
    made = module[name]
    assert isinstance(made, e.Function)
    assert dict(made.attrs) == {"Composite": "my.dense", "Primitive": True}
    assert made.is_private
    assert [param.name for param in made.params] == ["x", "w"]


def test_results_that_others_read_are_fields_in_the_order_of_reading() -> None:
    module = fused("a = R.matmul(x, w)\nb = R.nn.relu(a)\nc = R.subtract(b, a)", "c", DENSE)
    assert main_calls(module) == [
        "fused_relax_matmul_relax_nn_relu",
        "TupleGetItem",
        "TupleGetItem",
        "relax.subtract",
    ]
    items = [
        binding.value.index for binding in bindings(module["main"]) if type(binding.value) is e.TupleGetItem
    ]  # type: ignore[arg-type]
    assert items == [1, 0]


def test_equal_matches_share_a_function_and_earlier_patterns_come_first() -> None:
    lines = "a = R.matmul(x, w)\nb = R.nn.relu(a)\nc = R.matmul(b, w)\nd = R.nn.relu(c)\ny = R.matmul(d, x)"
    module = fused(lines, "y", DENSE, "my.product: matmul(_, _)")
    first = "fused_relax_matmul_relax_nn_relu"
    assert main_calls(module) == [first, first, "fused_relax_matmul"]
    reverse = fused(lines, "y", "my.product: matmul(_, _)", DENSE)
    assert main_calls(reverse) == [
        "fused_relax_matmul",
        "relax.nn.relu",
        "fused_relax_matmul",
        "relax.nn.relu",
        "fused_relax_matmul",
    ]


def test_a_binding_belongs_to_one_match() -> None:
    lines = "a = R.add(x, w)\nb = R.add(a, w)\nc = R.add(b, w)\nd = R.add(c, w)\ny = R.add(d, w)"
    pair = "fused_relax_add_relax_add"
    assert main_calls(fused(lines, "y", "my.pair: add(add(_, _), _)")) == [pair, pair, "relax.add"]


def test_a_match_that_others_divide_stays() -> None:
    lines = "a = R.matmul(x, w)\nb = R.exp(a)\ny = R.add(a, b)"
    assert main_calls(fused(lines, "y", "my.sum: add(matmul(_, _), _)")) == [
        "relax.matmul",
        "relax.exp",
        "relax.add",
    ]


@pytest.mark.parametrize("inside", ["", "    b = a\n"], ids=["the product", "a copy"])
def test_a_match_that_is_computed_in_part_outside_of_the_block_stays(inside: str) -> None:
    operand = "b" if inside else "a"
    lines = f"a = R.matmul(x, w)\nwith R.dataflow():\n{inside}    c = R.nn.relu({operand})\n    R.output(c)"
    module = rxe.normalize(rxe.parse(function(f"{lines}\nreturn c", SQUARE)))
    assert rxe.apply_pass(module, "FuseOpsByPattern", patterns=(DENSE,)) is module


@pytest.mark.parametrize(
    ("first", "second", "functions"),
    [
        ("R.add(x, w)", "R.add(w, x)", 1),
        ("R.add(x, w)", "R.add(w, w)", 2),
        ("R.sum(x, axis=[0])", "R.sum(x, axis=[1])", 2),
        ("R.add(x, R.const(1.0))", "R.add(x, R.const(2.0))", 2),
        ("R.clip(x, R.prim_value(0), R.prim_value(1))", "R.clip(x, R.prim_value(0), R.prim_value(1))", 1),
        ("R.clip(x, R.prim_value(0), R.prim_value(1))", "R.clip(x, R.prim_value(0), R.prim_value(2))", 2),
        ('R.call_pure_packed("f", x, sinfo_args=R.Tensor((4, 4), "float32"))',
         'R.call_pure_packed("g", x, sinfo_args=R.Tensor((4, 4), "float32"))', 2),
        ("R.broadcast_to(x, R.shape([2, 4, 4]))", "R.broadcast_to(x, R.shape([2, 4, 4]))", 1),
        ('R.astype(x, "float16")', 'R.astype(x, "float64")', 2),
    ],
)  # fmt: skip
def test_matches_share_a_function_only_if_they_compute_the_same(
    first: str, second: str, functions: int
) -> None:
    name = first[2 : first.index("(")]
    lines = in_graph(f"a = {first}\nb = R.nn.relu(a)\nc = {second}\nd = R.nn.relu(c)", "b, d")
    module = rxe.normalize(rxe.parse(function(lines, SQUARE)))
    new = rxe.apply_pass(module, "FuseOpsByPattern", patterns=(f"my.one: relu({name}(...))",))
    assert rxe.well_formed(new)
    assert len(new.relax_functions) == 1 + functions
    assert all(call.startswith("fused_relax_") for call in main_calls(new) if call != "Tuple")


def test_matches_with_other_results_have_other_functions() -> None:
    lines = "a = R.exp(x)\nb = R.nn.relu(a)\nc = R.exp(w)\nd = R.nn.relu(c)\ny = R.add(b, d)\nz = R.add(y, c)"
    module = fused(lines, "z", "my.one: relu(exp(_))")
    made = [fn for name, fn in module.relax_functions.items() if name != "main"]
    assert sorted(type(fn.body.body).__name__ for fn in made) == ["Tuple", "Var"]


def test_two_matches_that_need_each_other_stay() -> None:
    lines = "a = R.sin(x)\nb = R.cos(w)\nc = R.add(a, b)\nd = R.subtract(b, a)\ny = R.multiply(c, d)"
    plain = ["relax.sin", "relax.cos", "relax.add", "relax.subtract", "relax.multiply"]
    assert main_calls(fused(lines, "y", "my.one: add(sin(_), _) | subtract(cos(_), _)")) == plain
    first = [
        "relax.cos",
        "fused_relax_sin_relax_add",
        "TupleGetItem",
        "TupleGetItem",
        "relax.subtract",
        "relax.multiply",
    ]
    assert main_calls(fused(lines, "y", "my.one: add(sin(_), _)", "my.two: subtract(cos(_), _)")) == first


def test_a_match_that_nobody_reads_goes() -> None:
    assert main_calls(fused("a = R.matmul(x, w)\nb = R.nn.relu(a)\nc = R.exp(x)", "c", DENSE)) == [
        "relax.exp"
    ]


def test_constants_stay_or_become_operands() -> None:
    lines = 'a = R.add(x, R.const(1.0, "float32"))\nb = R.nn.relu(a)\nc = R.add(b, R.const(2.0, "float32"))\nd = R.nn.relu(c)'
    shift = "my.shift: relu(add(_, _))"
    inside, outside = fused(lines, "d", shift), fused(lines, "d", shift, bind_constants=False)
    assert len(set(main_calls(inside))) == 2
    assert len(set(main_calls(outside))) == 1
    call = next(bindings(outside["main"])).value  # type: ignore[arg-type]
    assert isinstance(call, e.Call)
    assert type(call.args[1]) is e.Constant


def test_shapes_of_variables_are_parameters() -> None:
    text = function(
        in_graph("a = R.reshape(x, R.shape([m, n]))\nb = R.nn.relu(a)", "b"),
        'x: R.Tensor(("n", "m"), "float32")',
    )
    module = rxe.apply_pass(
        rxe.normalize(rxe.parse(text)), "FuseOpsByPattern", patterns=["my.r: relu(reshape(_, _))"]
    )
    assert rxe.well_formed(module)
    value = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(rxe.run(module, "main", [value]), value.reshape(3, 2))
    filled = function(
        in_graph('a = R.zeros(R.shape([n * 2]), "float32")\nb = R.nn.relu(a)', "b"),
        'x: R.Tensor(("n",), "float32")',
    )
    module = rxe.apply_pass(
        rxe.normalize(rxe.parse(filled)), "FuseOpsByPattern", patterns=["my.z: relu(zeros(...))"]
    )
    assert rxe.well_formed(module)
    assert np.shape(rxe.run(module, "main", [np.ones(3, "float32")])) == (6,)


def test_functions_for_code_generators_are_public_and_wrapped() -> None:
    module = fused("a = R.matmul(x, w)\nb = R.nn.relu(a)", "b", DENSE, annotate_codegen=True)
    name = "fused_relax_matmul_relax_nn_relu_my"
    assert set(module.functions) == {name, "main"}
    outer = module[name]
    assert isinstance(outer, e.Function)
    assert dict(outer.attrs) == {"Codegen": "my", "global_symbol": name}
    local, _ = bindings(outer, nested=False)
    assert type(local.value) is e.Function
    assert dict(local.value.attrs) == {"Composite": "my.dense"}
    assert main_calls(module) == [name]


def test_only_the_named_functions_change_and_blocks_outside_graphs_never() -> None:
    body = in_graph("a = R.matmul(x, w)\nb = R.nn.relu(a)", "b").replace("\n", "\n        ")
    plain = "a = R.matmul(x, w)\n        b = R.nn.relu(a)\n        return b"
    text = "@I.ir_module\nclass Module:\n" + "".join(
        f"    @R.function\n    def {name}({SQUARE}):\n        {lines}\n"
        for name, lines in (("f", body), ("g", body), ("h", plain))
    )
    module = rxe.normalize(rxe.parse(text))
    both = rxe.apply_pass(module, "FuseOpsByPattern", patterns=[DENSE])
    assert [name for name in "fgh" if both[name] is not module[name]] == ["f", "g"]
    one = rxe.apply_pass(module, "FuseOpsByPattern", patterns=[DENSE], entry_functions=["g"])
    assert [name for name in "fgh" if one[name] is not module[name]] == ["g"]
    assert rxe.apply_pass(both, "FuseOpsByPattern", patterns=["my.product: matmul(_, _)"]) is both
    assert rxe.apply_pass(module, "FuseOpsByPattern", patterns=["my.none: sin(_)"]) is module


@pytest.mark.parametrize(
    "text", ["relu(_)", "my.dense", ": relu(_)", "my.chain: exp(_) ^ sin(_)", "my.dense: relu("]
)
def test_a_wrong_pattern_is_refused(text: str) -> None:
    with pytest.raises(rxe.Failure) as failure:
        fused("a = R.exp(x)", "a", text)
    assert failure.value.diagnostics[0].code.id in ("RX0404", "RX0030")


def test_the_members_are_recorded() -> None:
    text = function(in_graph("a = R.matmul(x, w)\nb = R.nn.relu(a)", "b"), SQUARE)
    _, site = get("FuseOpsByPattern").apply(rxe.normalize(rxe.parse(text)), {"patterns": [DENSE]})
    (rewritten,) = site.recorded.rewrites()
    assert [b.var.name for b in rewritten.before] == ["a", "b"]
    assert [b.var.name for b in rewritten.after] == ["b"]


def test_fusing_takes_time_linear_in_the_bindings() -> None:
    def work(count: int) -> int:
        lines = "\n".join(
            f"v{n} = R.{'nn.relu' if n % 2 else 'exp'}({f'v{n - 1}' if n else 'x'})" for n in range(count)
        )
        module = rxe.normalize(rxe.parse(function(in_graph(lines, f"v{count - 1}"), SQUARE)))
        results: list[rxe.IRModule] = []
        count_of_calls = calls(
            lambda: results.append(
                rxe.apply_pass(module, "FuseOpsByPattern", patterns=["my.pair: relu(exp(_))"])
            )
        )
        (result,) = results
        assert len(list(bindings(result["main"]))) == count // 2  # type: ignore[arg-type]
        return count_of_calls

    assert work(800) < 8 * 1.1 * work(100)


# -- transposed products ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "shapes", "kernels"),
    [
        ("t = R.permute_dims(w)\ny = R.matmul(x, t)", ((4, 8), (6, 8)), 1),
        ("t = R.permute_dims(w, axes=[0, 2, 1])\ny = R.matmul(x, t)", ((2, 4, 8), (1, 6, 8)), 1),
        ("t = R.permute_dims(w, axes=[1, 0])\ny = R.matmul(x, t)", ((8,), (6, 8)), 1),
        ("t = R.permute_dims(w, axes=[0, 1])\ny = R.matmul(x, t)", ((4, 8), (8, 6)), 0),
        ("t = R.permute_dims(w)\ny = R.matmul(x, t)", ((3, 8), (5, 8, 3)), 0),
        ("t = R.permute_dims(w)\ny = R.matmul(t, x)", ((8, 4), (8, 6)), 0),
    ],
)
def test_a_product_with_a_transposed_matrix_is_one_kernel(
    lines: str, shapes: tuple[tuple[int, ...], ...], kernels: int
) -> None:
    params = ", ".join(
        f'{name}: R.Tensor({shape}, "float32")' for name, shape in zip("xw", shapes, strict=True)
    )
    module = rxe.normalize(rxe.parse(function(in_graph(lines, "y"), params)))
    result = rxe.apply_pass(module, "FuseTransposeMatmul")
    assert rxe.well_formed(result)
    assert sum(name.startswith("NT_matmul") for name in result.functions) == kernels
    if not kernels:
        assert result is module
    inputs = [
        np.random.default_rng(n).standard_normal(shape).astype("float32") for n, shape in enumerate(shapes)
    ]
    np.testing.assert_allclose(
        rxe.run(result, "main", inputs), rxe.run(module, "main", inputs), rtol=1e-4, atol=1e-5
    )


def test_a_transposed_matrix_that_others_read_and_a_square_stay_right() -> None:
    for lines, outputs in (
        ("t = R.permute_dims(w)\ny = R.matmul(x, t)", "y, t"),
        ("t = R.permute_dims(x)\ny = R.matmul(x, t)", "y"),
        ("t = R.permute_dims(w)\nz = R.matmul(x, t)\ny = R.exp(t)", "y, t"),
    ):
        module = rxe.normalize(rxe.parse(function(in_graph(lines, outputs), SQUARE)))
        result = rxe.apply_pass(module, "FuseTransposeMatmul")
        assert rxe.well_formed(result)
        inputs = [np.random.default_rng(n).standard_normal((4, 4)).astype("float32") for n in range(2)]
        for a, b in zip(rxe.run(result, "main", inputs), rxe.run(module, "main", inputs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "known", ["R.Tensor((3, 5))", "R.Tensor(ndim=2)", 'R.Tensor("float32", ndim=2)', "R.Tensor"]
)
def test_the_kernel_of_a_transposed_product_knows_more_than_its_variable(known: str) -> None:
    text = function(
        f"with R.dataflow():\n    t = R.permute_dims(w)\n    y: {known} = R.matmul(x, t)\n    z = R.exp(y)\n    R.output(z)\nreturn z",
        'x: R.Tensor((3, 4), "float32"), w: R.Tensor((5, 4), "float32")',
    )
    module = rxe.normalize(rxe.parse(text))
    result = rxe.apply_pass(module, "FuseTransposeMatmul")
    assert 'out_ty=R.Tensor((3, 5), dtype="float32")' in result.script()
    y, z = (binding.var for binding in bindings(result["main"]) if binding.var and binding.var.name in "yz")
    before = [binding.var for binding in bindings(module["main"]) if binding.var and binding.var.name in "yz"]
    assert [var.struct_info for var in (y, z)] == [var.struct_info for var in before]
    x, w = np.ones((3, 4), "float32"), np.eye(5, 4, dtype="float32")
    assert np.array_equal(rxe.run(result, "main", [x, w]), rxe.run(module, "main", [x, w]))


@pytest.mark.parametrize("unknown", ["x", "w"])
def test_products_of_unknown_lengths_stay(unknown: str) -> None:
    infos = {
        name: f"{name}: R.Tensor({shape}, 'float32')" for name, shape in (("x", "(3, 4)"), ("w", "(5, 4)"))
    }
    infos[unknown] = f"{unknown}: R.Tensor('float32', ndim=2)"
    text = function(
        "with R.dataflow():\n    t = R.permute_dims(w)\n    y = R.matmul(x, t)\n    R.output(y)\nreturn y",
        ", ".join(infos.values()),
    )
    module = rxe.normalize(rxe.parse(text))
    assert rxe.apply_pass(module, "FuseTransposeMatmul") is module


@pytest.mark.parametrize("outer", [True, False])
def test_matches_in_a_function_of_a_dataflow_block_count(outer: bool) -> None:
    first = "R.add(x, x)" if outer else "R.exp(x)"
    text = function(
        f"""a = R.exp(x)
with R.dataflow():
    b = {first}
    @R.function
    def f(p: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            q = R.multiply(p, a)
            s = R.add(q, a)
            R.output(s)
        return s
    d = f(b)
    R.output(d)
return d
""",
        'x: R.Tensor((3,), "float32")',
    )
    module = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(module, "FuseOpsByPattern", patterns=["my.add: add(_, _)"])
    assert after.script().count("= cls.fused_relax_add") == 1 + outer
    x = np.ones(3, "float32")
    assert np.array_equal(rxe.run(after, "main", [x]), rxe.run(module, "main", [x]))
