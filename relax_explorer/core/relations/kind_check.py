"""Kind checking: a type parameter or hole stands only where its kind permits (note 003, errata E-36)."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.ir import prim as p
from relax_explorer.core.relations.relay_types import (
    FuncType,
    Hole,
    Kind,
    Part,
    TensorType,
    TupleType,
    TypeVar,
    kind_of,
)

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
