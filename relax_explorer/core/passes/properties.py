"""Properties that passes require, establish and keep. Each can be checked on a module. Phases are sets of properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.check.normal_form import violations as normal_form_violations
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations as well_formed_violations
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import collector_at_rest
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Phase
from relax_explorer.core.program.module import IRModule


@dataclass(frozen=True, eq=False)
class Property:
    """A predicate on modules. `violation` returns the first offending binding with a sentence, or None if the property holds."""

    name: str
    meaning: str
    violation: Callable[[IRModule], tuple[Any, str] | None]

    def holds(self, module: IRModule) -> bool:
        """True if the module has the property."""
        return self.violation(module) is None

    def __repr__(self) -> str:
        return self.name


def _each_binding(test: Callable[[e.Binding], str]) -> Callable[[IRModule], tuple[Any, str] | None]:
    def violation(module: IRModule) -> tuple[Any, str] | None:
        for fn in module.relax_functions.values():
            for binding in bindings(fn):
                problem = test(binding)
                if problem:
                    return binding, problem
        return None

    return violation


def _first_error(rule: Callable[[IRModule], Any]) -> Callable[[IRModule], tuple[Any, str] | None]:
    def violation(module: IRModule) -> tuple[Any, str] | None:
        for diagnostic in rule(module):
            if diagnostic.is_error:
                return diagnostic.primary.place if diagnostic.primary else module, diagnostic.message
        return None

    return violation


def _high_level(binding: e.Binding) -> str:
    value = binding.value
    if type(value) is not e.Call or type(value.op) is not e.OpRef:
        return ""
    op = find(value.op.name)
    return f"{value.op.name} is still there" if op is not None and op.is_lowered() else ""


def _dataflow(module: IRModule) -> tuple[Any, str] | None:
    for fn in module.relax_functions.values():
        for block in fn.body.blocks:
            if type(block) is e.DataflowBlock:
                return block, "a dataflow block is still there"
    return None


def _not_derived(module: IRModule) -> tuple[Any, str] | None:
    new, _ = normalize_with(module)
    for name, fn in module.relax_functions.items():
        if fn is new[name]:
            continue
        for old, derived in zip(bindings(fn), bindings(new[name]), strict=False):
            if old is not derived:
                return old, "its StructInfo is not what its value gives"
        return fn, "its StructInfo, or the order of its blocks, is not what its body gives"
    return None


def _alias(binding: e.Binding) -> str:
    plain = type(binding) is e.VarBinding and isinstance(binding.value, e.Var)
    return "a variable that only renames another" if plain and isinstance(binding.var, e.DataflowVar) else ""


WELL_FORMED = Property(
    "WELL_FORMED", "every rule of the language holds", _first_error(well_formed_violations)
)
NORMAL_FORM = Property(
    "NORMAL_FORM", "each binding is one operation over leaves", _first_error(normal_form_violations)
)
NORMALIZED = Property("NORMALIZED", "normalizing changes nothing: all StructInfo is derived", _not_derived)
NO_HIGH_LEVEL_OPS = Property(
    "NO_HIGH_LEVEL_OPS", "operators with a lowering are calls of kernels", _each_binding(_high_level)
)
NO_DATAFLOW = Property("NO_DATAFLOW", "no dataflow block is left", _dataflow)
CANONICAL_BINDINGS = Property(
    "CANONICAL_BINDINGS", "no dataflow variable only renames another", _each_binding(_alias)
)

PROPERTIES: tuple[Property, ...] = (
    WELL_FORMED,
    NORMAL_FORM,
    NORMALIZED,
    CANONICAL_BINDINGS,
    NO_HIGH_LEVEL_OPS,
    NO_DATAFLOW,
)
# A module is in the last phase whose properties all hold. No property identifies virtual machine programs.
PHASES: dict[Phase, tuple[Property, ...]] = {
    Phase.PARSED: (),
    Phase.HIGH: (NORMAL_FORM,),
    Phase.LEGALIZED: (NORMAL_FORM, NO_HIGH_LEVEL_OPS),
    Phase.LOWERED: (NORMAL_FORM, NO_HIGH_LEVEL_OPS, NO_DATAFLOW),
}


@collector_at_rest()
def holding(module: IRModule, well_formed: bool | None = None) -> set[Property]:
    """The properties of a module. `well_formed` is the result of that check, if known."""
    known = {} if well_formed is None else {WELL_FORMED: well_formed}
    return {q for q in PROPERTIES if (known[q] if q in known else q.holds(module))}


def phase(module: IRModule) -> Phase:
    """The last phase whose properties the module has."""
    return [name for name, needed in PHASES.items() if all(q.holds(module) for q in needed)][-1]
