"""StaticPlanBlockMemory: let tensors whose lives do not overlap share storages."""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.readings import ALLOCATIONS
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.memory_plan import DYNAMIC_RESULTS, Storage, plan
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    EXPLICIT_ALLOCATION,
    MEMORY_PLANNED,
    NORMAL_FORM,
    SHAPES_LOWERED,
)


@function_pass(
    "StaticPlanBlockMemory",
    has_profiles=True,
    reads=[ALLOCATIONS],
    requires=[NORMAL_FORM, EXPLICIT_ALLOCATION],
    establishes=[MEMORY_PLANNED],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def static_plan_block_memory(fn: e.Function, at: PassSite) -> e.Function:
    """Turn each `builtin.alloc_tensor` whose life ends in its block into a tensor in a storage, which later ones use again.

    A tensor that leaves its block keeps its `builtin.alloc_tensor`: results, branches, and operands of packed functions whose
    result is used. The attribute `tir_var_upper_bound` of a function gives shape variables a largest value, for the sizes. With the
    attribute `relax.memory_plan_dynamic_func_output`, which goes, such a tensor of symbolic lengths has a storage of its own. In the
    profile `tvm`, operands of packed functions are planned as well, though the result may be one of them, and operands of operators that
    are not lowered are not.
    """
    storages = plan(fn, at.editor.done(), at.as_tvm).storages
    if fn.attrs.get(DYNAMIC_RESULTS):
        fn = replace(fn, attrs=fn.attrs.without(DYNAMIC_RESULTS))
    if not storages:
        return fn
    by_var = {binding.var: storage for binding, storage in storages.items()}
    names = FreshNames.of(fn)
    emitted: dict[Storage, e.Var] = {}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value, storage = binding.value, by_var.get(binding.var)
        if storage is None or not m.is_allocation(value):
            return binding
        if storage in emitted:
            return replace(binding, value=m.tensor_of(emitted[storage], value, 0))
        first = m.bound(names("storage"), _allocated(storage, value))
        emitted[storage] = first.var
        return first, replace(binding, value=m.tensor_of(first.var, value, 0))

    return rewrite(fn, at, rule)


def _allocated(storage: Storage, like: e.Expr) -> e.Call:
    device, scope = storage.place
    args = (m.shape((storage.size,)), device, scope, m.element_type(storage.dtype))
    return m.operation("relax.memory.alloc_storage", args, s.OBJECT, like)
