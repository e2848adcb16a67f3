"""Reads Relax functions: the signature, then the statements. An unreadable statement is reported and skipped."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.diagnostics import Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.context import Blocks, Skip
from relax_explorer.core.syntax.parse_attributes import constant
from relax_explorer.core.syntax.parse_binding import MATCH_CASTS, MATCH_SHAPE, BindingReader
from relax_explorer.core.syntax.parse_signature import read_if, targets
from relax_explorer.core.syntax.python_tree import dotted
from relax_explorer.core.syntax.repeated_lines import Line


class FunctionReader(BindingReader):
    """Reads one function. A nested function gets its own reader with the same names."""

    def read(self, node: ast.FunctionDef, decorator: ast.expr, name: str = "") -> e.Function:
        """The function. `name` is its global symbol, empty for a nested or private function."""
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

    def _body(self, node: ast.FunctionDef, statements: list[ast.stmt], blocks: Blocks) -> e.Expr:
        result: e.Expr | None = None
        for statement in statements:
            if result is not None:
                self.ctx.say(codes.AFTER_RETURN, "statements after the return are ignored", statement)
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

    def statement(self, node: ast.stmt, blocks: Blocks) -> None:
        """Read one statement. If it is unreadable, its variables get unknown values, which cause no further errors."""
        reader = _STATEMENTS.get(type(node))
        try:
            if reader is None:
                raise self.ctx.fail(
                    codes.BAD_STATEMENT,
                    f"{type(node).__name__} is not a statement of a Relax function",
                    node,
                    help=codes.BAD_STATEMENT.why,
                )
            reader(self, node, blocks)
        except Skip:
            for name in targets(node) or ["_"]:
                self._bind_unread(name, node, blocks)

    def _run(self, node: python_tree.Run, blocks: Blocks) -> None:
        outside = self.ctx.line_offset, self.ctx.column_offset
        try:
            if self.ctx.source.is_ascii:
                self._repeated(node, blocks)
            else:
                for number in with_pauses(range(0, len(node.lines), python_tree.MOST_AT_ONCE)):
                    for statement in self._statements(node, number, python_tree.MOST_AT_ONCE):
                        self.statement(statement, blocks)
        finally:
            self.ctx.line_offset, self.ctx.column_offset = outside

    def _repeated(self, node: python_tree.Run, blocks: Blocks) -> None:
        """Read a run, of which lines may differ in variables alone."""
        above = self.ctx.source.above + node.first
        parsed: dict[int, ast.stmt] = {}  # lines that were parsed together with one before
        many = python_tree.MOST_AT_ONCE
        for number in with_pauses(range(len(node.lines))):
            line = self._lines.line(self.ctx.source, above + number, node.indent, node.text(number))
            if line is not None and self._again(line, blocks):
                many = 1
                continue
            if number not in parsed:
                parsed = dict(enumerate(self._statements(node, number, many), number))
                many *= 2
            self._first(line, parsed[number], blocks)

    def _statements(self, node: python_tree.Run, number: int, many: int) -> list[ast.stmt]:
        """Some lines of a run, parsed; places in them are those of the text from now on."""
        statements = node.statements(number, many)
        self.ctx.line_offset = self.ctx.source.above + node.first - 1 + number
        self.ctx.column_offset = node.indent
        return statements

    def _again(self, line: Line, blocks: Blocks) -> bool:
        """Bind what a line of a known form binds. False if the line has to be read."""
        inside = self.output_names is not None and (line.target or "_") not in self.output_names
        binding = self._lines.again(line, e.DataflowVar if inside else e.Var)
        if binding is None:
            return False
        blocks.bindings.append(binding)
        if line.target:
            self._name_bound(line.target, binding.var, binding.value)
        return True

    def _first(self, line: Line | None, statement: ast.stmt, blocks: Blocks) -> None:
        """Read a line, and remember what was read if nothing else came of it than one binding."""
        if line is None:
            self.statement(statement, blocks)
            return
        report, open_ = self.ctx.report.items, blocks.bindings
        expected = len(report), len(open_) + 1, len(self.names) + (_is_new(line.target, self.names))
        self.statement(statement, blocks)
        if expected == (len(report), len(open_), len(self.names)):
            self._lines.learn(line, open_[-1])

    def _expression(self, node: ast.Expr, blocks: Blocks) -> None:
        value = node.value
        if isinstance(value, ast.Constant) and (isinstance(value.value, str) or value.value is ...):
            help = "write it as a comment"
            self.ctx.refuse(codes.BAD_STATEMENT, "TVM reads no text as a statement", node, help=help)
            return  # a docstring
        name = dotted(value.func) if isinstance(value, ast.Call) else ""
        if (
            name == "R.func_attr"
            and isinstance(value, ast.Call)
            and len(value.args) == 1
            and not value.keywords
        ):
            self._attributes(value.args[0], node)
        elif name == "print" and isinstance(value, ast.Call):
            self._print(value, node)
        elif name == "R.func_ret_value" and isinstance(value, ast.Call):
            raise self.ctx.fail(
                codes.EXECUTES_PYTHON, "R.func_ret_value builds a program by running Python", node
            )
        elif name == "R.output":
            raise self.ctx.fail(codes.BAD_DATAFLOW, "R.output is outside a dataflow block", node)
        elif name in MATCH_CASTS and isinstance(value, ast.Call):
            self._match_cast(None, value, None, self.ctx.span(node), blocks)
        elif name == MATCH_SHAPE and isinstance(value, ast.Call):
            self._match_shape(None, value, None, self.ctx.span(node), blocks)
        else:
            bound = self.expr.value(value)
            if type(bound) not in (e.Call, e.Tuple) or isinstance(value, ast.Tuple):
                self.ctx.refuse(codes.BAD_STATEMENT, UNBOUND, node, help=BIND)
            info = s.VOID if type(bound) is e.Call else None  # a call without a variable has no result
            blocks.bindings.append(
                e.VarBinding(self.new_var("_", info, node), bound, None, self.ctx.span(node))
            )

    def _print(self, call: ast.Call, node: ast.Expr) -> None:
        """Warn of a print of Python, which prints while TVM reads the text."""
        for arg in call.args:
            self.expr.read(arg)
        text = "print runs while TVM reads the text; it is no part of the program"
        help = 'remove it; R.print(x, format="{}") prints during a run, in a function with pure=False'
        self.ctx.say(codes.BAD_STATEMENT, text, node, help=help, severity=Severity.WARNING)

    def _attributes(self, node: ast.expr, place: ast.Expr) -> None:
        """Take in the attributes of `R.func_attr`, and note what TVM does not take."""
        attrs = constant(self.expr, node)
        if not isinstance(attrs, Attrs):
            raise self.ctx.fail(codes.BAD_CALL, "R.func_attr takes a dict", place)
        if twice := self.attrs.keys() & attrs.keys():
            text = f"TVM takes {min(twice)!r} only once"
            self.ctx.refuse(codes.BAD_CALL, text, node, help="leave one of them out")
        self.attrs.update(attrs)
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if key is not None and not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                text, help = "TVM takes strings as names of attributes", f'write "{ast.unparse(key)}"'
                self.ctx.refuse(codes.BAD_EXPRESSION, text, key, help=help)
        if not isinstance(attrs.get("global_symbol", ""), str):
            text = "TVM takes a string for global_symbol"
            self.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=codes.BAD_EXPRESSION.fix)
        if not isinstance(attrs.get(FORCE_PURE, True), int):
            text = f"TVM takes a bool for {FORCE_PURE}"
            self.ctx.refuse(codes.BAD_EXPRESSION, text, node, help=f'write {{"{FORCE_PURE}": True}}')

    def _with(self, node: ast.With, blocks: Blocks) -> None:
        context = node.items[0].context_expr
        if len(node.items) != 1 or not isinstance(context, ast.Call) or dotted(context.func) != "R.dataflow":
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
        outputs: list[Any] = [statement for statement in node.body if _is_output(statement)]
        for output in outputs:
            if output.value.keywords:
                self.ctx.say(codes.BAD_CALL, "R.output takes names of variables only", output)
        for extra in outputs[1:]:
            self.ctx.say(codes.BAD_DATAFLOW, "a dataflow block has one R.output", extra)
        if not outputs:
            return []
        if outputs[0] is not node.body[-1]:
            self.ctx.say(codes.BAD_DATAFLOW, "R.output ends the dataflow block", outputs[0])
        bound = {name for statement in node.body for name in targets(statement)}
        names = []
        for arg in outputs[0].value.args:
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


FORCE_PURE = "relax.force_pure"
UNBOUND = "TVM takes a value without a name only if it is an empty tuple"
BIND = "bind it: _ = …"
_STATEMENTS: dict[type, Callable[[FunctionReader, Any, Blocks], None]] = {
    python_tree.Run: FunctionReader._run,
    ast.AnnAssign: FunctionReader._ann_assign,
    ast.Assign: FunctionReader._assign,
    ast.Expr: FunctionReader._expression,
    ast.With: FunctionReader._with,
    ast.If: read_if,
    ast.FunctionDef: FunctionReader._function,
    ast.Pass: FunctionReader._pass,
}


def _with_last_outputs(bindings: list[e.Binding], kept: Mapping[str, Any]) -> list[e.Binding]:
    """The bindings of a dataflow block. If a name is bound several times, only the last variable is an output."""
    hidden: dict[e.Var, e.Expr] = {
        var: e.DataflowVar(var.name, var.struct_info, var.span)
        for var in (binding.var for binding in bindings)
        if type(var) is e.Var and var.name in kept and kept[var.name] is not var
    }
    if not hidden:
        return bindings
    reading = Substitution(hidden)
    renewed = []
    for binding in bindings:
        var = hidden.get(binding.var, binding.var) if binding.var is not None else None
        renewed.append(replace(binding, var=var, value=reading.expr(binding.value)))
    return renewed


def _is_new(name: str, names: Mapping[str, object]) -> bool:
    return bool(name) and name not in names


def _is_output(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and dotted(node.value.func) == "R.output"
    )
