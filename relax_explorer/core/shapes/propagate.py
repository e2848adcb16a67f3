"""Shapes through a program with contracts: what each value is known to be, which assertions remain, which calls are ill-shaped.

A call is checked against the contract of its function, under what is known at the call. The result has the shape that the
contract promises. A remaining assertion is known after its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, division_by_zero
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType, from_numpy
from relax_explorer.core.ir.fold import beyond
from relax_explorer.core.relations.solver import Mismatch
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.contract_facts import (
    Analysis,
    Holding,
    ValueFacts,
    declared,
    order_problems,
    shortened,
    with_value,
)
from relax_explorer.core.shapes.contract_tree import Environment, Guard, Wrapper, desugar, guards
from relax_explorer.core.shapes.primitives import BROADCASTING, IMPLEMENTATIONS, RULES, Shaped


@collector_at_rest()
def analyse(
    program: c.Program,
    terms: c.Terms,
    keep_branches: bool = False,
    implementations: Mapping[str, Sequence[str]] | None = None,
    traced: bool = False,
) -> Analysis:
    """Propagate shapes through a program. With `keep_branches`, the body of a called function is looked into.

    `implementations` lists functions that may stand for another one, the most specific first. A call goes to the first whose
    contract is certain to hold (`Analysis.chosen`). `traced` records the steps with the reason of each decision.
    """
    walk = _Walk(program, terms, keep_branches, program.implementations | dict(implementations or {}))
    if traced:
        walk.found.steps = []
        for name in program.functions:
            walk.contract(name)
    for function in program.functions.values():
        walk.function(function)
    walk.main()
    for names in walk.others.values():
        walk.found.report.extend(order_problems(program, terms, names))
    return walk.found


class _Walk(Holding):
    def __init__(
        self, program: c.Program, terms: c.Terms, keep_branches: bool, others: Mapping[str, Sequence[str]]
    ) -> None:
        super().__init__(terms)
        self.others = others
        self.program, self.keep_branches, self.count = program, keep_branches, 0
        self.wrappers: dict[str, Wrapper] = {
            name: desugar(fn, terms) for name, fn in program.functions.items()
        }
        self.environment = Environment()

    # -- functions ---------------------------------------------------------------------------------------------------

    def contract(self, name: str) -> None:
        """Record how the contract of a function becomes assertions."""
        function, env = self.wrappers[name].function, Environment()
        self.where = f"@{name}"
        typed = [(q.name, q.type, q.span) for q in function.params]
        for name, kind, span in [*typed, ("out", function.ret, function.span)]:
            before = len(env.sizes)
            demanded = tuple(guards(name, kind, env, self.terms, span))
            self.note_contract(name, kind, demanded, env, before, span)

    def function(self, function: c.Function) -> None:
        """Propagate through a body; the result is held against the contract."""
        if function.body is None:
            return
        wrapper = self.wrappers[function.name]
        self.where, self.facts, self.scope = f"@{function.name}", Assumptions(), {}
        self.environment = wrapper.environment.copy()
        for q in function.params:
            self.scope[q.name] = declared(self.terms, q.name, q.type, wrapper.environment)
            self.note_value(q.name, self.scope[q.name], q.span)
        for guard in wrapper.before:
            if isinstance(guard.condition, p.PrimExpr):
                self.facts = self.facts.plus(guard.condition, f"the contract of {guard.name}")
        if isinstance(function.body.value, c.Opaque):
            for statement in function.body.statements:
                self.statement(statement)
        else:
            out = replace(self.value(function.body), name="out")
            self.hold(wrapper.after, {"out": out}, function, f"the result of @{function.name}", function.span)

    def main(self) -> None:
        """Propagate through the main program."""
        self.where, self.facts, self.scope, self.environment = "main", Assumptions(), {}, Environment()
        for statement in self.program.main:
            self.statement(statement)
        self.found.values = self.scope

    # -- statements and values ---------------------------------------------------------------------------------------

    def statement(self, statement: c.Let | c.Assert) -> None:
        """A let or an assertion."""
        if isinstance(statement, c.Assert):
            guard = Guard(statement.condition, self.condition_text(statement.condition))
            self.hold((guard,), self.scope, statement, "an assertion of the program", statement.span)
            return
        name = statement.name if not self.calls else self.fresh()  # a body may be looked at for several calls
        value = self.renamed(self.value(statement.value), name)
        kind = statement.type
        if kind is not None and not isinstance(statement.value, c.Opaque):
            sorted_value = self.of_sort(value, kind)
            if sorted_value is None:
                self.say(f"{statement.name} is no {kind}: it is {self.value_text(value)}", statement.span)
                sorted_value = declared(self.terms, name, kind, self.environment)
            value = sorted_value
        if isinstance(statement.value, c.Opaque) and kind is not None and not statement.is_assertion:
            value = self.trusted(name, kind)
        elif kind is not None:
            value = self.annotated(statement, kind, value)
        self.scope[statement.name] = value
        self.note_value(statement.name, value, statement.span)
        if self.where == "main" and not self.calls:
            self.found.types[statement.name] = self.type_text(value)

    def condition_text(self, condition: c.Condition) -> str:
        """The variable whose rank or element type a condition tells; empty if it tells none."""
        if isinstance(condition, c.SameDType):
            return condition.left if isinstance(condition.left, str) else ""
        if (
            isinstance(condition, p.EQ)
            and isinstance(condition.b, p.IntImm)
            and isinstance(condition.a, p.PrimVar)
        ):
            name, axis = self.terms.parts.get(condition.a, ("", 0))
            return name if axis < 0 else ""
        return ""

    def renamed(self, value: ValueFacts, name: str) -> ValueFacts:
        """A value under the name of its let, with its unknown lengths: a user knows `c.dim(0)`, not the value before it."""
        own = (
            {self.terms.dim(value.name, n): n for n in range(len(value.dims or ()))}
            if value.name in self.made
            else {}
        )
        if value.dims is None or own.keys().isdisjoint(value.dims):
            return replace(value, name=name)
        dims = [self.terms.dim(name, own[dim]) if dim in own else dim for dim in value.dims]
        return replace(value, name=name, dims=tuple(dims))

    def trusted(self, name: str, kind: c.SweetType) -> ValueFacts:
        """A value that only the run makes: its annotation is believed, and its new size variables stand for themselves."""
        stated = c.stated_dims(kind)
        if stated is not None:
            for dim in stated:
                for var in p.free_vars(dim) if isinstance(dim, p.PrimExpr) else ():
                    self.environment.sizes.setdefault(var, self.own(var))
            dims = tuple([
                self.environment.value(dim) if isinstance(dim, p.PrimExpr) else self.terms.dim(name, axis)
                for axis, dim in enumerate(stated)
            ])  # fmt: skip
            return replace(self.resolved(name, kind), dims=dims)
        if isinstance(kind, c.Sort):
            list(guards(name, kind, self.environment, self.terms, None))
        return self.resolved(name, kind)

    def resolved(self, name: str, kind: c.SweetType) -> ValueFacts:
        """A value of a declared type, with what is known of the shape and element type that it names."""
        found = declared(self.terms, name, kind, self.environment)
        owner, element = self.scope.get(found.like), self.scope.get(str(found.dtype))
        if found.dims is None and owner is not None and owner.sort:
            found = replace(found, dims=owner.dims)
        return replace(found, dtype=element.dtype) if element is not None and element.sort else found

    def of_sort(self, value: ValueFacts, kind: c.SweetType) -> ValueFacts | None:
        """A value where a type is expected: a literal becomes a size, shape or element type. None if it is of another sort."""
        wanted = kind.name if isinstance(kind, c.Sort) else ""
        if value.sort or not wanted:
            is_told = isinstance(value.value, tuple | DType)
            return value if value.sort == wanted and (wanted or not is_told) else None
        if wanted == "Size" and type(value.value) is int and value.value >= 0:
            return replace(value, dims=(p.IntImm(value.value),), sort=wanted)
        if wanted == "Shape" and isinstance(value.value, tuple) and min(value.value, default=0) >= 0:
            return replace(value, dims=tuple(map(p.IntImm, value.value)), sort=wanted)
        if wanted == "DType" and isinstance(value.value, DType):
            return replace(value, dims=None, dtype=value.value, sort=wanted)
        return None

    def value_text(self, value: ValueFacts) -> str:
        """A value in a problem."""
        if isinstance(value.value, tuple):
            return f"[{', '.join(map(str, value.value))}]"
        return str(value.value) if isinstance(value.value, int | DType) else self.type_text(value)

    def sorted_args(self, wrapper: Wrapper, call: c.Call, args: list[ValueFacts]) -> list[ValueFacts] | None:
        """The arguments of a call, each of the sort of its parameter; None after a problem."""
        found = []
        for q, arg in zip(wrapper.function.params, args, strict=True):
            one = self.of_sort(arg, q.type)
            if one is None:
                text = f"argument {q.name} of @{call.function} is {q.type}, not {self.value_text(arg)}"
                self.found.report.say(codes.CALL_SHAPE, text, call.span, help=codes.CALL_SHAPE.fix)
                return None
            found.append(one)
        return found

    def annotated(self, let: c.Let, kind: c.SweetType, value: ValueFacts) -> ValueFacts:
        """Hold a value against its annotation. A dimension with a new variable is then known as written."""
        before = len(self.environment.sizes)
        try:
            demanded = tuple(guards(let.name, kind, self.environment, self.terms, let.span))
        except Failure as failure:
            self.found.report.extend(failure.diagnostics)
            return value
        self.note_contract(let.name, kind, demanded, self.environment, before, let.span)
        words = f"`let {let.name} {'!' if let.is_assertion else ':'} {kind}`"
        values, remains = self.hold(demanded, with_value(self.scope, let.name, value), let, words, let.span)
        self.found.asserted[let.name] = remains
        value = values[let.name]
        if isinstance(kind, c.Sort) and kind.variable is not None and value.dims is not None:
            self.environment.sizes[kind.variable] = value.dims[0]
        written = c.stated_dims(kind)
        if written is None or value.dims is None or len(value.dims) != len(written):
            return value
        captured = set(islice(self.environment.sizes, before, None))
        return replace(value, dims=self.asserted(written, value.dims, captured, words))

    def asserted(
        self, written: tuple[c.Dim, ...], have: tuple[p.PrimExpr, ...], captured: set[p.PrimVar], words: str
    ) -> tuple[p.PrimExpr, ...]:
        """The lengths behind an annotation: those with a new variable as written, unknown ones by what is known of them."""
        dims = list(have)
        for axis, dim in enumerate(written):
            new = captured.intersection(p.free_vars(dim)) if isinstance(dim, p.PrimExpr) else set()
            if new and isinstance(dim, p.PrimExpr):
                self.environment.sizes |= {var: self.own(var) for var in new}
                length = self.environment.value(dim) if self.calls else dim
                self.facts = self.facts.plus(p.EQ(length, dims[axis]), f"asserted by {words}")
                dims[axis] = length
            elif isinstance(dim, p.PrimExpr) and dims[axis] in self.terms.parts:
                length = p.substitute(self.environment.value(dim), self.lengths(self.scope))
                is_named = self.terms.parts.keys().isdisjoint(p.free_vars(length))
                dims[axis] = length if is_named else self.facts.substitute(length)
        return tuple(dims)

    def own(self, var: p.PrimVar) -> p.PrimVar:
        """What stands for a size variable here. Each call that a body is looked at for has another one."""
        return p.PrimVar(var.name, var.dtype) if self.calls else var

    def value(self, expr: c.Expr) -> ValueFacts:
        """What is known of an expression."""
        rule: Any = getattr(self, f"_{type(expr).__name__.lower()}")
        found: ValueFacts = rule(expr)
        place = getattr(expr, "span", None)
        if place is not None and found.name in self.made and not isinstance(expr, c.Opaque):
            text = shortened(place.text)
            self.found.sources.setdefault(found.name, f"({text})" if isinstance(expr, c.If) else text)
        return found

    def fresh(self) -> str:
        """A name for a value without one."""
        self.count += 1
        name = f"%{self.count}"  # no text has such a name
        self.made.add(name)
        return name

    def _name(self, expr: c.Name) -> ValueFacts:
        return self.scope.get(expr.name) or ValueFacts(expr.name, like=expr.name)

    def _literal(self, expr: c.Literal) -> ValueFacts:
        if isinstance(expr.value, np.ndarray):
            dims = tuple([p.IntImm(n) for n in expr.value.shape])
            return ValueFacts(self.fresh(), dims, from_numpy(expr.value.dtype), value=expr.value)
        return ValueFacts(self.fresh(), (), None, value=expr.value)

    def _opaque(self, expr: c.Opaque) -> ValueFacts:
        name = self.fresh()
        return ValueFacts(name, like=name, dtype=name)

    def _block(self, block: c.Block) -> ValueFacts:
        for statement in block.statements:
            self.statement(statement)
        return self.value(block.value)

    def _if(self, expr: c.If) -> ValueFacts:
        left, right = self.value(expr.left), self.value(expr.right)
        if expr.test is None and isinstance(left.value, int) and isinstance(right.value, int):
            return self.taken(expr.then if _holds(expr.compare, left.value, right.value) else expr.otherwise)
        here: list[p.PrimExpr] = []
        there: list[p.PrimExpr] = []
        if expr.test is not None:
            test, axes = self.in_terms(expr.test, self.scope), self.axes_of(expr.test, self.scope)
            answer = self.answer(expr.test, test, self.scope)
            if answer is not Answer.UNKNOWN:
                return self.taken(expr.then if answer is Answer.YES else expr.otherwise)
            if isinstance(test, p.PrimExpr):
                here = [*axes, test]
                decided = {self.decide(fact) for fact in axes}
                there = [p.Not(test)] if decided <= {Answer.YES} else []  # a test fails without its axis, too
        return self.joined(self.branch(expr.then, here), self.branch(expr.otherwise, there))

    def branch(self, block: c.Block, facts: Sequence[p.PrimExpr]) -> ValueFacts:
        """One of two branches, where some facts are known. What it learns and captures ends with it."""
        outside = self.facts, self.scope, self.environment
        self.scope, self.environment = dict(self.scope), self.environment.copy()
        for fact in facts:
            self.facts = self.facts.plus(simplify(fact), "the condition of the branch")
        found = self._block(block)
        self.facts, self.scope, self.environment = outside
        return found

    def taken(self, block: c.Block) -> ValueFacts:
        """The branch that every run takes. The size variables that it captures end with it."""
        outside = self.environment
        self.environment = outside.copy()
        found = self._block(block)
        self.environment = outside
        return found

    def joined(self, a: ValueFacts, b: ValueFacts) -> ValueFacts:
        """What two branches have in common."""
        name = self.fresh()
        element = a.dtype if a.dtype == b.dtype else None
        if a.dims is None or b.dims is None or len(a.dims) != len(b.dims):
            like = a.like if a.like and a.like == b.like and a.dims is None and b.dims is None else name
            return ValueFacts(name, None, element, like)
        dims = [
            x if self.facts.equal(x, y) is Answer.YES else self.terms.dim(name, n)
            for n, (x, y) in enumerate(zip(a.dims, b.dims, strict=True))
        ]
        return ValueFacts(name, tuple(dims), element)

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(self, call: c.Call) -> ValueFacts:
        args = [self.value(arg) for arg in call.args]
        wrapper = self.wrappers.get(call.function)
        if wrapper is None and call.function not in RULES and call.function not in IMPLEMENTATIONS:
            owner = call.function.removesuffix("_impl")
            is_private = owner != call.function and owner in self.wrappers
            text = (
                f"@{call.function} is private: only @{owner} calls it"
                if is_private
                else f"`@{call.function}` is not defined"
            )
            self.found.report.say(codes.UNBOUND, text, call.span, help=codes.UNBOUND.fix)
            return self._opaque(c.Opaque())
        if wrapper is not None:
            if len(args) != len(wrapper.function.params):
                text = f"@{call.function} takes {len(wrapper.function.params)} arguments, not {len(args)}"
                self.found.report.say(codes.CALL_SHAPE, text, call.span, help=codes.CALL_SHAPE.fix)
                return self._opaque(c.Opaque())
            args = self.sorted_args(wrapper, call, args) or []
            if len(args) != len(wrapper.function.params):
                return self._opaque(c.Opaque())
            named = wrapper.named(args)
            values, _ = self.hold(wrapper.before, named, call, f"@{call.function}", call.span, wrapper)
            args = [values[name] for name in named]
            lengths = self.lengths(values)
            at = {
                v.name: self.facts.substitute(p.substitute(e, lengths))
                for v, e in wrapper.environment.sizes.items()
            }
            if not self.calls:  # else they are those of one of the calls that a body is looked at for
                self.found.sizes[id(call)] = call.function, at
        self.choose(call, args)
        return self.result(call, args, wrapper)

    def result(self, call: c.Call, args: list[ValueFacts], wrapper: Wrapper | None) -> ValueFacts:
        """What is known of the result. What it makes certain of the contract need not be asserted after the call."""
        found = self._result(call, args, wrapper)
        for value in filter(None, map(beyond, found.dims or ())):
            self.refuse(call, args, f"a length of the result is {value}, which does not fit int64")
        for dim in found.dims or ():
            if isinstance(dim, p.IntImm) and dim.value < 0:
                self.refuse(call, args, f"a length of the result is {dim.value}")
            elif (division := division_by_zero(dim)) is not None:
                self.refuse(call, args, f"a length of the result divides by zero: {division}")
        if wrapper is not None:
            out = found if found.value is not None else self.ruled(wrapper, call, args)
            values = wrapper.named(args)
            values |= {} if out is None else {"out": out}
            for number, guard in enumerate(wrapper.after if out is not None else ()):
                if not self.calls and self.decide(self.in_terms(guard.condition, values)) is Answer.YES:
                    self.found.proved.add((id(call), len(wrapper.before) + number))
        return found

    def ruled(self, wrapper: Wrapper, call: c.Call, args: list[ValueFacts]) -> ValueFacts | None:
        """What a primitive gives by its rule alone, whatever its contract promises."""
        if wrapper.function.body is not None or call.function not in RULES:
            return None
        name, elements = self.fresh(), {arg.dtype for arg in args}
        element = elements.pop() if len(elements) == 1 else None
        known = [arg.dims for arg in args if arg.dims is not None]
        if len(known) < len(args):
            shape = self.shared_shape(call, args)
            return ValueFacts(name, None, element, shape) if shape else None
        try:
            return ValueFacts(name, self.dims_of(name, RULES[call.function](known, call.attrs)), element)
        except Mismatch:
            return None

    def shared_shape(self, call: c.Call, args: list[ValueFacts]) -> str:
        """The shape that all arguments of a broadcasting primitive have, where ranks are unknown; empty if they differ."""
        shapes = {arg.like for arg in args if arg.dims != ()}
        return shapes.pop() if call.function in BROADCASTING and len(shapes) == 1 else ""

    def _result(self, call: c.Call, args: list[ValueFacts], wrapper: Wrapper | None) -> ValueFacts:
        """What is known of the result: by its elements, the rule, the body, or the contract."""
        name, implementation = self.fresh(), IMPLEMENTATIONS.get(call.function)
        element = args[0].dtype if args else None
        if implementation is not None and args and all(isinstance(arg.value, np.ndarray) for arg in args):
            try:
                value = np.asarray(implementation(*[arg.value for arg in args], **call.attrs))
            except (ValueError, TypeError, IndexError):
                pass  # the rule or the contract says what is wrong
            else:
                return ValueFacts(name, tuple([p.IntImm(n) for n in value.shape]), element, value=value)
        body = None if wrapper is None else wrapper.function.body
        if self.keep_branches and wrapper is not None and body is not None and len(self.calls) < 16:
            return self.kept(wrapper, self.inlined(wrapper, body, args, call), args, call)
        if wrapper is not None:
            found = self.promised(name, wrapper, args)
            if found.dims is not None or call.function not in RULES:
                return found
        known = [arg.dims for arg in args if arg.dims is not None]
        if len(known) < len(args):
            return ValueFacts(name, None, element, self.shared_shape(call, args) or name)
        try:
            shaped = RULES[call.function](known, call.attrs) if call.function in RULES else Shaped(None)
        except Mismatch as problem:
            self.refuse(call, args, str(problem))
            shaped = Shaped(None)
        demanded = tuple([Guard(p.EQ(a, b), "") for a, b in shaped.equal])
        self.hold(demanded, {}, call, f"@{call.function}", call.span)
        dims = self.dims_of(name, shaped)
        return ValueFacts(name, dims, element, "" if dims is not None else name)

    def dims_of(self, name: str, shaped: Shaped) -> tuple[p.PrimExpr, ...] | None:
        """The lengths of a value of which a rule tells some."""
        if shaped.dims is None:
            return None
        return tuple([self.terms.dim(name, n) if dim is None else dim for n, dim in enumerate(shaped.dims)])

    def choose(self, call: c.Call, args: list[ValueFacts]) -> None:
        """Note the first implementation whose contract is certain to hold."""
        for name in self.others.get(call.function, ()):
            wrapper = self.wrappers[name]
            if len(wrapper.function.params) == len(args):
                values = wrapper.named(args)
                sure = [
                    self.decide(self.in_terms(guard.condition, values)) is Answer.YES
                    for guard in wrapper.before
                ]
                if all(sure):
                    self.found.chosen.append((call, name))
                    return

    def inlined(self, wrapper: Wrapper, body: c.Block, args: list[ValueFacts], call: c.Call) -> ValueFacts:
        """The value of a body with these arguments."""
        outside = self.scope, self.environment
        self.scope = wrapper.named(args)
        self.environment = wrapper.environment.copy()
        self.calls.append(call.span)
        found = self._block(body)
        self.calls.pop()
        self.scope, self.environment = outside
        return found

    def kept(self, wrapper: Wrapper, found: ValueFacts, args: list[ValueFacts], call: c.Call) -> ValueFacts:
        """The value of a body under the contract of its function: what the body leaves open is as promised, or refused."""
        params = wrapper.named(args)
        values = params | {"out": found}
        for guard in wrapper.after:
            if self.decide(self.in_terms(guard.condition, values)) is Answer.NO:
                reason = f"{guard.condition} never holds, for the body gives {self.type_text(found)}"
                self.refuse(call, args, reason)
                return found
        promise = self.promised(found.name, wrapper, args)
        dims = found.dims if found.dims is not None else promise.dims
        return replace(
            found, dims=dims, dtype=found.dtype if isinstance(found.dtype, DType) else promise.dtype
        )

    def promised(self, name: str, wrapper: Wrapper, args: list[ValueFacts]) -> ValueFacts:
        """The result as the contract tells it, in the lengths of the arguments."""
        params = wrapper.named(args)
        mapping = self.lengths(params)
        kind = wrapper.function.ret
        promise = declared(self.terms, name, kind, wrapper.environment)
        element = promise.dtype
        if isinstance(element, str) and element in params:
            element = params[element].dtype
        if promise.dims is None:
            owner = params.get(promise.like)
            if owner is None:
                return replace(promise, dtype=element)
            return ValueFacts(name, owner.dims, element, owner.like)
        dims = list(promise.dims)
        for axis, dim in enumerate(c.stated_dims(kind) or ()):
            if isinstance(dim, p.PrimExpr) and wrapper.environment.is_bound(dim):
                dims[axis] = self.facts.substitute(p.substitute(wrapper.environment.value(dim), mapping))
        return replace(promise, dims=tuple(dims), dtype=element)


def _holds(compare: str, a: int, b: int) -> bool:
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[compare]
