"""Where the names of a program stand: definitions and uses of variables, functions, kernels and shape variables.

The text may be half typed, so that its tokens are read, not a tree. A name that is bound again is another symbol from then on;
both branches of an `if` bind the same one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from relax_explorer.core.syntax.names import RESERVED
from relax_explorer.ui.editor.document import Document, Position, Range
from relax_explorer.ui.editor.logical_lines import LogicalLine, Token, logical_lines

VARIABLE, PARAMETER, LENGTH, FUNCTION, KERNEL, MODULE = (
    "variable", "parameter", "shape variable", "function", "kernel", "module",
)  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")
_SCALAR = re.compile(r"u?int(?:8|16|32|64)|Var|SizeVar|var|TypeVar")
_WITH_LENGTHS = frozenset({"Tensor", "Shape", "DTensor", "Prim"})
_KEYWORDS = frozenset(
    {"False", "None", "True", "and", "as", "else", "for", "if", "in", "is", "not", "or", "return", "with"}
)


@dataclass(eq=False)
class Symbol:
    """What a name stands for: its kind, the function that it belongs to (empty for those of the module), and how that is nested."""

    name: str
    kind: str
    function: str = ""
    same: Symbol | None = None

    @property
    def root(self) -> Symbol:
        """The symbol that stands for all that are the same."""
        found = self
        while found.same is not None:
            found = found.same
        return found


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place of a name."""

    symbol: Symbol
    range: Range
    is_definition: bool


@dataclass(frozen=True)
class Occurrences:
    """All occurrences of a program, in order, and the heads of its functions: name, kind, first and last line."""

    items: tuple[Occurrence, ...]
    functions: tuple[FunctionLines, ...]
    class_name: str = ""

    @cached_property
    def _starts(self) -> list[Position]:
        return [item.range.start for item in self.items]

    @cached_property
    def by_symbol(self) -> dict[Symbol, list[Occurrence]]:
        """The occurrences of each symbol, those of one that is the same together."""
        found: dict[Symbol, list[Occurrence]] = {}
        for item in self.items:
            found.setdefault(item.symbol.root, []).append(item)
        return found

    def at(self, position: Position) -> Occurrence | None:
        """The occurrence at a position, or right before it."""
        number = bisect_right(self._starts, position) - 1
        item = self.items[number] if number >= 0 else None
        return item if item is not None and item.range.holds(position) else None

    def of(self, item: Occurrence) -> list[Occurrence]:
        """All occurrences of what stands there."""
        return self.by_symbol[item.symbol.root]

    def definition(self, item: Occurrence) -> Occurrence | None:
        """Where a symbol is defined: of several places the last one before the use, else the first."""
        places = [other for other in self.of(item) if other.is_definition]
        before = [other for other in places if other.range.start <= item.range.start]
        return before[-1] if before else next(iter(places), None)

    def function_at(self, line: int) -> FunctionLines | None:
        """The innermost function around a line."""
        around = [fn for fn in self.functions if fn.first <= line <= fn.last]
        return max(around, key=lambda fn: fn.first, default=None)


@dataclass
class FunctionLines:
    """A function in the text: its kind, the place of its name, its lines (decorators included), and the function around it."""

    name: str
    kind: str
    place: Range
    first: int
    last: int
    outer: str = ""


@dataclass
class _Scope:
    """The names of a function. `head` is the column of its `def`; None for the scope of the module."""

    names: dict[str, Symbol]
    outer: _Scope | None
    head: int
    lines: FunctionLines | None = None
    branches: list[_Branch] = field(default_factory=list)

    @property
    def path(self) -> str:
        """The names of the functions around, with dots."""
        before = "" if self.outer is None else self.outer.path
        own = "" if self.lines is None else self.lines.name
        return f"{before}.{own}" if before else own

    def bind(self, name: str, symbol: Symbol) -> None:
        if self.branches:
            self.branches[-1].before.setdefault(name, self.names.get(name))
        self.names[name] = symbol


@dataclass
class _Branch:
    """A branch that is being read: what its names meant before, and what the branch before it bound."""

    indent: int
    before: dict[str, Symbol | None] = field(default_factory=dict)
    first: dict[str, Symbol] = field(default_factory=dict)


def occurrences(document: Document, lines: range) -> Occurrences:
    """The occurrences in the lines of a program."""
    walk = _Walk(list(logical_lines(document, lines)))
    walk.run()
    items = sorted(walk.found, key=lambda item: item.range)
    return Occurrences(tuple(items), tuple(walk.functions), walk.class_name)


class _Walk:
    def __init__(self, lines: Sequence[LogicalLine]) -> None:
        self.lines = lines
        self.found: list[Occurrence] = []
        self.functions: list[FunctionLines] = []
        self.class_name = ""
        self.module = _Scope({}, None, -1)
        self.scope = self.module
        self._decorator = ""
        self._decorated = -1
        self._members = {"cls", "self"}

    def run(self) -> None:
        """Read all lines. Functions of the module may be used above their definition."""
        kind = ""
        for line in self.lines:
            if line.first == "@":
                kind = _dotted(line.tokens[1:])
            elif line.first in ("class", "def") and len(line.tokens) > 1:
                self._declare(line, kind)
                kind = ""
        for line in self.lines:
            self._leave(line)
            self._line(line)
            if self.scope.lines is not None:
                self._reach(line.tokens[-1].line + line.tokens[-1].text.count("\n"))

    def _declare(self, line: LogicalLine, decorator: str) -> None:
        name = line.tokens[1].text
        if line.first == "class":
            self.class_name = name
            self._members.add(name)
            self.module.names[name] = Symbol(name, MODULE)
            self._class_indent = line.indent
        elif line.indent <= self._member_indent:
            self.module.names[name] = Symbol(name, _kind(decorator))

    _class_indent = -1

    @property
    def _member_indent(self) -> int:
        """The most columns before a function of the module."""
        return self._class_indent + 4 if self._class_indent >= 0 else self.lines[0].indent

    def _reach(self, line: int) -> None:
        """Extend the functions around the present place to a line."""
        scope: _Scope | None = self.scope
        while scope is not None and scope.lines is not None:
            scope.lines.last = max(scope.lines.last, line)
            scope = scope.outer

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _leave(self, line: LogicalLine) -> None:
        """Leave the functions and branches that end before a line."""
        while self.scope.outer is not None and line.indent <= self.scope.head:
            self._leave_branches(-1)
            self.scope = self.scope.outer
        keeps = line.indent if line.first in ("else", "elif") else line.indent - 1
        self._leave_branches(keeps)

    def _leave_branches(self, indent: int) -> None:
        """Leave the branches of an `if` in a column right of `indent`."""
        while self.scope.branches and self.scope.branches[-1].indent > indent:
            branch = self.scope.branches.pop()
            bound = {name: self.scope.names[name] for name in branch.before}
            for name, symbol in branch.first.items():
                other = bound.get(name)
                if other is not None and other.root is not symbol.root:
                    other.root.same = symbol.root
                self.scope.bind(name, symbol)
            for name, before in branch.before.items():
                if self.scope.branches:
                    self.scope.branches[-1].before.setdefault(name, before)

    def _else(self, line: LogicalLine) -> None:
        branches = self.scope.branches
        if not branches or branches[-1].indent != line.indent:
            return
        branch = branches.pop()
        first = {**branch.first, **{name: self.scope.names[name] for name in branch.before}}
        for name, before in branch.before.items():
            if before is None:
                self.scope.names.pop(name, None)
            else:
                self.scope.names[name] = before
        branches.append(_Branch(line.indent, {}, first))

    # -- lines ----------------------------------------------------------------------------------------------------

    def _line(self, line: LogicalLine) -> None:
        tokens, first = line.tokens, line.first
        if first == "@":
            self._decorator = _dotted(tokens[1:])
            self._decorated = tokens[0].line if self._decorated < 0 else self._decorated
            self._uses(tokens[1:])
        elif first == "class" and len(tokens) > 1:
            self._write(tokens[1], self.module.names[tokens[1].text])
            self._decorated, self._decorator = -1, ""
        elif first == "def" and len(tokens) > 1:
            self._function(line)
        elif first in ("from", "import"):
            return
        elif first == "for":
            stop = next((n for n, token in enumerate(tokens) if token.text == "in"), len(tokens))
            self._uses(tokens[stop:])
            self._targets(tokens[1:stop], VARIABLE)
        else:
            if first in ("else", "elif"):
                self._else(line)
            self._statement(tokens)
            if first == "if":
                self.scope.branches.append(_Branch(line.indent))

    def _function(self, line: LogicalLine) -> None:
        name, kind = line.tokens[1], _kind(self._decorator)
        is_nested = self.scope.lines is not None
        symbol = (
            Symbol(name.text, FUNCTION, self.scope.path) if is_nested else self.module.names.get(name.text)
        )
        symbol = symbol or Symbol(name.text, kind)
        self.scope.bind(name.text, symbol)
        self._write(name, symbol)
        first = self._decorated if self._decorated >= 0 else name.line
        lines = FunctionLines(name.text, kind, name.range, first, name.line, self.scope.path)
        self.functions.append(lines)
        self.scope = _Scope({}, self.scope, line.indent, lines)
        self._decorated, self._decorator = -1, ""
        self._head(line.tokens[2:])

    def _head(self, tokens: Sequence[Token]) -> None:
        """The parameters of a function: names at the beginning of each part in its brackets, the rest are annotations."""
        rest: list[Token] = []
        end = next(
            (n for n, token in enumerate(tokens) if token.text == ")" and token.depth == 0), len(tokens)
        )
        for number, token in enumerate(tokens):
            before = tokens[number - 1].text if number else ""
            if token.kind == "name" and number < end and token.depth == 1 and before in ("(", ",", "*", "["):
                kind = LENGTH if before == "[" or _is_scalar(tokens[number + 2 : number + 5]) else PARAMETER
                symbol = Symbol(token.text, kind, self.scope.path)
                self.scope.bind(token.text, symbol)
                self._write(token, symbol)
            else:
                rest.append(token)
        self._uses(rest, in_head=True)

    def _statement(self, tokens: Sequence[Token]) -> None:
        equals = [n for n, token in enumerate(tokens) if token.text == "=" and token.depth == 0]
        if not equals:
            with_name = [n for n, token in enumerate(tokens) if token.text == "as" and token.depth == 0]
            cut = with_name[0] if with_name else len(tokens)
            self._uses(tokens[:cut])
            self._targets(tokens[cut + 1 :], VARIABLE)
            return
        left, right = tokens[: equals[0]], tokens[equals[0] + 1 :]
        colon = next((n for n, token in enumerate(left) if token.text == ":" and token.depth == 0), len(left))
        self._uses(left[colon:])
        if _is_scalar(right):
            self._targets(left[:colon], LENGTH)  # first, for a text behind it may name the same
            self._uses(right, in_head=True)
        else:
            self._uses(right)
            self._targets(left[:colon], VARIABLE)

    def _targets(self, tokens: Sequence[Token], kind: str) -> None:
        """Names that are bound. What has an index or a field is read."""
        for number, token in enumerate(tokens):
            behind = tokens[number + 1].text if number + 1 < len(tokens) else ""
            if token.kind != "name" or token.text in _KEYWORDS:
                continue
            if behind in ("[", ".") or token.depth > 1 or (token.depth and tokens[0].text not in "(["):
                self._uses(tokens[number:])
                return
            known = self.scope.names.get(token.text)
            if kind == LENGTH and known is not None and known.kind == LENGTH:
                self._write(token, known)
                continue
            symbol = Symbol(token.text, kind, self.scope.path)
            self.scope.bind(token.text, symbol)
            self._write(token, symbol)

    # -- uses -----------------------------------------------------------------------------------------------------

    def _uses(self, tokens: Sequence[Token], in_head: bool = False) -> None:
        brackets: list[str] = []  # what each open bracket belongs to
        for number, token in enumerate(tokens):
            before = tokens[number - 1].text if number else ""
            if token.kind == "name":
                behind = tokens[number + 1].text if number + 1 < len(tokens) else ""
                if behind != "=" or not token.depth:
                    self._use(token, before, tokens[number - 2].text if number > 1 else "")
            elif token.kind == "string":
                if _holds_lengths(brackets, before) or (in_head and "TypeVar" in brackets):
                    self._lengths(token)
            elif token.text in ("(", "[", "{"):
                brackets.append(before if number and tokens[number - 1].kind == "name" else "")
            elif token.text in (")", "]", "}") and brackets:
                brackets.pop()

    def _use(self, token: Token, before: str, owner: str) -> None:
        if token.text in _KEYWORDS or (token.text in RESERVED and token.text != "Module"):
            return
        if before == ".":
            symbol = self.module.names.get(token.text) if owner in self._members else None
        else:
            symbol = self._seen(token.text)
        if symbol is not None:
            self.found.append(Occurrence(symbol, token.range, False))

    def _seen(self, name: str) -> Symbol | None:
        scope: _Scope | None = self.scope
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def _lengths(self, token: Token) -> None:
        """The shape variables in a text such as "n" or "n * 2"."""
        for match in _WORD.finditer(token.text, 1):
            name = match[0]
            symbol = self._seen(name)
            is_new = symbol is None or symbol.kind not in (LENGTH, PARAMETER)
            if symbol is None or is_new:
                symbol = Symbol(name, LENGTH, self.scope.path)
                self.scope.bind(name, symbol)
            start = Position(token.line, token.column + match.start())
            self.found.append(
                Occurrence(symbol, Range(start, Position(start.line, start.column + len(name))), is_new)
            )

    def _write(self, token: Token, symbol: Symbol) -> None:
        self.found.append(Occurrence(symbol, token.range, True))


def _kind(decorator: str) -> str:
    return KERNEL if decorator.endswith("prim_func") else FUNCTION


def _dotted(tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    for token in tokens:
        if token.kind != "name" and token.text != ".":
            break
        parts.append(token.text)
    return "".join(parts)


def _is_scalar(tokens: Sequence[Token]) -> bool:
    """True for `T.int64()`, `T.int64` and `TypeVar("n")`: what declares a shape variable."""
    words = list(_names(tokens))
    if words[:1] == ["typing"] or words[:1] == ["T"]:
        return len(words) > 1 and _SCALAR.fullmatch(words[1]) is not None and len(tokens) <= 8
    return words[:1] == ["TypeVar"]


def _names(tokens: Sequence[Token]) -> Iterator[str]:
    return (token.text for token in tokens if token.kind == "name")


def _holds_lengths(brackets: Sequence[str], before: str) -> bool:
    """True for a string in the shape of an annotation: `R.Tensor(("n", 4))`, `R.Shape(["n"])`, `R.Prim(value="n")`."""
    if not brackets:
        return False
    if brackets[-1] == "Prim":
        return before == "="
    return len(brackets) > 1 and brackets[-1] == "" and any(name in _WITH_LENGTHS for name in brackets)
