"""The text of any node: what `print` shows of it, and its first line for `repr`."""

from __future__ import annotations

import textwrap
from itertools import dropwhile

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.prim import PrimExpr
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.dialects import dialect
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.printer import INDENT, FunctionPrinter, print_module, printed_module
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.core.tir.stmt import PrimFunc, Stmt

_ALONE = "f"  # the name of a function that is printed alone


def text_of(node: object) -> str:
    """A node as TVMScript. Variables have their own names. Empty for what has no text, such as a part of a statement."""
    if isinstance(node, IRModule):
        return print_module(node)
    if isinstance(node, (e.Function, PrimFunc)):
        return _member(node)
    if isinstance(node, PrimExpr):
        return str(node)
    if isinstance(node, Stmt):
        return _statement(node)
    return "\n".join(_lines(node))


def first_line(node: object) -> str:
    """What tells a node from others, on one line."""
    if isinstance(node, (e.Function, PrimFunc)):
        text = next(line for line in text_of(node).split("\n") if line.startswith("def "))
        return text.removeprefix("def ").rstrip(":")
    if isinstance(node, (e.SeqExpr, e.BindingBlock)):
        blocks = node.blocks if isinstance(node, e.SeqExpr) else (node,)
        names = [b.var.name if b.var is not None else "_" for block in blocks for b in block.bindings]
        return (
            f"{len(names)} bindings: {', '.join(names[:5])}{', …' * (len(names) > 5)}" if names else "empty"
        )
    if isinstance(node, e.Var):
        info = "" if node.struct_info is None else f": {node.struct_info}"
        return node.name + info
    lines = [line for line in text_of(node).split("\n") if line.strip()]
    return lines[0] + " …" * (len(lines) > 1) if lines else ""


def binding_text(binding: e.Binding) -> str:
    """A binding on one line: of an If its condition, of a function its head."""
    return _lines(binding)[0]


def _statement(node: Stmt) -> str:
    lines = printed_module(IRModule({_ALONE: PrimFunc((), node)})).lines
    # Before the statement stand the head of the function and variables that nobody declared.
    inside = dropwhile(lambda line: not isinstance(line.node, Stmt), lines)
    return textwrap.dedent("\n".join([line.text for line in inside]))


def _member(fn: e.Function | PrimFunc) -> str:
    symbol = fn.attrs.get("global_symbol") or fn.attrs.get("tir.name")
    name = symbol if isinstance(symbol, str) and symbol.isidentifier() else _ALONE
    printed = printed_module(IRModule({name: fn}), metadata=False)
    lines = [line.text for line in printed.lines if line.function == name]
    return "\n".join([line.removeprefix(INDENT) for line in lines]).rstrip()


def _is_one_line(expr: e.Expr) -> bool:
    """False for an expression around a branch or a function, which only a binding can hold."""
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, (e.If, e.Function, e.SeqExpr)):
            return False
        stack.extend(operands(part))
    return True


def _lines(node: object) -> list[str]:
    text = ExprText(Names(), dialect("tvm-0.27"), Constants())
    printer = FunctionPrinter(text)
    if isinstance(node, (e.VarBinding, e.MatchCast)):
        printer.binding(node, 0)
    elif isinstance(node, e.SeqExpr):
        printer.sequence(node, 0)
        return [line.text for line in printer.lines] + [text.write(node.body)]
    elif isinstance(node, e.BindingBlock):
        printer.sequence(e.SeqExpr((node,), e.Tuple(())), 0)
    elif isinstance(node, e.If):
        printer.binding(e.VarBinding(e.Var("value"), node), 0)
    elif isinstance(node, e.Expr) and _is_one_line(node):
        return [text.write(node)]
    return [line.text for line in printer.lines]
