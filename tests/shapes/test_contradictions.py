"""What can never succeed under the facts of its path is told where it stands, and nothing else is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.phases.module_check import check
from relax_explorer.core.shapes.why import why
from relax_explorer.core.syntax.parser import parse
from tests.support.oracle import Oracle
from tests.support.random_lengths import outcome, program

HEAD = """@I.ir_module
class Module:
    @R.function(private=True)
    def same(p: R.Tensor(("a",), "float32"), q: R.Tensor(("a",), "float32")) -> R.Tensor(("a",), "float32"):
        return p

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), z: R.Tensor(("n + 2",), "float32"),
             w: R.Tensor("float32", ndim=1), s: R.Shape(ndim=1), t: R.Tuple(R.Tensor(("j",), "float32")), f: R.Tensor((), "bool")){result}:
        n, m, k, l, j = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
        # begin
"""
LONGER = 'c = R.match_cast(y, R.Tensor((n + 2,), "float32"))\n'
SHORTER = 'd = R.match_cast(y, R.Tensor((n,), "float32"))\n'


def found(lines: str, result: str = "", profile: str = "tvm") -> list[tuple[str, str, int]]:
    """Level, code and line of each problem, counted from the first of `lines`."""
    head = HEAD.replace("{result}", result)
    text = head + "".join(f"        {line}\n" for line in lines.splitlines())
    first = head.count("\n")
    ignored = {"RX0146", "RX0115", "RX0301"}  # conditions over lengths, which the specification forbids
    return [
        (str(item.level), item.code.id, item.span.line - first)
        for item in check(parse(text), profile)
        if item.code.id not in ignored and item.span is not None
    ]


def branch(condition: str, then: str, otherwise: str = "r = R.sum(x)\n") -> str:
    def inside(text: str) -> str:
        return "".join(f"    {line}\n" for line in text.splitlines())

    return f"if {condition}:\n{inside(then)}else:\n{inside(otherwise)}"


CALL, CAST = ("warning", "RX0223"), ("warning", "RX0217")
CASES: dict[str, tuple[str, list[tuple[str, str, int]]]] = {
    "a call of a function": (f"{LONGER}d = Module.same(x, y)\nreturn (c, d)", [(*CALL, 2)]),
    "a call that fits": (f"{LONGER}d = Module.same(z, y)\nreturn (c, d)", []),
    "a call that may fit": (f"{LONGER}d = Module.same(x, w)\nreturn (c, d)", [("warning", "RX0218", 2)]),
    "through a copy": (f"{LONGER}e = y\nd = Module.same(x, e)\nreturn (c, d)", [(*CALL, 3)]),
    "through a field of a tuple": (
        'u = t[0]\nc = R.match_cast(u, R.Tensor((n + 2,), "float32"))\nd = Module.same(t[0], x)\nreturn (c, d)', [(*CALL, 3)],
    ),
    "through the length of another value": (
        f'{LONGER}e = R.match_cast(w, R.Tensor((m,), "float32"))\nd = Module.same(x, e)\nreturn (c, d)', [(*CALL, 3)],
    ),
    "before the check": (f"d = Module.same(x, y)\n{LONGER}return (c, d)", [("warning", "RX0218", 1), (*CAST, 2)]),
    "a match_cast": (f"{LONGER}{SHORTER}return (c, d)", [(*CAST, 2)]),
    "lengths that only casts tell": (
        'c = R.match_cast(w, R.Tensor((k,), "float32"))\nd = R.match_cast(w, R.Tensor((k + 1,), "float32"))\nreturn (c, d)', [(*CAST, 2)],
    ),
    "a shape": ("c = R.match_cast(s, R.Shape([n]))\nd = R.match_cast(s, R.Shape([n + 1]))\nreturn (c, d)", [(*CAST, 2)]),
    "what comes behind is not reached": (
        f'{LONGER}{SHORTER}e = R.match_cast(y, R.Tensor((n + 1,), "float32"))\nreturn (c, d, e)', [(*CAST, 2)],
    ),
    "an operator that broadcasts may fit": (f"{LONGER}d = R.add(x, y)\nreturn (c, d)", []),
    "lengths that never broadcast": (
        'c = R.zeros(R.shape([n + 2]), "float32")\nd = R.zeros(R.shape([n + m + 3]), "float32")\ne = R.zeros(R.shape([4]), "float32")\n'
        "g = R.add(c, z)\nh = R.add(e, R.zeros(R.shape([n + 5]), 'float32'))\nreturn (d, g, h)", [(*CALL, 5)],
    ),
    "lengths that broadcast only where one is 1": ("c = R.zeros(R.shape([n + 1]), 'float32')\nd = R.add(x, c)\nreturn d", []),
    "an operator": (f"{LONGER}d = R.matmul(x, y)\nreturn (c, d)", [(*CALL, 2)]),
    "an assertion": (f'{LONGER}_ = R.assert_op(R.prim_value(m == n), format="")\nreturn c', [(*CALL, 2)]),
    "a branch on data": (f"{LONGER}{branch('f', SHORTER + 'r = R.sum(d)')}return (c, r)", [(*CAST, 3)]),
    "behind a branch on data": (
        f"{branch('f', LONGER + 'r = R.sum(c)')}{SHORTER}return (d, r)", [],
    ),
    "the other branch": (
        branch("f", LONGER + "r = R.sum(c)", SHORTER + "r = R.sum(d)") + "return r", [],
    ),
    "a branch that is never taken": (
        f"{LONGER}h = R.prim_value(m == n)\n{branch('h', SHORTER + 'r = R.sum(d)')}return (c, r)", [],
    ),
    "a branch whose condition contradicts what is in it": (
        f"h = R.prim_value(m == n)\n{branch('h', LONGER + 'r = R.sum(c)')}return r", [(*CAST, 3)],
    ),
    "behind a branch that fails": (
        f"{LONGER}{branch('f', SHORTER + 'r = R.sum(d)')}e = Module.same(x, y)\nreturn (c, e, r)", [(*CAST, 3), (*CALL, 7)],
    ),
    "a nested function": (
        f'{LONGER}@R.function\ndef g(q: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):\n'
        '    u = R.match_cast(q, R.Tensor((m,), "float32"))\n    return q\nr = g(x)\nreturn (c, r)', [(*CAST, 4)],
    ),
    "another function knows nothing of it": ("e = Module.same(x, x)\nreturn e", []),
    "what inference refuses is told once": ("d = Module.same(x, z)\nreturn d", [("warning", "RX0219", 1)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_told(case: str) -> None:
    lines, wanted = CASES[case]
    assert found(lines) == wanted


def test_the_result_of_a_function() -> None:
    result = ' -> R.Tensor(("n",), "float32")'
    assert found(f"{LONGER}return y", result) == [("warning", "RX0223", 2)]
    assert found(f"{SHORTER}return y", result) == []


def test_calls_are_errors_by_the_specification_and_assertions_are_not() -> None:
    call, assertion = (CASES[name][0] for name in ("a call of a function", "an assertion"))
    assert found(call, profile="spec") == [("error", "RX0223", 2)]
    assert found(assertion, profile="spec") == [("warning", "RX0223", 2)]
    assert found(CASES["a match_cast"][0], profile="spec") == [(*CAST, 2)]


def test_the_parameter_and_the_facts_are_pointed_at() -> None:
    text = (
        HEAD.replace("{result}", "")
        + f"        {LONGER}        d = Module.same(x, y)\n        return (c, d)\n"
    )
    (item,) = check(parse(text))
    assert item.message == "q of same: m == n never holds here"
    assert item.help == "`relax-explorer shapes FILE --why main.d` shows where both lengths come from"
    lines = [(label.span.line, label.text) for label in item.labels if label.span is not None]
    assert lines == [(13, ""), (4, "the parameter"), (12, "m == n + 2 is known from here")]


def test_the_help_names_the_nested_function() -> None:
    inner = (
        '@R.function\ndef g(q: R.Tensor((n,), "float32")):\n    @R.function\n    def h(q: R.Tensor((n,), "float32")):\n'
        '        u = R.match_cast(q, R.Tensor((m,), "float32"))\n        return u\n    return q\nr = g(x)\nreturn r'
    )
    lines = "".join(f"        {line}\n" for line in (LONGER + inner).splitlines())
    text = HEAD.replace("{result}", "") + lines
    (item,) = [one for one in check(parse(text)) if one.code.id == "RX0217"]
    assert "--why main.g.h.u`" in (item.help or "")
    (mismatch,) = why(rxe.normalize(parse(text)), "main", "main.g.h.u").mismatches
    assert [side.steps[0].value for side in mismatch.sides] == ["q[0]", "m"]


def test_what_the_help_names_can_be_asked() -> None:
    lines = f"{LONGER}return y"
    text = HEAD.replace("{result}", ' -> R.Tensor(("n",), "float32")') + "".join(
        f"        {line}\n" for line in lines.splitlines()
    )
    (item,) = [one for one in check(parse(text)) if one.code.id == "RX0223"]
    assert "--why main.result`" in item.help
    (mismatch,) = why(rxe.normalize(parse(text)), "main", "main.result").mismatches
    assert [side.steps[0].value for side in mismatch.sides] == ["y[0]", "n"]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_told_stops_every_run(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(150):
        text = program(rng)
        items = check(parse(text))
        lines = text.splitlines()
        told = [
            item
            for item in items
            if item.code.id == "RX0223" or (item.code.id == "RX0217" and "contradicts" in item.message)
        ]
        always = [item for item in told if item.span and not lines[item.span.line - 1].startswith(" " * 12)]
        if not always or any(item.is_error and item.code.id != "RX0223" for item in items):
            continue
        seen += 1
        module = rxe.normalize(parse(text))
        for n, m, k in itertools.product((1, 2, 4), repeat=3):
            for flag in (False, True):
                found = outcome(module, {"n": n, "m": m, "k": k}, flag)
                assert isinstance(found, Diagnostic), (text, always, n, m, k)
    assert seen > 3


@pytest.mark.parametrize("case", ["a call of a function", "lengths that only casts tell"])
def test_tvm_accepts_it_and_no_run_ends(oracle: Oracle, case: str) -> None:
    lines, _ = CASES[case]
    head = HEAD.replace("{result}", "").replace(
        's: R.Shape(ndim=1), t: R.Tuple(R.Tensor(("j",), "float32")), ', ""
    )
    text = head + "".join(f"        {line}\n" for line in lines.splitlines())
    answer = oracle.well_formed(text)
    assert answer.ok, answer
    assert answer.get().well_formed, answer
    for length in (1, 3):
        inputs = [np.ones(size, "float32") for size in (length, length + 2, length + 2, length)]
        assert not oracle.run(text, "main", [*inputs, np.asarray(True)]).ok


RANK = "e = R.matmul(R.const(1.0), x)\n"
BESIDE = {
    "an operator": (f"{LONGER}{RANK}{SHORTER}return (c, d)", [("error", "RX0207", 2), (*CAST, 3)]),
    "an operator after it": (f"{LONGER}{SHORTER}{RANK}return (c, d)", [(*CAST, 2), ("error", "RX0207", 3)]),
    "an operator that reads the result": (
        f"{LONGER}{SHORTER}e = R.matmul(R.const(1.0), d)\nreturn (c, e)",
        [(*CAST, 2), ("error", "RX0207", 3)],
    ),
    "lengths that never fit": (
        f'{LONGER}e = R.add(R.ones((2,), "float32"), R.ones((3,), "float32"))\n{SHORTER}return (c, d, e)',
        [("error", "RX0204", 2), (*CAST, 3)],
    ),
    "an operator in a branch": (
        f"{LONGER}{branch('f', RANK + 'r = R.sum(x)', SHORTER + 'r = R.sum(d)')}return (c, r)",
        [("error", "RX0207", 3), (*CAST, 6)],
    ),
    "dtypes of the same operator": (
        f'{LONGER}e = R.matmul(x, R.astype(y, "int8"))\n{SHORTER}return (c, d, e)',
        [("error", "RX0202", 2), (*CAST, 3)],
    ),
    "a call": (f"{LONGER}e = Module.same(x, s)\nd = Module.same(x, y)\nreturn (c, d, e)", [(*CALL, 3)]),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_contradiction_is_told_beside_other_errors(name: str) -> None:
    lines, problems = BESIDE[name]
    told = found(lines)
    assert set(problems) <= set(told)
    places = [line for _, code, line in told if code in {"RX0217", "RX0223", "RX0202", "RX0204", "RX0207"}]
    assert len(places) == len(set(places)), "each place is told once"


def test_an_argument_is_told_beside_another_one_of_the_same_call() -> None:
    text = """@I.ir_module
class Module:
    @R.function(private=True)
    def three(p: R.Tensor(("a",), "float32"), q: R.Tensor(("a",), "float32"), r: R.Shape(ndim=1)) -> R.Tensor(("a",), "float32"):
        return p

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32"), s: R.Shape(ndim=1)):
        n, m = T.int64(), T.int64()
        c = R.match_cast(y, R.Tensor((n + 2,), "float32"))
        d = Module.three(x, y, {third})
        return (c, d)
"""
    fits, refused = (
        sorted(item.code.id for item in check(parse(text.format(third=third)))) for third in "sy"
    )
    assert fits == ["RX0223"]
    assert refused == ["RX0213", "RX0223"]
