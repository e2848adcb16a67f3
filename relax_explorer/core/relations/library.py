"""The relations, by name. Each takes (types, number of inputs, attributes, reporter), the result last, as in Relay.

A relation that learns something tells the reporter (`unify`, `same_dim`). It returns an `Outcome`, or True (holds, or too
little is known) or False (fails). A function may also raise `Mismatch` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

from relax_explorer.core.arith.prove import Answer, equal, product
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.relations.relay_types import (
    Base,
    Hole,
    Kind,
    TensorType,
    TupleType,
    dim_hole,
    is_dim_hole,
)
from relax_explorer.core.relations.solver import Mismatch, Outcome, Solver
from relax_explorer.core.syntax.notes import named_element

Verdict: TypeAlias = Outcome | bool
Relation: TypeAlias = Callable[[tuple[Any, ...], int, dict[str, Any], Solver], Verdict]
Dims = tuple[p.PrimExpr, ...]
RELATIONS: dict[str, Relation] = {}
ATTRIBUTES: dict[str, tuple[str, ...]] = {}
"""The attributes that a relation of this file reads, by its name."""


def register_relation(name: str, function: Relation) -> Relation:
    """Add a relation under a name. Raises ValueError for a name that is taken."""
    if name in RELATIONS:
        raise ValueError(f"there is a relation {name!r} already")
    RELATIONS[name] = function
    return function


def _relation(name: str, *attributes: str) -> Callable[[Relation], Relation]:
    """The decorator of the relations in this file, with the attributes that one reads."""
    ATTRIBUTES[name] = attributes
    return lambda function: register_relation(name, function)


def unregister_relation(name: str) -> None:
    """Remove a relation. Raises KeyError if there is none of this name."""
    del RELATIONS[name]


def known(part: object, what: str = "an argument") -> TensorType | None:
    """A tensor type, or None if the type is not known yet. Raises Mismatch for any other type."""
    if isinstance(part, Hole):
        return None
    if not isinstance(part, TensorType):
        raise Mismatch(f"{what} is {part}, not a tensor")
    return part


def dims_of(part: TensorType) -> Dims | None:
    """The dimensions of a tensor type, or None if they are not known."""
    return part.shape if isinstance(part.shape, tuple) else None


@_relation("Identity")
def identity(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Outcome:
    """All types are the same."""
    outcomes = [reporter.unify(types[0], part) for part in types[1:]]
    return Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.HOLDS


@_relation("Softmax", "axis")
def softmax(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Outcome:
    """Both types are the same; the tensor has the axis `axis` (-1)."""
    data = known(types[0]) or known(types[1])
    dims = dims_of(data) if data is not None else None
    if dims is not None:
        _axis(attrs.get("axis", -1), len(dims))
    return reporter.unify(types[0], types[1])


def _broadcast(types: tuple[Any, ...], reporter: Solver, element: Callable[[Base], Base | None]) -> Verdict:
    a, b = known(types[0]), known(types[1])
    if a is None or b is None:
        return Outcome.UNKNOWN
    reporter.unify(a.dtype, b.dtype)
    out = types[2] if isinstance(types[2], TensorType) else None
    dtype = element(reporter.resolved(a.dtype))
    outcome = Outcome.UNKNOWN if dtype is None else Outcome.HOLDS
    result_dtype = dtype or (Hole(Kind.BASE) if out is None else out.dtype)
    if a.shape is b.shape and not isinstance(a.shape, Hole):
        reporter.unify(types[2], TensorType(a.shape, result_dtype))
        return outcome
    left, right = dims_of(a), dims_of(b)
    if left is None or right is None:
        known(types[2], "the result")
        return Outcome.UNKNOWN
    rank = max(len(left), len(right))
    pairs = list(zip(_padded(left, rank), _padded(right, rank), strict=True))
    wanted = dims_of(out) if out is not None else None
    if wanted is not None and len(wanted) != rank:
        raise Mismatch(f"the result has rank {len(wanted)}, not {rank}")
    dims = [_joined(x, y, reporter) for x, y in pairs]
    result = tuple([dim_hole() if dim is None else dim for dim in dims] if wanted is None else wanted)
    reporter.unify(types[2], TensorType(result, result_dtype))
    outcomes = [
        _check_joined(x, y, have, reporter) if dim is None else reporter.same_dim(have, dim)
        for (x, y), dim, have in zip(pairs, dims, result, strict=True)
    ]
    return Outcome.UNKNOWN if Outcome.UNKNOWN in (outcome, *outcomes) else Outcome.HOLDS


def _as_they_are(element: Base) -> Base:
    return element


def _compared(element: Base) -> DType | None:
    """A bool for each lane. A type parameter may stand for any number of lanes, so it does not tell."""
    return dtype("bool").with_lanes(element.lanes) if isinstance(element, DType) else None


def _padded(dims: Dims, rank: int) -> Dims:
    return (p.IntImm(1),) * (rank - len(dims)) + dims


def _is_one(dim: p.PrimExpr) -> Answer:
    return equal(dim, p.IntImm(1))


def _joined(a: p.PrimExpr, b: p.PrimExpr, reporter: Solver) -> p.PrimExpr | None:
    """The dimension that both are broadcast to, or None if it is not known. Raises Mismatch if there is none."""
    if equal(a, b) is Answer.YES or _is_one(b) is Answer.YES:
        return a
    if _is_one(a) is Answer.YES:
        return b
    if equal(a, b) is Answer.NO and Answer.UNKNOWN not in (_is_one(a), _is_one(b)):
        raise Mismatch(f"the dimensions {a} and {b} cannot be broadcast")
    reporter.may_join(a, b)
    return None


def _check_joined(a: p.PrimExpr, b: p.PrimExpr, result: p.PrimExpr, reporter: Solver) -> Outcome:
    """Two dimensions of which it is not known how they are joined, and the dimension of the result."""
    a, b, result = reporter.dim(a), reporter.dim(b), reporter.dim(result)
    is_hole = type(result) is p.PrimVar and is_dim_hole(result)
    if not is_hole and any(equal(x, result) is Answer.NO and _is_one(x) is Answer.NO for x in (a, b)):
        raise Mismatch(f"the dimensions {a} and {b} cannot be broadcast to {result}")
    return Outcome.UNKNOWN


@_relation("Broadcast")
def broadcast(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """Two tensors and their common shape by NumPy's broadcasting rules; the dtypes are equal."""
    return _broadcast(types, reporter, _as_they_are)


@_relation("BroadcastComp")
def broadcast_comp(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """As Broadcast; the result is of bool, with as many lanes as the elements."""
    return _broadcast(types, reporter, _compared)


@_relation("Flatten")
def flatten(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """The first dimension, and the product of the others (Relay's batch_flatten; errata E-37)."""
    data = known(types[0])
    dims = dims_of(data) if data is not None else None
    if data is None or dims is None:
        return Outcome.UNKNOWN
    if not dims:
        raise Mismatch("a scalar has no first dimension")
    return reporter.unify(types[1], TensorType((dims[0], simplify(_count(dims[1:]))), data.dtype))


@_relation("Transpose", "axes")
def transpose(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """The dimensions in the order `axes`; without it, reversed."""
    data = known(types[0])
    dims = dims_of(data) if data is not None else None
    if data is None or dims is None:
        return Outcome.UNKNOWN
    given = attrs.get("axes")
    order = range(-1, -len(dims) - 1, -1) if given is None else _numbers(given, "axes")
    axes = [_axis(n, len(dims)) for n in order]
    if sorted(axes) != list(range(len(dims))):
        raise Mismatch(f"axes {given} is no order of {len(dims)} axes")
    return reporter.unify(types[1], TensorType(tuple([dims[n] for n in axes]), data.dtype))


@_relation("Reduce", "axis", "keepdims")
def reduce(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """A reduction over `axis` (one, several, or None for all); `keepdims` keeps them with length 1."""
    data = known(types[0])
    dims = dims_of(data) if data is not None else None
    if data is None or dims is None:
        return Outcome.UNKNOWN
    given = attrs.get("axis")
    listed = range(len(dims)) if given is None else given if isinstance(given, (list, tuple)) else [given]
    axes = [_axis(n, len(dims)) for n in listed]
    twice = next((n for n in axes if axes.count(n) > 1), None)
    if twice is not None:
        raise Mismatch(f"axis {twice} is given twice")
    kept = [
        p.IntImm(1) if n in axes else dim
        for n, dim in enumerate(dims)
        if attrs.get("keepdims") or n not in axes
    ]
    return reporter.unify(types[1], TensorType(tuple(kept), data.dtype))


@_relation("Concat", "axis")
def concat(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """A tuple of tensors joined along `axis`; the other dimensions and the dtypes are equal."""
    if isinstance(types[0], Hole):
        return Outcome.UNKNOWN
    if not isinstance(types[0], TupleType) or not types[0].fields:
        raise Mismatch(f"the argument is {types[0]}, not a tuple of tensors")
    parts = [known(part, "a field") for part in types[0].fields]
    first = next((part for part in parts if part is not None), None)
    for part in parts:
        if part is not None and first is not None:
            reporter.unify(part.dtype, first.dtype)
    shapes = [None if part is None else dims_of(part) for part in parts]
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) > 1:
        raise Mismatch(f"the fields differ in rank: {', '.join(map(str, sorted(ranks)))}")
    if not ranks or first is None:
        return Outcome.UNKNOWN
    (rank,) = ranks
    axis = _axis(attrs.get("axis", 0), rank)
    have: list[Dims] = [shape for shape in shapes if shape is not None]
    outcomes = [reporter.same_dim(shape[n], have[0][n]) for shape in have for n in range(rank) if n != axis]
    if len(have) < len(shapes):
        return Outcome.UNKNOWN
    total: p.PrimExpr = have[0][axis]
    for shape in have[1:]:
        total = p.Add(total, shape[axis])
    dims = tuple([simplify(total) if n == axis else have[0][n] for n in range(rank)])
    outcomes.append(reporter.unify(types[1], TensorType(dims, first.dtype)))
    return Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.HOLDS


@_relation("Reshape", "newshape")
def reshape(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """The shape `newshape` with as many elements: -1 is computed, 0 copies the dimension of the data."""
    data = known(types[0])
    dims = dims_of(data) if data is not None else None
    if data is None or dims is None:
        return Outcome.UNKNOWN
    new: list[p.PrimExpr | None] = []
    for n, given in enumerate(_numbers(attrs.get("newshape"), "newshape")):
        if given == 0 and n >= len(dims):
            raise Mismatch(f"newshape copies dimension {n}, but the data have rank {len(dims)}")
        new.append(dims[n] if given == 0 else None if given == -1 else p.as_prim(given))
    if new.count(None) > 1:
        raise Mismatch("newshape has -1 more than once")
    total, rest = _count(dims), _count([dim for dim in new if dim is not None])
    if None in new:
        if equal(rest, p.IntImm(0)) is Answer.YES:
            raise Mismatch("newshape has -1 beside a dimension of 0, so that any number would do")
        if equal(simplify(p.FloorMod(total, rest)), p.IntImm(0)) is Answer.NO:
            raise Mismatch(f"{total} elements cannot be divided by {rest}")
        new[new.index(None)] = simplify(p.FloorDiv(total, rest))
        outcome = Outcome.HOLDS
    else:
        outcome = reporter.same_dim(total, rest)
    found = reporter.unify(types[1], TensorType(tuple([dim for dim in new if dim is not None]), data.dtype))
    return found if outcome is Outcome.HOLDS else outcome


@_relation("Matmul")
def matmul(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """NumPy's matmul of tensors of rank 1 or more: the batch dimensions are broadcast."""
    a, b = known(types[0]), known(types[1])
    if a is None or b is None:
        return Outcome.UNKNOWN
    reporter.unify(a.dtype, b.dtype)
    left, right = dims_of(a), dims_of(b)
    if left is None or right is None:
        return Outcome.UNKNOWN
    if not left or not right:
        raise Mismatch("a scalar has no rows or columns")
    outcomes = [reporter.same_dim(left[-1], right[-2:][0])]
    rank = max(len(left), len(right)) - 2
    pairs = zip(_padded(left[:-2], rank), _padded(right[:-2], rank), strict=True)
    batch = [_joined(x, y, reporter) for x, y in pairs]
    if None in batch:
        outcomes.append(Outcome.UNKNOWN)
    dims = [dim_hole() if dim is None else dim for dim in batch]
    dims += [*left[-2:-1], *(right[-1:] if len(right) > 1 else ())]
    if None not in batch or isinstance(types[2], Hole):
        outcomes.append(reporter.unify(types[2], TensorType(tuple(dims), a.dtype)))
    return Outcome.UNKNOWN if Outcome.UNKNOWN in outcomes else Outcome.HOLDS


@_relation("Take", "axis")
def take(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """Elements of the data at `axis` (None: of the flat data), one for each index."""
    data, indices = known(types[0]), known(types[1], "the indices")
    if data is None or indices is None:
        return Outcome.UNKNOWN
    if isinstance(indices.dtype, DType) and not _is_integer(indices.dtype):
        raise Mismatch(f"the indices are {indices.dtype}, not integers")
    dims, places = dims_of(data), dims_of(indices)
    if dims is None or places is None:
        return Outcome.UNKNOWN
    if attrs.get("axis") is None:
        return reporter.unify(types[2], TensorType(places, data.dtype))
    axis = _axis(attrs["axis"], len(dims))
    return reporter.unify(types[2], TensorType((*dims[:axis], *places, *dims[axis + 1 :]), data.dtype))


@_relation("ShapeOf", "dtype")
def shape_of(types: tuple[Any, ...], inputs: int, attrs: dict[str, Any], reporter: Solver) -> Verdict:
    """A tensor of rank 1 with one element, of `dtype` (int32), for each dimension of the data."""
    data = known(types[0])
    dims = dims_of(data) if data is not None else None
    element = named_element(str(attrs.get("dtype", "int32")))
    if element is None or not _is_integer(element):
        raise Mismatch(f"dtype is {attrs.get('dtype')}, not an integer type")
    if dims is None:
        return Outcome.UNKNOWN
    return reporter.unify(types[1], TensorType((p.IntImm(len(dims)),), element))


def _is_integer(element: DType) -> bool:
    """True for one integer. A vector of them is no index."""
    return element.is_int and element.lanes == 1


def _numbers(value: object, name: str) -> list[int]:
    """An attribute that is a list of whole numbers. Raises Mismatch for any other."""
    if not isinstance(value, (list, tuple)) or any(type(n) is not int for n in value):
        raise Mismatch(f"{name} is {value}, not a list of whole numbers")
    return list(value)


def _count(dims: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The number of elements of a shape."""
    literal = prod([dim.value for dim in dims if isinstance(dim, p.IntImm)])
    if literal > p.INT64_MAX:
        raise Mismatch(f"there are {literal} elements, which does not fit int64")
    return product(dims)


def _axis(axis: object, rank: int) -> int:
    if type(axis) is not int or not -rank <= axis < rank:
        raise Mismatch(f"there is no axis {axis} in a tensor of rank {rank}")
    return axis % rank
