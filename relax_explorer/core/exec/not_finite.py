"""A breakpoint at numbers that went wrong: NaN, and infinities made of finite numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from relax_explorer.core.exec.debugger import Breakpoint, Debugger
from relax_explorer.core.exec.events import Event
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.ir.walk import operands

_INFINITE = re.compile(r"\b(inf|infinity|min_value|max_value)\b")


def on_not_finite(debugger: Debugger) -> Breakpoint:
    """Stop after a step that makes a NaN, or an infinity of operands that have none.

    A mask of -inf is meant: constants are no steps, and what was infinite before may stay so. Kernels that write their
    operands are looked at too; memory that nobody has written yet is not.
    """
    return Breakpoint("nan", _Watch(debugger).hit)


class _Watch:
    """Knows of each array whether it held NaN or infinities when it was last looked at."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.known: dict[
            int, tuple[Any, bool, bool]
        ] = {}  # by identity, with the array, so that it stays the same
        self.bound: dict[e.Expr, Any] = {}
        self._entered()

    def _entered(self) -> None:
        frame = self.debugger.frame
        fn = self.debugger.module.functions.get(frame.name)
        for param in getattr(fn, "params", ()):
            self.bound[param] = frame.values.get(param.name)
            for array in _arrays([self.bound[param]]):
                self._look(array)

    def hit(self, event: Event) -> bool:
        """Whether the step went wrong."""
        if event.kind == "enter":
            self._entered()
        binding = event.binding
        if event.kind != "bind" or binding is None or binding.var is None:
            return False
        self.bound[binding.var] = event.value
        results = _arrays([event.value])
        if type(binding.value) is not e.Call or "alloc" in getattr(binding.value.op, "name", ""):
            for array in results:
                self.known.setdefault(
                    id(array), (array, False, False)
                )  # no numbers yet, or numbers that are not new
            return False
        return self._went_wrong(binding.value, results)

    def _went_wrong(self, call: e.Call, results: list[Any]) -> bool:
        given = _arrays(
            [part.data if type(part) is e.Constant else self.bound.get(part) for part in _parts(call)]
        )
        before = {id(array): self.known.get(id(array)) or self._look(array) for array in given}
        new = (None, False, False)
        states = [(before.get(id(array), new), self._look(array)) for array in [*results, *given]]
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
        """Whether the call itself speaks of infinity: an attribute, or the kernel that it runs."""
        if any(isinstance(value, float) and np.isinf(value) for value in call.attrs.values()):
            return True
        names = [part.name for part in (call.op, *call.args[:1]) if type(part) is e.GlobalVar]
        module = self.debugger.module
        return any(
            _INFINITE.search(module.having({name: module[name]}).script()) for name in names if name in module
        )


def _parts(call: e.Call) -> list[e.Expr]:
    """The operands of a call, those inside tuples too."""
    found, stack = [], list(call.args)
    while stack:
        part = stack.pop()
        found.append(part)
        if type(part) is e.Tuple:
            stack.extend(operands(part))
    return found


def _arrays(values: list[Any]) -> list[Any]:
    """The arrays of floats in values and in their tuples."""
    found, stack = [], list(values)
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            stack.extend(value)
        elif isinstance(value, np.ndarray) and value.size and _is_float(value):
            found.append(value)
    return found


def _is_float(array: Any) -> bool:
    try:
        return from_numpy(array.dtype).is_float
    except ValueError:
        return False
