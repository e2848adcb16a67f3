"""Warnings about loops of PrimFuncs: parallel iterations that write the same element, axes or loop variables bound twice."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.codes import tir as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import children

Finding = tuple[Code, str, t.Stmt]
_AT_ONCE = frozenset({"parallel", "thread_binding"})
_FINDINGS: PerNode[list[Finding]] = PerNode()


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """The warnings for the PrimFuncs of a module."""
    for fn in module.functions.values():
        if type(fn) is t.PrimFunc:
            for code, text, place in _FINDINGS.of(fn, lambda fn: _Loops(fn).findings):
                label = Label(place if place.span is not None else fn, "", True)
                yield Diagnostic(code, text, (label,), help=code.fix)


class _Loops:
    """Walks one PrimFunc. `uses` has the parallel loops that a variable depends on."""

    def __init__(self, fn: t.PrimFunc) -> None:
        self.findings: list[Finding] = []
        self.uses: dict[p.PrimVar, frozenset[t.For]] = {}
        # For each buffer, the parallel loops around its allocation: every iteration has a private copy.
        self.private: dict[Buffer, tuple[t.For, ...]] = {}
        self.names: list[str] = []
        self._walk(fn.body, ())

    def _say(self, code: Code, text: str, place: t.Stmt) -> None:
        self.findings.append((code, text, place))

    def _of(self, *exprs: p.PrimExpr) -> frozenset[t.For]:
        return frozenset().union(*[self.uses.get(var, frozenset()) for var in p.free_vars(*exprs)])

    def _walk(self, node: t.Stmt, races: tuple[t.For, ...]) -> None:
        """Visit a statement. All iterations of the loops in `races` reach it in parallel."""
        if type(node) is t.For:
            self._for(node, races)
            return
        if type(node) is t.SBlock:
            races = self._block(node, races)
        elif type(node) is t.LetStmt:
            self.uses[node.var] = self._of(node.value)
        elif type(node) is t.AllocBuffer:
            self.private[node.buffer] = races
        elif type(node) is t.IfThenElse:
            chosen = self._of(node.condition)
            races = tuple([loop for loop in races if loop not in chosen])
        elif type(node) is t.BufferStore:
            self._store(node, races)
        for child in children(node):
            self._walk(child, races)

    def _for(self, node: t.For, races: tuple[t.For, ...]) -> None:
        if node.var.name in self.names:
            text = f"the loop variable {node.var.name} has the name of an outer loop variable"
            self._say(codes.BOUND_TWICE, text, node)
        is_one = isinstance(node.extent, p.IntImm) and node.extent.value <= 1
        at_once = node.kind in _AT_ONCE and not is_one
        self.uses[node.var] = self._of(node.start, node.extent) | ({node} if at_once else set())
        self.names.append(node.var.name)
        self._walk(node.body, (*races, node) if at_once else races)
        self.names.pop()

    def _block(self, node: t.SBlock, races: tuple[t.For, ...]) -> tuple[t.For, ...]:
        names: set[str] = set()
        axis_of: dict[p.PrimExpr, str] = {}
        reduced: list[p.PrimExpr] = []
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self.uses[axis.var] = self._of(value)
            if axis.var.name in names:
                self._say(
                    codes.BOUND_TWICE, f"the axis {axis.var.name} of block {node.name!r} is bound twice", node
                )
            if type(value) is p.PrimVar and value in axis_of:
                text = f"the axes {axis_of[value]} and {axis.var.name} of block {node.name!r} are both bound to {value}"
                self._say(codes.BOUND_TWICE, text, node)
            names.add(axis.var.name)
            axis_of.setdefault(value, axis.var.name)
            if axis.kind == "reduce":
                reduced.append(value)
        for buffer in node.alloc_buffers:
            self.private[buffer] = races
        chosen = self._of(*reduced, *([] if node.predicate is None else [node.predicate]))
        return tuple([loop for loop in races if loop not in chosen])

    def _store(self, node: t.BufferStore, races: tuple[t.For, ...]) -> None:
        if node.buffer.is_scalar or node.buffer.scope not in ("", "global"):
            return
        used = self._of(*node.indices)
        for loop in races:
            if loop not in used and loop not in self.private.get(node.buffer, ()):
                text = f"every iteration of the {_loop_kind(loop)} loop over {loop.var.name} writes the same element of {node.buffer.name}"
                self._say(codes.WRITE_RACE, text, node)


def _loop_kind(loop: t.For) -> str:
    return "parallel" if loop.kind == "parallel" else loop.thread or "thread"
