"""The names in force at a place of a function, and what a block binds until it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.prim import PrimExpr

Named = Expr | PrimExpr
_V = TypeVar("_V")


class LocalNames(dict[str, _V]):
    """Names with their values. A block costs what it binds, however many names are in force around it.

    Every change is noted while a block is open, and taken back when the block ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self._log: list[tuple[str, _V | None]] = []
        self._open = 0

    def __setitem__(self, name: str, value: _V) -> None:
        """Bind a name."""
        if self._open:
            self._log.append((name, self.get(name)))
        super().__setitem__(name, value)

    def hide(self, name: str) -> None:
        """Forget a name until the open block ends."""
        value = super().pop(name, None)
        if self._open and value is not None:
            self._log.append((name, value))

    @contextmanager
    def block(self, stays: Callable[[str, _V], bool] = lambda name, value: False) -> Iterator[None]:
        """Within it names are bound that end with it, other than those that stay."""
        mark = len(self._log)
        self._open += 1
        try:
            yield
        finally:
            changed = {name: self.get(name) for name, _ in self._log[mark:]}
            for name, before in reversed(self._log[mark:]):
                if before is None:
                    super().pop(name, None)
                else:
                    super().__setitem__(name, before)
            del self._log[mark:]
            self._open -= 1
            for name, value in changed.items():
                if value is not None and stays(name, value):
                    self[name] = value


class Scope(LocalNames[Named]):
    """The names of a Relax function."""
