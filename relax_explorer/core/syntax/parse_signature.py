"""Reads the signature of a Relax function, and keeps the names in scope."""

from __future__ import annotations

import ast
import re
from typing import Any, Protocol

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.source import Span
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.context import Blocks, Context, Scope, Skip
from relax_explorer.core.syntax.parse_expr import ExprReader
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix
from relax_explorer.core.syntax.reader import Reader
from relax_explorer.core.syntax.repeated_lines import RepeatedLines

# -- parse if --------------------------------------------------------------------------------------------------------
# Reads Ifs of Relax functions, and finds the names that a statement binds.


class StatementReader(Protocol):
    """The interface of the statement reader for Ifs."""

    ctx: Context
    names: Scope
    output_names: frozenset[str] | None

    @property
    def expr(self) -> Reader:
        """The reader of expressions."""

    def statement(self, node: ast.stmt, blocks: Blocks) -> None:
        """Read one statement."""

    def unread(self, node: ast.AST) -> e.Call:
        """A placeholder for an unreadable expression."""

    def new_var(self, name: str, info: s.StructInfo | None, node: ast.AST) -> e.Var:
        """A new variable for the current block."""


def read_if(reader: StatementReader, node: ast.If, blocks: Blocks) -> None:
    """Read an If. Both branches must end with a binding of the same name."""
    try:
        condition = reader.expr.value(node.test)
    except Skip:
        condition = reader.unread(node.test)
    name = _branch_target(reader, node)
    true_branch, annotation = _branch(reader, node.body, name, "_then")
    false_branch, false_annotation = _branch(reader, node.orelse, name, "_else")
    common = annotation if annotation is false_annotation else None
    var = reader.new_var(name, common, node)
    value = e.If(condition, true_branch, false_branch, None, reader.ctx.span(node))
    blocks.bindings.append(e.VarBinding(var, value, common, reader.ctx.span(node)))
    reader.names[name] = var


def _branch_target(reader: StatementReader, node: ast.If) -> str:
    names = []
    for branch, place in ((node.body, "first"), (node.orelse, "second")):
        if not branch:
            raise reader.ctx.fail_with_fix(codes.BAD_BRANCH, "the if has no else", node)
        last = branch[-1]
        name = _branch_target(reader, last) if isinstance(last, ast.If) else (targets(last) or [""])[-1]
        if not name:
            raise reader.ctx.fail_with_fix(
                codes.BAD_BRANCH, f"the {place} branch does not end in a binding", last
            )
        names.append(name)
    if names[0] != names[1]:
        raise reader.ctx.fail_with_fix(
            codes.BAD_BRANCH, f"one branch ends by binding {names[0]!r}, the other {names[1]!r}", node
        )
    return names[0]


def _branch(
    reader: StatementReader, statements: list[ast.stmt], name: str, suffix: str
) -> tuple[e.SeqExpr, s.StructInfo | None]:
    blocks, known = Blocks(), len(reader.ctx.report.items)
    # The checker reports an If in a dataflow block. Its branches are read as ordinary blocks.
    outputs, reader.output_names = reader.output_names, None
    try:
        with reader.names.block():
            for statement in statements:
                reader.statement(statement, blocks)
    finally:
        reader.output_names = outputs
    last = blocks.bindings[-1] if blocks.bindings else None
    if last is None or last.var is None or last.var.name != name:
        if len(reader.ctx.report.items) == known:  # a name of the module or of a shape variable
            text = f"{name!r} is no value at the end of this branch"
            reader.ctx.say(codes.BAD_BRANCH, text, statements[-1], help=codes.BAD_BRANCH.fix)
        return e.SeqExpr(blocks.close(), e.Tuple(())), None
    blocks.bindings.pop()
    span = last.span
    # A tuple is a leaf, too. The normalizer binds its fields in the branch.
    if isinstance(last, e.VarBinding) and (type(last.value) in e.LEAVES or type(last.value) is e.Tuple):
        return e.SeqExpr(blocks.close(), last.value, None, span), last.annotation
    var = e.Var(name + suffix, last.var.struct_info, last.var.span)
    renamed: e.Binding
    if isinstance(last, e.VarBinding):
        renamed = e.VarBinding(var, last.value, last.annotation, span)
    else:
        renamed = replace(last, var=var)
    blocks.bindings.append(renamed)
    return e.SeqExpr(blocks.close(), var, None, span), last.annotation


def targets(node: ast.stmt) -> list[str]:
    """Names that a statement binds. An If binds the last name of its branches."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, python_tree.Run):
        return node.targets()
    while isinstance(node, ast.If) and node.body:
        node = node.body[-1]
    bound: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        bound = node.targets
    elif isinstance(node, ast.AnnAssign):
        bound = [node.target]
    names = []
    for target in bound:
        items = target.elts if isinstance(target, ast.Tuple) else [target]
        names += [item.id for item in items if isinstance(item, ast.Name)]
    return names


# -- parse signature -------------------------------------------------------------------------------------------------


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
        self._lines = RepeatedLines(self.names, self.expr.scalars)
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
        if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
            continue
        if dtype_of_prefix(dotted(statement.value.func)) is not None:
            scalars = scalars | set(targets(statement))
    computed: set[str] = set()
    for outer in ast.walk(node):
        if isinstance(outer, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp)):
            parts = list(ast.walk(outer))
            prefixes = {part.value for part in parts if isinstance(part, ast.Attribute)}  # the T of T.max
            names = {part.id for part in parts if isinstance(part, ast.Name) and part not in prefixes}
            if names <= scalars:
                computed |= {name for name in names if outer.lineno <= bound_at.get(name, outer.lineno)}
    return computed
