"""Functions as TVM makes them anew when a pass has visited their bindings, for the profile `tvm`.

Its result then promises what the body has, unless the promise says more; and no annotation says more than its value.
"""

from __future__ import annotations

from relax_explorer.core.check.compatible import always_fits, defined_dims, erase, holds_function
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import WITH_BLOCKS, all_dims, map_blocks, map_sequences


def rebuilt(fn: e.Function, is_changed: bool) -> e.Function:
    """A function made anew, with those in it. Each has StructInfo; what changes must be derived again.

    What TVM knows of the body of a function that did not change, it knew before: such a function promises no more than before.
    """

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        return map_blocks(seq, binding_anew)

    def binding_anew(binding: e.Binding) -> e.Binding:
        value = binding.value
        if type(binding) is e.VarBinding and _is_too_narrow(binding):
            binding = replace(binding, annotation=None)
        if type(value) is e.Function:
            return replace(binding, value=rebuilt(value, is_changed))
        return map_sequences(binding, sequence) if type(value) in WITH_BLOCKS else binding

    new = replace(fn, body=sequence(fn.body))
    told = _told(fn, is_changed)
    return new if told is fn.ret_struct_info else replace(new, ret_struct_info=told, struct_info=None)


def _told(fn: e.Function, is_changed: bool) -> s.StructInfo | None:
    """What the result of a function is said to be."""
    promised, have = fn.ret_struct_info, fn.body.body.struct_info
    if not fn.body.blocks or promised is None or have is None or always_fits(promised, have):
        return promised
    if holds_function(have):  # a closure names lengths that it captured
        return promised
    dims = {dim for param in fn.params for dim in defined_dims(param.struct_info or s.OBJECT)}
    told = erase(have, dims, (), set(all_dims(have)) - dims)
    return told if is_changed or not always_fits(told, promised) else promised


def _is_too_narrow(binding: e.VarBinding) -> bool:
    """True if an annotation says more than its value."""
    said, have = binding.annotation, binding.value.struct_info
    if said is None or have is None or said is have:
        return False
    return always_fits(said, have) and not always_fits(have, said)
