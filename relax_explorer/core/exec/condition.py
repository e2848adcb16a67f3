"""Conditions of breakpoints, such as `n > 2048` or `max(y) > 1e4`: comparisons over shape variables and values.

The text is parsed as a Python expression, and only the forms below are accepted. Nothing is executed.

    n > 2048, m != n, 0 < n <= 16, n % 4 == 0       shape variables and tensors of one element
    x.shape[0] > 8, x.ndim == 2, x.size > 100        the shape of a value
    max(x) > 1e4, min(x), mean(x), nan(x), inf(x)    the elements of a value; `nan(x)` is true if one is NaN
    max > 1e4, nan, inf                              the same of the value that the step binds
    not, and, or, parentheses, + - * / // %
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.values import Shape, Value, describe

LONGEST = 1_000  # characters of a condition
_Evaluated = Callable[["_Scope"], Any]


class _NoValue(Exception):
    """A name has no value yet, or a value has no elements. The condition does not hold."""


@dataclass(frozen=True, slots=True)
class _Scope:
    """The names of a condition at one step."""

    frame: Frame
    value: Value

    def __call__(self, name: str) -> Any:
        dims = self.frame.shape_vars
        if name in dims:
            return dims[name]
        values = self.frame.values
        if name not in values:
            raise _NoValue
        return values[name]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition. `names` are the variables that it reads; `reads_result` is True if it reads the value that a step binds."""

    text: str
    names: frozenset[str]
    reads_result: bool
    _rule: _Evaluated

    def holds(self, frame: Frame, value: Value = None) -> bool:
        """True if the condition holds in `frame`, after a step that bound `value`. Raises Failure for a tensor as a number."""
        try:
            return bool(_number(self._rule(_Scope(frame, value)), self.text))
        except (_NoValue, ZeroDivisionError, OverflowError):
            return False

    def hit(self, event: Event, frame: Frame) -> bool:
        """True if a step binds a name of the condition, and the condition holds then."""
        bound = {var.name for var, _ in event.dims}
        if event.kind in ("start", "enter"):
            bound.update(frame.shape_vars, [param.name for param in frame.function.params])
        elif event.kind == "bind" and event.binding is not None and event.binding.var is not None:
            bound.add(event.binding.var.name)
        is_due = not bound.isdisjoint(self.names) or (self.reads_result and event.kind == "bind")
        return is_due and self.holds(frame, event.value)


def condition(text: str) -> Condition:
    """Parse a condition. Raises Failure with the code BAD_EXPRESSION."""
    if len(text) > LONGEST:
        raise _bad(f"the condition has {len(text)} characters, at most {LONGEST} are read")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        compiler = _Compiler(text)
        rule = compiler.read(tree)
        return Condition(text, frozenset(compiler.names), compiler.reads_result, rule)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _bad(f"{text!r} is not a condition") from None


def _bad(text: str) -> Failure:
    return Failure(Diagnostic(codes.BAD_EXPRESSION, text, help=codes.BAD_EXPRESSION.fix))


def _number(value: Any, text: str) -> Any:
    """A value as one number. Raises Failure for a tensor of several elements and for what is no number."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(()).item()
    if isinstance(value, (bool, int, float, np.generic)):
        return value
    raise _bad(f"{text}: {describe(value)} is not one number")


def _arrays(value: Value) -> Iterator[Any]:
    """The arrays of numbers in a value."""
    if isinstance(value, tuple) and not isinstance(value, Shape):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, np.ndarray) and value.size:
        yield value
    elif isinstance(value, (bool, int, float)):
        yield np.asarray(value)


def _elements(value: Value) -> np.ndarray[Any, Any]:
    """All elements as float64. Raises _NoValue if there are none."""
    parts = [array.astype(np.float64).ravel() for array in _arrays(value)]
    if not parts:
        raise _NoValue
    return np.concatenate(parts)


_OF_ELEMENTS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: float(np.max(x)),
    "min": lambda x: float(np.min(x)),
    "mean": lambda x: float(np.mean(x)),
    "nan": lambda x: bool(np.isnan(x).any()),
    "inf": lambda x: bool(np.isinf(x).any()),
}
_OF_SHAPE: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: tuple(map(int, x)) if isinstance(x, Shape) else np.shape(x),
    "ndim": lambda x: len(x) if isinstance(x, Shape) else np.ndim(x),
    "size": lambda x: int(np.size(x)),
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.Not: operator.not_, ast.USub: operator.neg}


class _Compiler:
    """Turns the syntax tree of a condition into a function of the scope."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self.reads_result = False

    def read(self, node: ast.expr) -> _Evaluated:
        """The function of one part. Raises Failure for a form that conditions do not have."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise _bad(f"{ast.unparse(node)[:60]!r} can't stand in a condition")
        return rule(self, node)

    def number(self, node: ast.expr) -> _Evaluated:
        """A part that must be one number."""
        rule, text = self.read(node), ast.unparse(node)[:60]
        return lambda scope: _number(rule(scope), text)

    def _constant(self, node: ast.Constant) -> _Evaluated:
        value = node.value
        if not isinstance(value, (bool, int, float)):
            raise _bad(f"{value!r} is not a number")
        return lambda scope: value

    def _name(self, node: ast.Name) -> _Evaluated:
        name = node.id
        if name in _OF_ELEMENTS:
            self.reads_result = True
            of_elements = _OF_ELEMENTS[name]
            return lambda scope: of_elements(_elements(scope.value))
        self.names.add(name)
        return lambda scope: scope(name)

    def _call(self, node: ast.Call) -> _Evaluated:
        known = isinstance(node.func, ast.Name) and node.func.id in _OF_ELEMENTS
        if not known or len(node.args) != 1 or node.keywords:
            raise _bad(f"{ast.unparse(node)[:60]!r}: conditions have {', '.join(_OF_ELEMENTS)} of one value")
        of_elements, inner = _OF_ELEMENTS[node.func.id], self.read(node.args[0])  # type: ignore[attr-defined]  # a name, as `known` says
        return lambda scope: of_elements(_elements(inner(scope)))

    def _attribute(self, node: ast.Attribute) -> _Evaluated:
        if node.attr not in _OF_SHAPE:
            raise _bad(f"{ast.unparse(node)[:60]!r}: a value has {', '.join(_OF_SHAPE)}")
        of_shape, inner = _OF_SHAPE[node.attr], self.read(node.value)
        return lambda scope: of_shape(inner(scope))

    def _item(self, node: ast.Subscript) -> _Evaluated:
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(node.value, ast.Attribute) or node.value.attr != "shape" or type(index) is not int:
            raise _bad(f"{ast.unparse(node)[:60]!r} can't stand in a condition")
        inner, place = self.read(node.value), index

        def item(scope: _Scope) -> Any:
            shape = inner(scope)
            if place >= len(shape):
                raise _NoValue
            return shape[place]

        return item

    def _binary(self, node: ast.BinOp) -> _Evaluated:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise _bad(f"{ast.unparse(node)[:60]!r} can't stand in a condition")
        left, right, compute = self.number(node.left), self.number(node.right), function
        return lambda scope: compute(left(scope), right(scope))

    def _unary(self, node: ast.UnaryOp) -> _Evaluated:
        function = _UNARY.get(type(node.op))
        if function is None:
            raise _bad(f"{ast.unparse(node)[:60]!r} can't stand in a condition")
        inner, compute = self.number(node.operand), function
        return lambda scope: compute(inner(scope))

    def _compare(self, node: ast.Compare) -> _Evaluated:
        functions = [_COMPARED.get(type(sign)) for sign in node.ops]
        sides = [self.number(side) for side in (node.left, *node.comparators)]
        if None in functions:
            raise _bad(f"{ast.unparse(node)[:60]!r} can't stand in a condition")

        def compare(scope: _Scope) -> bool:
            values = [side(scope) for side in sides]
            steps = zip(functions, values, values[1:], strict=False)
            return all(bool(function(a, b)) for function, a, b in steps if function is not None)

        return compare

    def _logic(self, node: ast.BoolOp) -> _Evaluated:
        parts = [self.number(part) for part in node.values]
        if isinstance(node.op, ast.And):
            return lambda scope: all(part(scope) for part in parts)
        return lambda scope: any(part(scope) for part in parts)


_RULES: dict[type[ast.expr], Callable[[_Compiler, Any], _Evaluated]] = {
    ast.Constant: _Compiler._constant,
    ast.Name: _Compiler._name,
    ast.Call: _Compiler._call,
    ast.Attribute: _Compiler._attribute,
    ast.Subscript: _Compiler._item,
    ast.BinOp: _Compiler._binary,
    ast.UnaryOp: _Compiler._unary,
    ast.Compare: _Compiler._compare,
    ast.BoolOp: _Compiler._logic,
}
