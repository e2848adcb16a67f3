"""Place the polls of a kernel, which check the stop flag: rare enough to cost nothing, frequent enough to stop in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.traverse import children

SMALL = 1 << 22  # statements that may run without a poll
HEAVY = 1 << 10  # compared with so many statements, a poll is cheap
PIECE = 1 << 16  # iterations of a loop between two polls
SHORT = 1 << 28  # an innermost loop of fewer iterations ends soon, so it needs no poll

NEVER, EACH, PIECES = "never", "in each iteration", "between pieces"


def loop(extent: p.PrimExpr, work: int) -> tuple[str, int]:
    """Where a loop polls, and how many statements then run without a poll. The body runs `work` statements without one."""
    if isinstance(extent, p.IntImm) and extent.value * work <= SMALL:
        return NEVER, max(extent.value * work, 1)
    return (EACH, work) if work >= HEAVY else (PIECES, PIECE * work)


def nest(loops: Iterable[t.For], work: int) -> list[str]:
    """Where the loops of a nest poll, outermost first."""
    modes = []
    for node in reversed(list(loops)):
        mode, work = loop(node.extent, work)
        modes.append(mode)
    return modes[::-1]


class Polls:
    """The number of statements that run without a poll, for each statement of a PrimFunc."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def work(self, node: t.Stmt) -> int:
        """The number for one statement."""
        count = self._known.get(id(node))
        if count is None:
            inner = sum([self.work(child) for child in children(node)])
            count = loop(node.extent, max(inner, 1))[1] if type(node) is t.For else max(inner, 1)
            self._known[id(node)] = count
        return count
