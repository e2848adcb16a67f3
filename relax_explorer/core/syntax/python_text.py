"""What TVM prints and Python's parser refuses, written so that it does not: each byte stays in its place.

Shape variables in the header of a function, `def main[n](x: R.Tensor((n,)))`, are for Python 3.12 and newer; and a name may be
none of Python's, as in `batch-size = TypeVar("batch-size")`. A name of digits stays as it is where it is used: there it reads
like a number, and the reader of dimensions knows better.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from dataclasses import dataclass, field

from relax_explorer.core.ir.dtype import INT64, DType, dtype

_HEADER = re.compile(r"^[ \t]*def[ \t]+\w+(\[[^\[\]\n]*\])", re.MULTILINE)
_VALUE = re.compile(
    r" = (?:(?:typing\.)?TypeVar\([\"'](.*)[\"']\)|T\.(u?int(?:8|16|32|64))\(\))[ \t]*$", re.MULTILINE
)
_NO_NAME = frozenset("#\"'=,()")  # then it is something else, such as two variables declared at once
_FILLERS = "_xyzuvw"


@dataclass(slots=True)
class PythonText:
    """The text for Python's parser, and the shape variables that it no longer declares."""

    text: str
    names: dict[str, DType] = field(default_factory=dict)


def expression_tree(text: str) -> ast.expr:
    """Python's tree of one expression; raises ValueError when there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on odd literals say nothing of TVMScript
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(str(error)) from None


def python_text(text: str) -> PythonText:
    """`text` as Python's parser takes it; nothing is changed where nothing has to be."""
    result = PythonText(text)
    if "def " in text and _HEADER.search(text) is not None:
        result.text = _HEADER.sub(lambda match: _without_parameters(match, result), result.text)
    odd: dict[str, DType] = {}
    lines: set[str] = set()
    for match in _VALUE.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.end()]
        name = line[: len(line) - len(match[0])].strip()
        if not name.isidentifier() and name and match[1] in (None, name) and not set(name) & _NO_NAME:
            odd[name] = dtype(match[2]) if match[2] else INT64
            lines.add(line)
    if odd:
        _take_out(lines, odd, result)
    return result


def _blank(text: str) -> str:
    """As many spaces as the text has bytes, for Python's parser counts columns in bytes."""
    return " " * len(text.encode("utf-8", "surrogatepass"))


def _without_parameters(match: re.Match[str], result: PythonText) -> str:
    for part in match[1][1:-1].split(","):
        name = part.partition(":")[0].strip()
        if name:
            result.names[name] = INT64
    start = match.start(1) - match.start()
    return match[0][:start] + _blank(match[1])


def _take_out(declared: set[str], odd: dict[str, DType], result: PythonText) -> None:
    """Blank the declarations, and write the names in a form that Python has wherever they are used."""
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
    """A name of Python in place of `name`, as long and not among `words`; empty when there is none."""
    for filler in _FILLERS:
        new = re.sub(r"\W", filler, name, flags=re.ASCII)
        if new.isidentifier() and not keyword.iskeyword(new) and new not in words:
            return new
    return ""
