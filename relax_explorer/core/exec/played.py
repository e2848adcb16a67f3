"""An object that only a compiled run had, such as a cache: calls that take it give what they gave there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value, fault
from relax_explorer.core.ops.kit.ndarrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class PlayedCall:
    """A call as it was recorded: its name, the array that it filled last, and its result. None for what is no array."""

    name: str
    filled: Array | None
    result: Value


class Played(Stateful):
    """An object whose calls are played back in their order. The state is the number of calls so far."""

    __slots__ = ("calls",)
    state: int

    def __init__(self, calls: Sequence[PlayedCall]) -> None:
        super().__init__(0)
        self.calls = calls

    def __repr__(self) -> str:
        return f"<an object of the compiled run, {self.state} of {len(self.calls)} calls made>"

    def answer(self, name: str, *args: Value) -> Value:
        """What the next call of this name gave: its last array is filled, and its result returned. Raises Failure."""
        at = next((n for n in range(self.state, len(self.calls)) if self.calls[n].name == name), None)
        if at is None:
            raise fault(
                codes.UNKNOWN_PACKED, f"the compiled run made no further call of {name} with this object"
            )
        call, self.state = self.calls[at], at + 1
        arrays = [item for item in args if isinstance(item, np.ndarray)]
        if call.filled is not None and arrays and arrays[-1].shape == call.filled.shape:
            arrays[-1][...] = call.filled
        return self if call.result is None and not arrays else call.result
