"""Expressions over the values of a frame, for conditions, watches and `print`.

The text is parsed as a Python expression, and only the forms below are accepted. Nothing is executed.

    x, n, x[0, 1], x[0, :3], t[0]            variables, shape variables, elements, slices, fields of tuples
    x.shape, x.shape[0], x.ndim, x.size, x.dtype
    max(x), min(x), mean(x), sum(x)          over all elements; `nan(x)` and `inf(x)` are true if one element is
    any(x > 0), all(x > 0), abs(x)
    max, min, mean, nan, inf                 the same of the value that the last step bound
    c[5], c[0][1][0][5], c.pages[0]          rows of a cache; of a paged cache: sequence, layer, keys or values, row; and its pages
    x - y, n * 2, n // 4, n % 4, x > 0, 0 < n <= 16, not, and, or

Arithmetic uses int64 and float64, so that differences do not wrap or round.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Shape, Value, describe, fault
from relax_explorer.core.syntax.python_tree import python_tree

LONGEST = 1_000  # characters of an expression
LARGEST = 1 << 27  # elements of a computed array
_Evaluated = Callable[["Scope"], Any]


class Names(Protocol):
    """Gives the values of names: a frame, for instance."""

    def find(self, name: str) -> Value:
        """The value of a name; None if it has none."""


class NoValue(Exception):
    """An expression has no value here: a name has none yet, or an index is outside. The message tells which."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names of an expression at one step: those that `frame` knows. `value` is the value that the step bound."""

    frame: Names
    value: Value

    def __call__(self, name: str) -> Value:
        """The value of a variable. Raises NoValue if it has none."""
        value = self.frame.find(name)
        if value is None:
            raise NoValue(f"{name} has no value here")
        return value


_Number = float | np.generic
_Operand = _Number | np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression. `names` are the variables that it reads; `reads_result` is True if it reads the value that a step binds.

    `is_arithmetic` is True if its value is int64 or float64, whatever the dtype of the values that it reads.
    """

    text: str
    names: frozenset[str]
    reads_result: bool
    is_arithmetic: bool
    _rule: _Evaluated

    def value(self, frame: Names, result: Value = None) -> Value:
        """The value in `frame`, after a step that bound `result`. Raises NoValue, or Failure if an operation does not apply."""
        with np.errstate(all="ignore"):
            try:
                return self._rule(Scope(frame, result))
            except ZeroDivisionError:
                raise NoValue(f"{self.text} divides by zero") from None
            except (OverflowError, FloatingPointError):
                raise NoValue(f"{self.text} is too large") from None

    def number(self, frame: Names, result: Value = None) -> _Number:
        """The value as one number. Raises NoValue, or Failure if it is none."""
        return one_number(self.value(frame, result), self.text)


def expression(text: str) -> Expression:
    """Parse an expression. Raises Failure with the code BAD_EXPRESSION."""
    text = text.strip()
    if len(text) > LONGEST:
        raise refused(f"the expression has {len(text)} characters, at most {LONGEST} are read")
    try:
        tree = python_tree(text, "eval").body
        compiler = _Compiler()
        rule = compiler.read(tree)
        is_arithmetic = isinstance(tree, (ast.BinOp, ast.UnaryOp, ast.Call))
        return Expression(text, frozenset(compiler.names), compiler.reads_result, is_arithmetic, rule)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise refused(f"{text!r} is not an expression") from None


def refused(text: str) -> Failure:
    """The failure for an expression that is refused."""
    return fault(codes.BAD_EXPRESSION, text)


def one_number(value: Value, text: str) -> _Number:
    """A value as one number. Raises Failure for a tensor of several elements and for what is no number."""
    if isinstance(value, np.ndarray) and value.size == 1:
        number: _Number = value.reshape(()).item()
        return number
    if isinstance(value, (bool, int, float, np.generic)):
        return value
    raise refused(f"{text}: {describe(value)} is not one number")


def _arrays(value: Value) -> Iterator[Any]:
    """The arrays of numbers in a value."""
    if isinstance(value, tuple) and not isinstance(value, Shape):
        for part in value:
            yield from _arrays(part)
    elif isinstance(value, Stateful):
        yield from _arrays(tuple([array for _, array in value.parts()]))
    elif isinstance(value, np.ndarray) and value.size:
        yield value
    elif isinstance(value, (bool, int, float, np.generic)):
        yield np.asarray(value)


def _elements(value: Value) -> np.ndarray[Any, Any]:
    """All elements as one array of int64 or float64. Raises NoValue if there are none."""
    parts = [_wide(array).ravel() for array in _arrays(value)]
    if not parts:
        raise NoValue(f"{describe(value)} has no elements")
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same numbers as int64 or float64."""
    wide = array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8)
    return array.astype(np.int64 if wide else np.float64, copy=False)


_OF_ELEMENTS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: np.max(x).item(),
    "min": lambda x: np.min(x).item(),
    "mean": lambda x: float(np.mean(x)),
    "nan": lambda x: bool(np.isnan(x).any()),
    "inf": lambda x: bool(np.isinf(x).any()),
}
_CALLED: dict[str, Callable[[Any], Any]] = {
    **_OF_ELEMENTS,
    "sum": lambda x: np.sum(x).item(),
    "any": lambda x: bool(np.any(x)),
    "all": lambda x: bool(np.all(x)),
}
_OF_SHAPE: dict[str, Callable[[Any], Any]] = {
    "shape": lambda x: Shape(x if isinstance(x, Shape) else np.shape(x)),
    "ndim": lambda x: len(x) if isinstance(x, Shape) else np.ndim(x),
    "size": lambda x: int(np.size(x)),
    "dtype": lambda x: np.asarray(x).dtype.name,
}
_OF_CACHE = ("pages", "sequences")


def _seen(value: Value) -> Value:
    """A value as expressions read it: a cache as its content."""
    return value.seen() if isinstance(value, Stateful) else value


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


def _operand(value: Value, text: str) -> _Operand:
    """A value for arithmetic: one number, or an array of int64 or float64. Raises Failure for other values."""
    value = _seen(value)
    if isinstance(value, np.ndarray) and value.size != 1:
        return _wide(value)
    return one_number(value, text)


def _elementwise(
    compute: Callable[[_Operand, _Operand], Value], a: _Operand, b: _Operand, text: str
) -> Value:
    """`compute` on numbers or arrays. Raises Failure if the shapes do not fit or the result is too large."""
    try:
        shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        raise refused(f"{text}: the shapes {np.shape(a)} and {np.shape(b)} do not fit") from None
    if int(np.prod(shape, dtype=object)) > LARGEST:
        raise refused(f"{text}: the result {shape} is too large")
    return compute(a, b)


class _Compiler:
    """Turns the syntax tree of an expression into a function of the scope."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.reads_result = False

    def read(self, node: ast.expr) -> _Evaluated:
        """The function of one part. Raises Failure for a form that expressions do not have."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise _unreadable(node)
        return rule(self, node)

    def number(self, node: ast.expr) -> _Evaluated:
        """A part that must be one number."""
        rule, text = self.read(node), _text(node)
        return lambda scope: one_number(rule(scope), text)

    def operand(self, node: ast.expr) -> _Evaluated:
        """A part that must be a number or an array."""
        rule, text = self.read(node), _text(node)
        return lambda scope: _operand(rule(scope), text)

    def _constant(self, node: ast.Constant) -> _Evaluated:
        value = node.value
        if not isinstance(value, (bool, int, float)):
            raise refused(f"{value!r} is not a number")
        return lambda scope: value

    def _name(self, node: ast.Name) -> _Evaluated:
        name = node.id
        of_elements = _OF_ELEMENTS.get(name)
        if of_elements is None:
            self.names.add(name)
            return lambda scope: scope(name)
        self.reads_result = True

        def of_result(scope: Scope) -> Value:
            own = scope.frame.find(name)  # a variable may be called `max`
            if own is None and scope.value is None:
                raise NoValue(f"{name} has no value here")
            return of_elements(_elements(scope.value)) if own is None else own

        return of_result

    def _call(self, node: ast.Call) -> _Evaluated:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if (name not in _CALLED and name != "abs") or len(node.args) != 1 or node.keywords:
            raise refused(f"{_text(node)!r}: there are {', '.join(_CALLED)} and abs, of one value")
        if name == "abs":
            operand = self.operand(node.args[0])
            return lambda scope: abs(operand(scope))
        function, inner = _CALLED[name], self.read(node.args[0])
        return lambda scope: function(_elements(inner(scope)))

    def _attribute(self, node: ast.Attribute) -> _Evaluated:
        if node.attr not in (*_OF_SHAPE, *_OF_CACHE):
            has = f"a value has {', '.join(_OF_SHAPE)}, a paged cache {' and '.join(_OF_CACHE)}"
            raise refused(f"{_text(node)!r}: {has}")
        inner, text = self.read(node.value), _text(node.value)
        of_shape = _OF_SHAPE.get(node.attr) or (lambda cache: getattr(cache, node.attr, None))

        def attribute(scope: Scope) -> Value:
            value = inner(scope)
            if node.attr in _OF_CACHE:
                if not isinstance(value, Stateful) or (found := of_shape(value)) is None:
                    raise refused(f"{text}: {describe(value)} has no {node.attr}")
                return found
            value = _seen(value)
            if not isinstance(value, (np.ndarray, np.generic, Shape, bool, int, float)):
                raise refused(f"{text}: {describe(value)} has no {node.attr}")
            return of_shape(value)

        return attribute

    def _item(self, node: ast.Subscript) -> _Evaluated:
        if not isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)):
            raise _unreadable(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inner, indices, text = self.read(node.value), [self._index(part) for part in parts], _text(node)

        def item(scope: Scope) -> Value:
            value, index = _seen(inner(scope)), tuple([one(scope) for one in indices])
            if isinstance(value, dict) and len(index) == 1 and type(index[0]) is int:
                if index[0] not in value:
                    raise NoValue(
                        f"{text}: there is no sequence {index[0]}, but {', '.join(map(str, value)) or 'none'}"
                    )
                return value[index[0]]
            if not isinstance(value, (np.ndarray, tuple)) or (isinstance(value, tuple) and len(index) > 1):
                raise refused(f"{text}: {describe(value)} has no such elements")
            try:
                part = value[index] if isinstance(value, np.ndarray) else value[index[0]]
            except IndexError:
                raise NoValue(f"{text} is outside {describe(value)}") from None
            return Shape(part) if isinstance(value, Shape) and isinstance(part, tuple) else part

        return item

    def _index(self, node: ast.expr) -> _Evaluated:
        if not isinstance(node, ast.Slice):
            inner, text = self.number(node), _text(node)
            return lambda scope: _whole(inner(scope), text)
        ends = [None if end is None else self._index(end) for end in (node.lower, node.upper, node.step)]
        if isinstance(node.step, ast.Constant) and node.step.value == 0:
            raise _unreadable(node.step)
        return lambda scope: slice(*[None if end is None else end(scope) for end in ends])

    def _binary(self, node: ast.BinOp) -> _Evaluated:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise _unreadable(node)
        left, right, text = self.operand(node.left), self.operand(node.right), _text(node)
        return lambda scope: _elementwise(function, left(scope), right(scope), text)

    def _unary(self, node: ast.UnaryOp) -> _Evaluated:
        if isinstance(node.op, ast.Not):
            inner = self.number(node.operand)
            return lambda scope: not inner(scope)
        if not isinstance(node.op, ast.USub):
            raise _unreadable(node)
        operand = self.operand(node.operand)
        return lambda scope: -operand(scope)

    def _compare(self, node: ast.Compare) -> _Evaluated:
        functions = [_COMPARED[type(sign)] for sign in node.ops if type(sign) in _COMPARED]
        if len(functions) < len(node.ops):
            raise _unreadable(node)
        nodes, text = (node.left, *node.comparators), _text(node)
        if len(functions) == 1:
            left, right = self.operand(nodes[0]), self.operand(nodes[1])
            return lambda scope: _elementwise(functions[0], left(scope), right(scope), text)
        sides = [self.number(side) for side in nodes]

        def chain(scope: Scope) -> bool:
            values = [side(scope) for side in sides]
            steps = zip(functions, values, values[1:], strict=False)
            return all(bool(function(a, b)) for function, a, b in steps)

        return chain

    def _logic(self, node: ast.BoolOp) -> _Evaluated:
        parts = [self.number(part) for part in node.values]
        if isinstance(node.op, ast.And):
            return lambda scope: all(part(scope) for part in parts)
        return lambda scope: any(part(scope) for part in parts)


def _text(node: ast.AST) -> str:
    return ast.unparse(node)[:60]


def _unreadable(node: ast.AST) -> Failure:
    return refused(f"{_text(node)!r} can't stand in an expression")


def _whole(value: object, text: str) -> int:
    """An index. Raises Failure for a number that is none."""
    if isinstance(value, (int, np.integer)):
        return int(value)
    raise refused(f"{text}: an index is a whole number, not {value}")


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
