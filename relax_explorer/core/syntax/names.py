"""Display names: unique within a function, and as close to the hints as Python's grammar allows."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.prim import PrimVar

# Constructs start with `T`, `R` and `I`. A variable with such a name would shadow them.
RESERVED = frozenset({"R", "T", "I", "cls", "self", "metadata", "TypeVar", "Module", *keyword.kwlist})
_BAD = re.compile(r"\W", re.ASCII)


def usable(hint: str) -> str:
    """`hint` as a Python identifier that shadows nothing."""
    if hint.isidentifier() and hint.isascii() and hint not in RESERVED:
        return hint
    name = hint if hint.isascii() and hint.isidentifier() else _BAD.sub("_", hint) or "v"
    if name[0].isdigit() or name == "_":  # which is kept for results that nobody reads
        name = f"v{name}"
    return f"{name}_" if name in RESERVED else name


def shape_name(hint: str) -> str:
    """The name of a shape variable. Results that nobody uses have the name `_`, in the same scope."""
    name = usable(hint)
    return "v" if name == "_" else name


def function_name(name: str) -> str:
    """The name of a function of the module as a Python identifier."""
    return name if name.isidentifier() and not keyword.iskeyword(name) else usable(name)


class Names(dict[Any, str]):
    """The unique name of each variable of a scope. The first one gets its hint, a later one `hint_1`."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        super().__init__()
        self._used: set[str] = set(taken)
        self._next: dict[str, int] = {}
        self._order: list[Any] = []

    # Called for each variable of each line, so it is a builtin and not a Python function.
    __call__ = dict.__getitem__

    def __missing__(self, var: Var | PrimVar) -> str:
        return self.assign(var, var.name)

    def assign(self, var: object, hint: str) -> str:
        """Name `var` after `hint`."""
        name = base = usable(hint)
        if base == "_" and not isinstance(var, PrimVar):  # several unused results may share this name
            self[var] = "_"
            return "_"
        if base == "_" and base in self._used:
            name = base = shape_name(base)
        if name in self._used:
            count = self._next.get(base, 0)
            while name in self._used:
                count += 1
                name = f"{base}_{count}"
            self._next[base] = count
        self._used.add(name)
        self[var] = name
        self._order.append(var)
        return name

    def mark(self) -> int:
        """A mark for `release`."""
        return len(self._order)

    def release(self, mark: int) -> None:
        """Free the names assigned since `mark`, whose scope has ended."""
        for var in self._order[mark:]:
            name = self[var]
            self._used.discard(name)
            self._next.pop(usable(var.name) if hasattr(var, "name") else name, None)
        del self._order[mark:]

    def fix(self, var: object, name: str) -> None:
        """Give `var` exactly this name, even if another variable has it."""
        self[var] = name
        self._used.add(name)

    def known(self, var: object) -> bool:
        """True if `var` has a name."""
        return var in self
