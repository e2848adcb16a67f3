"""The loops of kernels with their machine code. PrimFuncs with equal loops share it, in memory and on disk.

Names, attributes and annotations of a PrimFunc do not enter its loops. So the stages of a build compile most kernels once.
LLVM compiles them (`native`); numba compiles the text of those with rare parts, which takes longer.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from relax_explorer.core.exec import loop_text, native, tir_cache
from relax_explorer.core.exec.llvm_kernel import Param
from relax_explorer.core.exec.llvm_settings import settle
from relax_explorer.core.exec.llvm_values import DOUBLE, SIGNED, UNSIGNED, Unsupported
from relax_explorer.core.exec.loop_ir import Routine
from relax_explorer.core.exec.tir_codegen import shape_variables
from relax_explorer.core.exec.tir_expr import element
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.tir.stmt import Buffer, PrimFunc

KNOWN_TEXTS = 1024  # in memory; the least recently used ones are dropped
NUMBER = Param(SIGNED)  # a parameter that holds an integer
_TEXTS: OrderedDict[int, Text] = OrderedDict()


class NotCompiled(Exception):
    """Numba refused a text, with this reason."""


def compiled_text(
    routine: Routine, cache: Path | None, params: Sequence[Param], apart: bool = False, by_numba: bool = False
) -> Text:
    """The Text of a kernel. Equal kernels have one. The directory `cache`, if given, keeps the machine code.

    With `apart`, no memory that it writes is shared by two arguments. LLVM compiles it, unless it shall be `by_numba`.
    """
    source = loop_text.source(routine)
    key = tir_cache.text_key(source, repr(params), str(apart), str(by_numba), native.versions())
    text = _TEXTS.get(key)
    if text is None:
        text = _TEXTS[key] = Text(routine, source, key, cache, params, apart, by_numba)
        if len(_TEXTS) > KNOWN_TEXTS:
            _TEXTS.popitem(last=False)
    _TEXTS.move_to_end(key)
    return text


def parameters(fn: PrimFunc) -> list[Param]:
    """What the loops of a PrimFunc take. A handle is a description of a tensor (`tir_memory`)."""
    params = []
    for param in (*fn.params, *shape_variables(fn)):
        if isinstance(param, Buffer):
            lengths = [dim.value if isinstance(dim, p.IntImm) else None for dim in param.shape]
            params.append(Param("", element(param.dtype), tuple(lengths)))
        elif param.dtype is HANDLE:
            params.append(Param("", "int64", (None,)))
        elif param.dtype.is_float:
            params.append(Param(DOUBLE))
        else:
            params.append(Param(UNSIGNED if param.dtype.name == "uint64" else SIGNED))
    return params


class Text:
    """A text, with the machine code so far. It holds no PrimFunc."""

    def __init__(
        self,
        routine: Routine,
        source: str,
        key: int,
        cache: Path | None,
        params: Sequence[Param],
        apart: bool,
        by_numba: bool,
    ) -> None:
        self.routine = routine
        self.source, self.key, self.cache, self.params, self.apart = source, key, cache, params, apart
        self.native: Callable[..., None] | None = None
        self.numba = Numba(source, key, cache) if by_numba else None
        self.compiling = 0.0  # seconds so far

    def function(self, values: Sequence[Value]) -> Value:
        """The text compiled for the types of these values."""
        if self.native is not None:
            return self.native
        start = time.perf_counter()
        try:
            if self.numba is None:
                try:
                    self.native = self._by_llvm()
                    return self.native
                except Unsupported:
                    self.numba = Numba(self.source, self.key, self.cache)
            return self.numba.function(values)
        finally:
            self.compiling += time.perf_counter() - start

    def _by_llvm(self) -> Callable[..., None]:
        name = f"kernel_{self.key:016x}"
        code = None if self.cache is None else tir_cache.machine_code(self.cache, self.key)
        if code is None or not native.is_whole(code):
            code = native.object_code(self.routine, self.params, self.apart, name)
            if self.cache is not None:
                self.cache = self.cache if tir_cache.keep(self.cache, self.key, code) else None
        return native.loaded(code, self.params, name)


class Numba:
    """A text that numba compiles."""

    def __init__(self, source: str, key: int, cache: Path | None) -> None:
        settle()
        self.source, self.key, self.cache = source, key, cache
        self.kernel = self._load()
        self.compiled: set[tuple[Any, ...]] = set()

    def _load(self) -> Any:
        if self.cache is not None:
            try:
                return tir_cache.module(
                    self.cache, self.key, self.source.replace("@njit(", "@njit(cache=True, ", 1)
                )
            except (OSError, SyntaxError, ValueError):
                self.cache = None  # the directory can't be written or holds a damaged file: do without
        return tir_cache.in_memory(self.key, self.source)

    def function(self, values: Sequence[Value]) -> Value:
        """The text compiled for the types of these values. Damaged files on disk are deleted and rebuilt."""
        import numba  # takes 0.3 s to import

        types = tuple([numba.typeof(value) for value in values])
        if types in self.compiled:
            return self.kernel
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.kernel.compile(types)
            except Exception as problem:  # noqa: BLE001  # whatever a damaged cache makes numba raise
                if self.cache is None:
                    raise NotCompiled(str(problem).splitlines()[0][:160]) from None
                tir_cache.purge(self.cache, self.key)
                self.cache = None
                self.kernel = self._load()
                return self.function(values)
        self.compiled.add(types)
        return self.kernel
