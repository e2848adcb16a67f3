"""The names that a text defines around its programs: literals and arithmetic on them. Nothing is executed."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_explorer.core.ir.dtype import INT64, DType, dtype
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.python_tree import python_tree

# -- excerpt ---------------------------------------------------------------------------------------------------------
# A program cut out of a larger text, with the values that the text around it gives to names.


Literal: TypeAlias = "int | float | str | bool | tuple[Literal, ...] | None"
"""A value that a text writes as a literal."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a text says of names outside of its programs.

    `values` are literals and arithmetic on them. `computed` are names whose values only running the text would tell, each with
    the reason as a phrase: `line 4 computes it: N = size()`. `lengths` are shape variables.
    """

    values: Mapping[str, Literal] = field(default_factory=dict)
    computed: Mapping[str, str] = field(default_factory=dict)
    lengths: Mapping[str, DType] = field(default_factory=dict)


NOTHING = Surroundings()


class Excerpt(Source):
    """A part of a file that the parser reads, behind `above` lines.

    `margins` are the numbers of columns that were cut off its lines: one for all, or one for each.
    """

    def __init__(
        self,
        text: str,
        filename: str,
        above: int,
        margins: int | Sequence[int] = 0,
        around: Surroundings = NOTHING,
    ) -> None:
        super().__init__(text, filename, above)
        self._margins, self.around = margins, around

    def margin(self, line: int) -> int:
        """The number of columns that were cut off a line of the file."""
        if isinstance(self._margins, int):
            return self._margins
        line -= self.above
        return self._margins[line - 1] if 0 < line <= len(self._margins) else 0


# -- surroundings ----------------------------------------------------------------------------------------------------


_MOST = 256_000  # characters before a program that are read; a log has no definitions far from it
_LINE = re.compile(r"^([ \t]*)([^\s#][^\n]*)$", re.MULTILINE)
_ASSIGNED = re.compile(r"(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*(?::[^=\n]{1,80})?=(?!=)[ \t]*(.+)")
_HEADER = re.compile(r"(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\((.*)")
_LOOP = re.compile(r"(?:async[ \t]+)?for[ \t]+(.+?)[ \t]+in\b")
_IMPORT = re.compile(r"(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(.+)")
_LENGTH = re.compile(
    r"(?:(?:typing\.)?TypeVar|(?:tvm\.)?(?:tir|tirx|T)\.(?:Var|SizeVar|var))\(\s*[\"']\w+[\"']\s*(?:,\s*[\"'](\w+)[\"']\s*)?\)$"
)
_SCALAR = re.compile(r"T\.(u?int(?:8|16|32|64))\(\)$")
_NAME = re.compile(r"[A-Za-z_]\w*")
_STARTS = ("def ", "async ", "for ", "import ", "from ")
_LARGEST = 10_000  # characters or elements of a value
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip


class NotLiteral(Exception):
    """Only running the text would tell the value."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """A name in a block of the text: its value, its dtype if it is a length, or why it is unknown."""

    indent: int
    name: str
    value: Literal | DType = None
    reason: str = ""


class Outside:
    """The definitions outside of the programs of a text, as far as it was read."""

    def __init__(self) -> None:
        self._known: list[_Definition] = []

    def read(self, text: str, start: int, end: int, first: int) -> None:
        """Read on between two places. `first` is the number of the line at `start`."""
        if end - start > _MOST:
            cut = text.rfind("\n", start, end - _MOST) + 1 or end
            start, first = cut, first + text.count("\n", start, cut)
        for hit in _LINE.finditer(text, start, end):
            width = len(hit[1])
            while self._known and self._known[-1].indent > width:
                self._known.pop()
            if (code := hit[2])[0] not in "@)]}" and ("=" in code or code.startswith(_STARTS)):
                line = first + text.count("\n", start, hit.start())
                known = {item.name: item for item in self._known}
                self._known += _definitions(_joined(text, hit, end), width, line, known)

    def seen(self, indent: int, program: str) -> Surroundings:
        """What the names in a program mean that has this indentation: definitions of closed blocks do not count."""
        if not self._known:
            return NOTHING
        words = frozenset(_NAME.findall(program))
        visible = {item.name: item for item in self._known if item.indent <= indent and item.name in words}
        if not visible:
            return NOTHING
        known = {name: item.value for name, item in visible.items() if not item.reason}
        return Surroundings(
            {name: value for name, value in known.items() if not isinstance(value, DType)},
            {name: item.reason for name, item in visible.items() if item.reason},
            {name: value for name, value in known.items() if isinstance(value, DType)},
        )


def _joined(text: str, hit: re.Match[str], end: int) -> str:
    """A line, with those behind it that its brackets enclose."""
    line = hit[2]
    for _ in range(20):
        if sum(map(line.count, "([{")) <= sum(map(line.count, ")]}")):
            break
        at = hit.start(2) + len(line)
        stop = text.find("\n", at + 1, end)
        line = text[hit.start(2) : stop if stop >= 0 else end]
    return line


def _definitions(line: str, width: int, number: int, known: Mapping[str, _Definition]) -> list[_Definition]:
    """The names that a line defines."""
    if (hit := _HEADER.match(line)) is not None:
        names = [
            part.partition(":")[0].partition("=")[0].strip(" *)")
            for part in hit[2].rpartition(")")[0].split(",")
        ]
        reason = f"it is a parameter of {hit[1]!r} in line {number}, which is not executed"
        return [_Definition(width + 1, name, reason=reason) for name in names if _NAME.fullmatch(name)]
    if (hit := _LOOP.match(line)) is not None:
        reason = f"the loop in line {number} sets it, which is not executed"
        return [_Definition(width, name, reason=reason) for name in _NAME.findall(hit[1])]
    if (hit := _IMPORT.match(line)) is not None:
        if (hit[1] or hit[2]).split(".")[0].strip() in ("tvm", "typing", "__future__"):
            return []
        names = [part.rpartition(" as ")[2].strip(" ()") for part in hit[2].split(",")]
        reason = f"line {number} imports it, and nothing is executed"
        return [_Definition(width, name, reason=reason) for name in names if _NAME.fullmatch(name)]
    if (hit := _ASSIGNED.match(line)) is None:
        return []
    names, given = [part.strip() for part in hit[1].split(",")], _without_comment(hit[2])
    if (length := _length(given)) is not None and len(names) == 1:
        return [_Definition(width, names[0], length)]
    try:
        value = literal(given, {name: item.value for name, item in known.items() if not item.reason})
    except NotLiteral:
        reason = f"line {number} computes it, and nothing is executed: {line.strip()[:60]}"
        return [_Definition(width, name, reason=reason) for name in names]
    if len(names) == 1:
        return [_Definition(width, names[0], value)]
    parts = value if isinstance(value, tuple) and len(value) == len(names) else ()
    return [_Definition(width, name, part) for name, part in zip(names, parts, strict=False)]


def _without_comment(text: str) -> str:
    return text.partition("  #")[0].strip()


def _length(text: str) -> DType | None:
    """The dtype of a shape variable that an expression makes, or None."""
    if (hit := _LENGTH.match(text)) is not None:
        try:
            return dtype(hit[1]) if hit[1] else INT64
        except ValueError:
            return None
    hit = _SCALAR.match(text)
    return dtype(hit[1]) if hit is not None else None


def literal(text: str, known: Mapping[str, Any]) -> Literal:
    """The value of an expression of literals, arithmetic on them, and `known` names. Raises NotLiteral."""
    try:
        return _value(python_tree(text, "eval").body, known)
    except (SyntaxError, ValueError, ArithmeticError, TypeError, RecursionError, MemoryError):
        raise NotLiteral from None


def _value(node: ast.expr, known: Mapping[str, Any]) -> Literal:
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bool, type(None))):
        return _bounded(node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        return _bounded(tuple([_value(item, known) for item in node.elts]))
    if isinstance(node, ast.Name) and node.id in known and not isinstance(known[node.id], DType):
        found: Literal = known[node.id]
        return found
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand, known)
        if isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _calculated(node.op, _value(node.left, known), _value(node.right, known))
    raise NotLiteral


def _calculated(op: ast.operator, left: Literal, right: Literal) -> Literal:
    """The result of an operation on numbers, or on texts and tuples that it joins or repeats."""
    small = isinstance(right, (int, float)) and abs(right) <= 64
    if isinstance(op, (ast.Pow, ast.LShift)) and not small:
        raise NotLiteral
    if isinstance(op, ast.Mult):
        sizes = [len(item) for item in (left, right) if isinstance(item, (str, tuple))]
        if sizes and sizes[0] * max(item for item in (left, right) if isinstance(item, int)) > _LARGEST:
            raise NotLiteral
    elif isinstance(op, ast.Mod) and isinstance(left, str):
        raise NotLiteral  # a format may be as wide as it likes
    result: Literal = _OPERATORS[type(op)](left, right)
    return _bounded(result)


def _bounded(value: Literal) -> Literal:
    if isinstance(value, (str, tuple)) and len(value) > _LARGEST:
        raise NotLiteral
    if isinstance(value, int) and value.bit_length() > 1024:
        raise NotLiteral
    return value


# -- outer values ----------------------------------------------------------------------------------------------------
# Puts the values of names outside of a program in the places that mention them.


def with_values(tree: ast.Module, values: Mapping[str, Literal]) -> ast.Module:
    """A tree in which literals replace names. A name that a function binds itself keeps its meaning there."""
    return tree if not values else _Replacement(values).visit(tree)


class _Replacement(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Literal]) -> None:
        self.values = dict(values)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Parameters, variables and nested functions hide a value in the body. Annotations are read outside of it."""
        outer = self.values
        node.args = self.visit(node.args)
        node.returns = None if node.returns is None else self.visit(node.returns)
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        own = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
        own |= {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
        own |= {item.name for item in ast.walk(node) if isinstance(item, ast.FunctionDef)}
        self.values = {name: value for name, value in outer.items() if name not in own}
        node.body = [self.visit(item) for item in node.body]
        self.values = outer
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name becomes its value."""
        if not isinstance(node.ctx, ast.Load) or node.id not in self.values:
            return node
        literal = python_tree(repr(self.values[node.id]), "eval").body
        for part in ast.walk(literal):
            ast.copy_location(part, node)
        return literal


# -- written passes --------------------------------------------------------------------------------------------------
# The passes that a script applies: calls such as `relax.transform.FuseOps(fuse_opt_level=0)`, in order. Nothing is
# executed.


_CALL = re.compile(
    r"(?<![\w.])(?:tvm\.)?(?:relax|tirx?|s_tir|dlight|dl)\.transform\.(?P<name>[A-Z]\w*)\("
    r"|(?<![\w.])(?:tvm\.)?relax\.(?:get_pipeline\(\s*(?P<quote>[\"'])(?P<pipeline>\w+)(?P=quote)|pipeline\.(?P<function>\w+)_pipeline\()"
)
_IMPORTED = re.compile(
    r"^[ \t]*from[ \t]+tvm\.relax\.transform[ \t]+import[ \t]+\(?([\w,\s]+)\)?", re.MULTILINE
)
_LONGEST = 2_000  # characters of a call


@dataclass(frozen=True, slots=True)
class WrittenPass:
    """A pass as a script calls it: its name, its arguments, and its line. `unknown` are arguments that only running it would tell."""

    name: str
    line: int
    args: tuple[Literal, ...] = ()
    options: tuple[tuple[str, Literal], ...] = ()
    unknown: tuple[str, ...] = ()


def written_passes(text: str, programs: Sequence[tuple[int, int]]) -> tuple[WrittenPass, ...]:
    """The passes that a text calls outside of its programs, whose first and last lines are given."""
    if "transform" not in text and "pipeline" not in text:
        return ()
    inside = {line for first, last in programs for line in range(first, last + 1)}
    imported = {name for hit in _IMPORTED.finditer(text) for name in re.findall(r"\b[A-Z]\w*", hit[1])}
    pattern = _CALL
    if imported:
        names = "|".join(map(re.escape, sorted(imported)))
        pattern = re.compile(rf"{_CALL.pattern}|(?<![\w.])(?P<bare>{names})\(")
    found, start, line = [], 0, 1
    for hit in pattern.finditer(text):
        line, start = line + text.count("\n", start, hit.start()), hit.start()
        before = text[text.rfind("\n", 0, hit.start()) + 1 : hit.start()]
        if line in inside or "#" in before:
            continue
        groups = hit.groupdict()
        pipeline = groups["pipeline"] or groups["function"]
        if pipeline is not None:
            found.append(WrittenPass(pipeline, line))
        else:
            found.append(_called(text, hit.start(), groups["name"] or groups.get("bare") or "", line))
    return tuple(found)


def _called(text: str, start: int, name: str, line: int) -> WrittenPass:
    """A call with its arguments."""
    end = text.find("(", start)
    depth = 0
    for place in range(end, min(len(text), end + _LONGEST)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            end = place + 1
            break
    try:
        call = python_tree(text[start:end], "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return WrittenPass(name, line, unknown=("its arguments",))
    if not isinstance(call, ast.Call):
        return WrittenPass(name, line)
    args, options, unknown = [], [], []
    for number, node in enumerate(call.args):
        try:
            args.append(literal(ast.unparse(node), {}))
        except NotLiteral:
            unknown.append(f"argument {number}: {ast.unparse(node)[:40]}")
    for item in call.keywords:
        try:
            options.append((item.arg or "**", literal(ast.unparse(item.value), {})))
        except NotLiteral:
            unknown.append(f"{item.arg or '**'}={ast.unparse(item.value)[:40]}")
    return WrittenPass(name, line, tuple(args), tuple(options), tuple(unknown))
