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
    is_high_level,
    symbolic_length,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.machine_checks import is_lowered

_ALLOCATION, _ASSERT = e.op_ref("relax.builtin.alloc_tensor"), e.op_ref("relax.assert_op")


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What a pass looks for in functions. Nothing of it is in a module with the property `gone_with`, if there is such a property."""

    name: str
    gone_with: Property | None
    in_function: Callable[[e.Function], bool]

    def is_in(self, module: IRModule) -> bool:
        """True if a function of the module has it."""
        return any(map(self.in_function, module.relax_functions.values()))


def _has_operators(fn: e.Function) -> bool:
    return any(type(op) is e.OpRef and is_high_level(op.name) for op in contents(fn).operators)


def _has_checks(fn: e.Function) -> bool:
    found = contents(fn)
    return e.MatchCast in found.bindings or _ASSERT in found.operators or is_lowered(fn)


DATAFLOW = Reading("dataflow blocks", NO_DATAFLOW, lambda fn: e.DataflowBlock in contents(fn).blocks)
OPERATORS = Reading("high-level operators", NO_HIGH_LEVEL_OPS, _has_operators)
# Of a pass for a few operators, which most programs do not have: no order alone tells that it comes too late.
RARE_OPERATORS = Reading("high-level operators", None, _has_operators)
PRIVATE = Reading("private functions", SYMBOLS_ATTACHED, lambda fn: "global_symbol" not in fn.attrs)
COMPOSITES = Reading("composite functions", None, lambda fn: "Composite" in fn.attrs)
NESTED = Reading("nested functions", NO_NESTED_FUNCTIONS, lambda fn: e.Function in contents(fn).values)
ALLOCATIONS = Reading(
    "allocations without a storage", ALLOCATION_LOWERED, lambda fn: _ALLOCATION in contents(fn).operators
)
LENGTHS = Reading("symbolic lengths", SHAPES_LOWERED, lambda fn: symbolic_length(fn) is not None)
CASTS = Reading("match_casts", None, lambda fn: e.MatchCast in contents(fn).bindings)
CHECKS = Reading("match_casts, assertions, and checks in virtual machine form", None, _has_checks)


def operators(*names: str) -> Reading:
    """Operators that a pattern needs, all of them."""
    wanted = frozenset(e.op_ref(f"relax.{name}") for name in names)
    name = f"the operator {' and '.join(names)}"
    return Reading(name, NO_HIGH_LEVEL_OPS, lambda fn: wanted <= contents(fn).operators)
