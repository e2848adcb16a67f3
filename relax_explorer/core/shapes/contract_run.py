"""Runs a program with shape contracts on NumPy arrays: the assertions of each wrapper, then the implementation.

Assertions that an analysis proved are not made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType, dtype, from_numpy
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_facts import Analysis
from relax_explorer.core.shapes.desugar import Environment, Guard, Wrapper, desugar, guards
from relax_explorer.core.shapes.primitives import IMPLEMENTATIONS, how_to_compute
from relax_explorer.core.source import Span

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DEEPEST = 200  # calls
_ANY = "?"  # the element type of a number: the one that is wanted
Value: TypeAlias = np.ndarray[Any, Any] | int | tuple[int, ...] | DType


class Runner:
    """A run of one program. `inputs` are the values of `..` by the name of their let; `checks` counts assertions."""

    def __init__(
        self, program: c.Program, terms: c.Terms, inputs: Mapping[str, Any], analysis: Analysis | None = None
    ) -> None:
        self.program, self.terms, self.inputs, self.analysis = program, terms, inputs, analysis
        self.wrappers = {name: desugar(fn, terms) for name, fn in program.functions.items()}
        self.checks, self.depth = 0, 0
        self.chosen: list[tuple[str, str]] = []  # calls of functions that have several implementations

    def run(self) -> dict[str, Value]:
        """The values of the main program by name. Raises Failure at an assertion that does not hold."""
        scope: dict[str, Value] = {}
        known = Environment()
        for statement in self.program.main:
            self._statement(statement, scope, known)
        return scope

    def call(
        self,
        name: str,
        args: list[Value],
        attrs: Mapping[str, int],
        span: Span | None = None,
        place: object = None,
    ) -> Value:
        """Call a function, or the most specific implementation that fits: its assertions, the implementation, those about the result."""
        name = self._chosen(name, args)
        wrapper = self.wrappers.get(name)
        if wrapper is None:
            return self._compute(name, args, attrs, span)
        values = dict(zip([q.name for q in wrapper.function.params], args, strict=True))
        self._check(wrapper.before, values, span, (place, 0))
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"@{name} calls itself more than {_DEEPEST} times", span)
        out = self._implementation(wrapper, values, attrs, span)
        self.depth -= 1
        places = (wrapper.function, 0), (place, len(wrapper.before))
        self._check(wrapper.after, values | {"out": out}, span, *places)
        return out

    def _chosen(self, name: str, args: list[Value]) -> str:
        """The first of the listed implementations whose contract holds for the arguments; the function itself if none does."""
        for one in self.program.implementations.get(name, ()):
            wrapper = self.wrappers[one]
            values = dict(zip([q.name for q in wrapper.function.params], args, strict=False))
            if len(values) == len(args) and all(
                self._holds(guard.condition, values) for guard in wrapper.before
            ):
                self.chosen.append((name, one))
                return one
        return name

    def _implementation(
        self, wrapper: Wrapper, values: dict[str, Value], attrs: Mapping[str, int], span: Span | None
    ) -> Value:
        function = wrapper.function
        if function.body is None or isinstance(function.body.value, c.Opaque):
            return self._compute(function.name, list(values.values()), attrs, span)
        return self._block(function.body, dict(values), Environment())

    def _compute(self, name: str, args: list[Value], attrs: Mapping[str, int], span: Span | None) -> Value:
        implementation = IMPLEMENTATIONS.get(name)
        if implementation is None:
            self._fail(f"nothing computes @{name}", span, how_to_compute(name))
        try:
            return implementation(*args, **attrs)
        except (ValueError, TypeError, IndexError) as problem:
            self._fail(f"@{name}: {problem}", span)

    def _statement(self, statement: c.Let | c.Assert, scope: dict[str, Value], known: Environment) -> None:
        if isinstance(statement, c.Assert):
            self._check((Guard(statement.condition, ""),), scope, statement.span, (statement, 0))
            return
        if isinstance(statement.value, c.Opaque):
            if statement.name not in self.inputs:
                self._fail(f"`{statement.name}` needs a value", statement.span)
            value: Value = self._given(statement)
        else:
            value = self._value(statement.value, scope, known)
        scope[statement.name] = value
        if statement.type is not None:
            demanded = tuple(guards(statement.name, statement.type, known, self.terms, statement.span))
            self._check(demanded, scope, statement.span, (statement, 0))
            for var, length in list(known.sizes.items()):
                known.sizes[var] = self._number(length, scope)

    def _given(self, let: c.Let) -> Value:
        """The input of a let, as a value of its type."""
        value = self.inputs[let.name]
        if not isinstance(let.type, c.Sort):
            return np.asarray(value)
        if let.type.name == "DType":
            return value if isinstance(value, DType) else dtype(str(value))
        numbers = tuple(np.asarray(value).ravel().tolist())
        if not all(type(number) is int and number >= 0 for number in numbers):
            self._fail(f"`{let.name}` is {let.type}, not {value}", let.span)
        return numbers[0] if let.type.name == "Size" and len(numbers) == 1 else numbers

    def _value(self, expr: c.Expr, scope: dict[str, Value], known: Environment) -> Value:
        if isinstance(expr, c.Name):
            return scope[expr.name]
        if isinstance(expr, c.Literal):
            literal: Value = expr.value
            return literal
        if isinstance(expr, c.Call):
            args = [self._value(arg, scope, known) for arg in expr.args]
            return self.call(expr.function, args, expr.attrs, expr.span, expr)
        if isinstance(expr, c.If):
            test = self._test(expr, scope, known)
            return self._block(expr.then if test else expr.otherwise, dict(scope), known.copy())
        if isinstance(expr, c.Block):
            return self._block(expr, dict(scope), known)
        self._fail("only the run of the whole program knows this value", expr.span)

    def _test(self, expr: c.If, scope: dict[str, Value], known: Environment) -> bool:
        """Whether the first branch is taken."""
        if expr.test is not None:
            return self._holds(expr.test, scope)
        left, right = self._value(expr.left, scope, known), self._value(expr.right, scope, known)
        return bool(_COMPARE[expr.compare](left, right))

    def _block(self, block: c.Block, scope: dict[str, Value], known: Environment) -> Value:
        for statement in block.statements:
            self._statement(statement, scope, known)
        return self._value(block.value, scope, known)

    # -- assertions --------------------------------------------------------------------------------------------------

    def _check(
        self,
        demanded: tuple[Guard, ...],
        values: Mapping[str, Value],
        span: Span | None,
        *places: tuple[object, int],
    ) -> None:
        """Make assertions, except those that are proved at one of the places, from its number on."""
        proved = self.analysis.proved if self.analysis is not None else set()
        for number, guard in enumerate(demanded):
            if any((id(place), first + number) in proved for place, first in places):
                continue
            self.checks += 1
            if not self._holds(guard.condition, values):
                self._fail(f"{guard.condition} does not hold: {self._found(guard.condition, values)}", span)

    def _holds(self, condition: c.Condition, values: Mapping[str, Value]) -> bool:
        if isinstance(condition, c.SameDType):
            sides = {_element(condition.left, values), _element(condition.right, values)}
            return len(sides - {_ANY}) < 2
        if isinstance(condition, c.SameShape):
            return bool(_shape(values[condition.left]) == _shape(values[condition.right]))
        parts = [self.terms.parts[var] for var in p.free_vars(condition) if var in self.terms.parts]
        if any(name in values and axis >= len(self._lengths(name, values)) for name, axis in parts):
            return False
        number = self._number(condition, values)
        return isinstance(number, p.IntImm) and bool(number.value)

    def _number(self, expr: p.PrimExpr, values: Mapping[str, Value]) -> p.PrimExpr:
        """A length or condition with the lengths of the values; an axis that is not there has no value."""
        known: dict[p.PrimVar, p.PrimExpr] = {}
        for var in p.free_vars(expr):
            name, axis = self.terms.parts.get(var, ("", 0))
            shape = self._lengths(name, values) if name in values else ()
            if name in values and axis < len(shape):
                known[var] = p.IntImm(len(shape) if axis < 0 else shape[axis])
        return simplify(p.substitute(expr, known))

    def _lengths(self, name: str, values: Mapping[str, Value]) -> tuple[int, ...]:
        """The shape of a value; a size is its own only length."""
        value = values[name]
        return (value,) if name in self.terms.sizes and type(value) is int else _shape(value)

    def _found(self, condition: c.Condition, values: Mapping[str, Value]) -> str:
        if isinstance(condition, c.SameDType):
            return f"{_element(condition.left, values)} is not {_element(condition.right, values)}"
        if isinstance(condition, c.SameShape):
            return f"{_shape(values[condition.left])} is not {_shape(values[condition.right])}"
        names = {self.terms.parts[v] for v in p.free_vars(condition) if v in self.terms.parts}
        shown = [
            f"{name}.rank = {len(_shape(values[name]))}"
            if axis < 0
            else f"{self.terms.dim(name, axis)} = {dict(enumerate(self._lengths(name, values))).get(axis, '?')}"
            for name, axis in sorted(names)
            if name in values
        ]
        return ", ".join(shown) or "no value"

    def _fail(self, text: str, span: Span | None, help: str = "") -> NoReturn:
        label = (Label(span, "", True),) if span is not None else ()
        raise Failure(Diagnostic(codes.SHAPE_ERROR, text, label, help=help or codes.SHAPE_ERROR.fix))


def _element(side: DType | str, values: Mapping[str, Value]) -> str:
    if isinstance(side, DType):
        return side.name
    value = values[side]
    if isinstance(value, DType):
        return value.name
    if isinstance(value, np.ndarray):
        return from_numpy(value.dtype).name
    return _ANY if isinstance(value, int) else "none"


def _shape(value: Value) -> tuple[int, ...]:
    """The shape of a tensor, and a shape itself; a number is one of rank 0."""
    if isinstance(value, tuple):
        return value
    return value.shape if isinstance(value, np.ndarray) else ()
