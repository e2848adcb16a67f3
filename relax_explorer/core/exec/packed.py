"""Packed functions: Python functions that programs call by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Any

from relax_explorer.core.exec.played import Played
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op

Packed = Callable[..., Any]
_REGISTRY: dict[str, Packed] = {}


def packed_function(name: str) -> Callable[[Packed], Packed]:
    """Register the decorated function as the packed function `name`.

    It gets numpy arrays, shapes (tuples of int), tuples and numbers; called by `call_dps_packed` it gets the output arrays
    after the arguments and fills them.

    >>> @rxe.packed_function("example.twice")
    ... def twice(x):
    ...     return x + x
    """

    def register(function: Packed) -> Packed:
        _REGISTRY[name] = function
        return function

    return register


def find(name: str, args: Sequence[Value] = ()) -> Packed | None:
    """The packed function called `name`, or None. An object among the arguments that plays its calls back answers itself."""
    played = next((item for item in args if isinstance(item, Played)), None)
    if played is not None:
        return partial(played.answer, name)
    return _REGISTRY.get(name) or _runtime().get(name)


@cache
def _runtime() -> dict[str, Packed]:
    """The runtime functions that operators are lowered to. They evaluate the operators."""
    function = {}
    for op in table().values():
        if op.packed and op.evaluate is not None:
            function[op.packed] = _operator(op)
    return function


def is_operator(function: Packed) -> bool:
    """True if a packed function is a runtime function that evaluates an operator."""
    return type(function) is Computation or function in _runtime().values()


@dataclass(frozen=True, slots=True)
class Computation:
    """A function of this project that a run calls as a value, such as the computation of an argument. `text` names it."""

    text: str
    work: Packed

    @property
    def __name__(self) -> str:
        """What a frame calls it."""
        return self.text

    def __call__(self, *args: Value) -> Value:
        """Its result."""
        return self.work(*args)


def _operator(op: type[Op]) -> Packed:
    def run(*args: object) -> Value:
        assert op.evaluate is not None  # the caller checked this
        return op.evaluate(*args, *[None] * (len(op.operands) - len(args)))

    return run


def names() -> list[str]:
    """Names of the registered packed functions, sorted."""
    return sorted(_REGISTRY)


def hint(name: str) -> str:
    """The hint for an unregistered packed function."""
    near = get_close_matches(name, names(), 1)
    if near:
        return f"did you mean {near[0]!r}?"
    known = f"; registered: {', '.join(names())}" if names() else ""
    return (
        f'register it before the run, from Python: @rxe.packed_function("{name}") above a function, '
        f"or on the command line: --packed {name}=FILE.py:FUNCTION{known}"
    )
