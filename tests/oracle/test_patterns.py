"""The bindings that each pattern matches are those that TVM's `relax.dpl` matches."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.patterns import is_dfv, is_op, is_tuple, occurrences, read_pattern, wildcard
from relax_explorer.core.patterns import pattern as q
from tests.support.corpus import MODELS
from tests.support.oracle import Oracle
from tests.support.pattern_trees import tree

PROGRAM = Path(__file__).parent / "pattern_program.py.txt"
_X = wildcard()
BUILT = {
    "one value twice": is_op("relax.add")(_X, _X),
    "a value and its function": is_op("relax.add")(_X, is_op("relax.exp")(_X)),
    "unordered": is_tuple([is_op("relax.exp")(_X), is_op("relax.sin")(wildcard())], unordered=True),
    "dataflow variable": is_op("relax.exp")(is_dfv() | wildcard()),
}
TEXTS = [
    "_", "$_", "$x", "$lv", "const", "exp(_)", "exp(exp(_))", "exp($x)", "exp($_)", "exp(const)", "exp(~const)", "exp(exp(_) | sin(_))",
    "add(_, exp(_))", "add(exp(_), _)", "add(exp(_), sin(_))", "multiply(sin(_), exp(_))", "subtract(exp(_), _)", "subtract(_, exp(_))",
    "subtract(x, x)", "add(x, x)", "add(exp(x), exp(x))", "add(exp(x), sin(x))", "add(x, exp(x))", "multiply(x, add(x, _))",
    "add(add(a, b), multiply(a, b))", "add(add(a, b), multiply(b, a))",
    "exp(_) & _", "exp(_) & exp(exp(_))", "~exp(_)", "~(exp(_) | sin(_))", "~~exp(_)", "exp(_) & ~exp(exp(_))", "_ & ~_",
    "concat(_)", "concat((_, _))", "concat((exp(_), _))", "concat((x, x))", "concat(())", "concat(_, _)", "concat(..., axis=0)", "concat(_, axis=0)",
    "concat(_, axis=1)", "split(_)", "split(_)[0]", "split(_)[1]", "split(_)[_]", "_[0]", "_[_]", "(_, _)[0]", "(_, _)", "(_, _, _)", "()",
    "(x, x)", "exp((_, _)[1])", "matmul(_, permute_dims(_))", "matmul(_, permute_dims(_, axes=[1, 0]))", "matmul(_, permute_dims(_, axes=[0, 1]))",
    "matmul(x, permute_dims(x))", "exp(_: f32)", "exp(_): f32", "exp(_): f16", "_: f16", "_: f32[2, 3]",
    "exp(_: [2, 3])", "exp(_: [3, 2])", "exp(_): f32[2, 3]", "reshape(_, _)", "reshape(_, shape[6])", "reshape(_, shape[3, 2])",
    "reshape(reshape(_, _), _)",
    "call_tir(@_, _)", "call_tir(@twice, _)", "call_tir(@other, _)", "call_tir(@twice, (_,))", "call_tir(@twice, (exp(_),))",
    "call_tir(@twice, (_, _))",
    "@_(...)", "@callee(_)", "@callee(exp(_))", "@callee()", "@nothing(_)", '"packed"(_)', '"packed"(...)', '"other"(_)', "call_dps_packed(_, _)",
    'call_dps_packed("dps", (_,))', 'call_dps_packed("dps", (exp(_),))', "softmax(_, axis=-1)", "softmax(_, axis=1)", "softmax(_)",
    "multiply(divide(_, _), _)", "divide(multiply(_, _), _)", "add(_, ...)", "add(exp(_), ...)", "strided_slice(_, ...)", "take(_, _, axis=0)",
    "where(_, x, x)", "exp(add(_, _) & _: f32)", "add(exp(_) | _, sin(_) | _)", "add(exp(_) | sin(_), exp(_) | sin(_))", "add(~exp(_), ~exp(_))",
]  # fmt: skip


@cache
def program() -> str:
    return PROGRAM.read_text(encoding="utf-8")


@cache
def normalized(text: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(text))


def ours(text: str, pattern: q.Pattern) -> list[tuple[str, str]]:
    rows = []
    for name, fn in normalized(text).relax_functions.items():
        found = [one.binding for one in occurrences(fn, pattern)]
        rows += [(name, b.var.name) for b in found if not isinstance(b.value, e.Var)]
    return sorted(rows)


def compared(oracle: Oracle, text: str, pattern: q.Pattern) -> list[tuple[str, str]]:
    theirs = oracle.matches(normalized(text).script(), tree(pattern)).get()
    assert ours(text, pattern) == theirs
    return theirs


@pytest.mark.parametrize("text", TEXTS)
def test_tvm_matches_the_same_bindings(oracle: Oracle, text: str) -> None:
    pattern = read_pattern(text)
    assert isinstance(pattern, q.Pattern)
    compared(oracle, program(), pattern)


@pytest.mark.parametrize("name", BUILT)
def test_tvm_matches_the_same_bindings_with_a_pattern_from_python(oracle: Oracle, name: str) -> None:
    assert compared(oracle, program(), BUILT[name])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_tvm_matches_the_same_bindings_of_a_model(oracle: Oracle, model: object) -> None:
    text = model.input  # type: ignore[attr-defined]
    assert ours(text, q.Anything())
    found = sum(
        len(compared(oracle, text, pattern))
        for pattern in map(read_pattern, TEXTS)
        if isinstance(pattern, q.Pattern)
    )
    assert found > 20
