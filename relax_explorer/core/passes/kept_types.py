"""What every pass keeps of StructInfo: that of the results of public functions, and that of variables.

StructInfo that is derived from values stays right by itself (NORMALIZED). A pass can still hide it behind an annotation, or return
something else.
"""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import NO, YES, more_specific, never_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.core.passes.contract import Kept, PassSite
from relax_explorer.core.passes.kept_effects import Loss
from relax_explorer.core.program.module import IRModule


def vaguer(before: IRModule, after: IRModule, site: PassSite) -> Iterator[Loss]:
    """Results of public functions that can't be what they were, and new annotations that hide what was known of a value."""
    for name, fn in before.relax_functions.items():
        new = after.relax_functions.get(name)
        if new is None or new is fn:
            continue
        if not fn.is_private and Kept.RESULTS not in site.changes:
            yield from _other_result(name, fn, new)
        if not site.as_tvm:
            yield from _hidden(fn, new)


def _other_result(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    was, now = fn.struct_info, new.struct_info
    if (
        isinstance(was, s.FuncStructInfo)
        and isinstance(now, s.FuncStructInfo)
        and never_fits(now.ret, was.ret)
    ):
        yield Loss(new.body, f"the result of {name} is {now.ret}, it was {was.ret}")


def _hidden(fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first variable whose annotation is weaker than its value, where it had better StructInfo before."""
    if not contents(new).hides_infos:  # most often
        return
    weak = [b for b in bindings(new) if type(b) is e.VarBinding and b.annotation is not None and _is_weak(b)]
    if not weak:
        return
    was: dict[str, list[s.StructInfo]] = {}
    for binding in bindings(fn):
        if binding.var is not None and binding.var.struct_info is not None:
            was.setdefault(binding.var.name, []).append(binding.var.struct_info)
    for binding in weak:
        now, known = binding.var.struct_info, was.get(binding.var.name)
        if now is not None and known and all(_is_better(info, now) for info in known):
            yield Loss(
                binding, f"the StructInfo of {binding.var.name!r} is less precise: {now}, it was {known[0]}"
            )
            return


def _is_weak(binding: e.VarBinding) -> bool:
    value, var = binding.value.struct_info, binding.var.struct_info
    return value is not None and var is not None and value is not var and _is_better(value, var)


def _is_better(a: s.StructInfo, b: s.StructInfo) -> bool:
    return more_specific(a, b) is YES and more_specific(b, a) is NO
