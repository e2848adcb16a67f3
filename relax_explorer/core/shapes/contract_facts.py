"""Assertions of contracts about values: dropped if they are proved, kept if not, and explained if they always fail."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, Report
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.assumptions import Assumptions, Fact
from relax_explorer.core.shapes.conditions import words
from relax_explorer.core.shapes.contract_tree import Environment, Guard, Wrapper, desugar, guards
from relax_explorer.core.source import Span

# -- contract facts --------------------------------------------------------------------------------------------------
# What shapes are known to be in a program with contracts, and what remains of its assertions.


@dataclass(frozen=True, eq=False)
class ValueFacts:
    """What is known of a value: its lengths (None: not even the rank), element type, shape of the same value, and elements."""

    name: str
    dims: tuple[p.PrimExpr, ...] | None = None
    dtype: DType | str | None = None
    like: str = ""  # a variable of the same shape, if the rank is unknown
    value: Any = None
    sort: str = (
        ""  # Size, Shape or DType: the value is the only length, the shape or the element type that is told
    )

    def __str__(self) -> str:
        if self.sort:
            return self.sort
        shape = "?" if self.dims is None else f"[{', '.join(map(str, self.dims))}]"
        is_own = self.dtype is None or self.dtype == self.name
        element = (
            self.dtype.name if isinstance(self.dtype, DType) else "?" if is_own else f"{self.dtype}.dtype"
        )
        return f"Tensor({self.like or shape}, {element})"


@dataclass(frozen=True, eq=False)
class Residual:
    """An assertion that remains for the run: where, and which call or annotation demands it."""

    function: str
    condition: c.Condition
    origin: str
    place: Span | None


@dataclass(frozen=True, eq=False)
class Desugared:
    """The contract of one variable as assertions, and the size variables that it captures, with their lengths."""

    function: str
    name: str
    kind: c.SweetType
    guards: tuple[Guard, ...]
    captured: tuple[tuple[p.PrimVar, p.PrimExpr], ...]
    place: Span | None


@dataclass(frozen=True, eq=False)
class Decided:
    """An assertion that was decided: as the contract has it, and in terms of the values at its place.

    `reasons` are facts that decide it. Of one that remains, `failing` has lengths for which it fails.
    """

    function: str
    origin: str
    guard: Guard
    condition: c.Condition
    answer: Answer
    reasons: tuple[Fact, ...]
    failing: tuple[tuple[p.PrimVar, int], ...]
    place: Span | None


@dataclass(frozen=True, eq=False)
class Learned:
    """What a value is known to be after its let, or as a parameter."""

    function: str
    name: str
    type: str
    place: Span | None


ContractStep: TypeAlias = Desugared | Decided | Learned


@dataclass
class Analysis:
    """The values of the main program by name, the assertions that remain, the problems, and what was proved where.

    `steps` has how this was found, if `analyse` was asked to record it.
    """

    values: dict[str, ValueFacts] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    asserted: dict[str, bool] = field(
        default_factory=dict
    )  # `is_assertion`: something of the contract remains
    residual: list[Residual] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    sizes: dict[int, tuple[str, dict[str, p.PrimExpr]]] = field(
        default_factory=dict
    )  # by call: function, its sizes
    chosen: list[tuple[c.Call, str]] = field(default_factory=list)  # implementations of calls
    proved: set[tuple[int, int]] = field(
        default_factory=set
    )  # a call or let, and the number of its assertion
    steps: list[ContractStep] | None = None
    sources: dict[str, str] = field(
        default_factory=dict
    )  # of values without a name: what the program says there

    def named(self, text: str) -> str:
        """A text in which values without a name stand as the program writes them."""
        return re.sub(r"%\d+", lambda name: self.sources.get(name[0], "?"), text)


def residual_rows(found: Analysis) -> Iterator[tuple[str, str, str, int]]:
    """Function, assertion, origin and line of what remains."""
    for item in found.residual:
        yield (
            item.function,
            f"assert {found.named(words(item.condition))}",
            item.origin,
            item.place.line if item.place is not None else 0,
        )


# -- holding ---------------------------------------------------------------------------------------------------------


Values = Mapping[str, ValueFacts]
_TRUE = p.EQ(p.IntImm(0), p.IntImm(0))
_LONGEST = 60  # characters of a value that is told by its text
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


class Holding:
    """What is known at a place of a program, and the assertions that are held against it."""

    def __init__(self, terms: c.Terms) -> None:
        self.terms = terms
        self.found = Analysis()
        self.where, self.facts = "main", Assumptions()
        self.scope: dict[str, ValueFacts] = {}
        self.calls: list[Span | None] = []
        self.made: set[str] = set()  # names of values without one, which no text shows

    def type_text(self, value: ValueFacts) -> str:
        """The type of a value, simplified; size variables keep their names."""
        if value.sort:
            return value.sort
        if value.dtype in self.made:
            value = replace(value, dtype=None)
        if value.dims is None:
            return str(replace(value, like=""))
        made = self.terms.parts
        shown = [
            "?"
            if any(v in made and made[v][0] in self.made for v in p.free_vars(dim))
            else str(simplify(dim))
            for dim in value.dims
        ]
        return str(replace(value, dims=None, like=f"[{', '.join(shown)}]"))

    # -- assertions --------------------------------------------------------------------------------------------------

    def lengths(self, values: Values) -> dict[p.PrimVar, p.PrimExpr]:
        """The known lengths behind the terms of some variables."""
        found: dict[p.PrimVar, p.PrimExpr] = {}
        for name, value in values.items():
            if value.dims is not None:
                found[self.terms.rank(name)] = p.IntImm(len(value.dims))
                found |= {self.terms.dim(name, n): dim for n, dim in enumerate(value.dims)}
            elif value.name != name:
                found[self.terms.rank(name)] = self.terms.rank(value.name)
        return found

    def hold(
        self,
        demanded: tuple[Guard, ...],
        values: Values,
        place: object,
        origin: str,
        span: Span | None,
        wrapper: Wrapper | None = None,
    ) -> tuple[Values, bool]:
        """Decide assertions about values: drop, keep or refuse each. The values after them, and whether one remains."""
        remains = False
        for number, guard in enumerate(demanded):
            condition = self.in_terms(guard.condition, values)
            is_number = isinstance(condition, c.SameDType) and isinstance(
                getattr(values.get(guard.name), "value", None), int
            )
            if is_number:  # it has the type that is wanted
                answer = Answer.YES
            elif guard.axis >= 0:  # a contract tells the rank first
                answer = self.decide(condition)
            else:
                answer = self.answer(guard.condition, condition, values)
            self.note_decision(origin, guard, condition, answer, span)
            if answer is Answer.YES:
                if not self.calls:  # else it holds for one of the calls that a body is looked at for
                    self.found.proved.add((id(place), number))
                values = self.learn(guard, values)
                continue
            if answer is Answer.NO:
                self.explain(guard, values, place, origin, span, wrapper)
                return values, True
            remains = True
            text = condition if wrapper is not None else guard.condition
            self.found.residual.append(Residual(self.where, text, origin, span))
            if isinstance(condition, p.PrimExpr):
                for fact in (*self.axes_of(guard.condition, values), condition):
                    self.facts = self.facts.plus(fact, f"asserted by {origin}", place)
            values = self.learn(guard, values)
        return values, remains

    def answer(self, stated: c.Condition, condition: c.Condition, values: Values) -> Answer:
        """Whether a condition holds, which `stated` tells of the variables of a contract; none does about an axis that a value does not have."""
        axes = [self.decide(fact) for fact in self.axes_of(stated, values)]
        if Answer.NO in axes:
            return Answer.NO
        found = self.decide(condition)
        return Answer.UNKNOWN if found is Answer.YES and Answer.UNKNOWN in axes else found

    def axes_of(self, stated: c.Condition, values: Values) -> list[p.PrimExpr]:
        """That the axes exist of which a condition tells something, as far as this is not known of the values."""
        facts: list[p.PrimExpr] = []
        for var in p.free_vars(stated) if isinstance(stated, p.PrimExpr) else ():
            name, axis = self.terms.parts.get(var, ("", -1))
            value = values.get(name) if axis >= 0 else None
            if value is not None and (value.dims is None or axis >= len(value.dims)):
                rank = self.terms.rank(value.name) if value.dims is None else p.IntImm(len(value.dims))
                facts.append(p.GT(rank, p.IntImm(axis)))
        return facts

    def in_terms(self, condition: c.Condition, values: Values) -> c.Condition:
        """A condition about the variables of a contract as one about the values."""
        if isinstance(condition, p.PrimExpr):
            parts = {v: self.terms.parts[v] for v in p.free_vars(condition) if v in self.terms.parts}
            found = {name: values[name] for name, _ in parts.values() if name in values}
            mapping = self.lengths(found)
            for var, (name, axis) in parts.items():
                if axis >= 0 and name in found and found[name].dims is None:
                    mapping[var] = self.terms.dim(found[name].name, axis)
            return p.substitute(condition, mapping)
        if isinstance(condition, c.SameDType):
            sides = [self.element(side, values) for side in (condition.left, condition.right)]
            return c.SameDType(sides[0], sides[1])
        left, right = (
            values.get(name) or ValueFacts(name, like=name) for name in (condition.left, condition.right)
        )
        if left.dims is not None and right.dims is not None and len(left.dims) == len(right.dims):
            pairs = [p.EQ(a, b) for a, b in zip(left.dims, right.dims, strict=True)]
            return next((one for one in pairs if self.facts.prove(one) is not Answer.YES), _TRUE)
        if left.dims is not None and right.dims is not None:
            return p.EQ(p.IntImm(len(left.dims)), p.IntImm(len(right.dims)))
        return c.SameShape(left.like or left.name, right.like or right.name)

    def element(self, side: DType | str, values: Values) -> DType | str:
        """An element type as it is known."""
        if isinstance(side, DType):
            return side
        value = values.get(side) or self.scope.get(side)
        if value is None:
            return side
        return value.name if value.dtype is None else value.dtype

    def decide(self, condition: c.Condition) -> Answer:
        """Whether a condition holds."""
        if isinstance(condition, p.PrimExpr):
            return self.facts.prove(condition)
        if condition.left == condition.right:
            return Answer.YES
        if (
            isinstance(condition, c.SameDType)
            and isinstance(condition.left, DType)
            and isinstance(condition.right, DType)
        ):
            return Answer.NO
        return Answer.UNKNOWN

    def learn(self, guard: Guard, values: Values) -> Values:
        """The values after an assertion was kept: a rank or an element type is known then."""
        name, condition = guard.name, guard.condition
        value = values.get(name)
        if value is None:
            return values
        if isinstance(condition, c.SameDType):
            element = self.element(condition.right, values)
            other = values.get(condition.right) if isinstance(condition.right, str) else None
            known = value.dtype
            if other is not None and isinstance(known, DType):  # then it tells that of the other one
                name, value, element = str(condition.right), other, known
            learned = replace(value, dtype=element)
            self.remember(learned)
            return with_value(values, name, learned)
        if (
            value.dims is None
            and isinstance(condition, p.EQ)
            and isinstance(condition.b, p.IntImm)
            and guard.axis < 0
        ):
            dims = tuple([self.terms.dim(value.name, n) for n in range(condition.b.value)])
            learned = replace(value, dims=dims)
            self.remember(learned)
            return with_value(values, name, learned)
        return values

    def remember(self, learned: ValueFacts) -> None:
        """Keep what is known of a value of the program. In a body that is looked at for a call, its name may stand for another one."""
        own = self.scope.get(learned.name)
        if own is not None and own.name == learned.name:
            self.scope[learned.name] = learned

    # -- the record of how it was found ------------------------------------------------------------------------------

    def note_decision(
        self, origin: str, guard: Guard, condition: c.Condition, answer: Answer, span: Span | None
    ) -> None:
        """Record a decision with the facts behind it, if steps are recorded."""
        if self.found.steps is None:
            return
        reasons, failing = [], {}
        if isinstance(condition, p.PrimExpr):
            reasons = self.facts.reasons(condition)
            failing = self.facts.counterexample(condition) if answer is Answer.UNKNOWN else {}
        self.found.steps.append(
            Decided(
                self.where, origin, guard, condition, answer, tuple(reasons), tuple(failing.items()), span
            )
        )

    def note_contract(
        self, name: str, kind: c.SweetType, demanded: tuple[Guard, ...], env: Environment, before: int, span: Span | None
    ) -> None:  # fmt: skip
        """Record a contract as assertions. It captured the size variables behind the first `before`."""
        if self.found.steps is not None:
            captured = tuple(islice(env.sizes.items(), before, None))
            self.found.steps.append(Desugared(self.where, name, kind, demanded, captured, span))

    def note_value(self, name: str, value: ValueFacts, span: Span | None) -> None:
        """Record what a value is known to be."""
        if self.found.steps is not None:
            self.found.steps.append(Learned(self.where, name, self.type_text(value), span))

    # -- problems ----------------------------------------------------------------------------------------------------

    def explain(
        self,
        guard: Guard,
        values: Values,
        place: object,
        origin: str,
        span: Span | None,
        wrapper: Wrapper | None,
    ) -> None:
        """Report an assertion that always fails, in the words of the contract."""
        if wrapper is None or not isinstance(place, c.Call):
            name = guard.name or self.missing(guard.condition, values)
            have = values.get(name)
            text = f"{words(guard.condition)} never holds" + (
                f": {name} is {self.type_text(have)}" if have is not None else ""
            )
            self.say(f"{text}; {origin} asks for it", span)
            return
        have = values[guard.name]
        if guard.solves and have.dims is not None:
            length = self.facts.substitute(have.dims[guard.axis])
            place = f"In dimension {guard.axis} of argument {guard.name} to {origin}"
            self.say(f"{place}, {guard.written} = {length} has no solution.", span)
            return
        names = [q.name for q in wrapper.function.params]
        number = names.index(guard.name)
        kind = wrapper.function.params[number].type
        which = _ORDINALS[number] if number < len(_ORDINALS) else f"{number + 1}th"
        self.say(
            f"Shape mismatch while inferring the shapes of expression {_source(place)}; the function {origin} expects a {which} "
            f"argument of type {self.expected(kind, values, wrapper, guard.name)} but is being called with an argument of type "
            f"{self.type_text(have)}",
            span,
        )

    def missing(self, stated: c.Condition, values: Values) -> str:
        """The variable that does not have an axis of which a condition tells something; empty if there is none."""
        for var in p.free_vars(stated) if isinstance(stated, p.PrimExpr) else ():
            if Answer.NO in map(self.decide, self.axes_of(var, values)):
                return self.terms.parts[var][0]
        return ""

    def expected(self, kind: c.SweetType, values: Values, wrapper: Wrapper, name: str) -> str:
        """The declared type of an argument, with what the arguments before it tell."""
        if not isinstance(kind, c.TensorType):
            return str(kind)
        names = list(values)
        earlier = {one: values[one] for one in names[: names.index(name)]}
        mapping, before = self.lengths(earlier), Environment()
        for q in wrapper.function.params[: names.index(name)]:
            list(guards(q.name, q.type, before, self.terms, None))
        shape: Any = kind.shape
        if isinstance(shape, tuple):
            shape = tuple([
                self.facts.substitute(p.substitute(before.value(dim), mapping)) if before.is_bound(dim) else dim for dim in shape
            ])  # fmt: skip
        element: Any = kind.dtype
        if isinstance(element, c.DTypeName) and element.name in before.dtypes:
            element = self.element(before.dtypes[element.name], values)
        return str(c.TensorType(shape, element))

    def refuse(self, call: c.Call, args: list[ValueFacts], reason: str) -> None:
        """Report a call that a shape rule refuses."""
        types = " and ".join(self.type_text(arg) for arg in args)
        self.say(
            f"Shape mismatch while inferring the shapes of expression {_source(call)}: {reason}; the arguments are {types}",
            call.span,
        )

    def say(self, text: str, span: Span | None) -> None:
        """Report a shape error at the innermost place, with the calls around it."""
        outer = [Label(place, "called here") for place in self.calls if place is not None]
        first = outer[0].place if outer else span
        rest = [*outer[1:], Label(span, "in this call")] if outer else []
        self.found.report.say(codes.SHAPE_ERROR, text, first, labels=rest, help=codes.SHAPE_ERROR.fix)


def declared(terms: c.Terms, name: str, kind: c.SweetType, env: Environment) -> ValueFacts:
    """A value of a declared type; lengths that the type does not tell are terms."""
    if isinstance(kind, c.Scalar):
        return ValueFacts(name, (), kind.dtype)
    if isinstance(kind, c.Sort):
        dims = (terms.dim(name, 0),) if kind.name == "Size" else None
        owner = env.shapes.get(name, name)
        return ValueFacts(name, dims, env.dtypes.get(name, name), owner, sort=kind.name)
    if not isinstance(kind, c.TensorType) or kind.is_plain:
        return ValueFacts(name, like=name)
    element = kind.dtype if isinstance(kind.dtype, DType) else name
    if isinstance(kind.dtype, c.DTypeName):
        element = env.dtypes.get(kind.dtype.name, name)
    if isinstance(kind.shape, tuple):
        return ValueFacts(name, tuple([terms.dim(name, n) for n in range(len(kind.shape))]), element)
    owner = env.shapes.get(kind.shape.name, name) if isinstance(kind.shape, c.ShapeName) else name
    return ValueFacts(name, None, element, owner)


def with_value(values: Values, name: str, value: ValueFacts) -> Values:
    """Values and one more; those that there were are not copied."""
    below: list[Any] = values.maps if isinstance(values, ChainMap) else [values]
    return ChainMap({name: value}, *below)


def shortened(text: str) -> str:
    """A piece of a program in one line, with its middle left out if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 6]} .. {line[-2:]}"


def _source(call: c.Call) -> str:
    text = call.span.text if call.span is not None else f"@{call.function}(…)"
    return " ".join(text.split())


# -- implementation order --------------------------------------------------------------------------------------------
# Lists of implementations: the first one whose assertions are certain is taken, so that the most specific one comes
# first.


def order_problems(program: c.Program, terms: c.Terms, names: Sequence[str]) -> Iterator[Diagnostic]:
    """A warning for each implementation that is never taken, or that does not assert all that the next one does."""
    wrappers = [desugar(program.functions[name], terms) for name in names]
    for number, later in enumerate(wrappers):
        taken = next((one for one in wrappers[:number] if _entails(later, one, terms)), None)
        if taken is not None:
            text = f"@{taken.function.name} asserts no more than @{later.function.name}, which stands behind it and is never taken"
            yield _problem(taken, later, text)
        elif number and not _entails(wrappers[number - 1], later, terms):
            before = wrappers[number - 1]
            text = f"neither @{before.function.name} nor @{later.function.name} asserts all that the other one does"
            yield _problem(before, later, text)


def _problem(before: Wrapper, later: Wrapper, text: str) -> Diagnostic:
    labels = (
        Label(before.function.span, "this one is tried first", True),
        Label(later.function.span, "behind it"),
    )
    return Diagnostic(
        codes.LESS_SPECIFIC, f"order violates specificity: {text}", labels, help=codes.LESS_SPECIFIC.fix
    )


def _entails(first: Wrapper, second: Wrapper, terms: c.Terms) -> bool:
    """True if the arguments of one function are arguments of another: its contract implies the other's."""
    own, other = first.function.params, second.function.params
    if len(own) != len(other):
        return False
    holding = Holding(terms)
    for guard in first.before:
        if isinstance(guard.condition, p.PrimExpr):
            holding.facts = holding.facts.plus(guard.condition)
    values = {
        b.name: declared(terms, a.name, a.type, first.environment) for a, b in zip(own, other, strict=True)
    }
    return all(
        holding.decide(holding.in_terms(guard.condition, values)) is Answer.YES for guard in second.before
    )
