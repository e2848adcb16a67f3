"""Element-wise operators as one compiled loop: each element is read once, and the values between stay in registers.

Only operators whose elements are given by one rule of arithmetic take part. So the values are those of numpy, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec import tir_cache
from relax_explorer.core.exec.values import Value

if TYPE_CHECKING:
    from relax_explorer.core.exec.tir_text import Text

# The result of each operator. Integers wrap around; the others need floats. A comparison with NaN is false.
_OF_INTEGERS = {"relax.add": "+", "relax.subtract": "-", "relax.multiply": "*"}
_OPERATORS = {**_OF_INTEGERS, "relax.divide": "/", "relax.negative": "neg"}
_FUNCTIONS = {
    "relax.abs": "abs",
    "relax.nn.relu": "larger",
    "relax.maximum": "larger",
    "relax.minimum": "smaller",
}
# The operator, the numbers of its operands, the number of its result.
Call = tuple[str, tuple[int, ...], int]


def operands(calls: Sequence[Call]) -> list[int]:
    """The values that calls take from outside, in order."""
    inside = {target for _, _, target in calls}
    return list(dict.fromkeys([number for _, args, _ in calls for number in args if number not in inside]))


def has_loop(calls: Sequence[Call], dtype: np.dtype[Any]) -> bool:
    """True if calls on operands of one dtype have a loop."""
    if dtype.name in ("float32", "float64"):
        return all(name in _OPERATORS or name in _FUNCTIONS for name, _, _ in calls)
    return dtype.kind in "iu" and dtype.isnative and all(name in _OF_INTEGERS for name, _, _ in calls)


@lru_cache(256)
def compiled(
    calls: tuple[Call, ...], kept: tuple[int, ...], single: frozenset[int], dtype: str, cache: Path | None
) -> Text:
    """The function of calls that have a loop. It takes the results that are `kept`, the operands, their number of elements, a note
    and the address of the stop flag. Arrays have one axis, and those in `single` one element. None if it can't be compiled.
    """
    from relax_explorer.core.exec.llvm_kernel import Param  # llvmlite takes a while to load
    from relax_explorer.core.exec.tir_text import NUMBER, compiled_text

    number: ir.Expr = ir.Var("i")
    values: dict[int, ir.Expr] = {
        slot: ir.Element(f"a{slot}", dtype, (ir.Const(0) if slot in single else number,))
        for slot in operands(calls)
    }
    names = [*[f"r{slot}" for slot in kept], *[f"a{slot}" for slot in values], "n"]
    body: list[ir.Stmt] = []
    for place, (name, args, target) in enumerate(calls):
        body.append(ir.Assign(f"t{place}", _formula(name, dtype, [values[slot] for slot in args])))
        values[target] = ir.Var(f"t{place}")
    body += [ir.Store(ir.Element(f"r{slot}", dtype, (number,)), values[slot]) for slot in kept]
    routine = ir.Routine(tuple(names), (ir.For("i", ir.Const(0), ir.Var("n"), tuple(body)),))
    folder = None if cache is not None and tir_cache.refusal(cache) else cache
    params = [Param("", dtype, (1,))] * (len(names) - 1)  # what the memory holds; nobody reads the lengths
    return compiled_text(routine, folder, [*params, NUMBER], True)


def _formula(name: str, kind: str, args: list[ir.Expr]) -> ir.Expr:
    if name in _OPERATORS:
        return ir.Convert(kind, ir.Op(_OPERATORS[name], tuple(args)))
    zero = [ir.Convert(kind, ir.Const(0))] if name == "relax.nn.relu" else []
    return ir.Apply(_FUNCTIONS[name], (*args, *zero))


def flat(value: Value, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
    """An operand for a loop: an array of this shape as one axis, or one element. None for another one."""
    if type(value) is not np.ndarray or value.dtype != dtype or (value.ndim and value.shape != shape):
        return None
    return value.reshape(-1) if value.flags.c_contiguous and value.flags.aligned else None
