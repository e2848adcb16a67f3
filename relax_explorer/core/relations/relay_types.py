"""Kinds, types and holes of Relay (note 003): tensors, tuples, functions with constraints, type parameters.

A dimension is a PrimExpr. A type parameter of kind ShapeVar, and a hole for a dimension, are shape variables (PrimVar) inside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import count
from typing import Any, TypeAlias

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.prim_text import tuple_text


class Kind(Enum):
    """What a type parameter or a hole stands for."""

    TYPE = "Type"
    BASE = "BaseType"
    SHAPE = "Shape"
    DIM = "ShapeVar"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class TypeVar:
    """A type parameter of a function. Equality is identity: two parameters of one name differ."""

    name: str
    kind: Kind = Kind.TYPE

    @cached_property
    def dim(self) -> p.PrimVar:
        """The shape variable that stands for a parameter of kind ShapeVar inside dimensions."""
        return p.PrimVar(self.name)

    def __str__(self) -> str:
        return self.name


_numbers = [count(1)]


def number_holes_from_one() -> None:
    """Begin the numbers that holes show again, so that equal programs give equal texts. Holes stay different by identity."""
    _numbers[0] = count(1)


@dataclass(frozen=True, eq=False)
class Hole:
    """An incomplete type: a type, base type or shape that is not known yet. Equality is identity."""

    kind: Kind = Kind.TYPE
    place: object = field(default=None, repr=False)
    why: str = ""
    number: int = field(default_factory=lambda: next(_numbers[0]))

    def __str__(self) -> str:
        return f"?{self.number}"


def dim_hole(name: str = "d") -> p.PrimVar:
    """A dimension that is not known yet, maybe of a variable of this name."""
    return p.PrimVar(f"?{name}{next(_numbers[0])}")


def is_dim_hole(var: p.PrimVar) -> bool:
    """True for a variable that `dim_hole` made. No name in a text begins so."""
    return var.name.startswith("?")


Base: TypeAlias = DType | TypeVar | Hole
Shape: TypeAlias = tuple[p.PrimExpr, ...] | TypeVar | Hole


@dataclass(frozen=True)
class TensorType:
    """A tensor with a shape and elements of one dtype. A scalar has the shape ()."""

    shape: Shape
    dtype: Base

    def __str__(self) -> str:
        return f"Tensor[{shape_text(self.shape)}, {self.dtype}]"


@dataclass(frozen=True)
class TupleType:
    """A tuple with one type for each field."""

    fields: tuple[Type, ...]

    def __str__(self) -> str:
        return tuple_text(self.fields)


@dataclass(frozen=True)
class TypeConstraint(ABC):
    """What must hold at each call of a function. The solver calls `check`; a subclass decides how."""

    def types(self) -> tuple[Type, ...]:
        """The types that the constraint is about."""
        return ()

    def with_types(self, types: tuple[Type, ...]) -> TypeConstraint:
        """The same constraint about other types."""
        return self

    @abstractmethod
    def check(self, types: tuple[Type, ...], reporter: object) -> object:
        """Whether the constraint holds: an `Outcome`, or True (holds, or too little is known) or False."""


@dataclass(frozen=True)
class TypeRelation(TypeConstraint):
    """A named relation over types. The last one is the result; the others are inputs."""

    name: str
    function: Callable[..., Any] = field(compare=False, repr=False)
    args: tuple[Type, ...] = ()
    attrs: tuple[tuple[str, Any], ...] = ()

    def types(self) -> tuple[Type, ...]:
        """The inputs and the result."""
        return self.args

    def with_types(self, types: tuple[Type, ...]) -> TypeRelation:
        """The same relation over other types."""
        return replace(self, args=types)

    def check(self, types: tuple[Type, ...], reporter: object) -> object:
        """What the function says of these types."""
        return self.function(types, max(len(types) - 1, 0), dict(self.attrs), reporter)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"


@dataclass(frozen=True)
class FuncType:
    """A function: type parameters, types of the arguments and of the result, constraints on them."""

    params: tuple[TypeVar, ...]
    args: tuple[Type, ...]
    ret: Type
    constraints: tuple[TypeConstraint, ...] = ()

    def __str__(self) -> str:
        params = ", ".join(str(v) if v.kind is Kind.TYPE else f"{v} : {v.kind}" for v in self.params)
        where = ", ".join(self._constraint(item) for item in self.constraints)
        head = f"fn<{params}>" if params else "fn"
        return f"{head}({', '.join(map(str, self.args))}) -> {self.ret}{' where ' + where if where else ''}"

    def _constraint(self, item: TypeConstraint) -> str:
        """Only the name if the constraint is about all arguments and the result, in order."""
        whole = isinstance(item, TypeRelation) and item.args == (*self.args, self.ret)
        return item.name if whole and isinstance(item, TypeRelation) else str(item)


Type: TypeAlias = TensorType | TupleType | FuncType | TypeVar | Hole
Part: TypeAlias = Type | Shape | Base


def shape_text(shape: Shape) -> str:
    """A shape in the notation of the types."""
    return tuple_text(shape) if isinstance(shape, tuple) else str(shape)


def kind_of(part: Part | p.PrimExpr) -> Kind:
    """The kind of a type, shape, base type or dimension."""
    if isinstance(part, (TypeVar, Hole)):
        return part.kind
    if isinstance(part, tuple):
        return Kind.SHAPE
    if isinstance(part, p.PrimExpr):
        return Kind.DIM
    return Kind.BASE if isinstance(part, DType) else Kind.TYPE


def mapped(
    part: object, parts: Callable[[TypeVar | Hole], Any], dim: Callable[[p.PrimExpr], p.PrimExpr]
) -> Any:
    """A type or part with each parameter and hole replaced by `parts`, and each dimension by `dim`."""
    if isinstance(part, (TypeVar, Hole)):
        return parts(part)
    if isinstance(part, tuple):
        return tuple([dim(item) for item in part])
    if isinstance(part, TensorType):
        return TensorType(mapped(part.shape, parts, dim), mapped(part.dtype, parts, dim))
    if isinstance(part, TupleType):
        return TupleType(tuple([mapped(item, parts, dim) for item in part.fields]))
    if isinstance(part, FuncType):
        own = set(part.params)  # bound here: whatever has the same name outside is another one

        def outside(item: TypeVar | Hole) -> Part:
            return item if item in own else parts(item)

        types = [mapped(item, outside, dim) for item in (*part.args, part.ret)]
        constraints = [
            item.with_types(tuple([mapped(one, outside, dim) for one in item.types()]))
            for item in part.constraints
        ]
        return FuncType(part.params, tuple(types[:-1]), types[-1], tuple(constraints))
    return part


def holes_in(part: Part) -> list[Hole | p.PrimVar]:
    """The holes in a type or part, dimensions included, each once."""
    found: dict[Hole | p.PrimVar, None] = {}

    def visit(item: TypeVar | Hole) -> Part:
        if isinstance(item, Hole):
            found[item] = None
        return item

    def dim(expr: p.PrimExpr) -> p.PrimExpr:
        for var in filter(is_dim_hole, p.free_vars(expr)):
            found[var] = None
        return expr

    mapped(part, visit, dim)
    return list(found)


def instantiate(function: FuncType, values: Mapping[TypeVar, Any]) -> FuncType:
    """A function type without parameters: each is replaced by its value, a type, shape, base type or dimension."""
    dims = {var.dim: value for var, value in values.items() if var.kind is Kind.DIM}

    def part(item: TypeVar | Hole) -> Part:
        return values.get(item, item) if isinstance(item, TypeVar) else item

    def dim(expr: p.PrimExpr) -> p.PrimExpr:
        return p.substitute(expr, dims) if dims else expr

    whole: FuncType = mapped(FuncType((), function.args, function.ret, function.constraints), part, dim)
    return whole


Names: TypeAlias = dict[TypeVar, TypeVar]
Dims: TypeAlias = dict[p.PrimVar, p.PrimExpr]


def alpha_equal(a: Part, b: Part) -> bool:
    """True if two types are the same up to the names of their type parameters."""
    return _alpha(a, b, {}, {})


def _alpha(a: Part, b: Part, names: Names, dims: Dims) -> bool:
    if isinstance(a, TypeVar) and isinstance(b, TypeVar):
        return names.get(a, a) is b
    if isinstance(a, tuple) and isinstance(b, tuple):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(equal(p.substitute(x, dims), y) is Answer.YES for x, y in pairs)
    if isinstance(a, FuncType) and isinstance(b, FuncType):
        return _alpha_functions(a, b, names, dims)
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return _alpha(a.shape, b.shape, names, dims) and _alpha(a.dtype, b.dtype, names, dims)
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return _all_alpha(a.fields, b.fields, names, dims)
    return a is b


def _alpha_functions(a: FuncType, b: FuncType, names: Names, dims: Dims) -> bool:
    if [v.kind for v in a.params] != [v.kind for v in b.params] or len(a.constraints) != len(b.constraints):
        return False
    names = names | dict(zip(a.params, b.params, strict=True))
    dims = dims | {v.dim: w.dim for v, w in zip(a.params, b.params, strict=True) if v.kind is Kind.DIM}
    same_constraints = all(
        getattr(x, "name", type(x)) == getattr(y, "name", type(y))
        and _all_alpha(x.types(), y.types(), names, dims)
        for x, y in zip(a.constraints, b.constraints, strict=True)
    )
    return same_constraints and _all_alpha((*a.args, a.ret), (*b.args, b.ret), names, dims)


def _all_alpha(a: tuple[Type, ...], b: tuple[Type, ...], names: Names, dims: Dims) -> bool:
    return len(a) == len(b) and all(_alpha(x, y, names, dims) for x, y in zip(a, b, strict=True))


# -- kind check ------------------------------------------------------------------------------------------------------
# Kind checking: a type parameter or hole stands only where its kind permits (note 003, errata E-36).


_PLACES = {
    Kind.TYPE: "a type stands here",
    Kind.SHAPE: "a shape stands here",
    Kind.BASE: "an element type stands here",
    Kind.DIM: "a dimension stands here",
}


def wrong_kinds(part: Part, wanted: Kind = Kind.TYPE) -> Iterator[str]:
    """A sentence for each part that is of another kind than its place."""
    if kind_of(part) is not wanted:
        yield wrong_kind(f"`{part}`" if isinstance(part, (TypeVar, Hole)) else str(part), part, wanted)
    elif isinstance(part, TensorType):
        yield from wrong_kinds(part.shape, Kind.SHAPE)
        yield from wrong_kinds(part.dtype, Kind.BASE)
    elif isinstance(part, TupleType):
        for item in part.fields:
            yield from wrong_kinds(item)
    elif isinstance(part, FuncType):
        for item in (*part.args, part.ret, *[one for c in part.constraints for one in c.types()]):
            yield from wrong_kinds(item)


def wrong_kind(name: str, part: Part | p.PrimExpr, wanted: Kind) -> str:
    """The sentence for a part of another kind than its place."""
    return f"{name} is of kind {kind_of(part)}, but {_PLACES[wanted]}, of kind {wanted}"
