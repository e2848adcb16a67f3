"""Structural equality and hash of PrimFuncs. Variables and buffers correspond by place; their names do not matter."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from operator import attrgetter
from typing import Any, TypeVar

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import fields_of
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, PointerType, Ramp
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range

# Fields that are not part of the structure.
_SKIPPED = frozenset({"span", "struct_info", "name", "points"})
_F = TypeVar("_F")


def prim_func_equal(a: t.PrimFunc, b: t.PrimFunc) -> bool:
    """True if two PrimFuncs have the same structure."""
    return a is b or tokens(a) == tokens(b)


def prim_func_hash(fn: t.PrimFunc) -> int:
    """A 64-bit hash, the same for structurally equal PrimFuncs in every process."""
    text = "\x1f".join(tokens(fn)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def tokens(fn: t.PrimFunc, by_place: Callable[[p.PrimExpr, p.PrimExpr], bool] | None = None) -> list[str]:
    """The structure of a PrimFunc as a flat list. The lists of two PrimFuncs are equal if their structures are.

    Operands of float arithmetic for which `by_place(operation, operand)` is true correspond by place, as variables do.
    """
    return _Tokens(by_place).of(fn)


class _Tokens:
    def __init__(self, by_place: Callable[[p.PrimExpr, p.PrimExpr], bool] | None) -> None:
        self.by_place = by_place
        self.numbers: dict[Any, str] = {}
        self.out: list[str] = []

    def of(self, fn: t.PrimFunc) -> list[str]:
        self.feed(fn)
        return self.out

    def number(self, value: object) -> bool:
        """Add the number of a variable, a buffer or a literal that stands for others. True if it is new."""
        known = self.numbers.get(value)
        if known is None:
            known = self.numbers[value] = f"#{len(self.numbers)}"
            self.out.append(known)
            return True
        self.out.append(known)
        return False

    def feed(self, value: object) -> None:
        """Add any value."""
        _RULES[type(value)](self, value)

    def items(self, value: tuple[object, ...]) -> None:
        self.out.append(f"({len(value)}")
        for item in value:
            _RULES[type(item)](self, item)

    def attrs(self, value: Attrs) -> None:
        self.items(tuple([(key, value[key]) for key in sorted(value)]))

    def node(self, value: object) -> None:
        self.out.append(type(value).__name__)
        for field in _PARTS[type(value)](value):
            _RULES[type(field)](self, field)

    def buffer(self, value: Buffer) -> None:
        self.out.append("Buffer")
        if self.number(value):
            for field in _PARTS[Buffer](value):
                _RULES[type(field)](self, field)

    def placed(self, part: p.PrimExpr, operand: p.PrimExpr) -> bool:
        """Add an operand of arithmetic by its place alone. False if it is no such operand."""
        is_placed = self.by_place is not None and self.by_place(part, operand)
        self.out.append("~" if is_placed else "")
        if is_placed:
            self.number(operand)
        return is_placed

    def expr(self, value: p.PrimExpr) -> None:
        """Add a scalar expression, without recursion."""
        stack: list[p.PrimExpr] = [value]
        out, by_place = self.out, self.by_place
        while stack:
            part = stack.pop()
            kind = type(part)
            if isinstance(part, p.PrimVar):
                if self.number(part):
                    out.append(part.pointee or part.dtype.name)
                continue
            out.append(f"{kind.__name__}:{part.dtype}")
            if kind in _TEXTS:
                out.append(_TEXTS[kind](part))
            elif kind in _FIELDS:
                for field in _FIELDS[kind](part):
                    _RULES[type(field)](self, field)
            operands = part.children()
            if by_place is not None and kind in ARITHMETIC and part.dtype.is_float:
                operands = tuple([operand for operand in operands if not self.placed(part, operand)])
            stack.extend(operands[::-1])


ARITHMETIC = frozenset({p.Add, p.Sub, p.Mul, p.Div})
# What stands at the head of an expression, beside its operands: fields, or the text of one.
_FIELDS: dict[type, Callable[[Any], tuple[object, ...]]] = {
    p.PrimCall: lambda call: (call.op, call.keywords),
    BufferLoad: lambda load: (load.buffer,),
    BufferPtr: lambda pointer: (pointer.buffer, pointer.how),
    PointerType: lambda pointer: (pointer.element, pointer.scope),
}
_TEXTS: dict[type, Callable[[Any], str]] = {
    p.IntImm: lambda literal: str(literal.value),
    p.FloatImm: lambda literal: literal.value.hex(),
    p.PrimString: lambda literal: literal.value,
    Ramp: lambda ramp: str(ramp.lanes),
}


def _rule(kind: type) -> Callable[[_Tokens, Any], None]:
    """What adds values of a type."""
    for base, rule in _BASES:
        if issubclass(kind, base):
            return rule
    raise TypeError(f"no structure for {kind.__name__}")


def _plain(out: _Tokens, value: object) -> None:
    out.out.append(value.hex() if isinstance(value, float) else f"{type(value).__name__}:{value}")


_BASES: list[tuple[type | tuple[type, ...], Callable[[_Tokens, Any], None]]] = [
    (p.PrimExpr, _Tokens.expr),
    (Buffer, _Tokens.buffer),
    ((t.Stmt, t.PrimFunc, Range, BufferRegion, t.IterVar, t.MatchBufferRegion), _Tokens.node),
    (tuple, _Tokens.items),
    (Attrs, _Tokens.attrs),
    ((float, type(None), bool, int, str, DType, StructInfo), _plain),
]


def _parts(kind: type) -> Callable[[object], tuple[object, ...]]:
    """What gives the fields of a node that are part of its structure."""
    names = [name for name in fields_of(kind) if name not in _SKIPPED]
    getter = attrgetter(*names)
    return getter if len(names) > 1 else lambda value: (getter(value),)


class _Table(dict[type, _F]):
    """What belongs to each type, found when it is asked for first."""

    def __init__(self, find: Callable[[type], _F]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, kind: type) -> _F:
        found = self[kind] = self.find(kind)
        return found


_RULES, _PARTS = _Table(_rule), _Table(_parts)
