"""Mutants that concern state over time and twins: what a second call, a sibling branch or a failure would show.

Copies are shared, scopes outlive their branch, effects come before their guard, the first stands for the last, one side
for both, and what is unknown counts as right.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.mutants.silent import only_elements, thrown_away

Change = Callable[[], None]
Site = tuple[ast.stmt | ast.expr, str, Change]
Put = Callable[[ast.expr], Change]  # replaces an expression in its parent


def in_function(function: ast.FunctionDef) -> Iterator[Site]:
    """The mutants of a function, in the order of its text."""
    alone = only_elements(function)
    for parent in ast.walk(function):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(parent, field, None)
            if isinstance(block, list):
                yield from _in_block(block, function)
        for node, put in _expressions(parent):
            yield from _shared(node, put)
            if node not in alone:
                yield from _other_end(node)
            yield from _one_of_two(node, put)
            yield from _believed(node)
            yield from _joined(node, put)


def _in_block(block: list[ast.stmt], function: ast.FunctionDef) -> Iterator[Site]:
    """The mutants of some statements; nothing works without an attribute of a new object."""
    is_new = function.name == "__init__"
    for place, statement in enumerate(block):
        if isinstance(statement, ast.AugAssign | ast.Delete) or (_is_kept(statement) and not is_new):
            yield statement, f"without `{short(statement)}`", _statement(block, place, ast.Pass())
        elif isinstance(statement, ast.With):
            yield from _with(block, place, statement)
        elif isinstance(statement, ast.For) and len(statement.body) == 1:
            yield from _one_scope(block, place, statement)
        elif isinstance(statement, ast.Assign) and _is_key(statement.targets[0]):
            yield from _dropped(statement.value, f"key {short(statement.targets[0])}")
        before = block[place - 1] if place else None
        if before is not None and _guards(before) and _acts(statement):
            if thrown_away(function, before, statement):
                continue
            text = f"`{short(statement)}` before `{short(before)}`"
            yield statement, text, _swapped(block, place)


def _is_key(target: ast.expr) -> bool:
    """True if a target is a key; `a, key = x, y` with less on one side would fail at once."""
    return not isinstance(target, ast.Tuple) and "key" in ast.unparse(target).lower()


def _is_kept(statement: ast.stmt) -> bool:
    """True for `self.x: T = value`; plain assignments are mutants already."""
    if not isinstance(statement, ast.AnnAssign) or statement.value is None:
        return False
    return isinstance(statement.target, ast.Attribute)


def _with(block: list[ast.stmt], place: int, statement: ast.With) -> Iterator[Site]:
    if any(ast.unparse(item.context_expr).startswith(_ONLY_TIME) for item in statement.items):
        return
    if all(item.optional_vars is None for item in statement.items):
        inside = ast.If(ast.Constant(True), statement.body, [])
        text = ", ".join(short(item) for item in statement.items)
        yield statement, f"without `with {text}`", _statement(block, place, inside)


# The garbage collector waits inside of it: nothing but time tells whether it did.
_ONLY_TIME = "collector_at_rest("


def _one_scope(block: list[ast.stmt], place: int, loop: ast.For) -> Iterator[Site]:
    """`for …: with …` with the `with` around the loop, if it does not depend on the round."""
    (inner,) = loop.body
    if not isinstance(inner, ast.With):
        return
    names = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    used = {node.id for item in inner.items for node in ast.walk(item) if isinstance(node, ast.Name)}
    if names.isdisjoint(used):
        around = ast.With(inner.items, [ast.For(loop.target, loop.iter, inner.body, [])])
        text = f"one `with {short(inner.items[0])}` for all of `{short(loop.iter)}`"
        yield loop, text, _statement(block, place, around)


def _guards(statement: ast.stmt) -> bool:
    """True if a statement may stop the block and does nothing else."""
    if isinstance(statement, ast.If) and not statement.orelse:
        return isinstance(statement.body[-1], ast.Raise | ast.Return | ast.Continue)
    if isinstance(statement, ast.Try):
        return any(isinstance(handler.body[-1], ast.Raise) for handler in statement.handlers)
    value = statement.value if isinstance(statement, ast.Expr) else None
    called = ast.unparse(value.func).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    return called.lstrip("_").startswith(("check", "match", "require", "need"))


def _acts(statement: ast.stmt) -> bool:
    """True if a statement changes something that lives on."""
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        return isinstance(target, ast.Attribute | ast.Subscript)
    value = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _METHODS
    )


_METHODS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "remove", "setdefault", "update"}


def _shared(node: ast.expr, put: Put) -> Iterator[Site]:
    """The thing itself where a copy is made."""
    if not isinstance(node, ast.Call) or node.keywords:
        return
    if isinstance(node.func, ast.Name) and node.func.id in ("dict", "list", "set") and len(node.args) == 1:
        if isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript):
            yield node, f"share `{short(node)}`", put(node.args[0])
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
        yield node, f"share `{short(node)}`", put(node.func.value)


def _other_end(node: ast.expr) -> Iterator[Site]:
    """The last for the first, and the first for the last."""
    if isinstance(node, ast.Subscript) and not _has_one_element(node.value):
        number = ast.unparse(node.slice)
        if number in ("0", "-1"):
            other = {"0": "-1", "-1": "0"}[number]
            text = f"[{other}] for [{number}] in `{short(node)}`"
            yield node, text, lambda: setattr(node, "slice", ast.parse(other, mode="eval").body)


def _has_one_element(node: ast.expr) -> bool:
    """True for the type arguments of a call: one of which an element is read has one, as packed calls alone have more.

    A list of results is one Tuple; and of packed calls no rule reads an element without looking for others.
    """
    return isinstance(node, ast.Attribute) and node.attr == "sinfo_args"


def _one_of_two(node: ast.expr, put: Put) -> Iterator[Site]:
    """One of two twins for both: `f(a, a)` for `f(a, b)`, and one branch for the other."""
    if isinstance(node, ast.Attribute) and node.attr in _BRANCHES:
        other = _BRANCHES[node.attr]
        yield node, f"{other} for {short(node)}", lambda: setattr(node, "attr", other)
    parts: list[ast.expr] = []
    if isinstance(node, ast.Call):
        parts = node.args
    elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        parts = node.elts
    for number, (first, second) in enumerate(pairwise(parts)):
        if _are_twins(first, second):
            text = "" if len(parts) == 2 else f"{number} "
            yield node, f"the first {text}for both in `{short(node)}`", _put(parts, number + 1, first)
            yield node, f"the second {text}for both in `{short(node)}`", _put(parts, number, second)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        yield from _dropped(node.comparators[0], short(node))


def _are_twins(one: ast.expr, other: ast.expr) -> bool:
    """True if two expressions are the same but for names that stand for two sides of one thing."""
    pairs = list(zip(ast.walk(one), ast.walk(other), strict=False))
    if any(type(a) is not type(b) for a, b in pairs) or len(pairs) != sum(1 for _ in ast.walk(one)):
        return False
    named = [(_identifier(a), _identifier(b)) for a, b in pairs]
    differing = {(a, b) for a, b in named if a != b}
    return bool(differing) and differing <= _SIDES


def _identifier(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return repr(node.value)
    return node.attr if isinstance(node, ast.Attribute) else ""


_BRANCHES = {"true_branch": "false_branch", "false_branch": "true_branch"}
_PAIRS = (
    "a b", "x y", "x1 x2", "left right", "true_branch false_branch", "one other", "first second", "lhs rhs", "have want",
    "before after", "old new", "ours theirs", "low high", "start stop", "0 1",
)  # fmt: skip
_SIDES = {tuple(order) for pair in _PAIRS for order in (pair.split(), reversed(pair.split()))}


def _believed(node: ast.expr) -> Iterator[Site]:
    """`is not NO` for `is YES`, and likewise: what is unknown counts as the other answer."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return
    answer, op = node.comparators[0], node.ops[0]
    name = ast.unparse(answer).rpartition(".")[2]
    if name not in ("YES", "NO") or not isinstance(op, ast.Is | ast.IsNot):
        return
    other, new_op = {"YES": "NO", "NO": "YES"}[name], ast.IsNot() if isinstance(op, ast.Is) else ast.Is()

    def change() -> None:
        node.ops = [new_op]  # the module may import no other answer than its own
        node.comparators = [ast.parse(f"type({ast.unparse(answer)}).{other}", mode="eval").body]

    yield node, f"unknown is the other answer in `{short(node)}`", change


def _joined(node: ast.expr, put: Put) -> Iterator[Site]:
    """`a` for `a | b`, unless they are types."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        named = (ast.Name, ast.Attribute, ast.Subscript)
        if any(isinstance(part, named) and _is_type(part) for part in (node.left, node.right)):
            return
        for part, rest in ((node.left, node.right), (node.right, node.left)):
            yield node, f"without `{short(part)}` in `{short(node)}`", put(rest)


def _is_type(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):  # `tuple[int, ...]`, which a `cast` names
        node = node.value
    name = ast.unparse(node).rpartition(".")[2]
    return name[:1].isupper() or name in (
        "int",
        "str",
        "float",
        "bool",
        "bytes",
        "tuple",
        "list",
        "dict",
        "set",
    )


def _dropped(node: ast.expr, of: str) -> Iterator[Site]:
    if isinstance(node, ast.Tuple | ast.List | ast.Set) and len(node.elts) > 1:
        for number, part in enumerate(node.elts):
            rest = [*node.elts[:number], *node.elts[number + 1 :]]
            yield node, f"without `{short(part)}` in `{of}`", _set(node, "elts", rest)


def _expressions(parent: ast.AST) -> Iterator[tuple[ast.expr, Put]]:
    """The expressions directly in a node, each with what replaces it; annotations are none."""
    for field, value in ast.iter_fields(parent):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        if isinstance(value, ast.expr):
            yield value, _field(parent, field)
        elif isinstance(value, list):
            for number, part in enumerate(value):
                if isinstance(part, ast.expr):
                    yield part, _element(value, number)


def _field(parent: ast.AST, field: str) -> Put:
    return lambda new: lambda: setattr(parent, field, new)


def _element(values: list[Any], number: int) -> Put:
    return lambda new: lambda: values.__setitem__(number, new)


def _put(values: list[ast.expr], number: int, new: ast.expr) -> Change:
    return lambda: values.__setitem__(number, new)


def _set(node: ast.AST, field: str, value: object) -> Change:
    return lambda: setattr(node, field, value)


def _statement(block: list[ast.stmt], place: int, new: ast.stmt) -> Change:
    return lambda: block.__setitem__(place, ast.copy_location(new, block[place]))


def _swapped(block: list[ast.stmt], place: int) -> Change:
    def change() -> None:
        block[place - 1], block[place] = block[place], block[place - 1]

    return change


def short(node: ast.AST) -> str:
    """The text of a node in one line of at most 90 characters."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else text[:89] + "…"
