"""What a binding may write: the arrays and the objects with a state among its operands, as they were before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.check.effects import Effects
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import AllocBuffer, Buffer, BufferStore, PrimFunc, SBlock
from relax_explorer.core.tir.traverse import statements


def places_before(frame: Frame, binding: e.Binding | None, module: IRModule, effects: Effects) -> list[Place]:
    """The arrays that the next binding may overwrite, with their contents."""
    if binding is None or type(binding.value) is not e.Call:
        return []
    callee, args = _kernel_call(binding.value)
    kernel = module.functions.get(callee)
    stored = _STORED.of(kernel, _stored) if type(kernel) is PrimFunc else None
    if stored is not None:
        places = [place for arg in args for place in _arrays_of(arg, frame)]
        return [places[n] for n in stored if n < len(places) and places[n].array is not None]
    leaves = dict.fromkeys(effects.of(binding.value).writes)
    places = [place for leaf in leaves for place in _arrays_of(leaf, frame) if place.array is not None]
    for place in places:
        place.remember()
    return places


def _kernel_call(call: e.Call) -> tuple[str, tuple[e.Expr, ...]]:
    """The name of the kernel that a call runs on memory of its caller, and the arguments of the kernel."""
    if type(call.op) is e.GlobalVar:
        return call.op.name, call.args
    if type(call.op) is e.OpRef and call.op.name == "relax.vm.call_tir_dyn" and len(call.args) == 2:
        return getattr(call.args[0], "name", ""), call.args[1:]
    return "", ()


def _arrays_of(expr: e.Expr, frame: Frame) -> list[Place]:
    """The values of an operand, with the variables that hold them. Values that are no arrays keep their places."""
    if type(expr) is e.Tuple:
        return [place for part in expr.fields for place in _arrays_of(part, frame)]
    if not isinstance(expr, e.Var):
        return [Place(None, "", None)]
    value = frame.value_of(expr)
    if type(value) is tuple:
        return [Place(expr, f"{expr.name}[{n}]", _array(item)) for n, item in enumerate(value)]
    return [Place(expr, expr.name, _array(value))]


def _array(value: Value) -> np.ndarray[Any, Any] | None:
    return value if isinstance(value, np.ndarray) else None


_STORED: PerNode[tuple[int, ...] | None] = PerNode()


def _stored(fn: PrimFunc) -> tuple[int, ...] | None:
    """The numbers of the parameters that a kernel stores into; None if it has views or calls that may store anywhere."""
    numbers = {param: number for number, param in enumerate(fn.params) if isinstance(param, Buffer)}
    own: set[Buffer] = set()
    stored: set[Buffer] = set()
    for node in statements(fn.body):
        if type(node) is SBlock:
            own.update(node.alloc_buffers)
        elif type(node) is AllocBuffer and node.buffer.data is None:
            own.add(node.buffer)
        elif type(node) is BufferStore:
            stored.add(node.buffer)
    stored -= own
    if not stored or not stored <= numbers.keys():
        return None
    return tuple(sorted([numbers[buffer] for buffer in stored]))


class Place:
    """An array that a binding may overwrite."""

    def __init__(self, var: e.Var | None, name: str, array: np.ndarray[Any, Any] | None) -> None:
        self.var, self.name, self.array = var, name, array
        self.before: bytes | None = None

    def remember(self) -> None:
        """Keep the content, to tell whether it is written."""
        if self.array is not None:
            self.before = self.array.tobytes()

    def is_new(self) -> bool:
        """True if it was written: by a kernel that stores into it, else if its content has changed."""
        return self.array is None or self.before is None or self.array.tobytes() != self.before


def variables_of(value: e.Expr) -> dict[e.Var, None]:
    """The variables among the operands of a value, also in tuples."""
    found: dict[e.Var, None] = {}
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, e.Var):
            found[part] = None
        else:
            stack.extend(operands(part))
    return found


@dataclass(frozen=True, slots=True)
class StatefulOperand:
    """An object with a state that is an operand of a binding, with its state before."""

    var: e.Var
    name: str
    value: Stateful
    before: object

    def is_changed(self) -> bool:
        """True if a call has replaced the state."""
        return self.value.state is not self.before


def stateful_operands(frame: Frame, binding: e.Binding | None) -> list[StatefulOperand]:
    """The objects with a state among the operands of a call."""
    if binding is None or type(binding.value) is not e.Call:
        return []
    found = []
    for var in variables_of(binding.value):
        value = frame.value_of(var)
        parts = [(var.name, value)] if isinstance(value, Stateful) else fields_of(var.name, value)
        found += [
            StatefulOperand(var, name, item, item.state) for name, item in parts if isinstance(item, Stateful)
        ]
    return found


def fields_of(name: str, value: Value) -> list[tuple[str, Value]]:
    """The fields of a tuple with their names; none of another value."""
    return [(f"{name}[{n}]", item) for n, item in enumerate(value)] if type(value) is tuple else []
