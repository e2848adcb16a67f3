"""EliminateShapeChecks drops the checks that the program proves, and no other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import Outcome, run_step, steps
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.session.session import Session
from tests.support.oracle import Oracle
from tests.support.random_lengths import outcome, program

HEAD = """@R.function(pure=False)
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), z: R.Tensor(("j", "m"), "float32"),
         w: R.Tensor("float32", ndim=2), v: R.Tensor("float32", ndim=2), o: R.Object, s: R.Shape(ndim=2), f: R.Tensor((), "bool"),
         t: R.Tuple(R.Tensor(("k", "j"), "float32"), R.Tensor("float32", ndim=1))):
    n, m, k, j, l = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
"""


def module(lines: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(HEAD + "".join(f"    {line}\n" for line in lines.splitlines())))


def eliminated(before: rxe.IRModule) -> Outcome:
    outcome = run_step(steps("EliminateShapeChecks")[0], before, True, holding(before))
    assert not [item for item in outcome.problems if item.is_error]
    assert rxe.well_formed(outcome.module) or not rxe.well_formed(before)
    again, _ = steps("EliminateShapeChecks")[0].of.apply(outcome.module)
    assert again is outcome.module
    return outcome


def checks(module: rxe.IRModule) -> list[str]:
    """The variables of the match_casts and assertions, in order."""
    found = []
    for fn in module.relax_functions.values():
        for b in bindings(fn):
            is_assert = isinstance(b.value, e.Call) and b.value.op is e.op_ref("relax.assert_op")
            if type(b) is e.MatchCast or is_assert:
                found.append(b.var.name if b.var is not None else "-")
    return found


def cast(value: str, *dims: str) -> str:
    return f'R.match_cast({value}, R.Tensor(({", ".join(dims)},), "float32"))'


NM, KM, JM = ("n", "m"), ("k", "m"), ("j", "m")
CASES = {
    "the same check twice": (f"a = {cast('y', *NM)}\nb = {cast('y', *NM)}\nreturn (a, b)", ["a"]),
    "through a copy": (f"a = {cast('y', *NM)}\nc = a\nb = {cast('c', *NM)}\nd = {cast('y', *NM)}\nreturn (a, b, c, d)", ["a"]),
    "through other lengths": (f"a = {cast('y', *NM)}\nb = {cast('z', *KM)}\nc = {cast('z', *NM)}\nreturn (a, b, c)", ["a", "b"]),
    "a later check proves nothing": (f"b = {cast('z', *NM)}\na = {cast('y', *NM)}\nc = {cast('z', *KM)}\nreturn (a, b, c)", ["b", "a"]),
    "another value of the same name": (
        f"a = R.exp(w)\nb = {cast('a', *NM)}\na = R.exp(v)\nc = {cast('a', *NM)}\nreturn (b, c)", ["b", "c"],
    ),
    "another value of the same name, whose check nobody reads": (
        f"a = R.exp(w)\nb = {cast('a', *NM)}\na = R.exp(v)\n{cast('a', *NM)}\nreturn b", ["b", "-"],
    ),
    "a branch, from before": (
        f"a = {cast('y', *NM)}\nif f:\n    b = {cast('y', *NM)}\n    r = R.exp(b)\nelse:\n    r = R.exp(a)\nreturn r", ["a"],
    ),
    "a branch proves nothing after it": (
        f"if f:\n    a = {cast('y', *NM)}\n    r = R.exp(a)\nelse:\n    r = R.exp(x)\nb = {cast('y', *NM)}\nreturn (r, b)", ["a", "b"],
    ),
    "the other branch proves nothing": (
        f"if f:\n    a = {cast('y', *NM)}\n    r = R.exp(a)\nelse:\n    b = {cast('y', *NM)}\n    r = R.exp(b)\nreturn r", ["a", "b"],
    ),
    "the condition of the branch": (
        f"h = R.prim_value(k == n)\nif h:\n    a = {cast('y', *NM)}\n    r = R.sum(a)\nelse:\n    b = {cast('y', *NM)}\n    r = R.sum(b)\nreturn r",
        ["b"],
    ),
    "an assertion": (f'_ = R.assert_op(R.prim_value(k == n), format="")\na = {cast("y", *NM)}\nreturn a', ["_"]),
    "assertions": (
        'p = R.assert_op(R.prim_value(n > 3), format="")\nq = R.assert_op(R.prim_value(n > 2), format="")\n'
        'r = R.assert_op(R.prim_value(n > 4), format="")\nreturn x', ["p", "r"],
    ),
    "an assertion whose result is read": ('p = R.assert_op(R.prim_value(n >= 0), format="")\nreturn p', ["p"]),
    "an assertion about data": ("p = R.assert_op(f, format='')\nq = R.assert_op(f, format='')\nreturn x", ["p", "q"]),
    "a check without a variable": (f"a = {cast('y', *NM)}\n{cast('y', *NM)}\n{cast('z', *NM)}\nreturn a", ["a", "-"]),
    "an operator proves nothing": (f"a = R.matmul(x, R.permute_dims(t[0]))\nb = {cast('t[0]', 'k', 'm')}\nreturn (a, b)", ["b"]),
    "rank and dtype": (
        f"a = {cast('w', *NM)}\nb = R.match_cast(o, R.Tensor((n, m), 'float32'))\nc = R.match_cast(o, R.Tensor((n, m), 'float32'))\n"
        "d = R.match_cast(o, R.Tensor((n, m), 'int32'))\nreturn (a, b, c, d)", ["a", "b", "d"],
    ),
    "another dtype": ("a = R.match_cast(y, R.Tensor((n, m), 'int32'))\nreturn x", ["a"]),
    "another rank": ("a = R.match_cast(y, R.Tensor('float32', ndim=3))\nreturn x", ["a"]),
    "lengths that only a check tells": (f"a = {cast('w', *NM)}\nb = {cast('w', *NM)}\nc = {cast('v', *NM)}\nreturn (a, b, c)", ["a", "c"]),
    "a shape": ("a = R.match_cast(s, R.Shape([n, m]))\nb = R.match_cast(s, R.Shape([n, m]))\nreturn (a, b)", ["a"]),
    "held by a variable": ("a = R.match_cast(w, R.Tensor(s, 'float32'))\nb = R.match_cast(v, R.Tensor(s, 'float32'))\nreturn (a, b)", ["a", "b"]),
    "a tuple": (
        f"a = {cast('y', *NM)}\nb = {cast('z', *NM)}\n"
        "c = R.match_cast(t, R.Tuple(R.Tensor((n, n), 'float32'), R.Tensor('float32', ndim=1)))\n"
        "d = R.match_cast(t, R.Tuple(R.Tensor((n, n), 'float32'), R.Tensor((n,), 'float32')))\nreturn (a, b, c, d)", ["a", "b", "d"],
    ),
    "a new shape variable": ("a = R.match_cast(y, R.Tensor((l, m), 'float32'))\nreturn R.shape([l])", ["a"]),
    "no demands": ("a = R.match_cast(y, R.Tensor('float32', ndim=2))\nb = R.match_cast(x, R.Object)\nreturn (x, y)", []),
    "a nested function knows what is known where it stands": (
        f"a = {cast('y', *NM)}\n@R.function\ndef g(q: R.Tensor((k, m), 'float32')) -> R.Tensor((k, m), 'float32'):\n"
        f"    b = {cast('q', *NM)}\n    c = {cast('q', 'm', 'm')}\n    return q\nr = g(y)\nreturn (a, r)", ["a", "c"],
    ),
    "what another function checks": (f"a = {cast('y', *NM)}\nreturn a", ["a"]),
    "products": (f"a = {cast('y', 'n * 2', 'm')}\nb = {cast('z', 'n * 2', 'm')}\nc = {cast('z', 'n + n', 'm')}\nreturn (a, b, c)", ["a", "b"]),
    "a check that contradicts stays": (f"a = {cast('y', 'n + 1', 'm')}\nb = {cast('y', *NM)}\nreturn (a, b)", ["a", "b"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_checks_that_stay(case: str) -> None:
    lines, kept = CASES[case]
    assert checks(eliminated(module(lines)).module) == kept


def test_a_check_stays_if_only_it_tells_a_length() -> None:
    lines = (
        f"a = {cast('y', *NM)}\nb = {cast('z', *KM)}\nc = {cast('z', *NM)}\nd = R.add(c, x)\nreturn (a, b, d)"
    )
    after = eliminated(module(lines)).module
    assert checks(after) == ["a", "b", "c"], "without it, d would have no lengths"
    assert "d: R.Tensor((n, m)" in after.script()


def test_the_first_of_several_copies_is_read_in_place_of_a_check() -> None:
    after = eliminated(module(f"p = x\nq = x\nd = {cast('x', *NM)}\nreturn (p, q, d)")).module
    assert 'd: R.Tensor((n, m), dtype="float32") = p\n' in after.script()


def test_each_has_its_proof() -> None:
    found = eliminated(
        module(f"a = {cast('y', *NM)}\nb = {cast('z', *KM)}\nc = {cast('z', *NM)}\nreturn (a, b, c)")
    )
    (note,) = found.problems
    assert note.code.id == "RX0413"
    assert not note.is_error
    assert note.span is not None
    assert note.span.line == 8
    assert (
        note.message
        == "the check of 'c' is gone, for it can't fail: j == n, because k == n (checked in line 6) and j == k (checked in line 7)"
    )


def test_the_history_of_a_check_goes_on() -> None:
    session = Session(
        module(f"a = {cast('y', *NM)}\nb = {cast('y', *NM)}\nreturn (a, b)"), "EliminateShapeChecks"
    )
    while session.advance() is not None:
        pass
    (rewrite,) = [
        one
        for one in session.stages[-1].rewrites
        if one.before[0].var is not None and one.before[0].var.name == "b"
    ]
    assert type(rewrite.before[0]) is e.MatchCast
    assert [type(b) for b in rewrite.after] == [e.VarBinding]


def test_types_written_by_tvm_are_no_hindrance() -> None:
    lines = (
        f"a = {cast('y', *NM)}\nb = {cast('z', *KM)}\nc = {cast('z', *NM)}\nd = R.exp(c)\nreturn (a, b, d)"
    )
    printed = rxe.normalize(rxe.parse(module(lines).script()))
    assert checks(eliminated(printed).module) == ["a", "b"]


# Each match_cast stands twice: half of all checks can go.
_CAST = re.compile(r"^( +)(v\d+) = R\.match_cast\((\w+), (.*)\)\n", re.MULTILINE)


@pytest.mark.parametrize("seed", range(4))
def test_runs_end_and_stop_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = {"stopped": 0, "ended": 0, "dropped": 0}
    for _ in range(40):
        twice = r"\g<0>\g<1>u\g<2> = R.match_cast(\g<3>, \g<4>)\n"
        before = rxe.parse(_CAST.sub(twice, program(rng)))
        if any(item.is_error for item in rxe.check(before)):
            continue
        before = rxe.normalize(before)
        after = rxe.apply_pass(before, "EliminateShapeChecks")
        seen["dropped"] += len(checks(before)) - len(checks(after))
        for _ in range(4):
            lengths = {name: int(rng.choice([1, 2, 4], p=[0.5, 0.2, 0.3])) for name in "nmk"}
            flag = bool(rng.integers(2))
            seen[agreement(before, after, lengths, flag)] += 1
    assert min(seen.values()) > 5, seen


def agreement(before: rxe.IRModule, after: rxe.IRModule, lengths: dict[str, int], flag: bool) -> str:
    """How both programs end; they end alike."""
    old, new = outcome(before, lengths, flag), outcome(after, lengths, flag)
    if isinstance(old, Diagnostic):
        assert isinstance(new, Diagnostic), (before.script(), after.script(), lengths)
        assert (old.code, old.span) == (new.code, new.span), (before.script(), after.script(), lengths)
        return "stopped"
    assert not isinstance(new, Diagnostic), (before.script(), after.script(), lengths, new)
    np.testing.assert_array_equal(old, new)
    return "ended"


@pytest.mark.parametrize("case", CASES)
def test_tvm_accepts_what_is_left(oracle: Oracle, case: str) -> None:
    before = module(CASES[case][0])
    theirs = oracle.well_formed(before.script())
    if not (theirs.ok and theirs.get().well_formed):
        oracle.could_not_ask("TVM does not accept the program before the pass")
        return
    after = oracle.well_formed(rxe.apply_pass(before, "EliminateShapeChecks").script())
    assert after.ok, after
    assert after.get().well_formed, after


def test_tvm_computes_the_same(oracle: Oracle) -> None:
    text = (
        HEAD.split(",\n         w")[0]
        + f"):\n    n, m, k, j = T.int64(), T.int64(), T.int64(), T.int64()\n    a = {cast('y', *NM)}\n"
        f"    b = {cast('z', *KM)}\n    c = {cast('z', *NM)}\n    d = R.add(a, x)\n    return (c, d)\n"
    )
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "EliminateShapeChecks")
    assert checks(after) == ["a", "b"]
    x, y = np.arange(6, dtype="float32").reshape(2, 3), np.ones((2, 3), "float32")
    results: list[Any] = [oracle.run(one.script(), "main", [x, y, x * 2]).get() for one in (before, after)]
    for old, new in zip(*results, strict=True):
        np.testing.assert_array_equal(old, new)
