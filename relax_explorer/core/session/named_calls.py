"""Several calls in sequence, with named results: what a caller of a language model does with its cache.

    cache = create_cache(shape(4), shape(64), shape(16), shape(16), shape(0))
    vm.builtin.kv_state_add_sequence(cache, 0)
    logits, cache = prefill([[3, 14, 15]], cache, "weights.npz")

Each line calls a function of the module, or a packed function by its dotted name. The text is parsed, and never executed.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec import packed, vm_builtins
from relax_explorer.core.exec.expression import NoValue, expression, refused
from relax_explorer.core.exec.values import Shape, Value, as_argument, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import is_file
from relax_explorer.core.session.inputs import named_source
from relax_explorer.core.session.made import Maker
from relax_explorer.core.session.naming import FieldNames, field_names
from relax_explorer.core.source import Source, Span, with_line_feeds
from relax_explorer.core.syntax.python_tree import python_tree

MOST_CALLS = 2_000
_DOTTED = re.compile(r"[A-Za-z_][\w.]*")
_NUMBERS = {"nan": math.nan, "inf": math.inf}


@dataclass(frozen=True, slots=True)
class NamedCall:
    """One line: the names of its results, the function, and its arguments. `place` is the file and line."""

    place: str
    names: tuple[str, ...]
    function: str
    args: tuple[ast.expr, ...]
    span: Span | None = None


@dataclass(slots=True)
class Arguments:
    """The values of arguments of calls. `most` limits the bytes of each file or made value.

    Files are looked for in `folder` first. `names` are those that a build tells, for the fields of tuple parameters of each
    function; without them, those that the module tells. `remarks` tell how entries of files were found, each once.
    """

    module: IRModule
    most: int
    folder: str = ""
    names: Mapping[str, FieldNames] = field(default_factory=dict)
    remarks: dict[str, None] = field(default_factory=dict)

    def value(
        self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int, known: Mapping[str, Value]
    ) -> Value:
        """The value of an argument of a function of the module, or of a packed one; `known` are results. Raises Failure."""
        with _at(call):
            return self._value(call, node, fn, number, _Known(known))

    def check(self, call: NamedCall, node: ast.expr) -> None:
        """Raise Failure for an argument that no results can give a value."""
        with _at(call):
            for part in _leaves(node):
                expression(ast.unparse(part))

    def check_packed(self, call: NamedCall) -> None:
        """Raise Failure for a packed function that nobody knows."""
        if packed.find(call.function) is None and call.function not in vm_builtins.TABLE:
            text = f"{call.place}: no packed function {call.function!r} is registered"
            raise Failure(Diagnostic(codes.UNKNOWN_PACKED, text, help=packed.hint(call.function)))

    def _value(
        self, call: NamedCall, node: ast.expr, fn: e.Function | None, number: int, known: _Known
    ) -> Value:
        info = fn.params[number].struct_info if fn is not None else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if fn is None:
                raise _refused(call, "a source of values needs a parameter of a function of the module")
            return self._made(node.value, call, fn, number)
        if _is_shape(node):
            return Shape(_length(call, _element(arg, known)) for arg in _leaves(node))
        elements = _element(node, known)
        if isinstance(node, ast.List) and not isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo)):
            return np.asarray(elements)
        try:
            return as_argument(elements, info)
        except Failure as failure:
            raise _refused(call, failure.diagnostics[0].message) from None

    def _made(self, source: str, call: NamedCall, fn: e.Function, number: int) -> Value:
        """The value of a source: a file, or what a maker fills."""
        param, path = fn.params[number], self._path(source)
        if not is_file(path):
            return Maker({}, self.most, "write the elements, [[1, 2], [3, 4]], or give a .npy file").make(
                param.struct_info or s.OBJECT, source, param, number
            )
        names = self.names.get(call.function) or field_names(fn, self.module)
        value, remarks = named_source(fn, number, path, self.most, names)
        self.remarks.update(dict.fromkeys(remarks))
        return value

    def _path(self, source: str) -> str:
        """The path of a source in the folder of the calls, if it is there; else as it is, from the current folder."""
        beside = os.path.join(self.folder, source)
        return beside if is_file(beside) and os.path.exists(beside) else source


@dataclass(frozen=True, slots=True)
class _Known:
    """The results that expressions may name."""

    values: Mapping[str, Value]

    def find(self, name: str) -> Value:
        """The result called `name`, else the number; None if there is neither."""
        return self.values.get(name, _NUMBERS.get(name))


def _element(node: ast.expr, known: _Known) -> Value:
    """The value of an expression, or a list of them."""
    if isinstance(node, ast.List):
        return [_element(part, known) for part in node.elts]
    return expression(ast.unparse(node)).value(known)


def _is_shape(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "shape"


def _leaves(node: ast.expr) -> list[ast.expr]:
    """The expressions in an argument: itself, the elements of a list, the lengths of a shape."""
    if _is_shape(node):
        return node.args
    return [leaf for part in node.elts for leaf in _leaves(part)] if isinstance(node, ast.List) else [node]


@contextmanager
def _at(call: NamedCall) -> Iterator[None]:
    """Report what is wrong with the values of a call at its place."""
    try:
        yield
    except (ValueError, OverflowError, TypeError, NoValue) as problem:
        raise _refused(call, str(problem)) from None


def read_calls(text: str, name: str) -> list[NamedCall]:
    """The calls in a text, one for each line. Empty lines and comments are skipped. Raises Failure."""
    source = Source(with_line_feeds(text), name)
    lines = [(number, source.line(number).strip()) for number in range(1, len(source.line_starts) + 1)]
    found = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if len(found) > MOST_CALLS:
        what = f"{name} has {len(found):,} calls; at most {MOST_CALLS:,} are made"
        raise Failure(Diagnostic(codes.TOO_LARGE, what, help="split the file"))
    return [
        _read(line, f"{name}:{number}", source.span(number, 0, number, len(line))) for number, line in found
    ]


def _read(line: str, place: str, span: Span) -> NamedCall:
    try:
        body = python_tree(line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    node = body[0] if len(body) == 1 else None
    value = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    targets = node.targets if isinstance(node, ast.Assign) else []
    parts = targets[0].elts if targets and isinstance(targets[0], ast.Tuple) else targets
    names = tuple(part.id for part in parts if isinstance(part, ast.Name))
    function = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    if (
        not isinstance(value, ast.Call)
        or value.keywords
        or not _DOTTED.fullmatch(function)
        or len(names) < len(parts)
    ):
        text = f"{place}: a line is `result = function(argument, …)`, not {line[:60]!r}"
        raise Failure(Diagnostic(codes.BAD_EXPRESSION, text, help="see `run --help`"))
    return NamedCall(place, names, function, tuple(value.args), span)


def _length(call: NamedCall, value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise _refused(call, f"a length is a whole number, not {describe(value)}")
    return int(value)


def _refused(call: NamedCall, text: str) -> Failure:
    return refused(f"{call.place}: {call.function}: {text}")


__all__ = ["Arguments", "NamedCall", "read_calls"]
