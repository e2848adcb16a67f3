"""Generated texts of kernels with their machine code. PrimFuncs with equal texts share it, in memory and on disk.

Names, attributes and annotations of a PrimFunc do not enter its text. So the stages of a build compile most kernels once.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba

from relax_explorer.core.exec import tir_cache

KNOWN_TEXTS = 1024  # in memory; the least recently used ones are dropped
_TEXTS: OrderedDict[int, Text] = OrderedDict()


class NotCompiled(Exception):
    """Numba refused a text, with this reason."""


def compiled_text(source: str, cache: Path | None) -> Text:
    """The Text of a source. Equal sources have one. The directory `cache`, if given, keeps the machine code."""
    key = tir_cache.text_key(source)
    text = _TEXTS.get(key)
    if text is None:
        text = _TEXTS[key] = Text(source, key, cache)
        if len(_TEXTS) > KNOWN_TEXTS:
            _TEXTS.popitem(last=False)
    _TEXTS.move_to_end(key)
    return text


class Text:
    """A text, with the machine code so far. It holds no PrimFunc."""

    def __init__(self, source: str, key: int, cache: Path | None) -> None:
        self.source, self.key, self.cache = source, key, cache
        self.kernel = self._load()
        self.compiled: set[tuple[Any, ...]] = set()
        self.compiling = 0.0  # seconds of numba so far

    def _load(self) -> Any:
        if self.cache is not None:
            try:
                return tir_cache.module(
                    self.cache, self.key, "", self.source.replace("@njit(", "@njit(cache=True, ", 1)
                )
            except (OSError, SyntaxError, ValueError):
                self.cache = None  # the directory can't be written or holds a damaged file: do without
        return tir_cache.module(tir_cache.scratch(), self.key, "", self.source)

    def function(self, values: Sequence[Any]) -> Any:
        """The text compiled for the types of these values. Damaged files on disk are deleted and rebuilt."""
        types = tuple([numba.typeof(value) for value in values])
        if types in self.compiled:
            return self.kernel
        start = time.perf_counter()
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
        self.compiling += time.perf_counter() - start
        return self.kernel
