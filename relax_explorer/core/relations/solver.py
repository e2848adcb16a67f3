"""Unification with holes, and the queue that runs relations until nothing changes (note 003).

A relation runs when it is added, and again whenever a hole among its types gets a value. Each run is recorded, so that views
step through it. The record grows with the runs, not with their queues: the relations are listed once in the order in which they
were queued, and the queue at any time is a part of that list.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from relax_explorer.core.arith.assume import solve
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.fold import beyond
from relax_explorer.core.relations.relay_types import (
    FuncType,
    Hole,
    Kind,
    Part,
    Shape,
    TensorType,
    TupleType,
    TypeConstraint,
    TypeVar,
    dim_hole,
    holes_in,
    instantiate,
    is_dim_hole,
    kind_of,
    mapped,
    shape_text,
)


class Outcome(Enum):
    """What a relation found: it holds, it fails, or too little is known."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


class Status(Enum):
    """How the queue ended (note 003): all holds; a relation fails; or holes or open relations are left."""

    SOLVED = "solved"
    FAILED = "failed"
    STUCK = "stuck"


class Mismatch(Exception):
    """Two types can't be the same. The text says why."""


class Infinite(Mismatch):
    """A hole would have to be a part of itself."""


@dataclass
class Item:
    """A relation in the solver: its number, where it stands, and what is known of it."""

    constraint: TypeConstraint
    place: object = None
    number: int = 1
    outcome: Outcome = Outcome.UNKNOWN
    reason: str = ""
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """A hole and the value that it got. The value may have holes itself."""

    hole: Hole | p.PrimVar
    value: Part | p.PrimExpr

    def __str__(self) -> str:
        return f"{self.hole} := {_text(self.value)}"


@dataclass(frozen=True)
class Run:
    """One run of a relation: its types before and after, what it found, and what it assigned.

    `unified` is what unification assigned between the run before and this one.
    """

    number: int
    item: Item
    before: str
    after: str
    outcome: Outcome
    unified: tuple[Assignment, ...]
    assigned: tuple[Assignment, ...]
    began: int  # relations that had been queued when it began: those behind them were queued by it
    queued: int  # the same after it
    waiting: int  # relations in the queue after it

    def __str__(self) -> str:
        news = "; ".join(map(str, self.assigned))
        return f"{self.before}: {self.outcome.value}{', ' + news if news else ''}"


RUNS_OF_EACH = 64  # a relation that still changes something then never settles


def _need_int64(dim: p.PrimExpr) -> None:
    value = beyond(dim)
    if value is not None:
        raise Mismatch(f"a dimension would be {value}, which does not fit int64")


@dataclass
class Solver:
    """Holes and their values, and relations over them. `most` bounds the runs of one relation."""

    most: int = RUNS_OF_EACH
    items: list[Item] = field(default_factory=list)
    trace: list[Run] = field(default_factory=list)
    open_dims: list[tuple[p.PrimExpr, p.PrimExpr]] = field(default_factory=list)  # equal, but not proved so
    joins: dict[tuple[p.PrimExpr, p.PrimExpr], None] = field(
        default_factory=dict
    )  # equal, or one of them is 1
    unsettled: list[Item] = field(default_factory=list)
    queued: list[Item] = field(default_factory=list)  # every relation each time it was queued
    unified: list[Assignment] = field(default_factory=list)  # what unification assigned since the last run
    _values: dict[Hole, Any] = field(default_factory=dict)
    _dims: dict[p.PrimVar, p.PrimExpr] = field(default_factory=dict)
    _queue: deque[Item] = field(default_factory=deque)
    _waiting: set[int] = field(default_factory=set)
    _readers: dict[Hole | p.PrimVar, dict[int, Item]] = field(default_factory=dict)
    _running: Item | None = None

    # -- values ------------------------------------------------------------------------------------------------------

    def resolved(self, part: object) -> Any:
        """A type or part with every hole replaced by its value, if it has one. Dimensions are simplified."""

        def value(item: TypeVar | Hole) -> object:
            last = self._last(item) if isinstance(item, Hole) else item
            return last if isinstance(last, (Hole, TypeVar)) else self.resolved(last)

        return mapped(part, value, self.dim)

    def _last(self, hole: Hole) -> object:
        """The value of a hole; a chain of holes is followed to its end, and shortened for the next question."""
        passed: list[Hole] = []
        known = self._values.get(hole)
        end: object = hole
        while known is not None:
            if isinstance(end, Hole):
                passed.append(end)
            end = known
            known = self._values.get(end) if isinstance(end, Hole) else None
        for item in passed:
            self._values[item] = end
        return end

    def dim(self, expr: p.PrimExpr) -> p.PrimExpr:
        """A dimension with its holes replaced by their values, simplified."""
        if type(expr) is p.IntImm or (type(expr) is p.PrimVar and expr not in self._dims):
            return expr
        while True:
            known = {var: self._dims[var] for var in p.free_vars(expr) if var in self._dims}
            if not known:
                return simplify(expr)
            expr = p.substitute(expr, known)

    # -- unification -------------------------------------------------------------------------------------------------

    def unify(self, a: Part, b: Part) -> Outcome:
        """Make two types or parts the same by giving holes values. Raises Mismatch if they can't be.

        UNKNOWN if dimensions stay of which it is not known whether they are equal.
        """
        a, b = self.resolved(a), self.resolved(b)
        if a is b:
            return Outcome.HOLDS
        if isinstance(a, Hole) or isinstance(b, Hole):
            if isinstance(a, Hole) and not (isinstance(b, Hole) and a.why and not b.why):
                return self._assign(a, b)
            return self._assign(b, a)  # of two holes, one that a message can name stays
        if kind_of(a) is not kind_of(b):
            raise Mismatch(f"{a} is of kind {kind_of(a)}, {b} of kind {kind_of(b)}")
        return self._unify_known(a, b)

    def _unify_known(self, a: Part, b: Part) -> Outcome:
        """Unify the parts of two types, of which neither is a hole."""
        if isinstance(a, TensorType) and isinstance(b, TensorType):
            return _all([self.unify(a.shape, b.shape), self.unify(a.dtype, b.dtype)])
        if isinstance(a, tuple) and isinstance(b, tuple):
            if len(a) != len(b):
                raise Mismatch(f"the shapes {shape_text(a)} and {shape_text(b)} differ in rank")
            return _all([self.same_dim(x, y) for x, y in zip(a, b, strict=True)])
        if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.fields) == len(b.fields):
            return _all([self.unify(x, y) for x, y in zip(a.fields, b.fields, strict=True)])
        if isinstance(a, FuncType) and isinstance(b, FuncType):
            return self._same_function(a, b)
        raise Mismatch(f"{_text(a)} and {_text(b)} differ")

    def same_dim(self, a: p.PrimExpr, b: p.PrimExpr) -> Outcome:
        """Make two dimensions equal. Raises Mismatch if they never are."""
        a, b = self.dim(a), self.dim(b)
        answer = equal(a, b)
        if answer is Answer.YES:
            return Outcome.HOLDS
        for hole, value in ((a, b), (b, a)):
            if type(hole) is p.PrimVar and is_dim_hole(hole) and hole not in p.free_vars(value):
                return self._assign_dim(hole, value)
        if answer is Answer.NO:
            raise Mismatch(f"the dimensions {a} and {b} differ")
        for hole in filter(is_dim_hole, p.free_vars(a, b)):
            found = solve(p.EQ(a, b), hole)
            if isinstance(found, p.PrimExpr):
                return self._assign_dim(hole, found)
        if not any(equal(a, x) is Answer.YES and equal(b, y) is Answer.YES for x, y in self.open_dims):
            self.open_dims.append((a, b))
        return Outcome.UNKNOWN

    def _same_function(self, a: FuncType, b: FuncType) -> Outcome:
        if len(a.params) != len(b.params) or len(a.args) != len(b.args):
            raise Mismatch(f"the functions {a} and {b} differ in their number of parameters")
        if any(v.kind is not w.kind for v, w in zip(a.params, b.params, strict=True)):
            raise Mismatch(f"the type parameters of {a} and {b} differ in kind")
        b = instantiate(
            b, {w: v.dim if v.kind is Kind.DIM else v for v, w in zip(a.params, b.params, strict=True)}
        )
        return _all([self.unify(x, y) for x, y in zip((*a.args, a.ret), (*b.args, b.ret), strict=True)])

    def _assign(self, hole: Part, value: Part) -> Outcome:
        assert isinstance(hole, Hole)
        if hole.kind is not kind_of(value):
            raise Mismatch(f"{hole} is of kind {hole.kind}, {_text(value)} of kind {kind_of(value)}")
        if hole in holes_in(value):
            raise Infinite(f"{hole} would be a part of itself: {_text(value)}")
        shape = value.shape if isinstance(value, TensorType) else value
        for dim in shape if isinstance(shape, tuple) else ():
            _need_int64(dim)
        self._values[hole] = value
        self._changed(Assignment(hole, value))
        return Outcome.HOLDS

    def _assign_dim(self, hole: p.PrimVar, value: p.PrimExpr) -> Outcome:
        _need_int64(value)
        self._dims[hole] = value
        self._changed(Assignment(hole, value))
        return Outcome.HOLDS

    def _changed(self, assignment: Assignment) -> None:
        self.unified.append(assignment)
        for item in self._readers.pop(assignment.hole, {}).values():
            self._enqueue(item)

    # -- relations ---------------------------------------------------------------------------------------------------

    def add(self, constraint: TypeConstraint, place: object = None) -> Item:
        """Add a relation; it runs at the next `run`."""
        item = Item(constraint, place, len(self.items) + 1)
        self.items.append(item)
        self._enqueue(item)
        return item

    def _enqueue(self, item: Item) -> None:
        if item.outcome is Outcome.UNKNOWN and item is not self._running and item.number not in self._waiting:
            self._waiting.add(item.number)
            self._queue.append(item)
            self.queued.append(item)

    def step(self) -> Run | None:
        """Run the first relation of the queue; None if the queue is empty. After one that fails, the others still run."""
        if not self._queue:
            return None
        item = self._queue.popleft()
        self._waiting.discard(item.number)
        types = self.resolved_types(item)
        before = self.text(item, types)
        began, unified = len(self.queued), self._taken()
        item.runs += 1
        self._running = item
        item.outcome, item.reason = self._outcome(item, types)
        self._running = None
        assigned = self._taken()
        later = self.resolved_types(item) if assigned else types
        for hole in holes_of(later):
            self._readers.setdefault(hole, {})[id(item)] = item
        if item.outcome is Outcome.UNKNOWN and assigned and item.runs >= self.most:
            self.unsettled.append(item)
            self._queue.clear()
            self._waiting.clear()
        elif item.outcome is Outcome.UNKNOWN and self._reads_changed(types):
            self._enqueue(item)  # it gave a value to a hole of its own: the rest may follow from that
        number, after = len(self.trace) + 1, self.text(item, later) if assigned else before
        run = Run(
            number,
            item,
            before,
            after,
            item.outcome,
            unified,
            assigned,
            began,
            len(self.queued),
            len(self._queue),
        )
        self.trace.append(run)
        return run

    def _taken(self) -> tuple[Assignment, ...]:
        """What was assigned since the last question."""
        taken = tuple(self.unified)
        self.unified.clear()
        return taken

    def _reads_changed(self, types: tuple[Any, ...]) -> bool:
        return any(hole in self._values or hole in self._dims for hole in holes_of(types))

    def _outcome(self, item: Item, types: tuple[Any, ...]) -> tuple[Outcome, str]:
        try:
            found = item.constraint.check(types, self)
        except Mismatch as error:
            return Outcome.FAILS, str(error)
        if found is True:
            found = Outcome.UNKNOWN if holes_of(self.resolved_types(item)) else Outcome.HOLDS
        return (found if isinstance(found, Outcome) else Outcome.FAILS), ""

    def run(self) -> Status:
        """Run relations until the queue is empty."""
        while self.step() is not None:
            pass
        return self.status

    @property
    def status(self) -> Status:
        """SOLVED if every relation holds, FAILED if one fails, else STUCK."""
        if self.unsettled or any(item.outcome is Outcome.FAILS for item in self.items):
            return Status.FAILED
        is_open = self.open_now() or any(item.outcome is Outcome.UNKNOWN for item in self.items)
        return Status.STUCK if is_open else Status.SOLVED

    @property
    def failed(self) -> Item | None:
        """The relation that fails, if there is one."""
        return next((item for item in self.items if item.outcome is Outcome.FAILS), None)

    def open_now(self) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
        """Pairs of dimensions that should be equal, and are not proved so."""
        pairs = [(self.dim(a), self.dim(b)) for a, b in self.open_dims]
        return [(a, b) for a, b in pairs if equal(a, b) is not Answer.YES]

    def joins_now(self) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
        """Pairs of dimensions that broadcast only if they are equal or one of them is 1, which is not proved."""
        pairs = dict.fromkeys([(self.dim(a), self.dim(b)) for a, b in self.joins])
        one = p.IntImm(1)
        return [
            (a, b)
            for a, b in pairs
            if all(equal(*two) is not Answer.YES for two in ((a, b), (a, one), (b, one)))
        ]

    def resolved_types(self, item: Item) -> tuple[Any, ...]:
        """The types of a relation as they are known now."""
        return tuple([self.resolved(part) for part in item.constraint.types()])

    def text(self, item: Item, types: tuple[Any, ...] | None = None) -> str:
        """A relation with its types as they are known now, and `?` for an unknown one. `types` are these, if they are at hand."""
        name = getattr(item.constraint, "name", type(item.constraint).__name__)
        return f"{name}({', '.join(map(_known, self.resolved_types(item) if types is None else types))})"

    # -- what was known earlier --------------------------------------------------------------------------------------

    def after(self, runs: int) -> Solver:
        """The values as they were known after that many runs, in a solver without relations."""
        earlier = Solver()
        for run in self.trace[:runs]:
            for item in (*run.unified, *run.assigned):
                if isinstance(item.hole, Hole):
                    earlier._values[item.hole] = item.value
                elif isinstance(item.value, p.PrimExpr):
                    earlier._dims[item.hole] = item.value
        return earlier

    def queue_after(self, run: Run) -> list[Item]:
        """The relations that waited after a run, the next one first."""
        return self.queued[run.queued - run.waiting : run.queued]

    # -- what relations call -----------------------------------------------------------------------------------------

    def assign(self, hole: Part, value: Part) -> Outcome:
        """Make two types the same, as `unify`. The word of Relay's reporter."""
        return self.unify(hole, value)

    def may_join(self, a: p.PrimExpr, b: p.PrimExpr) -> None:
        """Note that two dimensions are broadcast, of which it is not known whether they fit."""
        self.joins[a, b] = None

    def new_shape(self, rank: int) -> Shape:
        """A shape of that rank with unknown dimensions."""
        return tuple([dim_hole() for _ in range(rank)])


def holes_of(types: tuple[Any, ...]) -> list[Hole | p.PrimVar]:
    """The holes in several types, each once."""
    return list(dict.fromkeys([hole for part in types for hole in holes_in(part)]))


def _known(part: Part) -> str:
    return "?" if isinstance(part, Hole) else str(part)


def _text(part: Part | p.PrimExpr) -> str:
    return shape_text(part) if isinstance(part, tuple) else str(part)


def _all(outcomes: list[Outcome]) -> Outcome:
    return Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.HOLDS
