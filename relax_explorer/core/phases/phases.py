"""Phases: sets of properties, in the order of lowering. Others may be registered between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import PHASE_ORDER, Op, Phase
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    EXPLICIT_ALLOCATION,
    NO_DATAFLOW,
    NO_HIGH_LEVEL_OPS,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PROPERTIES,
    PURITY_ERASED,
    REGISTERED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
    Property,
)
from relax_explorer.core.program.module import IRModule

# A module is in the last phase whose properties all hold.
PHASES: dict[str, tuple[Property, ...]] = {
    Phase.PARSED: (),
    Phase.HIGH: (NORMAL_FORM,),
    Phase.LEGALIZED: (NORMAL_FORM, NO_HIGH_LEVEL_OPS),
    Phase.NON_DATAFLOW: (NORMAL_FORM, NO_HIGH_LEVEL_OPS, NO_DATAFLOW),
    Phase.LOWERED: (NORMAL_FORM, NO_HIGH_LEVEL_OPS, NO_DATAFLOW, PURITY_ERASED, EXPLICIT_ALLOCATION),
    Phase.VM: (
        NORMAL_FORM,
        NO_HIGH_LEVEL_OPS,
        NO_DATAFLOW,
        NO_NESTED_FUNCTIONS,
        PURITY_ERASED,
        EXPLICIT_ALLOCATION,
        ALLOCATION_LOWERED,
        BUILTINS_LOWERED,
        SHAPES_LOWERED,
        SYMBOLS_ATTACHED,
    ),
}
_OWN: dict[str, tuple[Property, ...]] = {}  # registered phases, each with the properties that came with it

Test = Callable[[IRModule], "tuple[Any, str] | None"]


def phase(module: IRModule) -> str:
    """The last phase whose properties the module has."""
    return [name for name, needed in PHASES.items() if all(q.holds(module) for q in needed)][-1]


def too_early(module: IRModule) -> tuple[Any, str] | None:
    """The first call of an operator that only phase `lowered` and later ones may have, with a sentence."""
    for fn in module.relax_functions.values():
        early = {ref: op for ref in contents(fn).operators if (op := _lowered(ref)) is not None}
        for binding in bindings(fn) if early else ():
            op = early.get(binding.value.op) if type(binding.value) is e.Call else None
            if op is not None:
                return binding, f"{op.name} belongs to phase {op.phase}"
    return None


def _lowered(ref: e.Expr) -> type[Op] | None:
    """The operator that a reference means, if only lowered programs may call it."""
    op = find(ref.name) if type(ref) is e.OpRef else None
    return op if op is not None and op.phase.includes(Phase.LOWERED) else None


_CLOSURES = ("relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure")


def closure_calls(module: IRModule) -> list[tuple[e.Binding, str]]:
    """The calls of operators for closures, which LambdaLift makes, each with the name of its operator."""
    return [
        (binding, binding.value.op.name)
        for fn in module.relax_functions.values()
        for binding in bindings(fn)
        if type(binding.value) is e.Call
        and type(binding.value.op) is e.OpRef
        and binding.value.op.name in _CLOSURES
    ]


def register_property(name: str, meaning: str, violation: Test) -> Property:
    """Add a property. `violation` returns the first place where a module lacks it, with a sentence, or None.

    Passes may require, establish and invalidate it, and it is checked after passes. Raises ValueError for a name in use.
    """
    if any(q.name == name for q in PROPERTIES):
        raise ValueError(f"there is a property {name!r} already")
    if not (name.isidentifier() and name.isupper()):
        raise ValueError(f"{name!r} is not a valid property name; write it as NO_DATAFLOW")
    made = Property(name, meaning, violation)
    PROPERTIES.append(made)
    REGISTERED.append(made)
    return made


def register_phase(name: str, after: str, invariants: Sequence[Property | Test]) -> str:
    """Add a phase behind phase `after`. It has the properties of that phase, and the invariants.

    An invariant is a property, or a test as for `register_property`; its name then is the property, and its docstring the meaning.
    Later phases do not have the invariants: a module may skip the phase. Raises ValueError for a wrong name.
    """
    if name in PHASES:
        raise ValueError(f"there is a phase {name!r} already")
    if after not in PHASES:
        raise ValueError(f"there is no phase {after!r}; there are {', '.join(PHASES)}")
    new = [item for item in invariants if not isinstance(item, Property)]
    made = {test: register_property(test.__name__.upper(), _meaning(test), test) for test in new}
    own = tuple([item if isinstance(item, Property) else made[item] for item in invariants])
    _OWN[name] = tuple(made.values())
    entries = list(PHASES.items())
    entries.insert(list(PHASES).index(after) + 1, (name, (*PHASES[after], *own)))
    PHASES.clear()
    PHASES.update(entries)
    PHASE_ORDER[:] = PHASES
    return name


def _meaning(test: Test) -> str:
    return (test.__doc__ or test.__name__.replace("_", " ")).strip().splitlines()[0].rstrip(".")


def unregister_phase(name: str) -> None:
    """Remove a phase added by `register_phase`, with its tests. Raises KeyError for any other."""
    if name not in _OWN:
        raise KeyError(f"no phase {name!r} was registered")
    own = _OWN.pop(name)
    del PHASES[name]
    PHASE_ORDER.remove(name)
    for made in own:
        unregister_property(made.name)


def unregister_property(name: str) -> None:
    """Remove a property added by `register_property`, unless a phase has it. Raises KeyError for any other."""
    found = [q for q in REGISTERED if q.name == name and not any(q in needed for needed in PHASES.values())]
    if not found:
        raise KeyError(f"no property {name!r} can be removed")
    PROPERTIES.remove(found[0])
    REGISTERED.remove(found[0])
