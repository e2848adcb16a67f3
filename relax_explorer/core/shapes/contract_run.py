"""Runs a program with shape contracts on NumPy arrays: the assertions of each wrapper, then the implementation.

Assertions that an analysis proved are not made.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType, dtype, from_numpy
from relax_explorer.core.ir.fold import exact
from relax_explorer.core.relations.solver import Mismatch
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.contract_facts import Analysis
from relax_explorer.core.shapes.contract_tree import Environment, Guard, Wrapper, desugar, guards
from relax_explorer.core.shapes.primitives import IMPLEMENTATIONS, RULES, how_to_compute
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
        env = Environment()
        for statement in self.program.main:
            self._statement(statement, scope, env)
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
        values = wrapper.named(args)
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

    def _statement(self, statement: c.Let | c.Assert, scope: dict[str, Value], env: Environment) -> None:
        if isinstance(statement, c.Assert):
            self._check((Guard(statement.condition, ""),), scope, statement.span, (statement, 0))
            return
        if isinstance(statement.value, c.Opaque):
            if statement.name not in self.inputs:
                self._fail(f"`{statement.name}` needs a value", statement.span)
            value: Value = self._given(statement)
        else:
            value = self._value(statement.value, scope, env)
        scope[statement.name] = value
        if statement.type is not None:
            demanded = tuple(guards(statement.name, statement.type, env, self.terms, statement.span))
            self._check(demanded, scope, statement.span, (statement, 0))
            for var, length in list(env.sizes.items()):
                env.sizes[var] = self._number(length, scope)

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

    def _value(self, expr: c.Expr, scope: dict[str, Value], env: Environment) -> Value:
        if isinstance(expr, c.Name):
            return scope[expr.name]
        if isinstance(expr, c.Literal):
            literal: Value = expr.value
            return literal
        if isinstance(expr, c.Call):
            args = [self._value(arg, scope, env) for arg in expr.args]
            return self.call(expr.function, args, expr.attrs, expr.span, expr)
        if isinstance(expr, c.If):
            test = self._test(expr, scope, env)
            return self._block(expr.then if test else expr.otherwise, dict(scope), env.copy())
        if isinstance(expr, c.Block):
            return self._block(expr, dict(scope), env)
        self._fail("only the run of the whole program knows this value", expr.span)

    def _test(self, expr: c.If, scope: dict[str, Value], env: Environment) -> bool:
        """Whether the first branch is taken."""
        if expr.test is not None:
            return self._holds(expr.test, scope)
        left, right = self._value(expr.left, scope, env), self._value(expr.right, scope, env)
        return bool(_COMPARE[expr.compare](left, right))

    def _block(self, block: c.Block, scope: dict[str, Value], env: Environment) -> Value:
        for statement in block.statements:
            self._statement(statement, scope, env)
        return self._value(block.value, scope, env)

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


# -- shape functions -------------------------------------------------------------------------------------------------
# Shapes apart from data (note 004, Tests D, G and H): the shape function of a function, and what a call becomes.
#
# A contract tells the shape of the result from the lengths of the arguments, else the rule of a primitive does. If
# neither does, the shape function reads the data.


@dataclass(frozen=True)
class Split(ABC):
    """A function in destination-passing style: `shape` is its shape function as text, `calls` what a call becomes."""

    shape: str
    calls: tuple[str, ...]

    @abstractmethod
    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, from shapes, or from tensors if it reads the data.

        Raises Failure if an assertion of the shape function does not hold.
        """


@dataclass(frozen=True)
class ContractSplit(Split):
    """The contract tells the shape of the result: `dims`, over the lengths `x.dim(0)` of the arguments, which are given as shapes."""

    wrapper: Wrapper
    terms: c.Terms
    dims: tuple[p.PrimExpr, ...]

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, where all assertions hold."""
        names = [q.name for q in self.wrapper.function.params]
        known: dict[p.PrimVar, p.PrimExpr] = {}
        given = dict(zip(names, map(tuple, args), strict=True))
        for name, shape in given.items():
            known[self.terms.rank(name)] = p.IntImm(len(shape))
            known |= {self.terms.dim(name, axis): p.IntImm(length) for axis, length in enumerate(shape)}
        for guard in self.wrapper.before:
            condition = guard.condition
            if isinstance(condition, c.SameShape):
                if given[condition.left] != given[condition.right]:
                    raise self._wrong(f"{condition} does not hold for", given)
            elif isinstance(condition, p.PrimExpr):
                answer = simplify(p.substitute(condition, known))
                if not isinstance(answer, p.IntImm) or not answer.value:
                    raise self._wrong(f"{condition} does not hold for", given)
        lengths = [exact(simplify(p.substitute(dim, known))) for dim in self.dims]
        for dim, length in zip(self.dims, lengths, strict=True):
            if length is None or not 0 <= length <= p.INT64_MAX:
                raise self._wrong(f"{dim} is no length for", given)
        return tuple([length for length in lengths if length is not None])

    def _wrong(self, text: str, shapes: Mapping[str, tuple[int, ...]]) -> Failure:
        """The failure of a run of the shape function."""
        label = Label(self.wrapper.function.span, "", True)
        text = f"{text} {', '.join(map(str, shapes.values()))}"
        return Failure(Diagnostic(codes.SHAPE_ERROR, text, (label,), help=codes.SHAPE_ERROR.fix))


@dataclass(frozen=True)
class RuleSplit(Split):
    """A rule from outside of the language tells the shape of the result from the shapes of the arguments."""

    name: str
    attrs: Mapping[str, int] = field(default_factory=dict)

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result by the rule."""
        try:
            dims = RULES[self.name]([tuple(map(p.as_prim, shape)) for shape in args], dict(self.attrs)).dims
        except Mismatch as problem:
            raise _no_shape(f"@{self.name}: {problem}") from None
        lengths = [exact(dim) for dim in dims or () if dim is not None]
        told = [length for length in lengths if length is not None]
        if dims is None or len(told) < len(dims):
            shapes = ", ".join(map(str, args))
            raise _no_shape(f"the rule of @{self.name} does not tell the shape for {shapes}")
        return tuple(told)


@dataclass(frozen=True)
class DataSplit(Split):
    """Only the data tell the shape of the result. The arguments are tensors."""

    name: str
    program: c.Program
    terms: c.Terms
    attrs: Mapping[str, int] = field(default_factory=dict)

    def run(self, *args: Sequence[int]) -> tuple[int, ...]:
        """The shape of the result, by computing it."""
        runner = Runner(self.program, self.terms, {})
        found = runner.call(self.name, list(map(np.asarray, args)), self.attrs)
        return found.shape if isinstance(found, np.ndarray) else ()


def _no_shape(text: str) -> Failure:
    return Failure(Diagnostic(codes.SHAPE_ERROR, text, help=codes.SHAPE_ERROR.fix))


def split_dps(function: c.Function, terms: c.Terms, program: c.Program | None = None) -> Split:
    """The shape computation of a function apart from its data. `program` has the functions that its body calls."""
    wrapper, ret = desugar(function, terms), function.ret
    ret = c.TensorType((), ret.dtype) if isinstance(ret, c.Scalar) else ret
    shape = ret.shape if isinstance(ret, c.TensorType) else c.UNKNOWN
    names, rank = [q.name for q in function.params], _rank(ret)
    element = _element_of(ret, wrapper, names)
    if isinstance(shape, tuple) and all(wrapper.environment.is_bound(dim) for dim in shape):
        dims = tuple([wrapper.environment.value(dim) for dim in shape if isinstance(dim, p.PrimExpr)])
        built = [*_matches(wrapper, terms), f"build_shape_{len(dims)}({', '.join(['out', *map(str, dims)])})"]
        text = _function(function.name, [f"{name} : shape" for name in names], built)
        return ContractSplit(text, _calls(function.name, len(names), rank, element), wrapper, terms, dims)
    if function.body is None and function.name in RULES:
        return split_rule(function.name, len(names), {}, element)
    after = [
        str(guard) for guard in wrapper.after
        if isinstance(guard.condition, c.SameShape) or (isinstance(guard.condition, p.PrimExpr) and guard.axis >= 0)
    ]  # fmt: skip
    lines = [*_matches(wrapper, terms), f"build_shape{_suffix(rank)}(out, ..)  # reads the data", *after]
    text = _function(function.name, [f"{name} : handle" for name in names], lines)
    calls = _calls(function.name, len(names), rank, element, reads_data=True)
    return DataSplit(text, calls, function.name, program or c.Program({function.name: function}), terms)


def split_rule(name: str, inputs: int, attrs: Mapping[str, int], element: str = "") -> Split:
    """The shape computation of a primitive that has a rule, or that only the data tell."""
    has_rule, element = name in RULES, element or ("%0.dtype" if inputs else c.UNKNOWN)
    kind, body = ("shape", f"the rule of @{name}") if has_rule else ("handle", "reads the data")
    given = [f"x{n} : {kind}" for n in range(inputs)]
    more = [f"{key} = {value}" for key, value in attrs.items()]
    text = _function(name, given, [f"build_shape(out, ..)  # {body}"], more)
    calls = _calls(name, inputs, None, element, reads_data=not has_rule)
    if has_rule:
        return RuleSplit(text, calls, name, attrs)
    return DataSplit(text, calls, name, c.Program(), c.Terms(), attrs)


def splits(program: c.Program, terms: c.Terms) -> Iterator[tuple[str, Split]]:
    """Each function of a program, then each primitive that it calls, with its shape function."""
    for name, function in program.functions.items():
        yield f"@{name}(...)", split_dps(function, terms, program)
    bodies = [fn.body for fn in program.functions.values() if fn.body is not None]
    values = [*bodies, *[item.value for item in program.main if isinstance(item, c.Let)]]
    seen = set()
    for call in [call for value in values for call in c.calls_of(value)]:
        key = call.function, len(call.args), tuple(call.attrs.items())
        is_primitive = call.function in RULES or call.function in IMPLEMENTATIONS
        if is_primitive and call.function not in program.functions and key not in seen:
            seen.add(key)
            more = "".join(f", {name}={value}" for name, value in call.attrs.items())
            yield f"@{call.function}(...{more})", split_rule(call.function, len(call.args), call.attrs)


def _function(name: str, params: Sequence[str], lines: Sequence[str], more: Sequence[str] = ()) -> str:
    """A shape function as text."""
    head = f"@{name}_tir_shape = fn({', '.join([*params, 'out : shape', *more])}) {{"
    return "\n".join([head, *[f"  {line}" for line in lines], "}"])


def _matches(wrapper: Wrapper, terms: c.Terms) -> Iterator[str]:
    """The lengths of the arguments, and what is asserted of them."""
    for q in wrapper.function.params:
        rank = _rank(q.type)
        if rank is not None:
            parts = ", ".join(str(terms.dim(q.name, axis)) for axis in range(rank))
            match = f"match_shape_{rank}({q.name})  # asserts rank {rank}"
            yield f"{parts} = {match}" if parts else match
    for guard in wrapper.before:
        if guard.axis >= 0 or isinstance(guard.condition, c.SameShape):
            yield str(guard)


def _calls(
    name: str, inputs: int, rank: int | None, element: str, reads_data: bool = False
) -> tuple[str, ...]:
    """What a call becomes: its shape, memory for it, then its data."""
    lines: list[str] = []
    given, shapes = [f"%{n}" for n in range(inputs)], [f"%{n}" for n in range(inputs)]
    first = inputs
    if not reads_data:
        shapes = [f"%{inputs + n}" for n in range(inputs)]
        lines += [f"{one} = get_shape({arg})" for one, arg in zip(shapes, given, strict=True)]
        first += inputs
    out, buffer, tensor = (f"%{first + n}" for n in (0, 2, 3))
    return (
        *lines,
        f"{out} = alloc_shape{_suffix(rank)}()",
        f"@{name}_tir_shape({', '.join([*shapes, out])})",
        f"{buffer} = alloc_buffer(..)",
        f"{tensor} = alloc_tensor({out}, {element})",
        f"@{name}_tir({', '.join([*given, tensor])})",
    )


def _suffix(rank: int | None) -> str:
    return "" if rank is None else f"_{rank}"


def _element_of(ret: c.SweetType, wrapper: Wrapper, names: Sequence[str]) -> str:
    """The element type of the result: as written, or that of an argument."""
    element = ret.dtype if isinstance(ret, c.TensorType) else c.UNKNOWN
    if isinstance(element, DType):
        return element.name
    owner = wrapper.environment.dtypes.get(element.name) if isinstance(element, c.DTypeName) else None
    return c.UNKNOWN if owner is None else f"%{names.index(owner)}.dtype"


def _rank(kind: c.SweetType) -> int | None:
    """The rank that a type tells."""
    if isinstance(kind, c.Scalar):
        return 0
    dims = c.stated_dims(kind)
    return None if dims is None else len(dims)
