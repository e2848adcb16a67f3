"""What we read and print is for TVM the program that was written, and prints no other program when read again."""

from __future__ import annotations

import textwrap

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from tests.support.oracle import Oracle

HEAD = "from tvm.script import ir as I, relax as R, tirx as T\n\n"

SCALARS = {
    "a scalar sizes a tensor": """
        @R.function
        def main(n: T.int64, x: R.Tensor((n, "m"), "float32")) -> R.Tensor((n, "m"), "float32"):
            return x
    """,
    "scalars make a shape": """
        @R.function
        def main(n: T.int64, m: T.int64):
            y = R.shape([n, m + 1])
            return y
    """,
    "scalars size what an operator makes": """
        @R.function
        def main(n: T.int64, m: R.Prim("int64")):
            y = R.eye(n, m)
            z = R.arange(n)
            w = R.zeros((n, m), "float32")
            v = R.full(R.shape([n]), R.const(1.0, "float32"), dtype="float32")
            return (y, z, w, v)
    """,
    "scalars bound a slice": """
        @R.function
        def main(n: T.int64, x: R.Tensor((9,), "float32")):
            y = R.strided_slice(x, axes=[0], begin=[0], end=[n])
            return y
    """,
    "a scalar by another name is an operand": """
        @R.function
        def main(n: T.int64):
            alias = n
            y = R.arange(alias)
            return y
    """,
    "scalars are computed with": """
        @R.function
        def main(n: T.int64, c: T.float32):
            y = c + T.float32(1)
            z = n * 2 < 3
            return (y, z)
    """,
    "a dimension computed of a scalar": """
        @R.function
        def main(n: T.int64, x: R.Tensor((n + 1,), "float32")) -> R.Tensor((n + 1,), "float32"):
            y = R.reshape(x, (1, n + 1))
            z = R.reshape(y, (n + 1,))
            return z
    """,
}

HELD_SHAPES = {
    "what is made in a shape that a variable holds": """
        @R.function
        def main(s: R.Shape(ndim=2), x: R.Tensor("float32"), v: R.Tensor((), "float32")):
            a = R.full(s, v)
            b = R.zeros(s, "int8")
            c = R.ones(s, "int8")
            d = R.broadcast_to(v, s)
            f = R.reshape(x, s)
            g = R.collapse_sum_to(x, s)
            h = R.add(f, g)
            i = R.where(R.astype(h, "bool"), h, f)
            j = R.nn.softmax(i)
            return (a, b, c, d, f, g, h, i, j)
    """,
    "a shape of a tensor": """
        @R.function
        def main(t: R.Tensor((3,), "int64"), x: R.Tensor("float32")):
            s = R.tensor_to_shape(t)
            y = R.reshape(x, s)
            z: R.Tensor(s, "float32") = R.exp(y)
            w = R.zeros_like(z)
            return (z, w)
    """,
}


def module_of(text: str) -> str:
    """The program as TVM wants it: imports, and a class around functions."""
    text = textwrap.dedent(text).strip("\n") + "\n"
    if "@I.ir_module" in text:
        return HEAD + text
    return f"{HEAD}@I.ir_module\nclass Module:\n{textwrap.indent(text, '    ')}"


FORMS = {**SCALARS, **HELD_SHAPES}


@pytest.mark.parametrize("name", FORMS)
def test_what_we_print_is_what_was_written(name: str, oracle: Oracle) -> None:
    written = module_of(FORMS[name])
    theirs = oracle.parse(written, check_well_formed=False).get()
    module = rxe.parse(written)
    printed = module.script()
    assert rxe.structural_equal(rxe.parse(printed), module), printed
    assert rxe.parse(printed).script() == printed
    assert oracle.equal(theirs, oracle.parse(printed, check_well_formed=False).get()).get().mapped, printed


@pytest.mark.parametrize("name", FORMS)
def test_what_they_print_is_read(name: str, oracle: Oracle) -> None:
    written = module_of(FORMS[name])
    theirs = oracle.script(oracle.parse(written, check_well_formed=False).get()).get()
    module = rxe.parse(theirs)
    assert [str(item) for item in rxe.check(module, profile="tvm") if item.is_error] == []


@pytest.mark.parametrize("name", HELD_SHAPES)
def test_the_variable_that_holds_a_shape_is_kept_as_they_keep_it(name: str, oracle: Oracle) -> None:
    written = module_of(HELD_SHAPES[name])
    theirs = [(row.name, row.type) for row in oracle.types(written).get() if row.name.isalpha()]
    ours = [
        (b.var.name, str(b.var.struct_info))
        for b in bindings(rxe.normalize(rxe.parse(written))["main"])
        if b.var is not None
    ]
    assert [row for row in ours if row[0] != "gv"] == [row for row in theirs if row[0] != "gv"]
