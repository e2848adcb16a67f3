"""What stands before the code in the lines of a pasted program: indentation, prompts, quotation marks, prefixes of a log."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.|In \[\d+\]:|\.{3,}:) ?")
_LONGEST = 200  # of a prefix
_PARTS = re.compile(r"\d+|[ \t]+|[A-Za-z]+|[^\w\s]+|.", re.DOTALL)
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "critical", "fatal", "trace"})
_NOISE = re.compile(
    r"^(?:\[?\d{4}-\d\d-\d\d|\[?\d\d:\d\d:\d\d|[EWIDF]\d{4} |(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b|\S+:\d+: \w*[Ww]arning)"
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What every line of a program begins with: an indentation, or a pattern of a log's prefix that may be followed by one.

    `indent` is what stands between the prefix and the code of the first line.
    """

    pattern: re.Pattern[str] | None
    indent: str

    def cut(self, line: str) -> int | None:
        """The number of characters before the code of a line; None for a line without this prefix.

        An empty line has none; what it has is cut.
        """
        start = 0
        if self.pattern is not None:
            hit = self.pattern.match(line)
            if hit is None:
                return None
            start = hit.end()
        if line.startswith(self.indent, start):
            return start + len(self.indent)
        return len(line) if not line[start:].strip() else None


def prefix_of(before: str) -> Prefix | None:
    """The prefix of a line in which `before` stands before the code; None if it is a comment or prose."""
    if not before.strip():
        return Prefix(None, before)
    if len(before) > _LONGEST or before.lstrip().startswith(("#", "//", '"', "'")):
        return None
    prompt = _PROMPT.match(before)
    if prompt is not None:
        return Prefix(_PROMPT, before[prompt.end() :]) if not before[prompt.end() :].strip() else None
    mark = before.rstrip(" \t")
    # A single space belongs to the prefix, more of them to the code.
    inside = before[len(mark) :]
    own, indent = (inside[:1], inside[1:]) if inside[:1] == " " else ("", inside)
    parts = "".join([_pattern_of(part) for part in _PARTS.findall(mark)])
    return Prefix(re.compile(rf"{parts}(?:{re.escape(own)}|(?=\s*$))"), indent)


def is_noise(line: str) -> bool:
    """True for a line that another program wrote into an output: with a time, a level or a warning at its start."""
    return _NOISE.match(line) is not None


def _pattern_of(part: str) -> str:
    """What may stand in other lines in place of a part of a prefix: other numbers, other levels, other widths."""
    if part.isdigit():
        return r"[ ]*\d+"
    if part.isspace():
        return r"[ \t]*"
    if part.lower() in _LEVELS:
        return r"[A-Za-z]+"
    return re.escape(part)
