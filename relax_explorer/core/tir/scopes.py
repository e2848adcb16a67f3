"""The variables and buffers that the statements of a PrimFunc see."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.fields import parts

_NAMES: PerNode[frozenset[str]] = PerNode()
Names = tuple[Buffer | p.PrimVar, ...]
"""Outermost first."""


def scopes(fn: t.PrimFunc) -> dict[t.Stmt | None, Names]:
    """The variables and buffers around each store and each call, outermost first; those of the whole PrimFunc for None."""
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    outer = tuple(dict.fromkeys([*fn.params, *[dim for dim in dims if isinstance(dim, p.PrimVar)]]))
    found: dict[t.Stmt | None, Names] = {None: outer}
    stack: list[tuple[t.Stmt, Names]] = [(fn.body, outer)]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (t.BufferStore, t.Evaluate)):
            found.setdefault(node, around)
        elif isinstance(node, t.SeqStmt):
            for statement in node.stmts:
                stack.append((statement, around))
                around += _declared(statement) if isinstance(statement, (t.LetStmt, t.AllocBuffer)) else ()
        else:
            inner = around + _declared(node)
            stack += [(child, inner) for child in reversed(_bodies(node))]
    return found


def named(scope: Names) -> dict[str, Buffer | p.PrimVar]:
    """The variables and buffers of a scope by name. Of several with one name, later ones get a number, as in printed text."""
    found: dict[str, Buffer | p.PrimVar] = {}
    for item in scope:
        name, number = item.name, 0
        while name in found:
            number += 1
            name = f"{item.name}_{number}"
        found[name] = item
    return found


def names_of(fn: t.PrimFunc) -> frozenset[str]:
    """The names of all variables and buffers of a PrimFunc."""
    return _NAMES.of(fn, lambda fn: frozenset([name for own in scopes(fn).values() for name in named(own)]))


def used_too_early(block: t.SBlock) -> Buffer | p.PrimVar | None:
    """A variable or buffer that the head of a block uses and its body declares, if any. The head is evaluated first.

    Annotations are not evaluated: they may mention what the body declares.
    """
    top = block.body.stmts if isinstance(block.body, t.SeqStmt) else (block.body,)
    declared = {
        item for node in top if isinstance(node, (t.LetStmt, t.AllocBuffer)) for item in _declared(node)
    }
    if not declared:
        return None
    stack = parts(replace(block, body=t.SeqStmt(()), annotations=EMPTY))
    while stack:
        node = stack.pop()
        if isinstance(node, (Buffer, p.PrimVar)) and node in declared:
            return node
        stack += parts(node)
    return None


def _declared(node: t.Stmt) -> Names:
    """The variables and buffers that a statement declares."""
    if isinstance(node, t.For):
        return (node.var,)
    if isinstance(node, t.LetStmt):
        return (node.var,)
    if isinstance(node, t.AllocBuffer):
        return (node.buffer,)
    if isinstance(node, t.SBlock):
        return (*[axis.var for axis in node.iter_vars], *node.alloc_buffers)
    return ()


def _bodies(node: t.Stmt) -> list[t.Stmt]:
    """The statements directly inside a statement."""
    if isinstance(node, t.SBlock):
        return [node.body] if node.init is None else [node.init, node.body]
    if isinstance(node, t.IfThenElse):
        return [node.then_case] if node.else_case is None else [node.then_case, node.else_case]
    return [node.body] if isinstance(node, (t.For, t.While, t.AttrStmt)) else []
