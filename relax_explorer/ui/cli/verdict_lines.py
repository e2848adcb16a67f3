"""Lines about verdicts as a terminal shows them: the word that decides has a colour, programs have theirs, and long lines go on below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.output import Remark, Styled
from relax_explorer.viz.visible import visible_lines

if TYPE_CHECKING:
    from relax_explorer.viz.pygmented import TerminalColors

_WRONG, _RIGHT, _STRONG, _OFF = "\x1b[1;31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
_MARKS = {"+": "\x1b[94m", "-": "\x1b[33m", "~": "\x1b[35m"}
_WORD = re.compile(
    r"(?<=: )(?:DIFFERENT|FAILS|holds|equal)\b|^(?:equal|the programs differ)(?=:)|(?<=  )DIFFERENT\b|^ +DIFFERENT\b"
)
_LEADING = re.compile(r"(?:first bad pass|first difference|first NaN|first wrong stage)(?=: )")
_CODE = re.compile(r"( +)([AB+~-])( (?:\d+: )?)(?=\S)")
_INDENT = re.compile(" *")
_LEAST = 20  # cells of text in a line; what then has no room is beyond the edge


def verdict_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines for standard output: as they are for a file or a pipe."""
    colors, width = output.colors(), output.width()
    for line in lines:
        if isinstance(line, Remark):
            yield line
            continue
        for part in visible_lines(line).split("\n"):
            first, *more = _broken(part, width)
            yield Styled(_painted(first, colors) if colors else first)
            is_code = colors is not None and _CODE.match(part)  # an operator at the left is no mark
            yield from [Styled(colors.code(text) if colors and is_code else text) for text in more]


def _broken(line: str, width: int | None) -> list[str]:
    """A line in parts that the terminal has room for; the later ones stand a little to the right."""
    if width is None or len(line) <= width:
        return [line]
    margin = _INDENT.match(line)
    assert margin is not None  # it matches everything
    later = " " * (len(margin[0]) + 4)
    room = max(width, len(later) + _LEAST)
    text = line[len(margin[0]) :]
    return wrap(
        text, room, initial_indent=margin[0], subsequent_indent=later, break_on_hyphens=False, break_long_words=False,
        drop_whitespace=True,
    )  # fmt: skip


def _painted(line: str, colors: TerminalColors) -> str:
    code = _CODE.match(line)
    if code is not None:
        mark = f"{_MARKS.get(code[2], _STRONG)}{code[2]}{_OFF}"
        return f"{code[1]}{mark}{code[3]}{colors.code(line[code.end() :])}"
    line = _LEADING.sub(lambda found: f"{_STRONG}{found[0]}{_OFF}", line)
    return _WORD.sub(lambda found: f"{_look(found[0])}{found[0]}{_OFF}", line, count=1)


def _look(word: str) -> str:
    return _RIGHT if word.strip() in ("holds", "equal") else _WRONG
