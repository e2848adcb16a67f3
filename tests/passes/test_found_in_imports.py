"""Defects that models of TVM's importers showed, each as a program of few lines, with its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, exprs
from relax_explorer.core.passes.pipeline import run, steps
from relax_explorer.core.phases.module_properties import PURITY_ERASED, holding
from tests.passes.test_pattern_passes import in_graph
from tests.support.roundtrip import function

PARAMS = (
    'x: R.Tensor((4, 9), "float32"), y: R.Tensor(("n", 9), "float32"), z: R.Tensor(ndim=2, dtype="float32"), '
    's: R.Shape([2, 3]), t: R.Shape(["n", 3]), u: R.Shape(ndim=2)'
)


def program(lines: str, outputs: str, params: str = PARAMS) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(function(in_graph(lines, outputs), params)))


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("a = R.shape_of(x)\nb = R.shape_to_tensor(a)", [4, 9]),
        ("b = R.shape_to_tensor(s)", [2, 3]),
        ("b = R.shape_to_tensor(R.shape_of(R.sum(x)))", []),
        ("a = R.shape_of(x)\nc = a\nb = R.shape_to_tensor(c)", [4, 9]),
        ("a = (R.shape_of(x), s)\nc = a[1]\nb = R.shape_to_tensor(c)", [2, 3]),
        ("a = R.match_cast(u, R.Shape([5, 6]))\nb = R.shape_to_tensor(a)", [5, 6]),
        ("b = R.shape_to_tensor(R.shape_of(y))", None),
        ("b = R.shape_to_tensor(t)", None),
        ("b = R.shape_to_tensor(u)", None),
        ("b = R.shape_to_tensor(R.shape_of(z))", None),
    ],
)
def test_the_lengths_of_a_known_shape_are_a_constant(lines: str, value: list[int] | None) -> None:
    module = program(f"{lines}\nr = R.add(b, b)", "r")
    after = rxe.apply_pass(module, "FoldConstant")
    result = after["main"].body.body  # type: ignore[union-attr]
    if value is None:
        assert isinstance(result, e.Var)
    else:
        assert isinstance(result, e.Constant)
        assert result.data.dtype == np.int64
        assert result.data.tolist() == [2 * length for length in value]


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (
            "a = R.shape_of(x)\nw = R.tensor_to_shape(R.shape_to_tensor(a))\nb = R.zeros(w, 'int64')",
            np.zeros((4, 9)),
        ),
        (
            "w = R.tensor_to_shape(R.const([2, 1], 'int64'))\nv = w\nb = R.full(v, R.const(7, 'int64'))",
            [[7], [7]],
        ),
        (
            "w = R.tensor_to_shape(R.const([3, 1], 'int64'))\nb = R.broadcast_to(R.const([1], 'int64'), w)",
            [[1]] * 3,
        ),
        (
            "w = R.tensor_to_shape(R.const([1, 2], 'int64'))\nb: R.Tensor(ndim=2) = R.zeros(w, 'int64')",
            [[0, 0]],
        ),
        ("w = R.match_cast(u, R.Shape([2, 2]))\nb = R.ones(w, 'int64')", None),
        ("b = R.zeros(u, 'int64')", None),
    ],
)
def test_a_value_whose_shape_is_known_by_then_is_a_constant(lines: str, value: Any) -> None:
    module = program(f"{lines}\nr = R.negative(b)", "r")
    result = rxe.apply_pass(module, "FoldConstant")["main"].body.body  # type: ignore[union-attr]
    assert isinstance(result, e.Var if value is None else e.Constant)
    if value is not None:
        assert isinstance(result, e.Constant)
        assert np.array_equal(result.data, np.negative(value))


def test_lengths_outside_of_a_dataflow_block_stay() -> None:
    text = function("a = R.shape_of(x)\nb = R.shape_to_tensor(a)\nreturn b", PARAMS)
    module = rxe.normalize(rxe.parse(text))
    assert rxe.apply_pass(module, "FoldConstant") is module


KERNEL = """@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def k(x: T.Buffer(({source}), "float32"), y: T.Buffer(({target}), "float32")):
        with T.sblock("root"):
            {loops}
    @R.function
    def main(x: R.Tensor(({source}), "float32")):
        with R.dataflow():
            y = R.call_tir(Module.k, (x,), out_ty=R.Tensor(({target}), "float32"))
            z = R.exp(y)
            R.output(z)
        return z
"""
ONE = 'for i in range({n}):\n                with T.sblock("y"):\n                    v = T.axis.spatial({n}, i)\n                    '


TWO = """for a, b in T.grid(2, 8):
                with T.sblock("y"):
                    v, w = T.axis.remap("SS", [a, b])
                    y[v, w] = """


@pytest.mark.parametrize(
    ("source", "target", "loops", "is_reshape"),
    [
        ("4, 4", "2, 8", TWO + "x[(v * 2 + w // 4) % 4, w % 4]", True),
        ("4, 4", "2, 8", TWO + "x[(v * 2 + w // 2) % 4, w % 4]", False),
        ("4, 4", "2, 8", TWO + "x[(v + w // 4) % 4, w % 4]", False),
        ("4, 4", "2, 8", TWO + "x[(v * 2 + w // (v + 4)) % 4, w % 4]", False),
        ("16,", "4, 4", ONE.format(n=16) + "y[v // 4, v % 4] = x[v]", True),
        ("16,", "4, 4", ONE.format(n=16) + "y[v % 4, v // 4] = x[v]", False),
        ("16,", "4, 4", ONE.format(n=8) + "y[v // 4, v % 4] = x[v]", False),
        ("2, 8", "16,", TWO.replace("y[v, w]", "y[v * 8 + w]") + "x[v, w]", True),
        ("2, 8", "16,", TWO.replace("y[v, w]", "y[v + w * 2]") + "x[v, w]", False),
        ("2,", "1,", ONE.format(n=1) + "y[v] = x[v]", False),  # the beginning of a vector
        ("4,", "3,", ONE.format(n=3) + "y[v] = x[v]", False),
        ("2, 3", "3,", ONE.format(n=3) + "y[v] = x[0, v]", False),
        ("3,", "3,", ONE.format(n=3) + "y[v] = x[v]", True),
        ("1, 3", "3,", ONE.format(n=3) + "y[v] = x[0, v]", True),
        ("1,", "1, 1", ONE.format(n=1) + "y[v, 0] = x[v]", True),
        ("", "1,", ONE.format(n=1) + "y[v] = x[()]", True),
        ("1,", "", "y[()] = x[0]", False),  # no loop
        ("", "", "y[()] = x[()]", False),
    ],
)
def test_a_kernel_that_copies_a_part_is_no_reshape(
    source: str, target: str, loops: str, is_reshape: bool
) -> None:
    text = KERNEL.format(source=source, target=target, loops=loops)
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "RewriteDataflowReshape")
    assert ("R.reshape" in after.script()) is is_reshape


BIASED = (
    'x: R.Tensor(("n", 4), "float32"), a: R.Tensor((4, 8), "float32"), b: R.Tensor((4, 8), "float32"), '
    'c: R.Tensor((4, 8), "float32"), p: R.Tensor((8,), "float32"), q: R.Tensor((8,), "float32")'
)
CONSTANT = 'R.const([1, 2, 3, 4, 5, 6, 7, 8], "float32")'


@pytest.mark.parametrize(
    ("biases", "products"),
    [
        (("p", "q"), 1),
        (("p", "p"), 2),
        (("p", "p", "q"), 3),
        (("p", "q", "p"), 3),
        (("p", "p", ""), 1),  # the common product has no bias
        (("p", ""), 1),
        (("", ""), 1),
        ((CONSTANT, CONSTANT), 2),
    ],
)
@pytest.mark.parametrize("act", ["{}", "R.nn.relu({})"])
def test_products_with_one_bias_stay_apart(biases: tuple[str, ...], products: int, act: str) -> None:
    values = [f"R.matmul(x, {m})" for m in "abc"]
    terms = [f"R.add({v}, {b})" if b else v for v, b in zip(values, biases, strict=False)]
    lines = "\n".join(f"r{n} = {act.format(term)}" for n, term in enumerate(terms))
    names = [f"r{n}" for n in range(len(terms))]
    after = rxe.apply_pass(program(lines, ", ".join(names), BIASED), "CombineParallelMatmul")
    assert after.script().count("R.matmul") == products


def test_a_common_product_keeps_its_order_behind_late_matrices() -> None:
    lines = "d = R.permute_dims(a)\nr = R.add(R.matmul(x, d), p)\ne = R.permute_dims(b)\ny = R.add(R.matmul(x, e), q)"
    params = BIASED.replace("(4, 8)", "(8, 4)")
    text = rxe.apply_pass(program(lines, "r, y", params), "CombineParallelMatmul").script()
    places = [text.index(part) for part in ("R.concat((d", "R.matmul", "R.concat((p", "R.add", "R.split")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["StaticPlanBlockMemory", "LowerAllocTensor"])
@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ('"n", "m"', "[n * m]"),
        ('"n", 3', "[n * 3]|[3 * n]"),
        ('1, "n", 1, "m"', "[n * m]"),
        ('1, "n"', "[n]"),
        ('"n", 0', "[0]"),
        ("2, 3", "[6]"),
    ],
)
def test_the_size_of_bytes_has_no_factor_of_one(name: str, shape: str, size: str) -> None:
    module = program("a = R.astype(x, 'int8')\nb = R.abs(a)", "b", f'x: R.Tensor(({shape}), "float32")')
    before = rxe.run_pipeline(module, "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite")
    text = rxe.run_pipeline(before, name).script()
    assert any(f"alloc_storage(R.shape({item})" in text for item in size.split("|"))


SHARED = "k = R.const([1, 2, 3, 4], 'float32')\na = R.add(x, k)\nb = R.multiply(a, k)\nc = R.exp(b)"


def printed_again(lines: str) -> rxe.IRModule:
    """The program with its constants folded, and printed and read: each mention of a constant is a node of its own."""
    module = rxe.apply_pass(program(lines, "c", 'x: R.Tensor((4,), "float32")'), "FoldConstant")
    read = rxe.normalize(rxe.parse(module.script()))
    constants = [
        leaf
        for b in bindings(read["main"])
        for leaf in getattr(b.value, "args", ())
        if type(leaf) is e.Constant
    ]  # type: ignore[arg-type]
    assert len(set(constants)) == 2
    return read


@pytest.mark.parametrize("data", [[1, 2, 3, 4], [1, 2, 3, 5]])
def test_a_constant_that_a_text_mentions_again_is_one_parameter(data: list[int]) -> None:
    lines = SHARED if data[-1] == 4 else SHARED.replace("(a, k)", f"(a, R.const({data}, 'float32'))")
    count = 2 if data[-1] == 4 else 3
    module = printed_again(lines)
    fused = rxe.run_pipeline(module, "LegalizeOps,AnnotateTIROpPattern,FuseOps")
    (inner,) = [fn for fn in fused.relax_functions.values() if fn.attrs.get("Primitive")]
    assert len(inner.params) == count
    lifted = rxe.apply_pass(
        module, "FuseOpsByPattern", patterns=["my.am: multiply(add(_, _), _)"], bind_constants=False
    )
    (inner,) = [fn for fn in lifted.relax_functions.values() if fn.attrs.get("Composite")]
    assert len(inner.params) == count
    assert not any(type(leaf) is e.Constant for leaf in exprs(inner))
    value = np.arange(4, dtype="float32")
    for done in (fused, lifted):
        np.testing.assert_allclose(
            rxe.run(done, "main", [value]), rxe.run(module, "main", [value]), rtol=1e-6
        )


PURITY = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        @R.function
        def f(p: R.Tensor((4,), "float32")):
            q = R.call_packed("id", p, ty_args=R.Tensor((4,), "float32"))
            return q
        y = f(x)
        z = M.g(y)
        w = M.h(z)
        v = M.k(w)
        return v
    @R.function(private=True)
    def g(x: R.Tensor((4,), "float32")):
        y = R.call_dps_packed("f", (x,), out_ty=R.Tensor((4,), "float32"))
        return y
    @R.function(private=True, pure=False)
    def h(x: R.Tensor((4,), "float32")):
        _ = R.print(x, format="{}")
        return x
    @R.function(private=True)
    def k(x: R.Tensor((4,), "float32")):
        return R.exp(x)
"""


@pytest.mark.parametrize(("profile", "forced"), [("spec", 1), ("tvm", 4)])
def test_a_function_that_declares_nothing_is_pure_for_tvm(profile: str, forced: int) -> None:
    module = rxe.normalize(rxe.parse(PURITY))
    (done,) = run(module, steps(f'RemovePurityChecking{{profile="{profile}"}}'), holding(module))
    assert not [item for item in done.problems if item.is_error]
    assert PURITY_ERASED.holds(done.module)
    assert done.module.script().count("relax.force_pure") == forced
    assert not done.module["h"].attrs.get("relax.force_pure")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("_io = R.null_value()\nt = (_io,)\nreturn t", 2),
        ("_io = R.null_value()\nreturn _io", 2),
        ("y = R.null_value()\n_ = R.call_packed('f', y, ty_args=R.Tuple)\nreturn R.const(1)", 2),
        ("return R.const(1)", 1),
    ],
)
def test_a_null_value_is_no_shape_heap(lines: str, count: int) -> None:
    text = function(lines, "").replace("@R.function", "@R.function(pure=False)")
    module = rxe.normalize(rxe.parse(text))
    ready = rxe.run_pipeline(module, "RemovePurityChecking,LowerRuntimeBuiltin")
    once = rxe.apply_pass(ready, "VMShapeLower")
    assert once.script().count("null_value") == count
    assert rxe.apply_pass(once, "VMShapeLower") is once


@pytest.mark.parametrize(
    ("value", "is_half"),
    [
        ("1.0", True),
        ("65504.0", True),
        ("-65504.0", True),
        ("65505.0", False),
        ("-1e9", False),
        ("1e39", False),
    ],
)
@pytest.mark.parametrize(
    "line",
    [
        "z = R.add(m, R.const({}, 'float32'))",
        "z = R.add(R.const([[1.0, 2.0, 3.0, {}]], 'float32'), m)",
        "z = R.concat((m, R.const([[1.0, 2.0, 3.0, {}]], 'float32')), axis=0)",
        "f = R.full(R.shape([4, 4]), R.const({}, 'float32'), dtype='float32')\nz = R.maximum(m, f)",
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_constant_that_float16_does_not_hold_stays(line: str, value: str, is_half: bool) -> None:
    lines = "m = R.matmul(x, x)\n" + line.format(value)
    module = program(lines, "z", 'x: R.Tensor((4, 4), "float32")')
    after = rxe.apply_pass(module, "ToMixedPrecision")
    constants = [leaf for leaf in exprs(after["main"]) if type(leaf) is e.Constant]  # type: ignore[arg-type]
    halved = [
        b
        for b in bindings(after["main"])
        if getattr(b.value, "op", None) is e.op_ref("relax.astype") and type(b.value.args[0]) is e.Constant
    ]  # type: ignore[arg-type,union-attr]
    assert len(constants) == 1
    assert bool(halved) is is_half
    x = np.full((4, 4), 0.25, "float32")
    want, have = rxe.run(module, "main", [x]), rxe.run(after, "main", [x])
    assert np.array_equal(np.isinf(want), np.isinf(have))


BOXES = """
@R.function
def main(b: R.Tensor((1, 6, 4), "float32"), s: R.Tensor((1, 1, 6), "float32")){RESULT}:
    with R.dataflow():
        t{TUPLE} = R.vision.all_class_non_max_suppression(
            b, s, R.const(9, "int64"), R.const(0.5, "float32"), R.const(0.0, "float32"), output_format="onnx"
        )
        u{TABLE} = t[0]
        v{TABLE} = u
        R.output(v)
    return v
"""


@pytest.mark.parametrize(
    ("is_printed", "result"), [(False, ""), (True, ""), (True, ' -> R.Tensor((6, 3), "int64")')]
)
def test_a_number_of_boxes_is_not_claimed_once_the_run_counts_them(is_printed: bool, result: str) -> None:
    """TVM's importer claims as many rows as there are boxes. The kernels return those that were selected."""
    table, count = ': R.Tensor((6, 3), "int64")', 'R.Tensor((1,), "int64")'
    text = BOXES.replace("{RESULT}", result).replace("{TABLE}", table if is_printed else "")
    text = text.replace("{TUPLE}", f": R.Tuple({table[2:]}, {count})" if is_printed else "")
    before = rxe.normalize(rxe.parse(text))
    after = rxe.run_pipeline(before, "zero,default_build", phase_check="warn")
    inputs = [np.zeros((1, 6, 4), np.float32), np.arange(6, dtype=np.float32).reshape(1, 1, 6)]
    assert rxe.run(after, "main", inputs).shape == rxe.run(before, "main", inputs).shape == (5, 3)
    lowered = rxe.apply_pass(before, "LegalizeOps")["main"]
    assert isinstance(lowered, e.Function)
    assert str(lowered.ret_struct_info) == 'R.Tensor(dtype="int64", ndim=2)'
