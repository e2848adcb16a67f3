"""ReplaceModule: go on with a text that was edited."""

from __future__ import annotations

from typing import Annotated

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.contract import ALWAYS, Kept, PassSite, module_pass
from relax_explorer.core.phases.module_check import checked
from relax_explorer.core.phases.module_properties import NORMAL_FORM, PROPERTIES
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.printer import printed_module

METADATA = "metadata = "


@module_pass(
    "ReplaceModule", requires=[NORMAL_FORM], establishes=[NORMAL_FORM], changes={Kept.EFFECTS: ALWAYS}
)
def replace_module(
    module: IRModule,
    at: PassSite,
    *,
    text: Annotated[str, "the edited program; the command line takes its file"] = "",
) -> IRModule:
    """Replace the module by an edited text of it, so that the passes behind go on from there.

    A text without metadata refers to the constants of the module. Functions that were not edited stay the same objects. Bindings
    with the name of an earlier one are its successors. Raises Failure if the text can't be read; other problems are reported.
    """
    if not text.strip():
        return module
    result = checked(read_edited(text, module))
    kept = {
        name: module[name] if name in module and _is_same(module, result.module, name) else fn
        for name, fn in result.module.functions.items()
    }
    is_same = list(kept) == list(module.functions) and result.module.attrs is module.attrs
    if is_same and all(kept[name] is module[name] for name in kept):
        return module
    at.report.extend(result.problems)
    new, _ = normalize_with(result.module.having(kept), after=module)
    at.waived.update(q for q in PROPERTIES if not q.holds(new))
    for name, fn in new.relax_functions.items():
        old = module.relax_functions.get(name)
        if old is not None and old is not fn:
            named = {b.var.name: b for b in bindings(old) if b.var is not None}
            for binding in bindings(fn):
                before = named.get(binding.var.name) if binding.var is not None else None
                at.record(before if before is not None else (), binding)
    return new


def read_edited(text: str, module: IRModule) -> IRModule:
    """The program of a text. Constants that it only names by their numbers are those of `module`."""
    if "metadata[" in text and METADATA not in text:
        written = module.script()
        end = written.find('""")\n', written.find(METADATA))
        if METADATA in written and end >= 0:
            text = written[written.find(METADATA) : end + 5] + text
    return parse(text)


def edited_text(module: IRModule) -> str:
    """The text of a module to edit, without the data of its constants."""
    return "\n".join(line.text for line in printed_module(module, metadata=False).lines)


def problem_of(text: str, module: IRModule) -> Diagnostic | None:
    """Why a text can't replace a module; None if it can."""
    try:
        read_edited(text, module)
    except Failure as failure:
        return failure.diagnostics[0]
    return None


def _is_same(old: IRModule, new: IRModule, name: str) -> bool:
    """True if a function is the same, with the same names of its variables."""
    a, b = old[name], new[name]
    if type(a) is not type(b) or not structural_equal(a, b):
        return False
    return not isinstance(a, Function) or _names(a) == _names(b)


def _names(fn: object) -> list[str]:
    assert isinstance(fn, Function)  # the caller asked
    variables = [*fn.params, *[binding.var for binding in bindings(fn)]]
    return ["" if var is None else var.name for var in variables]
