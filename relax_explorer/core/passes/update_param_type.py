"""UpdateParamType: give parameters other StructInfo."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated

from relax_explorer.core.check.normalize import normalize_again
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import WILDCARDS
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims, map_blocks, map_sequences, substitute_info
from relax_explorer.core.passes.contract import ALWAYS, NO_VALUES, Kept, PassSite, bad_option, module_pass
from relax_explorer.core.phases.module_properties import NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.parser import parse
from relax_explorer.core.syntax.python_tree import python_tree

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
