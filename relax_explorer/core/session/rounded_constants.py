"""Constants of a program that may be rounded: a pass that computes with constants stores the result in a narrow float."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.widening import called
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.program.hash import data_digest
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.difference import is_float
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

_SHORT = 12  # bits of a number that people write, such as 0.125 or 1024


def rounded_constants(a: IRModule, b: IRModule, function: str) -> bool:
    """True if one of two programs has a constant that the other lacks, and that looks rounded to a narrow float."""
    left, right = (set(_constants(normal_form_of(module), function)) for module in (a, b))
    return bool(left ^ right)


def _constants(module: IRModule, function: str) -> Iterator[object]:
    """The constants that may be rounded: arrays of narrow floats, and literals with all the bits of their dtype."""
    for name in called(module, function):
        fn = module.functions[name]
        if type(fn) is PrimFunc:
            for part in subexpressions(*[expr for node in statements(fn.body) for expr in expressions(node)]):
                if type(part) is p.FloatImm and _looks_rounded(part.value, part.dtype.to_numpy()):
                    yield part.value
        elif type(fn) is e.Function:
            for expr in exprs(fn):
                if type(expr) is e.Constant and expr.data is not None and is_float(expr.data.dtype):
                    yield from _of_array(expr.data)


def _of_array(array: Array) -> Iterator[object]:
    if array.size == 1:
        value = float(array.reshape(-1)[0])
        if _looks_rounded(value, array.dtype):
            yield value
    else:
        yield array.dtype.name, array.shape, data_digest(array)


def _looks_rounded(value: float, dtype: np.dtype[np.generic]) -> bool:
    """True for a number that needs many of the bits of its dtype, but not more."""
    if not np.isfinite(value) or dtype.itemsize > 4:
        return False
    mantissa = int(abs(np.frexp(value)[0]) * 2.0**53)
    short = mantissa == 0 or 53 - (mantissa & -mantissa).bit_length() + 1 <= _SHORT
    return not short and float(np.asarray(value).astype(dtype)) == value
