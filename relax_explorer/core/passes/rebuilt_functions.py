"""Functions as TVM makes them anew when a pass has visited their bindings, for the profile `tvm`.

Its result then promises what the body has, unless the promise says more; and no annotation says more than its value.
"""

from __future__ import annotations

from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.matching import as_told, holds_function
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    all_dims,
    defined_dims,
    info_holders,
    info_vars,
    map_blocks,
    map_sequences,
)
from relax_explorer.core.passes.cast_checks import bound_dims


def rebuilt(fn: e.Function, before: e.Function | None, keeps_promises: bool) -> e.Function:
    """A function made anew, with those in it. Each has StructInfo; what changes must be derived again.

    What TVM knows of a body that did not change, and of a tensor whose shape a variable holds, it knew before: such a function promises
    no more than `before`. One that `keeps_promises` promises no less, either. The result of a function that was not there `before`
    names no lengths that its scalars tell.
    """
    may_say_more = fn is not before and not _has_held_shape(before)
    new = _Rebuilder(may_say_more, not keeps_promises).function(fn)
    return new if before is not None else _without_scalars(new)


def _without_scalars(fn: e.Function) -> e.Function:
    """The function with a result that names no lengths of scalar parameters."""
    result = fn.ret_struct_info
    if result is None:
        return fn
    infos = [param.struct_info for param in fn.params]
    told = as_told(result, [info for info in infos if type(info) is not s.PrimStructInfo])
    return fn if told == result else replace(fn, ret_struct_info=told, struct_info=None)


def _frees_functions(fn: e.Function, promised: s.StructInfo, have: s.StructInfo) -> bool:
    """True if functions in a result were promised to name lengths of `fn`, and have lengths of their own."""
    bound, told = (
        bound_dims(fn),
        {dim for param in fn.params for dim in defined_dims(param.struct_info or s.OBJECT)},
    )
    named, free = [set(all_dims(info)) - set(info_vars(info)) for info in (promised, have)]
    return told.issuperset(info_vars(have)) and not named.isdisjoint(bound) and free.isdisjoint(bound)


def _has_held_shape(fn: e.Function | None) -> bool:
    """True if a variable holds the shape of a result."""
    return fn is not None and any(info_holders(fn.body.body.struct_info or s.OBJECT))


class _Rebuilder:
    """Makes functions anew, inner ones first."""

    def __init__(self, may_say_more: bool, may_say_other: bool) -> None:
        self.may_say_more, self.may_say_other = may_say_more, may_say_other
        self.vague: set[e.Var] = set()  # variables of which less is known than was said

    def function(self, fn: e.Function) -> e.Function:
        """A function with the result that its body has."""
        new = replace(fn, body=self._sequence(fn.body))
        told = self._told(fn)
        return new if told is fn.ret_struct_info else replace(new, ret_struct_info=told, struct_info=None)

    def _sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        return map_blocks(seq, self._binding)

    def _binding(self, binding: e.Binding) -> e.Binding:
        value = binding.value
        if type(binding) is e.VarBinding and binding.annotation is not None:
            binding = self._annotated(binding)
        elif self.vague and binding.var is not None and not self.vague.isdisjoint(reads(binding)):
            self.vague.add(binding.var)
        if type(value) is e.Function:
            return replace(binding, value=self.function(value))
        return map_sequences(binding, self._sequence) if type(value) in WITH_BLOCKS else binding

    def _annotated(self, binding: e.VarBinding) -> e.VarBinding:
        """A binding without an annotation that says more than its value. Of what an operator gives, an annotation may know more."""
        said, have = binding.annotation, binding.value.struct_info
        if said is None or have is None or said is have:
            return binding
        if always_fits(have, said):
            if type(binding.value) is e.If and not always_fits(said, have):
                self.vague.add(binding.var)
            return binding
        is_trusted = type(binding.value) is e.Call or not always_fits(said, have)
        if is_trusted and self.vague.isdisjoint(reads(binding)):
            return binding
        self.vague.add(binding.var)
        return replace(binding, annotation=None)

    def _told(self, fn: e.Function) -> s.StructInfo | None:
        """What the result of a function is said to be."""
        promised, have = fn.ret_struct_info, fn.body.body.struct_info
        if not fn.body.blocks or promised is None or have is None or promised == have:
            return promised
        says_as_much = always_fits(promised, have)
        if says_as_much and not (self.may_say_more and always_fits(have, promised)):
            return promised  # else it says the same in other words, `m + n` for `n + m`
        if holds_function(have):
            return have if _frees_functions(fn, promised, have) else promised
        if not bound_dims(fn).issuperset(all_dims(have)):
            return promised  # it names lengths that are not known at all
        told = as_told(have, [param.struct_info for param in fn.params], ())
        may = self.may_say_more if says_as_much or always_fits(told, promised) else self.may_say_other
        return told if may else promised
