"""What is loaded at its first use: names of a package (PEP 562), and modules of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType


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


class _Unloaded(ModuleType):
    """A module that loads itself when something of it is used. Other threads wait until it is whole."""

    def __getattribute__(self, name: str) -> object:
        found = super().__getattribute__
        if name in (
            "__spec__",
            "__class__",
        ):  # asked by imports and by isinstance, also of values nobody uses
            return found(name)
        with _LOADING:
            spec = self.__spec__
            if spec is not None and spec.loader_state is not None:
                spec.loader_state = (
                    None  # the thread that loads it comes here again, for what is there already
                )
                assert spec.loader is not None
                spec.loader.exec_module(self)
                object.__setattr__(self, "__class__", ModuleType)
        return found(name)


_LOADING = RLock()


def load_at_use(*names: str) -> None:
    """Load modules when something of them is used, not when they are imported: for a process of our own.

    Then nothing is imported from modules below them at the top of a module: it could wait for a thread that loads them, which waits for it.
    """
    for name in names:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            spec.loader_state = "not loaded"
            module = module_from_spec(spec)
            module.__class__ = _Unloaded
            sys.modules[name] = module
