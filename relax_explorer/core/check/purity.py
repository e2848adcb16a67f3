"""Side effects: which calls have them, and where they may stand."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.codes import well_formed as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.ops import find

FORCE_PURE = ("relax.force_pure", "force_pure")
# Operators of lowered programs that have an effect although no class declares them.
_IMPURE_NAMES = frozenset(
    {"relax.vm.kill_object", "relax.memory.kill_storage", "relax.memory.kill_tensor", "relax.vm.call_tir_dyn"}
)


def is_impure(expr: e.Expr) -> bool:
    """Whether evaluating this expression, in normal form, may have a side effect beyond failing."""
    if type(expr) is not e.Call:
        return False
    op = expr.op
    if type(op) is e.OpRef:
        declared = find(op.name)
        return op.name in _IMPURE_NAMES if declared is None else not declared.pure
    if type(op) is e.ExternFunc:
        return True
    info = op.struct_info
    return isinstance(info, s.FuncStructInfo) and not info.pure


def has_effect(fn: e.Function) -> bool:
    """Whether calling the function may have a side effect: what it says of itself, or else what its body does."""
    if fn.pure is not None:
        return not fn.pure
    return any(_impure_inside(binding.value) for binding in bindings(fn))


def _impure_inside(expr: e.Expr) -> bool:
    stack = [expr]
    while stack:
        item = stack.pop()
        if is_impure(item):
            return True
        stack.extend(operands(item))
    return False


def forced(fn: e.Function) -> bool:
    """Whether the function is declared pure whatever its body says."""
    return any(fn.attrs.get(name) for name in FORCE_PURE)


def violations(fn: e.Function) -> Iterator[Diagnostic]:
    """Impure calls in dataflow blocks, and in a function that says it is pure."""
    if forced(fn):
        return
    for block in fn.body.blocks:
        for binding in block.bindings:
            if type(binding.value) is e.Function or not _impure_inside(binding.value):
                continue
            place = binding.value if binding.value.span else binding
            if type(block) is e.DataflowBlock:
                yield Diagnostic(
                    codes.IMPURE_IN_DATAFLOW,
                    "this call may have a side effect",
                    (Label(place, "", True),),
                    help=codes.IMPURE_IN_DATAFLOW.fix,
                )
            elif fn.pure is not False:
                yield Diagnostic(
                    codes.IMPURE_IN_PURE,
                    "this call may have a side effect",
                    (Label(place, "", True),),
                    help=codes.IMPURE_IN_PURE.fix,
                )
