"""What is new in a module: the bindings that no function of this name had before. What holds of single bindings is only asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import WITH_BLOCKS, bindings, contents
from relax_explorer.core.program.module import IRModule

Read = Callable[[e.Function], Iterable[e.Binding]]
"""Tells the bindings of a function that are looked at: all (`walk.bindings`), or the new ones."""


def identities(fn: e.Function) -> frozenset[int]:
    """The identities of the bindings of a function."""
    if WITH_BLOCKS.isdisjoint(contents(fn).values):
        return frozenset([id(binding) for block in fn.body.blocks for binding in block.bindings])
    return frozenset(map(id, bindings(fn)))


class NewBindings:
    """The bindings of a module that the module before did not have, function by function, each found at the first request."""

    def __init__(self, module: IRModule, before: IRModule) -> None:
        self.before = before
        self._names = {id(fn): name for name, fn in module.functions.items()}
        self._found: dict[int, list[e.Binding]] = {}

    def old(self, fn: e.Function) -> e.Function | None:
        """The function of the module before that has this name."""
        found = self.before.functions.get(self._names[id(fn)])
        return found if type(found) is e.Function else None

    def of(self, fn: e.Function) -> list[e.Binding]:
        """The new bindings of a function of the module, in text order, those of branches and nested functions too."""
        number = id(fn)
        if number not in self._found:
            old = self.old(fn)
            if old is not None and old.body is fn.body:
                self._found[number] = []
            else:
                known = frozenset[int]() if old is None else identities(old)
                self._found[number] = [binding for binding in bindings(fn) if id(binding) not in known]
        return self._found[number]
