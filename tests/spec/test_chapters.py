"""Runs the literate chapters of the language, and holds them against the list of its requirements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import read as read_program
from tests.support import again, spec_coverage, spec_names
from tests.support.mdtest import Case, read

HERE = Path(__file__).parent
CHAPTERS = sorted(HERE.glob("*.md"))
CASES = [(path, case) for path in CHAPTERS for case in read(path)]


@pytest.mark.parametrize(("path", "case"), CASES, ids=[case.name for _, case in CASES])
def test_chapter(path: Path, case: Case) -> None:
    module: IRModule | None = None
    problems: list[Diagnostic] = []
    if case.program:
        module, report = read_program(case.program, "chapter.py")
        problems = list(report)
        if module is not None and not report.errors:
            problems += rxe.check(module)
        _hold(case, module, problems)
    if case.assertions:
        names = spec_names.namespace(module, problems)
        calls = again.Calls(names)
        exec(compile(case.assertions, str(path), "exec"), names)
        if module is not None and not report.errors:
            again.hold_calls(case.program, module, calls.made)
    if module is not None and not report.errors:
        again.hold_checks(case.program, module, problems)


def _hold(case: Case, module: IRModule | None, problems: list[Diagnostic]) -> None:
    for problem in problems:
        assert [label.primary for label in problem.labels].count(True) == 1, problem
    revealed = {} if module is None or _has_errors(problems, "RX00") else _revealed(module)
    found: dict[tuple[int, str, str], str] = {}
    for problem in problems:
        if problem.span is not None:
            key = (problem.span.line, str(problem.level), problem.code.id)
            found[key] = found.get(key, "") + "\n" + problem.message
    for expected in case.expected:
        if expected.kind == "revealed":
            assert revealed.get(expected.line) == expected.text
        else:
            key = (expected.line, expected.kind, expected.code)
            assert key in found, f"{key} not in {sorted(found)}"
            assert expected.text in found[key]
    wanted = {(x.line, x.code) for x in case.expected if x.kind != "revealed"}
    loud = ("error", "warning")
    surprises = {
        key: text for key, text in found.items() if key[1] in loud and (key[0], key[2]) not in wanted
    }
    assert not surprises


def _has_errors(problems: list[Diagnostic], prefix: str) -> bool:
    return any(item.is_error and item.code.id.startswith(prefix) for item in problems)


def _revealed(module: IRModule) -> dict[int, Any]:
    functions = normalize_with(module)[0].relax_functions.values()
    found = (b for fn in functions for b in bindings(fn) if b.span is not None and b.var is not None)
    return {b.span.line: str(b.var.struct_info) for b in found}


def test_a_heading_names_only_requirements_that_exist() -> None:
    named = {item for _, case in CASES for item in spec_coverage.items_in(case.name)}
    assert named <= set(spec_coverage.requirements())
