"""Problems at once after an edit: only what the edit may have changed is read and checked again, until the whole is.

In the edited function, lines `name = value` that do not matter are left empty; of those that are read by others, a value of the
same StructInfo takes the place. If the StructInfo of a variable changes, its readers are checked, too. Functions that the lines do
not mention are left out. Line numbers stay, so that all places are right. Where an edit may change more than that, there is no answer.
A hint that guesses a name may guess another one than the check of the whole, which has all names.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from relax_explorer.core.codes.style import UNUSED_BINDING
from relax_explorer.core.codes.well_formedness import NO_PUBLIC_FUNCTION
from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.struct_info import ObjectStructInfo, StructInfo
from relax_explorer.core.phases.module_check import has_unread_part, may_follow
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.finder import Found, programs
from relax_explorer.core.syntax.surroundings import Excerpt
from relax_explorer.ui.editor.document import Document
from relax_explorer.ui.editor.regions import Checked, Region, Rules, checked_region, key_of

_PLAIN = re.compile(r"([ \t]+)([A-Za-z_]\w*)(?:: ([^=\s][^=]*?))? = (?!T\.|typing\.|TypeVar)(\S.*[)\w\]])$")
_ODD = re.compile(r"^\s*(?:cls|self)\b|[#\\]|\"\"\"|'''|\bmatch_cast\b|\bmatch_shape\b")
_WORD = re.compile(r"[A-Za-z_]\w*")
_READ = re.compile(
    r"(?<![\w.])[A-Za-z_]\w*(?![\w]|=[^=])"
)  # no operator behind `R.`, and no keyword of a call
_DEF = re.compile(r"[ \t]*(?:async )?def[ \t]+(\w+)")
_OWN = re.compile(r"[ \t]+(?!(?:return|if|else|elif|with|for|def|class|R\.output)\b)[A-Za-z_](?!.*:\s*$)")
_BOUND = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]*(?::[^=]*)?=(?!=)")
_OF_MODULE = frozenset({NO_PUBLIC_FUNCTION})  # what the functions that are left out decide
_MOST_ROUNDS, _MOST_LINES = 6, 300


@dataclass(frozen=True, slots=True)
class Spot:
    """What is known right after an edit: the problems of a document, moved and checked again, and the lines that were checked, from 0."""

    problems: tuple[Diagnostic, ...]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Line:
    """A plain line: the name that it binds, and the words that it reads."""

    indent: int
    name: str
    reads: frozenset[str]


def _typed(text: str) -> _Line | None:
    """A line that may be half typed, on which a statement stands alone; None for another."""
    if (line := _line(text)) is not None or _OWN.match(text) is None or _ODD.search(text) is not None:
        return line
    bound = _BOUND.match(text)
    reads = _READ.findall(text, 0 if bound is None else bound.end())
    return _Line(_margin(text), "" if bound is None else bound[1], frozenset(reads))


def _line(text: str) -> _Line | None:
    """A line `name = value` on its own; None for any other."""
    match = _PLAIN.match(text)
    if match is None or _ODD.search(text) is not None:
        return None
    if (
        text.count("(") != text.count(")")
        or text.count("[") != text.count("]")
        or text.count("{") != text.count("}")
    ):
        return None
    return _Line(
        len(match[1]),
        match[2],
        frozenset(_READ.findall(text, match.start(3) if match[3] else match.start(4))),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A function of the module: its name, its first line (with decorators), the line behind its head, and the one behind its last."""

    name: str
    first: int
    inside: int
    end: int


class Before:
    """A program as it was checked last, with what decides which lines an edit concerns. Lines count from 0 in the program."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.texts = region.found.body.split("\n")

    @cached_property
    def plain(self) -> list[_Line | None]:
        """The plain lines. Inside of brackets that an earlier line opened, and in other functions than Relax's, there is none."""
        depth, found = 0, []
        for text in self.texts:
            line = _line(text) if depth == 0 else None
            found.append(line)
            if line is None and not text.lstrip().startswith("#"):
                depth = max(0, depth + sum(map(text.count, "([{")) - sum(map(text.count, ")]}")))
        return found

    @cached_property
    def parts(self) -> list[_Part]:
        """The functions of the module."""
        return list(_parts(self.texts))

    @cached_property
    def infos(self) -> dict[tuple[int, str], StructInfo | None]:
        """The StructInfo of each variable, by line and name."""
        return _infos(self.region)

    @cached_property
    def readers(self) -> dict[str, list[int]]:
        """The lines in which each word stands, other than as the name that a plain line binds."""
        found: dict[str, list[int]] = {}
        for number, (text, line) in enumerate(zip(self.texts, self.plain, strict=True)):
            for word in line.reads if line is not None else set(_READ.findall(text)):
                found.setdefault(word, []).append(number)
        return found

    @cached_property
    def binders(self) -> dict[str, list[int]]:
        """The plain lines that bind each name."""
        found: dict[str, list[int]] = {}
        for number, line in enumerate(self.plain):
            if line is not None:
                found.setdefault(line.name, []).append(number)
        return found

    @cached_property
    def ends(self) -> list[int]:
        """The plain lines at the end of a branch."""
        return [n for n, line in enumerate(self.plain) if line is not None and _is_end(self.texts, n)]

    def prepare(self) -> None:
        """Derive all of this, while the user thinks."""
        for _ in (self.infos, self.readers, self.binders, self.parts, self.ends):
            pass


def _info(var: Var) -> str:
    return str(var.struct_info)


def _infos(region: Region) -> dict[tuple[int, str], StructInfo | None]:
    first = region.lines.start
    return {(place.line - first, item.name): item.info for place, item in region.definitions.items()}


def _parts(texts: Sequence[str]) -> Iterator[_Part]:
    """The functions with the least indentation."""
    heads = [
        (number, match[1]) for number, text in enumerate(texts) if (match := _DEF.match(text)) is not None
    ]
    margin = min((_margin(texts[number]) for number, _ in heads), default=0)
    tops = [(number, name) for number, name in heads if _margin(texts[number]) == margin]
    starts = []
    for number, name in tops:
        first = number
        while first > 0 and texts[first - 1].strip().startswith("@") and _margin(texts[first - 1]) == margin:
            first -= 1
        inside = number
        while inside + 1 < len(texts) and not texts[inside].rstrip().endswith(":"):
            inside += 1
        starts.append((name, first, inside + 1))
    for (name, first, inside), (_, end, _) in pairwise([*starts, ("", len(texts), 0)]):
        yield _Part(name, first, inside, end)


def _is_end(texts: Sequence[str], number: int) -> bool:
    """True if less indentation follows a line."""
    following = next((text for text in texts[number + 1 : number + 50] if text.strip()), "")
    return _margin(following) < _margin(texts[number])


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip())


def spot_check(document: Document, checked: Checked, before: Sequence[Before], rules: Rules) -> Spot | None:
    """The problems of a document that was checked and then edited; None if only a check of the whole tells them."""
    found = programs(document.plain)
    if len(found) != len(before):
        return None
    known = {key_of(region.found) for region in checked.regions}
    problems: list[Diagnostic] = []
    lines: list[int] = []
    for item, old in zip(found, before, strict=True):
        if key_of(item) in known:
            problems += old.region.problems
            continue
        spot = _Edit(old, item, document, rules).answer()
        if spot is None:
            return None
        problems += spot.problems
        lines += spot.lines
    return Spot(tuple(problems), tuple(lines))


class _Edit:
    """An edited program beside the one that was checked. Lines count from 0 in the program, those of the new text if nothing else is said."""

    def __init__(self, before: Before, found: Found, document: Document, rules: Rules) -> None:
        self.before, self.found, self.document, self.rules = before, found, document, rules
        self.texts = found.body.split("\n")
        self.start, self.old_end = _changed(before.texts, self.texts)
        self.shift = len(self.texts) - len(before.texts)
        self.end = self.old_end + self.shift
        self.new = [_typed(text) for text in self.texts[self.start : self.end]]

    def answer(self) -> Spot | None:
        """The problems; None if the edit may change more than what is looked at."""
        part = self._part()
        if part is None:
            return None
        is_small = all(line is not None or not text.strip() for line, text in self._lines_touched())
        wanted = self._at_edit() if is_small else set(range(part.first, part.end + self.shift))
        for _ in range(_MOST_ROUNDS):
            if len(wanted) > _MOST_LINES:
                return None
            probe = _Probe(self, part, wanted)
            region = probe.checked() if probe.write() else None
            more = None if region is None else self._concerned(region, wanted)
            if region is None or more is None:
                return None
            if not more:
                return self._merged(region, probe)
            wanted |= more
        return None

    def _part(self) -> _Part | None:
        """The function in whose body all changes lie; None if a head changed, or what is outside of functions."""
        old = self.before.region.found
        if (self.found.first, self.found.name, self.found.margins) != (old.first, old.name, old.margins):
            return None
        if self.found.around != old.around or self.before.region.module is None:
            return None
        if any(text.lstrip().startswith(("@", "def ", "class ")) for text in self._touched()):
            return None
        return next(
            (part for part in self.before.parts if part.inside <= self.start and self.old_end <= part.end),
            None,
        )

    def _at_edit(self) -> set[int]:
        """The changed lines, and the next ones on both sides: what is wrong with a half typed one shows in the next."""
        around = {self.start - 1, self.end} & set(range(len(self.texts)))
        return {*range(self.start, self.end), *[number for number in around if self.line(number) is not None]}

    def _touched(self) -> list[str]:
        return [*self.before.texts[self.start : self.old_end], *self.texts[self.start : self.end]]

    def _lines_touched(self) -> Iterator[tuple[_Line | None, str]]:
        old = slice(self.start, self.old_end)
        yield from zip(self.before.plain[old], self.before.texts[old], strict=True)
        yield from zip(self.new, self.texts[self.start : self.end], strict=True)

    def line(self, number: int) -> _Line | None:
        """A plain line."""
        if self.start <= number < self.end:
            return self.new[number - self.start]
        return self.before.plain[self.old(number)]

    def old(self, number: int) -> int:
        """The number in the old text of a line that did not change."""
        return number if number < self.start else number - self.shift

    def now(self, number: int) -> int | None:
        """The number of a line of the old text; None if it changed."""
        if number < self.start:
            return number
        return number + self.shift if number >= self.old_end else None

    def _numbers(self, index: dict[str, list[int]], word: str, own: Iterable[int]) -> list[int]:
        moved = [now for number in index.get(word, ()) if (now := self.now(number)) is not None]
        return sorted([*moved, *own])

    def binders(self, name: str) -> list[int]:
        """The plain lines that bind a name."""
        own = [
            number
            for number, line in enumerate(self.new, self.start)
            if line is not None and line.name == name
        ]
        return self._numbers(self.before.binders, name, own)

    def readers(self, name: str, line: int) -> list[int]:
        """The lines that may read what a line binds: up to the next one that binds the name again."""
        own = [
            number
            for number, item in enumerate(self.new, self.start)
            if item is not None and name in item.reads
        ]
        numbers = self._numbers(self.before.readers, name, own)
        binders = self.binders(name)
        again = bisect_right(binders, line)
        last = binders[again] if again < len(binders) else len(self.texts)
        return numbers[bisect_right(numbers, line) : bisect_right(numbers, last)]

    def defining(self, word: str, line: int) -> int | None:
        """The plain line that defines a word for a line."""
        binders = self.binders(word)
        place = bisect_left(binders, line)
        return binders[place - 1] if place else None

    def _concerned(self, region: Region, wanted: set[int]) -> set[int] | None:
        """The plain lines that the edit concerns beside those that were checked. None if a function has another type now."""
        if region.module is None:
            return None
        infos, old_infos = _infos(region), self.before.infos
        wrong = {
            item.span.line - self.found.first
            for item in region.problems
            if item.is_error and item.span is not None
        }
        if not self._same_signature(region, bool(wrong)):
            return None
        more: set[int] = set()
        names = {(number, line.name) for number in wanted if (line := self.line(number)) is not None}
        for number, name in names:
            was = self._before_at(number, name)
            info = infos.get((number, name))
            if (
                wrong
                and was is not None
                and (number in wrong or info is None or type(info) is ObjectStructInfo)
            ):
                continue  # its value is not known now, and causes no further problem
            if str(info) != str(old_infos.get((was, name)) if was is not None else None):
                more.update(self.readers(name, number))
        for number in range(self.start, self.old_end):
            gone = self.before.plain[number]
            if gone is not None and not any(name == gone.name for _, name in names):
                more.update(self.readers(gone.name, self.start - 1))
        more.update(self._read_at_edit())
        return {number for number in more - wanted if self.line(number) is not None}

    def _before_at(self, number: int, name: str) -> int | None:
        """The old line that bound a name which a line binds now."""
        if not self.start <= number < self.end:
            return self.old(number)
        olds = range(self.start, self.old_end)
        return next(
            (old for old in olds if (line := self.before.plain[old]) is not None and line.name == name), None
        )

    def _read_at_edit(self) -> Iterator[int]:
        """The lines that define what the changed lines read, or read before: perhaps nobody does now."""
        lines = [*self.before.plain[self.start : self.old_end], *self.new]
        for word in {word for line in lines if line is not None for word in line.reads}:
            place = self.defining(word, self.start)
            if place is not None:
                yield place

    def _same_signature(self, region: Region, has_errors: bool) -> bool:
        """True if callers see the same functions. The result of one with an error may be unknown, which causes no problem for them."""
        old = self.before.region.module
        for name, fn in (region.module.relax_functions if region.module is not None else {}).items():
            was = old.relax_functions.get(name) if old is not None else None
            if was is not None and str(fn.struct_info) == str(was.struct_info):
                continue
            if was is None or not has_errors or [*map(_info, fn.params)] != [*map(_info, was.params)]:
                return False
            if fn.ret_struct_info is not None and type(fn.ret_struct_info) is not ObjectStructInfo:
                return False
        return True

    # -- problems -------------------------------------------------------------------------------------------------

    def _merged(self, region: Region, probe: _Probe) -> Spot:
        """The old problems of other lines, at their new places, and the new ones of the lines that were checked."""
        above = self.found.first
        source = self.found.source(self.document.name)
        fresh = [item for item in region.problems if self._is_told(item, probe, above)]
        kept = []
        functions = region.module.relax_functions.values() if region.module is not None else ()
        has_gaps = any(map(has_unread_part, functions))
        for item in self.before.region.problems:
            span = item.span
            now = None if span is None else self.now(span.line - above)
            if (
                now is not None
                and now not in probe.full
                and not (has_gaps and now in probe.part and may_follow(item))
            ):
                kept.append(_moved(item, source, self, above))
        problems = [*kept, *[_moved(item, source, None, above) for item in fresh]]
        return Spot(
            tuple(sorted(problems, key=Diagnostic.order)),
            tuple(sorted(number + above - 1 for number in probe.full)),
        )

    def _is_told(self, item: Diagnostic, probe: _Probe, above: int) -> bool:
        """True for a problem of a line that stands as it is. What the probe leaves out may read a variable."""
        if item.span is None or item.span.line - above not in probe.full:
            return False
        if item.code in _OF_MODULE:
            return False
        var = getattr(item.primary.place, "var", None) if item.primary is not None else None
        return (
            item.code is not UNUSED_BINDING
            or var is None
            or not self.readers(var.name, item.span.end_line - above)
        )


def _moved(item: Diagnostic, source: Excerpt, edit: _Edit | None, above: int) -> Diagnostic:
    """A problem whose places are in the new text."""

    def there(span: Span) -> Span:
        number = span.line - above
        now = number if edit is None else edit.now(number)
        line = (number if now is None else now) + above
        return Span(source, line, span.column, line + span.end_line - span.line, span.end_column)

    labels = [
        replace(label, place=there(span)) if (span := label.span) is not None else label
        for label in item.labels
    ]
    return replace(
        item, labels=tuple(labels), edits=tuple([replace(e, span=there(e.span)) for e in item.edits])
    )


class _Probe:
    """The text that is checked: `full` are the lines that stand in it as they are, from 0 in the program."""

    def __init__(self, edit: _Edit, part: _Part, wanted: set[int]) -> None:
        self.edit = edit
        self.part = range(part.first, part.end + edit.shift)
        self.lines = [""] * len(edit.texts)
        self.full = set(wanted)

    def write(self) -> bool:
        """Fill in the lines; False if a StructInfo is not known."""
        edit = self.edit
        self.full.update(
            [number for number in self.part if edit.line(number) is None and edit.texts[number].strip()]
        )
        for number in self.full:
            self.lines[number] = edit.texts[number]
        self._add_outside()
        waiting = sorted(self.full)
        for number in self._ends():
            stub = self._stub(number)
            if stub is None:
                return False
            self.lines[number] = stub
            waiting.append(number)
        while waiting:
            number = waiting.pop()
            line = edit.line(number)
            words = (
                line.reads if line is not None and number in self.full else _WORD.findall(self.lines[number])
            )
            for word in words:
                place = edit.defining(word, number)
                if place is None or self.lines[place] or place not in self.part:
                    continue
                stub = self._stub(place)
                if stub is None:
                    return False
                self.lines[place] = stub
                waiting.append(place)
        return True

    def _ends(self) -> Iterator[int]:
        """The last lines of branches, which bind what the branch is worth; without them it would be empty."""
        edit = self.edit
        for number in {
            edit.start - 1,
            *[now for end in edit.before.ends if (now := edit.now(end)) is not None],
        }:
            is_left_out = number in self.part and not self.lines[number] and edit.line(number) is not None
            if is_left_out and _is_end(edit.texts, number):
                yield number

    def _stub(self, number: int) -> str | None:
        """A value of the StructInfo that a plain line had."""
        line = self.edit.line(number)
        info = self.edit.before.infos.get((self.edit.old(number), line.name)) if line is not None else None
        if line is None or info is None:
            return None
        return f'{" " * line.indent}{line.name} = R.call_pure_packed("_", sinfo_args=[{info}])'

    def _add_outside(self) -> None:
        """What stands outside of functions, and the functions that the lines mention, with those that they mention."""
        edit = self.edit
        others = {part.name: part for part in edit.before.parts if part.first != self.part.start}
        tops = (
            self.part.start if not others else min(self.part.start, *[part.first for part in others.values()])
        )
        self.lines[:tops] = edit.texts[:tops]
        waiting = {word for number in self.full for word in _WORD.findall(edit.texts[number])} & set(others)
        while waiting:
            part = others.pop(waiting.pop())
            first, end = [line if line < edit.start else line + edit.shift for line in (part.first, part.end)]
            self.lines[first:end] = edit.texts[first:end]
            waiting |= {word for text in self.lines[first:end] for word in _WORD.findall(text)} & set(others)
            waiting &= set(others)

    def checked(self) -> Region:
        """The text, read and checked."""
        found = replace(self.edit.found, body="\n".join(self.lines))
        return checked_region(found, self.edit.document, self.edit.rules)


def _changed(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """The first line that differs, and the line behind the last one, in the old text."""
    most = min(len(old), len(new))
    start = next((number for number in range(most) if old[number] != new[number]), most)
    same = 0
    while same < most - start and old[-1 - same] == new[-1 - same]:
        same += 1
    return start, len(old) - same
