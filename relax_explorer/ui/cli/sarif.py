"""Problems as SARIF 2.1.0 (OASIS, 2020), the format of code hosts and editors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import relax_explorer
from relax_explorer.core.diagnostics import Code, Diagnostic, Edit, Label, Severity
from relax_explorer.core.source import Span

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def document(problems: Sequence[Diagnostic]) -> dict[str, Any]:
    """One SARIF run with all problems and one rule per code. Columns count characters from 1."""
    codes = sorted({problem.code.id: problem.code for problem in problems}.values(), key=lambda code: code.id)
    numbers = {code.id: number for number, code in enumerate(codes)}
    driver = {
        "name": "relax-explorer",
        "version": relax_explorer.__version__,
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
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
    }


def _result(problem: Diagnostic, rule: int) -> dict[str, Any]:
    text = "\n".join(
        [problem.message, *problem.remarks, *([f"Hint: {problem.help}"] if problem.help else [])]
    )
    result: dict[str, Any] = {
        "ruleId": problem.code.id,
        "ruleIndex": rule,
        "level": _LEVELS[problem.level],
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
