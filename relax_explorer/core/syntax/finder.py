"""Finds the programs in a text of any kind: scripts, tests, Markdown, logs, pastes. Nothing is executed, and no line is changed.

A program is a class with `@I.ir_module`, or a run of functions with `@R.function` or `@T.prim_func`. It is found by its
decorator, and ends where its indentation ends. What stands before the code of all its lines (a prompt, a quotation mark, the prefix of a
log) is cut off; lines of other programs inside it become empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from relax_explorer.core.syntax.surroundings import NOTHING, Excerpt, Outside, Surroundings

# -- headings --------------------------------------------------------------------------------------------------------
# Lines that name the pass behind a module: those of PrintAfterAll, PrintIR, MLIR's dumps, ours, and of Markdown.


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


# -- prefixes --------------------------------------------------------------------------------------------------------
# What stands before the code in the lines of a pasted program: indentation, prompts, quotation marks, prefixes of a
# log.


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


# -- finder ----------------------------------------------------------------------------------------------------------


_SCRIPT = r"(?:tvm\.)?(?:script\.)?"
_DECORATOR = re.compile(
    rf"@(?:(?P<module>{_SCRIPT}(?:I\.|ir\.)?ir_module|R\.rewriter)|{_SCRIPT}(?:R|relax|T|tir|tirx)\.(?:function|prim_func))\b"
)
_CLASS, _DEF = re.compile(r"class[ \t]+(\w+)"), re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)")
_TRIVIA = re.compile(
    r"[ \t]*(?:$|#|(?:import|from)[ \t]+(?:tvm|typing|__future__)\b|metadata[ \t]*="
    r"|[^\s=(]+[ \t]*=[ \t]*(?:typing\.)?TypeVar\(|\w+[ \t]*=[ \t]*T\.u?int\d*\(\)\s*$)"
)
_OWN_IMPORT = re.compile(r"[ \t]*(?:import|from)[ \t]+(?:tvm|typing|__future__)\b")
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>])")
_MOST_LINES_ABOVE = 200  # in which the heading of a program is looked for
_MOST_IN_DECORATOR = 12  # lines of the decorators of a program


@dataclass(frozen=True, slots=True)
class Found:
    """A program in a text: the name of its class (empty for functions alone), its lines, and what names it.

    `heading` is the pass that a line above it names, empty for a rule, None without either; `title` are words above it. `body` is
    its text from line `first` on, without what is cut off, `margins` columns in each line.
    """

    name: str
    first: int
    last: int
    body: str
    heading: str | None = None
    title: str = ""
    margins: int | tuple[int, ...] = 0
    around: Surroundings = NOTHING

    def source(self, filename: str, above: int = 0) -> Excerpt:
        """What the parser reads. `above` lines of the file stand before the text."""
        return Excerpt(self.body, filename, self.first - 1 + above, self.margins, self.around)


@dataclass(slots=True)
class _Span:
    """The lines of a program in a text, as offsets, with its code line by line if it is not as it stands there."""

    start: int
    end: int
    name: str
    prefix: Prefix
    noise: list[tuple[int, int]] = field(default_factory=list)


def without_escapes(text: str) -> str:
    """A text without the colours and other escape sequences of a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def is_whole(text: str, found: Sequence[Found]) -> bool:
    """True if a text is one program: around it stand only comments, imports and declarations."""
    if len(found) != 1 or found[0].margins or found[0].around != NOTHING or found[0].body not in text:
        return False
    lines = text.split("\n")
    around = (*lines[: found[0].first - 1], *lines[found[0].last :])
    return all(not line.strip() or line.startswith("#") or _OWN_IMPORT.match(line) for line in around)


def programs(text: str) -> list[Found]:
    """The programs in a text, in order."""
    found: list[Found] = []
    outside = Outside()
    low, line = 0, 1  # the end of the last program, and the number of its line
    hit = _DECORATOR.search(text)
    while hit is not None:
        span = _span(text, low, hit.start(), hit)
        if span is None:
            hit = _DECORATOR.search(text, hit.end())
            continue
        span.start = _with_preamble(text, low, span)
        outside.read(text, low, span.start, line)
        first = line + text.count("\n", low, span.start)
        found.append(_found(text, span, low, first, outside))
        line, low = first + text.count("\n", span.start, span.end), span.end
        hit = _DECORATOR.search(text, span.end)
    return found


def _span(text: str, low: int, at: int, hit: re.Match[str]) -> _Span | None:
    """The lines of the program whose decorator stands at `at`; None if there is none."""
    start = text.rfind("\n", low, at) + 1 or low
    prefix = prefix_of(text[start:at])
    if prefix is None:
        return None
    wanted = _CLASS if hit["module"] else _DEF
    header = _header(text, start, prefix, wanted)
    if header is None or (wanted is _DEF and _is_member(text, low, start, prefix)):
        return None
    name, behind = header
    span = _Span(start, behind, name if wanted is _CLASS else "", prefix)
    span.end = _end(text, behind, span)
    while wanted is _DEF and (following := _next_function(text, span)) is not None:
        span.end = _end(text, following, span)
    return span


def _is_member(text: str, low: int, start: int, prefix: Prefix) -> bool:
    """True if a function belongs to a class without the decorator of a module: a mistake that the parser names."""
    if prefix.pattern is not None or not prefix.indent:
        return False
    for begin, end in islice(_lines_above(text, low, start), 10 * _MOST_LINES_ABOVE):
        line = text[begin:end]
        code = line.lstrip()
        if code and len(line) - len(code) < len(prefix.indent):
            return _CLASS.match(code) is not None
    return False


def _header(text: str, start: int, prefix: Prefix, wanted: re.Pattern[str]) -> tuple[str, int] | None:
    """The name of the class or function that the decorators in `start` belong to, and the end of its first line."""
    for number, (begin, end) in enumerate(_lines(text, start)):
        line = text[begin:end]
        cut = prefix.cut(line)
        if cut is None or number > _MOST_IN_DECORATOR:
            return None
        if (hit := wanted.match(line, cut)) is not None:
            return hit[1], end
        if _CLASS.match(line, cut) or _DEF.match(line, cut) or not line[cut:].strip():
            return None
    return None


def _next_function(text: str, span: _Span) -> int | None:
    """The end of the first line of a function right behind those of a span, which belongs to the same program."""
    for begin, end in _lines(text, span.end):
        line = text[begin:end]
        cut = span.prefix.cut(line)
        if cut is None:
            return None
        code = line[cut:]
        hit = _DECORATOR.match(code)
        if hit is not None and not hit["module"]:
            header = _header(text, begin, span.prefix, _DEF)
            return None if header is None else header[1]
        if code[:1] in ("#", "/") and pass_heading(code) is not None:
            return None
        if _TRIVIA.match(code) is None:
            return None
    return None


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The places of lines from an offset on, without their line ends."""
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


@lru_cache(64)
def _ending(indent: str) -> re.Pattern[str]:
    """Matches the line end before a line that does not belong to a block: it has code, and is not indented more."""
    own = re.escape(indent)
    return re.compile(rf"\n(?!{own}[ \t])(?![ \t]*(?:\n|#|\Z))(?!{own}[)\]}}])")


def _end(text: str, behind: int, span: _Span) -> int:
    """The end of the block whose first line ends at `behind`. Lines of other programs inside are added to the noise of the span."""
    if span.prefix.pattern is not None:
        return _end_of_pasted(text, behind, span)
    indent, at = span.prefix.indent, behind
    while True:
        hit = _ending(indent).search(text, at)
        end = hit.start() if hit is not None else len(text)
        if text.count('"""', behind, end) % 2 and (closed := text.find('"""', end)) >= 0:
            at = closed + 3  # a text in it may have lines of any indentation
            continue
        inside = _noise(text, end + 1, indent)
        if inside is None:
            return _trimmed(text, behind, end)
        span.noise.append((end + 1, inside))
        at = inside


def _noise(text: str, start: int, indent: str) -> int | None:
    """The end of lines of other programs at `start`, behind which the block goes on; None if it does not."""
    last = None
    for begin, end in _lines(text, start):
        line = text[begin:end]
        if is_noise(line) and pass_heading(line) is None:
            last = end
        elif line.strip() and not line.lstrip().startswith("#"):
            return last if last is not None and line.startswith((f"{indent} ", f"{indent}\t")) else None
    return None


def _trimmed(text: str, low: int, end: int) -> int:
    """An end without the empty lines and comments before it, which may belong to what follows."""
    while end > low:
        begin = text.rfind("\n", low, end) + 1
        if begin <= low:
            return end
        line = text[begin:end].strip()
        if line and not line.startswith("#"):
            return end
        end = begin - 1
    return low


def _end_of_pasted(text: str, behind: int, span: _Span) -> int:
    """The end of a block whose lines have a prefix."""
    last = behind
    for begin, end in _lines(text, behind + 1):
        line = text[begin:end]
        cut = span.prefix.cut(line)
        if cut is None:
            return last
        code = line[cut:]
        if code[:1] in ("", " ", "\t", ")", "]", "}"):
            last = end if code.strip() else last
        elif not code.startswith("#"):
            return last
    return last


def _with_preamble(text: str, low: int, span: _Span) -> int:
    """The start of the comments, imports and declarations above a program."""
    start = above = span.start
    for begin, end in _lines_above(text, low, start):
        if begin >= above:  # inside of a block of metadata
            continue
        if text.endswith(('""")', "''')"), begin, end):
            named = text.rfind("metadata =", low, end)
            begin = above = text.rfind("\n", low, named) + 1 or low if named >= 0 else begin
        line = text[begin:end]
        cut = span.prefix.cut(line)
        if cut is None or _TRIVIA.match(line, cut) is None or pass_heading(line[cut:]) is not None:
            break
        start = begin if line[cut:].strip() else start  # empty lines above belong to nothing
    return start


def _found(text: str, span: _Span, low: int, first: int, outside: Outside) -> Found:
    """A program with its lines, its heading, and what the text around it says of its names."""
    body, margins = _body(text, span)
    indent = len(span.prefix.indent) if span.prefix.pattern is None else 0
    around = outside.seen(indent, body)
    heading, words = _heading(text, low, span.start)
    return Found(span.name, first, first + body.count("\n"), body, heading, words, margins, around)


def _body(text: str, span: _Span) -> tuple[str, int | tuple[int, ...]]:
    """The code of a program, and the columns that were cut off its lines."""
    if span.prefix.pattern is not None:
        lines = [text[begin:end] for begin, end in _lines(text[: span.end], span.start)]
        cuts = [span.prefix.cut(item) or 0 for item in lines]
        return "\n".join([item[cut:] for item, cut in zip(lines, cuts, strict=True)]), tuple(cuts)
    parts, at = [], span.start
    for begin, end in span.noise:
        parts += [text[at:begin], "\n" * text.count("\n", begin, end)]
        at = end
    body = "".join([*parts, text[at : span.end]])
    indent = span.prefix.indent
    if indent:
        body = re.sub(rf"^{re.escape(indent)}", "", body, flags=re.MULTILINE)
    return body, len(indent)


def _heading(text: str, low: int, start: int) -> tuple[str | None, str]:
    """The pass that the lines above a program name, and a title above it."""
    words = ""
    for begin, end in islice(_lines_above(text, low, start), _MOST_LINES_ABOVE):
        line = text[begin:end]
        found = pass_heading(line)
        if found is not None:
            return found, words
        words = words or title(line)
    return None, words


def _lines_above(text: str, low: int, start: int) -> Iterator[tuple[int, int]]:
    """The places of the lines between two offsets, the last one first."""
    while start > low:
        begin = text.rfind("\n", low, start - 1) + 1 or low
        yield begin, start - 1
        start = begin
