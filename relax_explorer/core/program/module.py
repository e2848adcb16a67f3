"""The module: functions by name, attributes, and global infos."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import owner_node
from relax_explorer.core.shown import Shown
from relax_explorer.core.source import Source

if TYPE_CHECKING:
    from relax_explorer.core.ir.expr import ExternFunc, OpaqueFunction
    from relax_explorer.core.tir.stmt import PrimFunc

Member: TypeAlias = "Function | PrimFunc | OpaqueFunction | ExternFunc"
"""What a name of a module stands for."""


@owner_node
class IRModule(Shown):
    """An immutable program. A pass maps a module to a new module.

    `functions` maps names to Relax functions, PrimFuncs and opaque members, in the order of the text. `dialect` is the
    dialect of the source text. `refused` tells what TVM 0.27 would not read in that text, or not as part of the program; the result of a
    pass has nothing of it.
    """

    functions: Mapping[str, Member]
    attrs: Attrs = EMPTY
    global_infos: Attrs = EMPTY
    name: str = "Module"
    dialect: str = "tvm-0.27"
    source: Source | None = None
    refused: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> Member:
        return self.functions[name]

    def __contains__(self, name: str) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __bool__(self) -> bool:
        return True  # a module without functions is one, too

    @property
    def relax_functions(self) -> Mapping[str, Function]:
        """The Relax functions, by name. They are looked up once, for loops over functions ask for others."""
        return _RELAX_FUNCTIONS.of(self, _relax_functions)

    def having(self, functions: Mapping[str, Member]) -> IRModule:
        """The module with these functions. The same object if no function changed."""
        old = self.functions
        if len(old) == len(functions) and all(old.get(name) is fn for name, fn in functions.items()):
            return self
        return IRModule(dict(functions), self.attrs, self.global_infos, self.name, self.dialect, self.source)

    def script(self, dialect: str | None = None) -> str:
        """The module as TVMScript text in `dialect` (default `tvm-0.27`)."""
        from relax_explorer.core.syntax.printer import (
            print_module,
        )  # imported here: the printer depends on the module

        return print_module(self, dialect or "tvm-0.27")

    def __deepcopy__(self, memo: object) -> IRModule:
        return self  # it can't be changed

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as JSON: nodes are compared by identity, which pickling does not keep."""
        from relax_explorer.core.syntax.dump import (
            from_json,
            to_json,
        )  # imported here: it depends on the module

        return from_json, (to_json(self),)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return f"<IRModule {self.name}: {', '.join(list(self.functions)[:5]) or 'empty'}{', …' * (len(self.functions) > 5)}>"


_RELAX_FUNCTIONS: PerNode[Mapping[str, Function]] = PerNode()


def _relax_functions(module: IRModule) -> Mapping[str, Function]:
    return MappingProxyType({name: fn for name, fn in module.functions.items() if type(fn) is Function})
