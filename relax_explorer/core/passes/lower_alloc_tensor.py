"""LowerAllocTensor: give each tensor that memory planning left a storage of its own."""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, UINT8, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    ALLOCATION_LOWERED,
    BUILTINS_LOWERED,
    EXPLICIT_ALLOCATION,
    NORMAL_FORM,
    SHAPES_LOWERED,
)


@function_pass(
    "LowerAllocTensor",
    requires=[NORMAL_FORM, EXPLICIT_ALLOCATION],
    establishes=[ALLOCATION_LOWERED],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def lower_alloc_tensor(fn: e.Function, at: PassSite) -> e.Function:
    """Turn each `builtin.alloc_tensor` into `memory.alloc_storage` and `memory.alloc_tensor`."""
    names = FreshNames.of(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if not m.is_allocation(value):
            return binding
        lengths, dtype, device, scope = value.args
        assert isinstance(lengths, e.ShapeExpr)  # inference refuses other operands
        assert isinstance(dtype, e.DataTypeImm)
        size = m.shape((bytes_of(lengths.values, dtype.value),))
        storage = m.bound(
            names("storage"),
            m.operation(
                "relax.memory.alloc_storage", (size, device, scope, m.element_type(UINT8)), s.OBJECT, value
            ),
        )
        return storage, replace(binding, value=m.tensor_of(storage.var, value, 0))

    return rewrite(fn, at, rule)


def bytes_of(lengths: tuple[p.PrimExpr, ...], dtype: DType) -> p.PrimExpr:
    """The size of a tensor in bytes: the bytes of an element times the number of elements, without factors of 1."""
    size: p.PrimExpr = p.IntImm((dtype.bits * dtype.lanes + 7) // 8, INT64)
    for length in lengths:
        if isinstance(size, p.IntImm) and isinstance(length, p.IntImm):
            size = p.IntImm(size.value * length.value, INT64)
        elif getattr(size, "value", None) == 1 or getattr(length, "value", None) == 0:
            size = length
        elif getattr(length, "value", None) != 1:
            size = size * length
    return size
