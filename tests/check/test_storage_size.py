"""The bytes of a storage: what its allocation says, in each of the three forms that lowering gives it."""

from __future__ import annotations

import pytest

from relax_explorer.core.check.storage import STORAGES, storage_size
from relax_explorer.core.cost.amounts import amount, text
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.dtype import dtype as dtype_of

N = p.PrimVar("n", INT64)
ZERO = e.PrimValue(p.IntImm(0, INT64))
MEMORY, VM, BUILTIN = "relax.memory.alloc_storage", "relax.vm.alloc_storage", "vm.builtin.alloc_storage"


def shape(*lengths: int | p.PrimExpr) -> e.ShapeExpr:
    return e.ShapeExpr(tuple(p.IntImm(item, INT64) if isinstance(item, int) else item for item in lengths))


def args(name: str, dims: e.Expr, dtype: str) -> tuple[e.Expr, ...]:
    """The operands of an allocation with the dtype at its place."""
    rest: list[e.Expr] = [ZERO] * (STORAGES[name] - 1)
    return (dims, *rest, e.DataTypeImm(dtype_of(dtype)))


def size(name: str, dims: e.Expr, dtype: str) -> str | None:
    found = storage_size(name, args(name, dims, dtype))
    return None if found is None else text(amount(found))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "bool"])
def test_planned_storages_have_as_many_bytes_as_their_shape_says_whatever_the_dtype(dtype: str) -> None:
    assert size(MEMORY, shape(16384), dtype) == "16,384"
    assert size(MEMORY, shape(p.Mul(p.IntImm(128, INT64), N)), dtype) == "128·n"


@pytest.mark.parametrize("name", [VM, BUILTIN])
@pytest.mark.parametrize(
    ("dtype", "width"),
    [("uint8", 1), ("float16", 2), ("float32", 4), ("float64", 8), ("bool", 1), ("float32x4", 16)],
)
def test_storages_of_the_machine_count_elements(name: str, dtype: str, width: int) -> None:
    assert size(name, shape(1000), dtype) == f"{1000 * width:,}"
    assert size(name, shape(10, N), dtype) == f"{10 * width}·n"


def test_an_empty_storage_has_no_bytes() -> None:
    assert size(MEMORY, shape(0), "uint8") == "0"
    assert size(VM, shape(0, N), "float32") == "0"


def test_what_is_not_known_has_no_size() -> None:
    variable = e.Var("shape", s.ShapeStructInfo(ndim=1))
    assert size(MEMORY, variable, "uint8") is None
    assert size(VM, variable, "uint8") is None
    assert storage_size(VM, (shape(8), ZERO)) is None  # without its dtype
    assert storage_size(VM, (shape(8), ZERO, ZERO)) is None  # in whose place a number stands
    assert storage_size(BUILTIN, (shape(8),)) is None
    assert size(VM, shape(2**62), "float64") is None  # which no memory holds
    assert size(MEMORY, shape(2**62), "float64") == f"{2**62:,}"
