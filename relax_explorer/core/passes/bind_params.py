"""BindParams: make constants of parameters."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from relax_explorer.core.arith.simplify import summed
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.compatible import always_fits, match_dims
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import FormedDims
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import exprs, merged_blocks, substitute_info
from relax_explorer.core.passes.bind_symbolic_vars import BindingAsTvm
from relax_explorer.core.passes.contract import ALWAYS, NO_VALUES, Kept, PassSite, module_pass, relax_function
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass(
    "BindParams",
    rebuilds=True,
    keeps_promises=True,
    changes={Kept.SIGNATURES: ALWAYS},
    requires=[NORMAL_FORM],
)
def bind_params(
    module: IRModule,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to change"] = "main",
    params: Annotated[
        dict[str, Any], "arrays by the names of parameters, or the path of an .npz"
    ] = NO_VALUES,
) -> IRModule:
    """Replace parameters of a function by constants: `f(x, w)` with `params={"w": array}` becomes `f(x)`.

    Lengths that the arrays tell become numbers. A parameter whose memory is overwritten becomes a variable that holds the constant.
    In the profile `tvm` it is not asked what is overwritten, numbers among operands are not computed, and the types of functions keep
    their lengths.

    Raises Failure for an unknown parameter, for an array that does not fit, and for a function that the module itself calls.
    """
    if isinstance(params, str):
        raise _bad(f"params is {params!r}", "give arrays by name; only the command line reads files")
    if not params:
        return module
    fn = relax_function(module, func_name)
    _refuse_callers(module, func_name)
    constants = _constants(fn, {name: np.asarray(array) for name, array in params.items()})
    dims: dict[p.PrimVar, p.PrimExpr] = {}
    for param, constant in constants.items():
        match_dims(param.struct_info or s.OBJECT, constant.struct_info or s.OBJECT, dims)
    for param, constant in constants.items():
        _check(param, constant, dims)
    replaced: dict[e.Var, e.Expr] = {**constants}
    if not at.as_tvm:
        memory = aliases(module, func_name, fn)
        replaced = {param: value for param, value in constants.items() if not memory.written(param)}
    rest = tuple([param for param in fn.params if param not in replaced])
    kind = BindingAsTvm if at.as_tvm else Substitution
    by = kind(replaced, FormedDims(dims, summed) if dims else dims)
    new = by.function(replace(fn, params=rest, struct_info=None))
    at.record_in_order(fn, new)
    held = {var: constants[param] for param, var in zip(rest, new.params, strict=True) if param in constants}
    at.editor.replace(func_name, _starting(new, held) if held else new)
    return at.editor.done()


def _refuse_callers(module: IRModule, name: str) -> None:
    """Raise Failure if the module itself calls a function."""
    every = (x for fn in module.relax_functions.values() for x in exprs(fn))
    if any(type(x) is e.GlobalVar and x.name == name for x in every):
        raise _bad(f"the module itself calls {name!r}", "inline it first, or bind a parameter of its caller")


def _starting(fn: e.Function, held: dict[e.Var, e.Constant]) -> e.Function:
    """The function with bindings of constants in place of parameters."""
    start = e.BindingBlock(tuple([e.VarBinding(param, constant) for param, constant in held.items()]))
    blocks = tuple(merged_blocks([start, *fn.body.blocks]))
    params = tuple([param for param in fn.params if param not in held])
    return replace(fn, params=params, body=replace(fn.body, blocks=blocks))


def _constants(fn: e.Function, arrays: dict[str, Any]) -> dict[e.Var, e.Constant]:
    """The constants by parameter."""
    params = {param.name: param for param in fn.params}
    unknown = [name for name in arrays if name not in params]
    if unknown:
        raise _bad(f"the function has no parameter {unknown[0]!r}", f"its parameters are {', '.join(params)}")
    constants: dict[e.Var, e.Constant] = {}
    for name, given in arrays.items():
        array = np.ascontiguousarray(given).copy() if given.ndim else given.copy()
        array.flags.writeable = False
        constants[params[name]] = e.Constant(array, s.constant_info(array))
    return constants


def _check(param: e.Var, constant: e.Constant, dims: dict[p.PrimVar, p.PrimExpr]) -> None:
    info = substitute_info(param.struct_info or s.OBJECT, dims)
    if constant.struct_info is None or not always_fits(constant.struct_info, info):
        text = f"parameter {param.name!r} is {info}, but its array is {constant.struct_info}"
        raise _bad(text, "give an array of this shape and dtype")


def _bad(text: str, help: str) -> Failure:
    return Failure(Diagnostic(codes.BAD_OPTION, text, help=help, origin="BindParams"))
