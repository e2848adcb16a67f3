"""The one door to Python's parser. It reads text and never executes it.

CPython 3.11 counts the depth of a tree in a place that all threads share: two threads that parse at once can see a SystemError for
good text. So one thread parses at a time here, and a thread of the host that met us is answered by parsing again. What Python
warns of, such as `1if`, does not apply to TVMScript.
"""

from __future__ import annotations

import ast
import keyword
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, overload

from relax_explorer.core.ir.dtype import INT64, DType, dtype
from relax_explorer.core.source import Source, Span

_TRIES = 8  # a thread of the host parses at most a few times while one text is read

_one_thread = threading.Lock()


@overload
def python_tree(text: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def python_tree(text: str, mode: Literal["eval"]) -> ast.Expression: ...


def python_tree(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.Module | ast.Expression:
    """Python's tree of a module, or of one expression with the mode "eval". Raises what `ast.parse` raises."""
    with _one_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(_TRIES):
            try:
                return ast.parse(text) if mode == "exec" else ast.parse(text, mode="eval")
            except SystemError as error:
                disturbed = error
        raise disturbed


def expression_tree(text: str) -> ast.expr:
    """Python's tree of one expression. Raises ValueError if the text is not an expression."""
    try:
        return python_tree(text.strip(), "eval").body
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(str(error)) from None


# -- written ---------------------------------------------------------------------------------------------------------
# Names and small literals in the source text.


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text. Empty for anything else."""
    if type(node) is ast.Attribute and type(node.value) is ast.Name:
        return f"{node.value.id}.{node.attr}"
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def dtype_of_prefix(name: str) -> DType | None:
    """The dtype in `T.int64`. None for other names."""
    if not name.startswith("T."):
        return None
    try:
        return dtype(name[2:])
    except ValueError:
        return None


NO_LITERAL = object()


def plain_constant(node: ast.expr, inner: Callable[[ast.expr], object]) -> object:
    """The value of a literal: a number, a text, None, or a list whose items `inner` reads. NO_LITERAL for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple([inner(item) for item in node.elts])
    operand = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None
    if isinstance(operand, ast.Constant) and isinstance(operand.value, (int, float)):
        return -operand.value
    odd = odd_float(node)
    return NO_LITERAL if odd is None else odd


def left_chain(node: ast.BinOp) -> list[ast.BinOp]:
    """`a + b + c` as its operations, the last one first: a sum of many terms nests deeply to the left."""
    operations = [node]
    while isinstance(operations[-1].left, ast.BinOp):
        operations.append(operations[-1].left)
    return operations


def elements(node: ast.expr) -> list[ast.expr]:
    """The items of a tuple or list, or the expression itself."""
    return node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]


def placed_tree(node: ast.Constant) -> ast.expr:
    """The expression in a text, at the place of the text. Raises ValueError if it holds none."""
    inner = expression_tree(str(node.value))
    for part in ast.walk(inner):
        ast.copy_location(part, node)
    return inner


def odd_float(node: ast.expr) -> float | None:
    """The value of `float("inf")`, `float("-inf")` or `float("nan")`, which have no literals. None for anything else."""
    if not isinstance(node, ast.Call) or dotted(node.func) != "float" or len(node.args) != 1 or node.keywords:
        return None
    value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return float(value) if value in ("inf", "-inf", "nan") else None


def verbatim(node: ast.expr) -> str:
    """The source text of an expression. The range of a device mesh is written such that TVM reads it back."""
    return re.sub(r"\b[RT]\.Range\(", "I.Range(", ast.unparse(node))


# -- long lines ------------------------------------------------------------------------------------------------------
# Detects statements that are too long. Python's tree takes a hundred times the memory of the text, so it is not
# built.


LONGEST = 1_000_000  # characters of a statement, without strings and comments
_MARK = re.compile(r"[\"'#()\[\]{}\n]")
_SKIPPED = re.compile(
    r'"""|\'\'\'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|\'[^\'\\\n]*(?:\\.[^\'\\\n]*)*\'|#[^\n]*', re.DOTALL
)


def first_too_long(text: str) -> int | None:
    """The start of the first statement that is too long, or None.

    Here a statement is a line, with all lines that its brackets join to it.
    """
    if len(text) <= LONGEST:
        return None
    start = depth = skipped = 0
    mark = _MARK.search(text)
    while mark is not None:
        place, end = mark.span()
        if place - start - skipped > LONGEST:
            return start
        character = mark[0]
        if character in "\"'#":
            end = _after(text, place)
            skipped += end - place
        elif character == "\n":
            if depth == 0 and text[place - 1] != "\\":
                start, skipped = end, 0
        else:
            depth = max(depth + (1 if character in "([{" else -1), 0)
        mark = _MARK.search(text, end)
    return start if len(text) - start - skipped > LONGEST else None


def _after(text: str, place: int) -> int:
    """The end of the string or comment that starts at `place`. An unclosed string ends with its line."""
    opening = _SKIPPED.match(text, place)
    if opening is None:
        close = text.find("\n", place)
        return len(text) if close < 0 else close
    if opening[0] not in ('"""', "'''"):
        return opening.end()
    close = text.find(opening[0], opening.end())
    return len(text) if close < 0 else close + 3


# -- pieces ----------------------------------------------------------------------------------------------------------
# Parses long bodies in pieces. Python's tree takes 16 KB per binding, so runs of plain lines are parsed only when
# read.
# `cut` takes the runs out of a text and puts a placeholder in the place of each, and in that of each function whose text
# was read before. The remaining skeleton has the same number of lines. A line is plain if it looks like a complete
# binding. When the run is parsed and a line is something else, `NotInPieces` is raised, and the text is read as a
# whole.


LARGE = 40_000  # characters; the tree of a shorter text is small, and as fast
_SHORTEST, MOST_AT_ONCE = 16, 32  # lines: shorter runs aren't cut out, longer ones are parsed in pieces
_BINDING = re.compile(
    r"([ \t]+)(?:[A-Za-z_]\w*(?:: \S.*)? = (?!T\.)\S.*[)\w\]]|(?:cls|R\.vm|R\.memory)\.\w+\(.*\))$"
)
_UNSAFE = re.compile(r"[#\\']|\"\"\"")


class NotInPieces(Exception):
    """Some lines that looked plain are not. The text must be read as a whole."""


class Run(ast.stmt):
    """A placeholder in a body for a run of plain lines."""

    def __init__(self, lines: list[str], first: int, indent: int) -> None:
        super().__init__()
        self.lines, self.first, self.count, self.indent = lines, first, len(lines), indent
        self.lineno, self.end_lineno = first, first + len(lines) - 1
        end = len(lines[-1].encode("utf-8", "surrogatepass"))
        self.col_offset, self.end_col_offset, self.width = indent, end, end - indent

    def targets(self) -> list[str]:
        """The names that the lines bind; empty for a call that stands alone."""
        words = [line[self.indent :].split(":")[0].split(" ")[0] for line in self.lines]
        return ["" if "(" in word else word for word in words]

    def text(self, number: int) -> str:
        """A line without its indentation."""
        return self.lines[number][self.indent :]

    def statements(self, start: int, count: int) -> list[ast.stmt]:
        """The statements of some lines, at most MOST_AT_ONCE. Raises NotInPieces."""
        part = self.lines[start : start + min(count, MOST_AT_ONCE)]
        return _statements([line[self.indent :] for line in part])


def _statements(lines: list[str]) -> list[ast.stmt]:
    try:
        body = python_tree("\n".join(lines)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotInPieces from None
    if [node.lineno for node in body] != list(range(1, len(lines) + 1)):
        raise NotInPieces
    return body


class KnownFunction(ast.stmt):
    """A placeholder in a module for a function whose text was read before."""

    def __init__(self, lines: list[str], first: int, name: str) -> None:
        super().__init__()
        self.text, self.name = "".join([f"{line}\n" for line in lines]), name
        self.first, self.count, self.indent = first, len(lines), len(lines[0]) - len(lines[0].lstrip())
        self.lineno, self.end_lineno = first, first + len(lines) - 1
        self.col_offset, self.end_col_offset, self.width = self.indent, self.indent + 1, 1


Cut = Run | KnownFunction


def cut(text: str, known: Iterable[str] = ()) -> tuple[str, dict[int, Cut]]:
    """The skeleton of `text`, and what was removed by its last line: runs, and functions of `known` texts. A short text stays whole.

    A placeholder is a name that ends where its run ends, so the surrounding tree keeps its positions.
    """
    if len(text) < LARGE:
        return text, {}
    quotes = text.find('"""')
    lines = text.split("\n")
    limit = len(lines) if quotes < 0 else text.count("\n", 0, quotes)
    found: dict[int, Cut] = {}
    for function in known:
        place = _function_at(text, function, lines)
        if place is not None:
            found[place.first + place.count - 1] = place
    _take_away(found, lines)
    runs = _runs(lines, limit)
    _take_away(runs, lines)
    return "\n".join(lines), {**found, **runs}


_NAMED = re.compile(r"\s*@[^\n]*\n\s*def (\w+)\(")


def _function_at(text: str, function: str, lines: list[str]) -> KnownFunction | None:
    """The first place where the text of a function stands. If it is none, such as a part of a longer function, the skeleton tells."""
    start, named = text.find(function), _NAMED.match(function)
    if start < 0 or named is None or text[start - 1 : start] not in ("", "\n"):
        return None
    first = text.count("\n", 0, start)
    return KnownFunction(lines[first : first + function.count("\n")], first + 1, named[1])


def _runs(lines: list[str], limit: int) -> dict[int, Cut]:
    """The runs of plain lines, by their last lines."""
    runs: dict[int, Cut] = {}
    start, indent = 0, ""
    for number in range(limit + 1):
        match = _plain(lines[number]) if number < limit else None
        if match is not None and match[1] == indent:
            continue
        if number - start >= _SHORTEST and indent:
            runs[number] = Run(lines[start:number], start + 1, len(indent))
        start, indent = number, match[1] if match is not None else ""
    return runs


def _take_away(found: Mapping[int, Cut], lines: list[str]) -> None:
    """Put a placeholder in the last line of each of them, and nothing in the others."""
    for last, item in found.items():
        lines[item.first - 1 : last] = [""] * item.count
        lines[last - 1] = " " * item.indent + "_" * item.width


def _plain(line: str) -> re.Match[str] | None:
    match = _BINDING.match(line) if len(line) <= LONGEST else None
    return match if match is not None and _UNSAFE.search(line) is None else None


def put_back(tree: ast.Module, runs: Mapping[int, Cut]) -> None:
    """Replace each placeholder in the skeleton's tree by its run. Raises NotInPieces if one is not a statement."""
    missing: dict[int, Cut] = dict(runs)
    stack: list[ast.AST] = [tree]
    while stack and missing:
        node = stack.pop()
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if not isinstance(body, list):
                continue
            for number, statement in enumerate(body):
                run = missing.get(statement.lineno)
                if run is not None and isinstance(statement, ast.Expr) and statement.col_offset == run.indent:
                    body[number] = missing.pop(statement.lineno)
                elif isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.With, ast.If)):
                    stack.append(statement)
    if missing:
        raise NotInPieces


# -- python text -----------------------------------------------------------------------------------------------------
# Rewrites constructs that TVM prints and Python's parser rejects. Every byte stays at its position.
# Shape variables in the header of a function, `def main[n](x: R.Tensor((n,)))`, need Python 3.12. A name may not be
# a Python identifier, as in `batch-size = TypeVar("batch-size")`. A name of digits is not rewritten: it reads like a
# number, and the reader of dimensions looks it up.


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


# -- part spans ------------------------------------------------------------------------------------------------------
# Spans of the operands of a call. They are not stored with nodes; the text is parsed again when a problem is
# reported.


def operand_spans(span: Span | None) -> list[Span]:
    """The spans of the operands of the call (or `a + b`) in `span`, in order. Empty if the text can't be parsed."""
    if span is None:
        return []
    text = "(" + span.text + "\n)"
    try:
        tree = expression_tree(text)
    except ValueError:
        return []
    inside = Source(text)
    return [_moved(node, inside, span) for node in _operands(tree)]


def _operands(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.Call):
        return list(tree.args)
    if isinstance(tree, ast.BinOp):
        return [tree.left, tree.right]
    if isinstance(tree, ast.Compare):
        return [tree.left, *tree.comparators]
    return [tree.operand] if isinstance(tree, ast.UnaryOp) else []


def _moved(node: ast.expr, inside: Source, span: Span) -> Span:
    """The span in the whole text of a node in the part that was parsed again, whose first line starts at the span's column."""

    def column(line: int, byte_column: int) -> int:
        inner = inside.column(line, byte_column)
        return inner + span.column - 1 if line == 1 else inner

    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset + 1
    return Span(
        span.source,
        span.line + node.lineno - 1,
        column(node.lineno, node.col_offset),
        span.line + end_line - 1,
        column(end_line, end_column),
    )


# -- elsewhere -------------------------------------------------------------------------------------------------------
# Where a name is bound that is not defined at a place: below it, or in a dataflow block that has ended.


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A binding of a name that a place does not see: the sentence about it, what helps, and its place."""

    text: str
    help: str
    span: Span


def elsewhere(source: Source, fn: ast.FunctionDef | None, name: str, line: int) -> Elsewhere | None:
    """The binding of `name` in `fn` that a use in `line` of the file does not see; None if there is none."""
    found = [] if fn is None else list(_bindings(fn.body, name, None))
    below = [(at, column) for at, column, _ in found if at + source.above > line]
    ended = [(at, column, block) for at, column, block in found if block is not None]
    if below and len(below) == len(found):
        at, column = below[0]
        text = f"{name!r} is bound only in line {at + source.above}, below"
        return Elsewhere(text, "Move the binding above its use.", source.at(at, column))
    for at, column, block in ended:
        last = (block.end_lineno or block.lineno) + source.above
        if at + source.above < line and last < line:
            text = f"{name!r} ends with its dataflow block in line {last}"
            return Elsewhere(text, f"Name it in R.output({name}).", source.at(at, column))
    return None


def _bindings(
    body: list[ast.stmt], name: str, block: ast.With | None
) -> Iterator[tuple[int, int, ast.With | None]]:
    """The lines and columns that bind a name, each with the dataflow block around it. Nested functions have their own names."""
    for statement in body:
        if isinstance(statement, Run):
            for number, target in enumerate(statement.targets()):
                if target == name:
                    yield statement.first + number, statement.indent, block
        elif isinstance(statement, ast.With):
            yield from _bindings(statement.body, name, statement)
        elif isinstance(statement, ast.If):
            yield from _bindings([*statement.body, *statement.orelse], name, block)
        elif name in _targets(statement):
            yield statement.lineno, statement.col_offset, block


def _targets(statement: ast.stmt) -> list[str]:
    """The names that a statement binds itself."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    bound = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    items = [item for target in bound for item in getattr(target, "elts", [target])]
    return [item.id for item in items if isinstance(item, ast.Name)]
