"""The quick way to the checks that facts refute finds what the list of all checks has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Failure, ParseError
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck, refuted_checks, shape_checks
from tests.support.corpus import STAGES
from tests.support.mdtest import read
from tests.support.op_examples import examples
from tests.support.random_lengths import program

ROOT = Path(__file__).parent.parent
CHAPTERS = sorted((ROOT / "spec").glob("*.md"))
SAMPLES = sorted((ROOT.parent / "samples").rglob("*.py"))


def rows(checks: list[ShapeCheck]) -> list[tuple[object, ...]]:
    """What both ways tell of checks, apart from the facts behind them."""
    return [
        (c.function, c.kind, c.subject, c.text, str(c.condition), c.is_reached, id(c.place)) for c in checks
    ]


def refuted_in(module: IRModule) -> int:
    """How many checks of a normalized module facts refute; both ways tell the same."""
    slow = [c for c in shape_checks(module) if c.answer is Answer.NO and c.kind != PARAMETERS]
    quick = refuted_checks(module)
    assert rows(quick) == rows(slow)
    for mine, theirs in zip(quick, slow, strict=True):
        assert [str(fact) for fact in mine.proof] == [str(fact) for fact in theirs.proof]
    return len(quick)


def refuted(text: str) -> int:
    """As above, of a text; 0 if it is no program. Errors of inference do not matter."""
    try:
        module = rxe.parse(text)
    except ParseError as failure:
        if failure.module is None:
            return 0
        module = failure.module
    try:
        return refuted_in(rxe.normalize(module))
    except Failure:
        return 0


def test_the_programs_of_the_chapters() -> None:
    found = [refuted(case.program) for path in CHAPTERS for case in read(path) if case.program]
    assert sum(found) >= 20


def test_the_samples_the_corpus_and_the_examples_of_operators() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*SAMPLES, *STAGES)]
    texts += [one.module() for one in examples()]
    assert len(texts) > 600
    for text in texts:
        refuted(text)


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        refuted(program(rng))


HEAD = '@R.function\ndef main(x: R.Tensor(("n",), "float32"), y: R.Tensor("float32", ndim=1){more}):\n    n = T.int64()\n'
TWICE = "    a = R.match_cast(y, R.Tensor(({first},), 'float32'))\n    b = R.match_cast(y, R.Tensor(({second},), 'float32'))\n    return b\n"


@pytest.mark.parametrize(
    ("first", "second", "more", "count"),
    [
        ("2", "3", "", 1),
        ("n", "n + 1", "", 1),
        ("n", "n", "", 0),
        ("n", "2", "", 0),
        ("n", "2", ", z: R.Tensor((-1,), 'float32')", 0),  # a parameter that no call has: nothing is reached
        ("n", "n + 1", ", z: R.Tensor((2 * n - 8,), 'float32')", 1),
        ("n", "3", ", z: R.Tensor((n - 4,), 'float32')", 1),  # n is 4 at least
        ("n", "3", ", z: R.Tuple(R.Tensor((n,), 'float32'), R.Shape([3, n]))", 0),
        ("n", "3", ", z: R.Tuple(R.Tensor((n - 4,), 'float32'))", 1),
        (
            "n",
            "3",
            ", z: R.Tuple(R.Shape([n]), R.Tuple(R.Tensor((n,), 'float32'), R.Tensor((n, n - 4), 'float32')))",
            1,
        ),
        (
            "n",
            "3",
            ", z: R.Tuple(R.Tensor((n,), 'float32'), R.Shape([n - 4]))",
            0,
        ),  # a shape may have any numbers
        ("n", "3", ", z: R.Tuple(R.Tensor((n - 3,), 'float32'))", 0),
        ("n", "2", ", z: R.Tuple(R.Tuple(R.Tensor((-1,), 'float32')))", 0),
    ],
)
def test_casts(first: str, second: str, more: str, count: int) -> None:
    text = HEAD.format(more=more) + TWICE.format(first=first, second=second)
    checks = refuted_checks(rxe.normalize(rxe.parse(text)))
    refuted(text)
    assert sum(check.is_reached for check in checks) == count


def test_parameters_that_no_call_has_keep_what_follows_from_being_reached() -> None:
    more = ", z: R.Tensor((-1,), 'float32')"
    text = HEAD.format(more=more) + TWICE.format(first="2", second="3")
    assert [check.is_reached for check in refuted_checks(rxe.normalize(rxe.parse(text)))] == [False]
    refuted(text)


@pytest.mark.parametrize(("element", "count"), [("float32", 0), ("bool", 0), ("int32", 1)])
def test_element_types_are_refuted_also_where_lengths_are_unknown(element: str, count: int) -> None:
    text = f"""@R.function
def main(x: R.Tensor, y: R.Tensor("float32")):
    z = R.add(x, y)
    c = R.match_cast(x, R.Tensor("{element}"))
    return c
"""
    assert refuted(text) == count


def test_a_length_in_a_tuple_is_told_by_its_place() -> None:
    more = ", z: R.Tuple(R.Tensor((n,), 'float32'), R.Tuple(R.Tensor((2, n - 4), 'float32')))"
    text = HEAD.format(more=more) + TWICE.format(first="n", second="3")
    (check,) = refuted_checks(rxe.normalize(rxe.parse(text)))
    assert "n - 4 >= 0 (a length of z[1][0])" in [str(fact) for fact in check.proof]


def test_the_parameters_of_a_nested_function_tell_lengths_in_tuples() -> None:
    text = """@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    @R.function
    def inner(t: R.Tuple(R.Tensor((n - 4,), "float32")), y: R.Tensor("float32", ndim=1)):
        a = R.match_cast(y, R.Tensor((n,), "float32"))
        b = R.match_cast(y, R.Tensor((3,), "float32"))
        return b
    a = R.match_cast(x, R.Tensor((3,), "float32"))
    return a
"""
    assert [check.subject for check in refuted_checks(rxe.normalize(rxe.parse(text)))] == ["y"]
