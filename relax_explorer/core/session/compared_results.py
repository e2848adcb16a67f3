"""The results of two runs beside those of their shadows, and beside runs with random rounding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.session.difference import distance, is_float, leaves_of
from relax_explorer.core.session.random_rounding import ALLOWANCE, Results, moved, spread
from relax_explorer.core.session.recording import Recording, is_same

_SHARE = 2.0**-17
"""Of what rounding did in narrow floats: the part that may be left in float64. It is 4,096 times what float32 lets expect."""
_FEW = 2.0**-46  # a hundred units of float64


def results_of(run: Recording) -> list[Value]:
    """The parts of the result of a run, then its arguments afterwards."""
    return [*leaves_of(run.result), *run.inputs]


def name_of_result(number: int, run: Recording) -> str:
    """The name of one of `results_of`."""
    place = number - len(list(leaves_of(run.result)))
    if place < 0:
        return run.labels[number]
    return f"{run.names[place] if place < len(run.names) else f'input {place}'} (overwritten)"


def is_float_value(value: Value) -> bool:
    """True for floats, and for arrays of floats."""
    return isinstance(value, float) or (isinstance(value, (np.ndarray, np.generic)) and is_float(value.dtype))


def with_shadows(
    a: Recording, b: Recording, wide_a: Recording, wide_b: Recording
) -> Iterator[tuple[str, list[Value]]]:
    """Each result with its name: of both programs, then of their shadows."""
    parts = [results_of(run) for run in (a, b, wide_a, wide_b)]
    for n, values in enumerate(zip(*parts, strict=False)):
        yield name_of_result(n, a), list(values)


class Compared:
    """The results of two programs and their shadows.

    `wrong` are those that differ in float64 by more than rounding leaves there. `leaves_range` if an element is finite in one narrow run only.
    """

    def __init__(self, results: Iterable[tuple[str, list[Value]]]) -> None:
        self.results = list(results)
        self.leaves_range = False
        self.apart = self.explained = 0.0
        self.off = [0.0, 0.0]
        self.wrong: list[str] = []
        self.flipped: list[str] = []
        for name, values in self.results:
            if values[0] is values[1] and is_same(*values[2:]):  # nobody overwrote it
                continue
            parts = zip(*[leaves_of(value) for value in values], strict=False)
            if not all([self._holds(name, list(part)) for part in parts]):
                self.wrong.append(name)

    def _holds(self, name: str, values: list[Value]) -> bool:
        a, b, wide_a, wide_b = values
        if not is_float_value(wide_a) or np.shape(wide_a) != np.shape(wide_b):
            good = is_same(wide_a, wide_b)
            if good and not is_same(a, b):
                self.flipped.append(name)
            return good
        numbers = [np.asarray(value).astype(np.float64) for value in values]
        if any(item.shape != numbers[2].shape for item in numbers):
            self.flipped.append(name)  # rounding decided how many there are
            return bool((distance(numbers[2], numbers[3]) <= _left(numbers[2:] * 2)).all())
        finite = [np.isfinite(item) for item in numbers[:2]]
        self.leaves_range |= bool(((finite[0] != finite[1]) & np.isfinite(numbers[2])).any())
        apart, allowed = distance(numbers[2], numbers[3]), _left(numbers)
        for n in (0, 1):
            off = distance(numbers[n], numbers[n + 2])
            self.off[n] = max(self.off[n], float(off[np.isfinite(off)].max(initial=0.0)))
        self.apart = max(self.apart, float(apart.max(initial=0.0)))
        self.explained = max(self.explained, float(allowed.max(initial=0.0)))
        return not bool((apart > allowed).any())

    def is_within(self, runs: Sequence[Results]) -> bool:
        """True if the shadows are not further apart than runs of the first one with random rounding."""
        for n, (_, values) in enumerate(self.results):
            a, b = values[2:]
            if not is_same(a, b) and not explained_by(a, b, [results[n] for results in runs])[0]:
                return False
        return True


def has_form(a: Value, b: Value) -> bool:
    """True if two values have parts of the same shapes."""
    left, right = list(leaves_of(a)), list(leaves_of(b))
    return len(left) == len(right) and all(
        np.shape(x) == np.shape(y) for x, y in zip(left, right, strict=True)
    )


def _left(numbers: Sequence[Array]) -> Array:
    """The distance in float64 that rounding explains, from what it did in narrow floats."""
    a, b, wide_a, wide_b = numbers
    done = np.maximum(distance(a, wide_a), distance(b, wide_b))
    most = float(done[np.isfinite(done)].max(initial=0.0))
    magnitudes = np.abs(wide_a)
    finite = magnitudes[np.isfinite(magnitudes)]
    scale = float(np.median(finite)) if finite.size else 0.0
    return _SHARE * most + _FEW * (np.where(np.isfinite(magnitudes), magnitudes, 0.0) + scale)


def explained_by(a: Value, b: Value, others: Sequence[Value]) -> tuple[bool, float]:
    """Whether random rounding explains the distance of two values, and how far it lets them be apart."""
    if type(a) is tuple:
        parts = [
            explained_by(x, y, [list(leaves_of(other))[n] for other in others])
            for n, (x, y) in enumerate(zip(leaves_of(a), leaves_of(b), strict=True))
        ]
        return all(good for good, _ in parts), max([most for _, most in parts], default=0.0)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return is_same(a, b) or any(not is_same(a, other) for other in others), 0.0
    if any(other.shape != a.shape for other in others):
        return True, 0.0  # rounding decides how many there are
    if a.shape != b.shape:
        return False, 0.0
    if not is_float(a.dtype):
        return not bool(((a != b) & ~moved(a, others)).any()), 0.0
    left, right = a.astype(np.float64), b.astype(np.float64)
    allowed = ALLOWANCE * spread(left, [other.astype(np.float64) for other in others])
    finite = np.isfinite(left)
    lost = np.any([np.isfinite(other.astype(np.float64)) != finite for other in others], axis=0)
    lost |= (
        finite & ~np.isfinite(right) & (allowed >= np.abs(left))
    )  # without one certain digit, it may be 0 / 0 as well
    wrong = (distance(left, right) > allowed) & ~lost
    return not bool(wrong.any()), float(allowed.max(initial=0.0))


def as_far_from(base: Value, x: Value, y: Value) -> Value:
    """A value as far from another one as `y` is from `x`."""
    if not is_float_value(x) or np.shape(x) != np.shape(y):
        return base if is_same(x, y) else y
    base, x, y = [np.asarray(value).astype(np.float64) for value in (base, x, y)]
    with np.errstate(all="ignore"):
        return np.where(x == y, base, base + (y - x))
