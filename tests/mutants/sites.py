"""The mutants of a module, each with its function and a description that stays valid after edits elsewhere.

A mutant is identified by its number among those of its module; `tree` builds the module with this one change.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.mutants import stateful
from tests.mutants.stateful import short

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "relax_explorer" / "core"

Change = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """One change: `function` is empty for a table of the module, `number` counts within the module."""

    path: str  # below `core`, such as check/purity.py
    function: str
    text: str
    number: int
    line: int
    is_stateful: bool = False  # True if it is one of `stateful.py`

    @property
    def key(self) -> str:
        """The name of the mutant in lists, independent of line numbers."""
        return f"{self.path}:{self.function or 'module'}\t{self.text}"


@cache
def mutants(path: Path) -> list[Mutant]:
    """The mutants of a module, in the order of its text."""
    found = []
    seen: Counter[tuple[str, str]] = Counter()
    name = path.relative_to(PACKAGE).as_posix()
    every = list(_sites(ast.parse(path.read_text(encoding="utf-8"))))
    for number, (function, node, text, change) in enumerate(every):
        seen[function, text] += 1
        count = seen[function, text]
        text = text if count == 1 else f"{text} ({count})"
        found.append(
            Mutant(name, function, text, number, node.lineno, change.__module__ == stateful.__name__)
        )
    return found


def tree(mutant: Mutant) -> ast.Module:
    """The module with the change of the mutant."""
    module = ast.parse((PACKAGE / mutant.path).read_text(encoding="utf-8"))
    for number, (*_, change) in enumerate(_sites(module)):
        if number == mutant.number:
            change()
            return ast.fix_missing_locations(module)
    raise LookupError(mutant)


def _sites(module: ast.Module) -> Iterator[tuple[str, ast.stmt | ast.expr, str, Change]]:
    for statement in module.body:
        for name, function in _functions(statement):
            for node, text, change in (*_in_function(function), *stateful.in_function(function)):
                yield name, node, text, change
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not _is_alias(statement):
            for part in ast.walk(statement.value or statement):
                yield from (("", *site) for site in _elements(part, _name(statement)))


def _name(statement: ast.Assign | ast.AnnAssign) -> str:
    return ast.unparse(statement.targets[0] if isinstance(statement, ast.Assign) else statement.target)


def _is_alias(statement: ast.Assign | ast.AnnAssign) -> bool:
    """True if a statement of a module names a type or lists exports, so that it runs nothing."""
    return isinstance(statement.value, ast.Subscript | ast.BinOp | None) or _name(statement) == "__all__"


def _functions(statement: ast.stmt) -> Iterator[tuple[str, ast.FunctionDef]]:
    if isinstance(statement, ast.FunctionDef):
        yield statement.name, statement
    elif isinstance(statement, ast.ClassDef):
        for part in statement.body:
            for name, function in _functions(part):
                yield f"{statement.name}.{name}", function


Site = tuple[ast.stmt | ast.expr, str, Change]


def _in_function(function: ast.FunctionDef) -> Iterator[Site]:
    for parent in _walk(function):
        for field in ("body", "orelse", "handlers", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list):
                yield from _statements(block, function, isinstance(parent, ast.If | ast.For | ast.With))
        yield from _expressions(parent)


def _walk(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without `strict=` of a zip: every caller satisfies that assertion."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
            left_out.update(keyword.value for keyword in node.keywords)
        if node not in left_out:
            yield node


def _statements(block: list[ast.stmt], function: ast.FunctionDef, may_leave: bool) -> Iterator[Site]:
    for place, statement in enumerate(block):
        if isinstance(statement, ast.Expr):
            value = statement.value
            if isinstance(value, ast.Yield | ast.YieldFrom):
                yield statement, f"without `{short(statement)}`", _put(block, place, "yield from ()")
            elif isinstance(value, ast.Call):
                yield statement, f"without `{short(statement)}`", _put(block, place, "pass")
        elif may_leave and isinstance(statement, ast.Continue):
            yield statement, f"without continue {place}", _put(block, place, "pass")
        elif may_leave and isinstance(statement, ast.Return) and place == len(block) - 1:
            yield statement, f"without `{short(statement)}`", _put(block, place, "pass")
        elif isinstance(statement, ast.Assign) and function.name != "__init__":
            yield from _assignment(block, place, statement)


def _assignment(block: list[ast.stmt], place: int, statement: ast.Assign) -> Iterator[Site]:
    (target, *_), value = statement.targets, statement.value
    if isinstance(target, ast.Attribute | ast.Subscript):
        yield statement, f"without `{short(statement)}`", _put(block, place, "pass")
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for number, part in enumerate(target.elts):
            if isinstance(part, ast.Attribute):
                yield (
                    statement,
                    f"without `{short(part)} =` {short(value.elts[number])}",
                    _both_without(target, value, number),
                )
    elif isinstance(target, ast.Name) and isinstance(value, ast.Call):
        for argument in value.args:
            if isinstance(argument, ast.Name) and argument.id == target.id:
                yield statement, f"without `{short(statement)}`", _put(block, place, "pass")


def _expressions(node: ast.AST) -> Iterator[Site]:
    if isinstance(node, ast.If | ast.IfExp):
        yield node, f"not `{short(node.test)}`", _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, f"and/or in `{short(node)}`", _set(node, "op", other)
        for number, part in enumerate(node.values):
            rest = [*node.values[:number], *node.values[number + 1 :]]
            rest = rest if len(rest) > 1 else rest * 2  # an operation has at least two operands
            yield node, f"without `{short(part)}` in `{short(node)}`", _set(node, "values", rest)
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        ops = [_OTHER[type(node.ops[0])](), *node.ops[1:]]
        yield node, f"{type(ops[0]).__name__} in `{short(node)}`", _set(node, "ops", ops)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, f"{not node.value} for {node.value}", _set(node, "value", not node.value)
    elif isinstance(node, ast.Attribute) and node.attr in _ANSWERS:
        other_answer = _ANSWERS[node.attr]
        yield node, f"{other_answer} for {node.attr}", _set(node, "attr", other_answer)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp):
        yield from _comprehension(node)
    elif isinstance(node, ast.For):
        yield from _elements(node.iter, f"for {short(node.target)}")


def _comprehension(node: ast.ListComp | ast.GeneratorExp) -> Iterator[Site]:
    target = node.generators[0].target
    if isinstance(target, ast.Name) and isinstance(node.elt, ast.Call):
        given = [x for x in node.elt.args if isinstance(x, ast.Name) and x.id == target.id]
        if given:
            yield node, f"without `{short(node.elt.func)}` in `{short(node)}`", _set(node, "elt", given[0])
    for generator in node.generators:
        for number, test in enumerate(generator.ifs):
            rest = [*generator.ifs[:number], *generator.ifs[number + 1 :]]
            yield node, f"without `if {short(test)}`", _set(generator, "ifs", rest)


def _elements(node: ast.AST, of: str) -> Iterator[Site]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
        for number, part in enumerate(node.elts):
            rest = [*node.elts[:number], *node.elts[number + 1 :]]
            yield part, f"without `{short(part)}` in `{of}`", _set(node, "elts", rest)
    elif isinstance(node, ast.Dict) and len(node.keys) > 1:
        for number, key in enumerate(node.keys):
            if key is not None:
                yield key, f"without `{short(key)}` in `{of}`", _without_key(node, number)


_OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_ANSWERS = {"YES": "UNKNOWN", "NO": "UNKNOWN", "UNKNOWN": "YES"}


def _set(node: ast.AST, field: str, value: object) -> Change:
    return lambda: setattr(node, field, value)


def _put(block: list[ast.stmt], place: int, text: str) -> Change:
    def change() -> None:
        (new,) = ast.parse(text).body
        block[place] = ast.copy_location(new, block[place])

    return change


def _both_without(target: ast.Tuple, value: ast.Tuple, number: int) -> Change:
    def change() -> None:
        del target.elts[number], value.elts[number]

    return change


def _without_key(node: ast.Dict, number: int) -> Change:
    def change() -> None:
        del node.keys[number], node.values[number]

    return change
