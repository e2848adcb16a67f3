"""PrimFuncs carried in float64: buffers, variables, literals, conversions and intrinsics of narrower floats are widened."""

from __future__ import annotations

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT64, DType, dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.prim_expr import PointerType
from relax_explorer.core.tir.stmt import Buffer

_NARROWEST = 16
"""Floats of fewer bits are not widened: what is stored in them is a choice among a few numbers, not a rounded one."""
_FOREIGN = ("call_extern", "call_pure_extern", "call_llvm", "call_cpacked", "ptx_", "mma_")


class NotWidened(Exception):
    """A program has no form in float64. The text is a part of a sentence: `it reads the bits of a float`."""


def wide(element: DType) -> DType:
    """The element type in a widened program. Raises NotWidened for floats of 8 or fewer bits."""
    if not element.is_float or element.bits == FLOAT64.bits:
        return element
    if element.bits < _NARROWEST:
        raise NotWidened(f"it has values of {element}")
    return FLOAT64.with_lanes(element.lanes)


class WideKernel(Mutator):
    """Widens one PrimFunc."""

    def __init__(self) -> None:
        super().__init__()
        self._variables: dict[p.PrimVar, p.PrimVar] = {}
        self._elements: dict[p.PrimExpr, DType] = {}  # of the memory behind pointers

    def widened(self, fn: t.PrimFunc) -> t.PrimFunc:
        """The PrimFunc in float64. Raises NotWidened if it reads bits, calls foreign code, or has views of another dtype."""
        new = self.function(fn)
        infos = {name: wide_info(info) for name in ("ret_type", "struct_info") if (info := getattr(fn, name))}
        return replace(new, **infos)

    def var(self, var: p.PrimVar) -> p.PrimExpr:
        """A variable; one of a narrow float is another variable."""
        return self.binder(var)

    def binder(self, var: p.PrimVar) -> p.PrimVar:
        """A variable where it is bound."""
        element = wide(var.dtype)
        if element is var.dtype:
            return var
        known = self._variables.get(var)
        if known is None:
            known = self._variables[var] = p.PrimVar(var.name, element, var.pointee)
        return known

    def buffer(self, buffer: Buffer) -> Buffer:
        """A buffer with elements of float64."""
        known = self._buffers.get(buffer)
        if known is None:
            if (
                buffer.data is not None
                and self._elements.setdefault(buffer.data, buffer.dtype) is not buffer.dtype
            ):
                raise NotWidened("a kernel has two views of one memory with different dtypes")
            known = self._buffers[buffer] = replace(self.node(buffer), dtype=wide(buffer.dtype))
        return known

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with its result in float64."""
        new = super().expr(expr)
        if isinstance(new, p.FloatImm):
            return p.FloatImm(new.value, wide(new.dtype))
        if isinstance(new, p.Cast):
            return p.Cast(wide(new.dtype), new.value)
        if isinstance(new, PointerType):
            return PointerType(wide(new.element), new.scope)
        return self._call(expr, new) if isinstance(new, p.PrimCall) else new

    def _call(self, old: p.PrimExpr, new: p.PrimCall) -> p.PrimExpr:
        if new.op.startswith(_FOREIGN):
            raise NotWidened(f"a kernel calls foreign code by {new.op}")
        operands = old.children()
        if new.op == "reinterpret" and any(item.dtype.is_float for item in (old, *operands)):
            raise NotWidened("a kernel reads the bits of a float")
        keywords = tuple([(name, _wide_keyword(value)) for name, value in new.keywords])
        return p.PrimCall(new.op, new.args, wide(new.dtype), keywords)


def _wide_keyword(value: object) -> object:
    if isinstance(value, DType):
        return wide(value)
    if isinstance(value, str) and value in ("float16", "bfloat16", "float32"):
        return str(wide(dtype(value)))
    return value


def wide_info(info: s.StructInfo) -> s.StructInfo:
    """StructInfo in float64. Variables that hold shapes are kept."""
    if isinstance(info, s.TensorStructInfo):
        if info.dtype is None or wide(info.dtype) is info.dtype:
            return info
        return s.TensorStructInfo(info.shape, wide(info.dtype), info.ndim, info.vdevice)
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple(map(wide_info, info.fields)))
    if isinstance(info, s.PrimStructInfo):
        value = None if info.value is None else WideKernel().expr(info.value)
        return s.PrimStructInfo(wide(info.dtype), value)
    if isinstance(info, s.FuncStructInfo):
        params = None if info.params is None else tuple(map(wide_info, info.params))
        return s.FuncStructInfo(params, wide_info(info.ret), info.pure, info.derive_func)
    return info
