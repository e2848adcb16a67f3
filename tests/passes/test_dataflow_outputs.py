"""An output of a dataflow block that equals a variable of the block remains the variable read outside it."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import has_facts
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes import table
from relax_explorer.core.passes.canonicalize_bindings import Blocks
from relax_explorer.core.passes.pipeline import Step, normalized, run_step
from relax_explorer.core.phases.module_properties import PROPERTIES
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


CASTS = """@R.function
def main(x: R.Object{}):
    a, b = T.int64(), T.int64()
    with R.dataflow():
        {}
        {}
        {}
        R.output({})
    return {}
"""
FIRST, SECOND = (
    'z = R.match_cast(x, R.Tensor("float32", ndim=2))',
    'u = R.match_cast(z, R.Tensor((a, b), "float32"))',
)
TWO_CASTS = {
    "output": (("", FIRST, SECOND, "", "u", "u"), ["x"]),
    "copied": (("", FIRST, SECOND, "v = u", "v", "v"), ["x"]),
    "inner": (("", FIRST, SECOND, "v = R.exp(u)", "v", "v"), ["x", "z"]),
    "read twice": (("", FIRST, SECOND, "w = R.exp(z)", "u, w", "u, w"), ["x", "z"]),
    "two outputs": (("", FIRST, SECOND, "", "u, z", "u, z"), ["x", "z"]),
    "between": (
        ("", FIRST, FIRST.replace("z =", "w ="), SECOND, "u, w", "u, w"),
        ["x", "x", "z"],
    ),
    "weaker": (
        (
            "",
            'z = R.match_cast(x, R.Tensor((2, 3), "float32"))',
            FIRST.replace("x,", "z,").replace("z =", "u ="),
            "",
            "u",
            "u",
        ),
        ["x", "z"],
    ),
    "binding": (
        (
            "",
            "z = R.match_cast(x, R.Tuple(R.Tensor((a, b)), R.Object))",
            "u = R.match_cast(z, R.Tuple(R.Tensor((a, b)), R.Tensor((a,))))",
            "",
            "u",
            "u",
        ),
        ["x", "z"],
    ),
    "call": (
        (", f: R.Callable((R.Object,), R.Object)", "z = f(x)", SECOND, "", "u", "u"),
        ["z"],
    ),
}


@pytest.mark.parametrize("case", TWO_CASTS)
@pytest.mark.parametrize("name", ["CanonicalizeBindings", "ConvertToDataflow"])
def test_a_cast_of_a_weaker_cast_as_an_output_stands_alone(case: str, name: str) -> None:
    parts, sources = TWO_CASTS[case]
    text = CASTS.format(*parts)
    if name == "ConvertToDataflow":  # finds the block itself
        lines = [line for line in text.splitlines() if "R.output" not in line]
        text = "\n".join(line.replace("        ", "    ").replace("with R.dataflow():", "") for line in lines)
    fn = rxe.apply_pass(rxe.normalize(rxe.parse(text)), name)["main"]
    assert isinstance(fn, e.Function)
    found = [b.value.name for b in bindings(fn) if type(b) is e.MatchCast and isinstance(b.value, e.Var)]
    assert found == sources


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
