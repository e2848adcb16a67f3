"""Finds the store of a PrimFunc that first makes a NaN, or an infinity, from elements that are none.

The PrimFunc is compiled once more, with a check in front of each store, and runs on copies of its arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import ml_dtypes
import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import tir_cache
from relax_explorer.core.exec.found_store import Store
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.tir_codegen import Translation
from relax_explorer.core.exec.tir_expr import NOTE, Site
from relax_explorer.core.exec.tir_numba import compile_prim_func
from relax_explorer.core.exec.tir_traps import ERRORS, NOTE_LENGTH
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, Let
from relax_explorer.core.tir.traverse import subexpressions

_MOST = 16  # elements that a check writes down


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
    source = watched.source()
    loaded = tir_cache.in_memory(tir_cache.text_key(source), source)
    note, index = np.zeros(NOTE_LENGTH, np.int64), np.zeros(max(watched.most_indices, 1), np.int64)
    seen = np.zeros(
        _MOST + 2, np.float64
    )  # the new element, those it was made of, and 1 at the end if a check failed
    try:
        with np.errstate(all="ignore"):
            loaded(*values, note, flag.address, seen, index)
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
        super().__init__(fn, [], trusting=False)

    def source(self) -> str:
        """The module's text."""
        return super().source().replace("note, stop):", "note, stop, seen, index):", 1)

    def statement(self, node: t.Stmt, depth: int) -> None:
        """Translate one statement."""
        if type(node) is t.BufferStore and node.buffer.dtype.is_float and self._may_make(node):
            self.statement_now = node
            self._checked(node, depth)
        else:
            super().statement(node, depth)

    def _may_make(self, node: t.BufferStore) -> bool:
        """A literal of the kind is meant, for example -inf as the start of a maximum."""
        return not any(
            isinstance(part, p.FloatImm) and _is(self.kind, float(part.value))
            for part in subexpressions(node.value)
        )

    def _checked(self, node: t.BufferStore, depth: int) -> None:
        number = len(self.stores)
        loads = tuple([load for load in always_read(node.value) if load.buffer.dtype.is_float][:_MOST])
        texts = [self.expr(load) for load in loads]
        indices = [
            self.expr(index) for part in (node.indices, *[load.indices for load in loads]) for index in part
        ]
        self.most_indices = max(self.most_indices, len(indices))
        self.line(depth, f"s{number} = {self.expr(node.value)}")
        wrong = [_wrong(self.kind, node.buffer.dtype, f"s{number}")]
        wrong += [f"not {_test(self.kind)}({text})" for text in texts]
        self.line(depth, f"if {' and '.join(wrong)}:")
        self.line(depth + 1, f"seen[0] = s{number}")
        for place, text in enumerate(texts, 1):
            self.line(depth + 1, f"seen[{place}] = {text}")
        for axis, text in enumerate(indices):
            self.line(depth + 1, f"index[{axis}] = {text}")
        own = self.site("not finite")
        self.stores.append(_Checked(self.sites[-1], loads))
        variables = own.split(", ")[2:]
        self.line(depth + 1, "seen[-1] = 1.0")
        self.line(depth + 1, f"nonzero(np.int64(0), {', '.join(['note', str(number), *variables])})")
        self.line(depth, f"{self.place(node.buffer, node.indices)} = s{number}")


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


def _wrong(kind: str, dtype: DType, text: str) -> str:
    """The check of a new element. Narrow floats are computed as float32, so that a limit tells what they can't hold."""
    tested = f"{_test(kind)}({text})"
    limit = _limit(dtype)
    overflows_to = "nan" if dtype.name.startswith("float8_e4m3") else "inf"
    return tested if limit is None or kind != overflows_to else f"({tested} or abs({text}) >= {limit!r})"


def _limit(dtype: DType) -> float | None:
    """The least number that overflows a narrow float; None for float32 and float64."""
    if dtype.name in ("float32", "float64"):
        return None
    finfo: Any = ml_dtypes.finfo
    info = finfo(dtype.to_numpy())
    largest = float(info.max)
    return largest + float(info.eps) * math.ldexp(0.5, math.floor(math.log2(largest)))
