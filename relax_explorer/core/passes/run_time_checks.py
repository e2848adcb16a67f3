"""The checks of a function in virtual machine form: made, with the heap that holds its lengths, and dropped where they are proved."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, defined_dims, operands, sequences
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.shapes.machine_checks import NOTHING, STORE, callee_name, number_of
from relax_explorer.core.shapes.residual import ShapeCheck
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer


class ShapeHeap:
    """The slots of a function, in the order in which the lengths occur, and those that hold a value so far."""

    def __init__(self, fn: e.Function) -> None:
        self.slots: dict[p.PrimExpr, int] = {}
        for length in _lengths(fn):
            for part in () if type(length) is p.IntImm else (length, *p.free_vars(length)):
                self.slots.setdefault(part, len(self.slots))
        self.known: set[p.PrimExpr] = set()  # those with a value at the current place
        self._missing: dict[p.PrimExpr, int] = {}  # how many variables of an expression have no value yet
        self._users: dict[p.PrimVar, list[p.PrimExpr]] = {}
        for length in self.slots:
            if type(length) is not p.PrimVar:
                variables = set(p.free_vars(length))
                self._missing[length] = len(variables)
                for var in variables:
                    self._users.setdefault(var, []).append(length)

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self.slots)

    def define(self, variables: Iterable[p.PrimVar]) -> list[p.PrimExpr]:
        """Note that variables have got their values. Returns the expressions that can be computed now, in the order of slots."""
        ready = []
        for var in variables:
            for user in self._users.get(var, ()):
                self._missing[user] -= 1
                if self._missing[user] == 0:
                    ready.append(user)
        self.known.update(ready)
        return sorted(ready, key=self.slots.__getitem__)

    def saved(self) -> tuple[set[p.PrimExpr], dict[p.PrimExpr, int]]:
        """What is known now, for `restore` after a branch."""
        return set(self.known), dict(self._missing)

    def restore(self, saved: tuple[set[p.PrimExpr], dict[p.PrimExpr, int]]) -> None:
        """Return to what was known before a branch."""
        self.known, self._missing = set(saved[0]), dict(saved[1])

    def function(self, lengths: list[p.PrimExpr]) -> t.PrimFunc:
        """A PrimFunc that computes lengths and writes them into their slots."""
        heap = Buffer("H", (p.IntImm(self.size, INT64),), INT64)
        loads: dict[p.PrimVar, p.PrimExpr] = {
            var: BufferLoad(heap, (p.IntImm(slot, INT64),))
            for var, slot in self.slots.items()
            if type(var) is p.PrimVar
        }
        stores = [
            t.BufferStore(heap, (p.IntImm(self.slots[length], INT64),), substitute(length, loads))
            for length in lengths
        ]
        body = stores[0] if len(stores) == 1 else t.SeqStmt(tuple(stores))
        return t.PrimFunc((heap,), body, attrs=Attrs({"tirx.is_host_func": True}))


def _lengths(fn: e.Function) -> Iterator[p.PrimExpr]:
    """The lengths that a function checks, binds or computes: parameters first, then bindings, then results."""
    for param in fn.params:
        yield from checked_lengths(param.struct_info)
    for binding in bindings(fn):
        if type(binding) is e.MatchCast:
            yield from _used(binding.value)
            yield from checked_lengths(binding.struct_info)
        elif type(binding.value) is not e.Call or not NO_LENGTHS.issuperset(map(type, binding.value.args)):
            yield from _used(binding.value)
            for branch in sequences(binding.value):
                yield from _used(branch.body)
    yield from _used(fn.body.body)
    yield from checked_lengths(fn.ret_struct_info)


NO_LENGTHS = frozenset({e.Var, e.DataflowVar, e.ExternFunc, e.StringImm, e.DataTypeImm})  # of a call


def _used(value: e.Expr) -> Iterator[p.PrimExpr]:
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is e.ShapeExpr:
            yield from item.values
        elif type(item) is e.PrimValue and item.value.dtype is INT64 and not item.value.is_literal:
            yield item.value
        elif type(item) is not e.If and type(item) is not e.Function:
            todo.extend(operands(item)[::-1])


def checked_lengths(info: s.StructInfo | None) -> Iterator[p.PrimExpr]:
    """The lengths that a value of this StructInfo is compared with at run time."""
    if isinstance(info, s.TensorStructInfo):
        yield from info.dims or ()
    elif isinstance(info, s.ShapeStructInfo):
        yield from info.values or ()
    elif isinstance(info, s.PrimStructInfo) and info.value is not None and info.dtype is INT64:
        yield info.value
    elif isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            yield from checked_lengths(field)


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


class _Place:
    """A value to check, or a field of one, which is taken where a check first needs it."""

    def __init__(self, info: s.StructInfo, take: Callable[[], e.Expr]) -> None:
        self.info, self._take = info, take

    @cached_property
    def value(self) -> e.Expr:
        """The value, taken now if it was not before."""
        return self._take()

    def field(self, at: Emitter, number: int) -> _Place:
        """A field of the value."""
        fields = self.info.fields if isinstance(self.info, s.TupleStructInfo) else None
        info = s.OBJECT if fields is None else fields[number]

        def take() -> e.Expr:
            whole = self.value
            if type(whole) is e.Tuple:
                return whole.fields[number]
            if fields is not None:
                return at.emit(e.TupleGetItem(whole, number, info))
            return at.emit(m.packed("vm.builtin.tuple_getitem", (whole, m.number(number)), s.OBJECT))

        return _Place(info, take)


class _Match(NamedTuple):
    """A comparison of the lengths of a value."""

    place: _Place
    lengths: tuple[p.PrimExpr, ...]
    where: e.StringImm
    is_scalar: bool


class Checks:
    """The checks of one place: kinds, ranks and dtypes at once, then lengths."""

    def __init__(self, at: Emitter) -> None:
        self.at = at
        self.matches: list[_Match] = []
        self.only_binding = False  # True for parameters of which only fields that bind lengths are checked

    def binds(self, info: s.StructInfo) -> bool:
        """True if a value of this StructInfo gives a shape variable its value."""
        return any(dim not in self.at.heap.known and dim in self.at.heap.slots for dim in defined_dims(info))

    def value(self, value: e.Expr, info: s.StructInfo, where: str, always: bool = False) -> None:
        """Check a value. Facts that its StructInfo states are checked only with `always`."""
        place = _Place(value.struct_info or s.OBJECT, lambda: value)
        self._value(place, info, m.text(f"ErrorContext({where}) "), always)

    def _value(self, place: _Place, info: s.StructInfo, where: e.StringImm, always: bool) -> None:
        have = s.OBJECT if always else place.info
        if not _is_needed(info, have):
            return
        if isinstance(info, s.TensorStructInfo):
            self._tensor(place, info, have, where)
        elif isinstance(info, s.ShapeStructInfo):
            if not isinstance(have, s.ShapeStructInfo) or have.ndim != info.ndim:
                self._say("check_shape_info", place.value, m.number(info.ndim), where)
            known = have.values if isinstance(have, s.ShapeStructInfo) else None
            self._lengths(place, info.values, known, where)
        elif isinstance(info, s.PrimStructInfo):
            if not isinstance(have, s.PrimStructInfo) or have.dtype is not info.dtype:
                self._say("check_prim_value_info", place.value, m.element_type(info.dtype), where)
            if info.value is not None and info.dtype is INT64:
                self.matches.append(_Match(place, (info.value,), where, True))
        elif isinstance(info, s.TupleStructInfo):
            self._tuple(place, info, where, always)
        elif isinstance(info, s.FuncStructInfo):
            self._say("check_func_info", place.value, where)

    def _tensor(
        self, place: _Place, info: s.TensorStructInfo, have: s.StructInfo, where: e.StringImm
    ) -> None:
        known = have if isinstance(have, s.TensorStructInfo) else None
        if known is None or not _is_implied(info, known):
            value, dtype = place.value, info.dtype
            kind = (
                self.at.emit(m.operation("relax.null_value", (), s.OBJECT))
                if dtype is None
                else m.element_type(dtype)
            )
            self._say("check_tensor_info", value, m.number(info.ndim), kind, where)
        self._lengths(place, info.dims, known.dims if known is not None else None, where)

    def _tuple(self, place: _Place, info: s.TupleStructInfo, where: e.StringImm, always: bool) -> None:
        have = place.info
        if always or not isinstance(have, s.TupleStructInfo):
            self._say("check_tuple_info", place.value, m.number(len(info.fields)), where)
        for number, field in enumerate(info.fields):
            if self.only_binding and isinstance(field, s.TensorStructInfo) and not self.binds(field):
                continue
            given = have.fields[number] if isinstance(have, s.TupleStructInfo) else s.OBJECT
            if _is_needed(field, s.OBJECT if always else given):
                self._value(place.field(self.at, number), field, where, always)

    def _lengths(
        self,
        place: _Place,
        lengths: tuple[p.PrimExpr, ...] | None,
        known: tuple[p.PrimExpr, ...] | None,
        where: e.StringImm,
    ) -> None:
        if lengths and lengths != known:
            self.matches.append(_Match(place, lengths, where, False))

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
        unknown = 0
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
                unknown += 1
        if unknown == len(match.lengths):
            return True
        count = () if match.is_scalar else (m.number(len(match.lengths)),)
        name = "match_prim_value" if match.is_scalar else "match_shape"
        self._say(name, match.place.value, self.at.shape_heap, *count, *items, match.where)
        return unknown > 0


def _is_needed(info: s.StructInfo, have: s.StructInfo) -> bool:
    """True if a value of StructInfo `have` must be checked before it counts as `info`."""
    if info is s.OBJECT or always_fits(have, info):
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
    text = re.sub(r"R\.Shape(?!\()", "R.Shape(ndim=-1)", str(info))
    if not isinstance(info, s.TupleStructInfo):
        return text
    text = re.sub(r"R\.Tuple(?!\()", "None", text)
    text = re.sub(r"(?<![\w=:-])(\d+)(?![\w\"])", r"T.int64(\1)", text)
    return text.replace("R.Tuple(", "T.Tuple(")


# -- builtin checks --------------------------------------------------------------------------------------------------
# Drop checks by builtins of the virtual machine that earlier ones, or the making of a value, prove.


_FIRST = 3  # the arguments of match_shape in front of its rules: value, heap, number of lengths


def without_proved(checks: Mapping[e.Binding, Sequence[ShapeCheck]]) -> Mapping[e.Binding, Rewritten]:
    """What becomes of each binding with a proved check: nothing, or a match_shape that only stores lengths and compares the rest."""
    found: dict[e.Binding, Rewritten] = {}
    for binding, demanded in checks.items():
        proved = [check.answer is Answer.YES for check in demanded]
        if callee_name(binding.value) == "vm.builtin.match_shape":
            new = _compared(binding, proved)
            if new is not binding:
                found[binding] = new
        elif all(proved):
            found[binding] = ()
    return found


def _compared(binding: e.Binding, proved: Sequence[bool]) -> Rewritten:
    """A match_shape without the comparisons that are proved. The first check is that of the rank."""
    call = binding.value
    assert isinstance(call, e.Call)  # the caller looked at its name
    args, rest = list(call.args), iter(proved[1:])
    actions = range(_FIRST, len(args) - 1, 2)
    stores = False
    for n in actions:
        action = number_of(args[n])
        stores |= action == STORE
        if action not in (STORE, NOTHING) and next(rest):
            args[n : n + 2] = [m.number(NOTHING), m.number(0)]
    if all(proved) and not stores:
        return ()
    new = replace(call, args=tuple(args))
    return binding if new.args == call.args else replace(binding, value=new)
