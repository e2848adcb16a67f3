"""Printing and reading are inverse in both dialects: every program of the chapters, and random ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import read as read_program
from tests.support.mdtest import read
from tests.support.random_programs import random_program

CHAPTERS = sorted((Path(__file__).parent.parent / "spec").glob("*.md"))
DIALECTS = ("tvm-0.27", "tvm-0.19")


def programs(path: Path) -> list[tuple[str, IRModule]]:
    """The programs of a chapter that parse."""
    found = []
    for case in read(path):
        module, report = read_program(case.program) if case.program else (None, None)
        if module is not None and report is not None and not report.errors:
            found.append((case.name, module))
    return found


def reads_back(module: IRModule, dialect: str) -> bool:
    """True if the printed text parses to the same program, and printing that gives the same text."""
    text = module.script(dialect=dialect)
    again = rxe.parse(text)
    return rxe.structural_equal(again, module) and again.script(dialect=dialect) == text


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_program_of_the_chapters_reads_back(path: Path, dialect: str) -> None:
    assert [name for name, module in programs(path) if not reads_back(module, dialect)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_random_programs_read_back(dialect: str) -> None:
    """As parsed, and normalized."""
    for seed in range(150):
        module, report = read_program(random_program(seed))
        assert module is not None, report.items
        assert reads_back(module, dialect), seed
        if rxe.well_formed(module, profile="tvm"):
            assert reads_back(rxe.normalize(module), dialect), seed
