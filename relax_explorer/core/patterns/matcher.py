"""Matches one value against one pattern. It looks through variables to the values that `values` has for them.

The rules are those of TVM: a pattern that is met again must match the same value; the operands of `add` and `multiply`
may be swapped; the first match counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim import PrimExpr
from relax_explorer.core.patterns import pattern as q

Values = Mapping[e.Var, e.Expr]
State = tuple[int, int, int]
COMMUTATIVE = frozenset({"relax.add", "relax.multiply"})


@dataclass(slots=True)
class Match:
    """The operand that each pattern matched, the values of the variables looked through, and the named lengths."""

    values: Values
    operands: dict[q.Pattern, e.Expr] = field(default_factory=dict)
    lengths: dict[str, PrimExpr] = field(default_factory=dict)

    def __getitem__(self, pattern: q.Pattern) -> e.Expr:
        return self.operands[pattern]

    def __contains__(self, pattern: q.Pattern) -> bool:
        return pattern in self.operands

    @property
    def named(self) -> dict[str, e.Expr]:
        """The operands by the names of their patterns, in the order of matching."""
        return {pattern.name: operand for pattern, operand in self.operands.items() if pattern.name}

    def call(self, pattern: q.Pattern) -> e.Call:
        """The call that a pattern matched, also if a variable holds it."""
        value = seen_through(self.operands[pattern], self.values)
        assert isinstance(value, e.Call)  # the caller asks for patterns of calls
        return value


def seen_through(operand: e.Expr, values: Values) -> e.Expr:
    """The value of a variable if it is known, else the operand itself."""
    while isinstance(operand, e.Var):
        value = values.get(operand)
        if value is None:
            break
        operand = value
    return operand


def match(pattern: q.Pattern, operand: e.Expr, values: Values | None = None) -> Match | None:
    """The match of a pattern with an operand or the value of a binding, or None."""
    matching = Matching(Match(values or {}))
    return matching.result if matching.accepts(pattern, operand) and matching.keeps_shapes() else None


class Matching:
    """One attempt to match. What a failed alternative noted is forgotten."""

    def __init__(self, result: Match) -> None:
        self.result = result
        self._alike: list[q.ShapedLike] = []

    def accepts(self, pattern: q.Pattern, operand: e.Expr) -> bool:
        """True if a pattern matches an operand. Then the operand is noted."""
        known = self.result.operands.get(pattern)
        if known is not None:
            return self.value(known) is self.value(operand)
        state = self.state()
        if _TESTS[type(pattern)](self, pattern, operand) and self._is_same(pattern.name, operand):
            self.result.operands[pattern] = operand
            return True
        self.forget(state)
        return False

    def _is_same(self, name: str, operand: e.Expr) -> bool:
        """True if no other operand has this name."""
        known = self.result.named.get(name) if name else None
        return known is None or self.value(known) is self.value(operand)

    def state(self) -> State:
        """How much is noted now."""
        return len(self.result.operands), len(self.result.lengths), len(self._alike)

    def forget(self, state: State) -> None:
        """Forget what was noted after `state`."""
        operands, lengths = self.result.operands, self.result.lengths
        while len(operands) > state[0]:
            operands.popitem()
        while len(lengths) > state[1]:
            lengths.popitem()
        del self._alike[state[2] :]

    def value(self, operand: e.Expr) -> e.Expr:
        """The value behind an operand."""
        return seen_through(operand, self.result.values)

    def keeps_shapes(self) -> bool:
        """True if all tensors have the lengths of the tensors that they should be like."""
        return all(self._is_like(pattern) for pattern in self._alike)

    def _is_like(self, pattern: q.ShapedLike) -> bool:
        if pattern not in self.result or pattern.other not in self.result:
            return True  # an alternative that did not match
        ours, theirs = (_lengths(self.value(self.result[item])) for item in (pattern, pattern.other))
        return ours is not None and theirs is not None and _all_equal(ours, theirs)

    def accepts_all(self, patterns: tuple[q.Pattern, ...], operands: tuple[e.Expr, ...]) -> bool:
        """True if each pattern matches the operand at its place. Otherwise nothing is noted."""
        state = self.state()
        if all(map(self.accepts, patterns, operands)):
            return True
        self.forget(state)
        return False

    def call(self, pattern: q.CallOf, operand: e.Expr) -> bool:
        """A call with enough operands."""
        call = self.value(operand)
        if type(call) is not e.Call or not self.accepts(pattern.op, call.op):
            return False
        missing = len(call.args) - len(pattern.args)
        if missing < 0 or (missing and not pattern.is_open):
            return False
        if self.accepts_all(pattern.args, call.args):
            return True
        swaps = type(call.op) is e.OpRef and call.op.name in COMMUTATIVE
        return swaps and self.accepts_all(pattern.args, call.args[::-1])

    def tuple_of(self, pattern: q.TupleOf, operand: e.Expr) -> bool:
        """A tuple with as many fields."""
        value = self.value(operand)
        if type(value) is not e.Tuple or len(value.fields) != len(pattern.fields):
            return False
        if pattern.in_order:
            return self.accepts_all(pattern.fields, value.fields)
        return self._in_any_order(pattern.fields, list(value.fields))

    def _in_any_order(self, patterns: tuple[q.Pattern, ...], fields: list[e.Expr]) -> bool:
        if not patterns:
            return True
        state = self.state()
        for place, item in enumerate(fields):
            rest = fields[:place] + fields[place + 1 :]
            if self.accepts(patterns[0], item) and self._in_any_order(patterns[1:], rest):
                return True
            self.forget(state)
        return False

    def item(self, pattern: q.ItemOf, operand: e.Expr) -> bool:
        """A field of a tuple."""
        value = self.value(operand)
        if type(value) is not e.TupleGetItem or pattern.index not in (None, value.index):
            return False
        return self.accepts(pattern.tuple, value.tuple)

    def attrs(self, pattern: q.WithAttrs, operand: e.Expr) -> bool:
        """A call or function with attributes."""
        value = self.value(operand)
        attrs = getattr(value, "attrs", {})
        return all(
            name in attrs and _same_constant(attrs[name], want) for name, want in pattern.attrs.items()
        ) and self.accepts(pattern.pattern, operand)

    def shape(self, pattern: q.WithShape, operand: e.Expr) -> bool:
        """A tensor of certain lengths."""
        lengths = _lengths(self.value(operand))
        return (
            lengths is not None
            and self.has_lengths(lengths, pattern.lengths)
            and self.accepts(pattern.pattern, operand)
        )

    def shape_literal(self, pattern: q.ShapeOf, operand: e.Expr) -> bool:
        """A shape literal."""
        value = self.value(operand)
        return type(value) is e.ShapeExpr and self.has_lengths(value.values, pattern.lengths)

    def has_lengths(self, lengths: tuple[PrimExpr, ...], wanted: tuple[q.Length, ...]) -> bool:
        """True if lengths are as wanted. Named lengths are noted."""
        if wanted and wanted[0] == q.ANY_NUMBER:
            wanted = wanted[1:]
            lengths = lengths[max(len(lengths) - len(wanted), 0) :]
        return len(lengths) == len(wanted) and all(map(self._has_length, lengths, wanted))

    def _has_length(self, length: PrimExpr, wanted: q.Length) -> bool:
        if isinstance(wanted, str):
            wanted = self.result.lengths.setdefault(wanted, length)
        return wanted is None or equal(length, wanted) is Answer.YES

    def alike(self, pattern: q.ShapedLike, operand: e.Expr) -> bool:
        """A tensor like another. They are compared at the end, when both are known."""
        self._alike.append(pattern)
        return self.accepts(pattern.pattern, operand)

    def either(self, pattern: q.Either, operand: e.Expr) -> bool:
        """The first alternative that matches."""
        return self.accepts(pattern.left, operand) or self.accepts(pattern.right, operand)

    def rejected(self, pattern: q.Rejected, operand: e.Expr) -> bool:
        """True if a pattern does not match. Nothing is noted."""
        state = self.state()
        matches = self.accepts(pattern.pattern, operand)
        self.forget(state)
        return not matches


def _lengths(operand: e.Expr) -> tuple[PrimExpr, ...] | None:
    info = operand.struct_info
    return info.lengths if isinstance(info, s.TensorStructInfo) else None


def _all_equal(a: tuple[PrimExpr, ...], b: tuple[PrimExpr, ...]) -> bool:
    return len(a) == len(b) and all(equal(x, y) is Answer.YES for x, y in zip(a, b, strict=True))


def _same_constant(have: object, want: object) -> bool:
    """True for equal constants. A dtype may be given by its name."""
    if type(have) is type(want):
        return have == want
    return str(have) == want if isinstance(want, str) else have == want and type(want) is not bool


def _exactly(at: Matching, pattern: q.Exactly, operand: e.Expr) -> bool:
    operand = at.value(operand)
    if type(operand) is e.ExternFunc and type(pattern.value) is e.ExternFunc:
        return operand.name == pattern.value.name
    return operand is pattern.value


def _has_dtype(info: s.StructInfo | None, pattern: q.WithDType) -> bool:
    return isinstance(info, s.TensorStructInfo) and info.dtype is pattern.dtype


def _fits(info: s.StructInfo | None, pattern: q.WithInfo) -> bool:
    return info is not None and always_fits(info, pattern.info)


_TESTS: dict[type[q.Pattern], Callable[[Matching, Any, Any], bool]] = {
    q.Anything: lambda at, pattern, operand: True,
    q.Exactly: _exactly,
    q.Variable: lambda at, pattern, operand: (
        isinstance(value := at.value(operand), pattern.kind) and pattern.hint in ("", value.name)
    ),
    q.FunctionRef: lambda at, pattern, operand: (
        isinstance(operand, pattern.kind) and pattern.symbol in ("", operand.name)
    ),
    q.ConstantValue: lambda at, pattern, operand: type(at.value(operand)) is e.Constant,
    q.CallOf: Matching.call,
    q.TupleOf: Matching.tuple_of,
    q.ItemOf: Matching.item,
    q.Either: Matching.either,
    q.Both: lambda at, pattern, operand: (
        at.accepts(pattern.left, operand) and at.accepts(pattern.right, operand)
    ),
    q.Rejected: Matching.rejected,
    q.WithAttrs: Matching.attrs,
    q.WithDType: lambda at, pattern, operand: (
        _has_dtype(at.value(operand).struct_info, pattern) and at.accepts(pattern.pattern, operand)
    ),
    q.WithShape: Matching.shape,
    q.WithInfo: lambda at, pattern, operand: (
        _fits(at.value(operand).struct_info, pattern) and at.accepts(pattern.pattern, operand)
    ),
    q.ShapedLike: Matching.alike,
    q.ShapeOf: Matching.shape_literal,
}
