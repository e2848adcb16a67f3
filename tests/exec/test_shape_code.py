"""Compiled dimensions give the same results as the evaluated tree, errors included."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.core.exec import scalars
from relax_explorer.core.exec.scalars import Undefined, compile_shapes, evaluate
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT32
from tests.support.dimensions import VARIABLES, K, M, N, expressions

EDGES = [0, 1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63 - 2, 2**63 - 1, -1, -2, -(2**63), -(2**62)]
EXTREME = st.one_of(st.sampled_from(EDGES), st.integers(-(2**63), 2**63 - 1))


def rows(count: int) -> np.ndarray:
    random = np.random.default_rng(0)
    small = random.integers(0, 51, (count // 2, 3))
    edges = random.choice(np.array(EDGES, dtype=np.int64), (count - count // 2, 3))
    return np.concatenate([small, edges])


@given(expressions(5))
@settings(max_examples=60, deadline=None)
def test_a_thousand_assignments_give_what_the_tree_gives(expr: p.PrimExpr) -> None:
    code = compile_shapes([expr])
    assert code.compiled
    table = rows(1000)[:, : len(code.variables)]
    values, errors = code.table(table)
    for row, value, error in zip(table.tolist(), values[:, 0].tolist(), errors[:, 0].tolist(), strict=True):
        try:
            wanted, problem = evaluate(expr, dict(zip(code.variables, row, strict=True))), 0
        except Undefined as undefined:
            wanted, problem = 0, scalars._ERRORS[undefined.code]
        assert (value if not error else 0, error) == (wanted, problem), row


@given(st.lists(expressions(3), max_size=4), EXTREME, EXTREME, EXTREME)
@settings(max_examples=300, deadline=None)
def test_a_call_raises_what_the_tree_raises(exprs: list[p.PrimExpr], n: int, m: int, k: int) -> None:
    dims = dict(zip(VARIABLES, (n, m, k), strict=True))
    assert outcome(compile_shapes(exprs), dims) == outcome(
        lambda dims: tuple([evaluate(expr, dims) for expr in exprs]), dims
    )


def outcome(function: Any, dims: dict[p.PrimVar, int]) -> tuple[str, Any]:
    try:
        return "values", function(dims)
    except Undefined as problem:
        return problem.code.id, str(problem)


def test_what_is_shared_is_computed_once() -> None:
    part = N * M
    code = compile_shapes([part + 1, part + 2, part])
    assert len(code._program) == 3
    assert code({N: 3, M: 4}) == (13, 14, 12)


def test_a_long_chain_is_compiled_without_recursion() -> None:
    total: p.PrimExpr = N
    for _ in range(20_000):
        total = total + M
    assert compile_shapes([total])({N: 1, M: 2}) == (40_001,)


def test_what_is_no_int64_arithmetic_is_evaluated_as_a_tree() -> None:
    narrow = p.Cast(N.dtype, p.Cast(INT32, N * 2))
    code = compile_shapes([narrow, M])
    assert not code.compiled
    assert code({N: 4, M: 1}) == (8, 1)
    assert code({N: 4}) == (8, None)
    assert code.table([[3, 5], [2**31, 5]])[1].tolist() == [[0, 0], [scalars.OVERFLOW, 0]]


def test_intrinsics_are_compiled() -> None:
    rounded = p.PrimCall("ceildiv", (N, p.IntImm(4)), N.dtype)
    chosen = p.PrimCall("if_then_else", (p.GT(N, M), N // M, K), N.dtype)
    code = compile_shapes([rounded, chosen])
    assert code.compiled
    assert code({N: 9, M: 0, K: 5}.copy() | {M: 10}) == (3, 5)
    with pytest.raises(Undefined, match="divides by zero"):
        code({N: 9, M: 0, K: 5})


def test_without_numba_the_tree_is_evaluated() -> None:
    text = (
        "import sys; sys.modules['numba'] = None\n"
        "from relax_explorer.core.exec.scalars import compile_shapes\n"
        "from relax_explorer.core.ir import prim as p\n"
        "n = p.PrimVar('n'); code = compile_shapes([n // 2 + 1])\n"
        "print(code.compiled, code({n: 9}), code.table([[9], [4]])[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "False (5,) [[5], [3]]"
