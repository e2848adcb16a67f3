"""An output of a dataflow block that equals a variable of the block remains the variable read outside it."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import has_facts
from relax_explorer.core.passes import table
from relax_explorer.core.passes.outputs import Blocks
from relax_explorer.core.passes.pipeline import Step, normalized, run_step
from relax_explorer.core.passes.properties import PROPERTIES
from tests.support.ready_modules import ready

PROGRAM = """@R.function
def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")):
    with R.dataflow():
        lv = R.exp(x)
        a = R.sin(lv)
        y = R.sin(lv)
        R.output(y)
    {}
"""
READERS = {
    "result": "return y",
    "binding": "z = R.cos(y)\n    return z",
    "tuple": "return (y, y)",
    "branch": "if c:\n        z = R.cos(y)\n    else:\n        z = y\n    return z",
    "block": "with R.dataflow():\n        z = R.cos(y)\n        R.output(z)\n    return z",
    "function": '@R.function\n    def g(o: R.Object) -> R.Tensor((2,), "float32"):\n        return y\n    return g(x)',
}


@pytest.mark.parametrize("name", table())
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("again", ["a", "y"])
def test_no_reader_outside_sees_a_dataflow_variable(name: str, reader: str, again: str) -> None:
    text = PROGRAM.format(READERS[reader]).replace("        a = ", f"        {again} = ")
    module = ready(normalized(rxe.parse(text))[0], name)
    held = [q for q in PROPERTIES if q.holds(module)]
    assert [str(item) for item in run_step(Step(table()[name]), module, True, held).problems] == []


INLINED = """@I.ir_module
class M:
    @R.function(private=True)
    def inner(a: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            b = a
            R.output(b)
        return b

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = M.inner(x)
            z = R.exp(y)
            R.output(z)
        return z
"""


def test_inlining_promises_nothing_of_names() -> None:
    module = rxe.apply_pass(rxe.parse(INLINED), "CanonicalizeBindings")
    held = [q for q in PROPERTIES if q.holds(module)]
    outcome = run_step(Step(table()["InlinePrivateFunctions"]), module, True, held)
    assert outcome.changed
    assert [str(item) for item in outcome.problems] == []


def test_attributes_that_name_shape_variables_are_equal_where_the_variables_correspond() -> None:
    text = """s = TypeVar("s")
t = TypeVar("t")
@R.function
def main(x: R.Tensor((s, t), "float32")):
    R.func_attr({"count": s})
    return x
"""
    assert rxe.structural_equal(rxe.parse(text), rxe.parse(text))
    assert not rxe.structural_equal(rxe.parse(text), rxe.parse(text.replace('"count": s', '"count": t')))


@pytest.mark.parametrize(
    ("reader", "is_asked"), [("result", True), ("tuple", True), ("binding", False), ("function", False)]
)
def test_one_block_is_not_searched_for_readers_outside(reader: str, is_asked: bool) -> None:
    """Only the result is outside. To find all readers takes as long as a walk of a pass."""
    text = PROGRAM.format(READERS[reader]).replace("        R.output(y)", "        R.output(a, y)")
    fn = rxe.normalize(rxe.parse(text))["main"]
    assert isinstance(fn, e.Function)
    blocks = Blocks(fn)
    read = {var.name: blocks.is_read_outside(var) for var in blocks.outputs if var.name in ("a", "y")}
    assert read == {"a": False, "y": True}
    assert has_facts(fn) is not is_asked
