"""A breakpoint at new NaN values, and at infinities computed from finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.exec.breakpoints import Breakpoint
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.events import Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.ir.walk import any_expr, operands
from relax_explorer.core.ops import find
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions


def on_not_finite(debugger: Debugger) -> Breakpoint:
    """Stop after a step that produces a NaN, or an infinity from finite operands.

    Masks of -inf are intended, so constants and earlier infinities do not stop the run. Operands overwritten by kernels are
    checked too. Uninitialized memory is not checked.
    """
    return Breakpoint("nan", _Watch(debugger).hit)


class _Watch:
    """Remembers for each array if it last held NaN or infinities."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.known: dict[
            int, tuple[Any, bool, bool]
        ] = {}  # by identity; the array is kept alive so that its id stays unique
        self.bound: dict[e.Expr, Any] = {}
        self._entered()

    def _entered(self) -> None:
        frame = self.debugger.frame
        fn = self.debugger.module.functions.get(frame.name)
        for param in getattr(fn, "params", ()):
            self.bound[param] = frame.values.get(param.name)
            for array in _arrays([self.bound[param]]):
                self._look(array)

    def hit(self, event: Event, frame: Frame) -> bool:
        """True if the step produced a NaN or a new infinity."""
        if event.kind == "enter":
            self._entered()
        binding = event.binding
        if event.kind != "bind" or binding is None or binding.var is None:
            return False
        self.bound[binding.var] = event.value
        results = _arrays([event.value])
        if type(binding.value) is not e.Call or _allocates(binding.value):
            for array in results:
                self.known.setdefault(id(array), (array, False, False))  # no numbers yet, or no new numbers
            return False
        return self._went_wrong(binding.value, results)

    def _went_wrong(self, call: e.Call, results: list[Any]) -> bool:
        inputs = _arrays(
            [part.data if type(part) is e.Constant else self.bound.get(part) for part in _parts(call)]
        )
        before = {id(array): self.known.get(id(array)) or self._look(array) for array in inputs}
        new = (None, False, False)
        states = [(before.get(id(array), new), self._look(array)) for array in [*results, *inputs]]
        if any(now[1] and not was[1] for was, now in states):
            return True
        infinite = any(now[2] and not was[2] for was, now in states)
        return infinite and not any(was[2] for was in before.values()) and not self._is_meant(call)

    def _look(self, array: Any) -> tuple[Any, bool, bool]:
        numbers = array if array.dtype.kind == "f" else array.astype(np.float32)
        state = (array, bool(np.isnan(numbers).any()), bool(np.isinf(numbers).any()))
        self.known[id(array)] = state
        return state

    def _is_meant(self, call: e.Call) -> bool:
        """True if the call itself mentions infinity: in an attribute or in its kernel."""
        if _mentions_infinity(call):
            return True
        names = [part.name for part in (call.op, *call.args[:1]) if type(part) is e.GlobalVar]
        module = self.debugger.module
        return any(_has_infinity(module[name]) for name in names if name in module)


def _allocates(call: e.Call) -> bool:
    """True if a call returns uninitialized memory."""
    declared = find(call.op.name) if type(call.op) is e.OpRef else None
    return declared is not None and declared.allocates


def _has_infinity(fn: e.Function | PrimFunc | e.OpaqueFunction) -> bool:
    """True if a function contains an infinite literal."""
    if isinstance(fn, PrimFunc):
        parts = subexpressions(*[expr for node in statements(fn.body) for expr in expressions(node)])
        return any(map(_is_infinite, parts))
    return type(fn) is e.Function and any_expr(fn, _mentions_infinity)


def _mentions_infinity(expr: e.Expr) -> bool:
    if type(expr) is e.Call:
        return any(isinstance(value, float) and np.isinf(value) for value in expr.attrs.values())
    if type(expr) is e.Constant:
        return any(bool(np.isinf(array.astype(np.float32)).any()) for array in _arrays([expr.data]))
    return type(expr) is e.PrimValue and any(map(_is_infinite, subexpressions(expr.value)))


def _is_infinite(expr: p.PrimExpr) -> bool:
    return type(expr) is p.FloatImm and bool(np.isinf(expr.value))


def _parts(call: e.Call) -> list[e.Expr]:
    """The operands of a call, including the fields of tuples."""
    parts, stack = [], list(call.args)
    while stack:
        part = stack.pop()
        parts.append(part)
        if type(part) is e.Tuple:
            stack.extend(operands(part))
    return parts


def _arrays(values: list[Any]) -> list[Any]:
    """The float arrays in values and their tuples."""
    arrays, stack = [], list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(value)
        elif isinstance(value, np.ndarray) and value.size and _is_float(value):
            arrays.append(value)
    return arrays


def _is_float(array: Any) -> bool:
    try:
        return from_numpy(array.dtype).is_float
    except ValueError:
        return False
