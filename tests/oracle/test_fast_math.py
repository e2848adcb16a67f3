"""FastMathTransform gives TVM's kernels, number by number."""

from __future__ import annotations

import re

import pytest

from tests.passes.test_fast_math import PROGRAM
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs

CALLS = re.compile(r"R\.(?:exp|erf|tanh|nn\.softmax)\(")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", ["exp(x)", "erf(x)", "tanh(x)", "nn.softmax(x)"])
@pytest.mark.parametrize("shape", ['("n",)', '(2, "n")', "(2, 1, 3)", "()"])
def test_kernels_are_those_of_tvm(oracle: Oracle, op: str, dtype: str, shape: str) -> None:
    if shape == "()" and "softmax" in op:
        shape = "(5,)"
    text = PROGRAM.format(op=op, dtype=dtype).replace('("n",)', shape)
    outcome = compare(oracle, text, ("FastMathTransform", {}))
    assert outcome.kind == "agree", outcome.details


def test_programs_are_changed_as_by_tvm(oracle: Oracle) -> None:
    """TVM 0.27 fails where a function is called, and where a shape is unknown: the others agree."""
    texts = {**programs(), **dict(random_programs(30))}
    found = {
        title: compare(oracle, text, ("FastMathTransform", {})).kind
        for title, text in texts.items()
        if CALLS.search(text)
    }
    assert [title for title, kind in found.items() if kind == "differ"] == []
    assert list(found.values()).count("agree") >= 20
