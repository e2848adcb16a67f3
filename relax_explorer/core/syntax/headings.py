"""Lines that name the pass behind a module: those of PrintAfterAll, PrintIR, MLIR's dumps, ours, and of Markdown."""

from __future__ import annotations

import re

_PRINT_ALL = re.compile(r"(?:After|Before) Running Pass:.*?\bname=[\"']([^\"']{1,200})[\"']")
_PRINT_IR = re.compile(r"PrintIR\(([^)\n]{1,200})\):?\s*$")
_MLIR = re.compile(r"^//[ -]*IR Dump (?:After|Before) ([\w.:]+)[^\n]*$", re.IGNORECASE)
# One word after the heading, perhaps with options: a comment in prose is none.
_NAMED = re.compile(
    r"^#+[ -]*(?:IR dump after|after|stage [0-9]{1,9}:?) +([\w.]+(?:\{[^\n]*\})?)[ -]*$", re.IGNORECASE
)
_RULE = re.compile(r"^(?://|#) ?-----+[ ]*$")
_MARKDOWN = re.compile(r"^#{1,6} +(\S[^\n]{0,58}\S|\S)\s*#*$")
_LABEL = re.compile(
    r"^(?!(?:async |class|def|elif|else|except|finally|for|if|try|while|with)\b)(?:\*\*|__)?(\w[\w .()/-]{0,38})(?:\*\*|__)?:\s*$"
)
_STARTS = ("After Running Pass:", "Before Running Pass:")


def pass_heading(line: str) -> str | None:
    """The pass that a line names; empty for a rule, which only separates stages; None for any other line."""
    for pattern in (_NAMED, _MLIR):
        if (hit := pattern.match(line)) is not None:
            return hit[1]
    for pattern in (_PRINT_ALL, _PRINT_IR):
        if (hit := pattern.search(line)) is not None:
            return hit[1]
    return "" if _RULE.match(line) is not None else None


def title(line: str) -> str:
    """The words of a Markdown heading, or of a short line that ends in a colon; empty for any other line."""
    hit = _MARKDOWN.match(line) or _LABEL.match(line)
    return hit[1].strip("`*_ :") if hit is not None else ""


__all__ = ["pass_heading", "title"]
