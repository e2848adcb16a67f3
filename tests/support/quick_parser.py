"""TVM's parser of TVMScript in the child process, without what takes most of its time.

It translates Python's tree into nodes of its own, with a look into a table for each, and makes Python code of every small expression,
compiles and runs it. Here expressions that only name, call and index values are evaluated at once. It collects the source lines of
the whole call stack at each decorator with arguments, which text does not need. And it gives each part of an expression its own place
in the text. Here all have that of their statement. Types in signatures of kernels are copied by `deepcopy`, which looks for circles in
every name and number.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from tvm.script.parser.core import doc, evaluator
from tvm.tirx.script.parser import parser as kernels

Values = dict[str, Any]
_IN_FULL = evaluator._eval_expr


def _evaluated(node: doc.expr, values: Values | None) -> object:
    """The value of an expression. TVM's function evaluates what `_is_plain` refuses."""
    if values is None or not _is_plain(node):
        return _IN_FULL(node, values)
    return _value(node, values)


def _is_plain(node: doc.expr) -> bool:
    """True for names, constants, and attributes, items, tuples, lists and calls of these."""
    kind = type(node)
    if kind is doc.Name or kind is doc.Constant:
        return True
    if kind is doc.Attribute:
        return _is_plain(node.value)
    if kind is doc.Tuple or kind is doc.List:
        return all(map(_is_plain, node.elts))
    if kind is doc.Subscript:
        return _is_plain(node.value) and _is_plain(node.slice)
    if kind is not doc.Call or any(keyword.arg is None for keyword in node.keywords):
        return False
    return all(map(_is_plain, [node.func, *node.args, *[keyword.value for keyword in node.keywords]]))


def _value(node: doc.expr, values: Values) -> Any:
    kind = type(node)
    if kind is doc.Name:
        return values[node.id] if node.id in values else vars(builtins)[node.id]
    if kind is doc.Constant:
        return node.value
    if kind is doc.Attribute:
        return getattr(_value(node.value, values), node.attr)
    if kind is doc.Tuple:
        return tuple([_value(item, values) for item in node.elts])
    if kind is doc.List:
        return [_value(item, values) for item in node.elts]
    if kind is doc.Subscript:
        return _value(node.value, values)[_value(node.slice, values)]
    function = _value(node.func, values)
    args = [_value(arg, values) for arg in node.args]
    return function(*args, **{keyword.arg: _value(keyword.value, values) for keyword in node.keywords})


def _stack(context: int = 1) -> list[inspect.FrameInfo]:
    """The frames of the callers, without their source lines."""
    return list(_frames())


def _frames() -> Iterator[inspect.FrameInfo]:
    frame = sys._getframe(3)
    while frame is not None:
        code = frame.f_code
        yield inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None)
        frame = frame.f_back  # type: ignore[assignment]  # None ends the loop


def _visited(self: evaluator.ExprEvaluator, node: object) -> object:
    """Evaluate a node, or each one of a list or tuple. What fails is evaluated again as TVM does it, which tells the place."""
    if isinstance(node, (list, tuple)):
        return type(node)([self._visit(part) for part in node])
    if type(node) in _WITH_PARTS and _is_plain(node):
        try:
            value = _value(node, self.value_table)
        except Exception:  # noqa: BLE001  # whatever a call raises
            return self._visit_node(node)
        return self._add_intermediate_result(value)
    return self._visit_node(node)


_WITH_PARTS = frozenset({doc.Attribute, doc.Call, doc.List, doc.Subscript, doc.Tuple})


def _translated(node: object) -> object:
    """TVM's node for a node of Python's tree; anything else is a value in the tree."""
    kind = type(node)
    if kind is list:
        return [_translated(part) for part in cast("list[object]", node)]
    kinds = _KINDS.get(kind)
    if kinds is None:
        return _TVMS_OWN[3](node) if isinstance(node, ast.AST) else node
    ours, fields = kinds
    made: object = object.__new__(ours)
    for field in fields:
        value = getattr(node, field, None)
        made.__dict__[field] = value if type(value) in _ATOMS else _translated(value)
    return made


_ATOMS = frozenset({int, str, type(None)})  # most values in a tree: places and names


def _copied(node: object) -> object:
    """A copy of a tree of TVM's nodes, whose values never change."""
    if isinstance(node, list):
        return [_copied(part) for part in node]
    if not isinstance(node, doc.AST):
        return node
    made: object = object.__new__(type(node))
    made.__dict__ = {
        name: value if type(value) in _ATOMS else _copied(value) for name, value in vars(node).items()
    }
    return made


_KINDS: dict[type, tuple[type, tuple[str, ...]]] = {
    getattr(ast, name): (ours, tuple(ours._FIELDS))
    for name, ours in vars(doc).items()
    if isinstance(ours, type) and hasattr(ours, "_FIELDS") and hasattr(ast, name)
}


def hasten() -> None:
    """From now on, parse quickly in this process."""
    _take(_evaluated, _stack, _visited, _translated, _copied)


@contextmanager
def unhastened() -> Iterator[None]:
    """Parse as TVM does meanwhile."""
    _take(*_TVMS_OWN)
    try:
        yield
    finally:
        hasten()


def _take(*parts: Callable[..., Any]) -> None:
    evaluator._eval_expr, inspect.stack, evaluator.ExprEvaluator._visit, doc.to_doc, kernels.deepcopy = parts


_TVMS_OWN = (
    evaluator._eval_expr,
    inspect.stack,
    evaluator.ExprEvaluator._visit,
    doc.to_doc,
    kernels.deepcopy,
)
