"""What is remembered of a call serves only calls that are equal in all that its rule sees."""

from __future__ import annotations

import relax_explorer
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir.walk import bindings


def _types(body: str) -> dict[str, str]:
    text = f"@R.function(pure=False)\ndef main(s: R.Shape(ndim=2), t: R.Shape(ndim=2), o: R.Object):\n{body}    return o\n"
    module, _ = normalize_with(relax_explorer.parse(text))
    return {item.var.name: str(item.var.struct_info) for item in bindings(module["main"])}


def test_the_dtype_of_an_allocation_counts() -> None:
    types = _types(
        '    a = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0))\n'
        '    b = R.builtin.alloc_tensor(R.shape([2]), R.dtype("int8"), R.prim_value(0))\n'
        '    c = R.builtin.alloc_tensor(R.shape([2]), R.dtype("float32"), R.prim_value(0))\n'
    )
    assert types["a"] == types["c"] == 'R.Tensor((2,), dtype="float32")'
    assert types["b"] == 'R.Tensor((2,), dtype="int8")'


def test_a_shape_that_a_variable_holds_counts() -> None:
    types = _types(
        '    a = R.memory.alloc_tensor(o, R.prim_value(0), s, R.dtype("float32"))\n'
        '    b = R.memory.alloc_tensor(o, R.prim_value(0), t, R.dtype("float32"))\n'
    )
    assert types == {"a": 'R.Tensor(s, dtype="float32")', "b": 'R.Tensor(t, dtype="float32")'}


def test_the_kind_of_an_operand_counts() -> None:
    """A tuple that is written out can't be killed, a variable with the same StructInfo can."""
    body = "    p = (o,)\n    a = R.vm.kill_object(p)\n    b = R.vm.kill_object((o,))\n    c = R.vm.kill_object(p)\n"
    text = f"@R.function(pure=False)\ndef main(o: R.Object):\n{body}    return o\n"
    _, report = normalize_with(relax_explorer.parse(text))
    assert [problem.span.line for problem in report.errors if problem.span] == [5]


CALLS = """
@I.ir_module
class Module:
    @R.function
    def f(a: R.Tensor(("k",), "float32"), b: R.Tensor(("k",), "float32")) -> R.Tensor(("k",), "float32"):
        return a

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), z: R.Tensor((3,), "int8")):
        cls = Module
        p = cls.f(x, x)
        q = cls.f(x, y)
        r = cls.f(x, x)
        s = cls.f(x, y)
        t = cls.f(y, y)
        u = cls.f(x, z)
        return p
"""


def test_each_call_that_does_not_fit_is_reported() -> None:
    module, report = normalize_with(relax_explorer.parse(CALLS))
    lines = [problem.span.line for problem in report.sorted() if problem.span]
    assert lines == [12, 14, 16]
    types = [str(item.var.struct_info) for item in bindings(module["main"])]
    assert types[0] == types[2] == 'R.Tensor((n,), dtype="float32")'
    assert types[4] == 'R.Tensor((m,), dtype="float32")'


TWO = """
@I.ir_module
class Module:
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return a

    @R.function
    def g(a: R.Tensor((3,), "float32")) -> R.Object:
        return a

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        cls = Module
        p = cls.f(x)
        q = cls.g(x)
        return p
"""


def test_the_result_of_a_function_counts() -> None:
    """Two functions with equal parameters have results of their own."""
    module, _ = normalize_with(relax_explorer.parse(TWO))
    types = [str(item.var.struct_info) for item in bindings(module["main"])]
    assert types == ['R.Tensor((3,), dtype="float32")', "R.Any"]
