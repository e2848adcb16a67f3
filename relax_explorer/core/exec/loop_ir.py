"""The language of compiled kernels, as data: loops over arrays with known elements, and scalars.

`loop_statements` builds it from PrimFuncs; `llvm_kernel` makes machine code of it, and `loop_text` prints it as Python, for numba and for
people. Integers are signed numbers of 64 bits, except uint64. The types of the leaves and of conversions are written, the others follow.
A check is a node of its own, which the builder leaves out where `tir/intervals` proves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

from relax_explorer.core.ir.node import CHECKS

_T = TypeVar("_T")
UNARY = frozenset({"neg", "not", "~"})
CHAINED = frozenset({"+", "-"})  # operators of long sums, whose trees are deep on the left


@dataclass_transform(frozen_default=True)
def part(cls: type[_T]) -> type[_T]:
    """Make `cls` a part of a kernel: a slotted record, equal to those with equal fields and not to be changed."""
    return dataclass(slots=True, unsafe_hash=True, frozen=CHECKS, repr=False)(cls)


@part
class Const:
    """A truth value, a signed integer, or a float64."""

    value: bool | int | float


@part
class Var:
    """A scalar variable, or an array as the operand of a packed function."""

    name: str


@part
class Length:
    """The length of an axis of an array."""

    array: str
    axis: int


@part
class Element:
    """An element of an array, whose elements have this type; small integers are widened."""

    array: str
    element: str
    indices: tuple[Expr, ...]


@part
class Op:
    """An operator on operands of one type. `and` and `or` need their second operand only if the first does not decide."""

    symbol: str
    args: tuple[Expr, ...]


@part
class Apply:
    """A function of mathematics, or of `loop_runtime`."""

    name: str
    args: tuple[Expr, ...]


@part
class Convert:
    """A number converted to the type of an element; integers wrap around."""

    element: str
    value: Expr


@part
class Whole:
    """A float converted to an integer element. What does not fit becomes the least integer."""

    element: str
    value: Expr


@part
class Narrow:
    """A float rounded to fewer bits than float32: its mantissa, least exponent, largest number, and what lies beyond."""

    value: Expr
    form: tuple[int, int, float, float]


@part
class Bits:
    """The bits of an element of one type, read as another one."""

    source: str
    target: str
    value: Expr


@part
class Choice:
    """One of two values; only that one is computed."""

    condition: Expr
    yes: Expr
    no: Expr


@part
class Check:
    """A value that stops the kernel unless it is right.

    `kind` is `index` (below `bound`), `divisor` (not 0), `distance` (of a shift; below `bound`) or `step` (at least 1). `site` and the
    variables of the loops around it go into the note of the trap.
    """

    kind: str
    value: Expr
    site: int
    loops: tuple[str, ...]
    bound: Expr = Const(0)


@part
class Inside:
    """An index that is proved to lie inside its axis."""

    value: Expr


@part
class Flat:
    """The memory of an array, from element `start` up to `end` of its first axis (None: to its end), as an array of one axis."""

    array: str
    start: Expr | None = None
    end: Expr | None = None


Expr = (
    Const
    | Var
    | Length
    | Element
    | Op
    | Apply
    | Convert
    | Whole
    | Narrow
    | Bits
    | Choice
    | Check
    | Inside
    | Flat
)


@part
class Assign:
    """Set a variable."""

    name: str
    value: Expr


@part
class Store:
    """Write an element. The value is computed before the indices."""

    place: Element
    value: Expr


@part
class Allocate:
    """Memory for an array. `most` elements are allowed (None: it is known to be small); `poison` fills it, unless it is None."""

    array: str
    element: str
    shape: tuple[Expr, ...]
    poison: bool | int | float | None
    most: int | None = None


@part
class Window:
    """An array over memory that begins at an element. It stops the kernel if it reaches beyond."""

    array: str
    flat: Expr
    start: Expr
    shape: tuple[Expr, ...]


@part
class For:
    """A loop from `start` up to, but not with, `end`. The iterations of a `parallel` one are independent, and nothing in it stops."""

    var: str
    start: Expr
    end: Expr
    body: tuple[Stmt, ...]
    step: Expr | None = None
    parallel: bool = False


@part
class While:
    """Polls, and runs the body, as long as the condition holds."""

    condition: Expr
    body: tuple[Stmt, ...]


@part
class If:
    """A branch."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


@part
class Poll:
    """Stops the kernel if the flag at `stop` is set."""


@part
class Fail:
    """Stops the kernel: the assertion with this number does not hold."""

    number: int


@part
class Return:
    """Ends the kernel with a scalar."""

    value: Expr


@part
class Packed:
    """A call of a function of `loop_runtime`."""

    function: str
    args: tuple[Expr, ...]


Stmt = Assign | Store | Allocate | Window | For | While | If | Poll | Fail | Return | Packed


@part
class Routine:
    """A kernel: the names of its parameters, then `note` and `stop`, and its statements."""

    params: tuple[str, ...]
    body: tuple[Stmt, ...]


def inner(node: Stmt) -> tuple[Stmt, ...]:
    """The statements in a statement."""
    return (*node.then, *node.otherwise) if isinstance(node, If) else getattr(node, "body", ())


def nested(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements, those inside others included."""
    for node in body:
        yield node
        yield from nested(inner(node))


def parts(node: object) -> Iterator[object]:
    """A statement or an expression with everything inside."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        for name in reversed(getattr(part, "__slots__", ())):
            value = getattr(part, name)
            stack.extend(reversed(value) if type(value) is tuple else (value,))
