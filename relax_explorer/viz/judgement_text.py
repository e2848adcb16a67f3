"""Judgements in words: what decided that two runs are equal or not."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.growth import Growth
from relax_explorer.core.session.judgement import Decider, Judgement
from relax_explorer.viz.visible import visible

_MUCH = 30.0
"""Times as far from float64 as another program: fewer are no news."""


def judgement_word(judgement: Judgement | None, is_within: bool) -> str:
    """`rounding` or `flipped` for results that are equal although they are out of the bound; else empty."""
    if judgement is None or judgement.is_fault:
        return ""
    if judgement.flipped:
        return "flipped"
    return "" if is_within else "rounding"


def judgement_text(judgement: Judgement, apart: Delta | None = None) -> str:
    """A judgement in one or two sentences. `apart` is the distance of the result that is out of the bound, if there is one."""
    if judgement.is_fault:
        return _fault_text(judgement)
    parts = []
    if judgement.flipped:
        parts.append(_flipped_text(judgement))
    elif apart is not None:
        parts.append(_rounding_text(judgement, apart))
    if judgement.no_shadow:
        parts.append(
            f"There is no run in float64: {visible(judgement.no_shadow, 200)}; {judgement.by} decided."
        )
    if apart is not None and judgement.off is not None and judgement.off[1] > _MUCH * judgement.off[0] > 0:
        times = _rounded(judgement.off[1] / judgement.off[0])
        parts.append(f"The second program is {times:,} times as far from float64 as the first.")
    if judgement.grows:
        parts.append(f"It grows {_joined(growth_text(item) for item in judgement.grows)}.")
    return " ".join(parts)


def _fault_text(judgement: Judgement) -> str:
    if judgement.by is Decider.SHADOW and judgement.in_wide is not None:
        explained = judgement.explained or 0.0
        return f"differs in float64, too: max |Δ| {judgement.in_wide:.2g}; rounding explains {explained:.2g}"
    if judgement.by is Decider.RANDOM:
        why = f" (no run in float64: {visible(judgement.no_shadow, 200)})" if judgement.no_shadow else ""
        return f"random rounding explains at most |Δ| {judgement.explained or 0.0:.2g}{why}"
    return f"{judgement.by} decided"


def _flipped_text(judgement: Judgement) -> str:
    names = ", ".join(visible(name, 60) for name in judgement.flipped)
    verb = "is" if len(judgement.flipped) == 1 else "are"
    if judgement.by is Decider.SHADOW:
        return f"{names} {verb} flipped by rounding: equal in float64."
    return f"{names} {verb} flipped by rounding: random rounding flips the same elements."


def _rounding_text(judgement: Judgement, apart: Delta) -> str:
    several = apart.count != 1
    counted = f"{apart.count:,} of {apart.size:,} elements differ{'' if several else 's'}"
    beyond = f"{counted} by more than the bound (max |Δ| {apart.max_abs:.2g})"
    if judgement.by is Decider.SHADOW:
        return f"{beyond}, but not in float64 ({judgement.in_wide or 0.0:.2g}): rounding."
    return f"{beyond}, but not by more than random rounding explains ({judgement.explained or 0.0:.2g})."


def growth_text(item: Growth) -> str:
    """Where rounding grows: `at add9 (a sum that cancels, ×1,900)`, or `in 3 softmax (×70 at p0)`."""
    factor = f"×{_rounded(item.factor):,}"
    name, operation = visible(item.name, 40), visible(item.operation, 40)
    if item.count > 1:
        return f"in {item.count} {operation} ({factor} at {name})"
    return f"at {name} ({'a sum that cancels' if item.cancels else operation}, {factor})"


def _rounded(factor: float) -> int:
    """A factor with two digits."""
    return int(float(f"{factor:.1e}"))


def _joined(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def deciders_text(judgements: Iterable[Judgement | None]) -> str:
    """What decided, and how often: `float64 (26), the same bits (13)`."""
    counts: dict[Decider, int] = {}
    for judgement in judgements:
        if judgement is not None:
            counts[judgement.by] = counts.get(judgement.by, 0) + 1
    return ", ".join(f"{decider} ({counts[decider]})" for decider in Decider if decider in counts)
