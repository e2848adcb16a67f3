"""Reads the scalar expressions of PrimFuncs. Integer literals are int32 until they meet an operand of another dtype."""

from __future__ import annotations

import ast
import functools
import math
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
from relax_explorer.core.syntax.prim_rules import (
    OF_ONE_DTYPE,
    PRIM_FUNCTIONS,
    PRIM_OPERATORS,
    align,
    combine,
    function_of,
    negated,
    truth,
)
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr, Let, PointerType, Ramp

_SHIFTS: dict[type, str] = {
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}
# Intrinsics whose result has a dtype of its own; the others have that of their first argument.
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


class TirExprReader:
    """Reads expressions in one PrimFunc; `names` holds its variables and buffers."""

    def __init__(
        self, ctx: Context, names: dict[str, Any], define: Callable[[str, DType], p.PrimVar]
    ) -> None:
        self.ctx, self.names, self.define = ctx, names, define

    def read(self, node: ast.expr) -> p.PrimExpr:
        """The expression; raises Skip after reporting what is none."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise self.bad(node)
        return reader(self, node)

    def bad(self, node: ast.expr) -> Skip:
        """What is raised for something that is no expression."""
        text = f"{ast.unparse(node)[:60]!r} is no expression of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_EXPRESSION, text, node, help=tir_codes.TIR_EXPRESSION.why)

    def index(self, node: ast.expr) -> p.PrimExpr:
        """An index or extent: an integer."""
        value = self.read(node)
        if not value.dtype.is_int and value.dtype is not BOOL:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, f"an integer is needed, this is {value.dtype}", node
            )
        return value

    def _name(self, node: ast.Name) -> p.PrimExpr:
        if node.id == UNREADABLE:
            raise Skip
        found = self.names.get(node.id)
        if isinstance(found, p.PrimExpr):
            return found
        if isinstance(found, Buffer) and found.is_scalar:
            return BufferLoad(found, ORIGIN)
        if isinstance(found, Buffer):
            return BufferPtr(found, "buffer")
        declared = self.ctx.type_var_dtype(node.id)
        if declared is not None:
            return self.define(node.id, declared)
        hint = codes.UNDEFINED.fix
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

    def literal(self, value: float, wanted: DType, node: ast.expr) -> p.PrimExpr:
        """A literal of a dtype; raises Skip when it does not fit."""
        try:
            return p.as_prim(value, wanted)
        except OverflowError:
            text = f"{str(value)[:40]} does not fit {wanted}"
            raise self.ctx.fail(codes.BAD_LITERAL, text, node, help=codes.BAD_LITERAL.fix) from None

    def _binary(self, node: ast.BinOp) -> p.PrimExpr:
        left, right = self.align(self.read(node.left), self.read(node.right))
        if left.dtype is HANDLE or right.dtype is HANDLE:
            raise self.bad(node)
        kind = PRIM_OPERATORS.get(type(node.op))
        if kind is not None:
            return combine(kind, left, right)
        name = _SHIFTS.get(type(node.op))
        if name is not None:
            return p.PrimCall(name, (left, right), left.dtype)
        if isinstance(node.op, ast.Pow):
            return p.PrimCall("pow", (left, right), left.dtype)
        raise self.bad(node)

    def align(self, a: p.PrimExpr, b: p.PrimExpr) -> tuple[p.PrimExpr, p.PrimExpr]:
        """Two operands of one dtype; one without lanes is broadcast to those of the other."""
        if a.dtype is b.dtype or a.dtype.kind == "handle" or b.dtype.kind == "handle":
            return a, b
        if a.dtype.lanes != b.dtype.lanes:
            wide = max(a.dtype.lanes, b.dtype.lanes)
            return self._broadcast(a, wide), self._broadcast(b, wide)
        return align(a, b, INT32)

    def _broadcast(self, value: p.PrimExpr, lanes: int) -> p.PrimExpr:
        if value.dtype.lanes == lanes:
            return value
        return p.PrimCall("Broadcast", (value, p.IntImm(lanes, INT32)), value.dtype.with_lanes(lanes))

    def _compare(self, node: ast.Compare) -> p.PrimExpr:
        kind = PRIM_OPERATORS.get(type(node.ops[0]))
        if kind is None or len(node.ops) != 1:
            raise self.bad(node)
        return combine(kind, *self.align(self.read(node.left), self.read(node.comparators[0])))

    def _bool(self, node: ast.BoolOp) -> p.PrimExpr:
        kind = PRIM_OPERATORS[type(node.op)]
        first, *rest = map(self.truth, node.values)
        return functools.reduce(kind, rest, first)

    def truth(self, node: ast.expr) -> p.PrimExpr:
        """A condition; raises Skip for a number."""
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
        one, two = self.align(self.read(node.body), self.read(node.orelse))
        return p.PrimCall("if_then_else", (self.truth(node.test), one, two), one.dtype)

    def _subscript(self, node: ast.Subscript) -> p.PrimExpr:
        known = self._length(node)
        if known is not None:
            return known
        buffer, indices = self.access(node)
        return BufferLoad(buffer, indices)

    def _length(self, node: ast.Subscript) -> p.PrimExpr | None:
        """`A.shape[0]` or `A.strides[0]`: what the buffer says of itself; None for anything else."""
        items = node.value
        if not isinstance(items, ast.Attribute) or items.attr not in ("shape", "strides"):
            return None
        buffer, place = self.buffer(items.value), node.slice
        found = buffer.shape if items.attr == "shape" else buffer.strides or ()
        number = place.value if isinstance(place, ast.Constant) else None
        if not isinstance(number, int) or not 0 <= number < len(found):
            raise self.bad(node)
        return found[number]

    def extents(self, node: ast.expr) -> tuple[p.PrimExpr, ...]:
        """An argument of T.grid: an extent, or those of a buffer, `*A.shape`."""
        if not isinstance(node, ast.Starred):
            return (self.index(node),)
        items = node.value
        if not isinstance(items, ast.Attribute) or items.attr != "shape":
            raise self.bad(node)
        return self.buffer(items.value).shape

    def access(self, node: ast.Subscript) -> tuple[Buffer, tuple[p.PrimExpr, ...]]:
        """The buffer and the indices of `A[i, j]`; `A[()]` has none."""
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
        start, stop = self.read(node.lower or ast.Constant(0)), self.read(node.upper) if node.upper else None
        step = self.read(node.step) if node.step else p.IntImm(1, start.dtype)
        lanes = None if stop is None else p.Sub(*self.align(stop, start))
        width = _constant(lanes) if lanes is not None else None
        stride = _constant(step)
        if width is None or not stride:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, "a vector index has a known number of elements", node
            )
        return self._vector(start, step, width // stride, node)

    def buffer(self, node: ast.expr) -> Buffer:
        """A buffer by its name; that of a scalar is its `source`."""
        if isinstance(node, ast.Attribute) and node.attr == "source":
            node = node.value
        found = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(found, Buffer):
            return found
        text = ast.unparse(node)[:40]
        raise self.ctx.fail(
            codes.UNDEFINED,
            f"{text!r} is no buffer",
            node,
            "no buffer of this name",
            help=codes.UNDEFINED.fix,
        )

    def region(self, node: ast.expr) -> BufferRegion:
        """`A[i, j:k]` in T.reads and T.writes; the bare buffer is all of it."""
        if isinstance(node, ast.Name):
            buffer = self.buffer(node)
            whole = tuple([Range(p.IntImm(0, dim.dtype), dim) for dim in buffer.shape])
            return BufferRegion(buffer, whole, (False,) * len(whole))
        if not isinstance(node, ast.Subscript):
            raise self.bad(node)
        buffer = self.buffer(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        ranges, points = [], []
        for item in items:
            if isinstance(item, ast.Slice) and item.lower is not None and item.upper is not None:
                start, stop = self.align(self.index(item.lower), self.index(item.upper))
                ranges.append(Range(start, self.extent(start, stop)))
                points.append(False)
            else:
                start = self.index(item)
                ranges.append(Range(start, p.IntImm(1, start.dtype)))
                points.append(True)
        return BufferRegion(buffer, tuple(ranges), tuple(points))

    def extent(self, start: p.PrimExpr, stop: p.PrimExpr) -> p.PrimExpr:
        """`stop - start`, folded where that is plain."""
        if isinstance(start, p.IntImm) and isinstance(stop, p.IntImm):
            return p.IntImm(stop.value - start.value, stop.dtype)
        if isinstance(start, p.IntImm) and start.value == 0:
            return stop
        if isinstance(stop, p.Add) and stop.a is start:
            return stop.b
        return p.Sub(stop, start)

    def _attribute(self, node: ast.Attribute) -> p.PrimExpr:
        if isinstance(node.value, ast.Name):
            found = self.names.get(node.value.id)
            if isinstance(found, Buffer) and node.attr == "elem_offset" and found.elem_offset is not None:
                return found.elem_offset
            if isinstance(found, Buffer):
                return BufferPtr(found, node.attr)
        if node.attr == "ty" and isinstance(node.value, ast.Call) and dotted(node.value.func) == "T.handle":
            return self.pointer_type(node.value)
        raise self.bad(node)

    def pointer_type(self, node: ast.Call) -> PointerType:
        """The type `T.handle("int64", "global")`; `T.handle()` says nothing of what is pointed to."""
        if not node.args:
            return PointerType(HANDLE)
        scope = node.args[1] if len(node.args) > 1 else ast.Constant("global")
        if len(node.args) > 2 or not isinstance(scope, ast.Constant):
            raise self.bad(node)
        return PointerType(self.dtype(node.args[0]), str(scope.value))

    def _call(self, node: ast.Call) -> p.PrimExpr:
        name = dotted(node.func)
        if not name.startswith("T."):
            return self._function_of_module(node, name)
        name = name[2:]
        found = dtype_of_prefix(f"T.{name}")
        if found is not None:
            return self._typed(found, node)
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
        found = self.ctx.scalar_results.get(member)
        return p.PrimCall(f"{p.OF_MODULE}{member}", args, found or next((arg.dtype for arg in args), INT32))

    def _typed(self, wanted: DType, node: ast.Call) -> p.PrimExpr:
        """`T.float32(0.5)`: a literal, or a conversion."""
        if len(node.args) != 1:
            raise self.bad(node)
        inner = node.args[0]
        negative = isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.USub)
        value = inner.operand if negative and isinstance(inner, ast.UnaryOp) else inner
        if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str)):
            try:
                number = float(value.value) if wanted.is_float else int(value.value)
            except (ValueError, OverflowError):
                raise self.bad(node) from None
            return self.literal(-number if negative else number, wanted, node)
        return self._converted(wanted, self.read(inner), node)

    def _converted(self, wanted: DType, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
        if isinstance(value, BufferPtr):  # an address is no number
            raise self.bad(node)
        return p.Cast(wanted, value)

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
        """`T.min_value("float32")`, `T.max_value(…)`, `T.infinity(…)`: the literal that it is."""
        kind, name = self.dtype(node.args[0]), dotted(node.func)
        if (
            kind.lanes != 1
            or kind.name == UNSPECIFIED_FLOAT
            or not (kind.is_float or (kind.is_int and name != "T.infinity"))
        ):
            raise self.bad(node)
        if name == "T.infinity":
            return p.FloatImm(math.inf, kind)
        least, most = limits(kind)
        return self.literal(least if name == "T.min_value" else most, kind, node)

    def _select(self, node: ast.Call) -> p.PrimExpr:
        return p.Select(self.truth(node.args[0]), *self.align(*map(self.read, node.args[1:])))

    def _if_then_else(self, node: ast.Call) -> p.PrimExpr:
        left, right = self.align(*map(self.read, node.args[1:]))
        return p.PrimCall("if_then_else", (self.truth(node.args[0]), left, right), left.dtype)

    def _ramp(self, node: ast.Call) -> p.PrimExpr:
        base, stride, lanes = [self.read(arg) for arg in node.args]
        return self._vector(base, stride, _constant(lanes) or 1, node)

    def _broadcast_call(self, node: ast.Call) -> p.PrimExpr:
        value, lanes = [self.read(arg) for arg in node.args]
        times = _constant(lanes) or 0
        if not 1 <= times * value.dtype.lanes <= MOST_LANES:
            raise self.bad(node)
        return p.PrimCall("Broadcast", (value, lanes), value.dtype.with_lanes(times * value.dtype.lanes))

    def _vector(self, base: p.PrimExpr, stride: p.PrimExpr, lanes: int, node: ast.expr) -> p.PrimExpr:
        if not 1 <= lanes <= MOST_LANES or base.dtype.lanes != 1:
            raise self.bad(node)
        return Ramp(base, stride, lanes)

    def _let(self, node: ast.Call) -> p.PrimExpr:
        """`T.Let(body, where={var: value})`."""
        where = next((k.value for k in node.keywords if k.arg == "where"), None)
        if not isinstance(where, ast.Dict) or len(where.keys) != 1 or not isinstance(where.keys[0], ast.Name):
            raise self.bad(node)
        value = self.read(where.values[0])
        var = self.define(where.keys[0].id, value.dtype)
        return Let(var, value, self.read(node.args[0]))

    def _intrinsic(self, node: ast.Call, name: str) -> p.PrimExpr:
        args = tuple([self.read(arg) for arg in node.args])
        if name == "ret" and len(args) != 1:
            raise self.bad(node)
        if f"T.{name}" in OF_ONE_DTYPE and len(args) == 2:
            args = self.align(*args)
        keywords = tuple([(name, self._keyword(value)) for name, value in self.keywords(node).items()])
        result = _RESULTS.get(name) or next((arg.dtype for arg in args if arg.dtype is not HANDLE), INT32)
        if name == "tvm_struct_get" and args:  # it says last what it reads
            result = self.dtype(node.args[-1]) if isinstance(args[-1], p.PrimString) else HANDLE
        return p.PrimCall(name, args, result, keywords)

    def keywords(self, node: ast.Call) -> dict[str, ast.expr]:
        """The named arguments of a call, each written out; raises Skip for `**`."""
        if any(keyword.arg is None for keyword in node.keywords):
            raise self.bad(node)
        return {keyword.arg or "": keyword.value for keyword in node.keywords}

    def _keyword(self, node: ast.expr) -> Any:
        """A named argument: a constant, or a list of them."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple([self._keyword(item) for item in node.elts])
        raise self.bad(node)

    def dtype(self, node: ast.expr) -> DType:
        """A dtype given as a string."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return dtype(node.value)
            except ValueError:
                text = f"{node.value[:40]!r} is no dtype"
                raise self.ctx.fail(codes.BAD_DTYPE, text, node, help=codes.BAD_DTYPE.fix) from None
        raise self.ctx.fail(codes.BAD_DTYPE, f"{ast.unparse(node)[:40]!r} is no dtype", node)


def _constant(expr: p.PrimExpr | None) -> int | None:
    from relax_explorer.core.arith.simplify import constant, polynomial

    return None if expr is None else constant(polynomial(expr))


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
