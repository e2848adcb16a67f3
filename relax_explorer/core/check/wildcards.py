"""Wildcard dimensions: `R.any_dim` in StructInfo, an experiment that a module opts into.

A wildcard stands for one length that has no name. Copies of a value keep its wildcard, so that its lengths stay equal to
themselves. Two different wildcards may differ, and so may the results of two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import WILDCARDS
from relax_explorer.core.ir.interned import PerNode

_ZERO = p.IntImm(0)
Dims = tuple[p.PrimExpr, ...]


def allowed(attrs: Mapping[str, object]) -> bool:
    """True if the attributes of a module allow wildcards."""
    return bool(attrs.get(WILDCARDS))


def wildcards_of(*exprs: p.PrimExpr) -> list[p.PrimExpr]:
    """The wildcards in expressions, in order."""
    found: list[p.PrimExpr] = []
    stack = list(reversed(exprs))
    while stack:
        part = stack.pop()
        if type(part) is p.AnyDim:
            found.append(part)
        stack.extend(reversed(part.children()))
    return found


def wildcards_in(info: s.StructInfo) -> Sequence[p.PrimExpr]:
    """The wildcards in a StructInfo, in order; in function infos, too."""
    found = _WILDCARDS.get(id(info))
    return _WILDCARDS.add(info, tuple(_wildcards_in(info))) if found is None else found


_WILDCARDS: PerNode[tuple[p.PrimExpr, ...]] = PerNode()


def _wildcards_in(info: s.StructInfo) -> Iterable[p.PrimExpr]:
    if isinstance(info, s.TupleStructInfo):
        return [dim for field in info.fields for dim in wildcards_in(field)]
    if isinstance(info, s.FuncStructInfo):
        return [dim for part in (*(info.params or ()), info.ret) for dim in wildcards_in(part)]
    if isinstance(info, s.PrimStructInfo):
        return [] if info.value is None else wildcards_of(info.value)
    dims = info.dims if isinstance(info, s.TensorStructInfo) else getattr(info, "values", None)
    return wildcards_of(*dims or ())


def map_lengths(info: s.StructInfo, change: Callable[[p.PrimExpr], p.PrimExpr]) -> s.StructInfo:
    """`info` with other lengths in its tensors and shapes; function infos stay. The same object if nothing changes."""
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple([map_lengths(field, change) for field in info.fields]))
    if isinstance(info, s.TensorStructInfo) and info.dims is not None:
        return s.TensorStructInfo(tuple(map(change, info.dims)), info.dtype, info.ndim, info.vdevice)
    if isinstance(info, s.ShapeStructInfo) and info.values is not None:
        return s.ShapeStructInfo(tuple(map(change, info.values)))
    return info


def simplified(info: s.StructInfo) -> s.StructInfo:
    """`info` with simplified lengths, as a call of a function returns it. The same object if nothing changes."""
    return map_lengths(info, simplify)


def opened(info: s.StructInfo) -> s.StructInfo:
    """`info` with `wildcard + 0` for each wildcard: an unknown length of a value, not a pattern that every length fits."""
    return map_lengths(info, lambda dim: p.Add(dim, _ZERO) if type(dim) is p.AnyDim else dim)


def closed(info: s.StructInfo) -> s.StructInfo:
    """`info` with a new wildcard for each length that is computed from wildcards, and `wildcard` for `wildcard + 0`.

    A function whose parameters or result would need this becomes Object.
    """
    if isinstance(info, s.FuncStructInfo):
        return s.OBJECT if any(map(_is_computed, _all_lengths(info))) else info
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple(map(closed, info.fields)))
    if isinstance(info, s.PrimStructInfo) and info.value is not None and wildcards_of(info.value):
        return s.PrimStructInfo(info.dtype)
    return map_lengths(info, _closed_length)


def _all_lengths(info: s.StructInfo) -> Iterable[p.PrimExpr]:
    if isinstance(info, s.FuncStructInfo):
        return [dim for part in (*(info.params or ()), info.ret) for dim in _all_lengths(part)]
    if isinstance(info, s.TupleStructInfo):
        return [dim for field in info.fields for dim in _all_lengths(field)]
    return s.lengths(info)


def _is_computed(dim: p.PrimExpr) -> bool:
    return type(dim) is not p.AnyDim and bool(wildcards_of(dim))


def _closed_length(dim: p.PrimExpr) -> p.PrimExpr:
    if not _is_computed(dim):
        return dim
    same = [part for part in wildcards_of(dim) if equal(part, dim) is Answer.YES]
    return same[0] if same else p.AnyDim()


def renewed(info: s.StructInfo) -> s.StructInfo:
    """`info` with new wildcards, for a value of its own."""
    new: dict[p.PrimExpr, p.PrimExpr] = {}
    return map_lengths(info, lambda dim: new.setdefault(dim, p.AnyDim()) if type(dim) is p.AnyDim else dim)


def blurred(info: s.StructInfo, dims: Collection[p.PrimVar]) -> s.StructInfo:
    """`info` with a wildcard for each length that needs a shape variable outside `dims`."""
    return map_lengths(info, lambda dim: dim if all(var in dims for var in p.free_vars(dim)) else p.AnyDim())


class Wildcards:
    """The wildcards of one function while it is normalized: each belongs to one value, and its copies."""

    def __init__(self, reuse: bool = True) -> None:
        self.owners: set[p.PrimExpr] = set()
        self.reuse = reuse  # False if values may be copies of others, so that each gets new wildcards

    def own(self, info: s.StructInfo) -> s.StructInfo:
        """The StructInfo that a parameter or match_cast states. It is renewed if another value has its wildcards already."""
        dims = wildcards_in(info)
        if not self.owners.isdisjoint(dims):
            info = renewed(info)
            dims = wildcards_in(info)
        self.owners.update(dims)
        return info

    def annotated(self, info: s.StructInfo, derived: s.StructInfo) -> s.StructInfo:
        """The StructInfo of an annotated variable: `derived`, if the annotation `info` differs only in its wildcards."""
        return derived if alike(info, derived) else self.own(info)

    def keep(self, info: s.StructInfo) -> None:
        """Note the wildcards of a value that is not inferred again."""
        self.owners.update(wildcards_in(info))

    def result(
        self, before: s.StructInfo | None, info: s.StructInfo, inputs: Iterable[s.StructInfo]
    ) -> s.StructInfo:
        """The StructInfo of a value that is computed from `inputs`.

        Wildcards that are new in it are those of `before`, the StructInfo at the last inference, unless another value
        has these.
        """
        info = closed(info)
        new = set(wildcards_in(info))
        if not new:
            return info
        new -= {dim for part in inputs for dim in wildcards_in(part)}
        if self.reuse and before is not None and before is not info:
            replaced: dict[Any, Any] = {}
            if _match(info, before, new - self.owners, replaced) and self.owners.isdisjoint(
                replaced.values()
            ):
                info = before
                new = set(replaced.values())
        stale = new & self.owners
        if stale:
            fresh: dict[p.PrimExpr, p.PrimExpr] = {dim: p.AnyDim() for dim in stale}
            info = map_lengths(info, lambda dim: fresh.get(dim, dim))
            new = (new - stale) | set(fresh.values())
        self.owners |= new
        return info


def alike(a: s.StructInfo, b: s.StructInfo) -> bool:
    """True if `b` is `a` with other wildcards."""
    return a is b or _match(a, b, set(wildcards_in(a)), {})


def _match(info: s.StructInfo, before: s.StructInfo, new: Collection[Any], replaced: dict[Any, Any]) -> bool:
    """True if `before` is `info` with other wildcards in place of `new` ones: one for one, and none of `info` itself."""
    if info is before:
        return True
    if isinstance(info, s.TupleStructInfo) and isinstance(before, s.TupleStructInfo):
        return len(info.fields) == len(before.fields) and all(
            _match(a, b, new, replaced) for a, b in zip(info.fields, before.fields, strict=True)
        )
    left, right = s.lengths(info), s.lengths(before)
    if type(info) is not type(before) or len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        is_same = a is b if a not in new else type(b) is p.AnyDim and replaced.setdefault(a, b) is b
        if not is_same:
            return False
    taken = dict(zip(left, right, strict=True))
    return (
        len(set(replaced.values())) == len(replaced)
        and map_lengths(info, lambda dim: taken[dim] if dim in new else dim) is before
    )
