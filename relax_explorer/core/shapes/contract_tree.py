"""Shape contracts as data: the sweet types of note 004, and programs that use them.

`Tensor([n, m * 4], int8)` has size variables in its dimensions. `let b ! T = e` asserts that `e` has the type, and may bind new
size variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from relax_explorer.core.arith.multiples import multiple
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.fold import beyond
from relax_explorer.core.shapes.conditions import words
from relax_explorer.core.source import Span

UNKNOWN = "?"
_Arg = TypeVar("_Arg")


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


def stated_dims(kind: SweetType) -> tuple[Dim, ...] | None:
    """The dimensions that a type states; None if it states no rank."""
    shape = kind.shape if isinstance(kind, TensorType) else None
    return shape if isinstance(shape, tuple) else None


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
        self.by_text: dict[str, p.PrimVar] = {}
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
        if text not in self.by_text:
            self.by_text[text] = p.PrimVar(text)
            self.parts[self.by_text[text]] = name, axis
        return self.by_text[text]


# -- desugar ---------------------------------------------------------------------------------------------------------
# Contracts as assertions (note 004, "Desugared syntax"): a wrapper that checks, and the body that may assume what it
# checked.
#
# The first occurrence of a size variable captures a length, later ones assert equality. `m * 4` captures `x.dim(1) //
# 4` and asserts that the length is divisible (errata E-41).


@dataclass(frozen=True, eq=False)
class Guard:
    """One assertion of a contract: of which variable, of which of its axes (-1: of none), and the dimension as written."""

    condition: Condition
    name: str
    axis: int = -1
    written: Dim = UNKNOWN
    solves: bool = False  # True if the dimension captures a variable and cannot always be solved

    def __str__(self) -> str:
        return f"assert {words(self.condition)}"


@dataclass
class Environment:
    """What the variables of a contract stand for."""

    sizes: dict[p.PrimVar, p.PrimExpr] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)  # a variable whose shape it is
    dtypes: dict[str, str] = field(default_factory=dict)  # a variable whose element type it is

    def copy(self) -> Environment:
        """Another environment with the same content."""
        return Environment(dict(self.sizes), dict(self.shapes), dict(self.dtypes))

    def value(self, dim: p.PrimExpr) -> p.PrimExpr:
        """A dimension with the captured lengths."""
        return simplify(p.substitute(dim, {v: self.sizes[v] for v in p.free_vars(dim) if v in self.sizes}))

    def is_bound(self, dim: Dim) -> bool:
        """True if every variable of a dimension is captured."""
        return isinstance(dim, p.PrimExpr) and all(v in self.sizes for v in p.free_vars(dim))


@dataclass(frozen=True, eq=False)
class Wrapper:
    """A function with its contract as assertions, before and after the call of its implementation."""

    function: Function
    before: tuple[Guard, ...]
    after: tuple[Guard, ...]
    environment: Environment

    def named(self, args: Sequence[_Arg]) -> dict[str, _Arg]:
        """The arguments of a call by the names of the parameters."""
        return dict(zip([q.name for q in self.function.params], args, strict=True))

    @property
    def impl(self) -> str:
        """The name of the implementation: private, and called by the wrapper only."""
        return f"{self.function.name}_impl"


def desugar(function: Function, terms: Terms) -> Wrapper:
    """The wrapper of a function. Raises Failure for a dimension that cannot be solved."""
    env = Environment()
    before = [guard for q in function.params for guard in guards(q.name, q.type, env, terms, q.span)]
    inside = env.copy()
    after = list(guards("out", function.ret, inside, terms, function.span))
    return Wrapper(function, tuple(before), tuple(after), env)


def guards(name: str, kind: SweetType, env: Environment, terms: Terms, place: Span | None) -> Iterator[Guard]:
    """The assertions of one type, in order; `env` takes what it captures."""
    if isinstance(kind, Scalar):
        kind = TensorType((), kind.dtype)
    if isinstance(kind, Sort):
        yield from _of_sort(name, kind, env, terms, place)
    elif isinstance(kind, TensorType) and not kind.is_plain:
        yield from _of_shape(name, kind.shape, env, terms, place)
        yield from _of_element(name, kind.dtype, env)


def _of_sort(name: str, sort: Sort, env: Environment, terms: Terms, place: Span | None) -> Iterator[Guard]:
    """A value of which types may speak: by the size variable, or by the name of the shape or element type."""
    if sort.variable is not None:
        for guard in _length(terms.dim(name, 0), sort.variable, env, place):
            yield replace(guard, name=name, axis=0, written=sort.variable)
    elif sort.name == "Shape":
        yield from _of_shape(name, ShapeName(name), env, terms, place)
    elif sort.name == "DType":
        yield from _of_element(name, DTypeName(name), env)


def _of_shape(name: str, shape: Dims, env: Environment, terms: Terms, place: Span | None) -> Iterator[Guard]:
    if isinstance(shape, tuple):
        yield Guard(p.EQ(terms.rank(name), p.IntImm(len(shape))), name)
        for axis, dim in enumerate(shape):
            if isinstance(dim, p.PrimExpr):
                for guard in _length(terms.dim(name, axis), dim, env, place):
                    yield replace(guard, name=name, axis=axis, written=dim)
    elif isinstance(shape, ShapeName):
        owner = env.shapes.setdefault(shape.name, name)
        if owner != name:
            yield Guard(SameShape(name, owner), name)


def _of_element(name: str, element: Element, env: Environment) -> Iterator[Guard]:
    if isinstance(element, DType):
        yield Guard(SameDType(name, element), name)
    elif isinstance(element, DTypeName):
        owner = env.dtypes.setdefault(element.name, name)
        if owner != name:
            yield Guard(SameDType(name, owner), name)


def _length(term: p.PrimExpr, dim: p.PrimExpr, env: Environment, place: Span | None) -> Iterator[Guard]:
    """The assertions of one dimension, of the length `term`."""
    new = [var for var in p.free_vars(dim) if var not in env.sizes]
    value = env.value(dim)
    if not new:
        yield Guard(p.EQ(term, value), "")
        return
    (var, *others) = new
    found = None if others else multiple(value, term, var)
    if found is None:
        names = " and ".join(v.name for v in new)
        least = beyond(p.substitute(value, dict.fromkeys(new, p.IntImm(1))))
        text, fix = f"the dimension {dim} does not tell {names}", codes.NO_SOLUTION.fix
        if not others:
            fix = f"Multiply {names} by a number only: {names} * 4 tells {names}, another length may be 0."
        if least is not None:
            text = f"the dimension {dim} is {least} where {names} is 1, which does not fit int64"
            fix = "Write factors whose product fits int64."
        raise Failure(Diagnostic(codes.NO_SOLUTION, text, (Label(place, "", True),), help=fix))
    if found.factor != 1:
        yield Guard(p.EQ(p.FloorMod(found.difference, p.IntImm(found.factor)), p.IntImm(0)), "", solves=True)
    if found.rest is not None:
        yield Guard(p.GE(term, found.rest), "", solves=True)
    env.sizes[var] = found.value


def desugared_text(program: Program, terms: Terms) -> str:
    """The program with wrappers and implementations, as text."""
    lines: list[str] = []
    for function in program.functions.values():
        wrapper = desugar(function, terms)
        params = ", ".join(f"{q.name} : {_plain(q.type)}" for q in function.params)
        names = ", ".join(q.name for q in function.params)
        lines.append(f"inline @{function.name} = fn ({params}) : {_plain(function.ret)} {{")
        lines += [f"  {guard};" for guard in wrapper.before]
        lines.append(f"  let out = @{wrapper.impl}({names});")
        lines += [f"  {guard};" for guard in wrapper.after]
        lines += ["  out", "}"]
        if function.body is not None:
            lines.append(f"private @{wrapper.impl} = fn ({params}) : {_plain(function.ret)} {{ <body> }}")
    return "\n".join(lines) + "\n"


def match_text(function: Function, terms: Terms) -> list[str]:
    """The contract as `match_shape(value, new variables, pattern)` (note 004, Test I): of parameters, lets, and the result."""
    body = function.body.statements if function.body is not None else []
    typed = [(q.name, q.type, function.span) for q in function.params]
    typed += [
        (item.name, item.type, function.span)
        for item in body
        if isinstance(item, Let) and item.type is not None
    ]
    return [
        line for lines in match_lines([*typed, ("out", function.ret, function.span)], terms) for line in lines
    ]


def match_lines(typed: Sequence[tuple[str, SweetType, Span | None]], terms: Terms) -> list[list[str]]:
    """The types of variables, in order, each as a match_shape statement or none. Raises Failure for a dimension that cannot be solved."""
    env, lines = Environment(), []
    for name, kind, span in typed:
        before = len(env.sizes)
        list(guards(name, kind, env, terms, span))
        lines.append(match_statement(name, kind, list(islice(env.sizes, before, None))))
    return lines


def match_statement(name: str, kind: SweetType, new: Sequence[p.PrimVar]) -> list[str]:
    """The type of a variable as a statement that binds new size variables; none if it does not tell a rank."""
    if isinstance(kind, Scalar):
        kind = TensorType((), kind.dtype)
    dims = stated_dims(kind)
    if dims is None:
        return []
    return [f"match_shape({name}, [{', '.join(var.name for var in new)}], [{', '.join(map(str, dims))}])"]


def fields(function: Function, terms: Terms) -> dict[str, tuple[str, str, bool]]:
    """For each parameter and `out`: shape, element type, and `is_assertion`, as the desugared program knows them."""
    env, found = Environment(), {}
    for name, kind in [*[(q.name, q.type) for q in function.params], ("out", function.ret)]:
        asserted = bool(list(guards(name, kind, env, terms, function.span)))
        shape, element = "?", f"{name}.dtype"
        stated = stated_dims(kind)
        if stated is not None:
            dims = [
                str(env.value(dim)) if isinstance(dim, p.PrimExpr) else str(terms.dim(name, axis))
                for axis, dim in enumerate(stated)
            ]
            shape = f"[{', '.join(dims)}]"
        elif isinstance(kind, TensorType) and isinstance(kind.shape, ShapeName):
            shape = f"{env.shapes[kind.shape.name]}.shape"
        if isinstance(kind, TensorType) and isinstance(kind.dtype, DType):
            element = kind.dtype.name
        elif isinstance(kind, TensorType) and isinstance(kind.dtype, DTypeName):
            element = f"{env.dtypes[kind.dtype.name]}.dtype"
        found[name] = shape, element, asserted
    return found


def _plain(kind: SweetType) -> str:
    """The type without its contract."""
    return "Tensor" if isinstance(kind, TensorType) else str(kind)
