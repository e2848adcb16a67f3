"""Marks the functions of texts from before functions had a purity: those whose calls may have effects are not pure.

So later dialects print the marks that they need.
"""

from __future__ import annotations

from relax_explorer.core.codes.well_formedness import IMPURE_IN_PURE
from relax_explorer.core.diagnostics import Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule

_FORCED = ("relax.force_pure", "force_pure", "pure")


def marked(module: IRModule, report: Report) -> IRModule:
    """The module with `pure=False` on each function that says nothing, and may have an effect, itself or by what it calls.

    TVM 0.27 takes such a function as pure, and refuses it; `report` gets a note of each.
    """
    callers: dict[str, list[str]] = {}
    impure: list[str] = []
    for name, fn in module.relax_functions.items():
        for expr in exprs(fn):
            if isinstance(expr, e.GlobalVar):
                callers.setdefault(expr.name, []).append(name)
        if _says_nothing(fn) and any(map(_has_effect, exprs(fn))):
            impure.append(name)
    found = set(impure)
    while impure:
        for caller in callers.get(impure.pop(), ()):
            if caller not in found and _says_nothing(module.relax_functions[caller]):
                found.add(caller)
                impure.append(caller)
    for name in found:
        text, place = (
            f"TVM 0.27 takes {name!r} as pure, but it may have a side effect",
            module.functions[name],
        )
        fix = IMPURE_IN_PURE.fix
        report.say(IMPURE_IN_PURE, text, place, help=fix, severity=Severity.NOTE, tvm_only=True)
    changed = {name: replace(fn, pure=False) for name, fn in module.relax_functions.items() if name in found}
    return module.having({**module.functions, **changed})


def _says_nothing(fn: e.Function) -> bool:
    return fn.pure is None and not any(name in fn.attrs for name in _FORCED)


def _has_effect(expr: e.Expr) -> bool:
    if not isinstance(expr, e.Call):
        return False
    if isinstance(expr.op, e.OpRef):
        op = find(expr.op.name)
        return op is not None and not op.pure
    return isinstance(expr.op, e.ExternFunc) and expr.attrs.get("pure") is not True
