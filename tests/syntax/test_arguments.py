"""A call with an argument that its operator does not have is refused, in every form of the call."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from tests.support.oracle import Oracle

CALLS = [
    'R.call_tir(cls.k, (x,), other=3, out_ty=R.Tensor((2,), "float32"))',
    'R.call_tir_inplace(cls.k, (x, x), inplace_indices=[0], other=3, out_ty=R.Tensor((2,), "float32"))',
    'R.call_tir_with_grad(cls.k, (x,), te_grad_name="g", other=3, out_ty=R.Tensor((2,), "float32"))',
    'R.call_dps_packed("f", (x,), other=3, out_ty=R.Tensor((2,), "float32"))',
    'R.call_py_func("f", (x,), other=3, out_ty=R.Tensor((2,), "float32"))',
    'R.call_pure_packed("f", x, other=3, ty_args=(R.Object,))',
    'R.call_inplace_packed("f", x, inplace_indices=[0], other=3, ty_args=(R.Object,))',
    'R.call_builtin_with_ctx("f", (x,), other=3, ty_args=(R.Object,))',
    "R.print(x, other=3)",
    'R.assert_op(R.const(True, "bool"), x, other=3)',
    "R.add(x, x, other=3)",
    "R.tuple(x, other=3)",
    "R.nn.softmax(x, other=3)",
    "cls.f(x, other=3)",
    "cls.f(x, 3, other=3)",
    "g(x, other=3)",
]
PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        B[0] = A[0]
    @R.function
    def f(x: R.Tensor((2,), "float32")):
        return x
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        cls = M
        g = cls.f
        y = {}
        return y
"""


@pytest.mark.parametrize("call", CALLS)
def test_an_argument_that_nobody_knows_is_refused(oracle: Oracle, call: str) -> None:
    text = PROGRAM.format(call)
    assert not oracle.parse(text).ok
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(text)
    assert [item.code.id for item in caught.value.diagnostics] == ["RX0015"]


def test_a_misspelled_argument_is_told_from_its_neighbour() -> None:
    text = PROGRAM.format('R.call_inplace_packed("f", x, inplace_indexes=[0], ty_args=(R.Object,))')
    with pytest.raises(rxe.ParseError, match="did you mean inplace_indices"):
        rxe.parse(text)


@pytest.mark.parametrize(
    ("written", "printed"),
    [("1e999", '"inf"'), ("-1e999", '"-inf"'), ("float('inf')", '"inf"'), ("float('nan')", '"nan"')],
)
def test_numbers_without_a_literal_stay_numbers(written: str, printed: str) -> None:
    program = PROGRAM.format(f"R.nn.leakyrelu(x, alpha={written})").replace(
        "        B[0]", f"        T.func_attr({{'a': {written}, 'b': [{written}]}})\n        B[0]"
    )
    module = rxe.parse(program)
    text = module.script()
    assert f"alpha=float({printed})" in text
    assert f'"a": float({printed}), "b": [float({printed})]' in text
    again = rxe.parse(text)
    assert type(again["k"].attrs["a"]) is float
    assert rxe.structural_equal(again, module)
    assert again.script() == text


@pytest.mark.parametrize(
    "value",
    [
        "R.linear()", "R.linear(x)", 'R.linear(x, x, x, "float16", 3)', "R.linear(x, x, data=x)", "R.linear(x, x, other=3)",
        "R.linear(*x)", "R.linear(**x)", "R.nn.relu6()", "R.nn.relu6(x, 6)", "R.stop_lift_params(x, x)",
    ],
)  # fmt: skip
def test_a_shorthand_tells_its_arguments(value: str) -> None:
    text = f'@R.function\ndef main(x: R.Tensor((2, 2), "float32")):\n    y = {value}\n    return y\n'
    with pytest.raises(rxe.Failure) as caught:
        rxe.parse(text)
    (problem,) = caught.value.diagnostics
    name = value.split("(")[0]
    assert (problem.code.id, problem.message) == ("RX0015", f"the arguments of {name} do not fit")
    assert problem.help is not None
    assert problem.help.startswith(f"write {name}(data")
    assert problem.span is not None
    assert problem.span.line == 3


@pytest.mark.parametrize(
    ("value", "column"),
    [
        ("R.linear(x, *x)", 20),
        ("R.linear(x, x, q)", 23),
        ("R.linear(x, x, out_dtype=3)", 33),
        ("x.astype()", 8),
        ("x.astype(3)", 17),
        ('x.astype("int8", x)', 8),
        ("x.reshape((4,))", 8),
        ('q.astype("int8")', 8),
    ],
)
def test_a_bad_argument_of_a_shorthand_is_named_at_its_place(value: str, column: int) -> None:
    text = f'@R.function\ndef main(x: R.Tensor((2, 2), "float32")):\n    y = {value}\n    return y\n'
    with pytest.raises(rxe.Failure) as caught:
        rxe.parse(text)
    (problem,) = caught.value.diagnostics
    assert problem.span is not None
    assert (problem.span.line, problem.span.column) == (3, column)
