"""Compiles the loops of operators (`ops/kit/element_loops`) by numba, for the types of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as once
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relax_explorer.core.exec import tir_cache
from relax_explorer.core.ops.kit.element_loops import Compiler, Loop

if TYPE_CHECKING:
    from relax_explorer.core.exec.tir_text import Numba


def compiler(cache: Path | None) -> Compiler:
    """What compiles loops. The directory `cache`, if given, keeps the machine code."""

    def compiled(loop: Loop, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        from relax_explorer.core.exec.tir_text import NotCompiled  # LLVM takes 0.1 s to import

        try:
            function: Callable[..., Any] = _numba(loop, cache).function(args)
        except (NotCompiled, OSError):  # OSError: the text is not at hand
            return None
        return function

    return compiled


@once
def _numba(loop: Loop, cache: Path | None) -> Numba:
    from relax_explorer.core.exec import tir_text

    folder = None if cache is not None and tir_cache.refusal(cache) else cache
    return tir_text.Numba(loop.source, tir_cache.text_key(loop.source), folder)
