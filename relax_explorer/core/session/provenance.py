"""The history of a binding from stage to stage; each answer has a certainty.

The first match wins: same object (`=`), recorded rewrite (`=`), same variable (`≈`), alignment by name, operator and
order (`?`). A value may also be gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.align import align
from relax_explorer.core.session.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Trace:
    """A value in one stage: its bindings there (none when gone), and the certainty (`=`, `≈`, `?`).

    `stage` is its place among the stages, `label` the number that users see.
    """

    stage: int
    made_by: str
    bindings: tuple[e.Binding, ...]
    mark: str
    label: int

    @property
    def gone(self) -> bool:
        """True if the value has no binding in this stage."""
        return not self.bindings


def history(stages: Sequence[Snapshot], number: int, function: str, binding: e.Binding) -> list[Trace]:
    """Trace the value of `binding`, a binding of stage `number`, through all stages in order."""
    here = Trace(number, stages[number].made_by, (binding,), "=", stages[number].label)
    earlier = _walk(stages, range(number, 0, -1), function, here, backwards=True)
    later = _walk(stages, range(number + 1, len(stages)), function, here, backwards=False)
    return [*reversed(earlier), here, *later]


def _walk(
    stages: Sequence[Snapshot], numbers: range, function: str, start: Trace, backwards: bool
) -> list[Trace]:
    traces: list[Trace] = []
    current = start
    for number in numbers:
        if current.gone:
            break
        later = stages[number]
        earlier = stages[number - 1]
        target = earlier if backwards else later
        links = _links(earlier, later, function, current.bindings, backwards)
        current = Trace(target.number, target.made_by, links[0], links[1], target.label)
        traces.append(current)
    return traces


def _links(
    earlier: Snapshot, later: Snapshot, function: str, items: tuple[e.Binding, ...], backwards: bool
) -> tuple[tuple[e.Binding, ...], str]:
    target = _of(earlier if backwards else later, function)
    present = set(target)
    same = tuple([b for b in items if b in present])
    if same:
        return same, "="
    recorded = _recorded(later, items, backwards)
    kept = tuple([b for b in recorded if b in present])
    if kept:
        return kept, "="
    variables = {b.var for b in items if b.var is not None}
    by_var = tuple([b for b in target if b.var in variables])
    if by_var:
        return by_var, "≈"
    if recorded == () and not backwards and _dropped(later, items):
        return (), "="
    return _aligned(earlier, later, function, items, backwards), "?"


def _recorded(later: Snapshot, items: tuple[e.Binding, ...], backwards: bool) -> tuple[e.Binding, ...]:
    """Follow the recorded rewrites of a stage to the end, through all steps of one pass."""
    followed = set(items)
    out: dict[e.Binding, None] = {}
    for rewrite in reversed(later.rewrites) if backwards else later.rewrites:
        source, target = (rewrite.after, rewrite.before) if backwards else (rewrite.before, rewrite.after)
        if any(item in followed for item in source):
            followed.update(target)
            out.update(dict.fromkeys(target))
    return tuple(out)


def _dropped(later: Snapshot, items: tuple[e.Binding, ...]) -> bool:
    return any(not r.after and any(item in r.before for item in items) for r in later.rewrites)


def _aligned(
    earlier: Snapshot, later: Snapshot, function: str, items: tuple[e.Binding, ...], backwards: bool
) -> tuple[e.Binding, ...]:
    old, new = _of(earlier, function), _of(later, function)
    sources = set(items)
    targets = []
    for pair in align(old, new):
        if pair.a is not None and pair.b is not None:
            a, b = old[pair.a], new[pair.b]
            if (b if backwards else a) in sources:
                targets.append(a if backwards else b)
    return tuple(targets)


def _of(stage: Snapshot, function: str) -> list[e.Binding]:
    fn = stage.module.functions.get(function)
    return list(bindings(fn)) if type(fn) is e.Function else []
