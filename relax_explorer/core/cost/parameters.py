"""The parameters of a function: its inputs, and the weights that stay the same from call to call."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import exprs, info_vars

INPUTS = "num_input"
"""The attribute that tells the number of the parameters before the weights."""


def weights(fn: e.Function) -> frozenset[str]:
    """The names of the parameters that are weights."""
    count = fn.attrs.get(INPUTS)
    if isinstance(count, int):
        return frozenset(param.name for param in fn.params[count:])
    tensors = [param for param in fn.params if isinstance(param.struct_info, s.TensorStructInfo)]
    data = {param for param in tensors if info_vars(param.struct_info or s.OBJECT)} or set(tensors[:1])
    return frozenset(param.name for param in tensors if param not in data)


def constants(fn: e.Function) -> tuple[e.Constant, ...]:
    """The constants of a function, each once."""
    found = [expr for expr in exprs(fn) if type(expr) is e.Constant]
    return tuple({constant.identity: constant for constant in found}.values())
