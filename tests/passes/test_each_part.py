"""Passes look at each operand, branch and record that they are given: a neighbour in its place would give another program."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT64, dtype
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import pipeline, tvm_kernels
from relax_explorer.core.passes.bind_values import _constants
from relax_explorer.core.passes.canonicalize_bindings import Blocks
from relax_explorer.core.passes.fuse_ops import _adds_products
from relax_explorer.core.passes.fused_kernel import _fits
from relax_explorer.core.passes.kept import _is_better
from relax_explorer.core.passes.kept_memory import _of_function
from relax_explorer.core.passes.reshapes import _undoes
from relax_explorer.core.passes.run_time_checks import ShapeHeap, _is_implied
from relax_explorer.core.passes.to_mixed_precision import _Settled
from relax_explorer.core.phases.module_properties import _innermost
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer, BufferStore

N, M = p.PrimVar("n", INT64), p.PrimVar("m", INT64)
F32 = dtype("float32")
ARRAYS = np.random.default_rng(0)


def tensor(*dims: p.PrimExpr | int, ndim: int | None = None) -> s.TensorStructInfo:
    return s.TensorStructInfo(tuple(map(p.as_prim, dims)) or None, F32, len(dims) if ndim is None else ndim)


def main(params: dict[str, tuple[int, ...]], *lines: str, dataflow: bool = True) -> str:
    """A program with one function."""
    given = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in params.items())
    head = f"@I.ir_module\nclass Module:\n    @R.function\n    def main({given}):\n"
    if not dataflow:
        return head + "".join(f"        {line}\n" for line in lines) + "        return r\n"
    body = "".join(f"            {line}\n" for line in lines)
    return f"{head}        with R.dataflow():\n{body}            R.output(r)\n        return r\n"


def changed(text: str, name: str, **options: object) -> bool:
    """True if a pass changes a program; its values stay."""
    module = rxe.normalize(rxe.parse(text))
    new = pipeline.apply_pass(module, name, **options)
    fn = module.functions["main"]
    shapes = [[dim.value for dim in param.struct_info.dims] for param in fn.params]  # type: ignore[union-attr]
    inputs = [ARRAYS.normal(size=shape).astype("float32") for shape in shapes]
    expected, found = (rxe.run(each, "main", inputs) for each in (module, new))
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-3, atol=1e-3)
    return new.script() != module.script()


@pytest.mark.parametrize("axes", ["", ", axes=[1, 0]"])
@pytest.mark.parametrize("is_left", [True, False])
def test_products_behind_a_swap(axes: str, is_left: bool) -> None:
    if is_left:
        shapes, lines = (
            {"a": (3, 40), "b": (40, 50), "c": (3, 2)},
            (f"f = R.permute_dims(R.matmul(a, b){axes})", "r = R.matmul(f, c)"),
        )
    else:
        shapes, lines = (
            {"a": (2, 3), "b": (50, 40), "c": (40, 3)},
            (f"f = R.permute_dims(R.matmul(b, c){axes})", "r = R.matmul(a, f)"),
        )
    assert changed(main(shapes, *lines), "AdjustMatmulOrder")


@pytest.mark.parametrize("axes", ["", ", axes=[1, 0]"])
def test_a_product_with_a_swapped_sum(axes: str) -> None:
    lines = ("t = R.add(a, b)", f"f = R.permute_dims(t{axes})", "r = R.matmul(x, f)")
    assert changed(main({"x": (2, 3), "a": (5, 3), "b": (5, 3)}, *lines), "ExpandMatmulOfSum")


def test_products_of_a_constant_are_no_branches() -> None:
    one = "R.const([[1.0, 2.0], [3.0, 4.0]], 'float32')"
    lines = (f"f = R.matmul({one}, a)", f"g = R.matmul({one}, b)", "r = R.add(f, g)")
    assert not changed(main({"a": (2, 3), "b": (2, 3)}, *lines), "CombineParallelMatmul")
    lines = ("f = R.matmul(x, a)", "g = R.matmul(x, b)", "r = R.add(f, g)")
    assert changed(main({"x": (2, 2), "a": (2, 3), "b": (2, 3)}, *lines), "CombineParallelMatmul")


def test_a_packed_function_fills_its_result() -> None:
    text = main(
        {"x": (4,)}, "r = R.call_dps_packed('f', (x,), out_ty=R.Tensor((4,), 'float32'))", dataflow=False
    )
    lowered = pipeline.apply_pass(rxe.normalize(rxe.parse(text)), "CallTIRRewrite").script()
    assert 'call_packed("f", x, alloc' in lowered


NESTED = """@R.function(pure=False)
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    if c:
        if c:
            a = R.exp(x)
        else:
            a = R.exp(x)
        b = a
    else:
        if c:
            d = R.exp(x)
        else:
            d = R.sin(x)
        b = R.add(d, x)
    y = R.add(b, b)
    return y
"""


def test_what_branches_in_branches_read() -> None:
    kernel = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def again(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + T.float32(1)
"""
    lines = NESTED.splitlines()
    lines.insert(
        2,
        "    z = R.call_tir_inplace(Module.again, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), 'float32'))",
    )
    text = kernel + "".join(f"    {line}\n" for line in lines)
    (loss,) = _of_function(rxe.normalize(rxe.parse(text)).functions["main"])
    assert loss.place.var.name == "z"
    last = text.replace("    " + lines[2] + "\n", "").replace(
        "        return y", "    " + lines[2] + "\n        return y"
    )
    assert not _of_function(rxe.normalize(rxe.parse(last)).functions["main"])


def test_what_tells_more() -> None:
    pairs = [(tensor(4), tensor(ndim=1)), (tensor(N), tensor(ndim=1)), (tensor(ndim=1), s.OBJECT)]
    for more, less in pairs:
        assert _is_better(more, less)
        assert not _is_better(less, more)
        assert not _is_better(more, more)
    two = s.TupleStructInfo((tensor(4), tensor(4))), s.TupleStructInfo((tensor(N), tensor(ndim=1)))
    own, fixed = (s.FuncStructInfo((tensor(dim),), tensor(dim), True) for dim in (N, p.as_prim(4)))
    for a, b in ((tensor(4), tensor(5)), (tensor(N), tensor(M)), two, (own, fixed)):
        assert not _is_better(a, b)


def test_a_constant_is_a_copy() -> None:
    fn = rxe.normalize(rxe.parse(main({"x": ()}, "r = R.exp(x)"))).functions["main"]
    given = np.array(1.0, "float32")
    (constant,) = _constants(fn, {"x": given}).values()
    given[()] = 2
    assert constant.data == 1
    with pytest.raises(rxe.Failure, match="'b'"):
        _constants(fn, {"b": given, "d": given})


def test_buffers_that_may_fit() -> None:
    assert not _fits(Buffer("a", (N,), F32), Buffer("b", (M,), F32), {})
    assert _fits(Buffer("a", (N,), F32), Buffer("b", (M,), F32), {N: M})


def buffer(name: str, ndim: int) -> Buffer:
    return Buffer(name, tuple([p.as_prim(4)] * ndim), F32)


def test_both_factors_are_loaded() -> None:
    i, j, k = (p.PrimVar(name, INT64) for name in "ijk")
    out = buffer("C", 2)
    a, b = BufferLoad(buffer("A", 2), (i, k)), BufferLoad(buffer("B", 2), (k, j))
    for left, right, adds in (
        (a, b, True),
        (a, p.FloatImm(2.0, F32), False),
        (p.FloatImm(2.0, F32), b, False),
    ):
        store = BufferStore(out, (i, j), p.Add(BufferLoad(out, (i, j)), p.Mul(left, right)))
        assert _adds_products(store) is adds


def test_a_map_that_leads_back() -> None:
    def index_map(text: str) -> object:
        call = f"r = R.layout_transform(x, index_map=lambda i, j: {text})"
        fn = rxe.normalize(rxe.parse(main({"x": (4, 4)}, call))).functions["main"]
        return fn.body.blocks[0].bindings[0].value.attrs["index_map"]

    swap, shift = index_map("(j, i)"), index_map("(i, (j + 1) % 4)")
    lengths = (p.as_prim(4), p.as_prim(4))
    assert _undoes(swap, swap, lengths)
    assert not _undoes(shift, shift, lengths)
    assert not _undoes(swap, shift, lengths)


def test_outputs_of_blocks_in_branches() -> None:
    lines = (
        "if c:",
        "    with R.dataflow():",
        "        a = R.exp(x)",
        "        R.output(a)",
        "    r = a",
        "else:",
        "    r = x",
    )
    text = main({"x": (4,)}, *lines, dataflow=False).replace("main(", "main(c: R.Tensor((), 'bool'), ")
    fn = rxe.normalize(rxe.parse(text)).functions["main"]
    assert [var.name for var in Blocks(fn).outputs] == ["a"]


KERNELS = """@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), m: T.int64):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.Cast("float32", m)
    @T.prim_func(private=True)
    def two(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("b"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(10)
                C[v] = A[v] * T.float32(10)
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
LINES            R.output(r)
        return r
"""
OUT = 'out_ty=R.Tensor((4,), "float32")'


def added(var: str, number: int) -> str:
    return f"R.call_tir(Module.add, ({var},), tir_vars=R.shape([{number}]), {OUT})"


@pytest.mark.parametrize(
    "lines",
    [
        [f"a = {added('x', 2)}", f"b = {added('a', 3)}", "e = R.add(b, b)", f"c = {added('e', 2)}", f"d = {added('c', 4)}"],
        ["t = R.call_tir(Module.two, (x,), out_ty=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')])", "p = t[0]", f"a = {added('p', 2)}",
         "q = t[1]", f"d = {added('q', 2)}", "e = R.add(a, d)"],
        [
            "t = R.call_tir(Module.two, (x,), out_ty=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')])", "p = t[0]", f"a = {added('p', 2)}",
            "u = R.call_tir(Module.two, (x,), out_ty=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')])", "q = u[1]", f"b = {added('q', 2)}",
            "e = R.add(a, b)",
        ],
    ],
)  # fmt: skip
def test_groups_that_differ_in_one_part(lines: list[str]) -> None:
    last = lines[-1].partition(" = ")[0]
    body = "".join(f"            {line}\n" for line in (*lines, f"r = R.add({last}, {last})"))
    for name in ("FuseOps", "FuseOps,FuseTIR"):
        text = KERNELS.replace("LINES", body)
        module = rxe.normalize(rxe.parse(text))
        new = rxe.run_pipeline(module, name)
        (x,) = [ARRAYS.normal(size=4).astype("float32")]
        np.testing.assert_allclose(rxe.run(new, "main", [x]), rxe.run(module, "main", [x]), rtol=1e-5)


WILD = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((R.any_dim, 4), "float32"), c: R.Tensor((), "bool")):
        a = R.exp(x)
        b = R.concat((a, a), axis=0)
        if c:
            d = R.exp(b)
        else:
            d = R.sin(b)
        f = R.exp(d)
        return f
"""


def test_what_became_of_bindings_with_wildcards() -> None:
    module = rxe.normalize(rxe.parse(WILD, experimental="any_dim"))
    (outcome,) = pipeline.run(module, pipeline.steps("LowerWildcards"))
    for change in outcome.record.rewrites():
        (old,) = change.before
        assert old in set(bindings(module.functions["main"]))
        assert change.after
        assert set(change.after) <= set(bindings(outcome.module.functions["main"]))


BRANCHES = """@R.function
def main(c: R.Tensor((), "bool"), y: R.Tensor(ndim=1, dtype="float32"), z: R.Tensor(ndim=1, dtype="float32")):
    q, k = T.int64(), T.int64()
    if c:
        a = R.match_cast(y, R.Tensor((q,), "float32"))
        r = R.zeros((q * 2 + 1,), "float32")
    else:
        b = R.match_cast(z, R.Tensor((q,), "float32"))
        r = R.zeros((q * 2 + 1,), "float32")
    d = R.match_cast(z, R.Tensor((k,), "float32"))
    e = R.zeros((k * 2 + 3,), "float32")
    f = R.zeros((k * 2 + 5,), "float32")
    return (r, e, f)
"""
LOWERING = "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,LowerAllocTensor,LowerRuntimeBuiltin,VMShapeLower"


def test_lengths_of_a_branch_are_no_slots_of_the_other() -> None:
    module = rxe.normalize(rxe.parse(BRANCHES))
    lowered = rxe.run_pipeline(module, LOWERING)
    for chosen in (True, False):
        inputs = [np.asarray(chosen), np.ones(3, "float32"), np.ones(5, "float32")]
        shapes = [[value.shape for value in rxe.run(each, "main", inputs)] for each in (module, lowered)]
        assert shapes == [[((7 if chosen else 11),), (13,), (15,)]] * 2


def test_saved_slots_are_apart() -> None:
    heap = ShapeHeap(rxe.normalize(rxe.parse(BRANCHES)).functions["main"])
    q, k = (next(var for var in heap.slots if str(var) == name) for name in "qk")
    (double,) = [length for length in heap.slots if length is not q and q in p.free_vars(length)]
    saved = heap.saved()
    for _ in range(2):
        assert heap.define([q]) == [double]
        assert double in heap.known
        heap.restore(saved)
        assert double not in heap.known
    heap.define([q])
    heap.restore(saved)
    heap.define([k])
    heap.restore(saved)
    assert heap.define([q]) == [double]


def test_what_is_known_of_a_tensor_is_not_checked_again() -> None:
    for info, have, implied in (
        (tensor(ndim=-1), tensor(4), True),
        (s.TensorStructInfo((p.as_prim(4),), None, 1), tensor(4), True),
        (tensor(4), s.TensorStructInfo((p.as_prim(4),), None, 1), False),
        (tensor(ndim=2), tensor(4), False),
    ):
        assert _is_implied(info, have) is implied


def test_the_binding_that_makes_others_different() -> None:
    lines = ("if c:", "    a = R.exp(x)", "    b = R.sin(a)", "    r = b", "else:", "    r = x")
    text = main({"x": (4,)}, *lines, dataflow=False).replace("main(", "main(c: R.Tensor((), 'bool'), ")
    found = list(bindings(rxe.normalize(rxe.parse(text)).functions["main"]))
    by_name = {binding.var.name: binding for binding in found}
    assert _innermost([by_name["r"], by_name["a"], by_name["b"]]) is by_name["a"]
    assert _innermost([by_name["r"], by_name["b"]]) is by_name["b"]


def test_calls_of_packed_functions_without_a_promise() -> None:
    kinds = (
        "R.call_pure_packed('f', x, sinfo_args=R.Tensor((4,)))",
        "R.call_inplace_packed('f', x, inplace_indices=[0], sinfo_args=R.Tensor((4,)))",
    )
    for call in kinds:
        text = main({"x": (4,)}, f"r = {call}", dataflow=False)
        script = pipeline.apply_pass(rxe.normalize(rxe.parse(text)), "RemovePurityChecking").script()
        assert 'R.call_packed("f", x' in script


def test_what_is_settled_of_one_call_says_nothing_of_another() -> None:
    half = dtype("float16")

    def call(name: str, element: object, result: object, **attrs: object) -> e.Call:
        arg = e.Var("x", s.TensorStructInfo((p.as_prim(4), p.as_prim(4)), element))  # type: ignore[arg-type]
        return e.Call(
            e.op_ref(name),
            (arg, arg),
            Attrs(attrs),
            (),
            s.TensorStructInfo((p.as_prim(4), p.as_prim(4)), result),
        )  # type: ignore[arg-type]

    calls = [
        call("relax.exp", F32, F32, out_dtype=None),
        call("relax.matmul", F32, F32, out_dtype=None),
        call("relax.matmul", half, half, out_dtype=half),
        call("relax.matmul", half, half, out_dtype=F32),
        call("relax.matmul", half, F32, out_dtype=F32),
        call("relax.matmul", half, F32, out_dtype=half),
        call("relax.matmul", F32, F32, out_dtype=F32),
    ]
    for wanted in (half, F32):
        alone = [_Settled(wanted)._value(one) for one in calls]
        assert {True, False} == set(alone)
        for order in (calls, calls[::-1]):
            settled = _Settled(wanted)
            assert [settled._value(one) for one in order] == (alone if order is calls else alone[::-1])


def windows(name: str, given: tuple[int, ...], result: tuple[int, ...], **attrs: object) -> e.Call:
    second = e.Var("w", tensor(7, 7, 7, 7))
    return e.Call(e.op_ref(name), (e.Var("x", tensor(*given)), second), Attrs(attrs), (), tensor(*result))


def test_what_tvm_leaves() -> None:
    for other, out in ((False, None), (False, ""), (False, "NCHW"), (True, "NHWC")):
        assert (
            tvm_kernels._has_other_layout(
                windows("relax.nn.max_pool2d", (1,), (1,), layout="NCHW", out_layout=out)
            )
            is other
        )
        assert (
            tvm_kernels._is_blocked(
                windows("relax.nn.conv2d", (1,), (1,), data_layout="NCHW", out_layout=out)
            )
            is other
        )
    assert tvm_kernels._is_blocked(
        windows("relax.nn.conv2d", (1,), (1,), data_layout="NCHW4c", out_layout=None)
    )
    assert tvm_kernels._is_padded(windows("relax.layout_transform", (7,), (8,)))
    assert not tvm_kernels._is_padded(windows("relax.layout_transform", (8,), (2, 4)))
    symbolic = e.Call(e.op_ref("relax.layout_transform"), (e.Var("x", tensor(N)),), Attrs({}), (), tensor(M))
    assert tvm_kernels._is_padded(symbolic)
    pool = "relax.nn.adaptive_avg_pool2d"
    assert tvm_kernels._of_uneven_windows(windows(pool, (1, 1, 8, 9), (1, 1, 4, 4), layout="NCHW")) is None
    assert (
        tvm_kernels._of_uneven_windows(windows(pool, (1, 1, 9, 9), (1, 1, 4, 4), layout="NCHW")) is not None
    )
    like = e.Call(
        e.op_ref("relax.collapse_sum_like"),
        (e.Var("x", tensor(2, 4)), e.Var("y", tensor(4))),
        Attrs({}),
        (),
        tensor(4),
    )
    shaped = tvm_kernels.without_shape_operands(like, "relax.collapse_sum_like")
    assert shaped is not None
    assert shaped.args[0] is like.args[0]


def test_the_result_of_the_outer_function_ends_the_order() -> None:
    lines = (
        "a = R.exp(x)",
        "b = R.sin(x)",
        "@R.function",
        "def f(u: R.Tensor((4,), 'float32')):",
        "    v = R.add(u, a)",
        "    return v",
        "d = f(b)",
        "r = R.add(d, a)",
    )
    text = main({"x": (4,)}, *lines, dataflow=False)
    for options in (
        {},
        {"order": "breadth-first"},
        {"direction": "from-outputs"},
        {"order": "breadth-first", "direction": "from-outputs"},
    ):
        changed(text, "TopologicalSort", **options)


def test_the_first_doubtful_binding_is_shown() -> None:
    lines = (
        "a = R.match_cast(x, R.Tensor((4,), 'float32'))",
        "b = R.reshape(y, (2, 2))",
        "d = R.reshape(y, (4, 1))",
        "r = R.exp(x)",
    )
    text = main({"x": (4,)}, *lines, dataflow=False).replace("main(", "main(y: R.Tensor(('n',), 'float32'), ")
    module = rxe.normalize(rxe.parse(text))
    (outcome,) = pipeline.run(module, pipeline.steps("DeadCodeElimination"))
    (note,) = [item for item in outcome.problems if "may stop" in item.message]
    assert note.span is not None
    assert note.span.line == next(
        number for number, line in enumerate(text.splitlines(), 1) if "b = R.reshape" in line
    )


RUNS = (
    "with R.dataflow():",
    "    a = R.exp(x)",
    "    R.output(a)",
    "b = R.sin(a)",
    "if c:",
    "    d = b",
    "    r = d",
    "else:",
    "    r = b",
)


def test_a_short_run_joins_the_block_beside_it() -> None:
    text = main({"x": (4,)}, *RUNS, dataflow=False).replace("main(", "main(c: R.Tensor((), 'bool'), ")
    module = rxe.normalize(rxe.parse(text))
    for size, kinds in ((1, [True, False]), (2, [True, False]), (3, [True, False])):
        fn = pipeline.apply_pass(module, f"ConvertToDataflow{{min_size={size}}}").functions["main"]
        assert [type(block) is e.DataflowBlock for block in fn.body.blocks] == kinds, size
    late = rxe.normalize(
        rxe.parse(main({"x": (4,)}, "b = R.sin(x)", *RUNS[:3], "r = R.sin(a)", dataflow=False))
    )
    fn = pipeline.apply_pass(late, "ConvertToDataflow{min_size=9}").functions["main"]
    assert [
        [b.var.name for b in block.bindings] for block in fn.body.blocks if type(block) is e.DataflowBlock
    ] == [["b", "a", "r"]]
