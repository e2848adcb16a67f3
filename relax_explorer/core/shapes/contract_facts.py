"""What shapes are known to be in a program with contracts, and what remains of its assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.assumptions import Fact
from relax_explorer.core.shapes.check_words import words
from relax_explorer.core.shapes.desugar import Guard
from relax_explorer.core.source import Span


@dataclass(frozen=True, eq=False)
class Known:
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

    values: dict[str, Known] = field(default_factory=dict)
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
