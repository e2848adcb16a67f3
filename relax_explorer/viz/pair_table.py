"""Pairs of values of two programs as rows of a table, and the words for their distance."""

from __future__ import annotations

from relax_explorer.core.session.compare import Pairing, Verdict
from relax_explorer.core.session.difference import Delta
from relax_explorer.viz.visible import fit, visible

_NAMES = 34  # cells for the names of a pair


def distance_text(apart: Delta) -> str:
    """The distance of two values in one line."""
    if apart.equal:
        return f"equal, max |Δ| {apart.max_abs:.3g}" if apart.max_abs else "equal"
    if apart.reason != "values":
        return f"DIFFERENT, {visible(apart.reason, 200)}"
    index = ", ".join(map(str, apart.index))
    return (
        f"DIFFERENT, max |Δ| {apart.max_abs:.3g}, {apart.max_ulp} ulp, cos {apart.cosine:.6f}; "
        f"{apart.count} of {apart.size}, first [{index}]: A {apart.left}, B {apart.right}"
    )


def pair_names(pair: Pairing) -> str:
    """The name of both sides, or both names."""
    names = [visible(item.name, 40) if item is not None else "-" for item in (pair.a, pair.b)]
    return names[0] if names[0] == names[1] else f"{names[0]} | {names[1]}"


def pair_state(pair: Pairing) -> str:
    """How a pair compares, in one line."""
    if pair.delta is None:
        return "only in A" if pair.b is None else "only in B" if pair.a is None else "not kept"
    return distance_text(pair.delta)


def pair_glyph(pair: Pairing) -> str:
    """`=` for equal values, `≠` for others, `a` or `b` for a value of one side, `?` for one that was not kept."""
    if pair.delta is None:
        return "a" if pair.b is None else "b" if pair.a is None else "?"
    return "=" if pair.equal else "≠"


def pair_row(pair: Pairing, width: int) -> str:
    """A pair in one line of at most `width` cells: names, operation, distance."""
    side = pair.b or pair.a
    operation = fit(visible(side.operation.removeprefix("vm.builtin.")), 18) if side is not None else ""
    names = fit(pair_names(pair), _NAMES)
    if pair.delta is not None and pair.delta.reason == "values":
        apart = pair.delta
        state = f"max |Δ| {apart.max_abs:.3g}   cos {apart.cosine:.6f}   {apart.count} of {apart.size}"
    elif pair.delta is not None and pair.delta.equal:
        state = f"max |Δ| {pair.delta.max_abs:.3g}" if pair.delta.max_abs else "equal"
    else:
        state = pair_state(pair)
    return fit(f"{names:<{_NAMES}} {operation:<18} {state}", width)


def pair_detail(pair: Pairing) -> list[str]:
    """A pair in lines: the bindings of both sides, their distance, and how they were matched."""
    lines = []
    for letter, side in (("A", pair.a), ("B", pair.b)):
        if side is not None:
            lines.append(f" {letter} {visible(side.text or side.name, 300)}")
    by = f"   matched by {pair.by}" if pair.by else ""
    lines.append(f" {pair_state(pair)}{by}")
    if pair.b is not None:
        lines += [
            f" operand {visible(name, 100)} was overwritten before this binding reads it"
            for name in pair.b.stale
        ]
    return lines


def verdict_line(verdict: Verdict) -> str:
    """The verdict on a sample in a few words."""
    if not verdict.equal:
        side = verdict.first.b or verdict.first.a if verdict.first is not None else None
        where = f"; first in {visible(side.name, 60)}" if side is not None else ""
        return f"DIFFERENT, {verdict.reason}{where}"
    return "equal" if verdict.ran else f"both stop: {visible(verdict.stopped[0], 200)}"
