"""Conditions over lengths: what a place or an operator demands of the value it gets, and how people say it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from relax_explorer.core.arith.multiples import Multiple, bind_multiples
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.check.wildcards import map_lengths, wildcards_in
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.value_terms import (
    BOOL_OR_INTEGER,
    FLOAT,
    INTEGER,
    NUMBER,
    both,
    condition_text,
    element_number,
    is_no_length,
    kind_number,
    of_elements,
    value_name,
)


@dataclass(frozen=True)
class Demand:
    """One condition. `condition` is None for one that the prover is not asked about; `text` says it in either case."""

    text: str
    condition: p.PrimExpr | None = None

    @classmethod
    def of(cls, condition: p.PrimExpr) -> Demand:
        """The demand of a condition, in words."""
        return cls(condition_text(condition), condition)


@dataclass
class Matching:
    """Values of shape variables found so far, and the variables that stand for lengths that no StructInfo tells."""

    scope: set[p.PrimVar]
    values: dict[p.PrimVar, p.PrimExpr] = field(default_factory=dict)
    unknown: dict[str, p.PrimVar] = field(default_factory=dict)
    wildcards: dict[p.PrimExpr, p.PrimVar] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(
        default_factory=dict
    )  # of a field such as `t[0]`, the value that it is
    bound: list[tuple[p.PrimVar, p.PrimExpr]] = field(default_factory=list)
    is_binding: bool = False
    compound: list[tuple[p.PrimExpr, p.PrimExpr]] = field(default_factory=list)  # met while binding
    told: dict[tuple[p.PrimExpr, p.PrimExpr], Multiple] = field(default_factory=dict)  # what bound a variable

    def bind(self, values: Iterable[tuple[s.StructInfo, s.StructInfo | None, str]]) -> None:
        """Bind the new variables of several values, so that a dimension may use one that a later value binds.

        Then those that stand in no dimension alone: `m * 4` tells `m`, and demands that 4 divides the length.
        """
        self.is_binding, self.compound = True, []
        for want, have, name in values:
            for _ in self.demands(want, have, name):
                pass
        self.is_binding = False
        own = [(want, have) for want, have in self.compound if self.scope.isdisjoint(p.free_vars(want))]
        self.told |= bind_multiples(own, self.values)

    def length(self, name: str) -> p.PrimVar:
        """The variable of a length that is not known."""
        return self.unknown.setdefault(name, p.PrimVar(name))

    def of_wildcard(self, wildcard: p.PrimExpr, name: str) -> p.PrimVar:
        """The variable of a wildcard. It is called like the first value that has it."""
        if wildcard not in self.wildcards:
            self.wildcards[wildcard] = self.length(name)
        return self.wildcards[wildcard]

    def named(self, info: s.StructInfo | None, name: str) -> s.StructInfo | None:
        """The StructInfo of a value called `name`, with variables for its wildcards."""
        if info is None or not wildcards_in(info):
            return info
        if isinstance(info, s.TupleStructInfo):
            fields = [self.named(part, f"{name}[{n}]") or s.OBJECT for n, part in enumerate(info.fields)]
            return s.TupleStructInfo(tuple(fields))
        base = f"{name}.shape" if isinstance(info, s.TensorStructInfo) else name
        places = iter(range(len(s.lengths(info))))

        def variable(dim: p.PrimExpr) -> p.PrimExpr:
            place = f"{base}[{next(places)}]"
            return self.of_wildcard(dim, place) if type(dim) is p.AnyDim else dim

        return map_lengths(info, variable)

    def demands(self, want: s.StructInfo, have: s.StructInfo | None, name: str) -> Iterator[Demand]:
        """What must hold so that a value of `have`, called `name`, is a value of `want`. New variables are bound on the way."""
        if isinstance(want, s.TensorStructInfo):
            yield from self._tensor(want, have, name)
        elif isinstance(want, s.ShapeStructInfo):
            yield from self._shape(want, have, name)
        elif isinstance(want, s.PrimStructInfo):
            if not isinstance(have, s.PrimStructInfo):
                parts = [self._is(name, "scalar"), p.EQ(self.term(name, "dtype"), element_number(want.dtype))]
                yield Demand(f"{name} is a scalar of {want.dtype.name}", both(parts))
            known = have.value if isinstance(have, s.PrimStructInfo) else None
            if want.value is not None:
                yield from self._length(want.value, known if known is not None else self.length(name), name)
        elif isinstance(want, s.TupleStructInfo):
            fields = have.fields if isinstance(have, s.TupleStructInfo) else None
            if fields is None:
                count = p.EQ(self.term(name, "size"), p.IntImm(len(want.fields)))
                yield Demand(
                    f"{name} is a tuple of {len(want.fields)}", both([self._is(name, "tuple"), count])
                )
            for n, part in enumerate(want.fields):
                inner = fields[n] if fields is not None and n < len(fields) else None
                yield from self.demands(part, inner, self.field(name, n))
        elif isinstance(want, s.FuncStructInfo) and not isinstance(have, s.FuncStructInfo):
            yield Demand(f"{name} is a function", self._is(name, "function"))

    def field(self, name: str, number: int) -> str:
        """The name of a field of a tuple: that of the value that it is, if that is known."""
        place = f"{name}[{number}]"
        return self.aliases.get(place, place)

    def term(self, name: str, what: str) -> p.PrimVar:
        """The variable of what no StructInfo tells of a value."""
        return self.length(f"{name}.{what}")

    def _is(self, name: str, kind: str) -> p.PrimExpr:
        return p.EQ(self.term(name, "kind"), kind_number(kind))

    def _tensor(self, want: s.TensorStructInfo, have: s.StructInfo | None, name: str) -> Iterator[Demand]:
        known = have if isinstance(have, s.TensorStructInfo) else None
        parts: list[p.PrimExpr] = [] if known is not None else [self._is(name, "tensor")]
        if want.dtype is not None and (known is None or known.dtype is None):
            parts.append(p.EQ(self.term(name, "dtype"), element_number(want.dtype)))
        if want.ndim >= 0 and (known is None or known.ndim < 0):
            parts.append(p.EQ(self.term(name, "ndim"), p.IntImm(want.ndim)))
        if known is None:
            element = "" if want.dtype is None else f" {want.dtype.name}"
            element = f"n{element}" if element.startswith(" int") else element  # "an int64 tensor"
            rank = "" if want.ndim < 0 else f" of rank {want.ndim}"
            yield Demand(f"{name} is a{element} tensor{rank}", both(parts))
        else:
            yield from map(Demand.of, parts)
        yield from self._lengths(want.lengths, None if known is None else known.lengths, f"{name}.shape")

    def _shape(self, want: s.ShapeStructInfo, have: s.StructInfo | None, name: str) -> Iterator[Demand]:
        known = have if isinstance(have, s.ShapeStructInfo) else None
        if known is None:
            parts = [self._is(name, "shape")]
            parts += [] if want.ndim < 0 else [p.EQ(self.term(name, "ndim"), p.IntImm(want.ndim))]
            yield Demand(
                f"{name} is a shape" + ("" if want.ndim < 0 else f" of rank {want.ndim}"), both(parts)
            )
        elif want.ndim >= 0 and known.ndim < 0:
            yield Demand.of(p.EQ(self.term(name, "ndim"), p.IntImm(want.ndim)))
        yield from self._lengths(want.values, None if known is None else known.values, name)

    def _lengths(
        self, want: tuple[p.PrimExpr, ...] | None, have: tuple[p.PrimExpr, ...] | None, name: str
    ) -> Iterator[Demand]:
        if want is None or (have is not None and len(have) != len(want)):
            return  # the ranks differ: an error that is reported elsewhere
        for axis, dim in enumerate(want):
            place = f"{name}[{axis}]"
            yield from self._length(dim, self.length(place) if have is None else have[axis], place)

    def _length(self, want: p.PrimExpr, have: p.PrimExpr, place: str) -> Iterator[Demand]:
        if type(want) is p.AnyDim:
            return
        if type(have) is p.AnyDim:
            have = self.of_wildcard(have, place)
        if type(want) is p.PrimVar and want not in self.scope and want not in self.values:
            self.values[want] = have
            self.bound.append((want, have))
            return
        if self.is_binding:
            self.compound.append((want, have))
            return
        told = self.told.get((want, have))
        if told is not None:
            condition = p.EQ(told.remainder, p.IntImm(0))
            yield Demand(str(condition), condition)
            return
        wanted = _filled(want, self.values)
        if have is wanted:
            return
        if all(
            var in self.values or var in self.scope for var in p.free_vars(want)
        ):  # else the callee binds it
            is_unknown = type(have) is p.PrimVar and have.name in self.unknown
            condition = p.EQ(have, wanted)
            yield Demand(f"{have} == {want if is_unknown else wanted}", condition)


def _filled(dim: p.PrimExpr, values: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """A dimension with values for its variables; a number if all of these are numbers."""
    filled = p.substitute(dim, values) if values else dim
    return filled if p.free_vars(filled) or not filled.children() else simplify(filled)


def fits_without_lengths(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if a value of `have` whose demands are met is a value of `want`.

    The demands are about lengths, and about the kind, rank and dtype that `have` does not tell.
    """
    if want is s.OBJECT:
        return True
    if have is s.OBJECT:
        have = _least(want)
    if isinstance(have, s.TensorStructInfo) and isinstance(want, s.TensorStructInfo):
        is_typed = want.dtype in (None, have.dtype) or have.dtype is None
        is_ranked = want.ndim in (-1, have.ndim) or have.ndim < 0
        is_held = (
            want.shape is not None and want.lengths is None
        )  # by a variable, whose lengths nothing tells
        is_there = want.vdevice in (None, have.vdevice)
        return is_typed and is_ranked and is_there and (not is_held or have.shape is want.shape)
    if isinstance(have, s.ShapeStructInfo) and isinstance(want, s.ShapeStructInfo):
        return want.ndim in (-1, have.ndim) or have.ndim < 0
    if isinstance(have, s.PrimStructInfo) and isinstance(want, s.PrimStructInfo):
        return have.dtype is want.dtype
    if isinstance(have, s.TupleStructInfo) and isinstance(want, s.TupleStructInfo):
        return len(have.fields) == len(want.fields) and all(
            map(fits_without_lengths, have.fields, want.fields)
        )
    return have is want


def _least(want: s.StructInfo) -> s.StructInfo:
    """What is known of a value of which the kind of `want` is known, and whatever its demands say."""
    if isinstance(want, s.TensorStructInfo):
        return s.TensorStructInfo(None, None, -1)
    if isinstance(want, s.ShapeStructInfo):
        return s.ShapeStructInfo(None, -1)
    if isinstance(want, s.TupleStructInfo):
        return s.TupleStructInfo(tuple([s.OBJECT] * len(want.fields)))
    return want if isinstance(want, s.PrimStructInfo) else s.OBJECT


def conjuncts(fact: p.PrimExpr) -> list[p.PrimExpr]:
    """The facts of which a fact consists."""
    found, waiting = [], [fact]
    while waiting:
        part = waiting.pop()
        inner = part.a if isinstance(part, p.Not) else None
        if isinstance(part, p.And):
            waiting += [part.b, part.a]
        elif isinstance(inner, p.Or):
            waiting += [p.Not(inner.b), p.Not(inner.a)]
        elif isinstance(inner, p.Not):
            waiting.append(inner.a)
        else:
            found.append(part)
    return found


def has_no_lengths(info: s.StructInfo | None) -> bool:
    """True for a tensor or shape whose lengths its StructInfo does not tell."""
    if isinstance(info, s.TupleStructInfo):
        return any(map(has_no_lengths, info.fields))
    if isinstance(info, s.ShapeStructInfo):
        return info.values is None
    return info is None or info is s.OBJECT or (isinstance(info, s.TensorStructInfo) and info.lengths is None)


def are_always_possible(infos: Iterable[s.StructInfo]) -> bool:
    """True if lengths exist for which values have these types: each length is a number or a variable."""
    for info in infos:
        if isinstance(info, s.TupleStructInfo):
            if not are_always_possible(info.fields):
                return False
        elif not isinstance(info, s.PrimStructInfo):
            for dim in s.lengths(info) or ():
                if type(dim) is not p.PrimVar and not (type(dim) is p.IntImm and dim.value >= 0):
                    return False
        elif info.value is not None and type(info.value) is not p.PrimVar:
            return False
    return True


# -- check words -----------------------------------------------------------------------------------------------------
# The conditions of checks as people say them: why one remains, and what would remove it.


def words(condition: object) -> str:
    """A condition as people say it. Broadcasting demands that a product of differences is 0: that one of them is."""
    return " or ".join([f"{a} == {b}" for a, b in _ways(condition)]) or str(condition)


def _ways(condition: object) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    """The pairs of which one has to be equal so that a product of differences is 0, in order; none for another condition."""
    if not isinstance(condition, p.EQ) or not isinstance(condition.a, p.Mul):
        return []
    if not isinstance(condition.b, p.IntImm) or condition.b.value != 0:
        return []
    found: list[tuple[p.PrimExpr, p.PrimExpr]] = []
    stack: list[p.PrimExpr] = [condition.a]
    while stack:
        part = stack.pop()
        if isinstance(part, p.Mul):
            stack += [part.b, part.a]
        elif isinstance(part, p.Sub):
            found.append((part.a, part.b))
        else:
            return []
    return [(a, b) for a, b in found if equal(a, b) is not Answer.NO] or found  # 4 == 1 is no way out


def why_not(facts: Assumptions, condition: p.PrimExpr) -> str:
    """Why a condition does not follow: lengths for which it fails, or only that no proof was found."""
    if is_no_length(condition):
        return "the StructInfo of the value does not tell"
    example = facts.counterexample(condition)
    if not example:
        return "no proof was found"
    return f"it fails with {', '.join(f'{var} = {value}' for var, value in example.items())}"


def remedy(subject: str, condition: p.PrimExpr | None, facts: Assumptions | None = None) -> str:
    """What the author can write so that the check vanishes, or happens once."""
    if condition is not None and facts is not None:
        told = facts.substitute(condition)
        if not _names_places(told):  # else a cast gave these lengths the names of the condition
            condition = told
    if condition is None or _names_places(condition):
        return f"annotate {subject} where its value is made, or cast it there once"
    if isinstance(condition, p.EQ):
        a, b = next(iter(_ways(condition)), (condition.a, condition.b))
        for var, value in ((a, b), (b, a)):
            if type(var) is p.PrimVar and var not in p.free_vars(value):
                return f"write {value} instead of {var} where {var} is bound, if they are always equal"
        if (quotient := _multiple_that_suffices(condition)) is not None:
            var, by = quotient.children()
            return f"write a multiple of {by}, such as j * {by}, instead of {var} where {var} is bound, if it always is one"
    return "cast the value once, where its length is made"


def _names_places(condition: p.PrimExpr) -> bool:
    """True if a condition is about lengths without names, such as `x.shape[0]`."""
    return any("[" in var.name or "." in var.name for var in p.free_vars(condition))


def _multiple_that_suffices(condition: p.PrimExpr) -> p.PrimExpr | None:
    """A quotient or rest in a condition, of a variable that has to be divisible for the condition to hold; None if that is not all."""
    parts: list[p.PrimExpr] = [condition]
    for part in islice(parts, _LARGEST):
        is_division = isinstance(part, (p.FloorDiv, p.FloorMod))
        var, by = part.children() if is_division else (None, None)
        if type(var) is p.PrimVar and type(by) is p.IntImm:
            divides = p.EQ(p.FloorMod(var, by), p.IntImm(0, var.dtype))
            if Assumptions().plus(divides).prove(condition) is Answer.YES:
                return part
        parts.extend(part.children())  # they are looked at, too
    return None


_LARGEST = 100  # parts of a condition that are looked at


def values_in(condition: p.PrimExpr | None) -> str:
    """The names of the values whose lengths a condition names by their place, such as `x.shape[0]`."""
    found = () if condition is None or is_no_length(condition) else p.free_vars(condition)
    return " and ".join(dict.fromkeys(value_name(var) for var in found if "[" in var.name))


# -- operand dtypes --------------------------------------------------------------------------------------------------
# What an operator demands of element types that only the run knows. Its own rule is asked which ones it accepts.


# One element type of each kind and width that rules tell apart.
_ASKED = tuple(
    dtype(name) for name in ("float32", "float16", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool")
)  # fmt: skip
_KINDS = {
    frozenset({"float", "bfloat"}): FLOAT,
    frozenset({"int", "uint"}): INTEGER,
    frozenset({"float", "bfloat", "int", "uint"}): NUMBER,
    frozenset({"bool", "int", "uint"}): BOOL_OR_INTEGER,
}
_FEW = 3
Infos = tuple[s.StructInfo | None, ...]


Chosen = dict[str, DType]
Spots = dict[str, list[tuple[int, int]]]  # of each value: numbers of operands, and of fields or -1


def dtype_demands(
    op: type[Op],
    call: e.Call,
    infos: Infos,
    called: Callable[[e.Expr, int], str],
    element: Callable[[str], p.PrimVar],
) -> Iterator[tuple[Demand, str]]:
    """The conditions on element types that inference did not know, each with the operands that it is about.

    `called` gives the name of a value, or of a field of it; `element` the variable of its element type. Nothing if the rule of
    the operator refuses the call anyway.
    """
    spots = _unknown(call, infos, called)
    if not spots or not _accepts(op, call, infos):
        return

    def accepts(chosen: Chosen) -> bool:
        return _accepts(op, call, _with(infos, spots, chosen))

    fitting = {name: [one for one in _ASKED if accepts({name: one})] for name in spots}
    for name, found in fitting.items():
        if 0 < len(found) < len(_ASKED):
            yield _fitting(element(name), found), name
    first, *others = spots
    for name in others:
        same = [one for one in fitting[first] if one in fitting[name] and accepts({first: one, name: one})]
        mixed = [(a, b) for a in same[:2] for b in same[:2] if a is not b]
        if mixed and not any(accepts({first: a, name: b}) for a, b in mixed):
            yield Demand.of(p.EQ(element(first), element(name))), f"{first} and {name}"


def _fitting(term: p.PrimVar, found: list[DType]) -> Demand:
    """The demand that an element type is one of those that fit."""
    whole = {kinds: [one for one in _ASKED if one.kind in kinds] for kinds in _KINDS}
    word = next((_KINDS[kinds] for kinds, members in whole.items() if members == found), None)
    if word is not None:
        return Demand.of(of_elements(term, word))
    if len(found) > _FEW:
        shown = " or ".join([one.name for one in found[:_FEW]])
        return Demand(f"{term} is {shown}, or another type that it takes")
    conditions: list[p.PrimExpr] = [p.EQ(term, element_number(one)) for one in found]
    return Demand.of(functools.reduce(p.Or, conditions))


def _unknown(call: e.Call, infos: Infos, called: Callable[[e.Expr, int], str]) -> Spots:
    """Where tensors of unknown element type stand, by name."""
    found: Spots = {}
    for number, (arg, info) in enumerate(zip(call.args, infos, strict=True)):
        if isinstance(info, s.TensorStructInfo) and info.dtype is None:
            found.setdefault(called(arg, -1), []).append((number, -1))
        elif isinstance(info, s.TupleStructInfo):
            for n, field in enumerate(info.fields):
                if isinstance(field, s.TensorStructInfo) and field.dtype is None:
                    name = called(arg.fields[n], -1) if isinstance(arg, e.Tuple) else called(arg, n)
                    found.setdefault(name, []).append((number, n))
    return found


def _with(infos: Infos, spots: Spots, chosen: Chosen) -> Infos:
    """The operands with element types for some values."""
    found = list(infos)
    for name, element in chosen.items():
        for operand, part in spots[name]:
            found[operand] = _typed(found[operand], part, element)
    return tuple(found)


def _typed(info: s.StructInfo | None, field: int, element: DType) -> s.StructInfo | None:
    if isinstance(info, s.TupleStructInfo):
        fields = [
            _typed(one, -1, element) or s.OBJECT if n == field else one for n, one in enumerate(info.fields)
        ]
        return s.TupleStructInfo(tuple(fields))
    assert isinstance(info, s.TensorStructInfo)  # no other operand has an element type
    return s.TensorStructInfo(info.shape, element, info.ndim, info.vdevice)


def _accepts(op: type[Op], call: e.Call, infos: Infos) -> bool:
    """True if the rule of the operator accepts operands of these types."""
    missing = [] if op.variadic else [None] * (len(op.operands) - len(infos))
    try:
        op.infer(Site(call, op), *infos, *missing, **call.attrs)
    except InferFailure:
        return False
    except OverflowError:  # a number of elements may exceed int64; that is no matter of element types
        return True
    return True
