"""RewriteDataflowReshape knows kernels that also take lengths, if the operand has them."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from tests.support.roundtrip import function

CALL = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def reshape(var_x: T.handle, m: T.int64, var_y: T.handle):
        T.func_attr({"tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (n, m * T.int64(2)), "float32")
        y = T.match_buffer(var_y, (n * m * T.int64(2),), "float32")
        for i in range(n * m * T.int64(2)):
            with T.sblock("y"):
                v = T.axis.spatial(n * m * T.int64(2), i)
                y[v] = x[v // (m * T.int64(2)) % n, v % (m * T.int64(2))]
    @R.function
    def main(x: R.Tensor(SHAPE, "float32"), s: R.Shape(["m", "k"]), q: R.Prim("int64")):
        m = T.int64()
        k = T.int64()
        with R.dataflow():
            y = R.call_tir(Module.reshape, (x, LENGTH), out_ty=R.Tensor(RESULT, "float32"))
            z = R.exp(y)
            R.output(z)
        return z
"""
CALLS = {
    "its length": ('("n", "m * 2")', "m", '("n * m * 2",)', True),
    "a number": ("(3, 8)", "R.prim_value(4)", "(24,)", True),
    "another length": ('("n", "m * 2")', "k", '("n * k * 2",)', False),
    "another number": ("(3, 8)", "R.prim_value(3)", "(18,)", False),
    "a scalar": ('("n", "m * 2")', "q", '("n * m * 2",)', False),
    "a sum": ('("n", "m * 2 + k * 2")', "m + k", '("n * (m + k) * 2",)', True),
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_reshape_with_a_length_is_known(kind: str) -> None:
    shape, length, result, is_known = CALLS[kind]
    text = CALL.replace("SHAPE", shape).replace("LENGTH", length).replace("RESULT", result)
    defined = "        n = T.int64()\n" if '"n"' in shape else ""
    text = text.replace("        m = T.int64()\n", f"{defined}        m = T.int64()\n")
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "RewriteDataflowReshape")
    assert ("R.reshape(x" in after.script()) is is_known
    assert (after is before) is not is_known


@pytest.mark.parametrize(
    ("lines", "views"),
    [
        (["with R.dataflow():", "    a = R.reshape(x, R.shape([8]))", "    r = R.exp(a)", "    R.output(r)"], 1),
        (["if c:", "    with R.dataflow():", "        a = R.reshape(x, R.shape([8]))", "        b = R.exp(a)", "        R.output(b)",
          "    r = b", "else:", "    r = R.reshape(x, R.shape([8]))"], 0),
        (["@R.function", 'def f(y: R.Tensor((2, 4), "float32")) -> R.Tensor((8,), "float32"):', "    with R.dataflow():",
          "        a = R.reshape(y, R.shape([8]))", "        b = R.exp(a)", "        R.output(b)", "    return b", "r = f(x)"], 0),
    ],
    ids=["in a block of the function", "in a branch", "in a nested function"],
)  # fmt: skip
def test_only_blocks_of_the_function_itself_get_views(lines: list[str], views: int) -> None:
    text = function(
        "\n".join([*lines, "return r"]), 'x: R.Tensor((2, 4), "float32"), c: R.Tensor((), "bool")'
    )
    lowered = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    after = rxe.apply_pass(lowered, "RewriteDataflowReshape")
    assert after.script().count("R.reshape(") == views
