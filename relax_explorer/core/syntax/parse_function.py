"""Reads a Relax function: its signature, then its statements. A statement that can't be read is reported and passed over."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.erasure import erase_struct_info, wrap_type
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.source import Span
from relax_explorer.core.syntax import pieces
from relax_explorer.core.syntax.blocks import Blocks
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.local_names import Scope
from relax_explorer.core.syntax.parse_attributes import constant
from relax_explorer.core.syntax.parse_expr import ExprReader
from relax_explorer.core.syntax.parse_if import read_if, targets
from relax_explorer.core.syntax.parse_info import InfoReader
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix

TYPE_VARS = frozenset({"TypeVar", "typing.TypeVar"})
MATCH_CASTS = frozenset({"R.match_cast", "R.cast"})  # to a StructInfo, and to a type, which says no shape


class FunctionReader:
    """Reads one function; a nested function gets a reader of its own over the same names."""

    def __init__(self, ctx: Context, outer: FunctionReader | None = None) -> None:
        self.ctx = ctx
        self.names: Scope = Scope() if outer is None else outer.names
        self.prim_params: dict[str, DType] = {}
        self.info = InfoReader(ctx, self._resolve, self._define)
        self.expr: ExprReader = ExprReader(
            ctx, self.names, self.info, None if outer is None else outer.expr.scalars
        )
        self.attrs: dict[str, Any] = {}
        self.output_names: frozenset[str] | None = (
            None  # inside a dataflow block: the names that R.output lists
        )
        self._infos: dict[str, s.StructInfo] = {}
        self._returned: Span | None = None
        self._unread_params: set[str] = set()
        self._type_vars: list[str] = []  # those that this function declares, for the functions inside it

    # -- names ----------------------------------------------------------------------------------------------------

    def _resolve(self, name: str) -> Any:
        found = self.names.get(name)
        if found is None and name in self.prim_params:
            return self._define(name, self.prim_params[name])
        return self.expr.scalars.get(found, found) if isinstance(found, e.Var) else found

    def _define(self, name: str, dtype: DType) -> p.PrimVar:
        var = p.PrimVar(name, dtype)
        self.names[name] = var
        return var

    def annotation(self, node: ast.expr) -> s.StructInfo:
        """An annotation; equal texts in one function are read once."""
        if (
            type(node) is ast.Attribute or node.lineno != node.end_lineno or not self.ctx.source.is_ascii
        ):  # a short one, or one that is not found by its columns
            return self.info.read(node)
        line = self.ctx.source.line(node.lineno + self.ctx.line_offset)
        text = line[
            node.col_offset + self.ctx.column_offset : (node.end_col_offset or 0) + self.ctx.column_offset
        ]
        hit = self._infos.get(text)
        if hit is None:
            hit = self.info.read(node)
            self._infos[text] = hit
        return hit

    # -- the function ---------------------------------------------------------------------------------------------

    def read(self, node: ast.FunctionDef, decorator: ast.expr, name: str = "") -> e.Function:
        """The function; `name` is its global symbol, empty for a nested or private one."""
        pure, _private = self.decorator_options(decorator)
        params = self._parameters(node)
        ret = self._return_annotation(node)
        blocks = Blocks()
        for param in params:
            if param.name in self._unread_params:
                self._bind_unread(param.name, node, blocks)
        body = self._body(node, node.body, blocks)
        for declared in self._type_vars:
            del self.ctx.type_vars[declared]
        if name:
            self.attrs = {"global_symbol": name, **self.attrs}
        attrs = Attrs(sorted(self.attrs.items())) if self.attrs else EMPTY
        sequence = e.SeqExpr(blocks.close(), body, None, self._returned or self.ctx.span(node))
        return e.Function(params, sequence, ret, pure, attrs, None, self.ctx.span(node))

    def decorator_options(self, node: ast.expr) -> tuple[bool | None, bool]:
        """`pure` (None when not said) and `private` of a decorator."""
        pure, private = None, False
        for keyword in node.keywords if isinstance(node, ast.Call) else ():
            value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            if keyword.arg == "pure":
                pure = bool(value)
            elif keyword.arg == "private":
                private = bool(value)
            elif keyword.arg != "check_well_formed":
                self.ctx.say(codes.BAD_CALL, f"R.function has no option {keyword.arg!r}", node)
        return pure, private

    def _parameters(self, node: ast.FunctionDef) -> tuple[e.Var, ...]:
        arguments = node.args
        if (
            arguments.vararg
            or arguments.kwarg
            or arguments.kwonlyargs
            or arguments.defaults
            or arguments.posonlyargs
        ):
            self.ctx.say(codes.NOT_TVMSCRIPT, "a Relax function has plain parameters only", node)
        self.prim_params = {
            a.arg: found
            for a in arguments.args
            if a.annotation is not None and (found := self._prim_dtype(a.annotation))
        }
        self.info.in_signature = True
        infos: list[s.StructInfo | None] = []
        for argument in arguments.args:
            self.names.hide(argument.arg)
            infos.append(self._parameter_info(argument))
        self.info.in_signature = False
        for name in self._scalars(node):
            self._resolve(name)
        params = []
        seen: set[str] = set()
        for argument, info in zip(arguments.args, infos, strict=True):
            if argument.arg in seen:
                self.ctx.say(codes.DUPLICATE, f"two parameters are named {argument.arg!r}", argument)
            seen.add(argument.arg)
            value = self.names.get(argument.arg)
            if isinstance(value, p.PrimVar) and isinstance(info, s.PrimStructInfo):
                info = s.PrimStructInfo(value.dtype, value)
            params.append(e.Var(argument.arg, info, self.ctx.span(argument)))
        for var in params:
            self.names[var.name] = var
        return tuple(params)

    def _scalars(self, node: ast.FunctionDef) -> list[str]:
        """The scalar parameters whose values are named: those that can be dimensions, and those computed with."""
        others = {name for name, dtype in self.prim_params.items() if dtype is not INT64}
        computed = _computed_with(node, {*self.prim_params, *self.ctx.type_vars}) if others else set()
        return [name for name in self.prim_params if name not in others or name in computed]

    def _prim_dtype(self, node: ast.expr) -> DType | None:
        """The dtype of a parameter that is a scalar."""
        if isinstance(node, ast.Call) and dotted(node.func) == "R.Prim":
            said = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
            value = said[0].value if said and isinstance(said[0], ast.Constant) else "int64"
            return dtype_of_prefix(f"T.{value!s}")
        return dtype_of_prefix(dotted(node.func if isinstance(node, ast.Call) else node))

    def _parameter_info(self, argument: ast.arg) -> s.StructInfo | None:
        if argument.annotation is None:
            self.ctx.say(
                codes.BAD_ANNOTATION,
                f"parameter {argument.arg!r} has no annotation",
                argument,
                help="annotate it; R.Object says nothing of it",
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

    def _body(self, node: ast.FunctionDef, statements: list[ast.stmt], blocks: Blocks) -> e.Expr:
        result: e.Expr | None = None
        for statement in statements:
            if result is not None:
                self.ctx.say(codes.AFTER_RETURN, "nothing is read after the return", statement)
                break
            if isinstance(statement, ast.Return):
                result = self._return(statement)
                continue
            self.statement(statement, blocks)
        if result is None:
            if self._returned is None:
                place = statements[-1] if statements else node
                self.ctx.say(
                    codes.MISSING_RETURN,
                    f"function {node.name!r} does not return",
                    place,
                    help=codes.MISSING_RETURN.fix,
                )
            result = e.unread()
        return result

    def _return(self, node: ast.Return) -> e.Expr:
        self._returned = self.ctx.span(node.value or node)
        if node.value is None:
            return e.Tuple((), None, self.ctx.span(node))
        try:
            return self.expr.value(node.value)
        except Skip:
            return self.unread(node)

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: ast.stmt, blocks: Blocks) -> None:
        """Read one statement; when it can't be read, nothing is known of what it binds, and no error follows from it."""
        reader = _STATEMENTS.get(type(node))
        try:
            if reader is None:
                raise self.ctx.fail(
                    codes.BAD_STATEMENT,
                    f"{type(node).__name__} is no statement of a Relax function",
                    node,
                    help=codes.BAD_STATEMENT.why,
                )
            reader(self, node, blocks)
        except Skip:
            for name in targets(node) or ["_"]:
                self._bind_unread(name, node, blocks)

    def unread(self, node: ast.AST) -> e.Call:
        """What stands for an expression that can't be read; the variables in it count as used."""
        found = [self.names.get(part.id) for part in ast.walk(node) if isinstance(part, ast.Name)]
        return e.unread(tuple([var for var in found if isinstance(var, e.Var)]), self.ctx.span(node))

    def _bind_unread(self, name: str, node: ast.stmt, blocks: Blocks) -> None:
        var = self.new_var(name, None, node)
        blocks.bindings.append(e.VarBinding(var, self.unread(node), None, self.ctx.span(node)))
        if name != "_":
            self.names[name] = var

    def _run(self, node: pieces.Run, blocks: Blocks) -> None:
        outside = self.ctx.line_offset, self.ctx.column_offset
        try:
            for lines, statements in node.pieces():
                self.ctx.line_offset, self.ctx.column_offset = lines, node.indent
                for statement in statements:
                    self.statement(statement, blocks)
        finally:
            self.ctx.line_offset, self.ctx.column_offset = outside

    def new_var(self, name: str, info: s.StructInfo | None, node: ast.AST) -> e.Var:
        """A variable of the block that is being read."""
        inside = self.output_names is not None and name not in self.output_names
        kind = e.DataflowVar if inside else e.Var
        return kind(name, info, self.ctx.span(node))

    def _ann_assign(self, node: ast.AnnAssign, blocks: Blocks) -> None:
        if type(node.target) is not ast.Name:
            raise self.ctx.fail(codes.BAD_STATEMENT, "only a name can be bound", node)
        try:
            annotation: s.StructInfo | None = self.annotation(node.annotation)
        except Skip:
            annotation = None
        if node.value is None:
            raise self.ctx.fail(codes.BAD_STATEMENT, f"{node.target.id!r} is declared but has no value", node)
        self._bind(node.target, node.value, annotation, node, blocks)

    def _assign(self, node: ast.Assign, blocks: Blocks) -> None:
        target = node.targets[0]
        if len(node.targets) != 1:
            raise self.ctx.fail(codes.BAD_STATEMENT, "one variable is bound at a time", node)
        if isinstance(target, ast.Tuple):
            self._unpack(target, node, blocks)
        elif isinstance(target, ast.Name):
            if not self._module_alias(target, node.value) and not self._shape_var(target, node.value):
                self._bind(target, node.value, None, node, blocks)
        else:
            raise self.ctx.fail(codes.BAD_STATEMENT, "only a name can be bound", node)

    def _module_alias(self, target: ast.Name, value: ast.expr) -> bool:
        if isinstance(value, ast.Name) and value.id in self.ctx.module_names and value.id not in self.names:
            self.ctx.module_names.add(target.id)
            return True
        return False

    def _shape_var(self, target: ast.Name, value: ast.expr) -> bool:
        """`n = T.int64()`: the signature's n when it has one, else a new shape variable."""
        if not isinstance(value, ast.Call):
            return False
        if value.args:
            return self._type_var(target, dotted(value.func))
        found = dtype_of_prefix(dotted(value.func))
        if found is None:
            return False
        if not isinstance(self.names.get(target.id), p.PrimVar):
            self._define(target.id, found)
        return True

    def _type_var(self, target: ast.Name, called: str) -> bool:
        """`n = TypeVar("n")`: the local functions that follow make variables of their own of it."""
        if called not in TYPE_VARS:
            return False
        if self.ctx.type_var_dtype(target.id) is None:
            self._type_vars.append(target.id)
            self.ctx.declare(target.id)
        return True

    def _unpack(self, target: ast.Tuple, node: ast.Assign, blocks: Blocks) -> None:
        names = [item.id for item in target.elts if isinstance(item, ast.Name)]
        if len(names) != len(target.elts):
            raise self.ctx.fail(codes.BAD_STATEMENT, "only names can be bound", node)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(names):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
            if all(self._shape_var(item, value) for item, value in pairs if isinstance(item, ast.Name)):
                return
        whole = self.expr.value(node.value)
        if not isinstance(whole, e.Var):
            var = self.new_var("_".join(names)[:40], None, target)
            blocks.bindings.append(e.VarBinding(var, whole, None, self.ctx.span(node)))
            whole = var
        for index, name in enumerate(names):
            var = self.new_var(name, None, target.elts[index])
            item = e.TupleGetItem(whole, index, None, self.ctx.span(target.elts[index]))
            blocks.bindings.append(e.VarBinding(var, item, None, self.ctx.span(node)))
            self.names[name] = var

    def _bind(
        self,
        target: ast.Name,
        value: ast.expr,
        annotation: s.StructInfo | None,
        node: ast.stmt,
        blocks: Blocks,
    ) -> None:
        span = self.ctx.span(node)
        if type(value) is ast.Call and dotted(value.func) in MATCH_CASTS:
            thrown_away = (
                target.id == "_" and annotation is None
            )  # as TVM wants a cast written that binds nothing
            self._match_cast(None if thrown_away else target, value, annotation, span, blocks)
            return
        try:
            bound = self.expr.bound_value(value, annotation)
        except Skip:
            bound = self.unread(value)
        var = self.new_var(target.id, annotation, target)
        blocks.bindings.append(e.VarBinding(var, bound, annotation, span))
        self.names[target.id] = var
        if type(bound) in _SCALARS:
            self.expr.note_scalar(var, bound)

    def _match_cast(
        self,
        target: ast.Name | None,
        call: ast.Call,
        annotation: s.StructInfo | None,
        span: Any,
        blocks: Blocks,
    ) -> None:
        given = dict(zip(("value", "struct_info"), call.args, strict=False))
        given.update({keyword.arg or "": keyword.value for keyword in call.keywords})
        info = given.get("struct_info") or given.get("ty")
        if "value" not in given or info is None:
            raise self.ctx.fail(codes.BAD_CALL, f"{dotted(call.func)} takes a value and a StructInfo", call)
        value = self.expr.value(given["value"])
        cast_to = self._type(info) if dotted(call.func) == "R.cast" else self.annotation(info)
        var = None if target is None else self.new_var(target.id, cast_to, target)
        blocks.bindings.append(e.MatchCast(var, value, cast_to, annotation, span))
        if var is not None and target is not None:
            self.names[target.id] = var

    def _type(self, node: ast.expr) -> s.StructInfo:
        """What `R.cast` casts to: a type, as the StructInfo that says no more."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            fix = f'R.astype(x, "{node.value}") converts the elements of a tensor'
            raise self.ctx.fail(codes.BAD_CALL, "R.cast checks a type and converts nothing", node, help=fix)
        info = self.annotation(node)
        if wrap_type(erase_struct_info(info)) is not info:
            text = f"R.cast takes a type, and {info} says more"
            raise self.ctx.fail(codes.BAD_CALL, text, node, help="write R.match_cast")
        return info

    def _expression(self, node: ast.Expr, blocks: Blocks) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is ...):
            return  # a docstring
        name = dotted(value.func) if isinstance(value, ast.Call) else ""
        if name == "R.func_attr" and isinstance(value, ast.Call) and len(value.args) == 1:
            found = constant(self.expr, value.args[0])
            if not isinstance(found, Attrs):
                raise self.ctx.fail(codes.BAD_CALL, "R.func_attr takes a dict", node)
            self.attrs.update(found)
        elif name == "R.func_ret_value" and isinstance(value, ast.Call):
            raise self.ctx.fail(
                codes.EXECUTES_PYTHON, "R.func_ret_value builds a program by running Python", node
            )
        elif name == "R.output":
            raise self.ctx.fail(codes.BAD_DATAFLOW, "R.output stands outside a dataflow block", node)
        elif name in MATCH_CASTS and isinstance(value, ast.Call):
            self._match_cast(None, value, None, self.ctx.span(node), blocks)
        else:
            bound = self.expr.value(value)
            info = s.VOID if type(bound) is e.Call else None  # what stands alone gives nothing
            blocks.bindings.append(
                e.VarBinding(self.new_var("_", info, node), bound, None, self.ctx.span(node))
            )

    def _with(self, node: ast.With, blocks: Blocks) -> None:
        item = node.items[0].context_expr
        if len(node.items) != 1 or not isinstance(item, ast.Call) or dotted(item.func) != "R.dataflow":
            raise self.ctx.fail(
                codes.BAD_STATEMENT, "the only `with` of a Relax function is R.dataflow()", node
            )
        if self.output_names is not None:
            raise self.ctx.fail(codes.BAD_DATAFLOW, "dataflow blocks don't nest", node)
        outputs = self._output_names(node)
        inner = Blocks()
        self.output_names = frozenset(outputs)
        kept: dict[str, e.Expr] = {}
        with self.names.block(stays=lambda name, value: name in kept or isinstance(value, p.PrimVar)):
            try:
                for statement in node.body:
                    if not _is_output(statement):
                        self.statement(statement, inner)
            finally:
                self.output_names = None
            kept.update({name: var for name in outputs if isinstance(var := self.names.get(name), e.Expr)})
        blocks.close()
        bindings = _with_last_outputs(inner.bindings, kept)
        blocks.blocks.append(e.DataflowBlock(tuple(bindings), self.ctx.span(node)))

    def _output_names(self, node: ast.With) -> list[str]:
        outputs = [statement for statement in node.body if _is_output(statement)]
        for extra in outputs[1:]:
            self.ctx.say(codes.BAD_DATAFLOW, "a dataflow block has one R.output", extra)
        if not outputs:
            return []
        if outputs[0] is not node.body[-1]:
            self.ctx.say(codes.BAD_DATAFLOW, "R.output ends the dataflow block", outputs[0])
        bound = {name for statement in node.body for name in targets(statement)}
        names = []
        for arg in outputs[0].value.args:  # type: ignore[attr-defined]  # `_is_output` saw a call
            if isinstance(arg, ast.Name) and arg.id in bound:
                names.append(arg.id)
            else:
                self.ctx.say(
                    codes.BAD_DATAFLOW,
                    f"{ast.unparse(arg)[:40]!r} is not bound in this block",
                    arg,
                    help=codes.BAD_DATAFLOW.fix,
                )
        return names

    def _function(self, node: ast.FunctionDef, blocks: Blocks) -> None:
        decorator = node.decorator_list[0] if node.decorator_list else None
        if (
            decorator is None
            or dotted(decorator.func if isinstance(decorator, ast.Call) else decorator) != "R.function"
        ):
            raise self.ctx.fail(codes.BAD_STATEMENT, "a nested function is decorated with @R.function", node)
        var = self.new_var(node.name, None, node)
        with self.names.block():
            self.names[node.name] = var
            function = FunctionReader(self.ctx, self).read(node, decorator)
        blocks.bindings.append(e.VarBinding(var, function, None, self.ctx.span(node)))
        self.names[node.name] = var

    def _pass(self, node: ast.Pass, blocks: Blocks) -> None:
        """Nothing to read."""


_VARIABLES = frozenset({e.Var, e.DataflowVar})
_SCALARS = _VARIABLES | {e.PrimValue}
_STATEMENTS: dict[type, Callable[[FunctionReader, Any, Blocks], None]] = {
    pieces.Run: FunctionReader._run,
    ast.AnnAssign: FunctionReader._ann_assign,
    ast.Assign: FunctionReader._assign,
    ast.Expr: FunctionReader._expression,
    ast.With: FunctionReader._with,
    ast.If: read_if,
    ast.FunctionDef: FunctionReader._function,
    ast.Pass: FunctionReader._pass,
}


def _computed_with(node: ast.FunctionDef, scalars: set[str]) -> set[str]:
    """Those of the names of scalars that stand beside an operator of Python, among scalars only."""
    for statement in ast.walk(node):
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, ast.Call) and dtype_of_prefix(dotted(value.func)) is not None:
            scalars = scalars | set(targets(statement))  # type: ignore[arg-type]  # an assignment, as `value` says
    found: set[str] = set()
    for outer in ast.walk(node):
        if isinstance(outer, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp)):
            names = {inner.id for inner in ast.walk(outer) if isinstance(inner, ast.Name)}
            if names - {"T"} <= scalars:
                found |= names
    return found


def _with_last_outputs(bindings: list[e.Binding], kept: Mapping[str, Any]) -> list[e.Binding]:
    """The bindings of a dataflow block; of several of one name only the last is an output."""
    hidden: dict[e.Var, e.Expr] = {
        var: e.DataflowVar(var.name, var.struct_info, var.span)
        for var in (binding.var for binding in bindings)
        if type(var) is e.Var and var.name in kept and kept[var.name] is not var
    }
    if not hidden:
        return bindings
    reading = Substitution(hidden)
    found = []
    for binding in bindings:
        var = hidden.get(binding.var, binding.var) if binding.var is not None else None
        found.append(replace(binding, var=var, value=reading.expr(binding.value)))
    return found


def _is_output(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func) == "R.output"
    )
