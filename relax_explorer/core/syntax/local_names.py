"""The names in scope at a place of a function. Names bound in a block go out of scope at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.prim import PrimExpr

Named = Expr | PrimExpr
_V = TypeVar("_V")


class LocalNames(dict[str, _V]):
    """Names with their values. The cost of a block depends on its own bindings, not on the names around it.

    While a block is open, every change is logged. The end of the block undoes the changes.
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
        """Remove a name until the open block ends."""
        value = super().pop(name, None)
        if self._open and value is not None:
            self._log.append((name, value))

    @contextmanager
    def block(self, stays: Callable[[str, _V], bool] = lambda name, value: False) -> Iterator[None]:
        """A block whose names go out of scope at its end, except names for which `stays` returns True."""
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
