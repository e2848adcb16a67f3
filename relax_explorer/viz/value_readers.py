"""Where the values of a function come from, and which binding reads each last: two columns of a table of values."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts, has_facts
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.viz.visible import fit, visible

CELLS = 30  # of both columns
_SINCE = 7
_FOUND: PerNode[Readers] = PerNode()


class Readers:
    """The bindings of a function by the names of their variables."""

    def __init__(self, fn: e.Function) -> None:
        held = facts(fn)
        self._bindings, self._uses = held.bindings, held.uses
        self._named = {var.name: (var, number) for var, number in held.defs.items()}
        self._params = {param.name: param for param in fn.params}

    def cells(self, name: str) -> str:
        """The columns of a value: its binding, as `#3` or `param`, and its last reader; blank for a name from elsewhere."""
        var, number = self._named.get(name, (self._params.get(name), -1))
        if var is None:
            return " " * CELLS
        since = f"#{number + 1}" if number >= 0 else "param"
        return fit(f"{since:<{_SINCE}}{self._reader(var)}", CELLS).ljust(CELLS)

    def _reader(self, var: e.Var) -> str:
        last = max(self._uses.get(var, []), default=None)
        if last is None:
            return "none"
        if last == len(self._bindings):
            return "return"
        read_by = self._bindings[last].var
        return f"#{last + 1}" if read_by is None else f"{visible(read_by.name, 40)} #{last + 1}"


def readers(fn: e.Function) -> Readers:
    """The readers of a function, found once."""
    return _FOUND.of(fn, Readers)


def known_readers(fn: e.Function) -> Readers | None:
    """The readers of a function, if they are known or found at once."""
    return readers(fn) if has_facts(fn) else _FOUND.get(id(fn))


HEAD = f"{'since':<{_SINCE}}last reader".ljust(CELLS)
