"""Where a kernel looks at the flag that stops it: seldom enough to cost nothing, often enough to stop within milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.traverse import children

SMALL = 1 << 22  # statements that may run without a look
HEAVY = 1 << 10  # so many of them make a look cheap
PIECE = 1 << 16  # iterations of a loop between two looks
SHORT = (
    1 << 28
)  # so many iterations without a loop inside are over soon: no look when the lengths of a call say so

NEVER, EACH, PIECES = "never", "in each iteration", "between pieces"


def loop(extent: p.PrimExpr, work: int) -> tuple[str, int]:
    """Where a loop looks whose body runs `work` statements without a look, and how many statements then run without one."""
    if isinstance(extent, p.IntImm) and extent.value * work <= SMALL:
        return NEVER, max(extent.value * work, 1)
    return (EACH, work) if work >= HEAVY else (PIECES, PIECE * work)


def nest(loops: Iterable[t.For], work: int) -> list[str]:
    """Where the loops of a nest look, outermost first."""
    found = []
    for item in reversed(list(loops)):
        mode, work = loop(item.extent, work)
        found.append(mode)
    return found[::-1]


class Polls:
    """How many statements run without a look in each statement of a PrimFunc."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def work(self, node: t.Stmt) -> int:
        """Of one statement."""
        hit = self._known.get(id(node))
        if hit is None:
            inner = sum([self.work(child) for child in children(node)])
            hit = loop(node.extent, max(inner, 1))[1] if type(node) is t.For else max(inner, 1)
            self._known[id(node)] = hit
        return hit
