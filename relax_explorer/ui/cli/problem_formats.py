"""Problems in the formats of code hosts and test runners: annotations of GitHub, SARIF, and JUnit's XML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as xml

from relax_explorer.core.diagnostics import Code, Diagnostic, Edit, Label, Severity
from relax_explorer.core.source import Span
from relax_explorer.version import __version__
from relax_explorer.viz.problem import headline
from relax_explorer.viz.visible import visible

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def github_line(problem: Diagnostic) -> str:
    """A problem as an annotation of GitHub."""
    span = problem.span
    place = f" file={visible(span.source.filename)},line={span.line},col={span.file_column}," if span else " "
    return f"::{_LEVELS[problem.level]}{place}title={problem.code}::{visible(problem.message, 600)}"


# -- sarif -----------------------------------------------------------------------------------------------------------
# Problems as SARIF 2.1.0 (OASIS, 2020), the format of code hosts and editors.


_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif_log(problems: Sequence[Diagnostic]) -> dict[str, Any]:
    """One SARIF run with all problems and one rule per code. Columns count characters from 1."""
    codes = sorted({problem.code.id: problem.code for problem in problems}.values(), key=lambda code: code.id)
    numbers = {code.id: number for number, code in enumerate(codes)}
    driver = {
        "name": "relax-explorer",
        "version": __version__,
        "rules": [_rule(code) for code in codes],
    }
    results = [_result(problem, numbers[problem.code.id]) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: Code) -> dict[str, Any]:
    return {
        "id": code.id,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.why},
        "help": {"text": code.fix},
        "defaultConfiguration": {"level": _SARIF_LEVELS[code.severity]},
    }


def _result(problem: Diagnostic, rule: int) -> dict[str, Any]:
    text = "\n".join([problem.message, *_remarks(problem)])
    result: dict[str, Any] = {
        "ruleId": problem.code.id,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[problem.level],
        "message": {"text": text},
    }
    if problem.span is not None:
        result["locations"] = [{"physicalLocation": _place(problem.span)}]
    others = [label for label in problem.labels if label is not problem.primary and label.span is not None]
    if others:
        result["relatedLocations"] = [_related(label, number) for number, label in enumerate(others)]
    if problem.edits:
        result["fixes"] = [_fix(problem.help, problem.edits)]
    return result


def _related(label: Label, number: int) -> dict[str, Any]:
    assert label.span is not None  # the caller checked this
    return {"id": number, "message": {"text": label.text}, "physicalLocation": _place(label.span)}


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": _uri(span)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.file_column,
        "endLine": span.end_line,
        "endColumn": span.file_end_column,
    }


def _uri(span: Span) -> str:
    path = Path(span.source.filename)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


def _fix(text: str, edits: Sequence[Edit]) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
    ]
    change = {"artifactLocation": {"uri": _uri(edits[0].span)}, "replacements": replacements}
    return {"description": {"text": text}, "artifactChanges": [change]}


# -- junit -----------------------------------------------------------------------------------------------------------
# Checks as test cases, in the XML that JUnit began and all test reports of CI systems read.


@dataclass(frozen=True, slots=True)
class Case:
    """A checked text: its path, its stage if it is one of a build, and its problems."""

    path: str
    stage: str
    problems: tuple[Diagnostic, ...]


def junit_text(cases: Sequence[Case], least: Severity) -> str:
    """One suite for each path, one case for each text. Problems from `least` on are failures, others are printed by the case."""
    root = xml.Element("testsuites", {"name": "relax-explorer check", **_counts(cases, least)})
    for path in dict.fromkeys(case.path for case in cases):
        own = [case for case in cases if case.path == path]
        suite = xml.SubElement(root, "testsuite", {"name": visible(path), **_counts(own, least)})
        for case in own:
            _add_case(suite, case, least)
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, "unicode")


def _counts(cases: Sequence[Case], least: Severity) -> dict[str, str]:
    failing = sum(any(problem.level >= least for problem in case.problems) for case in cases)
    return {"tests": str(len(cases)), "failures": str(failing), "errors": "0"}


def _add_case(suite: xml.Element, case: Case, least: Severity) -> None:
    place = {"classname": visible(case.path), "name": visible(case.stage or case.path)}
    element = xml.SubElement(suite, "testcase", {**place, "file": visible(case.path)})
    failing = [problem for problem in case.problems if problem.level >= least]
    other = [problem for problem in case.problems if problem.level < least]
    if failing:  # readers take one failure of a case
        codes = ", ".join(dict.fromkeys(problem.code.id for problem in failing))
        first = visible(failing[0].message, 600)
        failure = xml.SubElement(element, "failure", {"type": codes, "message": first})
        failure.text = "\n".join(map(_text, failing))
    if other:
        xml.SubElement(element, "system-out").text = "\n".join(map(_text, other))


def _text(problem: Diagnostic) -> str:
    return "\n".join([headline(problem), *[f"  {visible(line, 600)}" for line in _remarks(problem)]])


def _remarks(problem: Diagnostic) -> list[str]:
    return [*problem.remarks, *([f"Hint: {problem.help}"] if problem.help else [])]
