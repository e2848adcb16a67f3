"""A program in Relay's notation as a Relax module, so that it runs: one function for each `def`, and one for the last expression.

Each value is a binding with the span of its text. StructInfo comes from the inferred types: a type parameter of kind Shape or
BaseType is an unknown shape or element type. Relax has no functions over types: a parameter whose type is unknown is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ir.walk import substitute_info
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.relations import program as r
from relax_explorer.core.relations.adapt import to_info
from relax_explorer.core.relations.inference import Typed
from relax_explorer.core.relations.relay_types import Type
from relax_explorer.core.relations.text import OURS
from relax_explorer.core.source import Source, Span

MAIN = "main"
_SAME = {
    **{name: f"relax.{name}" for name in (
        "add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "equal", "not_equal", "less", "less_equal",
        "greater", "greater_equal", "negative", "abs", "exp", "log", "sqrt", "tanh", "sigmoid", "matmul",
    )},
    "relu": "relax.nn.relu", "nn.relu": "relax.nn.relu", "flatten": "relax.nn.batch_flatten",
    "nn.batch_flatten": "relax.nn.batch_flatten",
}  # fmt: skip
"""Operators that take their arguments alone."""
_REDUCTIONS = ("sum", "mean", "max", "min", "prod")
_WRITTEN = re.compile(r"(?:Constant\s*\(\s*)?(-?[\w.+-]+)")


def lower_relay(typed: Typed, source: Source | None = None) -> IRModule:
    """The module of a program with its types. Raises Failure for errors in the types, and for what Relax cannot express."""
    if typed.report.errors:
        raise Failure(*typed.report.errors)
    program = typed.program
    functions = {name: _Function(typed, program).of(name, fn) for name, fn in program.functions.items()}
    if program.main is not None:
        name = MAIN
        while name in functions:
            name += "_"
        functions = {name: _Function(typed, program).main(name, program.main), **functions}
    return IRModule(functions, source=source)


class _Function:
    """The bindings of one function. Shape variables are its own; `names` are those of its variables so far."""

    def __init__(self, typed: Typed, program: r.Program) -> None:
        self.typed, self.program = typed, program
        self.dims: dict[p.PrimVar, p.PrimVar] = {}
        self.variables: dict[str, e.Expr] = {}
        self.bindings: list[e.Binding] = []
        self.taken: set[str] = set()

    def of(self, name: str, function: r.Function) -> e.Function:
        """A `def`. Its parameters bind the lengths that stand alone in their types."""
        params = []
        for variable in function.variables:
            info = self.info(variable.type)
            if info is s.OBJECT:
                text = f"Relax needs the kind of value that %{variable.name} is; its type is {self.resolved(variable.type)}"
                _refuse(text, variable.span)
            params.append(e.Var(self.name(variable.name), info, variable.span))
            self.variables[variable.name] = params[-1]
        return self.whole(name, tuple(params), function.body, function.span)

    def main(self, name: str, value: r.Expr) -> e.Function:
        """The expression behind the functions."""
        return self.whole(name, (), value, _span(value))

    def whole(self, name: str, params: tuple[e.Var, ...], body: r.Expr, span: Span | None) -> e.Function:
        """A public function."""
        sequence = self.sequence(body)
        return e.Function(params, sequence, None, None, Attrs({"global_symbol": name}), None, span)

    def sequence(self, body: r.Expr) -> e.SeqExpr:
        """An expression with bindings of its own."""
        outside = self.bindings, dict(self.variables)
        self.bindings = []
        value = self.value(body)
        if type(value) not in (e.Var, e.Constant):
            value = self.bind(value, "result", _span(_last(body)))
        block = e.BindingBlock(tuple(self.bindings))
        self.bindings, self.variables = outside
        return e.SeqExpr((block,) if block.bindings else (), value)

    def bind(self, value: e.Expr, wish: str, span: Span | None) -> e.Var:
        """A new variable with a value."""
        var = e.Var(self.name(wish), None, span)
        self.bindings.append(e.VarBinding(var, value, None, span))
        return var

    def name(self, wish: str) -> str:
        """A name that no variable of the function has."""
        name, number = wish, 0
        while name in self.taken:
            number += 1
            name = f"{wish}_{number}"
        self.taken.add(name)
        return name

    def resolved(self, part: object) -> Any:
        """A type as it was inferred."""
        return self.typed.solver.resolved(part)

    def info(self, part: object) -> s.StructInfo:
        """A type as StructInfo, in shape variables of this function."""
        info = to_info(self.resolved(part))
        tensors = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
        for tensor in tensors:
            for dim in (tensor.dims or ()) if isinstance(tensor, s.TensorStructInfo) else ():
                for var in p.free_vars(dim):
                    self.dims.setdefault(var, p.PrimVar(var.name, var.dtype))
        return substitute_info(info, dict(self.dims))

    def result(self, part: Type) -> s.StructInfo:
        """The type of what a packed function returns: without the shapes whose variables no parameter binds."""
        info = to_info(self.resolved(part))
        fields = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
        told = [
            s.TensorStructInfo(None, field.dtype, field.ndim)
            if isinstance(field, s.TensorStructInfo)
            and not set(p.free_vars(*field.dims or ())) <= set(self.dims)
            else substitute_info(field, dict(self.dims))
            for field in fields
        ]
        return s.TupleStructInfo(tuple(told)) if isinstance(info, s.TupleStructInfo) else told[0]

    # -- expressions -------------------------------------------------------------------------------------------------

    def value(self, expr: r.Expr) -> e.Expr:
        """An expression as a value: bindings before it, then a leaf or a call."""
        while isinstance(expr, r.Let):
            if isinstance(expr.value, r.Function):
                _refuse("Relax has no functions over types here; write it with @name", expr.value.span)
            self.variables[expr.var.name] = self.bind(self.value(expr.value), expr.var.name, expr.span)
            expr = expr.body
        rule: Any = _RULES.get(type(expr))
        if rule is None:
            _refuse(f"a {type(expr).__name__.lower()} has no form in Relax here", _span(expr))
        found: e.Expr = rule(self, expr)
        return found

    def leaf(self, expr: r.Expr) -> e.Expr:
        """An expression as an operand."""
        value = self.value(expr)
        return value if type(value) in (e.Var, e.Constant) else self.bind(value, "v", _span(expr))

    def variable(self, expr: r.Variable) -> e.Expr:
        """A variable."""
        return self.variables[expr.name]

    def constant(self, expr: r.Constant) -> e.Expr:
        """A tensor of which all elements are the number of the literal, 1 where there is none."""
        kind = self.resolved(expr.type)
        info = self.info(expr.type)
        text = expr.span.text if expr.span is not None else ""
        if not isinstance(info, s.TensorStructInfo) or info.dims is None or info.dtype is None:
            _refuse(f"a literal of type {kind} has no elements", expr.span)
        lengths = [dim.value for dim in info.dims if isinstance(dim, p.IntImm)]
        one = np.asarray(_number(text)).astype(info.dtype.to_numpy())
        if lengths == [] == list(info.dims):
            return e.Constant(one, info, span=expr.span)
        scalar = e.Constant(one, s.TensorStructInfo((), info.dtype, 0), span=expr.span)
        shape = e.ShapeExpr(info.dims, s.ShapeStructInfo(info.dims), expr.span)
        return _call("relax.full", (shape, scalar), expr.span, dtype=info.dtype)

    def fields(self, expr: r.Tuple) -> e.Expr:
        """A tuple."""
        return e.Tuple(tuple([self.leaf(part) for part in expr.fields]), None, expr.span)

    def item(self, expr: r.Item) -> e.Expr:
        """A field of a tuple."""
        return e.TupleGetItem(self.leaf(expr.value), expr.index, None, expr.span)

    def branches(self, expr: r.If) -> e.Expr:
        """A choice; each branch has bindings of its own."""
        condition = self.leaf(expr.condition)
        return e.If(condition, self.sequence(expr.then), self.sequence(expr.otherwise), None, expr.span)

    def call(self, expr: r.Call) -> e.Expr:
        """A call of a function of the program, or of an operator."""
        if not isinstance(expr.callee, r.Global):
            _refuse("Relax calls functions and operators by their names here", expr.span)
        name = expr.callee.name.removeprefix("@")
        if name in self.program.functions:
            args = tuple([self.leaf(arg) for arg in expr.args])
            return e.Call(e.GlobalVar(name), args, EMPTY, (), None, expr.span)
        if name == "concatenate":
            return _call(
                "relax.concat", (self.leaf(expr.args[0]),), expr.span, axis=expr.attrs.get("axis", 0)
            )
        return self.operator(name, tuple([self.leaf(arg) for arg in expr.args]), expr)

    def operator(self, name: str, args: tuple[e.Expr, ...], expr: r.Call) -> e.Expr:
        """An operator of Relay by that of Relax."""
        attrs, span = expr.attrs, expr.span
        axis = attrs.get("axis")
        if name in _SAME:
            more = {"out_dtype": None} if name == "matmul" else {}
            return _call(_SAME[name], args, span, **more)
        if name in _REDUCTIONS:
            axes = axis if axis is None or isinstance(axis, tuple) else _numbers(axis)
            return _call(f"relax.{name}", args, span, axis=axes, keepdims=bool(attrs.get("keepdims", False)))
        if name in ("nn.softmax", "nn.log_softmax"):
            return _call(f"relax.{name}", args, span, axis=-1 if axis is None else axis)
        if name == "transpose":
            axes = attrs.get("axes")
            return _call("relax.permute_dims", args, span, axes=None if axes is None else _numbers(axes))
        if name == "take":
            return _call("relax.take", args, span, axis=axis, mode="fast")
        if name == "copy":
            return args[0]
        if name == "shape_of":
            return self.shape_of(args, attrs, span)
        if name == "reshape":
            return self.reshape(args, attrs, span)
        if name not in OURS:
            info = self.result(self.typed.calls[expr])
            values = [self.attribute(attr, value, span) for attr, value in attrs.items()]
            return e.Call(
                e.op_ref("relax.call_pure_packed"),
                (e.ExternFunc(name), *args, *values),
                EMPTY,
                (info,),
                None,
                span,
            )
        _refuse(f"{name} has no form in Relax", span)

    def shape_of(self, args: tuple[e.Expr, ...], attrs: dict[str, Any], span: Span | None) -> e.Expr:
        """The lengths of a tensor as a tensor."""
        shape = self.bind(_call("relax.shape_of", args, span), "v", span)
        tensor = self.bind(_call("relax.shape_to_tensor", (shape,), span), "v", span)
        element = attrs.get("dtype", dtype("int32"))
        return _call(
            "relax.astype", (tensor,), span, dtype=element if isinstance(element, DType) else dtype(element)
        )

    def attribute(self, name: str, value: object, span: Span | None) -> e.Expr:
        """An attribute as an argument of a packed function."""
        if isinstance(value, DType):
            return e.DataTypeImm(value, None, span)
        if isinstance(value, str):
            return e.StringImm(value, None, span)
        if isinstance(value, bool | int | float):
            return e.PrimValue(p.as_prim(value), None, span)
        if not isinstance(value, tuple | list) or not all(type(part) is int for part in value):
            _refuse(f"the attribute {name} is no number, text, element type or lengths", span)
        return e.ShapeExpr(tuple(map(p.IntImm, value)), None, span)

    def reshape(self, args: tuple[e.Expr, ...], attrs: dict[str, Any], span: Span | None) -> e.Expr:
        """A reshape to the lengths of the attribute."""
        lengths = _numbers(attrs.get("newshape", ()))
        if 0 in lengths:
            _refuse("newshape copies a length by 0, which Relax does not", span)
        dims = tuple(map(p.IntImm, lengths))
        return _call("relax.reshape", (*args, e.ShapeExpr(dims, s.ShapeStructInfo(dims), span)), span)


_RULES: dict[type, Any] = {
    r.Variable: _Function.variable, r.Constant: _Function.constant, r.Tuple: _Function.fields, r.Item: _Function.item,
    r.If: _Function.branches, r.Call: _Function.call,
}  # fmt: skip


def _call(name: str, args: Sequence[e.Expr], span: Span | None, **attrs: object) -> e.Call:
    return e.Call(e.op_ref(name), tuple(args), Attrs(attrs), (), None, span)


def _numbers(value: tuple[int, ...] | list[int] | int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (int(value),)


def _number(text: str) -> float:
    """The number of a literal; 1 where it is none."""
    found = _WRITTEN.match(text.strip())
    word = found[1] if found is not None else ""
    try:
        return float(word == "True") if word in ("True", "False") else float(word)
    except ValueError:
        return 1.0


def _last(expr: r.Expr) -> r.Expr:
    """The expression behind all lets."""
    while isinstance(expr, r.Let):
        expr = expr.body
    return expr


def _span(expr: r.Expr) -> Span | None:
    found: Span | None = getattr(expr, "span", None)
    return found


def _refuse(text: str, span: Span | None) -> NoReturn:
    """Raise Failure for what has no form in Relax."""
    label = (Label(span, "", True),) if span is not None else ()
    raise Failure(Diagnostic(codes.NOTATION, text, label, help="Its types are solved; this part cannot run."))
