"""Reads lines of a function that differ from one before in names of variables only. Layers of a model repeat their lines.

The form of a line is its text with a mark for each variable. What was read of the first line of a form is made again with the variables
and the places of the others, without Python's parser. A line whose other words mean something else by then is read as usual.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import fields_of
from relax_explorer.core.ir.walk import info_holders
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.context import Named, Scope

_WORD = re.compile(r'("[^"]*"|(?<![\w.])[A-Za-z_]\w*(?![\w(.=])|(?<=\w\[)[0-9]{1,9}(?=\]$))')
_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIABLE, _INDEX = "\0", "\1"  # the marks: no text has them
_MOST_VARIABLES = 60
_MOST_FORMS = 2000
_LEAVES: dict[type[e.Expr], Callable[[Any, s.StructInfo | None, Span], e.Expr]] = {
    leaf: leaf for leaf in (e.GlobalVar, e.ExternFunc, e.ShapeExpr, e.PrimValue, e.StringImm, e.DataTypeImm)
}
"""Values without operands: their content, StructInfo and span make them."""

Place: TypeAlias = tuple[int, int, int, int]
"""Start and end of a span: the parts of the line in which they are, and how far."""
Maker: TypeAlias = "Callable[[Line], e.Expr]"


class _Other(Exception):
    """A value of a kind that is not made again."""


@dataclass(slots=True)
class Line:
    """A line in its parts: the words at odd places, their variables, an index, and the column where each part starts."""

    source: Source
    number: int
    indent: int
    parts: list[str]
    form: str
    variables: tuple[e.Var, ...]
    index: int
    starts: Sequence[int] = ()

    @property
    def key(self) -> tuple[str, bytes]:
        """Equal for lines of one form, in which the same variables stand twice."""
        if len(set(self.variables)) == len(self.variables):
            return self.form, b""
        first: dict[e.Var, int] = {}
        return self.form, bytes([first.setdefault(var, len(first)) for var in self.variables])

    @property
    def target(self) -> str:
        """The name that the line binds; empty if it binds none."""
        return "" if self.parts[0] else self.parts[1]

    def measure(self) -> None:
        """Find where each part starts."""
        self.starts = (*accumulate(map(len, self.parts), initial=self.indent),)

    def span(self, place: Place) -> Span:
        """The span at a place."""
        first, skipped, last, taken = place
        starts = self.starts
        return Span(self.source, self.number, starts[first] + skipped, self.number, starts[last] + taken)

    def whole(self) -> Span:
        """The span of the line."""
        return Span(self.source, self.number, self.indent, self.number, self.starts[-1])


@dataclass(frozen=True, slots=True)
class _Form:
    """What was read of the first line of a form: how its value is made, and what its other words were."""

    value: Maker
    info: s.StructInfo | None  # of the variable
    annotation: s.StructInfo | None
    words: tuple[tuple[str, Named | None], ...]


class RepeatedLines:
    """The forms of the lines of one function. `names` are those in scope, `scalars` the variables whose values are known."""

    def __init__(self, names: Scope, scalars: Mapping[e.Var, object]) -> None:
        self._names, self._scalars = names, scalars
        self._forms: dict[tuple[str, bytes], _Form] = {}

    def line(self, source: Source, number: int, indent: int, text: str) -> Line | None:
        """A line of a source, with its variables. None if it has too many."""
        names, scalars, variables, index = self._names, self._scalars, list[e.Var](), -1
        parts = _parts(text)
        marked = parts.copy()
        if not parts[0]:
            marked[1] = _VARIABLE
        for at in range(1 if parts[0] else 3, len(parts), 2):
            value = names.get(parts[at])
            if type(value) is e.Var or type(value) is e.DataflowVar:
                if type(value.struct_info) is not s.PrimStructInfo and value not in scalars:
                    marked[at] = _VARIABLE
                    variables.append(value)
            elif value is None and parts[at].isdecimal():
                marked[at], index = _INDEX, int(parts[at])
        if len(variables) > _MOST_VARIABLES:
            return None
        return Line(source, number, indent, parts, "".join(marked), tuple(variables), index)

    def again(self, line: Line, kind: type[e.Var]) -> e.VarBinding | None:
        """The binding of a line of a known form, whose variable is of a kind. None if it has to be read."""
        form = self._forms.get(line.key)
        if form is None:
            return None
        names = self._names
        for word, meaning in form.words:
            if names.get(word) is not meaning:
                return None
        line.measure()
        whole = line.whole()
        place = line.span(_TARGET) if line.target else whole
        var = kind(line.target or "_", form.info, place)
        return e.VarBinding(var, form.value(line), form.annotation, whole)

    def learn(self, line: Line, binding: e.Binding) -> None:
        """Remember what was read of a line."""
        if type(binding) is not e.VarBinding or len(self._forms) >= _MOST_FORMS:
            return
        infos = [binding.annotation, binding.var.struct_info]
        infos += binding.value.sinfo_args if type(binding.value) is e.Call else ()
        if any(info is not None and info_holders(info) for info in infos):
            return
        line.measure()
        try:
            value = _Making(line).maker(binding.value)
        except _Other:
            return
        words = tuple([(word, self._names.get(word)) for word in dict.fromkeys(_NAME.findall(line.form))])
        self._forms[line.key] = _Form(value, binding.var.struct_info, binding.annotation, words)


_TARGET: Place = (1, 0, 2, 0)


def _parts(text: str) -> list[str]:
    """A line in its parts, of which those at odd places may be variables. One that binds a name begins with an empty part.

    An annotation is no variable. Only behind it are words looked for, since that takes time.
    """
    head, equals, value = text.partition(" = ")
    colon = head.find(":")
    name = head if colon < 0 else head[:colon]
    if not equals or not name.isidentifier():
        return _WORD.split(text)
    first, *rest = _WORD.split(value)
    return ["", name, f"{head[len(name) :]} = {first}", *rest]


class _Making:
    """Finds how the value of a line is made. Raises _Other if that is not known."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._numbers = {var: number for number, var in enumerate(line.variables)}

    def maker(self, expr: e.Expr) -> Maker:
        """How the value of the line is made."""
        if self._line.index < 0:
            return self._maker(expr)
        if type(expr) is not e.TupleGetItem:
            raise _Other
        inner, place = self._maker(expr.tuple), self._place(expr.span)
        return lambda line: e.TupleGetItem(inner(line), line.index, None, line.span(place))

    def _maker(self, expr: e.Expr) -> Maker:
        if isinstance(expr, e.Var):
            number = self._numbers.get(expr)
            return (lambda line: expr) if number is None else (lambda line: line.variables[number])
        if type(expr) is e.OpRef:
            return lambda line: expr
        place = self._place(expr.span)
        if type(expr) is e.Call:
            return self._call(expr, place)
        if type(expr) is e.Tuple:
            fields, info = [self._maker(field) for field in expr.fields], expr.struct_info
            return lambda line: e.Tuple(tuple([field(line) for field in fields]), info, line.span(place))
        if type(expr) is e.TupleGetItem:
            inner, index = self._maker(expr.tuple), expr.index
            return lambda line: e.TupleGetItem(inner(line), index, None, line.span(place))
        if type(expr) in _LEAVES:
            leaf, content, told = (
                _LEAVES[type(expr)],
                getattr(expr, fields_of(type(expr))[0]),
                expr.struct_info,
            )
            return lambda line: leaf(content, told, line.span(place))
        raise _Other

    def _call(self, call: e.Call, place: Place) -> Maker:
        op, args = self._maker(call.op), [self._maker(arg) for arg in call.args]
        attrs, infos, info = call.attrs, call.sinfo_args, call.struct_info

        def made(line: Line) -> e.Expr:
            return e.Call(op(line), tuple([arg(line) for arg in args]), attrs, infos, info, line.span(place))

        return made

    def _place(self, span: Span | None) -> Place:
        line = self._line
        if span is None or (span.line, span.end_line) != (line.number, line.number):
            raise _Other
        ends = []
        for column in (span.column, span.end_column):
            part = bisect_right(line.starts, column) - 1
            skipped = column - line.starts[part]
            if skipped and (part % 2 or part >= len(line.parts)):
                raise _Other  # inside of a variable
            ends += [part, skipped]
        first, skipped, last, taken = ends
        return first, skipped, last, taken
