"""Reads Relax expressions. The result is a Relax expression, a scalar expression, or a Python constant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import BOOL, FLOAT64, DType
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.syntax.context import UNREADABLE, Context, Named, Skip
from relax_explorer.core.syntax.dialects import CONSTANT_KEYS, MISSING
from relax_explorer.core.syntax.parse_attributes import default_attrs
from relax_explorer.core.syntax.parse_call import read_call
from relax_explorer.core.syntax.parse_dim import PRIM_OPERATORS, align, name_the_length, negated
from relax_explorer.core.syntax.parse_forms import (
    scalar_constant,
)
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.python_tree import dotted, left_chain
from relax_explorer.core.syntax.reader import Read

TENSOR_OPERATORS: dict[type, str] = {
    ast.Add: "relax.add", ast.Sub: "relax.subtract", ast.Mult: "relax.multiply", ast.Div: "relax.divide",
    ast.FloorDiv: "relax.floor_divide", ast.Mod: "relax.mod", ast.Pow: "relax.power",
    ast.Eq: "relax.equal", ast.NotEq: "relax.not_equal", ast.Lt: "relax.less", ast.LtE: "relax.less_equal",
    ast.Gt: "relax.greater", ast.GtE: "relax.greater_equal",
}  # fmt: skip


class ExprReader:
    """Reads expressions in one function. `names` is the scope, which the statement reader maintains."""

    def __init__(
        self,
        ctx: Context,
        names: Mapping[str, Named],
        info: InfoReader,
        scalars: dict[e.Var, p.PrimExpr] | None = None,
    ) -> None:
        self.ctx, self.names, self.info = ctx, names, info
        self.attrs_seen: dict[tuple[type[Op], str], Attrs] = {}
        # The values of scalar variables, shared with nested functions.
        self.scalars: dict[e.Var, p.PrimExpr] = {} if scalars is None else scalars

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> e.Expr:
        """`node` as a Relax expression. Python numbers become scalars."""
        return self.as_expr(self.read(node), node)

    def bound_value(self, node: ast.expr, annotation: s.StructInfo | None) -> e.Expr:
        """`node` as the right side of a binding. There, TVM reads a bare number as a constant tensor."""
        raw = self.read(node)
        if isinstance(raw, (bool, int, float)) and not isinstance(annotation, s.PrimStructInfo):
            return scalar_constant(self, raw, None, node)
        if isinstance(raw, (bool, int, float)) and isinstance(annotation, s.PrimStructInfo):
            return e.PrimValue(self.literal(raw, node, annotation.dtype), None, self.ctx.span(node))
        return self.as_expr(raw, node)

    def as_expr(self, raw: object, node: ast.expr) -> e.Expr:
        """A result of `read` as a Relax expression."""
        if isinstance(raw, e.Expr):
            return raw
        if isinstance(raw, p.PrimExpr):
            return e.PrimValue(raw, None, self.ctx.span(node))
        if isinstance(raw, (bool, int, float)):
            return e.PrimValue(self.literal(raw, node), None, self.ctx.span(node))
        if isinstance(raw, str):
            return e.StringImm(raw, None, self.ctx.span(node))
        if isinstance(raw, tuple):
            elements = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node] * len(raw)
            fields = tuple([self.as_expr(item, at) for item, at in zip(raw, elements, strict=True)])
            return e.Tuple(fields, None, self.ctx.span(node))
        raise self.no_expression(node)

    def literal(self, raw: float, node: ast.expr, target: DType | None = None) -> p.PrimExpr:
        """A Python number as a scalar, by default a float64 for a float. Raises Skip if it does not fit."""
        try:
            return p.as_prim(raw, target or (FLOAT64 if type(raw) is float else None))
        except (OverflowError, ValueError):
            text = f"{str(raw)[:40]} does not fit {target or 'int64'}"
            raise self.ctx.fail(codes.BAD_LITERAL, text, node) from None

    def no_expression(self, node: ast.expr, help: str = "") -> Skip:
        """Report that `node` is not a Relax expression, and return a Skip for the caller to raise."""
        text = ast.unparse(node)[:60]
        return self.ctx.fail(
            codes.BAD_EXPRESSION,
            f"{text!r} is not a Relax expression",
            node,
            help=help or codes.BAD_EXPRESSION.why,
        )

    def read(self, node: ast.expr) -> Read:
        """`node` as a Relax expression, a PrimExpr, a number, a string, None or a tuple of these."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise self.no_expression(node)
        return reader(self, node)

    def _name(self, node: ast.Name) -> Read:
        value = self.names.get(node.id)
        if value is not None:
            return value
        if node.id == UNREADABLE:
            raise Skip
        declared = self.ctx.type_vars.get(node.id)
        if declared is not None:
            return self.info.define(node.id, declared)
        if node.id in self.ctx.functions and node.id not in self.ctx.module_names:
            self._bare_function(node)
            return e.GlobalVar(node.id, None, self.ctx.span(node))
        hint = self.ctx.meant(node.id, self.names) or codes.UNDEFINED.fix
        raise self.ctx.undefined(node.id, f"{node.id!r} is not defined", node, hint)

    def _bare_function(self, node: ast.Name) -> None:
        """Report a function of the module that is named without the module, unless the text is of an era that does so."""
        if not self.ctx.dialect.purity:  # text of 2022 and early 2023
            return
        text = f"the function {node.id!r} of the module is not defined here"
        help = f"write cls.{node.id}, or {self.ctx.module_name}.{node.id}"
        if self.ctx.is_in_class and not self.ctx.dialect.old and node.id not in self.ctx.externs:
            self.ctx.say(codes.UNDEFINED, text, node, help=help)
        else:
            self.ctx.refuse(codes.UNDEFINED, text, node, help=help)

    def _constant(self, node: ast.Constant) -> Read:
        value = node.value
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise self.no_expression(node)

    def _sequence(self, node: ast.Tuple | ast.List) -> Read:
        return tuple([self.read(item) for item in node.elts])

    def _attribute(self, node: ast.Attribute) -> Read:
        name = dotted(node)
        head, _, member = name.partition(".")
        if head in self.ctx.module_names and member and "." not in member and head not in self.names:
            if head not in self.ctx.aliases and head != self.ctx.module_name and self.ctx.is_in_class:
                help = f"write {self.ctx.module_name}.{member}, or {head} = {self.ctx.module_name} above"
                self.ctx.refuse(codes.UNDEFINED, f"{head!r} is not defined in this function", node, help=help)
            return e.GlobalVar(member, None, self.ctx.span(node))
        raise self.no_expression(node, self._of_a_tensor(node))

    def _of_a_tensor(self, node: ast.Attribute) -> str:
        """A hint on an attribute or method that numpy's tensors have."""
        if not isinstance(node.value, ast.Name) or not isinstance(self.names.get(node.value.id), e.Expr):
            return ""
        value, op = node.value.id, find_op(f"relax.{node.attr}")
        if node.attr == "shape":
            return name_the_length(node)
        if node.attr == "dtype":
            return f"write the dtype: StructInfo states it where {value} is declared"
        if node.attr == "T":
            return f"write R.permute_dims({value})"
        return "" if op is None else f"write R.{node.attr}({value}, …)"

    def _subscript(self, node: ast.Subscript) -> Read:
        if (
            isinstance(node.value, ast.Subscript)
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id == "metadata"
        ):
            return self._metadata(node)
        index = node.slice
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self._attribute(node.value)  # of numpy
        negative = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
        if not isinstance(index, ast.Constant) or type(index.value) is not int:
            text = "a tuple index can't be negative" if negative else "a tuple index is an integer literal"
            raise self.ctx.fail(
                codes.BAD_EXPRESSION,
                text,
                node,
                help="for elements of a tensor use R.take or R.strided_slice",
            )
        inner = self.read(node.value)
        if isinstance(inner, tuple) and 0 <= index.value < len(inner):
            return inner[index.value]
        if isinstance(inner, tuple):
            raise self.ctx.fail(
                op_codes.TUPLE_INDEX, f"the tuple has {len(inner)} fields, no field {index.value}", node
            )
        return e.TupleGetItem(self.as_expr(inner, node.value), index.value, None, self.ctx.span(node))

    def _metadata(self, node: ast.Subscript) -> e.Expr:
        outer = node.value
        key = (
            outer.slice.value
            if isinstance(outer, ast.Subscript) and isinstance(outer.slice, ast.Constant)
            else None
        )
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not isinstance(key, str) or not isinstance(index, int):
            raise self.no_expression(node)
        is_missing, key = key.endswith(MISSING), key.removesuffix(MISSING)
        entries = [] if is_missing else self.ctx.metadata.get(key, [])
        span = self.ctx.span(node)
        if index < len(entries):
            entry = entries[index]
            if isinstance(entry, e.Expr):
                return e.replace_span(entry, span)
            if isinstance(entry, Verbatim):
                text = f"{key}[{index}] of the metadata block is of a class that is not known"
                raise self.ctx.fail_with_fix(codes.BAD_METADATA, text, node)
            return e.Constant(entry, s.constant_info(entry), "", span)
        if self.ctx.has_metadata and not is_missing:
            raise self.ctx.fail(codes.BAD_METADATA, f"the metadata block has no {key}[{index}]", node)
        if not self.ctx.has_metadata:
            self.ctx.refuse(codes.MISSING_METADATA, "TVM reads no constant without its data", node)
        if not self.ctx.misses_data:  # reported once: if one is missing, all are
            self.ctx.misses_data = True
            text = (
                "the module was printed without show_meta=True: the data of its constants is not in the text"
            )
            self.ctx.say(codes.MISSING_METADATA, text, node)
        is_tensor = key in CONSTANT_KEYS
        return e.Constant(None, s.TensorStructInfo() if is_tensor else s.OBJECT, f"{key}[{index}]", span)

    # -- operators of Python --------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Read:
        operations = left_chain(node)
        value = self.read(operations[-1].left)
        for operation in reversed(operations):
            value = self._combine(operation, operation.op, value, self.read(operation.right))
        return value

    def _compare(self, node: ast.Compare) -> Read:
        if len(node.ops) != 1:
            raise self.ctx.fail(codes.BAD_EXPRESSION, "comparisons can't be chained", node)
        return self._combine(node, node.ops[0], self.read(node.left), self.read(node.comparators[0]))

    def _combine(self, node: ast.expr, operator: ast.operator | ast.cmpop, left: Read, right: Read) -> Read:
        scalars = self._scalar(left), self._scalar(right)
        if not any(isinstance(side, e.Expr) for side in scalars):
            left, right = scalars
        if isinstance(left, e.Expr) or isinstance(right, e.Expr):
            name = TENSOR_OPERATORS.get(type(operator))
            self._check_sign(node, operator, name)
            for side in (left, right):
                if isinstance(side, (int, float)):
                    raise self.ctx.fail(
                        codes.BAD_EXPRESSION,
                        f"{side!r} is a Python number beside a tensor",
                        node,
                        help=f"write R.const({side!r}, dtype)",
                    )
            if name is None:
                raise self.no_expression(node)
            args = (self.as_expr(left, node), self.as_expr(right, node))
            op = find_op(name)
            return e.Call(
                e.op_ref(name), args, default_attrs(op) if op else EMPTY, (), None, self.ctx.span(node)
            )
        operation = PRIM_OPERATORS.get(type(operator))
        if (
            operation is None
            or isinstance(left, (str, tuple))
            or isinstance(right, (str, tuple))
            or left is None
            or right is None
        ):
            raise self.no_expression(node)
        a, b = [side if isinstance(side, p.PrimExpr) else self.literal(side, node) for side in (left, right)]
        return self.info.combined(operation, *align(a, b), node)

    def _check_sign(self, node: ast.expr, operator: ast.AST, name: str | None) -> None:
        """Refuse an operator that tensors do not have: @ in our language, and == and != in TVM."""
        if isinstance(node, ast.BinOp) and isinstance(operator, ast.MatMult):
            written = f"R.matmul({ast.unparse(node.left)[:40]}, {ast.unparse(node.right)[:40]})"
            text = "tensors have no operator @"
            raise self.ctx.fail(codes.BAD_EXPRESSION, text, node, help=f"write {written}")
        if name is not None and isinstance(operator, (ast.Eq, ast.NotEq)):
            written = f"R.{name.removeprefix('relax.')}(…)"
            text = f"TVM compares with {written} only"
            self.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=f"write {written}")

    def _bool(self, node: ast.BoolOp) -> Read:
        values = [self._scalar(self.read(value)) for value in node.values]
        if any(not isinstance(value, (p.PrimExpr, bool)) for value in values):
            raise self.no_expression(node, "use R.logical_and and R.logical_or on tensors")
        return self.info.prim(node)

    def _unary(self, node: ast.UnaryOp) -> Read:
        inner = self._scalar(self.read(node.operand))
        if isinstance(inner, e.Expr):
            names: dict[type, str] = {ast.USub: "relax.negative", ast.Invert: "relax.bitwise_not"}
            if type(node.op) not in names:
                raise self.no_expression(node)
            if isinstance(node.op, ast.Invert):
                self.ctx.refuse(
                    codes.BAD_EXPRESSION, "TVM has no operator ~", node, help="write R.bitwise_not(…)"
                )
            return e.Call(e.op_ref(names[type(node.op)]), (inner,), EMPTY, (), None, self.ctx.span(node))
        if isinstance(node.op, ast.USub) and isinstance(inner, (int, float)):
            return -inner
        if isinstance(inner, p.PrimExpr):
            if isinstance(node.op, ast.Not) and inner.dtype is not BOOL:
                text = f"TVM takes `not` of a truth value, not of {inner.dtype}"
                self.ctx.refuse(codes.BAD_EXPRESSION, text, node, help="compare it with 0")
            return p.Not(inner) if isinstance(node.op, ast.Not) else negated(inner)
        raise self.no_expression(node)

    # -- scalars --------------------------------------------------------------------------------------------------

    def note_scalar(self, var: e.Var, value: e.Expr) -> None:
        """Remember the value of scalar `var`, for arithmetic with its name."""
        scalar = value.value if type(value) is e.PrimValue else self._scalar(value)
        if isinstance(scalar, p.PrimExpr) and scalar.size <= s.MOST_WRITTEN:
            self.scalars[var] = scalar

    def is_scalar(self, value: Read) -> bool:
        """True if a value is known to be a scalar."""
        return isinstance(self._scalar(value), p.PrimExpr)

    def _scalar(self, value: Read) -> Read:
        """The value of a scalar variable. Anything else is returned unchanged."""
        if not isinstance(value, e.Var):
            return value
        info = value.struct_info
        constant = info.value if isinstance(info, s.PrimStructInfo) else None
        return constant or self.scalars.get(value, value)


_READERS: dict[type, Callable[[ExprReader, Any], Read]] = {
    ast.Name: ExprReader._name,
    ast.Constant: ExprReader._constant,
    ast.Tuple: ExprReader._sequence,
    ast.List: ExprReader._sequence,
    ast.Attribute: ExprReader._attribute,
    ast.Subscript: ExprReader._subscript,
    ast.BinOp: ExprReader._binary,
    ast.Compare: ExprReader._compare,
    ast.BoolOp: ExprReader._bool,
    ast.UnaryOp: ExprReader._unary,
    ast.Call: read_call,
}
