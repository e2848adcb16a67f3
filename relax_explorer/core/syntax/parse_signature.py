"""Reads the signature of a Relax function, and keeps the names in scope."""

from __future__ import annotations

import ast
import re
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.context import Context, Scope, Skip
from relax_explorer.core.syntax.parse_expr import ExprReader
from relax_explorer.core.syntax.parse_if import targets
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix


class SignatureReader:
    """Reads decorators, parameters and annotations of one function. A nested function gets its own reader with the same names."""

    def __init__(self, ctx: Context, outer: SignatureReader | None = None) -> None:
        self.ctx = ctx
        self.names: Scope = Scope() if outer is None else outer.names
        self.prim_params: dict[str, DType] = {}
        self.info = InfoReader(ctx, self._resolve, self._define)
        self.expr: ExprReader = ExprReader(
            ctx, self.names, self.info, None if outer is None else outer.expr.scalars
        )
        self.attrs: dict[str, Any] = {}
        self.output_names: frozenset[str] | None = None  # inside a dataflow block: the names in R.output
        self._infos: dict[str, s.StructInfo] = {}
        self._returned: Span | None = None
        self._unread_params: set[str] = set()
        self._type_vars: list[str] = []  # declared in this function, for its nested functions

    # -- names ----------------------------------------------------------------------------------------------------

    def _resolve(self, name: str) -> Any:
        value = self.names.get(name)
        if value is None and name in self.prim_params:
            return self._define(name, self.prim_params[name])
        return self.expr.scalars.get(value, value) if isinstance(value, e.Var) else value

    def _define(self, name: str, dtype: DType) -> p.PrimVar:
        var = p.PrimVar(name, dtype)
        self.names[name] = var
        if self.info.own is not None and name not in self.prim_params:
            self.info.own.add(name)
        return var

    def annotation(self, node: ast.expr) -> s.StructInfo:
        """An annotation. Equal texts in one function are read once."""
        if (
            type(node) is ast.Attribute or node.lineno != node.end_lineno or not self.ctx.source.is_ascii
        ):  # short, or without usable columns
            return self.info.read(node)
        line = self.ctx.source.line(node.lineno + self.ctx.line_offset)
        text = line[
            node.col_offset + self.ctx.column_offset : (node.end_col_offset or 0) + self.ctx.column_offset
        ]
        info = self._infos.get(text)
        if info is None:
            info = self.info.read(node)
            self._infos[text] = info
        return info

    # -- the signature --------------------------------------------------------------------------------------------

    def decorator_options(self, node: ast.expr) -> tuple[bool | None, bool]:
        """The options `pure` (None if omitted) and `private` of a decorator."""
        pure, private = None, False
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg in ("pure", "private") and not isinstance(value, int):
                text = f"TVM takes True or False for {keyword.arg}"
                self.ctx.refuse(codes.BAD_CALL, text, keyword.value, help=f"write {keyword.arg}=True")
            if keyword.arg == "pure":
                pure = bool(value)
            elif keyword.arg == "private":
                private = bool(value)
            elif keyword.arg != "check_well_formed":
                self.ctx.say(codes.BAD_CALL, f"R.function has no option {keyword.arg!r}", node)
        if isinstance(node, ast.Call) and node.args:
            text = "TVM takes the options of R.function by name"
            self.ctx.refuse(codes.BAD_CALL, text, node, help="write pure=…, private=…")
        return pure, private

    def _parameters(self, node: ast.FunctionDef) -> tuple[e.Var, ...]:
        arguments = node.args
        if _has_other_parameters(arguments):
            self.ctx.say(codes.NOT_TVMSCRIPT, "a Relax function has plain parameters only", node)
        self.prim_params = {
            a.arg: scalar_dtype
            for a in arguments.args
            if a.annotation is not None
            and not _states_value(a.annotation)
            and (scalar_dtype := self._prim_dtype(a.annotation))
        }
        self.info.in_signature = True
        self.info.is_declared = lambda name: _declares(node, name)
        self.info.own = set()
        infos: list[s.StructInfo | None] = []
        for argument in arguments.args:
            self.names.hide(argument.arg)  # those of a function around it
        infos.extend(map(self._parameter_info, arguments.args))
        self.info.in_signature, self.info.own = False, None
        for name in self._scalars(node):
            self._resolve(name)
        params = []
        seen: set[str] = set()
        for argument, info in zip(arguments.args, infos, strict=True):
            if argument.arg in seen:
                self.ctx.say(codes.DUPLICATE, f"two parameters are named {argument.arg!r}", argument)
            seen.add(argument.arg)
            value = self.names.get(argument.arg)
            if isinstance(value, p.PrimVar) and isinstance(info, s.PrimStructInfo) and info.value is None:
                info = s.PrimStructInfo(value.dtype, value)
            elif isinstance(value, p.PrimVar) and not isinstance(info, s.PrimStructInfo):
                text, help = f"{argument.arg!r} is a length, too: TVM takes a name once", "rename one of them"
                self.ctx.refuse(codes.DUPLICATE, text, argument, help=help)
            params.append(e.Var(argument.arg, info, self.ctx.span(argument)))
        for var in params:
            self.names[var.name] = var
        return tuple(params)

    def _scalars(self, node: ast.FunctionDef) -> list[str]:
        """The scalar parameters that need variables for their values: integers, for lengths, and operands of arithmetic."""
        others = {name for name, dtype in self.prim_params.items() if not dtype.is_int}
        computed = _computed_with(node, {*self.prim_params, *self.ctx.type_vars}) if others else set()
        return [name for name in self.prim_params if name not in others or name in computed]

    def _prim_dtype(self, node: ast.expr) -> DType | None:
        """The dtype of a scalar parameter, or None."""
        if isinstance(node, ast.Call) and dotted(node.func) == "R.Prim":
            dtype_args = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
            value = dtype_args[0].value if dtype_args and isinstance(dtype_args[0], ast.Constant) else "int64"
            return dtype_of_prefix(f"T.{value!s}")
        return dtype_of_prefix(dotted(node.func if isinstance(node, ast.Call) else node))

    def _parameter_info(self, argument: ast.arg) -> s.StructInfo | None:
        if argument.annotation is None:
            self.ctx.say(
                codes.BAD_ANNOTATION,
                f"parameter {argument.arg!r} has no annotation",
                argument,
                help="annotate it; R.Object fits any value",
            )
            return s.OBJECT
        try:
            return self.annotation(argument.annotation)
        except Skip:
            self._unread_params.add(argument.arg)
            return s.OBJECT

    def _return_annotation(self, node: ast.FunctionDef) -> s.StructInfo | None:
        if node.returns is None:
            return None
        self.info.in_signature = True
        try:
            return self.annotation(node.returns)
        except Skip:
            return None
        finally:
            self.info.in_signature = False


def _has_other_parameters(arguments: ast.arguments) -> bool:
    """True if a function of Python has parameters that no Relax function has."""
    return bool(
        arguments.vararg
        or arguments.kwarg
        or arguments.kwonlyargs
        or arguments.defaults
        or arguments.posonlyargs
    )


def _states_value(annotation: ast.expr) -> bool:
    """True for `R.Prim(value="n")`: the parameter has this value, which binds n or is compared with it."""
    if not isinstance(annotation, ast.Call) or dotted(annotation.func) != "R.Prim":
        return False
    return any(keyword.arg == "value" for keyword in annotation.keywords)


def _declares(node: ast.FunctionDef, name: str) -> bool:
    """True if a function declares a length somewhere: in quotes, or by `n = T.int64()`."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and word.search(part.value):
            return True
        if isinstance(part, ast.Assign) and name in targets(part) and "T." in ast.unparse(part.value):
            return True
    return False


def _computed_with(node: ast.FunctionDef, scalars: set[str]) -> set[str]:
    """The names among `scalars` that are operands of Python operators on scalars only, before the body binds them anew."""
    bound_at: dict[str, int] = {}  # lines of the first statements that bind the names again
    for own in node.body:
        for name in targets(own):
            bound_at.setdefault(name, own.end_lineno or own.lineno)
    for statement in ast.walk(node):
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, ast.Call) and dtype_of_prefix(dotted(value.func)) is not None:
            scalars = scalars | set(targets(statement))  # type: ignore[arg-type]  # an assignment, since it has a `value`
    computed: set[str] = set()
    for outer in ast.walk(node):
        if isinstance(outer, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp)):
            parts = list(ast.walk(outer))
            prefixes = {part.value for part in parts if isinstance(part, ast.Attribute)}  # the T of T.max
            names = {part.id for part in parts if isinstance(part, ast.Name) and part not in prefixes}
            if names <= scalars:
                computed |= {name for name in names if outer.lineno <= bound_at.get(name, outer.lineno)}
    return computed
