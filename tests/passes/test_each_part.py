"""Passes look at each operand, branch and record that they are given: a neighbour in its place would give another program."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.order import more_specific
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, dtype
from relax_explorer.core.passes import pipeline
from relax_explorer.core.passes.bind_params import _constants
from relax_explorer.core.passes.contract import Record, Rewrite, _described
from relax_explorer.core.passes.external_code import codegen_of
from relax_explorer.core.passes.fused_kernel import _fits
from relax_explorer.core.passes.kept_memory import _of_function
from relax_explorer.core.passes.kept_types import _is_better
from relax_explorer.core.tir.stmt import Buffer

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
    assert more_specific(tensor(N), tensor(M)) is not Answer.YES or not _is_better(tensor(N), tensor(M))
    assert not _is_better(tensor(N), tensor(M))
    assert not _is_better(tensor(4), tensor(N)) or more_specific(tensor(N), tensor(4)) is Answer.NO


def test_a_constant_is_a_copy() -> None:
    fn = rxe.normalize(rxe.parse(main({"x": ()}, "r = R.exp(x)"))).functions["main"]
    given = np.array(1.0, "float32")
    (constant,) = _constants(fn, {"x": given}).values()
    given[()] = 2
    assert constant.data == 1
    with pytest.raises(rxe.Failure, match="'b'"):
        _constants(fn, {"b": given, "d": given})


def test_what_a_record_keeps() -> None:
    a, b, c, d = (e.VarBinding(e.Var(name, tensor(4)), e.Var(f"of_{name}", tensor(4))) for name in "abcd")
    record = Record()
    record.add(Rewrite("one", (a,), (b,)))
    record.add(Rewrite("more", (a, b), (c,)))
    record.renew({b: d}, "then")
    assert [(found.rule, found.before, found.after) for found in record.rewrites()][:2] == [
        ("one", (a,), (d,)),
        ("more", (a, b), (c,)),
    ]
    by = {b: d}
    record.renew(by, "again")
    assert by == {b: d}


def test_texts_with_several_parts() -> None:
    assert _described('Annotated[int, "a number", "more"]') == ("int", "a number")
    fn = rxe.parse(main({"x": (4,)}, "r = R.exp(x)")).functions["main"]
    assert (
        codegen_of(
            e.Function(fn.params, fn.body, None, True, fn.attrs.having(Composite="tensorrt.conv.bias"))
        )
        == "tensorrt"
    )


def test_buffers_that_may_fit() -> None:
    assert not _fits(Buffer("a", (N,), F32), Buffer("b", (M,), F32), {})
    assert _fits(Buffer("a", (N,), F32), Buffer("b", (M,), F32), {N: M})
