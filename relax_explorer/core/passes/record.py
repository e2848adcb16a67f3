"""The changes that passes record: which bindings became which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relax_explorer.core.ir.expr import Binding, Function
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule


class Rewrite(NamedTuple):
    """One recorded change: its rule, the old bindings, and the new ones (none when dropped).

    Provenance follows `before` and `after`; authors of passes need not help.
    """

    rule: str
    before: tuple[Any, ...]
    after: tuple[Any, ...]


def in_order(old: Function, new: Function) -> Iterator[tuple[Binding, Binding]]:
    """Each binding of a function with the one at its place in another, which may have more bindings under other names."""
    before, after = list(bindings(old)), list(bindings(new))
    if len(before) == len(after):
        yield from zip(before, after, strict=True)
        return
    rest = iter(after)
    for binding in before:
        name = binding.var.name if binding.var is not None else None
        yield binding, next(b for b in rest if (b.var.name if b.var is not None else None) == name)


@dataclass(slots=True)
class Record:
    """The changes that a pass recorded, in order.

    Most changes turn one binding into one: they are kept as their rule and the two. Of a function that kept the number and the
    order of its bindings, only the pair of functions is kept: `rewrites` compares them, and most callers never ask.
    """

    entries: list[Rewrite | tuple[str, Function, Function] | tuple[str, Binding, Binding]] = field(
        default_factory=list
    )
    derived: IRModule | None = None  # the latest module whose StructInfo was looked at

    def add(self, change: Rewrite) -> None:
        """Keep a change."""
        is_plain = len(change.before) == len(change.after) == 1
        self.entries.append((change.rule, change.before[0], change.after[0]) if is_plain else change)

    def rewrites(self) -> tuple[Rewrite, ...]:
        """Every change."""
        found: list[Rewrite] = []
        for entry in self.entries:
            if isinstance(entry, Rewrite):
                found.append(entry)
            else:
                rule, old, new = entry
                if isinstance(old, Function) and isinstance(new, Function):
                    pairs = in_order(old, new)
                    found += [Rewrite(rule, (a,), (b,)) for a, b in pairs if a is not b]
                else:
                    found.append(Rewrite(rule, (old,), (new,)))
        return tuple(found)

    def pairs(self) -> Iterator[tuple[Binding, Binding]]:
        """The changes of one binding into one."""
        for entry in self.entries:
            if type(entry) is Rewrite:
                continue
            _, old, new = entry
            if isinstance(old, Function) and isinstance(new, Function):
                yield from in_order(old, new)
            else:
                yield old, new  # type: ignore[misc]  # both are bindings

    def renew(self, by: dict[Any, Any], rule: str) -> None:
        """Let the changes refer to the bindings that took the place of others. What had not changed before has changed now."""
        old, self.entries = self.entries, []
        others = dict(by)
        for entry in old:
            if isinstance(entry, Rewrite):
                after = tuple([by.get(binding, binding) for binding in entry.after])
                for binding in entry.after:
                    others.pop(binding, None)
                self.entries.append(entry if after == entry.after else entry._replace(after=after))
                continue
            rule, before, new = entry
            if isinstance(before, Function) and isinstance(new, Function):
                pairs = [(a, b) for a, b in in_order(before, new) if a is not b]
                self.entries += [(rule, a, by.get(b, b)) for a, b in pairs]
                for _, binding in pairs:
                    others.pop(binding, None)
            elif not isinstance(before, Function):
                self.entries.append((rule, before, by.get(new, new)))
                others.pop(new, None)
        self.entries += [(rule, binding, new) for binding, new in others.items()]

    def merges(self) -> Iterator[Rewrite]:
        """The changes that made one value of several bindings."""
        for entry in self.entries:
            if isinstance(entry, Rewrite) and len(entry.before) > 1:
                yield entry
