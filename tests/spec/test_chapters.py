"""Runs the literate chapters of the language."""

from __future__ import annotations

from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax.parser import read as read_program
from tests.support.mdtest import Case, read

CASES = [case for path in sorted(Path(__file__).parent.glob("*.md")) for case in read(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_chapter(case: Case) -> None:
    module, report = read_program(case.program, "chapter.py")
    problems = list(report)
    revealed: dict[int, str] = {}
    if module is not None and not report.errors:
        problems += rxe.check(module)
        for fn in normalize_with(module)[0].relax_functions.values():
            revealed.update(
                {
                    b.span.line: str(b.var.struct_info)
                    for b in bindings(fn)
                    if b.span is not None and b.var is not None
                }
            )
    found = {(p.span.line, str(p.level), p.code.id): p.message for p in problems if p.span is not None}
    for expected in case.expected:
        if expected.kind == "revealed":
            assert revealed.get(expected.line) == expected.text
        else:
            key = (expected.line, expected.kind, expected.code)
            assert key in found, f"{key} not in {sorted(found)}"
            assert expected.text in found[key]
    wanted = {(x.line, x.code) for x in case.expected if x.kind != "revealed"}
    surprises = {
        key: text for key, text in found.items() if key[1] == "error" and (key[0], key[2]) not in wanted
    }
    assert not surprises
