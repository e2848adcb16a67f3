"""Checks of values at run time, by builtins of the virtual machine."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.walk import defined_dims
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.shape_heap import ShapeHeap

# What `match_shape` does with a length: compare it with a number, store it, nothing, or compare it with a slot.
_NUMBER, _STORE, _NOTHING, _SLOT = 0, 1, 2, 3


class Emitter(Protocol):
    """The pass that emits the checks."""

    heap: ShapeHeap
    shape_heap: e.Var

    def emit(self, value: e.Expr, hint: str = "gv") -> e.Var:
        """Bind a value to a new variable."""

    def say(self, value: e.Expr) -> None:
        """Emit a call whose result is not used."""

    def compute(self, variables: list[p.PrimVar]) -> None:
        """Compute the lengths for which the last variables are known now."""


class _Match(NamedTuple):
    """A comparison of the lengths of a value."""

    value: e.Expr
    lengths: tuple[p.PrimExpr, ...]
    where: e.StringImm
    is_scalar: bool


class Checks:
    """The checks of one place: kinds, ranks and dtypes at once, then lengths."""

    def __init__(self, at: Emitter) -> None:
        self.at = at
        self.matches: list[_Match] = []

    def binds(self, info: s.StructInfo) -> bool:
        """True if a value of this StructInfo gives a shape variable its value."""
        return any(dim not in self.at.heap.known and dim in self.at.heap.slots for dim in defined_dims(info))

    def value(self, value: e.Expr, info: s.StructInfo, where: str, always: bool = False) -> None:
        """Check a value. Facts that its StructInfo states are checked only with `always`."""
        self._value(value, info, m.text(f"ErrorContext({where}) "), always)

    def _value(self, value: e.Expr, info: s.StructInfo, where: e.StringImm, always: bool) -> None:
        have = s.OBJECT if always or value.struct_info is None else value.struct_info
        if not _is_needed(info, have):
            return
        if isinstance(info, s.TensorStructInfo):
            self._tensor(value, info, have, where)
        elif isinstance(info, s.ShapeStructInfo):
            if not isinstance(have, s.ShapeStructInfo) or have.ndim != info.ndim:
                self._say("check_shape_info", value, m.number(info.ndim), where)
            self._lengths(
                value, info.values, have.values if isinstance(have, s.ShapeStructInfo) else None, where
            )
        elif isinstance(info, s.PrimStructInfo):
            if not isinstance(have, s.PrimStructInfo) or have.dtype is not info.dtype:
                self._say("check_prim_value_info", value, m.element_type(info.dtype), where)
            if info.value is not None and info.dtype is INT64:
                self.matches.append(_Match(value, (info.value,), where, True))
        elif isinstance(info, s.TupleStructInfo):
            self._tuple(value, info, where, always)
        elif isinstance(info, s.FuncStructInfo):
            self._say("check_func_info", value, where)

    def _tensor(
        self, value: e.Expr, info: s.TensorStructInfo, have: s.StructInfo, where: e.StringImm
    ) -> None:
        known = have if isinstance(have, s.TensorStructInfo) else None
        if known is None or not _is_implied(info, known):
            dtype: e.Expr
            if info.dtype is None:
                dtype = self.at.emit(m.operation("relax.null_value", (), s.OBJECT))
            else:
                dtype = m.element_type(info.dtype)
            self._say("check_tensor_info", value, m.number(info.ndim), dtype, where)
        self._lengths(value, info.dims, known.dims if known is not None else None, where)

    def _tuple(self, value: e.Expr, info: s.TupleStructInfo, where: e.StringImm, always: bool) -> None:
        have = value.struct_info
        if always or not isinstance(have, s.TupleStructInfo):
            self._say("check_tuple_info", value, m.number(len(info.fields)), where)
        for number, field in enumerate(info.fields):
            given = have.fields[number] if isinstance(have, s.TupleStructInfo) else s.OBJECT
            if _is_needed(field, s.OBJECT if always else given):
                self._value(self._field(value, number, given), field, where, always)

    def _field(self, value: e.Expr, number: int, info: s.StructInfo) -> e.Expr:
        if type(value) is e.Tuple:
            return value.fields[number]
        if isinstance(value.struct_info, s.TupleStructInfo):
            return self.at.emit(e.TupleGetItem(value, number, info))
        return self.at.emit(m.packed("vm.builtin.tuple_getitem", (value, m.number(number)), s.OBJECT))

    def _lengths(
        self,
        value: e.Expr,
        lengths: tuple[p.PrimExpr, ...] | None,
        known: tuple[p.PrimExpr, ...] | None,
        where: e.StringImm,
    ) -> None:
        if lengths and lengths != known:
            self.matches.append(_Match(value, lengths, where, False))

    def _say(self, name: str, *args: e.Expr) -> None:
        self.at.say(m.packed(f"vm.builtin.{name}", args, m.UNIT))

    def match(self) -> None:
        """Compare the lengths of all checked values, and store those of new variables.

        Lengths that depend on variables of later values are compared once these are known.
        """
        pending = self.matches
        while pending:
            new: list[p.PrimVar] = []
            open_ = [match for match in pending if self._compare(match, new)]
            self.at.compute(new)
            if len(open_) == len(pending) and not new:
                return  # the checker of the language has reported variables without a definition
            pending = open_

    def _compare(self, match: _Match, new: list[p.PrimVar]) -> bool:
        """Emit a comparison. Returns True if some lengths are not known yet."""
        heap = self.at.heap
        items: list[e.Expr] = []
        is_open = False
        for length in match.lengths:
            if isinstance(length, p.IntImm):
                items += m.number(_NUMBER), m.number(length.value)
            elif length in heap.known:
                items += m.number(_SLOT), m.number(heap.slots[length])
            elif type(length) is p.PrimVar:
                items += m.number(_STORE), m.number(heap.slots[length])
                heap.known.add(length)
                new.append(length)
            else:
                items += m.number(_NOTHING), m.number(0)
                is_open = True
        if all(
            type(length) not in (p.IntImm, p.PrimVar) and length not in heap.known for length in match.lengths
        ):
            return True
        count = () if match.is_scalar else (m.number(len(match.lengths)),)
        name = "match_prim_value" if match.is_scalar else "match_shape"
        self._say(name, match.value, self.at.shape_heap, *count, *items, match.where)
        return is_open


def _is_needed(info: s.StructInfo, have: s.StructInfo) -> bool:
    """True if a value of StructInfo `have` must be checked before it counts as `info`."""
    if info is have or info is s.OBJECT:
        return False
    if isinstance(info, s.TensorStructInfo) and isinstance(have, s.TensorStructInfo):
        return not _is_implied(info, have) or bool(info.dims and info.dims != have.dims)
    if isinstance(info, s.TupleStructInfo) and isinstance(have, s.TupleStructInfo):
        return any(map(_is_needed, info.fields, have.fields))
    return not isinstance(info, s.FuncStructInfo) or not isinstance(have, s.FuncStructInfo)


def _is_implied(info: s.TensorStructInfo, have: s.TensorStructInfo) -> bool:
    """True if rank and dtype of `info` follow from `have`."""
    return info.ndim in (-1, have.ndim) and info.dtype in (None, have.dtype)


def describe(info: s.StructInfo) -> str:
    """A StructInfo in the message of a failed check, as TVM writes it: fields of tuples have the notation of TIR."""
    text = str(info)
    if not isinstance(info, s.TupleStructInfo):
        return text
    text = re.sub(r"(?<![\w=])(\d+)(?![\w\"])", r"T.int64(\1)", text)
    return text.replace("R.Tuple(", "T.Tuple(")
