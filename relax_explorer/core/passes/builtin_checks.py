"""Drop checks by builtins of the virtual machine that earlier ones, or the making of a value, prove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.shapes.machine_checks import NOTHING, STORE, callee_name, number_of
from relax_explorer.core.shapes.residual import ShapeCheck

_FIRST = 3  # the arguments of match_shape in front of its rules: value, heap, number of lengths


def without_proved(checks: Mapping[e.Binding, Sequence[ShapeCheck]]) -> Mapping[e.Binding, Rewritten]:
    """What becomes of each binding with a proved check: nothing, or a match_shape that only stores lengths and compares the rest."""
    found: dict[e.Binding, Rewritten] = {}
    for binding, demanded in checks.items():
        proved = [check.answer is Answer.YES for check in demanded]
        if callee_name(binding.value) == "vm.builtin.match_shape":
            new = _compared(binding, proved)
            if new is not binding:
                found[binding] = new
        elif all(proved):
            found[binding] = ()
    return found


def _compared(binding: e.Binding, proved: Sequence[bool]) -> Rewritten:
    """A match_shape without the comparisons that are proved. The first check is that of the rank."""
    call = binding.value
    assert isinstance(call, e.Call)  # the caller looked at its name
    args, rest = list(call.args), iter(proved[1:])
    actions = range(_FIRST, len(args) - 1, 2)
    stores = False
    for n in actions:
        action = number_of(args[n])
        stores |= action == STORE
        if action not in (STORE, NOTHING) and next(rest):
            args[n : n + 2] = [m.number(NOTHING), m.number(0)]
    if all(proved) and not stores:
        return ()
    new = replace(call, args=tuple(args))
    return binding if new.args == call.args else replace(binding, value=new)
