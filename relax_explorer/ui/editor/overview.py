"""What an editor shows along a whole program: types of bindings, functions as an outline, folds, coloured tokens, and commands above functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.editor.document import Position, Range
from relax_explorer.ui.editor.hover_text import kernel_signature, signature
from relax_explorer.ui.editor.logical_lines import LogicalLine, logical_lines
from relax_explorer.ui.editor.occurrences import (
    FUNCTION,
    KERNEL,
    LENGTH,
    MODULE,
    PARAMETER,
    FunctionLines,
    Occurrence,
)
from relax_explorer.ui.editor.regions import Definition, Region
from relax_explorer.viz.lexer import highlight
from relax_explorer.viz.short import short_info
from relax_explorer.viz.visible import counted

# -- types of bindings -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inlay:
    """A text that is shown behind a position and is not in the document, with what it says at length."""

    position: Position
    text: str
    full: str


def inlays(region: Region, lines: range) -> list[Inlay]:
    """The StructInfo of each binding whose text does not tell it, as the explorer's column has it."""
    first, last = max(lines.start, region.lines.start), min(lines.stop, region.lines.stop)
    shown = [item for line in range(first, last) for item in region.by_line.get(line, ())]
    return [
        Inlay(item.place.end, f": {short_info(item.info)}", f"{item.name}: {item.info}")
        for item in shown
        if is_untyped(item) and item.info is not None
    ]


def is_untyped(item: Definition) -> bool:
    """True for the variable of a binding whose text tells no StructInfo of it."""
    binding = item.binding
    return (
        type(binding) is e.VarBinding
        and binding.annotation is None
        and binding.var is item.var
        and item.name != "_"
    )


# -- outline ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outline:
    """An entry of the outline: a module, a function, a kernel or a variable, with those inside."""

    name: str
    kind: str
    detail: str
    range: Range
    place: Range
    inside: list[Outline] = field(default_factory=list)


def outline(region: Region) -> list[Outline]:
    """The module with its functions, and their variables."""
    names = region.names
    by_path: dict[str, Outline] = {}
    tops: list[Outline] = []
    for fn in names.functions:
        entry = Outline(fn.name, fn.kind, _detail(region, fn), _lines(region, fn.first, fn.last), fn.place)
        by_path[f"{fn.outer}.{fn.name}" if fn.outer else fn.name] = entry
        (by_path[fn.outer].inside if fn.outer in by_path else tops).append(entry)
    for item in names.items:
        symbol = item.symbol.root
        if (
            item.is_definition
            and symbol.kind not in (FUNCTION, KERNEL, MODULE)
            and symbol.function in by_path
        ):
            entry = by_path[symbol.function]
            if by_path[symbol.function].kind == FUNCTION:
                entry.inside.append(_variable(region, item))
    if not names.class_name:
        return tops
    module = next((item for item in names.items if item.symbol.kind == MODULE and item.is_definition), None)
    if module is None:
        return tops
    whole = _lines(region, region.lines.start, region.lines.stop - 1)
    return [Outline(names.class_name, MODULE, counted(len(tops), "function"), whole, module.range, tops)]


def _lines(region: Region, first: int, last: int) -> Range:
    return Range(Position(first, 0), Position(last, len(region.document.line(last))))


def _variable(region: Region, item: Occurrence) -> Outline:
    found = region.definitions.get(item.range.start)
    detail = "" if found is None else short_info(found.info)
    return Outline(item.symbol.name, item.symbol.root.kind, detail, item.range, item.range)


def _detail(region: Region, fn: FunctionLines) -> str:
    """The signature of a function or kernel of the module."""
    found = region.module.functions.get(fn.name) if region.module is not None and not fn.outer else None
    if type(found) is e.Function:
        return signature("", found)
    return kernel_signature("", found) if isinstance(found, PrimFunc) else ""


# -- folds -----------------------------------------------------------------------------------------------------------


def folds(region: Region) -> list[tuple[int, int]]:
    """The first and last lines of what can be folded: blocks, and statements of several lines."""
    found: list[tuple[int, int]] = []
    heads: list[tuple[int, int]] = []  # indentation and line of the blocks that are open
    last = region.lines.start
    for line in logical_lines(region.document, region.lines):
        while heads and line.indent <= heads[-1][0]:
            found.append((heads.pop()[1], last))
        start, end = line.tokens[0].line, _last_line(line)
        if line.tokens[-1].text == ":":
            heads.append((line.indent, start))
        elif end > start:
            found.append((start, end))
        last = end
    found += [(head, last) for _, head in heads]
    return sorted(item for item in found if item[1] > item[0])


def _last_line(line: LogicalLine) -> int:
    last = line.tokens[-1]
    return last.line + last.text.count("\n")


# -- coloured tokens -------------------------------------------------------------------------------------------------


TOKEN_TYPES = (
    "namespace", "class", "function", "method", "variable", "parameter", "typeParameter", "type", "keyword", "string",
    "number", "comment", "decorator", "operator",
)  # fmt: skip
TOKEN_MODIFIERS = ("declaration", "static")
_OF_ROLE = {
    "module": "namespace", "operator": "function", "type": "type", "function": "method", "decorator": "decorator",
}  # fmt: skip
_OF_KIND = {
    LENGTH: "typeParameter",
    PARAMETER: "parameter",
    FUNCTION: "method",
    KERNEL: "method",
    MODULE: "class",
}


@dataclass(frozen=True, slots=True, order=True)
class Colored:
    """A token with the type and modifiers that an editor colours it by, as numbers in the tables."""

    range: Range
    type: int
    modifiers: int = 0


def colored_tokens(region: Region, lines: range | None = None) -> list[Colored]:
    """The tokens that only TVMScript has: operators, types, and names by what they stand for. The rest is Python."""
    shown = (
        region.lines
        if lines is None
        else range(max(lines.start, region.lines.start), min(lines.stop, region.lines.stop))
    )
    found = {
        item.range: _of_occurrence(item) for item in region.names.items if item.range.start.line in shown
    }
    for line in shown:
        for token in _of_line(region, line):
            found.setdefault(token.range, token)
    return _apart(sorted(found.values()))


def _of_occurrence(item: Occurrence) -> Colored:
    kind = _OF_KIND.get(item.symbol.root.kind, "variable")
    return Colored(item.range, TOKEN_TYPES.index(kind), int(item.is_definition))


def _of_line(region: Region, line: int) -> Iterator[Colored]:
    column = 0
    for role, text in highlight(region.document.line(line)):
        if role in _OF_ROLE:
            place = Range(Position(line, column), Position(line, column + len(text)))
            yield Colored(place, TOKEN_TYPES.index(_OF_ROLE[role]))
        column += len(text)


def _apart(tokens: list[Colored]) -> list[Colored]:
    """The tokens without those that begin inside of one before."""
    kept: list[Colored] = []
    for token in tokens:
        if not kept or token.range.start >= kept[-1].range.end:
            kept.append(token)
    return kept


# -- commands above functions ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Lens:
    """A command above a function: its title, its name, and the function (empty: the module)."""

    range: Range
    title: str
    command: str
    function: str


_OF_FUNCTION = (("run", "run"), ("debug", "debug"), ("graph", "graph"), ("passes", "explore"))


def lenses(region: Region) -> list[Lens]:
    """What an editor offers above each Relax function of a module: run, debug, graph, and its passes in the explorer."""
    functions = [fn for fn in region.names.functions if fn.kind == FUNCTION and not fn.outer]
    return [Lens(fn.place, title, command, fn.name) for fn in functions for title, command in _OF_FUNCTION]
