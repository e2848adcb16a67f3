"""Finds the store of a PrimFunc that first makes a NaN, or an infinity, from elements that are none.

The PrimFunc is compiled once more, with a check in front of each store, and runs on copies of its arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import loop_ir as loops
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.exec.computed import Store
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.kernel_traps import ERRORS, NOTE_LENGTH
from relax_explorer.core.exec.llvm_kernel import Param
from relax_explorer.core.exec.loop_expr import NOTE, Site
from relax_explorer.core.exec.loop_order import Manner
from relax_explorer.core.exec.loop_statements import Translation
from relax_explorer.core.exec.machine_code import compiled_text, parameters
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, Let
from relax_explorer.core.tir.traverse import subexpressions

_MOST = 16  # elements that a check writes down
_SEEN, _INDEX = "seen", "index"  # the arrays for elements and for indices


def first_store(
    fn: t.PrimFunc, args: Sequence[Value], kind: str, interrupt: Interrupt | None = None
) -> Store | str:
    """The first store that makes a `nan` or an `inf`, or the reason why there is none. The arguments stay as they are.

    Raises Cancelled if the run is interrupted.
    """
    flag = interrupt if interrupt is not None else Interrupt()
    try:
        watched = _Watched(fn, kind)
        values = compile_prim_func(fn).passed(
            [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        )
    except Failure as failure:
        return f"the kernel can't be checked store by store: {failure.diagnostics[0].message}"
    note, index = np.zeros(NOTE_LENGTH, np.int64), np.zeros(max(watched.most_indices, 1), np.int64)
    seen = np.zeros(
        _MOST + 2, np.float64
    )  # the new element, those it was made of, and 1 at the end if a check failed
    try:
        with np.errstate(all="ignore"):
            passed = (*values, seen, index, note, flag.address)
            compiled_text(watched.checked(), None, watched.parameters()).function(passed)(*passed)
    except InterruptedError:
        raise Cancelled from None
    except ERRORS:
        if not seen[-1]:
            return "checked store by store, the kernel stopped before"
        return watched.stores[int(note[0])].seen(fn, note.tolist(), seen.tolist(), index.tolist())
    return "no single store of the kernel makes it from elements that are none"


@dataclass(frozen=True, slots=True)
class _Checked:
    """One checked store."""

    site: Site
    loads: tuple[BufferLoad, ...]

    def seen(self, fn: t.PrimFunc, note: Sequence[int], seen: Sequence[float], index: Sequence[int]) -> Store:
        node = self.site.statement
        assert type(node) is t.BufferStore  # only stores are checked
        loops = zip([var.name for var in self.site.loops], note[NOTE:], strict=False)
        places, loads = iter(index), []
        own = tuple(islice(places, len(node.indices)))
        for load, value in zip(self.loads, seen[1:], strict=False):
            loads.append((load, tuple(islice(places, len(load.indices))), value))
        return Store(fn, node, tuple(loops), own, seen[0], tuple(loads))


class _Watched(Translation):
    """The translation of a PrimFunc with a check in front of each store of a float."""

    def __init__(self, fn: t.PrimFunc, kind: str) -> None:
        self.kind = kind
        self.stores: list[_Checked] = []
        self.most_indices = 0  # of one store and its loads
        super().__init__(fn, [], Manner(trusting=False))

    def checked(self) -> loops.Routine:
        """The loops. After the parameters, they take the arrays `seen` and `index`."""
        return replace(self.routine, params=(*self.routine.params, _SEEN, _INDEX))

    def parameters(self) -> list[Param]:
        """What the loops take."""
        more = [Param("", "float64", (None,)), Param("", "int64", (None,))]
        return parameters(self.fn) + more

    def statement(self, node: t.Stmt) -> None:
        """Translate one statement."""
        if type(node) is t.BufferStore and node.buffer.dtype.is_float and self._may_make(node):
            self.statement_now = node
            self._checked(node)
        else:
            super().statement(node)

    def _may_make(self, node: t.BufferStore) -> bool:
        """A literal of the kind is meant, for example -inf as the start of a maximum."""
        return not any(
            isinstance(part, p.FloatImm) and _is(self.kind, float(part.value))
            for part in subexpressions(node.value)
        )

    def _checked(self, node: t.BufferStore) -> None:
        number = len(self.stores)
        loads = tuple([load for load in always_read(node.value) if load.buffer.dtype.is_float][:_MOST])
        read = [self.expr(load) for load in loads]
        indices = [
            self.expr(index) for part in (node.indices, *[load.indices for load in loads]) for index in part
        ]
        self.most_indices = max(self.most_indices, len(indices))
        new = loops.Var(f"s{number}")
        self.out.append(loops.Assign(new.name, self.expr(node.value)))
        wrong = _wrong(self.kind, node.buffer.dtype, new)
        for value in read:
            wrong = loops.Op("and", (wrong, loops.Op("not", (loops.Apply(_test(self.kind), (value,)),))))
        with self.branch(wrong):
            self.out += [_noted(_SEEN, "float64", place, value) for place, value in enumerate([new, *read])]
            self.out += [_noted(_INDEX, "int64", axis, value) for axis, value in enumerate(indices)]
            _, around = self.site("not finite")
            self.stores.append(_Checked(self.sites[-1], loads))
            self.out.append(_noted(_SEEN, "float64", _MOST + 1, loops.Const(1.0)))
            stop = loops.Check("divisor", loops.Convert("int64", loops.Const(0)), number, around)
            self.out.append(loops.Assign("stopped", stop))
        self.put(self.place(node.buffer, node.indices), new)


def _noted(array: str, kind: str, place: int, value: loops.Expr) -> loops.Store:
    """A number written down for whoever asks."""
    return loops.Store(loops.Element(array, kind, (loops.Const(place),)), value)


def always_read(value: p.PrimExpr) -> list[BufferLoad]:
    """The elements that an expression always reads: not those under a condition."""
    found: dict[BufferLoad, None] = {}
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, BufferLoad):
            found[part] = None
        elif isinstance(part, Let):
            stack.append(p.substitute(part.body, {part.var: part.value}))
        elif not isinstance(part, (p.Select, p.And, p.Or)) and not _is_choice(part):
            stack.extend(reversed(part.children()))
    return list(found)


def _is_choice(part: p.PrimExpr) -> bool:
    return isinstance(part, p.PrimCall) and part.op == "if_then_else"


def _is(kind: str, value: float) -> bool:
    return bool(np.isnan(value) if kind == "nan" else np.isinf(value))


def _test(kind: str) -> str:
    return "np.isnan" if kind == "nan" else "np.isinf"


def _wrong(kind: str, dtype: DType, value: loops.Expr) -> loops.Expr:
    """The check of a new element. Narrow floats are computed as float32, so that a limit tells what they can't hold."""
    tested = loops.Apply(_test(kind), (value,))
    limit = _limit(dtype)
    overflows_to = "nan" if dtype.name.startswith("float8_e4m3") else "inf"
    if limit is None or kind != overflows_to:
        return tested
    return loops.Op("or", (tested, loops.Op(">=", (loops.Apply("abs", (value,)), loops.Const(limit)))))


def _limit(dtype: DType) -> float | None:
    """The least number that overflows a narrow float; None for float32 and float64."""
    if dtype.name in ("float32", "float64"):
        return None
    finfo: Any = ml_dtypes.finfo
    info = finfo(dtype.to_numpy())
    largest = float(info.max)
    return largest + float(info.eps) * math.ldexp(0.5, math.floor(math.log2(largest)))
