"""Patterns as data, and the functions that build them as in TVM's `tvm.relax.dpl`.

    matrix = wildcard().named("matrix")
    pattern = is_op("relax.matmul")(wildcard(), is_op("relax.permute_dims")(matrix))

A pattern that occurs twice, or two patterns of one name, must match the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs, freeze
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ir.prim import IntImm, PrimExpr
from relax_explorer.core.ir.struct_info import StructInfo

Length = PrimExpr | str | None
"""A length in a pattern: an expression, a name (the same length at each place), or None for any."""
ANY_NUMBER = "..."
"""At the start of a list of lengths: any number of further dimensions."""


@dataclass(frozen=True, eq=False, slots=True)
class Pattern:
    """A condition on a value. `name` names the value in a match."""

    name: str = field(default="", kw_only=True)

    def named(self, name: str) -> Pattern:
        """The same pattern, whose value has a name in matches."""
        return replace(self, name=name)

    def __call__(self, *args: Pattern, varg_default_wildcard: bool = False) -> CallOf:
        """A call of this. With `varg_default_wildcard` further operands may follow."""
        return CallOf(self, args, varg_default_wildcard)

    def __or__(self, other: Pattern) -> Either:
        return Either(self, other)

    def __and__(self, other: Pattern) -> Both:
        return Both(self, other)

    def __invert__(self) -> Rejected:
        return Rejected(self)

    def has_attr(self, attrs: Mapping[str, Any]) -> WithAttrs:
        """This, with these attributes."""
        return WithAttrs(self, Attrs({name: freeze(value) for name, value in attrs.items()}))

    def has_dtype(self, name: str | DType) -> WithDType:
        """This, as a tensor of a dtype."""
        return WithDType(self, dtype(str(name)))

    def has_shape(self, lengths: Sequence[Length | int]) -> WithShape:
        """This, as a tensor of these lengths."""
        return WithShape(self, as_lengths(lengths))

    def has_ty(self, info: StructInfo) -> WithInfo:
        """This, with StructInfo that fits `info` without a check at run time."""
        return WithInfo(self, info)

    def same_shape_as(self, *others: Pattern) -> Pattern:
        """This, with the lengths of the tensors that the other patterns match."""
        alike: Pattern = self
        for other in others:
            alike = ShapedLike(alike, other)
        return alike

    def used_by(self, other: Pattern | Chain, index: int = -1) -> Chain:
        """This, whose value the other reads as operand `index` (-1: as any)."""
        return Chain((self,)).used_by(other, index)

    def only_used_by(self, other: Pattern | Chain, index: int = -1) -> Chain:
        """This, whose value only the other reads."""
        return Chain((self,)).only_used_by(other, index)

    def __xor__(self, other: Pattern | Chain) -> Chain:
        return self.used_by(other)

    def __rshift__(self, other: Pattern | Chain) -> Chain:
        return self.only_used_by(other)


@dataclass(frozen=True, eq=False, slots=True)
class Anything(Pattern):
    """Any value, written `_`, or `x` to name it."""


@dataclass(frozen=True, eq=False, slots=True)
class Variable(Pattern):
    """A variable without a known value, such as a parameter; of this hint if one is given."""

    hint: str = ""
    kind: type[e.Var] = e.Var


@dataclass(frozen=True, eq=False, slots=True)
class FunctionRef(Pattern):
    """A function of the module, or a packed function."""

    symbol: str = ""
    kind: type[e.GlobalVar] | type[e.ExternFunc] = e.GlobalVar


@dataclass(frozen=True, eq=False, slots=True)
class ConstantValue(Pattern):
    """A tensor that is a literal."""


@dataclass(frozen=True, eq=False, slots=True)
class Exactly(Pattern):
    """This leaf: an operator, a variable, a literal."""

    value: e.Expr


@dataclass(frozen=True, eq=False, slots=True)
class CallOf(Pattern):
    """A call. If it is `is_open`, further operands may follow."""

    op: Pattern
    args: tuple[Pattern, ...]
    is_open: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class TupleOf(Pattern):
    """A tuple of these fields, in order or in any order."""

    fields: tuple[Pattern, ...]
    in_order: bool = True


@dataclass(frozen=True, eq=False, slots=True)
class ItemOf(Pattern):
    """Field `index` of a tuple (None: any field)."""

    tuple: Pattern
    index: int | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Either(Pattern):
    """The left pattern, else the right one."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, eq=False, slots=True)
class Both(Pattern):
    """Both patterns."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, eq=False, slots=True)
class Rejected(Pattern):
    """Anything but this."""

    pattern: Pattern


@dataclass(frozen=True, eq=False, slots=True)
class WithAttrs(Pattern):
    """A call or function with these attributes."""

    pattern: Pattern
    attrs: Attrs


@dataclass(frozen=True, eq=False, slots=True)
class WithDType(Pattern):
    """A tensor of this dtype."""

    pattern: Pattern
    dtype: DType


@dataclass(frozen=True, eq=False, slots=True)
class WithShape(Pattern):
    """A tensor of these lengths."""

    pattern: Pattern
    lengths: tuple[Length, ...]


@dataclass(frozen=True, eq=False, slots=True)
class WithInfo(Pattern):
    """A value whose StructInfo always fits this one."""

    pattern: Pattern
    info: StructInfo


@dataclass(frozen=True, eq=False, slots=True)
class ShapedLike(Pattern):
    """A tensor with the lengths of the tensor that `other` matches in the same match."""

    pattern: Pattern
    other: Pattern


@dataclass(frozen=True, eq=False, slots=True)
class ShapeOf(Pattern):
    """A shape literal of these lengths."""

    lengths: tuple[Length, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """The relation of a value to the next one of a chain: an operand, perhaps a certain one, perhaps with no other reader."""

    only: bool
    index: int = -1


@dataclass(frozen=True, eq=False, slots=True)
class Chain:
    """Patterns for bindings of one function, each used by the next: `a ^ b`, or only by the next: `a >> b`."""

    patterns: tuple[Pattern, ...]
    links: tuple[Link, ...] = ()

    def used_by(self, other: Pattern | Chain, index: int = -1) -> Chain:
        """This chain, whose last value the other reads."""
        return self._then(other, Link(False, index))

    def only_used_by(self, other: Pattern | Chain, index: int = -1) -> Chain:
        """This chain, whose last value only the other reads."""
        return self._then(other, Link(True, index))

    def _then(self, other: Pattern | Chain, link: Link) -> Chain:
        rest = other if isinstance(other, Chain) else Chain((other,))
        return Chain((*self.patterns, *rest.patterns), (*self.links, link, *rest.links))

    def __xor__(self, other: Pattern | Chain) -> Chain:
        return self.used_by(other)

    def __rshift__(self, other: Pattern | Chain) -> Chain:
        return self.only_used_by(other)


def as_lengths(lengths: Sequence[Length | int]) -> tuple[Length, ...]:
    """Lengths with numbers as expressions."""
    return tuple([IntImm(length) if isinstance(length, int) else length for length in lengths])


def parts(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside a pattern."""
    getter = _PARTS.get(type(pattern))
    return getter(pattern) if getter is not None else ()


_PARTS: dict[type, Callable[[Any], tuple[Pattern, ...]]] = {
    CallOf: lambda q: (q.op, *q.args),
    TupleOf: lambda q: q.fields,
    ItemOf: lambda q: (q.tuple,),
    Either: lambda q: (q.left, q.right),
    Both: lambda q: (q.left, q.right),
    **dict.fromkeys(
        (Rejected, WithAttrs, WithDType, WithShape, WithInfo, ShapedLike), lambda q: (q.pattern,)
    ),
}


def wildcard() -> Pattern:
    """Any value."""
    return Anything()


def is_op(name: str) -> Pattern:
    """An operator. Its call is `is_op(name)(…)`."""
    return Exactly(e.op_ref(name))


def is_expr(leaf: e.Expr) -> Pattern:
    """A certain leaf."""
    return Exactly(leaf)


def is_var(hint: str = "") -> Pattern:
    """A variable without a known value, such as a parameter."""
    return Variable(hint)


def is_dfv(hint: str = "") -> Pattern:
    """A dataflow variable without a known value: a match_cast."""
    return Variable(hint, e.DataflowVar)


def is_gv(name: str = "") -> Pattern:
    """A function of the module."""
    return FunctionRef(name)


def is_const() -> Pattern:
    """A tensor that is a literal."""
    return ConstantValue()


def is_shape(lengths: Sequence[Length | int]) -> Pattern:
    """A shape literal of these lengths."""
    return ShapeOf(as_lengths(lengths))


def is_tuple(fields: Sequence[Pattern], unordered: bool = False) -> Pattern:
    """A tuple of these fields."""
    return TupleOf(tuple(fields), not unordered)


def is_tuple_get_item(tuple_value: Pattern, index: int | None = None) -> Pattern:
    """A field of a tuple."""
    return ItemOf(tuple_value, index)


def is_call_tir(name: str = "", args: Sequence[Pattern] | Pattern | None = None) -> Pattern:
    """A `call_tir` of a PrimFunc."""
    return is_op("relax.call_tir")(is_gv(name), _tuple(args), varg_default_wildcard=True)


def is_call_dps_packed(name: str = "", args: Sequence[Pattern] | Pattern | None = None) -> Pattern:
    """A `call_dps_packed` of a packed function."""
    return is_op("relax.call_dps_packed")(FunctionRef(name, e.ExternFunc), _tuple(args))


def is_call_packed(name: str = "", args: Sequence[Pattern] | None = None) -> Pattern:
    """A direct call of a packed function."""
    return CallOf(FunctionRef(name, e.ExternFunc), tuple(args or ()), args is None)


def _tuple(args: Sequence[Pattern] | Pattern | None) -> Pattern:
    if args is None or isinstance(args, Pattern):
        return args or wildcard()
    return is_tuple(args)


def reject(pattern: Pattern) -> Pattern:
    """Anything but this."""
    return ~pattern


def has_attr(attrs: Mapping[str, Any], pattern: Pattern | None = None) -> Pattern:
    """A call or function with these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def has_dtype(name: str, pattern: Pattern | None = None) -> Pattern:
    """A tensor of a dtype."""
    return (pattern or wildcard()).has_dtype(name)
