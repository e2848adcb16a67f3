"""A program after passes, as texts beside each other and as text for its place in the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from relax_explorer.core import ops
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.passes.pipeline import run, steps
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import diff_modules, with_groups
from relax_explorer.core.syntax.printer import printed_module
from relax_explorer.ui.editor.document import Position, Range, TextEdit
from relax_explorer.ui.editor.occurrences import FunctionLines
from relax_explorer.ui.editor.regions import Region
from relax_explorer.viz.stage_sentence import clauses, joined


@dataclass(frozen=True, slots=True)
class Stages:
    """A program before and after a pipeline: both texts, what was done in a sentence, and the problems of the passes."""

    title: str
    before: str
    after: str
    sentence: str
    problems: tuple[Diagnostic, ...]

    @property
    def difference(self) -> str:
        """The changed lines, as `diff -u` writes them."""
        lines = unified_diff(
            self.before.splitlines(), self.after.splitlines(), "before", self.title, lineterm="", n=3
        )
        return "\n".join(lines)


def applied(region: Region, pipeline: str, profile: str = "spec") -> Stages:
    """A program after passes. Raises Failure for an unknown pass or option, for errors of the program, and for a pass that fails."""
    module = _sound(region)
    after, problems = _after(module, pipeline, profile)
    difference = with_groups(diff_modules(module, after), module, after)
    sentence = "Nothing changed." if difference.is_empty else joined(clauses(module, after, difference))
    return Stages(pipeline, _text(module), _text(after), sentence, problems)


def _sound(region: Region) -> IRModule:
    errors = [item for item in region.problems if item.is_error]
    if errors or region.module is None:
        raise Failure(*errors)
    return region.module


def _after(module: IRModule, pipeline: str, profile: str) -> tuple[IRModule, tuple[Diagnostic, ...]]:
    problems: list[Diagnostic] = []
    for outcome in run(module, steps(pipeline, profile)):
        outcome.raise_errors()
        problems += outcome.problems
        module = outcome.module
    return module, tuple(problems)


def _text(module: IRModule) -> str:
    return printed_module(module, metadata=False).text


# -- edits -----------------------------------------------------------------------------------------------------------


def normalized_function(region: Region, fn: FunctionLines) -> list[TextEdit]:
    """The edit that writes a function in normal form. Raises Failure for errors of the program."""
    module = _sound(region)
    return [*_declarations(region, module, [fn.name]), _replaced(region, fn, _lines(module, fn.name))]


def legalized(region: Region, operator: str = "") -> list[TextEdit]:
    """The edits that replace an operator by its kernels in the whole program; without one, all operators. Raises Failure."""
    module = _sound(region)
    kept = [name for name in ops.names() if name != f"relax.{operator}"] if operator else []
    step = steps("LegalizeOps")[0]
    step.options["skip"] = tuple(kept)
    problems: list[Diagnostic] = []
    after = module
    for outcome in run(module, [step]):
        outcome.raise_errors()
        problems, after = list(outcome.problems), outcome.module
    if after is module:
        raise Failure(*problems)
    return list(_edits(region, module, after))


def _edits(region: Region, before: IRModule, after: IRModule) -> Iterator[TextEdit]:
    """The edits that make one module of another: functions that changed are written anew, new ones stand behind the last."""
    functions = {fn.name: fn for fn in region.names.functions if not fn.outer}
    changed = [name for name in functions if _is_changed(name, before, after)]
    added = [name for name in after.functions if name not in before.functions]
    yield from _declarations(region, after, [*changed, *added])
    for name in changed:
        yield _replaced(region, functions[name], _lines(after, name))
    if added and functions:
        last = max(functions.values(), key=lambda fn: fn.last)
        margin = " " * _margin(region, last)
        texts = ["\n".join(f"{margin}{line}".rstrip() for line in _lines(after, name)) for name in added]
        end = Position(last.last, len(region.document.line(last.last)))
        yield TextEdit(Range(end, end), "".join(f"\n\n{text}" for text in texts))


def _is_changed(name: str, before: IRModule, after: IRModule) -> bool:
    new, old = after.functions.get(name), before.functions.get(name)
    return new is not None and old is not None and new is not old and not structural_equal(new, old)


_DECLARATION = re.compile(r'(\w+) = TypeVar\("')


def _declarations(region: Region, module: IRModule, names: list[str]) -> Iterator[TextEdit]:
    """The edit that declares above the module the shape variables that written functions name and the text does not declare there."""
    printed = printed_module(module, metadata=False)
    declared = [match[1] for line in printed.lines if (match := _DECLARATION.match(line.text)) is not None]
    own = {item.symbol.name for item in region.names.items if item.is_definition and not item.symbol.function}
    words = {word for name in names for line in _lines(module, name) for word in re.findall(r"\w+", line)}
    missing = [name for name in declared if name not in own and name in words]
    if not missing:
        return
    has_import = re.search(
        r"^\s*(?:from typing import .*TypeVar|import typing)", region.document.plain, re.MULTILINE
    )
    head = next(
        line for line in region.lines if region.document.line(line).lstrip().startswith(("@", "class "))
    )
    margin = region.document.line(head)[
        : len(region.document.line(head)) - len(region.document.line(head).lstrip())
    ]
    lines = ["from typing import TypeVar"] * (has_import is None) + [
        f'{name} = TypeVar("{name}")' for name in missing
    ]
    place = Position(head, 0)
    yield TextEdit(Range(place, place), "".join(f"{margin}{line}\n" for line in lines))


def _replaced(region: Region, fn: FunctionLines, lines: list[str]) -> TextEdit:
    margin = _margin(region, fn)
    indented = [f"{' ' * margin}{line}".rstrip() if number else line for number, line in enumerate(lines)]
    start, end = Position(fn.first, margin), Position(fn.last, len(region.document.line(fn.last)))
    return TextEdit(Range(start, end), "\n".join(indented))


def _margin(region: Region, fn: FunctionLines) -> int:
    line = region.document.line(fn.first)
    return len(line) - len(line.lstrip())


def _lines(module: IRModule, name: str) -> list[str]:
    """The printed lines of a function without the indentation of a class. Raises Failure if it has constants that only metadata hold."""
    printed = printed_module(module, metadata=False)
    lines = [line.text[4:] for line in printed.lines if line.function == name]
    if any('metadata["' in line for line in lines):
        text = f"{name} has constants that stand in metadata"
        raise Failure(Diagnostic(codes.BAD_METADATA, text))
    return lines
