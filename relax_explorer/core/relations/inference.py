"""Types of a Relay program: constraints from its expressions, solved by the queue.

A function is inferred before the first that calls it. A call gets fresh holes for the type parameters, or the given type
arguments; the constraints of the callee become relations at the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Code, Report
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.relations import program as r
from relax_explorer.core.relations.library import ATTRIBUTES
from relax_explorer.core.relations.relay_types import (
    FuncType,
    Hole,
    Kind,
    Part,
    TensorType,
    TupleType,
    Type,
    TypeConstraint,
    TypeRelation,
    TypeVar,
    dim_hole,
    instantiate,
    mapped,
    wrong_kinds,
)
from relax_explorer.core.relations.solver import Infinite, Item, Mismatch, Outcome, Solver, Status, holes_of
from relax_explorer.core.relations.text import TEXTS, read_relay, signature

_BOOL = TensorType((), dtype("bool"))


@dataclass
class Typed:
    """A program with its types. `variables` has each variable in order; `result` is the type of the last expression, with holes.

    `calls` has the type of the result of each call, with holes.
    """

    program: r.Program
    solver: Solver
    report: Report
    variables: list[r.Variable] = field(default_factory=list)
    result: Type | None = None
    calls: dict[r.Call, Type] = field(default_factory=dict)

    @property
    def main(self) -> Type | None:
        """The type of the last expression; None if there is none."""
        found: Type | None = None if self.result is None else self.solver.resolved(self.result)
        return found

    @property
    def status(self) -> Status:
        """FAILED if there is an error, STUCK if a type or relation stays open, else SOLVED."""
        if self.report.errors:
            return Status.FAILED
        return Status.STUCK if self.holes or self.solver.status is Status.STUCK else Status.SOLVED

    @property
    def types(self) -> dict[str, Type]:
        """The types of the variables by name; of two with one name, the later."""
        return {v.name: self.solver.resolved(v.type) for v in self.variables}

    @property
    def functions(self) -> dict[str, FuncType]:
        """The types of the functions by name."""
        return {name: self.solver.resolved(fn.type) for name, fn in self.program.functions.items()}

    @property
    def holes(self) -> list[Any]:
        """What is still unknown in the types of variables, of functions, and of the last expression."""
        parts = [*self.types.values(), *([] if self.main is None else [self.main])]
        for function in self.functions.values():  # a `?` in a constraint is another one in each call
            parts += [*function.args, function.ret]
        return holes_of(tuple(parts))


def infer_relay(text: str, filename: str = "<relay>") -> Typed:
    """Infer the types of a program in Relay's notation. Raises Failure if the text is no program."""
    return infer(read_relay(text, filename))


def infer(program: r.Program, solver: Solver | None = None) -> Typed:
    """Infer the types of a program. What is wrong is in the report."""
    return _Inference(program, Solver() if solver is None else solver).whole()


class _Stop(Exception):
    """An expression has no type; its problem was reported."""


class _Inference:
    def __init__(self, program: r.Program, solver: Solver) -> None:
        self.program, self.solver, self.report = program, solver, Report()
        self.variables: list[r.Variable] = []
        self.calls: dict[r.Call, Type] = {}
        self.begun: set[str] = set()
        self.reported: set[int] = set()
        self.open_places: list[
            tuple[p.PrimExpr, p.PrimExpr, object]
        ] = []  # dimensions that may differ, and where

    def whole(self) -> Typed:
        """Functions in order, then the last expression; then what is left open."""
        for name in self.program.functions:
            self.begin(name)
        main = None
        if self.program.main is not None:
            main = self.value(self.program.main)
            self.settle()
        found = Typed(self.program, self.solver, self.report, self.variables, main, self.calls)
        if not self.report.errors:
            self.say_open(found)
        return found

    def begin(self, name: str) -> None:
        """Infer a function, unless that was begun before."""
        if name not in self.begun:
            self.begun.add(name)
            self.function(self.program.functions[name])
            self.settle()

    def settle(self) -> None:
        """Run the queue, and report the relations that fail."""
        self.solver.run()
        for item in self.solver.items:
            if item.outcome is Outcome.FAILS and id(item) not in self.reported:
                self.reported.add(id(item))
                self.say_failed(item)
        for item in self.solver.unsettled:
            if id(item) not in self.reported:
                self.reported.add(id(item))
                self.report.say(
                    codes.NEVER_SETTLES,
                    f"{self.solver.text(item)} still changes types after {item.runs} runs",
                    item.place,
                    help=codes.NEVER_SETTLES.fix,
                )

    def say_failed(self, item: Item) -> None:
        """Report a relation that does not hold, at the call that needs it."""
        reason = f": {item.reason}" if item.reason else ""
        self.report.say(
            codes.RELATION_FAILS, f"{self.solver.text(item)} does not hold{reason}", item.place, help=codes.RELATION_FAILS.fix
        )  # fmt: skip

    def say_open(self, found: Typed) -> None:
        """Report the holes that are left, and the relations of which it is not known whether they hold."""
        for hole in found.holes:
            if isinstance(hole, Hole) and hole.why:
                self.report.say(
                    codes.ANNOTATION_NEEDED,
                    f"the type of {hole.why} stays unknown",
                    hole.place,
                    help=f"Annotate {hole.why}." if hole.why.startswith("%") else codes.ANNOTATION_NEEDED.fix,
                )
        for a, b, place in self.open_places:
            one, other = self.solver.dim(a), self.solver.dim(b)
            if equal(one, other) is not Answer.YES:
                self.report.say(
                    codes.ANNOTATION_NEEDED,
                    f"it is not known whether the dimensions {one} and {other} are equal",
                    place,
                    help="Write the same dimension, or a type parameter: def @f<n : ShapeVar>(…) has another n at each call.",
                )
        for item in self.solver.items:
            if item.outcome is Outcome.UNKNOWN:
                self.report.say(
                    codes.ANNOTATION_NEEDED,
                    f"it is not known whether {self.solver.text(item)} holds",
                    item.place,
                    help="Annotate the arguments with the dimensions that you know.",
                )

    # -- expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: r.Expr) -> Type:
        """The type of an expression; a hole for one whose problem was reported."""
        try:
            return self.type_of(expr)
        except _Stop:
            return Hole()

    def type_of(self, expr: r.Expr) -> Type:
        """The type of an expression."""
        while isinstance(expr, r.Let):
            self.variables.append(expr.var)
            value = self.value(expr.value)
            self.same(expr.var.type, value, expr.value, f"%{expr.var.name} is declared as")
            expr = expr.body
        rule: Any = getattr(self, f"_{type(expr).__name__.lower()}")
        found: Type = rule(expr)
        return found

    def _variable(self, expr: r.Variable) -> Type:
        return expr.type

    def _constant(self, expr: r.Constant) -> Type:
        return expr.type

    def _tuple(self, expr: r.Tuple) -> Type:
        return TupleType(tuple([self.value(item) for item in expr.fields]))

    def _item(self, expr: r.Item) -> Type:
        whole = self.solver.resolved(self.value(expr.value))
        if isinstance(whole, Hole):
            self.settle()
            whole = self.solver.resolved(whole)
        if isinstance(whole, Hole):
            self.stop(codes.ANNOTATION_NEEDED, "the tuple is not known yet, so its fields are not", expr)
        if not isinstance(whole, TupleType) or not 0 <= expr.index < len(whole.fields):
            self.stop(codes.TYPES_DIFFER, f"{whole} has no field {expr.index}", expr)
        return whole.fields[expr.index]

    def _if(self, expr: r.If) -> Type:
        self.same(_BOOL, self.value(expr.condition), expr.condition, "a condition is")
        then, otherwise = self.value(expr.then), self.value(expr.otherwise)
        self.settle()
        self.same(then, otherwise, expr, "the branches differ: the first is")
        return then

    def function(self, expr: r.Function) -> Type:
        """The type of a function, whose body is inferred."""
        self.variables += expr.variables
        body = self.value(expr.body)
        self.same(expr.ret, body, expr, "the result is declared as")
        return expr.type

    _function = function

    def _global(self, expr: r.Global) -> Type:
        name = expr.name.removeprefix("@")
        operator = signature(name) if name == expr.name else None
        if operator is not None:
            return operator
        if name in self.program.functions:  # the note also calls `@plus` as `plus<(10, 10)>(…)`
            self.begin(name)
            found: Type = self.solver.resolved(self.program.functions[name].type)
            return found
        from difflib import get_close_matches

        near = get_close_matches(expr.name, [*TEXTS, *(f"@{name}" for name in self.program.functions)], 2)
        hint = f"Did you mean {' or '.join(near)}?" if near else codes.UNBOUND.fix
        self.stop(codes.UNBOUND, f"`{expr.name}` is not defined here", expr, hint)

    def _call(self, expr: r.Call) -> Type:
        callee = self.solver.resolved(self.value(expr.callee))
        args = [self.value(arg) for arg in expr.args]
        if isinstance(callee, Hole):
            ret = Hole()
            self.same(callee, FuncType((), tuple(args), ret), expr, "the callee is")
            return ret
        if not isinstance(callee, FuncType):
            self.stop(codes.CALL_SHAPE, f"the callee is {callee}, no function", expr)
        name = expr.callee.name if isinstance(expr.callee, (r.Global, r.Variable)) else "the function"
        if len(args) != len(callee.args):
            self.stop(
                codes.CALL_SHAPE,
                f"{name} takes {_count(len(callee.args), 'argument')}, not {len(args)}",
                expr,
            )
        self._require_attributes(callee, expr, name)
        function = _fresh_constraints(instantiate(callee, self._values(callee, expr, name)))
        for number, (wanted, have, arg) in enumerate(zip(function.args, args, expr.args, strict=True), 1):
            self.same(wanted, have, arg, f"argument {number} of {name} is")
        for constraint in function.constraints:
            if isinstance(constraint, TypeRelation):
                constraint = replace(constraint, attrs=tuple(expr.attrs.items()))
            self.solver.add(constraint, expr)
        self.calls[expr] = function.ret
        return function.ret

    def _require_attributes(self, callee: FuncType, call: r.Call, name: str) -> None:
        """Stop at an attribute that no relation of the callee reads."""
        relations = [item for item in callee.constraints if isinstance(item, TypeRelation)]
        if all(item.name in ATTRIBUTES for item in relations):
            known = list(dict.fromkeys(attr for item in relations for attr in ATTRIBUTES[item.name]))
            for attr in call.attrs:
                if attr not in known:
                    has = f"it has {', '.join(known) or 'none'}"
                    self.stop(codes.CALL_SHAPE, f"{name} has no attribute {attr}; {has}", call)

    def _values(self, callee: FuncType, call: r.Call, name: str) -> Mapping[TypeVar, Any]:
        """What each type parameter of a callee stands for at a call."""
        if call.type_args is None:
            return {
                var: dim_hole(var.name) if var.kind is Kind.DIM else Hole(var.kind) for var in callee.params
            }
        if len(call.type_args) != len(callee.params):
            wanted = _count(len(callee.params), "type argument")
            self.stop(codes.CALL_SHAPE, f"{name} takes {wanted}, not {len(call.type_args)}", call)
        for var, given in zip(callee.params, call.type_args, strict=True):
            for message in wrong_kinds(given, var.kind):
                self.stop(codes.KIND_WRONG, f"type argument `{var}` of {name}: {message}", call)
        return dict(zip(callee.params, call.type_args, strict=True))

    # -- problems ----------------------------------------------------------------------------------------------------

    def same(self, wanted: Type, have: Type, place: object, what: str) -> None:
        """Unify two types; report a difference at a place."""
        shown = self.solver.resolved(wanted), self.solver.resolved(have)
        before = len(self.solver.open_dims)
        try:
            self.solver.unify(wanted, have)
            self.open_places += [(a, b, place) for a, b in self.solver.open_dims[before:]]
        except Infinite as error:
            self.report.say(codes.INFINITE_TYPE, str(error), place, help=codes.INFINITE_TYPE.fix)
        except Mismatch as error:
            message = f"{what} {shown[0]}, but this is {shown[1]}: {error}"
            self.report.say(codes.TYPES_DIFFER, message, place, help=codes.TYPES_DIFFER.fix)

    def stop(self, code: Code, message: str, place: object, hint: str = "") -> NoReturn:
        """Report a problem, and leave the expression."""
        self.report.say(code, message, place, help=hint or code.fix)
        raise _Stop


def _fresh_constraints(function: FuncType) -> FuncType:
    """A function type whose constraints have holes of their own: a `?` in one call is not that in another."""
    fresh: dict[Any, Any] = {}

    def part(item: TypeVar | Hole) -> Part:
        if isinstance(item, TypeVar) or item in own:
            return item
        new: Hole = fresh.setdefault(item, Hole(item.kind))
        return new

    own = set(holes_of((*function.args, function.ret)))
    constraints: list[TypeConstraint] = [
        item.with_types(tuple([mapped(one, part, lambda expr: expr) for one in item.types()]))
        for item in function.constraints
    ]
    return FuncType((), function.args, function.ret, tuple(constraints))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
