"""Calls of operators that need no more checks: operands of the same types and lengths passed them before.

The rule of an operator derives the type of the result from the types of the operands, not from their elements. So the first
call checks everything, and each later one only that nothing has changed. The memory is part of the instruction, because a
program mostly calls with the same lengths again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.values import Lengths, Shape, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.walk import info_holders, info_vars
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.ops.kit.ndarrays import UFUNCS

_SCALARS = frozenset({bool, int, float, str, type(None), Shape, DType})
ERRORS = (Failure, ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
Types = tuple[Any, ...]
LARGE = 1 << 17  # elements


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """A call that passed its checks: the types of its operands and of its result."""

    operands: Types
    dims: tuple[p.PrimVar, ...]  # the shape variables in the types of the call
    lengths: tuple[int | None, ...]
    function: Callable[..., Any]
    shares: bool  # True if the result may share memory with an operand
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_large: bool  # True if running by blocks of rows is worth it (groups.py)


def types_of(values: Sequence[Value]) -> Types | None:
    """Shapes and dtypes of arrays, and the values of scalars and shapes. None if a value has no such type."""
    types: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            types += (value.shape, value.dtype)
        elif kind in _SCALARS:
            types += (kind, value)
        elif kind is tuple:
            types.append(types_of(value))
            if types[-1] is None:
                return None
        else:
            return None
    return tuple(types)


def repeated(at: Instruction, args: Sequence[Value], dims: Lengths) -> Value:
    """The result of a call that needs no checks. None if it needs them."""
    known = at.repeat
    if type(known) is not Repeat or types_of(args) != known.operands:
        return None
    if known.dims and tuple(map(dims.get, known.dims)) != known.lengths:
        return None
    try:
        with np.errstate(all="ignore"):
            value = known.function(*args)
    except ERRORS:
        return None  # the checked call fails again, and says why
    if type(value) is not np.ndarray or value.shape != known.shape or value.dtype != known.dtype:
        return None  # its lengths depend on elements
    return value


def plain_ufunc(known: Repeat) -> np.ufunc | None:
    """The ufunc of a call that gives a result of the dtype of its operands without conversions."""
    ufunc, dtype = UFUNCS.get(known.function), known.dtype
    is_plain = dtype.isbuiltin == 1 and (dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize >= 4))
    return ufunc if is_plain and all(of == dtype for of in known.operands[1::2]) else None


def remember(at: Instruction, op: type[Op], frame: Frame, args: Sequence[Value], value: Value) -> None:
    """Remember a call that passed its checks, if later ones can be recognised by the types of their operands."""
    if type(value) is not np.ndarray or op.evaluate is None or op.overwritten():
        return  # a call that is evaluated again after a failure must have no effect
    operands = types_of(args)
    infos = [info for info in (at.node.struct_info, *[arg.struct_info for arg in at.node.args]) if info]
    if operands is None or any(map(info_holders, infos)):
        return
    dims = tuple(dict.fromkeys(var for info in infos for var in info_vars(info)))
    lengths = tuple([frame.dims.get(var) for var in dims])
    function: Callable[..., Any] = op.evaluate
    absent = () if op.variadic else (None,) * (len(op.operands) - len(args))
    if absent or at.node.attrs:
        function = partial(_with, op.evaluate, absent, dict(at.node.attrs))
    is_large = value.ndim > 0 and value.size >= LARGE
    at.repeat = Repeat(operands, dims, lengths, function, bool(op.shares), value.shape, value.dtype, is_large)


def _with(
    function: Callable[..., Any], absent: tuple[None, ...], attrs: dict[str, Any], *args: Value
) -> Value:
    """Call `function` with optional operands that are absent, and with attributes."""
    return function(*args, *absent, **attrs)
