"""The shape panel: the shape variables of a frame with origins and constraints, and the checks made so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Check
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.shape_origins import Origin, chain, dimensions, length, origin
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.source import Span

MOST_VALUES = 4  # that are named for one dimension


@dataclass(frozen=True, slots=True)
class Constraint:
    """A dimension that mentions a shape variable, and the values that have it.

    `required` is its value, `found` the length of the first place that has a value. `rule` tells who demands it: parameter,
    match_cast, or inference (a derived StructInfo).
    """

    dimension: str
    places: tuple[str, ...]  # the first ones, such as y.shape[1]
    count: int
    rule: str
    required: int | None
    found: int | None

    @property
    def holds(self) -> bool | None:
        """None if a value is missing."""
        return None if self.required is None or self.found is None else self.required == self.found


@dataclass(frozen=True, slots=True)
class ShapeVariable:
    """A shape variable of a frame. `value` is None before something binds it. `before` continues the origin in the callers."""

    name: str
    value: int | None
    origin: Origin | None
    before: tuple[str, ...]
    constraints: tuple[Constraint, ...]

    def __str__(self) -> str:
        return (
            f"{self.name} = {self.value} ← {self.origin}"
            if self.origin is not None
            else f"{self.name} is not bound yet"
        )


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check of the frame: the step that made it, what it compared, and how it ended (proved, checked or failed)."""

    step: int
    kind: str
    subject: str
    outcome: str
    seconds: float
    span: Span | None


@dataclass(frozen=True, slots=True)
class ShapePanel:
    """The shape variables and checks of one frame, at the position of the debugger."""

    function: str
    variables: tuple[ShapeVariable, ...]
    checks: tuple[CheckRow, ...]


def shape_panel(debugger: Debugger, frame: Frame | None = None) -> ShapePanel:
    """The shape panel of a frame, by default of the innermost one."""
    chosen = frame if frame is not None else debugger.frame
    wanted = _constraints(chosen)
    names = {**dict.fromkeys(chosen.dims), **dict.fromkeys(wanted)}
    variables = tuple([_variable(chosen, var, wanted.get(var, ())) for var in names])
    return ShapePanel(chosen.name, variables, tuple(_checks(debugger, chosen)))


def _variable(frame: Frame, var: p.PrimVar, constraints: tuple[Constraint, ...]) -> ShapeVariable:
    if var not in frame.dims:
        return ShapeVariable(var.name, None, None, (), constraints)
    before = tuple(chain(frame, var)[1:])
    return ShapeVariable(var.name, frame.dims[var], origin(frame, var), before, constraints)


def _constraints(frame: Frame) -> dict[p.PrimVar, tuple[Constraint, ...]]:
    """The constraints of each shape variable, grouped by dimension, in text order."""
    by_variable: dict[p.PrimVar, list[Constraint]] = {}
    for group in _DEMANDS.of(frame.function, _demands):
        required = length(group.dimension, frame.dims)
        names = tuple([place for _, place in group.places[:MOST_VALUES]])
        constraint = Constraint(
            group.text, names, len(group.places), group.rule, required, _found(frame, group)
        )
        for var in group.variables:
            by_variable.setdefault(var, []).append(constraint)
    return {var: tuple(found) for var, found in by_variable.items()}


@dataclass(frozen=True, slots=True)
class _Demand:
    """A dimension that a rule demands in some places of a function, in text order."""

    dimension: p.PrimExpr
    text: str
    rule: str
    variables: tuple[p.PrimVar, ...]
    places: tuple[tuple[e.Var, str], ...]


_DEMANDS: PerNode[tuple[_Demand, ...]] = PerNode()


def _demands(fn: e.Function) -> tuple[_Demand, ...]:
    """Every dimension of the parameters and bindings that mentions a variable. A run asks at each step, so they are found once."""
    groups: dict[tuple[p.PrimExpr, str], list[tuple[e.Var, str]]] = {}
    for rule, var, info in _typed(fn):
        for place, dim in dimensions(var.name, info):
            if p.free_vars(dim):
                groups.setdefault((dim, rule), []).append((var, place))
    return tuple(
        [
            _Demand(dim, str(dim), rule, tuple(p.free_vars(dim)), tuple(places))
            for (dim, rule), places in groups.items()
        ]
    )


def _typed(fn: e.Function) -> Iterator[tuple[str, e.Var, s.StructInfo | None]]:
    """The parameters and bindings with the StructInfo that a rule demands of them."""
    for param in fn.params:
        yield "parameter", param, param.struct_info
    for binding in bindings(fn):
        if binding.var is None:
            continue
        if isinstance(binding, e.MatchCast):
            yield binding.word, binding.var, binding.struct_info
        else:
            yield "inference", binding.var, binding.var.struct_info


def _found(frame: Frame, demand: _Demand) -> int | None:
    """The length of the first place that has a value."""
    for var, place in demand.places:
        value = frame.value_of(var)
        if value is not None:
            found = dict(_lengths(var.name, value)).get(place)
            if found is not None:
                return found
    return None


def _lengths(name: str, value: Value) -> Iterator[tuple[str, int]]:
    """The lengths of a value by place."""
    if isinstance(value, Shape):
        yield from [(f"{name}[{n}]", int(item)) for n, item in enumerate(value)]
    elif isinstance(value, tuple):
        for number, field in enumerate(value):
            yield from _lengths(f"{name}[{number}]", field)
    elif isinstance(value, int):
        yield name, value
    elif hasattr(value, "shape"):
        yield from [(f"{name}.shape[{n}]", int(item)) for n, item in enumerate(value.shape)]


def _checks(debugger: Debugger, frame: Frame) -> Iterator[CheckRow]:
    """The checks of a frame, its entry first; last the failed one, if the step at this position failed."""
    machine = debugger.machine
    rows: list[CheckRow] = []
    for position in range(debugger.position - 1, -1, -1):
        change = machine.log[position]
        own = change.entered is frame or (change.frame is frame and change.entered is None)
        if own:
            rows += [_row(position + 1, check) for check in reversed(change.checks)]
        if change.entered is frame:
            break
    else:
        if machine.entry is not None:
            rows.append(_row(0, machine.entry))
    yield from reversed(rows)
    if machine.failed is not None:
        problem = machine.failed.diagnostics[0]
        yield CheckRow(debugger.position + 1, problem.code.id, problem.message, "failed", 0.0, problem.span)


def _row(step: int, check: Check) -> CheckRow:
    place = check.place
    if isinstance(place, e.MatchCast):
        name = place.value.name if isinstance(place.value, e.Var) else "the value"
        return CheckRow(
            step, check.kind, f"{name}: {place.struct_info}", check.outcome, check.seconds, place.span
        )
    if check.kind == "result":
        subject = str(place.ret_struct_info)
    else:
        subject = ", ".join([f"{param.name}: {param.struct_info}" for param in place.params])
    return CheckRow(step, check.kind, subject, check.outcome, check.seconds, place.span)
