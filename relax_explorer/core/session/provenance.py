"""The history of a binding from stage to stage; each answer has a certainty.

The first match wins: same object (`=`), recorded rewrite (`=`), same variable (`≈`), alignment, inside of functions that a pass
outlined or inlined too: `≈` if the computation or name and callee are the same, as in the stages that a build wrote to files, else
`?`, a guess by name, operator and order. A value may also be gone, or not made yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.align import align
from relax_explorer.core.session.pairing import base_name, head_of, name_of
from relax_explorer.core.session.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Trace:
    """A value in one stage: its bindings there (none when gone), and the certainty (`=`, `≈`, `?`).

    `stage` is its place among the stages, `label` the number that users see. `is_before` holds for stages
    before the one that the history was asked in.
    """

    stage: int
    made_by: str
    bindings: tuple[e.Binding, ...]
    mark: str
    label: int
    is_before: bool = False

    @property
    def gone(self) -> bool:
        """True if the value has no binding in this stage."""
        return not self.bindings

    @property
    def absence(self) -> str:
        """Why the value has no binding in this stage."""
        return "not made yet" if self.is_before else "gone"


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
        current = Trace(target.number, target.made_by, links[0], links[1], target.label, backwards)
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
    return _aligned(earlier, later, function, items, backwards)


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
) -> tuple[tuple[e.Binding, ...], str]:
    old, new = _opened(earlier, later, function), _opened(later, earlier, function)
    sources = set(items)
    targets: dict[e.Binding, None] = {}
    is_likely = True
    for pair in align([part for part, _ in old], [part for part, _ in new]):
        if pair.a is not None and pair.b is not None:
            a, b = old[pair.a][1], new[pair.b][1]
            if (b if backwards else a) in sources:
                targets[a if backwards else b] = None
                is_likely &= pair.kind != "changed" or _is_same_call(old[pair.a][0], new[pair.b][0])
    return tuple(targets), "≈" if targets and is_likely else "?"


def _is_same_call(old: e.Binding, new: e.Binding) -> bool:
    """True if two bindings of one name call the same function or kernel, or an operator and its kernel."""
    if name_of(old) is None or name_of(old) != name_of(new):
        return False
    return base_name(head_of(old)) == base_name(head_of(new))


def _opened(stage: Snapshot, other: Snapshot, function: str) -> list[tuple[e.Binding, e.Binding]]:
    """The bindings of a function, each with the one that holds it.

    That is the binding itself, but for a call of a function that `other` does not have: a pass outlined it or inlined it. Such a call holds the
    bindings of that function.
    """
    found = []
    for binding in _of(stage, function):
        value = binding.value
        callee = value.op.name if type(value) is e.Call and type(value.op) is e.GlobalVar else None
        inner = _of(stage, callee) if callee is not None and callee not in other.module.functions else []
        found += [(part, binding) for part in inner or (binding,)]
    return found


def _of(stage: Snapshot, function: str) -> list[e.Binding]:
    fn = stage.module.functions.get(function)
    return list(bindings(fn)) if type(fn) is e.Function else []
