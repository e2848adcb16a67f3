"""Rewrites constructs that TVM prints and Python's parser rejects. Every byte stays at its position.

Shape variables in the header of a function, `def main[n](x: R.Tensor((n,)))`, need Python 3.12. A name may not be a Python
identifier, as in `batch-size = TypeVar("batch-size")`. A name of digits is not rewritten: it reads like a number, and the
reader of dimensions looks it up.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field

from relax_explorer.core.ir.dtype import INT64, DType, dtype

_HEADER = re.compile(r"^[ \t]*def[ \t]+\w+(\[[^\[\]\n]*\])", re.MULTILINE)
_PERHAPS_HEADER = re.compile(r"def[ \t]+\w+\[")  # found ten times as fast, since it begins with a word
_VALUE = re.compile(
    r" = (?:(?:typing\.)?TypeVar\([\"'](.*)[\"']\)|T\.(u?int(?:8|16|32|64))\(\))[ \t]*$", re.MULTILINE
)
_NO_NAME = frozenset("#\"'=,()")  # characters of other statements, such as a declaration of two variables
_FILLERS = "_xyzuvw"


@dataclass(slots=True)
class PythonText:
    """The text for Python's parser, and the shape variables whose declarations were removed from it."""

    text: str
    names: dict[str, DType] = field(default_factory=dict)


def python_text(text: str) -> PythonText:
    """`text` in a form that Python's parser accepts, with as few changes as possible."""
    result = PythonText(text)
    if _PERHAPS_HEADER.search(text) is not None:
        result.text = _HEADER.sub(lambda match: _without_parameters(match, result), result.text)
    odd: dict[str, DType] = {}
    lines: set[str] = set()
    declares = "TypeVar(" in text or " = T." in text  # the search alone takes long
    for match in _VALUE.finditer(text) if declares else ():
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.end()]
        name = line[: len(line) - len(match[0])].strip()
        if not name.isidentifier() and name and match[1] in (None, name) and not set(name) & _NO_NAME:
            odd[name] = dtype(match[2]) if match[2] else INT64
            lines.add(line)
    if odd:
        _take_out(lines, odd, result)
    return result


def _blank(text: str) -> str:
    """One space for each byte of the text, since Python's parser counts columns in bytes."""
    return " " * len(text.encode("utf-8", "surrogatepass"))


def _without_parameters(match: re.Match[str], result: PythonText) -> str:
    for part in match[1][1:-1].split(","):
        name = part.partition(":")[0].strip()
        if name:
            result.names[name] = INT64
    start = match.start(1) - match.start()
    return match[0][:start] + _blank(match[1])


def _take_out(declared: set[str], odd: dict[str, DType], result: PythonText) -> None:
    """Blank the declarations, and replace the names by Python identifiers everywhere."""
    lines = result.text.split("\n")
    result.text = "\n".join([_blank(line) if line in declared else line for line in lines])
    words = set(re.findall(r"\w+", result.text))
    instead: dict[str, str] = {}
    for name, element in odd.items():
        new = name if name.isdecimal() else _spelled(name, words)
        if new:
            result.names[new] = element
        if new and new != name:
            words.add(new)
            instead[name] = new
    if instead:
        longest_first = sorted(instead, key=len, reverse=True)
        used = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
        result.text = used.sub(lambda match: instead[match[0]], result.text)


def _spelled(name: str, words: set[str]) -> str:
    """A Python identifier for `name`, of the same length and not among `words`. Empty if there is none."""
    for filler in _FILLERS:
        new = re.sub(r"\W", filler, name, flags=re.ASCII)
        if new.isidentifier() and not keyword.iskeyword(new) and new not in words:
            return new
    return ""
