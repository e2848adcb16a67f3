"""What passes read. A pass whose reading an earlier pass has removed finds nothing, and says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import contents
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    NO_DATAFLOW,
    NO_HIGH_LEVEL_OPS,
    NO_NESTED_FUNCTIONS,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
    Property,
)
from relax_explorer.core.program.module import IRModule

_ALLOCATION = e.op_ref("relax.builtin.alloc_tensor")


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What a pass looks for in a module. Nothing of it is in a module with the property `gone_with`, if there is such a property."""

    name: str
    gone_with: Property | None
    is_in: Callable[[IRModule], bool]


def _is_private(module: IRModule) -> bool:
    return any("global_symbol" not in fn.attrs for fn in module.relax_functions.values())


def _is_composite(module: IRModule) -> bool:
    return any("Composite" in fn.attrs for fn in module.relax_functions.values())


def _allocates(module: IRModule) -> bool:
    return any(_ALLOCATION in contents(fn).operators for fn in module.relax_functions.values())


def _lacks(of: Property) -> Callable[[IRModule], bool]:
    return lambda module: not of.holds(module)


DATAFLOW = Reading("dataflow blocks", NO_DATAFLOW, _lacks(NO_DATAFLOW))
OPERATORS = Reading("high-level operators", NO_HIGH_LEVEL_OPS, _lacks(NO_HIGH_LEVEL_OPS))
# Of a pass for a few operators, which most programs do not have: no order alone tells that it comes too late.
RARE_OPERATORS = Reading("high-level operators", None, _lacks(NO_HIGH_LEVEL_OPS))
PRIVATE = Reading("private functions", SYMBOLS_ATTACHED, _is_private)
COMPOSITES = Reading("composite functions", None, _is_composite)
NESTED = Reading("nested functions", NO_NESTED_FUNCTIONS, _lacks(NO_NESTED_FUNCTIONS))
ALLOCATIONS = Reading("allocations without a storage", ALLOCATION_LOWERED, _allocates)
LENGTHS = Reading("symbolic lengths", SHAPES_LOWERED, _lacks(SHAPES_LOWERED))


def operators(*names: str) -> Reading:
    """Operators that a pattern needs, all of them."""
    wanted = frozenset(e.op_ref(f"relax.{name}") for name in names)

    def is_in(module: IRModule) -> bool:
        return wanted <= {op for fn in module.relax_functions.values() for op in contents(fn).operators}

    return Reading(f"the operator {' and '.join(names)}", NO_HIGH_LEVEL_OPS, is_in)
