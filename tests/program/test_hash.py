"""The structural hash: equal for equal structures, different after any single change, in time linear in the bindings."""

from __future__ import annotations

import pytest

import relax_explorer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.module import IRModule
from tests.perf.generate import renamed, transformer
from tests.support.work import calls

TEXT = """from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a: R.Tensor((n, m), "float32") = R.add(x, y)
            b: R.Tensor((n, m), "float32") = R.subtract(a, y)
            c: R.Tensor((n, m), "float32") = R.nn.softmax(b, axis=1)
            d: R.Tensor((n * m,), "float32") = R.reshape(c, R.shape([n * m]))
            e: R.Tensor((n, m), "float32") = R.reshape(d, R.shape([n, m]))
            f: R.Tensor((n, m), "float32") = R.add(e, R.const(1.5, "float32"))
            R.output(f)
        return f
"""
CHANGES = {
    "operator": ("R.subtract", "R.multiply"),
    "order of operands": ("R.subtract(a, y)", "R.subtract(y, a)"),
    "operand": ("R.subtract(a, y)", "R.subtract(a, x)"),
    "attribute": ("axis=1", "axis=0"),
    "order of dimensions": ("d: R.Tensor((n * m,)", "d: R.Tensor((m * n,)"),
    "value of a shape": ("R.shape([n * m])", "R.shape([m * n])"),
    "constant": ("1.5", "2.5"),
    "output": ("R.output(f)", "R.output(e, f)"),
    "result": ("return f", "return x"),
}


def _hash(text: str) -> int:
    return relax_explorer.structural_hash(relax_explorer.parse(text))


@pytest.mark.parametrize("change", CHANGES)
def test_what_differs_in_one_place_has_another_hash(change: str) -> None:
    old, new = CHANGES[change]
    assert old in TEXT
    assert _hash(TEXT.replace(old, new)) != _hash(TEXT)


def test_names_do_not_count() -> None:
    text = TEXT.replace("a: R", "aa: R").replace("(a, y)", "(aa, y)").replace("m = T", "k = T")
    text = text.replace('"m"', '"k"').replace("n * m", "n * k").replace("n, m", "n, k")
    assert _hash(text) == _hash(TEXT)
    assert _hash(renamed(transformer(100))) == _hash(transformer(100))


def _calls(bindings: int) -> int:
    module = relax_explorer.normalize(relax_explorer.parse(transformer(bindings)))
    return calls(lambda: relax_explorer.structural_hash(module))


def test_most_bindings_need_few_calls() -> None:
    assert _calls(680) - _calls(340) < 12 * 340


def _attrs(a: int) -> list[tuple[str, object]]:
    return [("a", a), ("b", Attrs({"c": 1, "d": a})), ("e", ("x", a))]


def _reversed(attrs: list[tuple[str, object]]) -> Attrs:
    return Attrs([(k, Attrs([*v.items()][::-1]) if isinstance(v, Attrs) else v) for k, v in attrs[::-1]])


def test_the_order_of_attributes_does_not_count() -> None:
    """TVM prints them by name, so passes that set them in another order give the same text."""
    module = relax_explorer.parse(TEXT)
    fn = module["main"]
    assert isinstance(fn, e.Function)
    of_functions = [
        replace(fn, attrs=attrs) for attrs in (Attrs(_attrs(1)), _reversed(_attrs(1)), Attrs(_attrs(2)))
    ]
    of_modules = [
        IRModule(module.functions, attrs)
        for attrs in (Attrs(_attrs(1)), _reversed(_attrs(1)), Attrs(_attrs(2)))
    ]
    for one, two, other in (of_functions, of_modules):
        assert relax_explorer.structural_equal(one, two)
        assert relax_explorer.structural_hash(one) == relax_explorer.structural_hash(two)
        assert not relax_explorer.structural_equal(one, other)
        assert relax_explorer.structural_hash(one) != relax_explorer.structural_hash(other)
