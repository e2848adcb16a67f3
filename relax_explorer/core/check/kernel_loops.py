"""Warnings about loops of PrimFuncs: iterations at the same time that write an element, axes or loop variables bound twice.

For the first one, each value is followed: which loops it depends on, so that it differs between their iterations. It may depend
on them by variables, by what was stored in memory of a thread, and by the conditions on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeAlias

from relax_explorer.core.codes import tir as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.core.tir.traverse import children, subexpressions

Finding = tuple[Code, str, t.Stmt]
_Loop: TypeAlias = "t.For | str"  # of a GPU, the name of its axis: loops that are bound to one run as one
_Loops: TypeAlias = "frozenset[_Loop]"
_Content: TypeAlias = "dict[Buffer, _Loops]"
_AT_ONCE = frozenset({"parallel", "thread_binding"})
_NONE: _Loops = frozenset()
_FINDINGS: PerNode[list[Finding]] = PerNode()


def loop_violations(module: IRModule) -> Iterator[Diagnostic]:
    """The warnings for the PrimFuncs of a module."""
    for fn in module.functions.values():
        if type(fn) is PrimFunc:
            for code, text, place in _FINDINGS.of(fn, lambda fn: _Walk(fn).findings):
                label = Label(place if place.span is not None else fn, "", True)
                yield Diagnostic(code, text, (label,), help=code.fix)


class _Walk:
    """A walk through one PrimFunc.

    `uses` has the parallel loops that a variable depends on, `content` those that the elements of a buffer do: loops of which each
    iteration has its own copy. `control` are the loops that decide whether a statement runs.
    """

    def __init__(self, fn: PrimFunc) -> None:
        self.findings: list[Finding] = []
        self.uses: dict[p.PrimVar, _Loops] = {}
        self.content: _Content = {}
        self.control: _Loops = _NONE
        self.around: dict[Buffer, tuple[t.For, ...]] = {}  # the parallel loops around an allocation
        self.names: list[str] = []
        self._is_settling = False  # True while only `content` is looked for
        self._settled: dict[
            tuple[int, _Loops, frozenset[tuple[Buffer, _Loops]]], tuple[_Content, _Content]
        ] = {}
        self._whole: set[int] = set()  # stores that the loops around them make to each element, by identity
        self._walk(fn.body, ())

    def _say(self, code: Code, text: str, place: t.Stmt) -> None:
        if not self._is_settling:
            self.findings.append((code, text, place))

    def _of(self, *exprs: p.PrimExpr) -> _Loops:
        """The loops that expressions depend on."""
        found = [self.uses.get(var, _NONE) for var in p.free_vars(*exprs)]
        loads = [item for item in subexpressions(*exprs) if type(item) is BufferLoad]
        return _NONE.union(*found, *[self.content.get(item.buffer, _NONE) for item in loads])

    def _walk(self, node: t.Stmt, races: tuple[t.For, ...]) -> None:
        """Visit a statement. All iterations of the loops in `races` reach it at the same time."""
        if type(node) is t.For:
            self._for(node, races)
        elif type(node) is t.While:
            self._again(node, races)
        elif type(node) is t.IfThenElse:
            chosen = self._of(node.condition)
            with self._only_if(chosen):
                self._walk_all(node, tuple([loop for loop in races if _key(loop) not in chosen]))
        elif type(node) is t.SBlock:
            self._block(node, races)
        elif type(node) is t.BufferStore:
            self._store(node, races)
        else:
            if type(node) is t.LetStmt:
                self.uses[node.var] = self._of(node.value) | self.control
            elif type(node) is t.AllocBuffer:
                self.around[node.buffer] = races
            self._walk_all(node, races)

    def _walk_all(self, node: t.Stmt, races: tuple[t.For, ...]) -> None:
        for child in children(node):
            self._walk(child, races)

    @contextmanager
    def _only_if(self, chosen: _Loops) -> Iterator[None]:
        """Statements that run only in some iterations of these loops, or none at all: what was stored before may stay."""
        control, before = self.control, dict(self.content)
        self.control = control | chosen
        yield
        self.control, self.content = control, _joined(before, self.content)

    # -- loops ------------------------------------------------------------------------------------------------------

    def _for(self, node: t.For, races: tuple[t.For, ...]) -> None:
        if node.var.name in self.names:
            text = f"the loop variable {node.var.name} has the name of an outer loop variable"
            self._say(codes.BOUND_TWICE, text, node)
        at_once = node.kind in _AT_ONCE and not _is_one(node.extent)
        bounds = self._of(node.start, node.extent)
        self.uses[node.var] = bounds | ({_key(node)} if at_once else _NONE)
        self._whole.update(map(id, _store_of_all(node)))
        self.names.append(node.var.name)
        is_new = at_once and all([_key(loop) != _key(node) for loop in races])
        inner = (*races, node) if is_new else races
        goes_on = not at_once and not _is_one(node.extent)
        is_sure = isinstance(node.extent, p.IntImm) and node.extent.value > 0
        with nullcontext() if is_sure else self._only_if(bounds):
            if goes_on:
                self._again(node, inner)
            else:
                self._walk(node.body, inner)
        self.names.pop()

    def _again(self, node: t.For | t.While, races: tuple[t.For, ...]) -> None:
        """The body of a loop, which may read what an iteration before it stored: each buffer depends on all that it ever does."""
        key = id(node), self.control, frozenset(self.content.items())
        known = self._settled.get(key)
        if known is None:
            outer, self._is_settling = self._is_settling, True
            while True:
                first = dict(self.content)
                self._body(node, races)
                last, self.content = self.content, _joined(first, self.content)
                if self.content == first:
                    break
            self._is_settling = outer
            known = self._settled[key] = first, last
        first, last = known
        self.content = dict(last if self._is_settling else first)
        if not self._is_settling:
            self._body(node, races)

    def _body(self, node: t.For | t.While, races: tuple[t.For, ...]) -> None:
        if type(node) is t.While:
            with self._only_if(self._of(node.condition)):
                self._walk(node.body, races)
        else:
            self._walk(node.body, races)

    def _block(self, node: t.SBlock, races: tuple[t.For, ...]) -> None:
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
            self.around[buffer] = races
        chosen = self._of(*reduced, *([] if node.predicate is None else [node.predicate]))
        rest = tuple([loop for loop in races if _key(loop) not in chosen])
        if node.predicate is None and node.init is None:
            self._walk_all(node, rest)
            return
        with self._only_if(_NONE if node.predicate is None else self._of(node.predicate)):
            self._walk_all(node, rest)

    # -- stores -----------------------------------------------------------------------------------------------------

    def _store(self, node: t.BufferStore, races: tuple[t.For, ...]) -> None:
        buffer, places = node.buffer, self._of(*node.indices)
        value = self._of(node.value) | self.control
        adds = any(type(item) is BufferLoad and item.buffer is buffer for item in subexpressions(node.value))
        if not buffer.is_scalar and buffer.scope in ("", "global"):
            for loop in races:
                key = _key(loop)
                is_other = (
                    adds or key in value or loop.kind == "parallel"
                )  # threads of a GPU often all write one value
                if key not in places and is_other and loop not in self.around.get(buffer, ()):
                    text = f"every iteration of the {_loop_kind(loop)} loop over {loop.var.name} writes the same element of {buffer.name}"
                    self._say(codes.WRITE_RACE, text, node)
        kept = self._kept_by(buffer, places | value)
        is_whole = id(node) in self._whole or all(map(_is_one, buffer.shape))
        self.content[buffer] = kept if is_whole else self.content.get(buffer, _NONE) | kept

    def _kept_by(self, buffer: Buffer, loops: _Loops) -> _Loops:
        """Those of the loops of which each iteration has its own copy of a buffer. A thread has what is local to it."""
        if buffer.is_scalar or buffer.scope == "local":
            return loops
        own = {_key(loop) for loop in self.around.get(buffer, ())}
        if buffer.scope.startswith("shared"):
            own = {key for key in own if not (isinstance(key, str) and key.startswith("threadIdx"))}
        return loops & own


def _joined(a: _Content, b: _Content) -> _Content:
    return {buffer: a.get(buffer, _NONE) | b.get(buffer, _NONE) for buffer in {**a, **b}}


def _key(loop: t.For) -> _Loop:
    is_axis = loop.kind == "thread_binding" and loop.thread is not None
    return loop.thread if is_axis and loop.thread is not None else loop


def _store_of_all(node: t.For) -> Iterator[t.BufferStore]:
    """The only statement of a loop nest, if it is a store to each element of a buffer."""
    extents: dict[p.PrimExpr, p.PrimExpr] = {}
    inner: t.Stmt = node
    while type(inner) is t.For and _is_zero(inner.start) and inner.step is None:
        extents[inner.var] = inner.extent
        inner = inner.body
    if type(inner) is not t.BufferStore or len(inner.indices) != len(inner.buffer.shape):
        return
    for index, length in zip(inner.indices, inner.buffer.shape, strict=True):
        if not (_is_zero(index) and _is_one(length)) and not _is_equal(extents.pop(index, None), length):
            return
    yield inner


def _is_equal(a: p.PrimExpr | None, b: p.PrimExpr) -> bool:
    return a is b or (isinstance(a, p.IntImm) and isinstance(b, p.IntImm) and a.value == b.value)


def _is_one(expr: p.PrimExpr) -> bool:
    return isinstance(expr, p.IntImm) and expr.value <= 1


def _is_zero(expr: p.PrimExpr) -> bool:
    return isinstance(expr, p.IntImm) and expr.value == 0


def _loop_kind(loop: t.For) -> str:
    return "parallel" if loop.kind == "parallel" else loop.thread or "thread"
