"""Places of a function where a change of state is none, so that no test can tell: `stateful` leaves them out.

Each rule proves that both programs compute the same from the text of the function alone; what it cannot prove stays a mutant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_CHANGING = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popleft", "remove", "reverse"}
    | {"setdefault", "sort", "update"}
)  # fmt: skip
# Builtin functions that read a collection and keep nothing of it.
_READING = frozenset(
    {"all", "any", "dict", "enumerate", "frozenset", "len", "list", "map", "max", "min", "reversed", "set", "sorted", "sum"}
    | {"tuple", "zip"}
)  # fmt: skip
_LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break


def only_elements(function: ast.FunctionDef) -> set[ast.AST]:
    """The subscripts `x[0]` and `x[-1]` of what has at most one element: the first is the last, or neither exists."""
    found: set[ast.AST] = set()
    for node in ast.walk(function):
        for texts, region in _regions(node):
            changed = {text for part in region for text in _changed(part)}
            for part in (part for one in region for part in ast.walk(one)):
                if isinstance(part, ast.Subscript) and ast.unparse(part.value) in texts - changed:
                    found.add(part)
    return found


def _regions(node: ast.AST) -> Iterator[tuple[set[str], list[ast.AST]]]:
    """What has at most one element in which parts, by a test in front of them."""
    if isinstance(node, ast.BoolOp):
        for number, value in enumerate(node.values):
            yield _at_most_one(value, isinstance(node.op, ast.And)), [*node.values[number + 1 :]]
    elif isinstance(node, ast.IfExp):
        yield _at_most_one(node.test, True), [node.body]
        yield _at_most_one(node.test, False), [node.orelse]
    elif isinstance(node, ast.If):
        yield _at_most_one(node.test, True), [*node.body]
        yield _at_most_one(node.test, False), [*node.orelse]
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        for number, statement in enumerate(block if isinstance(block, list) else ()):
            if (
                isinstance(statement, ast.If)
                and not statement.orelse
                and isinstance(statement.body[-1], _LEAVES)
            ):
                yield _at_most_one(statement.test, False), [*block[number + 1 :]]


def _at_most_one(test: ast.expr, truth: bool) -> set[str]:
    """The texts of what has at most one element if a test has this truth."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _at_most_one(test.operand, not truth)
    if isinstance(test, ast.BoolOp):
        is_all = isinstance(test.op, ast.And) == truth
        return {text for part in test.values for text in _at_most_one(part, truth)} if is_all else set()
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.Call):
        return set()
    called = test.left
    if ast.unparse(called.func) != "len" or ast.unparse(test.comparators[0]) not in ("1", "2"):
        return set()
    told = type(test.ops[0]).__name__, ast.unparse(test.comparators[0])
    few = {("Eq", "1"), ("LtE", "1"), ("Lt", "2")} if truth else {("NotEq", "1"), ("Gt", "1"), ("GtE", "2")}
    return {ast.unparse(called.args[0])} if told in few else set()


def _changed(node: ast.AST) -> Iterator[str]:
    """The texts of what a part assigns or changes by a method."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
            yield ast.unparse(part.value if isinstance(part, ast.Subscript) else part)
        elif isinstance(part, ast.Attribute) and part.attr in _CHANGING:
            yield ast.unparse(part.value)


def thrown_away(function: ast.FunctionDef, guard: ast.stmt, statement: ast.stmt) -> bool:
    """True if a statement changes a local collection only, which is lost where the guard in front of it leaves the function."""
    if not isinstance(guard, ast.If) or not isinstance(guard.body[-1], ast.Raise | ast.Return):
        return False
    changed, given = _local_change(statement)
    if changed is None or not all(isinstance(part, _PLAIN) for one in given for part in ast.walk(one)):
        return False
    if any(isinstance(part, ast.Name) and part.id == changed for part in ast.walk(guard)):
        return False
    return _stays_inside(function, changed)


_PLAIN = ast.Name | ast.Constant | ast.expr_context  # what cannot fail and changes nothing


def _local_change(statement: ast.stmt) -> tuple[str | None, list[ast.expr]]:
    """The name of the collection that `x.append(y)` or `x[y] = z` changes, and what it is given."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        is_simple = isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "add", "appendleft")
        if is_simple and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            return call.func.value.id, call.args
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
        if isinstance(target.value, ast.Name):
            return target.value.id, [target.slice, statement.value]
    return None, []


def _stays_inside(function: ast.FunctionDef, name: str) -> bool:
    """True if a function makes a collection of this name and hands it to nothing that may keep it."""
    if any(
        isinstance(node, ast.Try | ast.With | ast.Yield | ast.YieldFrom | ast.Lambda)
        for node in ast.walk(function)
    ):
        return False
    made = False
    for parent in ast.walk(function):
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.Name) or node.id != name:
                continue
            if isinstance(node.ctx, ast.Store):
                value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
                if not isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp):
                    return False
                made = True
            elif not _only_reads(parent, node):
                return False
    return made


def _only_reads(parent: ast.AST, node: ast.Name) -> bool:
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _READING
    kinds = (
        ast.Subscript,
        ast.Attribute,
        ast.Return,
        ast.Starred,
        ast.For,
        ast.comprehension,
        ast.Compare,
        ast.UnaryOp,
    )
    return isinstance(parent, kinds) or (isinstance(parent, ast.If | ast.IfExp) and parent.test is node)
