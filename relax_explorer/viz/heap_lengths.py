"""The lengths on the shape heap of a lowered function, in the names that its parameters have for them."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.machine_checks import MachineState, number_of


class HeapLengths:
    """What is known of the heap at a place. `var` is the heap itself, None as long as there is none."""

    def __init__(self, module: IRModule) -> None:
        self.state = MachineState(module.functions)
        self.var: e.Var | None = None

    def note(self, binding: e.Binding, name: str) -> None:
        """Follow a binding."""
        checked, value = self.state.checked(binding), binding.value
        if checked is None:
            self.state.bind(binding)
            if type(value) is e.Call:
                self.state.call(value)
            if name == "vm.builtin.alloc_shape_heap":
                self.var = binding.var
            return
        for _ in self.state.demands(binding):
            pass  # it notes what is stored
        dims = _dims(checked.struct_info)
        named = {self.state.length(checked, axis): dim for axis, dim in enumerate(dims)}
        for slot, length in self.state.slots.items():
            if isinstance(length, p.PrimVar) and length in named:
                self.state.slots[slot] = named[length]

    def made(self, binding: e.Binding, name: str, args: tuple[e.Expr, ...]) -> e.Expr | None:
        """The shape or the scalar that a call makes of the heap."""
        info = binding.var.struct_info if binding.var is not None else None
        if name == "vm.builtin.make_shape" and binding.var is not None:
            lengths = self.state.lengths(binding.var)
            return None if lengths is None else e.ShapeExpr(lengths, info)
        if name == "vm.builtin.make_prim_value" and len(args) > 2:
            code, number = number_of(args[1]), number_of(args[2])
            value = self.state.slots.get(-1 if number is None else number) if code else None
            return None if value is None else e.PrimValue(value, info)
        return None

    def lengths(self, shape: e.Expr) -> tuple[p.PrimExpr, ...] | None:
        """The lengths of a shape, if they are known."""
        return self.state.lengths(shape)


def _dims(info: s.StructInfo | None) -> tuple[p.PrimExpr, ...]:
    if isinstance(info, s.TensorStructInfo):
        return info.dims or ()
    return (info.values or ()) if isinstance(info, s.ShapeStructInfo) else ()
