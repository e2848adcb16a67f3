"""Shadows: a program in which every float16, bfloat16 and float32 is a float64.

The shadow has the bindings of its program in the same order, so the values of both runs correspond by number. What differs between
them is what rounding to narrow floats did. Storages and offsets count bytes that only the run knows: `storage_factor` tells the
machine how much larger they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.check.call_graph import mentioned, mentioned_packed, reached
from relax_explorer.core.exec import packed, vm_builtins
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import FLOAT64, DType, dtype, from_numpy
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.prim_expr import PointerType
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

# -- wide kernels ----------------------------------------------------------------------------------------------------
# PrimFuncs carried in float64: buffers, variables, literals, conversions and intrinsics of narrower floats are
# widened.


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


# -- widening --------------------------------------------------------------------------------------------------------


_BYTES_OF_VIEWS = {"relax.memory.view": 3, "runtime.TVMTensorCreateView": 3}
_KNOWN_ANYWAY = ("vm.builtin.invoke_closure",)


@dataclass(frozen=True, slots=True)
class Wide:
    """A widened module, its bindings with those that they came from, and how much larger its storages are."""

    module: IRModule
    origins: dict[e.Binding, e.Binding]
    storage_factor: int


class Widening:
    """Widens modules. Functions that stages share are widened once, so that kernels are compiled once.

    It keeps what it widened: drop it with the stages.
    """

    def __init__(self) -> None:
        self._functions: dict[int, tuple[Member, Member, dict[e.Binding, e.Binding]]] = {}
        self._arrays: dict[int, tuple[Value, Value]] = {}

    def module(self, module: IRModule, *entries: str) -> Wide:
        """A module in normal form with all that calls of these functions may run in float64. Raises NotWidened."""
        names = dict.fromkeys(name for entry in entries for name in called(module, entry))
        functions = dict(module.functions)
        origins: dict[e.Binding, e.Binding] = {}
        for name in names:
            functions[name], own = self._function(functions[name], module)
            origins.update(own)
        floats = set[str]().union(*[narrow_floats_in(module, entry) for entry in entries])
        bits = [dtype(name).bits for name in floats]
        return Wide(module.having(functions), origins, FLOAT64.bits // min(bits, default=FLOAT64.bits))

    def _function(self, fn: Member, module: IRModule) -> tuple[Member, dict[e.Binding, e.Binding]]:
        known = self._functions.get(id(fn))
        if known is None:
            if isinstance(fn, PrimFunc):
                known = fn, WideKernel().widened(fn), {}
            elif isinstance(fn, e.Function):
                maker = _Function(module, self._array)
                known = fn, maker.function(fn), maker.origins
            else:
                raise NotWidened("it calls a function that is no Relax and no TIR")
            self._functions[id(fn)] = known
        return known[1], known[2]

    def _array(self, array: Value) -> Value:
        known = self._arrays.get(id(array))
        if known is None:
            known = self._arrays[id(array)] = array, wide_value(array)
        return known[1]


def called(module: IRModule, function: str) -> list[str]:
    """The functions that a call may run: Relax functions, and PrimFuncs that they mention by name or by symbol.

    Empty if the module has no Relax function of this name.
    """
    found: dict[str, None] = {}
    if type(module.functions.get(function)) is not e.Function:
        return []
    for name in reached(module, function):
        found[name] = None
        fn = module.relax_functions[name]
        found.update(dict.fromkeys(other for other in mentioned(fn) if other in module.functions))
        found.update(dict.fromkeys(by_packed_name(module, fn).values()))
    return list(found)


def by_packed_name(module: IRModule, fn: e.Function) -> dict[str, str]:
    """The PrimFuncs of a module that a function mentions as packed functions: their names, by symbol."""
    kernels = {symbol: by_symbol(module, symbol) for symbol in mentioned_packed(fn)}
    if not any(kernels.values()):
        return {}
    names = {id(kernel): name for name, kernel in module.functions.items()}
    return {symbol: names[id(kernel)] for symbol, kernel in kernels.items() if kernel is not None}


def narrow_floats(info: s.StructInfo | None) -> set[str]:
    """The names of the floats of 16 and 32 bits in StructInfo."""
    found = () if info is None else _dtypes(info)
    return {
        element.with_lanes(1).name
        for element in found
        if element.is_float and 16 <= element.bits < FLOAT64.bits
    }


def narrow_floats_in(module: IRModule, function: str) -> set[str]:
    """The names of the floats of 16 and 32 bits that a call of a function may compute with."""
    found: set[str] = set()
    for name in called(module, function):
        found |= _narrow_in(module.functions[name])
    return found


def _narrow_in(fn: object) -> set[str]:
    if type(fn) is e.Function:
        infos = [param.struct_info for param in fn.params]
        infos += [binding.var.struct_info for binding in bindings(fn) if binding.var is not None]
        return set().union(*map(narrow_floats, dict.fromkeys(infos)))
    info = prim_func_info(fn) if type(fn) is PrimFunc else None
    return set().union(*map(narrow_floats, info.params or ())) if info is not None else set()


def _dtypes(info: s.StructInfo) -> Iterable[DType]:
    if isinstance(info, s.TensorStructInfo):
        return () if info.dtype is None else (info.dtype,)
    if isinstance(info, s.TupleStructInfo):
        return [element for part in info.fields for element in _dtypes(part)]
    return ()


def wide_value(value: Value) -> Value:
    """A value with its narrow floats in float64. Raises NotWidened for floats of 8 or fewer bits."""
    if isinstance(value, np.ndarray):
        return value.astype(wide(from_numpy(value.dtype)).to_numpy(), copy=False)
    if type(value) is tuple:
        return tuple(map(wide_value, value))
    if isinstance(value, np.generic) and not isinstance(value, Shape):
        return value.astype(wide(from_numpy(value.dtype)).to_numpy())
    return value


class _Function:
    """Widens one Relax function, with the functions and branches inside it."""

    def __init__(self, module: IRModule, array: Callable[[Value], Value]) -> None:
        self.module, self.array = module, array
        self.variables: dict[e.Var, e.Var] = {}
        self.origins: dict[e.Binding, e.Binding] = {}

    def function(self, fn: e.Function) -> e.Function:
        """The widened function."""
        params = tuple([self._variable(param) for param in fn.params])
        return replace(
            fn, params=params, body=self._sequence(fn.body), ret_struct_info=self._info(fn.ret_struct_info),
            struct_info=self._info(fn.struct_info),
        )  # fmt: skip

    def _sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        blocks = tuple(
            [replace(block, bindings=tuple(map(self._binding, block.bindings))) for block in seq.blocks]
        )
        return replace(seq, blocks=blocks, body=self._expr(seq.body), struct_info=self._info(seq.struct_info))

    def _binding(self, binding: e.Binding) -> e.Binding:
        if type(binding.value) is e.Function and binding.var is not None:
            self._variable(binding.var)  # it may call itself
        value = self._expr(binding.value)
        var = None if binding.var is None else self._variable(binding.var)
        annotation = self._info(binding.annotation)
        if isinstance(binding, e.MatchCast):
            info = self._info(binding.struct_info)
            assert info is not None  # a cast has its StructInfo
            new: e.Binding = replace(binding, var=var, value=value, struct_info=info, annotation=annotation)
        else:
            new = replace(binding, var=var, value=value, annotation=annotation)
        self.origins[new] = binding
        return new

    def _variable(self, var: e.Var) -> e.Var:
        known = self.variables.get(var)
        if known is None:
            known = self.variables[var] = e.var_like(var, self._info(var.struct_info))
        return known

    def _info(self, info: s.StructInfo | None) -> s.StructInfo | None:
        if info is None:
            return None
        new = wide_info(info)
        if isinstance(new, s.TensorStructInfo) and isinstance(new.shape, e.Var):
            return s.TensorStructInfo(self._variable(new.shape), new.dtype, new.ndim, new.vdevice)
        if isinstance(new, s.TupleStructInfo):
            return s.TupleStructInfo(tuple([self._info(field) or s.OBJECT for field in new.fields]))
        return new

    def _expr(self, expr: e.Expr) -> e.Expr:
        rule = _RULES.get(type(expr))
        return expr if rule is None else rule(self, expr)

    def _constant(self, expr: e.Constant) -> e.Expr:
        data = None if expr.data is None else self.array(expr.data)
        return e.Constant(data, self._info(expr.struct_info), expr.key, expr.span)

    def _scalar(self, expr: e.PrimValue) -> e.Expr:
        return e.PrimValue(WideKernel().expr(expr.value), self._info(expr.struct_info), expr.span)

    def _call(self, call: e.Call) -> e.Expr:
        args = tuple(map(self._expr, call.args))
        name = getattr(call.op, "name", "")
        for external in (call.op, *call.args):
            if type(external) is e.ExternFunc:
                self._check(external.name)
                name = external.name
        place = _BYTES_OF_VIEWS.get(name)
        if place is not None:
            _check_view(call, place)
        infos = tuple([self._info(info) or s.OBJECT for info in call.sinfo_args])
        return e.Call(
            self._expr(call.op), args, wide_attrs(call.attrs), infos, self._info(call.struct_info), call.span
        )

    def _check(self, name: str) -> None:
        """Refuse a function that is not ours: it may read the bits of its arguments."""
        function = packed.find(name)
        is_known = function is not None and packed.is_operator(function)
        is_builtin = function is None and (name in vm_builtins.TABLE or name in _KNOWN_ANYWAY)
        if not is_known and not is_builtin and by_symbol(self.module, name) is None:
            raise NotWidened(f"the packed function {name} has no float64 form")


def _check_view(call: e.Call, place: int) -> None:
    """Refuse a view of bytes as another dtype, or at an offset, if a narrow float is read or made."""
    arguments = call.args[1].fields if len(call.args) == 2 and type(call.args[1]) is e.Tuple else call.args
    data, made = arguments[0].struct_info, call.struct_info
    if not any(_narrow(info) for info in (data, made)):
        return
    start = arguments[place] if place < len(arguments) else None
    is_first = start is None or (type(start) is e.Tuple and not start.fields)
    if type(start) is e.PrimValue:
        is_first = type(start.value) is p.IntImm and start.value.value == 0
    same = getattr(data, "dtype", None) is getattr(made, "dtype", None)
    if not (is_first and same):
        raise NotWidened("it has a view of the bytes of a tensor")


def _narrow(info: s.StructInfo | None) -> bool:
    return info is not None and any(wide(element) is not element for element in _dtypes(info))


def wide_attrs(attrs: Attrs) -> Attrs:
    """Attributes with dtypes and StructInfo in float64."""
    items = {name: _wide_attr(value) for name, value in attrs.items()}
    return attrs if all(items[name] is value for name, value in attrs.items()) else Attrs(items)


def _wide_attr(value: object) -> object:
    if isinstance(value, DType):
        return wide(value)
    if isinstance(value, s.StructInfo):
        return wide_info(value)
    if isinstance(value, Attrs):
        return wide_attrs(value)
    if type(value) is tuple:
        new = tuple(map(_wide_attr, value))
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value


_RULES: dict[type, Any] = {
    e.Var: lambda at, x: at._variable(x),
    e.DataflowVar: lambda at, x: at._variable(x),
    e.Constant: _Function._constant,
    e.PrimValue: _Function._scalar,
    e.DataTypeImm: lambda at, x: replace(x, value=wide(x.value)),
    e.GlobalVar: lambda at, x: replace(x, struct_info=at._info(x.struct_info)),
    e.Tuple: lambda at, x: e.Tuple(tuple(map(at._expr, x.fields)), at._info(x.struct_info), x.span),
    e.TupleGetItem: lambda at, x: replace(x, tuple=at._expr(x.tuple), struct_info=at._info(x.struct_info)),
    e.Call: _Function._call,
    e.If: lambda at, x: replace(
        x,
        condition=at._expr(x.condition),
        true_branch=at._expr(x.true_branch),
        false_branch=at._expr(x.false_branch),
        struct_info=at._info(x.struct_info),
    ),
    e.SeqExpr: _Function._sequence,
    e.Function: _Function.function,
}
