"""Operands of every kind in calls that take few kinds: TVM's verdict is that of the profile `tvm`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest

from tests.oracle.mistakes import our_codes, tvm_words
from tests.support.oracle import Oracle

HEAD = """
@I.ir_module
class Module:
FUNCTIONS    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), o: R.Object, t: R.Tuple(R.Tensor((2,), "float32")), sh: R.Shape([2])):
        cls = Module
        s = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
        y = VALUE
        return x
"""
FUNCTIONS = """    @T.prim_func(private=True, s_tir=True)
    def k(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("b"):
                v = T.axis.spatial(2, i)
                B[v] = A[v]
    @R.function
    def g(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
"""
INFO = 'R.Tensor((2,), "float32")'
VALUES = ("x", "t", "sh", "2", "1.5", '"a"', "(x, x)")
CALLS = (
    f"R.invoke_pure_closure(VALUE, (x,), ty_args={INFO})",
    f"R.invoke_closure(o, VALUE, ty_args={INFO})",
    "R.make_closure(VALUE, (x,))",
    f"R.call_builtin_with_ctx(VALUE, (x,), ty_args={INFO})",
    f'R.call_dps_packed("f", VALUE, out_ty={INFO})',
    f'R.call_pure_packed("f", VALUE, ty_args={INFO})',
    "R.memory.kill_tensor(VALUE)",
    "R.vm.kill_object(VALUE)",
    'R.memory.alloc_tensor(VALUE, 0, R.shape([2]), "float32")',
    'R.memory.alloc_tensor(s, VALUE, R.shape([2]), "float32")',
    'R.memory.alloc_tensor(s, 0, VALUE, "float32")',
    'R.memory.alloc_storage(R.shape([8]), VALUE, "global", "float32")',
    'R.builtin.alloc_tensor(R.shape([2]), "float32", VALUE)',
    "R.nn.prelu(R.nn.relu(x), VALUE)",
    "R.shape_of(VALUE)",
)
KEYWORDS = ("out_ty", "ty_args", "out_sinfo", "sinfo_args", "type_args")
TYPED = (
    "R.call_tir(cls.k, (x,), KEY=VALUE)",
    'R.call_dps_packed("f", (x,), KEY=VALUE)',
    'R.call_packed("f", x, KEY=VALUE)',
    'R.call_pure_packed("f", x, KEY=VALUE)',
    'R.call_inplace_packed("f", x, inplace_indices=[0], KEY=VALUE)',
    'R.call_builtin_with_ctx("f", (x,), KEY=VALUE)',
    "R.invoke_closure(o, (x,), KEY=VALUE)",
    "R.make_closure(cls.g, (x,), KEY=VALUE)",
    "cls.g(x, KEY=VALUE)",
    "o(x, KEY=VALUE)",
    "R.add(x, x, KEY=VALUE)",
    "R.print(x, KEY=VALUE)",
)
OTHER_RESULTS = (
    'R.call_pure_packed("f", x)',
    f"R.call_tir(cls.k, (x,), ({INFO},))",
    f"R.call_tir(cls.k, (x,), [{INFO}])",
    f"R.call_tir(cls.k, x, out_ty={INFO})",
    f"R.call_tir(cls.k, (x,), out_ty={INFO}, tir_vars=R.shape([2]))",
)
CASTS = ("2", "-2", "1.5", "True", '"a"', "(x,)", "sh", "x")
TYPES = (
    'R.Prim("int64")',
    'R.Prim("int32")',
    'R.Prim("float32")',
    'R.Prim("float64")',
    "R.Object",
    "R.Tensor",
    "R.Shape",
)


ATTRIBUTES = (
    "R.nn.softmax(x, axis=VALUE)",
    "R.sum(x, axis=VALUE)",
    "R.sum(x, axis=[VALUE])",
    "R.sum(x, axis=0, keepdims=VALUE)",
    "R.nn.leakyrelu(x, alpha=VALUE)",
    "R.astype(x, dtype=VALUE)",
    "R.nn.max_pool1d(R.reshape(x, (1, 1, 2)), strides=VALUE)",
    "R.image.resize2d(R.reshape(x, (1, 1, 1, 2)), (1, 1), roi=VALUE)",
    "R.image.resize2d(R.reshape(x, (1, 1, 1, 2)), VALUE)",
    "R.grad.take_backward(x, x, R.const([0, 1]), mode=VALUE)",
    "R.func_attr(VALUE)",
    'R.func_attr({"a": VALUE})',
    "R.func_attr({VALUE: 0})",
)
LITERALS = (
    "0",
    "0.5",
    "False",
    "None",
    '"int32"',
    "[0]",
    "(0.0,)",
    "R.const(0)",
    "T.int64(0)",
    'R.dtype("int32")',
    "nope",
)


def attributes() -> Iterable[str]:
    """Calls with attributes of all types."""
    return (call.replace("VALUE", value) for call, value in product(ATTRIBUTES, LITERALS))


HELD = (
    "h = R.match_cast(x, R.Tensor(s3))",
    "h = R.match_cast(x, R.Tensor(s34))",
    'h = R.match_cast(x, R.Tensor(s3, "int32"))',
    "h: R.Tensor(s3) = x",
    "h: R.Tensor(s34) = x",
    'h: R.Tensor(s3, "int32") = x',
    "h: R.Shape(s3) = sh",
    "h: R.Tensor((2,), ndim=1) = x",
    'h: R.Tensor((2,), "float32", "llvm") = x',
    'h: R.Tensor(("2",), "f32") = x',
    'h = R.zeros((2,), "float")',
    'h = R.const(1, "int")',
    'h = R.const(1, "i32")',
    "h: R.Prim = o",
    "h: R.Any(1) = o",
    "h: R.Callable((R.Object,)) = o",
    "R.add(x, x)",
    "x",
    "'a text'",
    "print(x)",
    'R.call_packed("f", x)',
    'R.call_packed("f", x, ty_args=R.Tuple())',
)


def statements() -> Iterable[str]:
    """Statements of all kinds, on shapes that variables hold, on types, and values without names."""
    held = "s3 = R.shape([3])\n        s34 = R.shape([3, 4])"
    return (f"sh\n        {held}\n        {line}" for line in HELD)


def operands() -> Iterable[str]:
    """Calls with values of all kinds."""
    return (call.replace("VALUE", value) for call, value in product(CALLS, VALUES))


def results() -> Iterable[str]:
    """Calls that state their results by all keywords, and in other ways."""
    return [
        *(call.replace("KEY", key).replace("VALUE", INFO) for call, key in product(TYPED, KEYWORDS)),
        *OTHER_RESULTS,
    ]


def casts() -> Iterable[str]:
    """Casts of all values to all types."""
    return (f"R.match_cast({value}, {info})" for value, info in product(CASTS, TYPES))


@pytest.mark.parametrize(
    "values", [operands, results, casts, attributes, statements], ids=lambda made: made.__name__
)
def test_the_verdicts_are_those_of_tvm(values: object, oracle: Oracle) -> None:
    assert callable(values)
    wrong = []
    for value in values():
        functions = FUNCTIONS if "cls." in value else ""
        text = HEAD.replace("VALUE", value).replace("FUNCTIONS", functions)
        text = text.replace("y = R.func_attr", "R.func_attr")
        ours, theirs = our_codes(text), tvm_words(oracle, text)
        if bool(ours) == (theirs == "accept"):
            wrong.append(f"{value}: ours {ours}, TVM's {theirs[:200]}")
    assert wrong == []
