"""What decided that two runs are equal, or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.difference import distance, is_float, leaves_of, scale_of
from relax_explorer.core.session.pairing import base_name
from relax_explorer.core.session.recording import Recording

# -- growth ----------------------------------------------------------------------------------------------------------
# Where rounding grows: the values of a run beside those of its shadow, binding by binding.


_LEAST = 4.0  # growth that is worth a word
_MOST = 3  # kinds of operations that are named
_UNIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_SUMS = ("add", "subtract", "sum", "mean", "matmul", "conv", "dense", "einsum")


@dataclass(frozen=True, slots=True)
class Growth:
    """A kind of operation at which the relative error grows: the binding with the greatest growth, and how many there are.

    `cancels` if terms of a sum cancel each other.
    """

    name: str
    operation: str
    factor: float
    count: int
    cancels: bool


def growth(run: Recording, shadow: Recording) -> tuple[Growth, ...]:
    """The operations at which rounding grows most on the way to the results, the greatest first.

    The relative error of a value is that of its worst element: an element near 0 is compared with a tenth of the median one, as by
    the fixed bound. Values that exist in one run only, because rounding decided a branch, are not compared.
    """
    if len(run.productions) != len(shadow.productions):
        return ()
    errors: dict[int, float] = {}
    found: dict[str, list[tuple[float, str, str]]] = {}
    wanted = _before(run)
    for item, wide in zip(run.productions, shadow.productions, strict=True):
        error = relative(item.value, wide.value)
        if error is None or item.number not in wanted:
            continue
        errors[item.number] = error
        before = max([errors[read] for read in item.reads if read in errors], default=0.0)
        factor = error / max(before, _unit(item.value))
        if factor >= _LEAST and item.operation not in ("copy", "TupleGetItem"):
            found.setdefault(base_name(item.operation), []).append((factor, item.name, item.operation))
    kinds = [(max(items), len(items)) for items in found.values()]
    kinds.sort(reverse=True)
    return tuple(
        [
            Growth(name, operation, factor, count, _adds(operation))
            for (factor, name, operation), count in kinds[:_MOST]
        ]
    )


def relative(value: Value, wide: Value) -> float | None:
    """The relative error of the worst element; None for values without floats or of other shapes."""
    found = []
    for a, b in zip(leaves_of(value), leaves_of(wide), strict=False):
        if (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.shape == b.shape
            and is_float(a.dtype)
        ):
            found.append(_relative(a.astype(np.float64), b.astype(np.float64)))
    return max(found, default=None)


def _relative(a: Array, b: Array) -> float:
    magnitudes = np.abs(b)
    finite = np.isfinite(magnitudes) & np.isfinite(a)
    if not finite.any():
        return 0.0
    return float((distance(a, b)[finite] / (magnitudes[finite] + 0.1 * scale_of(magnitudes))).max())


def _unit(value: Value) -> float:
    return max(
        [_UNIT.get(getattr(part, "dtype", np.dtype("f8")).name, 2.0**-53) for part in leaves_of(value)],
        default=1.0,
    )


def _adds(operation: str) -> bool:
    return any(word in operation for word in _SUMS) and "softmax" not in operation


def _before(run: Recording) -> set[int]:
    """The values that the results depend on."""
    seen: set[int] = set()
    stack: list[int] = [*run.ends_in]
    while stack:
        number = stack.pop()
        if number >= 0 and number not in seen:
            seen.add(number)
            stack.extend(run.productions[number].reads)
    return seen or set(_all(run))


def _all(run: Recording) -> Iterable[int]:
    return range(len(run.productions))


# -- judgement -------------------------------------------------------------------------------------------------------


class Decider(StrEnum):
    """What decided."""

    BITS = "the same bits"
    GIVEN = "the given bound"
    BOUND = "the bound"
    SHADOW = "float64"
    RANDOM = "random rounding"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why two runs are equal or not (`is_fault`), and what decided.

    `in_wide` is their greatest distance in float64, `explained` the one that rounding explains, there or in random rounding.
    `flipped` are discrete results that rounding changed, `wrong` those that it does not explain. `off` tells how far each program
    is from its results in float64, `no_shadow` why there is no such run, as a part of a sentence. `grows` are the operations at
    which rounding grows, if the results are out of the fixed bound.
    """

    by: Decider
    is_fault: bool = False
    in_wide: float | None = None
    explained: float | None = None
    flipped: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    off: tuple[float, float] | None = None
    no_shadow: str = ""
    grows: tuple[Growth, ...] = ()

    @property
    def weight(self) -> tuple[bool, bool, int]:
        """Orders judgements: faults are greatest, then what is out of the bound, then what took the most work."""
        return self.is_fault, bool(self.grows or self.flipped), list(Decider).index(self.by)
