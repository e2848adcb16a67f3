"""Contracts as assertions (note 004, "Desugared syntax"): a wrapper that checks, and the body that may assume what it checked.

The first occurrence of a size variable captures a length, later ones assert equality. `m * 4` captures `x.dim(1) // 4` and
asserts that the length is divisible (errata E-41).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from relax_explorer.core.arith.multiples import multiple
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.fold import beyond
from relax_explorer.core.shapes import contract_tree as c
from relax_explorer.core.shapes.check_words import words
from relax_explorer.core.source import Span


@dataclass(frozen=True, eq=False)
class Guard:
    """One assertion of a contract: of which variable, of which of its axes (-1: of none), and the dimension as written."""

    condition: c.Condition
    name: str
    axis: int = -1
    written: c.Dim = c.UNKNOWN
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

    def is_bound(self, dim: c.Dim) -> bool:
        """True if every variable of a dimension is captured."""
        return isinstance(dim, p.PrimExpr) and all(v in self.sizes for v in p.free_vars(dim))


@dataclass(frozen=True, eq=False)
class Wrapper:
    """A function with its contract as assertions, before and after the call of its implementation."""

    function: c.Function
    before: tuple[Guard, ...]
    after: tuple[Guard, ...]
    environment: Environment

    @property
    def impl(self) -> str:
        """The name of the implementation: private, and called by the wrapper only."""
        return f"{self.function.name}_impl"


def desugar(function: c.Function, terms: c.Terms) -> Wrapper:
    """The wrapper of a function. Raises Failure for a dimension that cannot be solved."""
    known = Environment()
    before = [guard for q in function.params for guard in guards(q.name, q.type, known, terms, q.span)]
    inside = known.copy()
    after = list(guards("out", function.ret, inside, terms, function.span))
    return Wrapper(function, tuple(before), tuple(after), known)


def guards(
    name: str, kind: c.SweetType, known: Environment, terms: c.Terms, place: Span | None
) -> Iterator[Guard]:
    """The assertions of one type, in order; `known` takes what it captures."""
    if isinstance(kind, c.Scalar):
        kind = c.TensorType((), kind.dtype)
    if isinstance(kind, c.Sort):
        yield from _of_sort(name, kind, known, terms, place)
    elif isinstance(kind, c.TensorType) and not kind.is_plain:
        yield from _of_shape(name, kind.shape, known, terms, place)
        yield from _of_element(name, kind.dtype, known)


def _of_sort(
    name: str, sort: c.Sort, known: Environment, terms: c.Terms, place: Span | None
) -> Iterator[Guard]:
    """A value of which types may speak: by the size variable, or by the name of the shape or element type."""
    if sort.variable is not None:
        for guard in _length(terms.dim(name, 0), sort.variable, known, place):
            yield replace(guard, name=name, axis=0, written=sort.variable)
    elif sort.name == "Shape":
        yield from _of_shape(name, c.ShapeName(name), known, terms, place)
    elif sort.name == "DType":
        yield from _of_element(name, c.DTypeName(name), known)


def _of_shape(
    name: str, shape: c.Dims, known: Environment, terms: c.Terms, place: Span | None
) -> Iterator[Guard]:
    if isinstance(shape, tuple):
        yield Guard(p.EQ(terms.rank(name), p.IntImm(len(shape))), name)
        for axis, dim in enumerate(shape):
            if isinstance(dim, p.PrimExpr):
                for guard in _length(terms.dim(name, axis), dim, known, place):
                    yield replace(guard, name=name, axis=axis, written=dim)
    elif isinstance(shape, c.ShapeName):
        owner = known.shapes.setdefault(shape.name, name)
        if owner != name:
            yield Guard(c.SameShape(name, owner), name)


def _of_element(name: str, element: c.Element, known: Environment) -> Iterator[Guard]:
    if isinstance(element, DType):
        yield Guard(c.SameDType(name, element), name)
    elif isinstance(element, c.DTypeName):
        owner = known.dtypes.setdefault(element.name, name)
        if owner != name:
            yield Guard(c.SameDType(name, owner), name)


def _length(term: p.PrimExpr, dim: p.PrimExpr, known: Environment, place: Span | None) -> Iterator[Guard]:
    """The assertions of one dimension, of the length `term`."""
    new = [var for var in p.free_vars(dim) if var not in known.sizes]
    value = known.value(dim)
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
    known.sizes[var] = found.value


def desugared_text(program: c.Program, terms: c.Terms) -> str:
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


def match_text(function: c.Function, terms: c.Terms) -> list[str]:
    """The contract as `match_shape(value, new variables, pattern)` (note 004, Test I): of parameters, lets, and the result."""
    body = function.body.statements if function.body is not None else []
    typed = [(q.name, q.type, function.span) for q in function.params]
    typed += [
        (item.name, item.type, function.span)
        for item in body
        if isinstance(item, c.Let) and item.type is not None
    ]
    return [
        line for lines in match_lines([*typed, ("out", function.ret, function.span)], terms) for line in lines
    ]


def match_lines(typed: Sequence[tuple[str, c.SweetType, Span | None]], terms: c.Terms) -> list[list[str]]:
    """The types of variables, in order, each as a match_shape statement or none. Raises Failure for a dimension that cannot be solved."""
    known, lines = Environment(), []
    for name, kind, span in typed:
        before = len(known.sizes)
        list(guards(name, kind, known, terms, span))
        lines.append(match_statement(name, kind, list(islice(known.sizes, before, None))))
    return lines


def match_statement(name: str, kind: c.SweetType, new: Sequence[p.PrimVar]) -> list[str]:
    """The type of a variable as a statement that binds new size variables; none if it does not tell a rank."""
    if isinstance(kind, c.Scalar):
        kind = c.TensorType((), kind.dtype)
    if not isinstance(kind, c.TensorType) or not isinstance(kind.shape, tuple):
        return []
    return [
        f"match_shape({name}, [{', '.join(var.name for var in new)}], [{', '.join(map(str, kind.shape))}])"
    ]


def fields(function: c.Function, terms: c.Terms) -> dict[str, tuple[str, str, bool]]:
    """For each parameter and `out`: shape, element type, and `is_assertion`, as the desugared program knows them."""
    known, found = Environment(), {}
    for name, kind in [*[(q.name, q.type) for q in function.params], ("out", function.ret)]:
        asserted = bool(list(guards(name, kind, known, terms, function.span)))
        shape, element = "?", f"{name}.dtype"
        if isinstance(kind, c.TensorType) and isinstance(kind.shape, tuple):
            dims = [
                str(known.value(dim)) if isinstance(dim, p.PrimExpr) else str(terms.dim(name, axis))
                for axis, dim in enumerate(kind.shape)
            ]
            shape = f"[{', '.join(dims)}]"
        elif isinstance(kind, c.TensorType) and isinstance(kind.shape, c.ShapeName):
            shape = f"{known.shapes[kind.shape.name]}.shape"
        if isinstance(kind, c.TensorType) and isinstance(kind.dtype, DType):
            element = kind.dtype.name
        elif isinstance(kind, c.TensorType) and isinstance(kind.dtype, c.DTypeName):
            element = f"{known.dtypes[kind.dtype.name]}.dtype"
        found[name] = shape, element, asserted
    return found


def _plain(kind: c.SweetType) -> str:
    """The type without its contract."""
    return "Tensor" if isinstance(kind, c.TensorType) else str(kind)
