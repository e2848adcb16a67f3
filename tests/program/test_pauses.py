"""Long work has a place for a pause before each binding, so that a terminal answers keys meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from relax_explorer.core.check import purity
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.ir.facts import Facts
from relax_explorer.core.ir.pauses import Pauses, with_pauses
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.residual import refuted_checks
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.printer import printed_module

COUNT = 2_000  # more than a text that is read in one piece
LINES = [f"y{n + 1} = R.add(y{n}, y{n})" for n in range(COUNT)]
HEAD = '@R.function\ndef main(y0: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):\n'
PLAIN = HEAD + "".join(f"    {line}\n" for line in LINES) + f"    return y{COUNT}\n"
DATAFLOW = (
    HEAD
    + "    with R.dataflow():\n"
    + "".join(f"        {line}\n" for line in LINES)
    + f"        R.output(y{COUNT})\n    return y{COUNT}\n"
)
BRANCH = (
    HEAD
    + "    if c:\n"
    + "".join(f"        {line}\n" for line in LINES)
    + f"        z = y{COUNT}\n    else:\n        z = y0\n    return z\n"
)
BESIDE = (  # the branch is in a block with other bindings
    HEAD
    + "".join(f"    {line}\n" for line in LINES)
    + f"    if c:\n        z = y{COUNT}\n    else:\n        z = y0\n    return z\n"
)
TEXTS = pytest.mark.parametrize(
    "text", [PLAIN, DATAFLOW, BRANCH, BESIDE], ids=["plain", "dataflow", "branch", "beside"]
)
WORK: dict[str, Callable[[IRModule], object]] = {
    "well-formed": lambda module: list(violations(module)),
    "purity": lambda module: list(purity.violations(module.relax_functions["main"], True)),
    "print": printed_module,
    "checks": refuted_checks,
    "facts": lambda module: Facts(module.relax_functions["main"]),
    "walk": lambda module: list(bindings(module.relax_functions["main"])),
}

WALKS = {
    "well-formed": 2,
    "print": 2,
    "facts": 2,
}  # over all bindings; purity, names and operands have their own


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found = [0]

    def count() -> None:
        found[0] += 1

    monkeypatch.setattr(Pauses, "pause", count)
    return found


@TEXTS
def test_reading_pauses(text: str, places: list[int]) -> None:
    parse(text)
    assert places[0] >= COUNT


@TEXTS
@pytest.mark.parametrize("work", WORK)
def test_work_on_a_module_pauses(work: str, text: str, places: list[int]) -> None:
    module, _ = normalize_with(parse(text))
    places[0] = 0
    WORK[work](module)
    assert places[0] >= WALKS.get(work, 1) * COUNT


@TEXTS
def test_normalizing_pauses(text: str, places: list[int]) -> None:
    module = parse(text)
    places[0] = 0
    normalize_with(module)
    assert places[0] >= COUNT


def test_nothing_pauses_unless_it_is_asked_to() -> None:
    assert Pauses.pause is None
    assert [*with_pauses(range(3))] == [0, 1, 2]
