"""Shape contracts as data: the sweet types of note 004, and programs that use them.

`Tensor([n, m * 4], int8)` has size variables in its dimensions. `let b ! T = e` asserts that `e` has the type, and may bind new
size variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.source import Span

UNKNOWN = "?"


@dataclass(frozen=True)
class ShapeName:
    """A variable of kind Shape: a whole shape of any rank."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DTypeName:
    """A variable of kind DType."""

    name: str

    def __str__(self) -> str:
        return self.name


Dim: TypeAlias = p.PrimExpr | str  # "?" is an unknown dimension
Dims: TypeAlias = tuple[Dim, ...] | ShapeName | str
Element: TypeAlias = DType | DTypeName | str


@dataclass(frozen=True)
class TensorType:
    """`Tensor(shape, dtype)`; plain `Tensor` has both unknown."""

    shape: Dims = UNKNOWN
    dtype: Element = UNKNOWN
    is_plain: bool = False

    def __str__(self) -> str:
        if self.is_plain:
            return "Tensor"
        shape = f"[{', '.join(map(str, self.shape))}]" if isinstance(self.shape, tuple) else str(self.shape)
        return f"Tensor({shape}, {element_text(self.dtype)})"


@dataclass(frozen=True)
class Scalar:
    """An element type as a type: a tensor of rank 0."""

    dtype: DType

    def __str__(self) -> str:
        return self.dtype.name


@dataclass(frozen=True)
class Sort:
    """`DType`, `Size` or `Shape`: the types of compile-time values. A type behind `c : Size` names the value: by `variable`, if it is a size."""

    name: str
    variable: p.PrimVar | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FunctionType:
    """`fn(types) : type`."""

    params: tuple[SweetType, ...]
    ret: SweetType

    def __str__(self) -> str:
        return f"fn({', '.join(map(str, self.params))}) : {self.ret}"


SweetType: TypeAlias = TensorType | Scalar | Sort | FunctionType


def element_text(element: Element) -> str:
    """An element type in the notation."""
    return element.name if isinstance(element, DType) else str(element)


@dataclass(eq=False)
class Name:
    """A use of a variable."""

    name: str
    span: Span | None = None


@dataclass(eq=False)
class Literal:
    """A tensor with its elements, a number, a shape, or an element type."""

    value: Any
    span: Span | None = None


@dataclass(eq=False)
class Opaque:
    """`..`: a value that only the run knows."""

    span: Span | None = None


@dataclass(eq=False)
class Call:
    """`@f(arguments, attributes)`."""

    function: str
    args: list[Expr]
    attrs: dict[str, Any]
    span: Span | None = None


@dataclass(eq=False)
class If:
    """`if (a > b) { … } else { … }`: a comparison of two expressions, or a `test` of lengths, such as `x.rank == 2`."""

    compare: str
    left: Expr
    right: Expr
    then: Block
    otherwise: Block
    span: Span | None = None
    test: Condition | None = None


@dataclass(eq=False)
class Let:
    """`let x : type = value` or, as an assertion, `let x ! type = value`."""

    name: str
    type: SweetType | None
    is_assertion: bool
    value: Expr
    span: Span | None = None


@dataclass(eq=False)
class Assert:
    """`assert condition`, over `x.rank`, `x.dim(0)` and `x.dtype`."""

    condition: Condition
    span: Span | None = None


@dataclass(eq=False)
class Block:
    """Statements, then the value of the block."""

    statements: list[Let | Assert]
    value: Expr


Expr: TypeAlias = Name | Literal | Opaque | Call | If | Block


def calls_of(expr: Expr) -> Iterator[Call]:
    """All calls in an expression, also in its blocks, in order."""
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Call):
            yield part
            stack += reversed(part.args)
        elif isinstance(part, If):
            stack += (part.otherwise, part.then, part.right, part.left)
        elif isinstance(part, Block):
            values = [item.value for item in part.statements if isinstance(item, Let)]
            stack += reversed([*values, part.value])


@dataclass(frozen=True)
class SameDType:
    """`x.dtype == int8` or `x.dtype == y.dtype`; a variable of a tensor stands for its element type."""

    left: DType | str
    right: DType | str

    def __str__(self) -> str:
        return " == ".join(
            side.name if isinstance(side, DType) else f"{side}.dtype" for side in (self.left, self.right)
        )


@dataclass(frozen=True)
class SameShape:
    """Two variables have the same shape, of any rank."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left}.shape == {self.right}.shape"


Condition: TypeAlias = p.PrimExpr | SameDType | SameShape


@dataclass(eq=False)
class Parameter:
    """`x : type`."""

    name: str
    type: SweetType
    span: Span | None = None


@dataclass(eq=False)
class Function:
    """`@f = fn(x : type) : type { body }`; a primitive has no body."""

    name: str
    params: list[Parameter]
    ret: SweetType
    body: Block | None
    span: Span | None = None


@dataclass(eq=False)
class Program:
    """Functions by name, then the statements of the main program.

    `implementations` lists functions that may stand for another one, the most specific first.
    """

    functions: dict[str, Function] = field(default_factory=dict)
    main: list[Let | Assert] = field(default_factory=list)
    implementations: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Terms:
    """The variables that stand for `x.rank` and `x.dim(0)`, opaque to the prover. One of each for a variable."""

    def __init__(self) -> None:
        self.known: dict[str, p.PrimVar] = {}
        self.parts: dict[p.PrimVar, tuple[str, int]] = {}  # the variable and its axis; -1 for the rank
        self.sizes: set[str] = (
            set()
        )  # variables that are sizes: what is asked for their only axis is the size

    def rank(self, name: str) -> p.PrimVar:
        """`x.rank`."""
        return self._term(f"{name}.rank", name, -1)

    def dim(self, name: str, axis: int) -> p.PrimVar:
        """`x.dim(axis)`, and a size itself."""
        return self._term(name if name in self.sizes else f"{name}.dim({axis})", name, axis)

    def _term(self, text: str, name: str, axis: int) -> p.PrimVar:
        if text not in self.known:
            self.known[text] = p.PrimVar(text)
            self.parts[self.known[text]] = name, axis
        return self.known[text]
