"""Verdicts of check about functions as arguments, results and annotations come true at run time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import relax_explorer as rxe

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def make(z: R.Tensor(("j",), "float32")):
        j = T.int64()

        @R.function
        def inner(q: R.Tensor((j,), "float32")) -> R.Tensor((j,), "float32"):
            return q

        return inner

    @R.function
    def any(q: R.Tensor(("i",), "float32")) -> R.Tensor(("i",), "float32"):
        return q

    @R.function
    def takes(f: {outside}) -> R.Tensor((), "float32"):
        return R.const(1, "float32")

    @R.function
    def with_length(w: R.Tensor(("m",), "float32"), f: {outside}) -> R.Tensor((), "float32"):
        return R.const(1, "float32")

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("l",), "float32"), c: R.Tensor((), "bool")):
        n, l, m, k, o = T.int64(), T.int64(), T.int64(), T.int64(), T.int64()

        @R.function
        def own(q: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
            return q

        @R.function
        def fixed(q: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return q

        @R.function
        def fixed_again(q: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            return R.add(q, q)

        @R.function
        def result(q: R.Tensor((k,), "float32")) -> R.Tensor((n,), "float32"):
            return x

        @R.function
        def pair(q: R.Tensor((k,), "float32"), r: R.Tensor((o,), "float32")) -> R.Tensor((k,), "float32"):
            return q

        @R.function
        def quiet(q: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
            _ = R.print(format="")
            return q

        @R.function(pure=False)
        def loud(q: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
            _ = R.print(format="")
            return q

{lines}
"""
"""`make` returns a function of the length of its argument; `own` and `any` take any length, `fixed` the length of x."""

VALUES = {
    "own": "v = own",
    "global": "v = M.any",
    "fixed": "v = fixed",
    "copy": "v0 = fixed\nv = v0",
    "field": "t = (x, (fixed, own))\nu = t[1]\nv = u[0]",
    "other field": "t = (x, (fixed, own))\nu = t[1]\nv = u[1]",
    "returned": "v = M.make(x)",
    "branch": "if c:\n    v = fixed\nelse:\n    v = fixed_again",
    "mixed branch": "if c:\n    v = fixed\nelse:\n    v = own",
    "result": "v = result",
    "impure": "v = loud",
    "impure unsaid": "v = quiet",
}


def function(*lengths: str) -> str:
    """The StructInfo of a function that takes tensors of these lengths and returns one of the first."""
    tensors = [f'R.Tensor(({length},), "float32")' for length in lengths]
    return f"R.Callable(({', '.join(tensors)},), {tensors[0]}, True)"


TARGETS = {
    "any": function("m"),
    "x": function("n"),
    "y": function("l"),
    "two": function("2"),
    "rank": 'R.Callable((R.Tensor("float32", ndim=1),), R.Tensor("float32", ndim=1), True)',
}
LENGTHS = list(product((2, 3), (2, 3), (True, False)))


def program(lines: str, outside: str, result: str) -> str:
    """PROGRAM with `lines` at the end of main; functions that take functions take `outside`."""
    body = "".join(f"        {line}\n" for line in f"{lines}\nreturn {result}".split("\n"))
    return PROGRAM.format(outside=outside.replace("(m,)", '("m",)'), lines=body)


def run(lines: str, outside: str = TARGETS["any"]) -> tuple[set[str], int]:
    """The codes that check reports about the last line but one, and how many runs with LENGTHS fail, or can't run."""
    text = program(lines, outside, "(x, done)")
    number = len(text.rstrip().splitlines()) - 1
    problems = [item for item in rxe.check(text) if item.span is not None and item.span.line == number]
    if any(item.is_error for item in problems):
        return {item.code.id for item in problems}, len(LENGTHS)
    module = rxe.normalize(rxe.parse(text))
    failed = 0
    for n, other, c in LENGTHS:
        try:
            rxe.run(module, "main", [np.ones(n, "float32"), np.ones(other, "float32"), np.array(c)])
        except rxe.Failure:
            failed += 1
    return {item.code.id for item in problems}, failed


# The checker does not know the function.
CHOSEN = {"returned", "branch", "mixed branch"}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", VALUES)
def test_what_check_says_of_a_match_cast_comes_true(value: str, target: str) -> None:
    said, failed = run(f"{VALUES[value]}\ndone = R.match_cast(v, {TARGETS[target]})")
    assert "RX0241" not in said or failed == 0
    assert "RX0217" not in said or failed == len(LENGTHS)
    if value not in CHOSEN:
        assert failed > 0 or "RX0241" in said
        assert failed < len(LENGTHS) or "RX0217" in said


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", VALUES)
def test_what_check_says_of_an_argument_comes_true(value: str, target: str) -> None:
    if target in ("x", "y"):
        name = target
        said, failed = run(f"{VALUES[value]}\ndone = M.with_length({name}, v)")
    else:
        said, failed = run(f"{VALUES[value]}\ndone = M.takes(v)", TARGETS[target])
    assert (failed > 0) == bool(said)


@pytest.mark.parametrize("name", ["CanonicalizeBindings", "DeadCodeElimination", "InlinePrivateFunctions"])
@pytest.mark.parametrize("line", ["done = R.match_cast(v, {})", "done = M.takes(v)"])
def test_passes_keep_what_stops_a_run(name: str, line: str) -> None:
    text = program(f"{VALUES['fixed']}\n{line.format(TARGETS['any'])}", TARGETS["any"], "x")
    module = rxe.normalize(
        rxe.parse(
            text.replace("    @R.function\n    def takes", "    @R.function(private=True)\n    def takes")
        )
    )
    values = [np.ones(2, "float32"), np.ones(2, "float32"), np.array(True)]
    for one in (module, rxe.apply_pass(module, name)):
        with pytest.raises(rxe.Failure):
            rxe.run(one, "main", values)
