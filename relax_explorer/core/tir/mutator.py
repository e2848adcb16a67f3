"""Rewriting TIR. Every field of every node is visited, and an unchanged node stays the same object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import substitute_info
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import Let
from relax_explorer.core.tir.stmt import PARTS, Buffer, besides_operands, holding, parameters

_N = TypeVar("_N")
# Fields that are evaluated before the node's variable is bound. All other fields are in its scope.
_OUTSIDE: dict[type, tuple[str, ...]] = {
    t.For: ("start", "extent", "step", "annotations"),
    t.SBlock: ("iter_values",),
    t.LetStmt: ("value",),
    t.IterVar: ("domain",),
    t.AttrStmt: ("value",),
    Let: ("value",),
}
_BINDS = frozenset({t.For, t.LetStmt, t.IterVar, Let})  # nodes that bind the variable in their field `var`


class Mutator:
    """Rebuilds nodes from the results of its methods for their parts. Override `var`, `binder`, `expr`, `stmt` or `buffer`.

    The recursion is as deep as the nesting of statements and expressions.
    """

    def __init__(self) -> None:
        self._buffers: dict[Buffer, Buffer] = {}
        self._exprs: dict[p.PrimExpr, p.PrimExpr] = {}  # results in the current scope

    def var(self, var: p.PrimVar) -> p.PrimExpr:
        """Rewrite a use of a variable."""
        return var

    def binder(self, var: p.PrimVar) -> p.PrimVar:
        """Rewrite a variable at its binding, where its scope begins."""
        return var

    def scope(self) -> object:
        """The current scope; `leave` restores it."""
        return None

    def leave(self, scope: object) -> None:
        """End all scopes that began after `scope` was taken."""

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """Rewrite an expression."""
        if type(expr) is p.PrimVar:
            return self.var(expr)
        if type(expr) is p.IntImm:
            return expr
        known = self._exprs.get(expr)
        if known is not None:
            return known
        if type(expr) is Let:
            return self._let(expr)
        old = expr.children()
        new = []
        for child in old:
            new.append(self.expr(child))  # a comprehension would cost a frame, and expressions nest deeply
        others = besides_operands(type(expr))
        changed = expr if _same(old, new) else expr.with_children(tuple(new))
        if others:
            changed = _with(changed, self.changes(changed, others))
        self._exprs[expr] = changed
        return changed

    def _let(self, expr: Let) -> p.PrimExpr:
        value = self.expr(expr.value)
        scope = self.scope()
        var = self.binder(expr.var)
        body = self.expr(expr.body)
        self.leave(scope)
        same = value is expr.value and var is expr.var and body is expr.body
        return expr if same else Let(var, value, body)

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """Rewrite a statement and everything inside it."""
        if type(node) is t.LetStmt:
            return self.node(node)  # its scope is the rest of the sequence
        scope = self.scope()
        changed = self.node(node)
        self.leave(scope)
        return changed

    def node(self, node: _N) -> _N:
        """Rewrite a statement, a buffer, or a part of one, field by field."""
        node_class = type(node)
        outside = _OUTSIDE.get(node_class, ())
        changes = self.changes(node, outside)
        if node_class in _BINDS:
            _note(changes, node, "var", self.binder(node.var))  # type: ignore[attr-defined]  # as _BINDS says
        if node_class is t.SBlock:
            changes.update(self.changes(node, ("iter_vars",)))
        if node_class is t.AttrStmt:
            _note(changes, node, "subject", self._subject(node))  # type: ignore[arg-type]  # as `kind` says
        done = {*outside, "var", "subject", "iter_vars"}
        remaining = [name for name in holding(node_class) if name not in done]
        changes.update(self.changes(node, remaining))
        return replace(node, **changes) if changes else node

    def changes(self, node: object, names: Iterable[str]) -> dict[str, Any]:
        """The fields among `names` that change, with their new values."""
        changed: dict[str, Any] = {}
        for name in names:
            old = getattr(node, name)
            if isinstance(old, t.Stmt):
                scope = self.scope()
                _note(changed, node, name, self.stmt(old))
                self.leave(scope)
            elif old is not None:
                _note(changed, node, name, self.value(old))
        return changed

    def value(self, value: object) -> object:
        """Rewrite the value of a field, of any type."""
        if isinstance(value, p.PrimExpr):
            return self.expr(value)
        if isinstance(value, t.Stmt):
            return self.stmt(value)
        if type(value) is Buffer:
            return self.buffer(value)
        if type(value) is tuple:
            new = [self.value(element) for element in value]
            return value if _same(value, new) else tuple(new)
        if type(value) is Attrs:
            items = {key: self.value(element) for key, element in value.items()}
            return value if all(items[key] is value[key] for key in items) else Attrs(items)
        return self.node(value) if type(value) in PARTS else value

    def buffer(self, buffer: Buffer) -> Buffer:
        """Rewrite a buffer, at its declaration and at each use."""
        mapped = self._buffers.get(buffer)
        if mapped is None:
            mapped = self._buffers[buffer] = self.node(buffer)
        return mapped

    def _subject(self, node: t.AttrStmt) -> object:
        if node.key != "launch_thread":
            return self.value(node.subject)
        var, thread = node.subject
        new = self.expr(thread), self.binder(var)
        return node.subject if new == (thread, var) else (new[1], new[0])

    def function(self, fn: t.PrimFunc) -> t.PrimFunc:
        """Rewrite a function. Its parameters bind their variables."""
        scope = self.scope()
        params: list[Buffer | p.PrimVar] = [
            self.binder(param) for param in fn.params if isinstance(param, p.PrimVar)
        ]
        scalars = iter(params)
        new = [next(scalars) if isinstance(q, p.PrimVar) else self.buffer(q) for q in fn.params]
        changes = self.changes(fn, ("body", "attrs"))
        if not _same(fn.params, new):
            changes["params"] = tuple(new)
        self.leave(scope)
        return replace(fn, **changes)


class Substitution(Mutator):
    """Replaces free variables by expressions and buffers by buffers.

    A binding inside shadows the replaced variable. A bound variable that a replacement mentions is renamed, so that nothing
    is captured.
    """

    def __init__(
        self,
        variables: Mapping[p.PrimVar, p.PrimExpr],
        of_buffers: Mapping[Buffer, Buffer] | None = None,
    ) -> None:
        super().__init__()
        self.variables: Mapping[p.PrimVar, p.PrimExpr] = variables
        self._buffers.update(of_buffers or {})
        self._mentioned = frozenset(p.free_vars(*variables.values()))

    def var(self, var: p.PrimVar) -> p.PrimExpr:
        """The replacement of a free variable."""
        return self.variables.get(var, var)

    def binder(self, var: p.PrimVar) -> p.PrimVar:
        """The variable itself, or a new one if a replacement mentions it."""
        captures = var in self._mentioned
        if captures or var in self.variables:
            rest = {key: value for key, value in self.variables.items() if key is not var}
            new = p.PrimVar(var.name, var.dtype, var.pointee) if captures else var
            self._begin({**rest, var: new} if captures else rest)
            return new
        return var

    def scope(self) -> object:
        """The current replacements."""
        return self.variables

    def leave(self, scope: object) -> None:
        """Restore the replacements of an outer scope."""
        if scope is not self.variables:
            self._begin(scope)  # type: ignore[arg-type]  # what `scope` gave

    def _begin(self, variables: Mapping[p.PrimVar, p.PrimExpr]) -> None:
        self.variables, self._exprs = variables, {}

    def function(self, fn: t.PrimFunc) -> t.PrimFunc:
        """Rewrite a function and its StructInfo. The variables of its shapes are free in it."""
        new = super().function(fn)
        dims = {var: value for var, value in self.variables.items() if var not in fn.params}
        infos = {
            name: substitute_info(info, dims)
            for name in ("ret_type", "struct_info")
            if (info := getattr(fn, name)) is not None
        }
        return replace(new, **infos)


def _same(old: Iterable[object], new: Iterable[object]) -> bool:
    return all([a is b for a, b in zip(old, new, strict=True)])


def _note(changes: dict[str, Any], node: object, name: str, new: object) -> None:
    if new is not getattr(node, name):
        changes[name] = new


def _with(expr: p.PrimExpr, changes: dict[str, Any]) -> p.PrimExpr:
    """A copy of an expression with some arguments changed."""
    if not changes:
        return expr
    kind = type(expr)
    return kind(*[changes.get(name, getattr(expr, name)) for name in parameters(kind)])
