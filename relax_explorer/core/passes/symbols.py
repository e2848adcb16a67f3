"""Normalize, NormalizeGlobalVar and AttachGlobalSymbol: normal form, and names of functions."""

from __future__ import annotations

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, map_blocks, map_operands, map_sequences
from relax_explorer.core.passes.contract import PassSite, failure_at, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM, SYMBOLS_ATTACHED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("Normalize", establishes=[NORMAL_FORM])
def normalize_pass(module: IRModule, at: PassSite) -> IRModule:
    """Bring every function into normal form and derive the StructInfo of every variable.

    Sub-expressions are bound to new variables, depth first and left to right. A module in normal form stays the same
    object.
    """
    new, report = normalize_with(module)
    at.report.extend(report)
    return new


@module_pass("NormalizeGlobalVar", requires=[NORMAL_FORM])
def normalize_global_var(module: IRModule, at: PassSite) -> IRModule:
    """Rename each public function to its `global_symbol`, with all references to it.

    A private function that has this name already gets another one: `f` becomes `f1`. Raises Failure if two functions have the
    same symbol.
    """
    return normalized_names(module, at)


def normalized_names(module: IRModule, at: PassSite) -> IRModule:
    """The module whose public functions are called like their symbols, for passes that end with this."""
    return with_names(module, at, _names(module))


def with_names(module: IRModule, at: PassSite, names: dict[str, str]) -> IRModule:
    """The module with new names of its functions, and references to them."""
    renamed = {name: new for name, new in names.items() if new != name}
    renamer = _Renamer(renamed, at)
    functions = {}
    for name, fn in module.functions.items():
        if isinstance(fn, e.Function) and not renamed.keys().isdisjoint(mentioned(fn)):
            fn = replace(fn, body=renamer.sequence(fn.body))
        functions[names[name]] = fn
    return module.having(functions)


def _names(module: IRModule) -> dict[str, str]:
    """The new names of all functions."""
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    for name, fn in module.functions.items():
        symbol = None if isinstance(fn, e.ExternFunc) else fn.attrs.get("global_symbol")
        if symbol is None:
            continue
        if symbol in owners:
            text = f"functions {owners[symbol]!r} and {name!r} have the global_symbol {symbol!r}"
            raise failure_at(codes.NEEDS_ANOTHER_PASS, text, fn, "the second one", "rename one of them")
        owners[symbol], names[name] = name, symbol
    fresh = FreshNames([*owners, *module.functions])
    for name in module.functions.keys() - names.keys():
        names[name] = fresh(name) if name in owners else name
    return names


class _Renamer:
    """Replaces references to functions in one function."""

    def __init__(self, names: dict[str, str], at: PassSite) -> None:
        self.names, self.at = names, at

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence with new references, also in branches, nested functions and its result."""
        return replace(map_blocks(seq, self._binding), body=self._value(seq.body))

    def _binding(self, binding: e.Binding) -> e.Binding:
        new = map_sequences(binding, self.sequence)
        if type(new.value) not in WITH_BLOCKS:
            new = replace(binding, value=self._value(binding.value))
        if new is not binding:
            self.at.record(binding, new)
        return new

    def _value(self, value: e.Expr) -> e.Expr:
        if type(value) is e.GlobalVar:
            return replace(value, name=self.names.get(value.name, value.name))
        return map_operands(value, self._value)


@module_pass("AttachGlobalSymbol", requires=[NORMAL_FORM], establishes=[SYMBOLS_ATTACHED])
def attach_global_symbol(module: IRModule, at: PassSite) -> IRModule:
    """Set `global_symbol` of every Relax function and PrimFunc that lacks it to its name, so that the build can link it.

    The attribute `system_lib_prefix` of the module begins the name and the symbol of each PrimFunc, so that libraries which are
    linked into one program don't share symbols.
    """
    prefix = str(module.attrs.get("system_lib_prefix", ""))
    taken = FreshNames(module.functions)
    names = {name: name for name in module.functions}
    for name, fn in module.functions.items():
        if prefix and type(fn) is PrimFunc and not name.startswith(prefix):
            names[name] = taken(prefix + name)
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=names[name])))
        elif isinstance(fn, (e.Function, PrimFunc)) and "global_symbol" not in fn.attrs:
            at.editor.replace(name, replace(fn, attrs=fn.attrs.having(global_symbol=name)))
    return with_names(at.editor.done(), at, names) if prefix else at.editor.done()
