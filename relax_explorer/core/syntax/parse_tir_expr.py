"""Reads the scalar expressions of PrimFuncs. This module has calls; its base classes have the others."""

from __future__ import annotations

import ast
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import (
    BOOL,
    FLOAT32,
    HANDLE,
    INT32,
    MOST_LANES,
    UNSPECIFIED_FLOAT,
    DType,
    dtype,
    limits,
)
from relax_explorer.core.syntax.context import UNREADABLE, Context, Skip
from relax_explorer.core.syntax.parse_dim import (
    OF_ONE_DTYPE,
    PRIM_FUNCTIONS,
    PRIM_OPERATORS,
    align,
    beside,
    combine,
    full_name,
    function_of,
    negated,
    truth,
)
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, left_chain
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr, Let, PointerType, Ramp
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range

# -- parse tir operand -----------------------------------------------------------------------------------------------
# Reads names, literals and operators in PrimFuncs. Integer literals are int32 and adapt to the dtype of the other
# operand.


_SHIFTS: dict[type, str] = {
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}


class OperandReader(ABC):
    """Reads names, literals and operators. `names` has the variables and buffers of a PrimFunc."""

    def __init__(
        self, ctx: Context, names: dict[str, Any], define: Callable[[str, DType], p.PrimVar]
    ) -> None:
        self.ctx, self.names, self.define = ctx, names, define

    @abstractmethod
    def read(self, node: ast.expr) -> p.PrimExpr:
        """Any expression. Reports anything else and raises Skip."""

    def bad(self, node: ast.expr) -> Skip:
        """Report that `node` is not an expression, and return a Skip for the caller to raise."""
        text = f"{ast.unparse(node)[:60]!r} is not an expression of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_EXPRESSION, text, node, help=tir_codes.TIR_EXPRESSION.why)

    def index(self, node: ast.expr) -> p.PrimExpr:
        """An index or extent, which must be an integer."""
        value = self.read(node)
        if not value.dtype.is_int and value.dtype is not BOOL:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, f"an integer is needed, this is {value.dtype}", node
            )
        return value

    def _name(self, node: ast.Name) -> p.PrimExpr:
        if node.id == UNREADABLE:
            raise Skip
        value = self.names.get(node.id)
        if isinstance(value, p.PrimExpr):
            return value
        if isinstance(value, Buffer) and value.is_scalar:
            return BufferLoad(value, ORIGIN)
        if isinstance(value, Buffer):
            return BufferPtr(value, "buffer")
        declared = self.ctx.type_vars.get(node.id)
        if declared is not None:
            return self.define(node.id, declared)
        hint = self.ctx.meant(node.id, ()) or codes.UNDEFINED.fix
        raise self.ctx.fail(
            codes.UNDEFINED, f"{node.id!r} is not defined", node, "not defined here", help=hint
        )

    def _constant(self, node: ast.Constant) -> p.PrimExpr:
        value = node.value
        if isinstance(value, bool):
            return p.IntImm(value, BOOL)
        if isinstance(value, int):
            return self.literal(value, INT32, node)
        if isinstance(value, float):
            return p.FloatImm(value, FLOAT32)
        if isinstance(value, str):
            return p.PrimString(value)
        raise self.bad(node)

    def literal(self, value: float, target: DType, node: ast.AST) -> p.PrimExpr:
        """A literal of a dtype. Raises Skip if it does not fit."""
        try:
            return p.as_prim(value, target)
        except OverflowError:
            text = f"{str(value)[:40]} does not fit {target}"
            raise self.ctx.fail_with_fix(codes.BAD_LITERAL, text, node) from None

    def _binary(self, node: ast.BinOp) -> p.PrimExpr:
        operations = left_chain(node)
        value = self.read(operations[-1].left)
        for operation in reversed(operations):
            value = self._operation(operation, *self.align(value, self.read(operation.right)))
        return value

    def _operation(self, node: ast.BinOp, left: p.PrimExpr, right: p.PrimExpr) -> p.PrimExpr:
        if left.dtype is HANDLE or right.dtype is HANDLE:
            raise self.bad(node)
        operator = PRIM_OPERATORS.get(type(node.op))
        if operator is not None:
            return combine(operator, left, right)
        name = _SHIFTS.get(type(node.op))
        if name is not None:
            return p.PrimCall(name, (left, right), left.dtype)
        if isinstance(node.op, ast.Pow):
            return p.PrimCall("pow", (left, right), left.dtype)
        raise self.bad(node)

    def align(self, a: p.PrimExpr, b: p.PrimExpr) -> tuple[p.PrimExpr, p.PrimExpr]:
        """Two operands converted to one dtype. A scalar is broadcast to the lanes of the other operand."""
        if a.dtype is b.dtype or a.dtype.kind == "handle" or b.dtype.kind == "handle":
            return a, b
        if a.dtype.lanes != b.dtype.lanes:
            wide = max(a.dtype.lanes, b.dtype.lanes)
            a, b = self._broadcast(beside(a, b), wide), self._broadcast(beside(b, a), wide)
        return (a, b) if a.dtype is b.dtype else align(a, b, INT32)

    def _broadcast(self, value: p.PrimExpr, lanes: int) -> p.PrimExpr:
        if value.dtype.lanes == lanes:
            return value
        return p.PrimCall("Broadcast", (value, p.IntImm(lanes, INT32)), value.dtype.with_lanes(lanes))

    def _compare(self, node: ast.Compare) -> p.PrimExpr:
        operator = PRIM_OPERATORS.get(type(node.ops[0]))
        if operator is None or len(node.ops) != 1:
            raise self.bad(node)
        return combine(operator, *self.align(self.read(node.left), self.read(node.comparators[0])))

    def _bool(self, node: ast.BoolOp) -> p.PrimExpr:
        operator = PRIM_OPERATORS[type(node.op)]
        first, *others = map(self.truth, node.values)
        return functools.reduce(operator, others, first)

    def truth(self, node: ast.expr) -> p.PrimExpr:
        """A condition. Raises Skip for a number."""
        return truth(self.ctx, self.read(node), node)

    def _unary(self, node: ast.UnaryOp) -> p.PrimExpr:
        inner = node.operand
        if isinstance(node.op, ast.Not):
            return p.Not(self.truth(inner))
        if isinstance(node.op, ast.USub):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)):
                return self.literal(-inner.value, INT32 if isinstance(inner.value, int) else FLOAT32, node)
            value = self.read(inner)
            if isinstance(value, p.FloatImm):
                return p.FloatImm(-value.value, value.dtype)
            return negated(value)
        if isinstance(node.op, ast.Invert):
            value = self.read(inner)
            return p.PrimCall("bitwise_not", (value,), value.dtype)
        raise self.bad(node)

    def _ternary(self, node: ast.IfExp) -> p.PrimExpr:
        a, b = self.align(self.read(node.body), self.read(node.orelse))
        return p.PrimCall("if_then_else", (self.truth(node.test), a, b), a.dtype)

    def dtype(self, node: ast.expr) -> DType:
        """The dtype in a string literal."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return dtype(full_name(node.value))
            except ValueError:
                text = f"{node.value[:40]!r} is not a dtype"
                raise self.ctx.fail_with_fix(codes.BAD_DTYPE, text, node) from None
        raise self.ctx.fail(codes.BAD_DTYPE, f"{ast.unparse(node)[:40]!r} is not a dtype", node)


# -- parse tir access ------------------------------------------------------------------------------------------------
# Reads accesses to buffers in PrimFuncs: elements, vectors, regions, pointers.


class AccessReader(OperandReader):
    """Reads subscripts and attributes of buffers."""

    def _subscript(self, node: ast.Subscript) -> p.PrimExpr:
        length = self._length(node)
        if length is not None:
            return length
        buffer, indices = self.access(node)
        return BufferLoad(buffer, indices)

    def _length(self, node: ast.Subscript) -> p.PrimExpr | None:
        """`A.shape[0]` or `A.strides[0]`: a length or stride of the buffer. None for anything else."""
        attribute = node.value
        if not isinstance(attribute, ast.Attribute) or attribute.attr not in ("shape", "strides"):
            return None
        buffer, place = self.buffer(attribute.value), node.slice
        values = buffer.shape if attribute.attr == "shape" else buffer.strides or ()
        number = place.value if isinstance(place, ast.Constant) else None
        if not isinstance(number, int) or not 0 <= number < len(values):
            raise self.bad(node)
        return values[number]

    def extents(self, node: ast.expr) -> tuple[p.PrimExpr, ...]:
        """The extents in an argument of T.grid: a single one, or the shape of a buffer, `*A.shape`."""
        if not isinstance(node, ast.Starred):
            return (self.index(node),)
        attribute = node.value
        if not isinstance(attribute, ast.Attribute) or attribute.attr != "shape":
            raise self.bad(node)
        return self.buffer(attribute.value).shape

    def access(self, node: ast.Subscript) -> tuple[Buffer, tuple[p.PrimExpr, ...]]:
        """The buffer and the indices of `A[i, j]`. `A[()]` has no indices."""
        buffer = self.buffer(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple([self._item(item) for item in items])
        if len(indices) != len(buffer.shape):
            text = f"{buffer.name} has {len(buffer.shape)} dimensions, {len(indices)} indices are given"
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, text, node, help="give one index for each dimension"
            )
        return buffer, indices

    def _item(self, node: ast.expr) -> p.PrimExpr:
        if not isinstance(node, ast.Slice):
            return self.index(node)
        start = self.index(node.lower or ast.Constant(0))
        stop = self.index(node.upper) if node.upper else None
        step = self.index(node.step) if node.step else p.IntImm(1, start.dtype)
        lanes = None if stop is None else p.Sub(*self.align(stop, start))
        width = literal_value(lanes) if lanes is not None else None
        stride = literal_value(step)
        if width is None or not stride:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, "the number of elements of a vector index must be known", node
            )
        return self._vector(start, step, width // stride, node)

    def buffer(self, node: ast.expr) -> Buffer:
        """The buffer called by its name. The buffer of a scalar is its `source`."""
        if isinstance(node, ast.Attribute) and node.attr == "source":
            node = node.value
        buffer = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(buffer, Buffer):
            return buffer
        text = ast.unparse(node)[:40]
        raise self.ctx.fail_with_fix(
            codes.UNDEFINED, f"{text!r} is not a buffer", node, "no buffer of this name"
        )

    def region(self, node: ast.expr) -> BufferRegion:
        """The region `A[i, j:k]` in T.reads and T.writes. The name of the buffer alone is the whole buffer."""
        if isinstance(node, ast.Name):
            buffer = self.buffer(node)
            full = tuple([Range(p.IntImm(0, dim.dtype), dim) for dim in buffer.shape])
            return BufferRegion(buffer, full, (False,) * len(full))
        if not isinstance(node, ast.Subscript):
            raise self.bad(node)
        buffer = self.buffer(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        ranges, points = [], []
        for index in items:
            if isinstance(index, ast.Slice) and index.lower is not None and index.upper is not None:
                start, stop = self.align(self.index(index.lower), self.index(index.upper))
                ranges.append(Range(start, self.extent(start, stop)))
                points.append(False)
            else:
                start = self.index(index)
                ranges.append(Range(start, p.IntImm(1, start.dtype)))
                points.append(True)
        return BufferRegion(buffer, tuple(ranges), tuple(points))

    def extent(self, start: p.PrimExpr, stop: p.PrimExpr) -> p.PrimExpr:
        """`stop - start`, folded in simple cases."""
        if isinstance(start, p.IntImm) and isinstance(stop, p.IntImm):
            return p.IntImm(stop.value - start.value, stop.dtype)
        if isinstance(start, p.IntImm) and start.value == 0:
            return stop
        if isinstance(stop, p.Add) and stop.a is start:
            return stop.b
        return p.Sub(stop, start)

    def _attribute(self, node: ast.Attribute) -> p.PrimExpr:
        if isinstance(node.value, ast.Name):
            buffer = self.names.get(node.value.id)
            if isinstance(buffer, Buffer) and node.attr == "elem_offset" and buffer.elem_offset is not None:
                return buffer.elem_offset
            if isinstance(buffer, Buffer):
                return BufferPtr(buffer, node.attr)
        if node.attr == "ty" and isinstance(node.value, ast.Call) and dotted(node.value.func) == "T.handle":
            return self.pointer_type(node.value)
        raise self.bad(node)

    def pointer_type(self, node: ast.Call) -> PointerType:
        """The pointer type `T.handle("int64", "global")`. `T.handle()` has no pointee type."""
        if not node.args:
            return PointerType(HANDLE)
        scope = node.args[1] if len(node.args) > 1 else ast.Constant("global")
        if len(node.args) > 2 or not isinstance(scope, ast.Constant):
            raise self.bad(node)
        return PointerType(self.dtype(node.args[0]), str(scope.value))

    def _vector(self, base: p.PrimExpr, stride: p.PrimExpr, lanes: int, node: ast.expr) -> p.PrimExpr:
        if not 1 <= lanes <= MOST_LANES or base.dtype.lanes != 1:
            raise self.bad(node)
        return Ramp(base, stride, lanes)


def literal_value(expr: p.PrimExpr | None) -> int | None:
    """The value of an expression, or None if it depends on a variable."""
    from relax_explorer.core.arith.simplify import constant, polynomial

    return None if expr is None else constant(polynomial(expr))


# -- parse tir expr --------------------------------------------------------------------------------------------------


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

    def _keyword(self, node: ast.expr) -> object:
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
