"""The programs in a document, each with what a check found: problems, the module, and the definitions in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.phases.module_check import examined
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.finder import Found, programs
from relax_explorer.core.syntax.surroundings import Excerpt
from relax_explorer.ui.editor.document import Document, Position, Range, range_of
from relax_explorer.ui.editor.occurrences import Occurrences, occurrences

_NAME, _OF_BRANCH = re.compile(r"[^\W\d]\w*"), re.compile(r"(?:_then|_else)+")


@dataclass(frozen=True, slots=True)
class Definition:
    """A variable: its name in the text, the function of the module around it, its binding (None: a parameter), and the place of its name."""

    var: e.Var
    name: str
    function: str
    binding: e.Binding | None
    place: Range

    @property
    def info(self) -> StructInfo | None:
        """Its StructInfo."""
        return self.var.struct_info


@dataclass(frozen=True)
class Region:
    """One program of a document, checked. `module` is in normal form; None if nothing can be read.

    It stays in later documents that have the same lines at its place.
    """

    document: Document
    found: Found
    source: Excerpt
    module: IRModule | None
    problems: tuple[Diagnostic, ...]

    @cached_property
    def names(self) -> Occurrences:
        """Where its names stand."""
        return occurrences(self.document, self.lines)

    @property
    def lines(self) -> range:
        """Its lines in the document, from 0."""
        return lines_of(self.found)

    @cached_property
    def definitions(self) -> dict[Position, Definition]:
        """The variables of the text, by the place of their names."""
        found: dict[Position, Definition] = {}
        for name, fn in (self.module.relax_functions if self.module is not None else {}).items():
            for var, binding in _variables(fn):
                if var.span is None or var.span.source is not self.source:
                    continue
                if binding is not None and var.span is binding.value.span:
                    continue  # normal form added it for a part of an expression
                written = self._name(var)
                if written:
                    start = range_of(var.span).start
                    place = Range(start, Position(start.line, start.column + len(written)))
                    found.setdefault(start, Definition(var, written, name, binding, place))
        return found

    @cached_property
    def by_line(self) -> dict[int, list[Definition]]:
        """The variables that each line of the document defines."""
        lines: dict[int, list[Definition]] = {}
        for place, definition in sorted(self.definitions.items()):
            lines.setdefault(place.line, []).append(definition)
        return lines

    def _name(self, var: e.Var) -> str:
        """A variable as the text at its place names it: what a branch binds has a longer name in the module. Empty for other texts."""
        assert var.span is not None  # the caller asks
        match = _NAME.match(self.source.line(var.span.line), var.span.column)
        written = "" if match is None else match[0]
        return written if written == var.name or _OF_BRANCH.fullmatch(var.name.removeprefix(written)) else ""


def _variables(fn: e.Function) -> Iterator[tuple[e.Var, e.Binding | None]]:
    """The variables of a function and of those nested in it."""
    for param in fn.params:
        yield param, None
    for binding in facts(fn).bindings:
        if binding.var is not None:
            yield binding.var, binding
        if type(binding.value) is e.Function:
            for param in binding.value.params:
                yield param, None


def lines_of(found: Found) -> range:
    """The lines of a program in its document, from 0."""
    return range(found.first - 1, found.last)


@dataclass(frozen=True, slots=True)
class Rules:
    """How programs are checked: the profile, and if operators that nobody declared are only warned of."""

    profile: str = "spec"
    allow_unknown_ops: bool = False


def checked_region(found: Found, document: Document, rules: Rules) -> Region:
    """A program of a document, read and checked."""
    source = found.source(document.name)
    seen = examined(source, rules.profile, allow_unknown_ops=rules.allow_unknown_ops)
    return Region(document, found, source, seen.module, seen.problems)


@dataclass(frozen=True)
class Checked:
    """A document with its programs, checked."""

    document: Document
    regions: tuple[Region, ...] = ()

    @property
    def problems(self) -> list[Diagnostic]:
        """The problems of all of its programs."""
        return [problem for region in self.regions for problem in region.problems]

    def region_at(self, line: int) -> Region | None:
        """The program that a line belongs to."""
        return next((region for region in self.regions if line in region.lines), None)


def check(document: Document, rules: Rules, before: Checked | None = None) -> Checked:
    """A document with its programs; one of an earlier check stays the same object if its lines and what is around them did not change."""
    known = {} if before is None else {key_of(region.found): region for region in before.regions}
    regions = []
    for found in programs(document.plain):
        same = known.get(key_of(found))
        regions.append(checked_region(found, document, rules) if same is None else same)
    return Checked(document, tuple(regions))


def unchecked(document: Document) -> Checked:
    """A document with its programs for questions about names alone: nothing is read as a module."""
    found = programs(document.plain)
    return Checked(
        document, tuple([Region(document, item, item.source(document.name), None, ()) for item in found])
    )


def key_of(found: Found) -> tuple[object, ...]:
    """What decides how a program is read, and where its problems stand."""
    around = found.around
    parts = (around.values, around.computed, around.lengths)
    return (
        found.first,
        found.body,
        found.margins,
        found.name,
        *[repr(sorted(part.items())) for part in parts],
    )
