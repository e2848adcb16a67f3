"""The parameters of a function: its inputs, and the weights that stay the same from call to call."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import exprs, info_vars

INPUTS = "num_input"
"""The attribute that tells the number of the parameters before the weights."""


def weights(fn: e.Function) -> frozenset[str]:
    """The names of the parameters that are weights."""
    return frozenset(param.name for param in weight_parameters(fn))


def weight_parameters(fn: e.Function) -> list[e.Var]:
    """The parameters that are weights: those behind the inputs, else tensors, and tuples of them, whose lengths are all numbers."""
    count = fn.attrs.get(INPUTS)
    if isinstance(count, int):
        return list(fn.params[count:])
    infos = {param: param.struct_info or s.OBJECT for param in fn.params}
    tensors = [param for param, info in infos.items() if isinstance(info, s.TensorStructInfo)]
    data = {param for param in tensors if info_vars(infos[param])} or set(tensors[:1])
    return [param for param, info in infos.items() if data and param not in data and _holds_weights(info)]


def _holds_weights(info: s.StructInfo) -> bool:
    if isinstance(info, s.TupleStructInfo):
        tensors = all([isinstance(item, s.TensorStructInfo) for item in info.fields])
        return bool(info.fields) and tensors and not info_vars(info)
    return isinstance(info, s.TensorStructInfo)


def constants(fn: e.Function) -> tuple[e.Constant, ...]:
    """The constants of a function, each once."""
    found = [expr for expr in exprs(fn) if type(expr) is e.Constant]
    return tuple({constant.identity: constant for constant in found}.values())
