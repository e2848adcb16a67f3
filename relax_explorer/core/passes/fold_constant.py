"""FoldConstant: evaluate operators on constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.special import scalar_value
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite

SIZE_LIMIT = 1 << 20  # elements that a folded constant may have


@function_pass("FoldConstant", requires=[NORMAL_FORM])
def fold_constant(fn: e.Function, at: PassSite) -> e.Function:
    """Replace a pure operator on constants by its value, if its shape is known.

    Values of more than a million elements are not folded, so that the program does not grow. Values whose memory may be
    overwritten are not folded either.
    """
    memory = aliases(at.module, at.function, fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.VarBinding or memory.written(binding.var):
            return binding
        value = _folded(walk, binding.value)
        if value is None:
            if type(binding.value) is e.Constant:
                walk.note(binding.var, binding.value)
            return binding
        walk.note(binding.var, value)
        return replace(binding, value=value)

    return rewrite(fn, at, rule)


def _folded(walk: Rewriter, call: e.Expr) -> e.Constant | None:
    if type(call) is not e.Call or type(call.op) is not e.OpRef:
        return None
    op = find(call.op.name)
    info = call.struct_info
    if (
        op is None
        or op.evaluate is None
        or not op.pure
        or not isinstance(info, s.TensorStructInfo)
        or info.dims is None
    ):
        return None
    values = [_value(walk, arg) for arg in call.args]
    if any(value is None for value in values) or not _small(info):
        return None
    missing = [None] * (len(op.operands) - len(values))
    try:
        with np.errstate(all="ignore"):
            folded = np.asarray(op.evaluate(*values, *missing, **call.attrs))
    except (ValueError, IndexError, ZeroDivisionError, TypeError, MemoryError):
        return None  # the run of the program will report this failure
    folded.setflags(write=False)
    return e.Constant(folded, info, "", call.span)


def _value(walk: Rewriter, arg: e.Expr) -> Any:
    if isinstance(arg, e.Var):
        arg = walk.lookup(arg)  # None if it is not a constant
    if type(arg) is e.Constant:
        return arg.data
    if type(arg) is e.ShapeExpr:
        values = [value.value if isinstance(value, p.IntImm) else None for value in arg.values]
        return None if None in values else tuple(values)
    if type(arg) is e.PrimValue:
        return scalar_value(arg.value) if isinstance(arg.value, (p.IntImm, p.FloatImm)) else None
    if type(arg) is e.Tuple:
        fields = [_value(walk, field) for field in arg.fields]
        return None if any(field is None for field in fields) else tuple(fields)
    return None


def _small(info: s.TensorStructInfo) -> bool:
    size = 1
    for dim in info.dims or ():
        if not isinstance(dim, p.IntImm):
            return False
        size *= dim.value
    return size <= SIZE_LIMIT
