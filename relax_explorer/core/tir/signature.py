"""The signature of a PrimFunc as StructInfo."""

from __future__ import annotations

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.side_effects import has_effect
from relax_explorer.core.tir.stmt import PrimFunc


def prim_func_info(fn: PrimFunc) -> s.FuncStructInfo:
    """The signature of a PrimFunc. Buffers become tensors. Without a return type, the call fills its output buffers."""
    return _INFOS.of(fn, _prim_func_info)


_INFOS: PerNode[s.FuncStructInfo] = PerNode()


def _prim_func_info(fn: PrimFunc) -> s.FuncStructInfo:
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    lengths = frozenset(p.free_vars(*dims))
    params = tuple([_param_info(param, lengths) for param in fn.params])
    returns = (
        fn.ret_type is not None and fn.ret_type is not s.VOID
    )  # without a return type, the call fills buffers
    return s.FuncStructInfo(params, fn.ret_type or s.VOID, returns and not has_effect(fn))


def _param_info(param: Buffer | p.PrimVar, lengths: frozenset[p.PrimVar]) -> s.StructInfo:
    if isinstance(param, Buffer):
        dims = tuple([p.as_dim(dim) if dim.dtype.is_int else dim for dim in param.shape])
        return s.TensorStructInfo(dims, param.dtype)
    if param.dtype is HANDLE:
        return s.OBJECT  # a pointer to a tensor of unknown dtype and shape
    return s.PrimStructInfo(
        param.dtype, param if param in lengths else None
    )  # the name matters only in lengths
