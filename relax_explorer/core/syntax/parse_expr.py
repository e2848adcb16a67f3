"""Reads Relax expressions. What an expression reads as is a Relax expression, a scalar expression, or a Python constant."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim, freeze
from relax_explorer.core.ir.dtype import FLOAT64, INT64, DType
from relax_explorer.core.ir.fold import combine
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.ops.decl import Op, Parameter
from relax_explorer.core.syntax import index_maps
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.dialects import ARGS_KEYWORDS, CONSTANT_KEYS, OUT_KEYWORDS
from relax_explorer.core.syntax.parse_forms import (
    CALL_ORDER,
    FORMS,
    NO_VALUES,
    constant_info,
    default_attrs,
    executes,
    scalar_constant,
)
from relax_explorer.core.syntax.parse_info import (
    PRIM_OPERATORS,
    InfoReader,
    align,
    dotted,
    dtype_of_prefix,
    negated,
    verbatim,
)

TENSOR_OPERATORS: dict[type, str] = {
    ast.Add: "relax.add", ast.Sub: "relax.subtract", ast.Mult: "relax.multiply", ast.Div: "relax.divide",
    ast.FloorDiv: "relax.floor_divide", ast.Mod: "relax.mod", ast.Pow: "relax.power", ast.MatMult: "relax.matmul",
    ast.Eq: "relax.equal", ast.NotEq: "relax.not_equal", ast.Lt: "relax.less", ast.LtE: "relax.less_equal",
    ast.Gt: "relax.greater", ast.GtE: "relax.greater_equal",
}  # fmt: skip
# Operators whose first argument is a function and whose second is the tuple of its arguments.
CALL_FORMS = frozenset(
    {
        "call_tir",
        "call_tir_inplace",
        "call_tir_with_grad",
        "call_dps_packed",
        "dist.call_tir",
        "dist.call_tir_local_view",
    }
)
NAMED_FORMS = frozenset({"call_py_func"})  # here the function is a string
CALL_FORMS |= NAMED_FORMS
PACKED_FORMS = frozenset({"call_pure_packed", "call_inplace_packed", "call_builtin_with_ctx"})


class ExprReader:
    """Reads expressions in one function; `names` is the scope, kept by the statement reader."""

    def __init__(self, ctx: Context, names: dict[str, Any], info: InfoReader) -> None:
        self.ctx, self.names, self.info = ctx, names, info
        self._attrs_seen: dict[tuple[type[Op], str], Attrs] = {}

    # -- values ---------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> e.Expr:
        """`node` as a Relax expression; Python numbers become scalars."""
        return self.as_expr(self.read(node), node)

    def bound_value(self, node: ast.expr, annotation: s.StructInfo | None) -> e.Expr:
        """`node` as the right side of a binding, where TVM reads a bare number as a constant tensor."""
        raw = self.read(node)
        if isinstance(raw, (bool, int, float)) and not isinstance(annotation, s.PrimStructInfo):
            return scalar_constant(self, raw, None, node)
        if isinstance(raw, (bool, int, float)) and isinstance(annotation, s.PrimStructInfo):
            return e.PrimValue(self.literal(raw, node, annotation.dtype), None, self.ctx.span(node))
        return self.as_expr(raw, node)

    def as_expr(self, raw: Any, node: ast.expr) -> e.Expr:
        """What was read as a Relax expression."""
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
        raise self._not_an_expression(node)

    def literal(self, raw: float, node: ast.expr, wanted: DType | None = None) -> p.PrimExpr:
        """A Python number as a scalar, a float as float64; raises Skip when it does not fit."""
        try:
            return p.as_prim(raw, wanted or (FLOAT64 if type(raw) is float else None))
        except (OverflowError, ValueError):
            text = f"{str(raw)[:40]} does not fit {wanted or 'int64'}"
            raise self.ctx.fail(codes.BAD_LITERAL, text, node) from None

    def _not_an_expression(self, node: ast.expr, help: str = "") -> Skip:
        text = ast.unparse(node)[:60]
        return self.ctx.fail(
            codes.BAD_EXPRESSION,
            f"{text!r} is no expression of Relax",
            node,
            help=help or codes.BAD_EXPRESSION.why,
        )

    def read(self, node: ast.expr) -> Any:
        """What `node` says: a Relax expression, a PrimExpr, a number, a string, None or a tuple of these."""
        reader = _READERS.get(type(node))
        if reader is None:
            raise self._not_an_expression(node)
        return reader(self, node)

    def _name(self, node: ast.Name) -> Any:
        found = self.names.get(node.id)
        if found is not None:
            return found
        declared = self.ctx.type_var_dtype(node.id)
        if declared is not None:
            return self.info.define(node.id, declared)
        if node.id in self.ctx.functions and node.id not in self.ctx.module_names:
            return e.GlobalVar(node.id, None, self.ctx.span(node))
        from difflib import get_close_matches

        near = get_close_matches(node.id, self.names, 1)
        hint = f"did you mean {near[0]}?" if near else codes.UNDEFINED.fix
        raise self.ctx.fail(
            codes.UNDEFINED, f"{node.id!r} is not defined", node, "not defined here", help=hint
        )

    def _constant(self, node: ast.Constant) -> Any:
        value = node.value
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        raise self._not_an_expression(node)

    def _sequence(self, node: ast.Tuple | ast.List) -> Any:
        return tuple([self.read(item) for item in node.elts])

    def _attribute(self, node: ast.Attribute) -> Any:
        name = dotted(node)
        head, _, member = name.partition(".")
        if head in self.ctx.module_names and member and "." not in member and head not in self.names:
            return e.GlobalVar(member, None, self.ctx.span(node))
        raise self._not_an_expression(node)

    def _subscript(self, node: ast.Subscript) -> Any:
        if (
            isinstance(node.value, ast.Subscript)
            and isinstance(node.value.value, ast.Name)
            and node.value.value.id == "metadata"
        ):
            return self._metadata(node)
        index = node.slice
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
            raise self._not_an_expression(node)
        items = self.ctx.metadata.get(key, [])
        span = self.ctx.span(node)
        if index < len(items):
            item = items[index]
            if isinstance(item, e.Expr):
                return e.replace_span(item, span)
            return e.Constant(item, constant_info(item), "", span)
        if self.ctx.has_metadata:
            raise self.ctx.fail(codes.BAD_METADATA, f"the metadata block has no {key}[{index}]", node)
        self.ctx.say(codes.MISSING_METADATA, f"the data of {key}[{index}] is not in this text", node)
        known = key in CONSTANT_KEYS
        return e.Constant(None, s.TensorStructInfo() if known else s.OBJECT, f"{key}[{index}]", span)

    # -- operators of Python --------------------------------------------------------------------------------------

    def _binary(self, node: ast.BinOp) -> Any:
        return self._combine(node, node.op, self.read(node.left), self.read(node.right))

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1:
            raise self.ctx.fail(codes.BAD_EXPRESSION, "one comparison at a time", node)
        return self._combine(node, node.ops[0], self.read(node.left), self.read(node.comparators[0]))

    def _combine(self, node: ast.expr, operator: Any, left: Any, right: Any) -> Any:
        scalars = _scalar(left), _scalar(right)
        if not any(isinstance(side, e.Expr) for side in scalars):
            left, right = scalars
        if isinstance(left, e.Expr) or isinstance(right, e.Expr):
            name = TENSOR_OPERATORS.get(type(operator))
            for side in (left, right):
                if isinstance(side, (int, float)):
                    raise self.ctx.fail(
                        codes.BAD_EXPRESSION,
                        f"{side!r} is a Python number beside a tensor",
                        node,
                        help=f"write R.const({side!r}, dtype)",
                    )
            if name is None:
                raise self._not_an_expression(node)
            args = (self.as_expr(left, node), self.as_expr(right, node))
            op = find_op(name)
            return e.Call(
                e.op_ref(name), args, default_attrs(op) if op else EMPTY, (), None, self.ctx.span(node)
            )
        kind = PRIM_OPERATORS.get(type(operator))
        if (
            kind is None
            or isinstance(left, (str, tuple))
            or isinstance(right, (str, tuple))
            or left is None
            or right is None
        ):
            raise self._not_an_expression(node)
        one, two = [
            side if isinstance(side, p.PrimExpr) else self.literal(side, node) for side in (left, right)
        ]
        return combine(kind, *align(one, two))

    def _bool(self, node: ast.BoolOp) -> Any:
        values = [_scalar(self.read(value)) for value in node.values]
        if any(not isinstance(value, (p.PrimExpr, bool)) for value in values):
            raise self._not_an_expression(node, "use R.logical_and and R.logical_or on tensors")
        return self.info.prim(node)

    def _unary(self, node: ast.UnaryOp) -> Any:
        inner = _scalar(self.read(node.operand))
        if isinstance(inner, e.Expr):
            names: dict[type, str] = {ast.USub: "relax.negative", ast.Invert: "relax.bitwise_not"}
            if type(node.op) not in names:
                raise self._not_an_expression(node)
            return e.Call(e.op_ref(names[type(node.op)]), (inner,), EMPTY, (), None, self.ctx.span(node))
        if isinstance(node.op, ast.USub) and isinstance(inner, (int, float)):
            return -inner
        if isinstance(inner, p.PrimExpr):
            return p.Not(inner) if isinstance(node.op, ast.Not) else negated(inner)
        raise self._not_an_expression(node)

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Any:
        func = node.func
        if type(func) is ast.Attribute:
            name = dotted(func)
            if name.startswith("R."):
                return self._relax_call(node, name[2:])
            if name.startswith("T."):
                return self.info.prim(node)
            if name.startswith("I."):
                return executes(self, node)
        callee = self.as_expr(self.read(func), func)
        args = tuple([self.value(arg) for arg in node.args])
        attrs, infos = self._generic_keywords(node, "")
        return e.Call(callee, args, attrs, infos, None, self.ctx.span(node))

    def _relax_call(self, node: ast.Call, name: str) -> Any:
        form = FORMS.get(name)
        if form is not None:
            return form(self, node)
        op = find_op(f"relax.{name}")
        if name in CALL_FORMS:
            return self._call_form(node, name, op)
        if name in PACKED_FORMS and node.args:
            return self._packed_form(node, name)
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                raise self._not_an_expression(arg, "write the arguments out")
        if op is None or op.variadic:
            if name in NO_VALUES:
                raise self._not_an_expression(node, NO_VALUES[name])
            given = node.args
            if name == "assert_op" and len(given) == 2 and isinstance(given[1], (ast.List, ast.Tuple)):
                given = [given[0], *given[1].elts]  # what the message mentions, in TVM a list
            args = tuple([self.value(arg) for arg in given])
            attrs, infos = self._generic_keywords(node, name, op)
            return e.Call(e.op_ref(f"relax.{name}"), args, attrs, infos, None, self.ctx.span(node))
        return self._operator(node, op)

    def _operator(self, node: ast.Call, op: type[Op]) -> e.Call:
        """A call of a declared operator: arguments are matched to its parameters by position and by name."""
        parameters = op.parameters
        if len(node.args) > len(parameters):
            self._bad_arguments(
                node, op, f"takes at most {len(parameters)} arguments, {len(node.args)} given"
            )
        given: dict[str, ast.expr] = {q.name: arg for q, arg in zip(parameters, node.args, strict=False)}
        infos: tuple[s.StructInfo, ...] = ()
        known = {q.name for q in parameters}
        for keyword in node.keywords:
            name = keyword.arg or "**"
            if name in ARGS_KEYWORDS or name in OUT_KEYWORDS:
                infos = self._infos(keyword.value)
            elif name not in known:
                from difflib import get_close_matches

                near = get_close_matches(name, known, 1)
                self._bad_arguments(
                    node, op, f"has no argument {name!r}" + (f"; did you mean {near[0]}?" if near else "")
                )
            elif name in given:
                self._bad_arguments(node, op, f"is given {name!r} twice")
            else:
                given[name] = keyword.value
        args = self._operands(node, op, given)
        attrs = self._attributes(node, op, given)
        return e.Call(e.op_ref(op.name), args, attrs, infos, None, self.ctx.span(node))

    def _bad_arguments(self, node: ast.Call, op: type[Op], problem: str) -> None:
        raise self.ctx.fail(codes.BAD_CALL, f"{op.name} {problem}", node, help=f"signature: {op.signature()}")

    def _operands(self, node: ast.Call, op: type[Op], given: dict[str, ast.expr]) -> tuple[e.Expr, ...]:
        args: list[e.Expr] = []
        skipped: list[Parameter] = []
        for q in op.operands:
            at = given.get(q.name)
            if at is None or (not q.required and isinstance(at, ast.Constant) and at.value is None):
                if q.required:
                    self._bad_arguments(node, op, f"lacks its argument {q.name!r}")
                if q.default is None or q.default == ():
                    skipped.append(q)
                else:
                    args.append(self.as_expr(q.default, node))
                continue
            if skipped:
                if any(before.default is None for before in skipped):
                    self._bad_arguments(
                        node, op, f"is given {q.name!r} but not {skipped[0].name!r} before it"
                    )
                # What is left out, as TVM writes it.
                args += [e.Tuple((), None, self.ctx.span(node)) for _ in skipped]
                skipped.clear()
            args.append(self._operand(q, at))
        return tuple(args)

    def _operand(self, q: Parameter, node: ast.expr) -> e.Expr:
        together = q.kind.startswith("Arguments")
        if type(node) is ast.Name and not together:
            found = self.names.get(node.id)
            if isinstance(found, e.Expr):
                return found
        if together:
            return self._argument_tuple(node, node)
        if q.kind.startswith("Shape") and isinstance(node, (ast.Tuple, ast.List)):
            return e.ShapeExpr(tuple([self.info.dim(item) for item in node.elts]), None, self.ctx.span(node))
        if q.kind.startswith("DType") and isinstance(node, ast.Constant):
            found = self.info.dtype(node)
            return (
                self.as_expr(node.value, node)
                if found is None
                else e.DataTypeImm(found, None, self.ctx.span(node))
            )
        raw = self.read(node)
        if q.kind.startswith("Shape") and isinstance(raw, (int, p.PrimExpr)) and not isinstance(raw, bool):
            return e.ShapeExpr(
                (raw if isinstance(raw, p.PrimExpr) else self.literal(raw, node),), None, self.ctx.span(node)
            )
        return self.as_expr(raw, node)

    def _attributes(self, node: ast.Call, op: type[Op], given: dict[str, ast.expr]) -> Attrs:
        if not op.attributes:
            return EMPTY
        key = None
        if (
            len(node.keywords) == len(given) - len(node.args)
            and len(node.args) == len(op.operands)
            and node.lineno == node.end_lineno
        ):
            first = node.keywords[0].value if node.keywords else None
            line = (
                self.ctx.source.line(node.lineno + self.ctx.line_offset)
                if first is not None and self.ctx.source.is_ascii
                else ""
            )
            if line and first is not None:  # the keywords as text: equal text means equal attributes
                key = (
                    op,
                    line[
                        first.col_offset + self.ctx.column_offset : (node.end_col_offset or 0)
                        + self.ctx.column_offset
                    ],
                )
                hit = self._attrs_seen.get(key)
                if hit is not None:
                    return hit
        if not any(q.required or q.name in given for q in op.attributes):
            return default_attrs(op)
        pairs = []
        for q in op.attributes:
            at = given.get(q.name)
            if at is None and q.required:
                self._bad_arguments(node, op, f"lacks its argument {q.name!r}")
            pairs.append((q.name, q.default if at is None else self._attribute_value(q, at)))
        attrs = Attrs(pairs)
        if key is not None and not any(q.kind.startswith(("Expr", "IndexMap")) for q in op.attributes):
            self._attrs_seen[key] = attrs
        return attrs

    def _attribute_value(self, q: Parameter, node: ast.expr) -> Any:
        if q.kind.startswith("DType"):
            return self.info.dtype(node) if isinstance(node, ast.Constant) else self.constant(node)
        if q.kind.startswith("str") and isinstance(node, ast.Call) and dotted(node.func) == "R.str":
            return self.constant(node.args[0]) if len(node.args) == 1 else self.constant(node)
        value = self.constant(node)
        if value is None and q.default == ():
            return ()
        if q.kind.startswith("float") and type(value) is int:
            return float(value)
        if q.kind.startswith("bool") and type(value) is int:
            return bool(value)
        if q.kind.startswith(("Axes", "Ints")) and type(value) is int:
            return (value,)
        return value

    def constant(self, node: ast.expr) -> Any:
        """A compile-time constant: numbers, strings, lists, dicts, dtypes, StructInfo; anything else as its text."""
        if isinstance(node, ast.Constant) and (
            node.value is None or isinstance(node.value, (bool, int, float, str))
        ):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return tuple([self.constant(item) for item in node.elts])
        if isinstance(node, ast.Dict):
            pairs = [
                (key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None
            ]
            found = {str(self.constant(key)): self.constant(value) for key, value in pairs}
            return freeze(dict(sorted(found.items())))  # as they are printed
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
            and isinstance(node.operand.value, (int, float))
        ):
            return -node.operand.value
        if isinstance(node, ast.Lambda):
            return index_maps.read(self.info, node)
        return self._named_constant(node, dotted(node.func) if isinstance(node, ast.Call) else dotted(node))

    def _named_constant(self, node: ast.expr, name: str) -> Any:
        if name == index_maps.NAME:
            return index_maps.read(self.info, node)
        if name.startswith("T.") and isinstance(node, ast.Call) and dtype_of_prefix(name) is not None:
            return self.info.prim(node)
        if isinstance(node, ast.Name) and isinstance(self.names.get(node.id), p.PrimExpr):
            return self.names[node.id]
        if isinstance(node, ast.BinOp):
            value = self.info.prim(node)
            return value.value if type(value) is p.IntImm and value.dtype is INT64 else value
        if isinstance(node, ast.Attribute) and dtype_of_prefix(name) is not None:
            return self.info.read(node)
        if name == "R.dtype" or name.startswith(
            ("R.Tensor", "R.Tuple", "R.Shape", "R.Any", "R.Object", "R.Prim")
        ):
            return self._as_constant_call(node)
        return Verbatim(verbatim(node))

    def _as_constant_call(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and dotted(node.func) == "R.dtype":
            return self.info.dtype(node.args[0])
        return self.info.read(node)

    def _generic_keywords(
        self, node: ast.Call, name: str, op: type[Op] | None = None
    ) -> tuple[Attrs, tuple[s.StructInfo, ...]]:
        """The keywords of a call whose arguments aren't matched to parameters: attributes, and StructInfo arguments."""
        infos: tuple[s.StructInfo, ...] = ()
        declared = {q.name: q for q in op.attributes} if op is not None else {}
        pairs: dict[str, Any] = {q.name: q.default for q in declared.values() if not q.required}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._not_an_expression(keyword.value, "write the arguments out")
            if keyword.arg in ARGS_KEYWORDS or keyword.arg in OUT_KEYWORDS:
                infos = self._infos(keyword.value)
            else:
                pairs[keyword.arg] = self._declared_value(declared.get(keyword.arg), keyword.value)
        return (Attrs(pairs) if pairs else EMPTY), infos

    def _declared_value(self, q: Parameter | None, node: ast.expr) -> Any:
        return self.constant(node) if q is None else self._attribute_value(q, node)

    def _infos(self, node: ast.expr) -> tuple[s.StructInfo, ...]:
        items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        return tuple([self.info.read(item) for item in items])

    def _call_form(self, node: ast.Call, name: str, op: type[Op] | None) -> e.Call:
        """`R.call_tir(f, (args…), out_ty=…)` and its kin."""
        if not node.args:
            raise self.ctx.fail(codes.BAD_CALL, f"R.{name} needs a function and its arguments", node)
        func = self.value(node.args[0]) if name in NAMED_FORMS else self._function_argument(node.args[0])
        declared = {q.name: q for q in op.attributes} if op is not None else {}
        order = CALL_ORDER.get(name, ("args", "out"))
        given: dict[str, ast.expr] = dict(zip(order, node.args[1:], strict=False))
        pairs: list[tuple[str, Any]] = [
            (key, self._attribute_value(q, given[key])) for key, q in declared.items() if key in given
        ]
        for keyword in node.keywords:
            key = keyword.arg or "**"
            if key in OUT_KEYWORDS or key in ARGS_KEYWORDS:
                given["out"] = keyword.value
            elif key in ("args", "tir_vars"):
                given[key] = keyword.value
            else:
                pairs.append((key, self._declared_value(declared.get(key), keyword.value)))
        args = [func, self._argument_tuple(given.get("args"), node)]
        if "tir_vars" in given:
            args.append(self.value(given["tir_vars"]))
        out = given.get("out")
        if out is None:
            raise self.ctx.fail(
                codes.BAD_CALL,
                f"R.{name} needs out_ty, the StructInfo of its result",
                node,
                help="add out_ty=R.Tensor(…)",
            )
        several = isinstance(out, (ast.List, ast.Tuple)) and len(out.elts) != 1
        out = out if several or not isinstance(out, (ast.List, ast.Tuple)) else out.elts[0]
        info = s.TupleStructInfo(self._infos(out)) if several else self.info.read(out)
        attrs = Attrs(pairs) if pairs else EMPTY
        called = (
            "call_tir" if name == "dist.call_tir" else name
        )  # TVM's surface has two names for one operator
        return e.Call(e.op_ref(f"relax.{called}"), tuple(args), attrs, (info,), None, self.ctx.span(node))

    def _function_argument(self, node: ast.expr) -> e.Expr:
        """The function that a call form names: a packed function in quotes, or any value."""
        callee = self.read(node)
        if isinstance(callee, str):
            return e.ExternFunc(callee, None, self.ctx.span(node))
        return self.as_expr(callee, node)

    def _argument_tuple(self, node: ast.expr | None, call: ast.expr) -> e.Expr:
        if node is None:
            return e.Tuple((), None, self.ctx.span(call))
        value = self.value(node)
        is_tuple = isinstance(value, e.Tuple) or (
            isinstance(value, e.Var) and isinstance(value.struct_info, s.TupleStructInfo)
        )
        return value if is_tuple else e.Tuple((value,), None, self.ctx.span(node))

    def _packed_form(self, node: ast.Call, name: str) -> e.Call:
        func = self._function_argument(node.args[0])
        args = (func, *[self.value(arg) for arg in node.args[1:]])
        attrs, infos = self._generic_keywords(node, name, find_op(f"relax.{name}"))
        return e.Call(e.op_ref(f"relax.{name}"), args, attrs, infos, None, self.ctx.span(node))


def _scalar(value: Any) -> Any:
    """A scalar parameter as the scalar that it is, anything else as itself."""
    info = value.struct_info if type(value) is e.Var else None
    return info.value if isinstance(info, s.PrimStructInfo) and info.value is not None else value


_READERS: dict[type, Callable[[ExprReader, Any], Any]] = {
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
    ast.Call: ExprReader._call,
}
