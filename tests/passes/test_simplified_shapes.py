"""SimplifyShapes writes lengths in their shortest form, and every run ends or stops as before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.cast_checks import bound_by_casts
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.session.session import Session
from tests.support.oracle import Oracle
from tests.support.random_lengths import LENGTHS, outcome, program

HEAD = """@R.function(pure=False)
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), w: R.Tensor("float32", ndim=2), f: R.Tensor((), "bool"),
         s: R.Tensor(("a", "a - 4"), "float32")):
    n, m, k, l, a, j = T.int64(), T.int64(), T.int64(), T.int64(), T.int64(), T.int64()
"""
Y_IS_N = 'c = R.match_cast(y, R.Tensor((n, m), "float32"))\n'


def module(lines: str) -> rxe.IRModule:
    return rxe.normalize(rxe.parse(HEAD + "".join(f"    {line}\n" for line in lines.splitlines())))


def simplified(before: rxe.IRModule) -> rxe.IRModule:
    found = run_step(steps("SimplifyShapes")[0], before, True, holding(before))
    assert not [item for item in found.problems if item.is_error]
    again, _ = steps("SimplifyShapes")[0].of.apply(found.module)
    assert again is found.module
    assert rxe.structural_equal(rxe.normalize(rxe.parse(found.module.script())), found.module)
    assert checks(found.module) == checks(before)
    return found.module


def checks(module: rxe.IRModule) -> list[object]:
    """The match_casts with the variables that they bind, and the assertions, in order."""
    found: list[object] = []
    for fn in module.relax_functions.values():
        new = bound_by_casts(fn)
        for b in bindings(fn):
            if isinstance(b, e.MatchCast):
                found.append([str(var) for var in new[b]])
            elif isinstance(b.value, e.Call) and b.value.op is e.op_ref("relax.assert_op"):
                found.append("assertion")
    return found


def shapes(module: rxe.IRModule) -> list[str]:
    """The lengths of the shapes of a module, in order."""
    return re.findall(r"R\.shape\(\[(.*?)\]\)", module.script())


LENGTHS_AFTER = {
    "without facts": ("", "n * 2 - n, n + m - n, n * 4 // 4", "n, m, n"),
    "shortest already": ("", "n, n * 2 + 1, k, 7", None),
    "of two equal variables the written one stays": (Y_IS_N, "k, n, k + 1", None),
    "an earlier check": (Y_IS_N, "k * 2 - n, k + n", "n, n * 2"),
    "a later check tells nothing": ("", "k * 2 - n", None),
    "a number": ('c = R.match_cast(y, R.Tensor((4, m), "float32"))\n', "k, k * n, k - 4", "4, n * 4, 0"),
    "a name for a sum": ('c = R.match_cast(y, R.Tensor((n * 2 + m, m), "float32"))\n', "n * 2 + m, n * 2 + m + 1", "k, k + 1"),
    "lengths that only the value tells": ('c = R.match_cast(w, R.Tensor((l, n * 2), "float32"))\n', "l + n - l", "n"),
    "two names of a length that only the value tells": (
        'c = R.match_cast(w, R.Tensor((l, n), "float32"))\nd = R.match_cast(w, R.Tensor((j, n), "float32"))\n', "j * 2 - l", "l",
    ),
    "a name behind a length without one": (
        'c = R.match_cast(w, R.Tensor((l, n * 2), "float32"))\nd = R.match_cast(y, R.Tensor((n * 2, m), "float32"))\n', "n * 2 + 1", "k + 1",
    ),
    "an assertion": ('_ = R.assert_op(R.prim_value(n < 8), format="")\n', "n // 8, n % 8, n // 4", "0, n, n // 4"),
    "the length of a parameter": ("", "T.max(a, 4), T.min(a, 4), T.max(a, 5)", "a, 4, T.max(a, 5)"),
    "choices": (Y_IS_N, "T.max(n, k), T.if_then_else(n <= k, m, a), T.max(n, m)", "n, m, T.max(n, m)"),
    "a division that may stop the run": ("", "n * k // k, n * 2 - n, (n * 2 - n) // k", "n * k // k, n, (n * 2 - n) // k"),
    "an intrinsic that may divide": ("", "T.ceildiv(n, k) + n - T.ceildiv(n, k)", None),
    "a division that can't": ('_ = R.assert_op(R.prim_value(k > 0), format="")\n', "n * k // k", "n"),
    "a division that is not taken": ("", "T.if_then_else(n >= 0, m, n // (k - k)), T.if_then_else(n < 0, n // k, m)", "m, m"),
    "a division that may be taken": ("", "T.if_then_else(n > m, m * 2 - m, n // k)", None),
    "a condition that may stop the run": ("", "T.if_then_else(n // k >= 0, m, 4)", None),
    "another function's facts": ("", "k - n + n", "k"),
}  # fmt: skip


@pytest.mark.parametrize("case", LENGTHS_AFTER)
def test_lengths_after(case: str) -> None:
    before, written, after = LENGTHS_AFTER[case]
    program = module(f"{before}q = R.shape([{written}])\nreturn x")
    assert shapes(program)[-1] == written
    found = simplified(program)
    assert shapes(found)[-1] == (written if after is None else after)
    assert (found is program) is (after is None)


def test_a_branch_knows_its_condition_and_tells_nothing_outside() -> None:
    found = simplified(
        module(
            "h = R.prim_value(n < 4)\nif h:\n    q = R.zeros(R.shape([T.max(n, 4), n // 4]), 'float32')\n    r = R.sum(q)\n"
            "else:\n    q = R.zeros(R.shape([T.max(n, 4), n // 4]), 'float32')\n    r = R.sum(q)\nt = R.shape([T.max(n, 4)])\nreturn (r, t)"
        )
    )
    assert shapes(found) == ["4, 0", "n, n // 4", "T.max(n, 4)"]


def test_results_and_scalars_are_simplified() -> None:
    found = simplified(
        module(
            "p = R.prim_value(n * 2 - n)\nq = R.zeros(R.shape([p]), 'float32')\nreturn R.shape([k + m - k, m])"
        )
    )
    assert shapes(found)[-1] == "m, m"
    values = {
        b.var.name: str(b.value.value) for b in bindings(found["main"]) if isinstance(b.value, e.PrimValue)
    }
    assert values == {"p": "n"}
    branches = "if f:\n    r = R.shape([n + m - n])\nelse:\n    r = R.shape([m * 3 - m * 2])\nreturn r"
    assert shapes(simplified(module(branches))) == ["m", "m"]


PLAIN = """@R.function(pure=False)
def main(x: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
"""
ONE_SOURCE = {  # programs with one thing that tells of lengths, or with one length that has a shorter form
    "nothing": ("t = R.shape([T.max(n, 4), n])\nreturn t", ["T.max(n, 4), n"]),
    "a branch": (
        "h = R.prim_value(n < 4)\nif h:\n    r = R.shape([T.max(n, 4)])\nelse:\n    r = R.shape([T.min(n, 4)])\nreturn r", ["4", "4"],
    ),
    "an assertion": ("_ = R.assert_op(R.prim_value(n < 4), format='')\nt = R.shape([T.max(n, 4)])\nreturn t", ["4"]),
    "a nested function": (
        "@R.function\ndef g(q: R.Tensor(('l', 'l - 4'), 'float32')):\n    l = T.int64()\n    t = R.shape([T.max(l, 4)])\n    return t\nreturn x",
        ["l"],
    ),
    "an operand": ("t = R.zeros(R.shape([n * 2 - n]), 'float32')\nreturn t", ["n"]),
    "a field": ("t = (x, R.shape([n * 2 - n]))\nreturn t", ["n"]),
    "a result": ("t = R.shape([m])\nreturn R.shape([n * 2 - n])", ["m", "n"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_SOURCE)
@pytest.mark.parametrize("is_second", [False, True])
def test_one_thing_that_tells_of_lengths_is_enough(case: str, is_second: bool) -> None:
    lines, after = ONE_SOURCE[case]
    text = PLAIN + "".join(f"    {line}\n" for line in lines.splitlines())
    if is_second:
        text = PLAIN.replace("main", "first") + "    return x\n\n" + text
    before = rxe.normalize(rxe.parse(text))
    found = simplified(before)
    assert shapes(found) == after
    assert (found is before) is (case == "nothing")


def test_a_scalar_is_simplified_where_nothing_else_is() -> None:
    scalar = rxe.normalize(rxe.parse(PLAIN + "    p = R.prim_value(n * 2 - n)\n    return p\n"))
    found, _ = steps("SimplifyShapes")[0].of.apply(scalar)
    assert [str(b.value.value) for b in bindings(found["main"])] == ["n"]


def test_checks_and_results_of_functions_stay() -> None:
    text = f"{Y_IS_N}d = R.match_cast(y, R.Tensor((k, m), 'float32'))\n_ = R.assert_op(R.prim_value(k == n), format='')\n"
    program = module(text + "q = R.zeros(R.shape([k * 2 - n, m]), 'float32')\nreturn q")
    found = simplified(program)
    assert "R.match_cast(y, R.Tensor((n, m)" in found.script()
    assert "k == n" in found.script()
    assert found["main"].ret_struct_info is program["main"].ret_struct_info
    assert not [item for item in rxe.check(found) if item.code.id == "RX0240"], "the check proves the result"


def test_a_target_is_simplified_with_what_holds_before_it() -> None:
    found = simplified(
        module(
            f"{Y_IS_N}d = R.match_cast(w, R.Tensor((k + n - n, l), 'float32'))\n"
            "e = R.match_cast(w, R.Tensor((k * 2 - n, l + 1 - 1), 'float32'))\nreturn (d, e)"
        )
    )
    assert re.findall(r"match_cast\(w, R\.Tensor\(\((.*?)\)", found.script()) == ["k, l", "n, l"]


def test_every_kind_of_target_is_simplified() -> None:
    text = """@R.function(pure=False)
def main(y: R.Tensor(("k",), "float32"), x: R.Tensor(("n",), "float32"), o: R.Object):
    n, k = T.int64(), T.int64()
    c = R.match_cast(y, R.Tensor((n,), "float32"))
    d = R.match_cast(o, R.Tuple(R.Tensor((k * 2 - n,), "float32"), R.Shape([k + n]), R.Prim(value="k + n - k")))
    e = R.match_cast(o, R.Tuple(R.Tensor("float32", ndim=1), R.Shape(ndim=1), R.Prim("int64"), R.Object))
    return (c, d, e)
"""
    found = rxe.apply_pass(rxe.parse(text), "SimplifyShapes")  # printed text has no value in R.Prim, as TVM's
    casts = [b.struct_info for b in bindings(found["main"]) if isinstance(b, e.MatchCast)]
    tensor, shape, scalar = casts[1].fields
    assert [str(length) for length in (*tensor.lengths, *shape.values, scalar.value)] == ["n", "n * 2", "n"]


def test_a_nested_function_uses_no_variable_of_the_outer_one_that_it_did_not() -> None:
    text = (
        'c = R.match_cast(y, R.Tensor((n * 2 + m, m), "float32"))\n@R.function\n'
        'def g(q: R.Tensor((n, m), "float32")) -> R.Shape(ndim=1):\n    t = R.shape([n * 2 + m])\n    return t\n'
        "r = g(x)\nt = R.shape([n * 2 + m])\nreturn (r, t)"
    )
    assert shapes(simplified(module(text)))[-2:] == ["n * 2 + m", "k"]
    inner = text.replace(
        "t = R.shape([n * 2 + m])\n    return t",
        "R.match_cast(q, R.Tensor((n * 2 - n, m), 'float32'))\n    t = R.shape([m * 2 - m])\n    return t",
    )
    found = simplified(module(inner))
    assert shapes(found)[-2:] == ["m", "k"]
    assert "match_cast(q, R.Tensor((n, m)" in found.script()


def test_a_rewriting_that_would_tell_less_stays_away() -> None:
    text = """@R.function(pure=False)
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "m"), "float32"), z: R.Tensor(("k * 2 - n", "m"), "float32")):
    n, m, k = T.int64(), T.int64(), T.int64()
    c = R.match_cast(y, R.Tensor((n, m), "float32"))
    a = R.zeros(R.shape([k * 2 - n, m]), "float32")
    b = R.zeros(R.shape([k + n, m]), "float32")
    d = R.add(a, z)
    return (c, b, d)
"""
    found = simplified(rxe.normalize(rxe.parse(text)))
    assert shapes(found) == ["k * 2 - n, m", "n * 2, m"]
    assert "d: R.Tensor((k * 2 - n, m)" in found.script()


def test_the_lengths_of_kernel_results_are_simplified_and_the_history_goes_on() -> None:
    text = """@R.function
def main(x: R.Tensor(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    a: R.Tensor((n * 2 - n, m), "float32") = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((n * 2 - n, m), "float32"))
    b: R.Tensor((n * 2 - n, m), "float32") = R.exp(a)
    return b
"""
    session = Session(rxe.normalize(rxe.parse(text)), "SimplifyShapes")
    while session.advance() is not None:
        pass
    stage = session.stages[-1]
    assert "n * 2 - n" not in stage.module.script().split("def main")[1].partition("\n")[2]
    assert [(r.before[0].var.name, r.after[0].var.name) for r in stage.rewrites] == [("a", "a"), ("b", "b")]


_LINE = re.compile(r"^        (v\d+) = .*\n", re.MULTILINE)


def with_shapes(rng: np.random.Generator) -> str:
    """A random program that also computes lengths behind each of its bindings, and returns them."""
    lengths = (
        *LENGTHS,
        "k * 2 - n",
        "n + k - m",
        "T.max(n, m)",
        "n // 2",
        "m % 4",
        "k * 4 // 4",
        "n * m // n",
    )
    text, head, result = program(rng).rpartition("        return ")
    names: list[str] = []

    def behind(line: re.Match[str]) -> str:
        names.append(f"s{len(names)}")
        return f"{line[0]}        {names[-1]} = R.shape([{', '.join(rng.choice(lengths, 3))}])\n"

    text = _LINE.sub(behind, text)
    return f"{text}{head}({', '.join([result.strip(), *names])},)\n"


@pytest.mark.parametrize("seed", range(2))
def test_runs_end_and_stop_as_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = {"stopped": 0, "ended": 0, "simplified": 0}
    for _ in range(40):
        before = rxe.parse(with_shapes(rng))
        if any(item.is_error for item in rxe.check(before)):
            continue
        before = rxe.normalize(before)
        after = simplified(before)
        seen["simplified"] += shapes(before) != shapes(after)
        for _ in range(5):
            lengths = {name: int(rng.choice([1, 2, 4], p=[0.5, 0.2, 0.3])) for name in "nmk"}
            flag = bool(rng.integers(2))
            old, new = outcome(before, lengths, flag), outcome(after, lengths, flag)
            if isinstance(old, Diagnostic):
                assert isinstance(new, Diagnostic), (before.script(), after.script(), lengths)
                assert (old.code, old.span) == (new.code, new.span), (
                    before.script(),
                    after.script(),
                    lengths,
                )
                seen["stopped"] += 1
                continue
            assert not isinstance(new, Diagnostic), (before.script(), after.script(), lengths, new)
            for a, b in zip(old, new, strict=True):
                np.testing.assert_array_equal(a, b)
            seen["ended"] += 1
    assert min(seen.values()) > 5, seen


@pytest.mark.parametrize("case", LENGTHS_AFTER)
def test_tvm_accepts_the_result(oracle: Oracle, case: str) -> None:
    before, written, _ = LENGTHS_AFTER[case]
    program = module(f"{before}q = R.shape([{written}])\nreturn x")
    theirs = oracle.well_formed(program.script())
    if not (theirs.ok and theirs.get().well_formed):
        oracle.could_not_ask("TVM does not accept the program before the pass")
        return
    after = oracle.well_formed(simplified(program).script())
    assert after.ok, after
    assert after.get().well_formed, after


def test_tvm_computes_the_same(oracle: Oracle) -> None:
    text = HEAD.split(", w:")[0] + (
        "):\n    n, m, k = T.int64(), T.int64(), T.int64()\n    c = R.match_cast(y, R.Tensor((n, m), 'float32'))\n"
        "    d = R.reshape(c, R.shape([m * 2 - m, k * 2 - n]))\n    e = R.zeros(R.shape([k + n, T.max(n, k)]), 'float32')\n"
        "    return (d, e)\n"
    )
    before = rxe.normalize(rxe.parse(text))
    after = simplified(before)
    assert shapes(after) == ["m, n", "n * 2, n"]
    inputs = [np.arange(6, dtype="float32").reshape(2, 3)] * 2
    old, new = (oracle.run(one.script(), "main", inputs).get() for one in (before, after))
    for a, b in zip(old, new, strict=True):
        np.testing.assert_array_equal(a, b)
