"""Reads the scalar expressions of PrimFuncs. This module has calls; its base classes have the others."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import (
    BOOL,
    HANDLE,
    INT32,
    MOST_LANES,
    UNSPECIFIED_FLOAT,
    DType,
    limits,
)
from relax_explorer.core.syntax.parse_tir_access import AccessReader, literal_value
from relax_explorer.core.syntax.prim_rules import (
    OF_ONE_DTYPE,
    PRIM_FUNCTIONS,
    function_of,
)
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix
from relax_explorer.core.tir.prim_expr import BufferPtr, Let

# Intrinsics with a fixed result dtype. Others have the dtype of their first argument.
_RESULTS: dict[str, DType] = {
    "isnan": BOOL,
    "isinf": BOOL,
    "isfinite": BOOL,
    "isnullptr": BOOL,
    "likely": BOOL,
    "call_packed": INT32,
    "call_cpacked": INT32,
    "tvm_storage_sync": INT32,
    "assume": BOOL,
    "tvm_stack_make_shape": HANDLE,
    "tvm_stack_make_array": HANDLE,
    "tvm_stack_alloca": HANDLE,
    "address_of": HANDLE,
    "anylist_getitem": HANDLE,
    "anylist_setitem_call_packed": HANDLE,
}


class TirExprReader(AccessReader):
    """Reads expressions in one PrimFunc. `names` has its variables and buffers."""

    def read(self, node: ast.expr) -> p.PrimExpr:
        """The expression. Reports anything else and raises Skip."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise self.bad(node)
        return reader(self, node)

    def _call(self, node: ast.Call) -> p.PrimExpr:
        name = dotted(node.func)
        if not name.startswith("T."):
            return self._function_of_module(node, name)
        name = name[2:]
        element = dtype_of_prefix(f"T.{name}")
        if element is not None:
            return self._typed(element, node)
        if name in ("And", "Or") and len(node.args) == 2:
            return function_of(name, *map(self.truth, node.args))
        if name in PRIM_FUNCTIONS and len(node.args) == 2:
            return function_of(name, *self.align(self.read(node.args[0]), self.read(node.args[1])))
        form = _FORMS.get(name)
        if form is None:
            return self._intrinsic(node, name)
        if len(node.args) != _ARITY[name]:
            raise self.bad(node)
        return form(self, node)

    def _function_of_module(self, node: ast.Call, name: str) -> p.PrimExpr:
        """`Module.f(x[i], y[i])`: a call of another function of the module."""
        head, _, member = name.partition(".")
        if head not in self.ctx.module_names or member not in self.ctx.functions or node.keywords:
            raise self.bad(node)
        args = tuple([self.read(arg) for arg in node.args])
        result_dtype = self.ctx.scalar_results.get(member)
        return p.PrimCall(
            f"{p.OF_MODULE}{member}", args, result_dtype or next((arg.dtype for arg in args), INT32)
        )

    def _typed(self, target: DType, node: ast.Call) -> p.PrimExpr:
        """`T.float32(0.5)`: a literal, or a conversion."""
        if len(node.args) != 1:
            raise self.bad(node)
        inner = node.args[0]
        negative = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub)
        value = inner.operand if negative and isinstance(inner, ast.UnaryOp) else inner
        if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str)):
            try:
                number = float(value.value) if target.is_float else int(value.value)
            except (ValueError, OverflowError):
                raise self.bad(node) from None
            return self.literal(-number if negative else number, target, node)
        operand = self.read(inner)
        if target.lanes > operand.dtype.lanes == 1 and operand.dtype is not HANDLE:
            element = target.with_lanes(1)
            operand = operand if operand.dtype is element else p.Cast(element, operand)
            return self._broadcast(operand, target.lanes)
        return self._converted(target, operand, node)

    def _converted(self, target: DType, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
        # An address is not a number, and a cast keeps the number of lanes.
        if isinstance(value, BufferPtr) or (target.lanes != value.dtype.lanes and target is not HANDLE):
            raise self.bad(node)
        return p.Cast(target, value)

    def _cast(self, node: ast.Call) -> p.PrimExpr:
        return self._converted(self.dtype(node.args[0]), self.read(node.args[1]), node)

    def _imm(self, node: ast.Call) -> p.PrimExpr:
        """`T.FloatImm("float64", 1e300)`: a literal."""
        try:
            value = ast.literal_eval(node.args[1])
        except ValueError:
            raise self.bad(node) from None
        if type(value) not in (bool, int, float):
            raise self.bad(node)
        return self.literal(value, self.dtype(node.args[0]), node)

    def _limit(self, node: ast.Call) -> p.PrimExpr:
        """`T.min_value("float32")`, `T.max_value(…)` or `T.infinity(…)`, as a literal."""
        element, name = self.dtype(node.args[0]), dotted(node.func)
        if (
            element.lanes != 1
            or element.name == UNSPECIFIED_FLOAT
            or not (element.is_float or (element.is_int and name != "T.infinity"))
        ):
            raise self.bad(node)
        if name == "T.infinity":
            return p.FloatImm(math.inf, element)
        least, most = limits(element)
        return self.literal(least if name == "T.min_value" else most, element, node)

    def _select(self, node: ast.Call) -> p.PrimExpr:
        return p.Select(self.truth(node.args[0]), *self.align(*map(self.read, node.args[1:])))

    def _if_then_else(self, node: ast.Call) -> p.PrimExpr:
        left, right = self.align(*map(self.read, node.args[1:]))
        return p.PrimCall("if_then_else", (self.truth(node.args[0]), left, right), left.dtype)

    def _ramp(self, node: ast.Call) -> p.PrimExpr:
        base, stride, lanes = [self.read(arg) for arg in node.args]
        return self._vector(base, stride, literal_value(lanes) or 1, node)

    def _broadcast_call(self, node: ast.Call) -> p.PrimExpr:
        value, lanes = [self.read(arg) for arg in node.args]
        times = literal_value(lanes) or 0
        if not 1 <= times * value.dtype.lanes <= MOST_LANES:
            raise self.bad(node)
        return p.PrimCall("Broadcast", (value, lanes), value.dtype.with_lanes(times * value.dtype.lanes))

    def _let(self, node: ast.Call) -> p.PrimExpr:
        """`T.Let(body, where={var: value})`."""
        bound = next((k.value for k in node.keywords if k.arg == "where"), None)
        if not isinstance(bound, ast.Dict) or len(bound.keys) != 1 or not isinstance(bound.keys[0], ast.Name):
            raise self.bad(node)
        value = self.read(bound.values[0])
        var = self.define(bound.keys[0].id, value.dtype)
        return Let(var, value, self.read(node.args[0]))

    def _intrinsic(self, node: ast.Call, name: str) -> p.PrimExpr:
        args = tuple([self.read(arg) for arg in node.args])
        if name.startswith(p.OF_MODULE) or (name == "ret" and len(args) != 1):
            raise self.bad(node)
        if f"T.{name}" in OF_ONE_DTYPE and len(args) == 2:
            args = self.align(*args)
        keywords = tuple([(name, self._keyword(value)) for name, value in self.keywords(node).items()])
        result = _RESULTS.get(name) or next((arg.dtype for arg in args if arg.dtype is not HANDLE), INT32)
        if name == "tvm_struct_get" and args:  # its last argument is the result dtype
            result = self.dtype(node.args[-1]) if isinstance(args[-1], p.PrimString) else HANDLE
        if name == "reinterpret" and args and isinstance(args[0], p.PrimString):
            result = self.dtype(node.args[0])
        return p.PrimCall(name, args, result, keywords)

    def keywords(self, node: ast.Call) -> dict[str, ast.expr]:
        """The named arguments of a call. Raises Skip for `**`."""
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.bad(node)
        return {keyword.arg or "": keyword.value for keyword in node.keywords}

    def _keyword(self, node: ast.expr) -> Any:
        """A named argument: a constant, or a list of constants."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple([self._keyword(item) for item in node.elts])
        raise self.bad(node)


_READERS: dict[type, Callable[[TirExprReader, Any], p.PrimExpr]] = {
    ast.Name: TirExprReader._name,
    ast.Constant: TirExprReader._constant,
    ast.BinOp: TirExprReader._binary,
    ast.Compare: TirExprReader._compare,
    ast.BoolOp: TirExprReader._bool,
    ast.UnaryOp: TirExprReader._unary,
    ast.IfExp: TirExprReader._ternary,
    ast.Subscript: TirExprReader._subscript,
    ast.Attribute: TirExprReader._attribute,
    ast.Call: TirExprReader._call,
}
_ARITY = {
    "FloatImm": 2,
    "IntImm": 2,
    "min_value": 1,
    "max_value": 1,
    "infinity": 1,
    "Cast": 2,
    "cast": 2,
    "Select": 3,
    "if_then_else": 3,
    "Ramp": 3,
    "Broadcast": 2,
    "Let": 1,
    "Not": 1,
}
_FORMS: dict[str, Callable[[TirExprReader, ast.Call], p.PrimExpr]] = {
    "Cast": TirExprReader._cast,
    **dict.fromkeys(("FloatImm", "IntImm"), TirExprReader._imm),
    **dict.fromkeys(("min_value", "max_value", "infinity"), TirExprReader._limit),
    "cast": lambda reader, node: p.Cast(reader.dtype(node.args[1]), reader.read(node.args[0])),
    "Select": TirExprReader._select,
    "if_then_else": TirExprReader._if_then_else,
    "Ramp": TirExprReader._ramp,
    "Broadcast": TirExprReader._broadcast_call,
    "Let": TirExprReader._let,
    "Not": lambda reader, node: p.Not(reader.read(node.args[0])),
}
