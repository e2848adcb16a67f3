"""Edits a module function by function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.normalize_function import function_info
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.program.equal import structural_equal, structural_hash
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.program.prim_func_equal import prim_func_equal, prim_func_hash
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

_SYMBOL = "global_symbol"


def _names(module: IRModule) -> Iterator[str]:
    """The names of the functions of a module, and of missing functions that its functions call."""
    yield from module.functions
    for fn in module.relax_functions.values():
        yield from mentioned(fn)


class ModuleEditor:
    """A module under construction. Functions can be added, replaced and removed; `done` returns the module.

    Added functions come first, in the order of their names.
    """

    def __init__(self, module: IRModule) -> None:
        self.module = module
        self.attrs, self.global_infos = module.attrs, module.global_infos
        self._functions: dict[str, Member] = dict(module.functions)
        self._added: dict[str, Member] = {}
        self._unseen: set[str] = set()  # added functions that no returned module has
        self._fresh = FreshNames(_names(module))
        self._shared: dict[tuple[str, int], list[str]] = {}  # private functions added, by base and structure
        self._infos: dict[str, tuple[Member, s.StructInfo]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._functions or name in self._added

    def __getitem__(self, name: str) -> Member:
        return self._added[name] if name in self._added else self._functions[name]

    def fresh_name(self, base: str) -> str:
        """A name that was never used by a function: `add`, `add1`, …"""
        return self._fresh(base)

    def add(self, base: str, fn: Member) -> e.GlobalVar:
        """Add a function under a name based on `base`, and return its reference. Equal private functions are shared."""
        if not isinstance(fn, (e.Function, PrimFunc)) or _SYMBOL in fn.attrs:
            return self.add_named(self._fresh(base), fn)
        key = (base, prim_func_hash(fn) if isinstance(fn, PrimFunc) else structural_hash(fn))
        names = self._shared.setdefault(key, [])
        for name in names:
            if _equal(fn, self._added.get(name)):
                return self.reference(name)
        names.append(self._fresh(base))
        return self.add_named(names[-1], fn)

    def add_named(self, name: str, fn: Member) -> e.GlobalVar:
        """Add a function under a name from `fresh_name`, and return its reference. It is not shared."""
        if not isinstance(fn, e.ExternFunc) and _SYMBOL in fn.attrs:
            fn = replace(fn, attrs=fn.attrs.having(global_symbol=name))
        self._added[name] = fn
        self._unseen.add(name)
        return self.reference(name)

    def replace(self, name: str, fn: Member) -> None:
        """Replace a function. Raises KeyError if there is none."""
        functions = self._added if name in self._added else self._functions
        if name not in functions:
            raise KeyError(name)
        functions[name] = fn

    def remove(self, name: str) -> None:
        """Remove a function. Raises KeyError if there is none. Its name is not used again."""
        del (self._added if name in self._added else self._functions)[name]
        self._unseen.discard(name)

    def signature(self, name: str) -> s.StructInfo | None:
        """The StructInfo of a function, or None if there is no such function."""
        if name not in self:
            return None
        fn, cached = self[name], self._infos.get(name)
        if cached is None or cached[0] is not fn:
            cached = self._infos[name] = fn, _info(fn)
        return cached[1]

    def reference(self, name: str) -> e.GlobalVar:
        """The reference to a function of the module, with its signature."""
        return e.GlobalVar(name, self.signature(name))

    def set_attrs(self, attrs: Attrs) -> None:
        """Set the attributes of the module."""
        self.attrs = attrs

    def set_global_infos(self, infos: Attrs) -> None:
        """Set the devices and meshes of the module."""
        self.global_infos = infos

    def take(self, module: IRModule) -> None:
        """Continue with `module`, which was derived from this one. Functions added in the meantime are kept.

        Raises ValueError if `module` uses the name of such a function for another one.
        """
        if module is self.module:
            return
        clash = [name for name in self._unseen & module.functions.keys() if module[name] is not self[name]]
        if clash:
            raise ValueError(f"{clash[0]!r} names a function that was added already; ask for a fresh name")
        self._fresh.take(module.functions)
        self._functions = dict(module.functions)
        self._added = {name: fn for name, fn in self._added.items() if name in self._unseen}
        self._added = {name: fn for name, fn in self._added.items() if name not in module.functions}
        if module.attrs is not self.module.attrs:
            self.attrs = module.attrs
        if module.global_infos is not self.module.global_infos:
            self.global_infos = module.global_infos

    def done(self) -> IRModule:
        """The current module. The same object as at the start if nothing changed."""
        functions: Mapping[str, Member] = self._functions
        if self._added:
            functions = {**dict(sorted(self._added.items())), **functions}
        self._unseen.clear()
        return replace(self.module.having(functions), attrs=self.attrs, global_infos=self.global_infos)


def _equal(fn: e.Function | PrimFunc, other: Member | None) -> bool:
    if isinstance(fn, PrimFunc) or isinstance(other, PrimFunc):
        return isinstance(fn, PrimFunc) and isinstance(other, PrimFunc) and prim_func_equal(fn, other)
    return type(other) is e.Function and structural_equal(fn, other)


def _info(fn: Member) -> s.StructInfo:
    if isinstance(fn, PrimFunc):
        return prim_func_info(fn)
    if isinstance(fn, e.Function):
        return fn.struct_info or function_info(fn, True)
    return fn.struct_info or s.FuncStructInfo(None, s.OBJECT, False)
