"""Names of a package that are loaded at their first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def later(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names live in modules below it, or in those that `homes` names in full.

    A package that imports its own modules as it is loaded is a circle: two threads that enter it at two places wait for each other,
    and Python then hands out a module that is half loaded.
    """

    def found(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home if home.startswith("relax_explorer.") else f"{package}.{home}")
        value = module if home.rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return found
