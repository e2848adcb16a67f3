"""The child of the oracle evaluates simple expressions of TVMScript itself: it reads every text as TVM's parser does."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.oracle import Oracle
from tests.support.roundtrip import SAMPLES, STAGES, stage_id

HEAD = "from tvm.script import ir as I, relax as R, tirx as T\n"
BODY = """
@I.ir_module
class M:
    @R.function(private=True)
    def main(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((2,), "int64")):
        n = T.int64()
        z = {}
        return z
"""
EXPRESSIONS = [
    "x", "R.add(x, x)", "R.permute_dims(x, axes=[1, 0])", "R.permute_dims(x, axes=(1, 0))", "R.permute_dims(x, axes=[1, -1])",
    "(x, (y, x))[1][0]", "[x, y]", "R.shape([n, n * 2, 3])", "R.shape([n + 1 if True else n])", "R.shape([T.max(n, 2)])",
    "R.add(*[x, x])", "R.add(**{'x1': x, 'x2': x})", "R.const(1.5, 'float32')", "R.const([1, 2], dtype='int64')", "x + x", "-x", "await x",
    "R.prim_value(1 < 2)", "R.prim_value(not True)", "R.prim_value(True and n > 2)", "R.str('a' 'b')", "R.dtype('float32')",
    "R.call_packed('f', x, sinfo_args=R.Tensor(ndim=2))", "R.call_pure_packed('f', x, ty_args=[R.Object])", "len([1, 2])",
    "R.reshape(x, (lambda a: a)([n, 3]))", "R.strided_slice(x, [0], [0], [2])", "R.zeros(R.shape([2]), dtype=str('int64'))",
    "missing", "R.missing(x)", "x.missing", "R.add(x)", "R.add(x, x, x, x)", "R.add(x, z=x)", "(x, y)[5]", "R.add(x, missing)", "1 // 0",
    "R.shape([1 // 0])", "x[0](1)", "R.add(x, [T.int64(k) for k in range(2)])", "R.Tensor", "f'{1}'", "...", "None", "R.tuple(x)",
]  # fmt: skip


@pytest.mark.parametrize("path", [*SAMPLES, *STAGES[::7]], ids=stage_id)
def test_it_reads_programs_as_tvm_does(oracle: Oracle, path: Path) -> None:
    assert oracle.reads_alike(path.read_text(encoding="utf-8")).get()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_it_reads_expressions_as_tvm_does(oracle: Oracle, expression: str) -> None:
    ast.parse(expression)
    assert oracle.reads_alike(HEAD + BODY.format(expression)).get()
