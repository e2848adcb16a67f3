"""The texts of kernels with their machine code: PrimFuncs of one form (`kernel_form`) share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from relax_explorer.core.exec import kernel_cache, kernel_traps, loop_ir
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernel_form import Form, form, template, whole_form
from relax_explorer.core.exec.kernel_pieces import filled
from relax_explorer.core.exec.llvm_kernel import Param
from relax_explorer.core.exec.loop_fusion import fused
from relax_explorer.core.exec.loop_nests import ANY, PARALLEL, is_always_serial, parallel_loop
from relax_explorer.core.exec.loop_statements import length_variables, translate
from relax_explorer.core.exec.machine_code import (
    NUMBER,
    NotCompiled,
    Text,
    compiled_text,
    kept_text,
    parameters,
)
from relax_explorer.core.exec.translations import KeptText, Outline, translations
from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir.stmt import PrimFunc

_STOPPING = (
    loop_ir.Check,
    loop_ir.Fail,
    loop_ir.Poll,
    loop_ir.While,
    loop_ir.Return,
    loop_ir.Packed,
    loop_ir.Window,
)
KNOWN_LENGTHS = 4096  # combinations of lengths in the cache of facts
NEVER = Interrupt()
_NOTHING = np.zeros(kernel_traps.NOTE_LENGTH, np.int64)  # a note of the type that texts take
# The texts of a kernel: one that relies on facts, one that checks everything, and one that also keeps the order of the loops.
# `PART` is the first one, for some iterations of a parallel loop; `SPREAD` divides these among threads of numba.
TRUSTING, CHECKED, IN_ORDER, PART, SPREAD = "", "_checked", "_in_order", "_part", "_spread"


def _stopping(routine: loop_ir.Routine) -> list[object]:
    """The parts of a kernel that may stop it, beside the interrupt. Threads of numba can't be stopped."""
    return [
        part
        for part in loop_ir.parts(routine)
        if (isinstance(part, _STOPPING) and not isinstance(part, loop_ir.Poll))
        or (isinstance(part, loop_ir.Allocate) and part.most is not None)
    ]


def _may_stop(stopping: Sequence[object]) -> bool:
    """True if one of these parts is more than memory whose size depends on the lengths."""
    return any(not isinstance(part, loop_ir.Allocate) for part in stopping)


class Code:
    """The texts of PrimFuncs of one form, with their machine code. It holds no PrimFunc.

    The first text relies on facts that hold for sample lengths. For the lengths of each call they are decided again, in the exact
    arithmetic of the dtypes. If one does not hold, a second text runs. It relies on no fact and checks everything.
    """

    def __init__(self, fn: PrimFunc, cache: Path | None, by_numba: bool = False) -> None:
        self.by_numba = by_numba
        self.is_spread = by_numba  # False if numba's threads can't share the parallel loop
        self.cache = None if cache is not None and kernel_cache.refusal(cache) else cache
        self.facts: dict[tuple[int, ...], bool] = {}
        self.compiling = 0.0  # seconds so far
        self.texts: dict[str, Text] = {}
        self.stopping: dict[str, bool] = {}  # texts that may stop, beside the interrupt
        self.kept = None if self.cache is None or by_numba else translations(self.cache)
        self.form = _form(fn, by_numba).digest
        known = None if self.kept is None else self.kept.outlines.get(self.form)
        self.outline = self._translated(fn) if known is None else known

    def template(self, fn: PrimFunc) -> tuple[PrimFunc, tuple[p.PrimVar, ...]]:
        """A PrimFunc of this form with variables for its numbers, and these."""
        return (fn, ()) if self.by_numba else template(fn)

    def _translated(self, whole: PrimFunc) -> Outline:
        fn, numbers = self.template(whole)
        joined = fused(fn)
        trusting = translate(joined, numbers=numbers)
        stopping = _stopping(trusting.routine)
        is_fused = joined is not fn and not _may_stop(stopping)
        if joined is not fn and not is_fused:
            trusting = translate(fn, numbers=numbers)
            stopping = _stopping(trusting.routine)
        # Threads share a loop that the program calls parallel, and others where none may stop, so that all before it are done.
        shares_any = not _may_stop(stopping)
        kinds = ANY if shares_any else PARALLEL
        self._add(whole, TRUSTING, trusting.routine, stopping)
        is_serial = is_always_serial(joined if is_fused else fn, length_variables(fn), kinds)
        facts = tuple(trusting.facts), tuple(trusting.ways)
        outline = Outline(is_fused, shares_any, is_serial, *facts, tuple(sorted(filled(fn))))
        if self.kept is not None:
            self.kept.add_outline(self.form, outline)
        return outline

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of loops that threads share."""
        return ANY if self.outline.shares_any else PARALLEL

    @property
    def is_by_numba(self) -> bool:
        """True if numba compiles it: it was asked to, or LLVM has no translation."""
        return any(text.numba is not None for text in self.texts.values())

    def stops(self, function: object) -> bool:
        """True if this compiled text may stop, beside the interrupt."""
        name = next((name for name, text in self.texts.items() if text.native is function), None)
        return name is None or self.stopping[name]

    def trusts(self, fn: PrimFunc, lengths: Mapping[p.PrimVar, int]) -> bool:
        """True if every fact that the first text relies on holds for these lengths."""
        key = tuple(lengths.values())
        holding = self.facts.get(key)
        if holding is None:
            if len(self.facts) >= KNOWN_LENGTHS:
                self.facts.clear()
            now = translate(self.loops(fn), lengths)
            # Other ways ask other facts.
            holding = tuple(now.ways) == self.outline.ways and all(
                [holds or not hope for holds, hope in zip(now.facts, self.outline.hoped, strict=True)]
            )
            self.facts[key] = holding
        return holding

    def loops(self, fn: PrimFunc) -> PrimFunc:
        """The PrimFunc whose loops run where its facts hold, with variables for its numbers."""
        fn, _ = self.template(fn)
        return fused(fn) if self.outline.is_fused else fn

    def function(self, fn: PrimFunc, values: Sequence[Any], name: str) -> Any:
        """A text compiled for the types of these values, which a note and the stop flag follow."""
        text = self.text(fn, name)
        before = text.compiling
        found = text.function((*values, _NOTHING, NEVER.address))
        self.compiling += text.compiling - before
        return found

    def text(self, fn: PrimFunc, name: str) -> Text:
        """A text by its name."""
        text = self.texts.get(name) or self._kept(fn, name)
        if text is None:
            whole, numbers = self.template(fn)
            loops = whole if name in (CHECKED, IN_ORDER) else self.loops(fn)
            loop = parallel_loop(loops, self.kinds) if name in (PART, SPREAD) else None
            translation = translate(
                loops, None, name not in (CHECKED, IN_ORDER), name == IN_ORDER, loop, name == SPREAD, numbers
            )
            stopping = _stopping(translation.routine)
            if name == SPREAD and stopping:
                raise NotCompiled("a part of it may stop")
            text = self._add(fn, name, translation.routine, stopping)
        return text

    def _add(self, fn: PrimFunc, name: str, routine: loop_ir.Routine, stopping: Sequence[object]) -> Text:
        params = self._parameters(fn, name)
        text = compiled_text(routine, self.cache, params, name != IN_ORDER, self.by_numba)
        if self.kept is not None:
            self.kept.add_text(self.form, name, KeptText(text.key, bool(stopping)))
        return self._take(name, text, bool(stopping))

    def _kept(self, fn: PrimFunc, name: str) -> Text | None:
        """A text that an earlier process translated and compiled."""
        kept = None if self.kept is None else self.kept.texts.get((self.form, name))
        if kept is None or self.cache is None:
            return None
        text = kept_text(kept.key, self.cache, self._parameters(fn, name), name != IN_ORDER)
        return None if text is None else self._take(name, text, kept.may_stop)

    def _take(self, name: str, text: Text, may_stop: bool) -> Text:
        self.texts[name], self.stopping[name] = text, may_stop
        return text

    def numbers(self, fn: PrimFunc) -> tuple[int, ...]:
        """The numbers of a PrimFunc that its texts take behind all else."""
        return () if self.by_numba else form(fn).numbers

    def _parameters(self, fn: PrimFunc, name: str) -> list[Param]:
        """What a text takes: the parameters and lengths of the PrimFunc, the ends of a part of its loop, its numbers."""
        ends = 2 if name in (PART, SPREAD) else 0
        return [*parameters(fn), *[NUMBER] * (ends + len(self.numbers(fn)))]


_CODES: WeakValueDictionary[tuple[str, Path | None, bool], Code] = WeakValueDictionary()


def code_of(fn: PrimFunc, cache: Path | None, by_numba: bool = False) -> Code:
    """The texts of a PrimFunc. Those of one form share them, as long as one of them lives."""
    key = (_form(fn, by_numba).digest, cache, by_numba)
    code = _CODES.get(key)
    if code is None:
        code = _CODES[key] = Code(fn, cache, by_numba)
    return code


def _form(fn: PrimFunc, by_numba: bool) -> Form:
    return whole_form(fn) if by_numba else form(fn)
