"""Reads dimensions and other scalar expressions of Relax functions."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType, element_type
from relax_explorer.core.ir.expr import Var
from relax_explorer.core.ir.fold import beyond
from relax_explorer.core.syntax.context import UNREADABLE, Context, Skip
from relax_explorer.core.syntax.dialects import EARLY
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, placed_tree

# -- prim rules ------------------------------------------------------------------------------------------------------
# Rules for reading scalar expressions: the meaning of operators and calls, and the conversion of operands.
# Only operations written with a symbol are folded (`n + 0` is n). A pass may build a tree with such an operation. It
# is printed as a function, `T.Add(n, 0)`, so that it reads back unchanged.


PRIM_OPERATORS: dict[type, type[p.Binary]] = {
    ast.Add: p.Add, ast.Sub: p.Sub, ast.Mult: p.Mul, ast.Div: p.Div, ast.FloorDiv: p.FloorDiv, ast.Mod: p.FloorMod,
    ast.Eq: p.EQ, ast.NotEq: p.NE, ast.Lt: p.LT, ast.LtE: p.LE, ast.Gt: p.GT, ast.GtE: p.GE, ast.And: p.And, ast.Or: p.Or,
}  # fmt: skip
PRIM_FUNCTIONS: dict[str, type[p.Binary]] = {
    "max": p.Max, "min": p.Min, "floordiv": p.FloorDiv, "FloorDiv": p.FloorDiv, "floormod": p.FloorMod, "FloorMod": p.FloorMod,
    "truncdiv": p.Div, "Div": p.Div, "truncmod": p.Mod, "Mod": p.Mod, "Add": p.Add, "Sub": p.Sub, "Mul": p.Mul, "Max": p.Max, "Min": p.Min,
    "EQ": p.EQ, "NE": p.NE, "LT": p.LT, "LE": p.LE, "GT": p.GT, "GE": p.GE, "And": p.And, "Or": p.Or,
}  # fmt: skip
OF_ONE_DTYPE = frozenset(
    ("T.bitwise_and", "T.bitwise_or", "T.bitwise_xor", "T.pow", "T.shift_left", "T.shift_right")
)
"""Calls that convert their two operands like operators."""


def combine(operator: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The operator on two operands of one dtype, folded if literals decide the result."""
    folded = operator.fold(a, b)
    return operator(a, b) if folded is None else folded


def function_of(name: str, a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The expression `T.max(a, b)`. The name of a node class, such as `T.Add`, makes that node without folding."""
    operator = PRIM_FUNCTIONS[name]
    return operator(a, b) if name[0].isupper() else combine(operator, a, b)


def negated(value: p.PrimExpr) -> p.PrimExpr:
    """The expression `-value`, as TVM reads it."""
    if value.dtype.is_float or value.dtype.kind == "int":
        return combine(p.Mul, value, p.as_prim(-1, value.dtype))
    return p.Sub(p.as_prim(0, value.dtype), value)


def align(a: p.PrimExpr, b: p.PrimExpr, bare: DType = INT64) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Two operands converted to one dtype, like in TVM. A literal of dtype `bare` takes the other dtype; else the wider one wins."""
    if a.dtype is b.dtype:
        return a, b
    if isinstance(b, p.IntImm) and b.dtype is bare and (a.dtype.is_int or a.dtype.is_float):
        return a, _converted(b, a.dtype)
    if isinstance(a, p.IntImm) and a.dtype is bare and (b.dtype.is_int or b.dtype.is_float):
        return _converted(a, b.dtype), b
    wide = _wider(a.dtype, b.dtype)
    return (a, b) if wide is None else (_converted(a, wide), _converted(b, wide))


def beside(value: p.PrimExpr, vector: p.PrimExpr) -> p.PrimExpr:
    """A scalar, converted to the wider dtype of its own and of a vector's elements. TVM converts it before it broadcasts it."""
    wide = _wider(value.dtype, vector.dtype.with_lanes(1)) if value.dtype.lanes == 1 else None
    return value if wide is None else _converted(value, wide)


def _converted(value: p.PrimExpr, target: DType) -> p.PrimExpr:
    if value.dtype is target:
        return value
    if isinstance(value, (p.IntImm, p.FloatImm)):
        with contextlib.suppress(OverflowError):
            return p.as_prim(value.value, target)
    return p.Cast(target, value)


def truth(ctx: Context, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
    """A condition. Reports any dtype except bool, and raises Skip."""
    if value.dtype.kind == "bool":
        return value
    text = f"a condition is a truth value, this is {value.dtype}"
    raise ctx.fail(codes.BAD_EXPRESSION, text, node, help="compare it, as in n != 0")


def _wider(a: DType, b: DType) -> DType | None:
    """The common dtype of two operands: float before integer before bool, then the one with more bits."""
    left, right = _rank(a), _rank(b)
    if left != right:
        return None if min(left, right) < 0 else a if left > right else b
    if left < 0 or (left == 2 and a.bits == b.bits):
        return None  # such as float16 and bfloat16, which TVM rejects
    return a if a.bits >= b.bits else b


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_float else 1 if dtype.is_int else 0 if dtype.is_bool else -1


# -- parse dim -------------------------------------------------------------------------------------------------------


ANY_DIM = "R.any_dim"
"""The text of a wildcard."""
_DIVISIONS = frozenset({p.FloorDiv, p.FloorMod, p.Div, p.Mod})


_USUAL = {"int": "int32", "uint": "uint32", "float": "float32", "bfloat": "bfloat16", "bool8": "bool"}
_KINDS = {"i": "int", "u": "uint", "f": "float", "bf": "bfloat"}
_SHORT = re.compile(r"(i|u|f|bf)(\d+)")


def full_name(name: str) -> str:
    """The name of an element type that TVM reads by another, such as `f32`, `i64` and `float`."""
    short = _SHORT.fullmatch(name)
    return f"{_KINDS[short[1]]}{short[2]}" if short else _USUAL.get(name, name)


class DimReader:
    """Reads scalar expressions in one function.

    `resolve(name)` returns the variable in scope (a Relax Var, a PrimVar, or None). In a signature, an unknown name in a
    quoted dimension, or a module-level TypeVar, defines a new shape variable (`define`).
    """

    def __init__(
        self, ctx: Context, resolve: Callable[[str], Any], define: Callable[[str, DType], p.PrimVar]
    ) -> None:
        self.ctx, self.resolve, self.define = ctx, resolve, define
        self.in_signature = self.in_quotes = False
        self.own: set[str] | None = None  # while parameters are read: the lengths that they declared so far
        self.is_declared: Callable[[str], bool] = lambda _: (
            True
        )  # somewhere in the function, though not above

    def dtype(self, node: ast.expr) -> DType | None:
        """The dtype in a string literal. None for the literal None and for names of unknown dtypes."""
        if not isinstance(node, ast.Constant) or not isinstance(node.value, (str, type(None))):
            text = f"{ast.unparse(node)[:40]!r} is not a dtype"
            raise self.ctx.fail_with_fix(codes.BAD_DTYPE, text, node)
        try:
            return None if node.value is None else element_type(full_name(node.value))
        except ValueError as error:
            raise self.ctx.fail_with_fix(codes.BAD_DTYPE, str(error)[:80], node) from None

    def _integer(self, node: ast.expr) -> int:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._integer(node.operand)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        raise self.ctx.fail(codes.BAD_EXPRESSION, "this must be an integer literal", node)

    def rank(self, arguments: dict[str, ast.expr], shape: object, node: ast.Call) -> int:
        """The value of `ndim=`, or -1. If the shape has dimensions, it must be their number."""
        ndim = self._integer(arguments["ndim"]) if "ndim" in arguments else -1
        count = len(shape) if isinstance(shape, tuple) else -1
        if ndim < -1 or (count != -1 and ndim not in (-1, count)):
            raise self.ctx.fail(
                codes.BAD_ANNOTATION,
                f"a rank can't be {ndim}" if ndim < -1 else f"the rank is {count}, not {ndim}",
                node,
                help="omit ndim if the dimensions are given",
            )
        return ndim

    def dim(self, node: ast.expr) -> p.PrimExpr:
        """A dimension: an expression of shape variables, possibly in quotes."""
        if isinstance(node, ast.Constant):
            if type(node.value) is int:
                return self._literal(node.value, node)
            if isinstance(node.value, str):
                if not self.in_signature:
                    text = "TVM takes lengths in quotes in the types of parameters and results only"
                    self.ctx.refuse(codes.BAD_ANNOTATION, text, node, help="leave the quotes out")
                return self._quoted(node)
        if isinstance(node, ast.Call) and dotted(node.func) == "R.prim_value" and len(node.args) == 1:
            return self.dim(node.args[0])
        value = self.prim(node)
        if not value.dtype.is_int:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION, f"a dimension is an integer, this is {value.dtype}", node
            )
        if value.dtype is not INT64 and type(value) is not p.IntImm:
            text = f"lengths are int64, {ast.unparse(node)[:40]} is {value.dtype}"
            fix = "declare it as T.int64(), or write T.int64(…) around it"
            raise self.ctx.fail(codes.BAD_EXPRESSION, text, node, help=fix)
        return value

    def _misplaced(self, node: ast.expr) -> Skip:
        """The problem of a wildcard that is not allowed, or that should be a value."""
        if self.ctx.experimental:
            text = "R.any_dim has no value; it may only be a whole dimension in a StructInfo"
            return self.ctx.fail(codes.BAD_EXPRESSION, text, node, help="use a shape variable here")
        text = "R.any_dim is an experiment that this module does not allow"
        return self.ctx.fail_with_fix(codes.EXPERIMENTAL, text, node)

    def _literal(self, value: int, node: ast.expr) -> p.PrimExpr:
        if self.ctx.numbers and str(value) in self.ctx.numbers:
            return self._name(ast.copy_location(ast.Name(str(value)), node))
        try:
            return p.IntImm(value, INT64)
        except OverflowError:
            raise self.ctx.fail(
                codes.BAD_LITERAL,
                f"{str(value)[:40]} does not fit int64",
                node,
                help="a dimension is an int64",
            ) from None

    def _quoted(self, node: ast.Constant) -> p.PrimExpr:
        return self._inside(node, self.dim)

    def _inside(self, node: ast.Constant, read: Callable[[ast.expr], p.PrimExpr]) -> p.PrimExpr:
        """A quoted expression, read by `read`. Problems inside are reported at the quotes."""
        try:
            inner = placed_tree(node)
        except ValueError:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION, f"{str(node.value)[:40]!r} is not a dimension", node
            ) from None
        outside = self.in_signature, self.in_quotes
        self.in_signature = self.in_quotes = True
        try:
            return read(inner)
        finally:
            self.in_signature, self.in_quotes = outside

    def _scalar(self, node: ast.expr) -> p.PrimExpr:
        """The value of a scalar, possibly in quotes."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._inside(node, self.prim)
        return self.prim(node)

    def prim(self, node: ast.expr) -> p.PrimExpr:
        """A scalar expression. Integer literals are int64."""
        reader = _PRIMS.get(type(node))
        if reader is None and dotted(node) == ANY_DIM:
            raise self._misplaced(node)
        if reader is None:
            help = name_the_length(node) or _SCALAR
            text = f"{ast.unparse(node)[:60]!r} is not a scalar expression"
            raise self.ctx.fail(codes.BAD_EXPRESSION, text, node, help=help)
        return reader(self, node)

    def _name(self, node: ast.Name) -> p.PrimExpr:
        value = self.resolve(node.id)
        if isinstance(value, p.PrimExpr):
            if self.own is not None and not self.in_quotes and node.id in self.own:
                self._undeclared(node)
            return value
        if isinstance(value, Var):
            info = value.struct_info
            if isinstance(info, s.PrimStructInfo) and info.value is not None:
                return info.value
            raise self.ctx.fail(codes.BAD_EXPRESSION, f"{node.id!r} is not a shape variable", node)
        if node.id == UNREADABLE:
            raise Skip
        declared = self.ctx.type_vars.get(node.id)
        if declared is not None or (self.in_signature and node.id not in self.ctx.computed):
            if not self.in_quotes:
                self._undeclared(node)
            return self.define(node.id, declared or INT64)
        help = self.ctx.meant(node.id, ()) or f"declare it: {node.id} = T.int64()"
        raise self.ctx.undefined(node.id, f"shape variable {node.id!r} is not defined", node, help)

    def _undeclared(self, node: ast.Name) -> None:
        """Report a length in a signature that is neither in quotes nor declared above the function."""
        help = f'write it in quotes where it stands first: R.Tensor(("{node.id}", …), …)'
        if self.ctx.dialect is EARLY or self.ctx.type_vars.get(node.id) is not None:
            return
        if self.is_declared(node.id):
            text = f"{node.id!r} is declared only below its first use"
            self.ctx.refuse(codes.UNDEFINED, text, node, help=help)
        else:
            self.ctx.say(
                codes.UNDEFINED, f"length {node.id!r} is not defined", node, "not defined here", help=help
            )

    def _constant(self, node: ast.Constant) -> p.PrimExpr:
        if type(node.value) is int:
            return self._literal(node.value, node)
        if isinstance(node.value, (bool, float)):
            return p.as_prim(node.value)
        raise self.ctx.fail(codes.BAD_EXPRESSION, f"{str(node.value)[:40]!r} is no scalar", node)

    def _binary(self, node: ast.BinOp) -> p.PrimExpr:
        operations: list[tuple[type[p.Binary], ast.expr]] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):  # a sum of many terms nests deeply to the left
            operator = PRIM_OPERATORS.get(type(left.op))
            if operator is None:
                raise self.ctx.fail(codes.BAD_EXPRESSION, "this operator is not defined on dimensions", left)
            operations.append((operator, left.right))
            left = left.left
        value = self.prim(left)
        for operator, right in reversed(operations):
            a, b = align(value, self.prim(right))
            if operator in _DIVISIONS and type(b) is p.IntImm and b.value == 0:
                text = f"{ast.unparse(node)[:40]!r} divides by zero"
                raise self.ctx.fail(
                    codes.BAD_EXPRESSION, text, right, help="divide by a length that is not 0"
                )
            value = self.combined(operator, a, b, node)
        return value

    def combined(self, operator: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
        """The operator on two operands. Literals are folded; what does not fit their dtype is refused."""
        exact = beyond(operator(a, b)) if type(a) is type(b) is p.IntImm else None
        if exact is not None:
            text = f"{a} {operator.symbol} {b} is {exact}, which does not fit {a.dtype}"
            raise self.ctx.fail(
                codes.BAD_LITERAL, text, node, help="use smaller numbers: integers do not wrap"
            )
        return combine(operator, a, b)

    def _compare(self, node: ast.Compare) -> p.PrimExpr:
        operator = PRIM_OPERATORS.get(type(node.ops[0]))
        if operator is None or len(node.ops) != 1:
            raise self.ctx.fail(codes.BAD_EXPRESSION, "comparisons can't be chained", node)
        return combine(operator, *align(self.prim(node.left), self.prim(node.comparators[0])))

    def _bool(self, node: ast.BoolOp) -> p.PrimExpr:
        operator = PRIM_OPERATORS[type(node.op)]
        first, *others = [truth(self.ctx, self.prim(value), value) for value in node.values]
        return functools.reduce(operator, others, first)

    def _unary(self, node: ast.UnaryOp) -> p.PrimExpr:
        if isinstance(node.op, ast.Not):
            return p.Not(truth(self.ctx, self.prim(node.operand), node.operand))
        if isinstance(node.op, ast.USub):
            inner = node.operand
            if isinstance(inner, ast.Constant) and type(inner.value) is int:
                return self._literal(-inner.value, node)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (bool, float)):
                return p.as_prim(-inner.value)
            return negated(self.prim(inner))
        raise self.ctx.fail(codes.BAD_EXPRESSION, "this operator is not defined on dimensions", node)

    def _prim_call(self, node: ast.Call) -> p.PrimExpr:
        name = dotted(node.func)
        element = dtype_of_prefix(name)
        if element is not None and len(node.args) == 1:
            return self.literal_of(element, node.args[0])
        if element is not None and not node.args:
            raise self.ctx.fail(
                codes.BAD_EXPRESSION,
                f"{name}() declares a shape variable and is no value",
                node,
                help=f"declare it on a separate line: n = {name}()",
            )
        if name in ("T.Cast", "T.cast") and len(node.args) == 2:  # the dtype stands first, and last
            target, value = node.args if name == "T.Cast" else node.args[::-1]
            return p.Cast(self.dtype(target) or INT64, self.prim(value))
        args = [self.prim(arg) for arg in node.args]
        if name.startswith("T.") and name[2:] in PRIM_FUNCTIONS and len(args) == 2:
            if name in ("T.And", "T.Or"):
                args = [truth(self.ctx, arg, part) for arg, part in zip(args, node.args, strict=True)]
            return function_of(name[2:], *align(args[0], args[1]))
        if name in ("T.Select", "T.if_then_else") and len(args) == 3:
            truth(self.ctx, args[0], node.args[0])
            a, b = align(args[1], args[2])
            if name == "T.Select":
                return p.Select(args[0], a, b)
            return p.PrimCall("if_then_else", (args[0], a, b), a.dtype)
        if name in OF_ONE_DTYPE and len(args) == 2:
            args = list(align(args[0], args[1]))
        if name.startswith("T."):
            return p.PrimCall(name[2:], tuple(args), args[0].dtype if args else INT64)
        text = f"{ast.unparse(node)[:60]!r} is not a scalar expression"
        raise self.ctx.fail(codes.BAD_EXPRESSION, text, node, help=_SCALAR)

    def literal_of(self, target: DType, node: ast.expr) -> p.PrimExpr:
        """The scalar `T.float32(1.5)`: a literal of that dtype, or a conversion to it."""
        value = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        if isinstance(value, ast.Constant) and isinstance(value.value, (int, float, str)):
            try:
                number = float(value.value) if target.is_float else int(value.value)
                return p.as_prim(-number if value is not node else number, target)
            except (OverflowError, ValueError):
                raise self.ctx.fail(
                    codes.BAD_LITERAL, f"{str(value.value)[:40]} does not fit {target}", node
                ) from None
        return p.Cast(target, self.prim(node))


_SCALAR = "write a number, a shape variable, or arithmetic with them"


def name_the_length(node: ast.expr) -> str:
    """The hint on `x.shape` or `x.shape[0]`, which TVMScript does not have; empty for other expressions."""
    shape = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(shape, ast.Attribute) or shape.attr != "shape" or not isinstance(shape.value, ast.Name):
        return ""
    value = shape.value.id
    return f'name the length where {value} is declared, R.Tensor(("n", …), …), and write n; all: R.shape_of({value})'


_PRIMS: dict[type, Callable[[DimReader, Any], p.PrimExpr]] = {
    ast.Name: DimReader._name,
    ast.Constant: DimReader._constant,
    ast.BinOp: DimReader._binary,
    ast.Compare: DimReader._compare,
    ast.BoolOp: DimReader._bool,
    ast.UnaryOp: DimReader._unary,
    ast.Call: DimReader._prim_call,
}
