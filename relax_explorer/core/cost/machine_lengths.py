"""The StructInfo of values, with the lengths that lowered programs keep on a heap instead of in types."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.machine_checks import MachineState, callee_name, number_of

_SCALAR = "vm.builtin.make_prim_value"


class MachineLengths:
    """What the bindings of one function tell, in their order. Where nothing lies on a heap, this is their own StructInfo."""

    def __init__(self, module: IRModule) -> None:
        self._state = MachineState(module.functions)
        self._dims: dict[p.PrimVar, p.PrimExpr] = {}  # of values that are checked, by the terms of the state
        self._scalars: dict[e.Expr, p.PrimExpr] = {}
        self._uses_heap = False

    def note(self, binding: e.Binding) -> None:
        """Record a binding."""
        value = binding.value
        if (
            type(value) is e.Call
            and type(value.op) is e.OpRef
            and value.op.name == "relax.call_builtin_with_ctx"
        ):
            self._uses_heap = True
        if not self._uses_heap:
            return
        checked = self._state.checked(binding)
        if checked is not None:
            for axis, length in enumerate(s.lengths(self.info(checked))):
                self._dims[self._state.length(checked, axis)] = length
            list(self._state.demands(binding))  # what it stores is on the heap after its turn
        self._state.bind(binding)
        if callee_name(value) == _SCALAR and binding.var is not None and type(value) is e.Call:
            self._note_scalar(binding.var, value.args)
        if type(value) is e.Call:
            self._state.call(value)

    def _note_scalar(self, var: e.Var, args: tuple[e.Expr, ...]) -> None:
        """Record a length that is taken from the heap as a scalar: heap, source, number."""
        source, number = map(number_of, args[1:3]) if len(args) > 2 else (None, None)
        slot = None if number is None or source == 0 else self._state.slots.get(number)
        if slot is not None:
            self._scalars[var] = p.substitute(slot, self._dims)

    def info(self, value: e.Expr) -> s.StructInfo | None:
        """The StructInfo of a value, as far as its own one or the heap tells."""
        own = value.struct_info
        if value in self._scalars:
            return s.PrimStructInfo(self._scalars[value].dtype, self._scalars[value])
        if (
            not self._uses_heap
            or s.lengths(own)
            or not isinstance(own, s.TensorStructInfo | s.ShapeStructInfo)
        ):
            return own
        dims = self._state.made_lengths(value)
        if dims is None or own.ndim not in (len(dims), -1, None):
            return own
        known = tuple([p.substitute(dim, self._dims) for dim in dims])
        return s.with_lengths(own, known)

    def infos(self, values: Iterable[e.Expr]) -> tuple[s.StructInfo, ...]:
        """The StructInfo of several values."""
        return tuple([self.info(value) or s.OBJECT for value in values])
