"""The checks, in order: normal form and inference, well-formedness, purity, unused values."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.core.arith.prove import proving
from relax_explorer.core.check import missing, normal_form
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.codes import style
from relax_explorer.core.diagnostics import Diagnostic, Report, Severity
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.ir.node import building


def check(
    module: IRModule, profile: str = "spec", normalized: bool = False, prover: str = "arithmetic"
) -> list[Diagnostic]:
    """Everything that is wrong or doubtful in a module: StructInfo, well-formedness, purity, unused values; by place.

    `profile` is `spec` (the language specification) or `tvm` (what TVM 0.27 accepts: rules that only the specification has
    become warnings). With `normalized` the module must be in normal form already: if it is not, that is all that is said.
    `prover` is `arithmetic`, or `alpha`: dimensions are equal only if they are written alike.
    Raises ValueError for another profile or prover.
    """
    if profile not in ("spec", "tvm"):
        raise ValueError(f"no profile {profile!r}; there are spec and tvm")
    if normalized:
        raw = list(normal_form.violations(module))
        if raw:
            return sorted(raw, key=Diagnostic.order)
    with proving(prover), building():
        return _check(module, profile == "tvm")


def _check(module: IRModule, tvm: bool) -> list[Diagnostic]:
    normal, report = normalize_with(module, unsaid_is_pure=tvm)
    found = Report()
    found.extend(report)
    found.extend(violations(normal, unsaid_is_pure=tvm))
    found.extend(missing.violations(normal))
    found.extend(_unused(normal))
    return [lenient(item) if tvm else item for item in found.sorted()]


def lenient(item: Diagnostic) -> Diagnostic:
    """The diagnostic as TVM's users see it: what only the specification refuses is a warning."""
    return replace(item, severity=Severity.WARNING) if item.spec_only and item.is_error else item


def well_formed(module: IRModule, profile: str = "spec", normalized: bool = False) -> bool:
    """Whether `check` finds no error."""
    return not any(item.is_error for item in check(module, profile, normalized))


def _unused(module: IRModule) -> Report:
    from relax_explorer.core.check.purity import is_impure
    from relax_explorer.core.ir.expr import Call, VarBinding
    from relax_explorer.core.ir.facts import facts
    from relax_explorer.core.ir.struct_info import PrimStructInfo

    report = Report()
    for fn in module.relax_functions.values():
        derived = facts(fn)
        for binding in derived.bindings:
            var = binding.var
            if (
                type(binding) is VarBinding
                and var is not None
                and var not in derived.uses
                and var.name != "_"
                and not isinstance(var.struct_info, PrimStructInfo)  # a dimension may be computed with it
            ):
                direct = type(binding.value) is Call and type(binding.value.op).__name__ != "OpRef"
                if not is_impure(binding.value) and not direct:
                    report.say(
                        style.UNUSED_BINDING,
                        f"{var.name!r} is never used",
                        binding,
                        help=style.UNUSED_BINDING.fix,
                    )
    return report
