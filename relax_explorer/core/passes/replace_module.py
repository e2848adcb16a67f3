"""What a user writes anew: the text of the module (ReplaceModule), and the StructInfo of parameters (UpdateParamType)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated

from relax_explorer.core.check.normalize import normalize_again, normalize_with
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import WILDCARDS
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, bindings, map_blocks, map_sequences, substitute_info
from relax_explorer.core.passes.contract import ALWAYS, NO_VALUES, Kept, PassSite, bad_option, module_pass
from relax_explorer.core.phases.module_check import checked
from relax_explorer.core.phases.module_properties import NORMAL_FORM, PROPERTIES, SHAPES_LOWERED
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.printer import printed_module
from relax_explorer.core.syntax.python_tree import python_tree

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
    new = taken_over(result.module, module, at)
    if new is not module:
        at.report.extend(result.problems)
    return new


def taken_over(result: IRModule, module: IRModule, at: PassSite) -> IRModule:
    """A module that was read, in normal form, in the place of another one. Functions that are the same stay the same objects.

    The same module if all are. Bindings with the name of an earlier one are recorded as its successors.
    """
    kept = {
        name: module[name] if name in module and _is_same(module, result, name) else fn
        for name, fn in result.functions.items()
    }
    is_same = list(kept) == list(module.functions) and result.attrs is module.attrs
    if is_same and all(kept[name] is module[name] for name in kept):
        return module
    new, _ = normalize_with(result.having(kept), after=module)
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


# -- update param type -----------------------------------------------------------------------------------------------
# UpdateParamType: give parameters other StructInfo.


HELP = """write types={'x': 'R.Tensor((n, 4), "float16")'}, or 'main.x' for the parameter of one function"""


@module_pass(
    "UpdateParamType",
    requires=[NORMAL_FORM],
    invalidates=[SHAPES_LOWERED],
    changes={Kept.RESULTS: ALWAYS, Kept.SIGNATURES: ALWAYS},
)
def update_param_type(
    module: IRModule,
    at: PassSite,
    *,
    types: Annotated[
        dict[str, str], "StructInfo as text by the names of parameters, `x` or `main.x`"
    ] = NO_VALUES,
) -> IRModule:
    """Give parameters other StructInfo. That of the bindings and of the result follows by inference.

    TVM takes a callback; here a text tells the StructInfo of each parameter. A shape variable with a name that the function has
    is the same variable. Raises Failure for an unknown parameter, a wrong text, and for a program that no longer fits.
    """
    if not isinstance(types, dict):
        raise _bad(f"types is {types!r}")
    unused = set(types)
    for name, fn in module.relax_functions.items():
        new: dict[e.Var, s.StructInfo] = {}
        for key, param, info in _updates(module, name, types):
            unused.discard(key)
            new[param] = info
        if any(info is not param.struct_info for param, info in new.items()):
            at.editor.replace(name, _updated(fn, new, at))
    if unused:
        raise _bad(f"types names {min(unused)!r}, which is no parameter of the module")
    normalize_again(at.editor.done(), module)
    return at.editor.done()


def _updates(
    module: IRModule, name: str, types: Mapping[str, str]
) -> Iterator[tuple[str, e.Var, s.StructInfo]]:
    """The parameters of a function that get other StructInfo. `main.x` comes before `x`."""
    fn = module.relax_functions[name]
    for param in fn.params:
        for key in (param.name, f"{name}.{param.name}"):
            if key in types:
                yield key, param, _read(types[key], key, fn, WILDCARDS in module.attrs)


def _read(text: str, key: str, fn: e.Function, wildcards: bool) -> s.StructInfo:
    """The StructInfo of a text, with the shape variables of the function where the names are equal. `wildcards` allows `R.any_dim`."""
    try:
        names = {part.id for part in ast.walk(python_tree(text, "eval")) if isinstance(part, ast.Name)}
        head = "".join([f'{name} = TypeVar("{name}")\n' for name in sorted(names - {"R", "T"})])
        fake = parse(f"{head}@R.function\ndef f(x: {text}):\n    return x\n", experimental=wildcards)
        (param,) = fake.relax_functions["f"].params
    except (Failure, ValueError, KeyError, SyntaxError):
        raise _bad(f"types gives {key!r} the text {text!r:.200}, which is no StructInfo") from None
    info = param.struct_info or s.OBJECT
    own: dict[str, p.PrimVar] = {}
    for each in fn.params:
        for dim in all_dims(each.struct_info or s.OBJECT):
            own.setdefault(dim.name, dim)
    return substitute_info(info, {dim: own[dim.name] for dim in all_dims(info) if dim.name in own})


def _updated(fn: e.Function, new: Mapping[e.Var, s.StructInfo], at: PassSite) -> e.Function:
    """The function with new parameters; what was written about values that follow from them is left out."""
    params: dict[e.Var, e.Expr] = {param: e.var_like(param, info) for param, info in new.items()}
    kept = tuple([var for var in (params.get(param, param) for param in fn.params) if isinstance(var, e.Var)])
    changed = replace(fn, params=kept, ret_struct_info=None, struct_info=None, body=_unwritten(fn.body))
    result = Substitution(params).function(changed)
    at.record_in_order(fn, result)
    return result


def _unwritten(seq: e.SeqExpr) -> e.SeqExpr:
    """A sequence without the annotations of its bindings, in branches and nested functions, too."""
    return map_blocks(seq, lambda binding: replace(map_sequences(binding, _unwritten), annotation=None))


_bad = partial(bad_option, help=HELP, origin="UpdateParamType")
