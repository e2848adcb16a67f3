"""Functions over arrays in two forms: with NumPy, which is the reference, and as a plain loop over elements, which a run may compile.

The compiler of a run is handed in by `compiling`: only `core.exec` knows one. Without it, and for little work, NumPy computes: a
compiler takes about a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from functools import cached_property
from inspect import getsource
from types import FunctionType
from typing import Any

import numpy as np

Function = Any  # of Python
Compiler = Callable[["Loop", tuple[Any, ...]], Function | None]
_COMPILER: ContextVar[Compiler | None] = ContextVar("compiler of loops", default=None)


def compiler_in_use() -> Compiler | None:
    """What compiles loops here."""
    return _COMPILER.get()


class compiling:  # used like a function
    """Inside, large loops are compiled; not by None."""

    __slots__ = ("compiler", "token")

    def __init__(self, compiler: Compiler | None) -> None:
        self.compiler = compiler

    def __enter__(self) -> None:
        self.token: Token[Compiler | None] = _COMPILER.set(self.compiler)

    def __exit__(self, *problem: object) -> None:
        _COMPILER.reset(self.token)


class Loop:
    """A function in both forms. `work` of the arguments is compared with `least`, from which on NumPy takes longer than about 0.2 s.

    The loop reads and writes arrays of floats of 32 or 64 bits, integers and bools. It calls NumPy and functions of its module.
    """

    def __init__(
        self, by_numpy: Function, by_element: Function, work: Callable[..., int], least: int
    ) -> None:
        self.by_numpy, self.by_element, self.work, self.least = by_numpy, by_element, work, least

    def __call__(self, *args: object) -> Any:  # noqa: D102  # the class says it
        compiler = _COMPILER.get()
        if compiler is not None and self.work(*args) >= self.least and all(map(_is_plain, args)):
            function = compiler(self, args)
            if function is not None:
                return function(*args)
        return self.by_numpy(*args)

    @cached_property
    def source(self) -> str:
        """The text of a module with the loop as its function `kernel`; `njit` marks what is compiled."""
        found = [self.by_element]
        for function in found:  # grows meanwhile
            called = [function.__globals__.get(name) for name in function.__code__.co_names]
            found += [one for one in called if isinstance(one, FunctionType) and one not in found]
        texts = [f'@njit(error_model="numpy", nogil=True)\n{getsource(function)}' for function in found]
        texts[0] = texts[0].replace(f"def {self.by_element.__name__}(", "def kernel(")
        return "\n\n".join(["import numpy as np\nfrom numba import njit\n\nArray = Any = object\n", *texts])


def _is_plain(value: object) -> bool:
    if not isinstance(value, np.ndarray):
        return True
    dtype = value.dtype
    return dtype.isnative and (dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)))
