"""BindParams and BindSymbolicVars: values that are known before the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace as with_fields
from functools import partial
from typing import Annotated, Any

import numpy as np

from relax_explorer.core.arith.simplify import summed
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.call_graph import mentioned_anywhere
from relax_explorer.core.check.compatible import always_fits, match_dims
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.fold import FormedDims, WrittenDims, substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    info_holders,
    merged_blocks,
    substitute_info,
)
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import (
    ALWAYS,
    NO_VALUES,
    Kept,
    PassSite,
    bad_option,
    module_pass,
    relax_function,
)
from relax_explorer.core.phases.module_check import lenient
from relax_explorer.core.phases.module_properties import NORMAL_FORM
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
    if func_name in mentioned_anywhere(module):
        help = "inline it first, or bind a parameter of its caller"
        raise _bad(f"the module itself calls {func_name!r}", help)
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


_bad = partial(bad_option, origin="BindParams")


@module_pass(
    "BindSymbolicVars",
    rebuilds=True,
    keeps_promises=True,
    changes={Kept.SIGNATURES: ALWAYS, Kept.RESULTS: ALWAYS},
    requires=[NORMAL_FORM],
)
def bind_symbolic_vars(
    module: IRModule,
    at: PassSite,
    *,
    binding_map: Annotated[
        dict[str, int], 'values by the names of shape variables, or a text "n=4,m=8"'
    ] = NO_VALUES,
    func_name: Annotated[str, "the function to change; all by default"] = "",
) -> IRModule:
    """Replace shape variables by numbers: with `binding_map="n=4"`, `R.Tensor((n, 3))` becomes `R.Tensor((4, 3))`.

    A length with a number in it is simplified: `m * n * 2` becomes `m * 8`. A scalar parameter `n` goes, unless the module itself
    calls the function or reads it as a value. In the profile `tvm` the types of functions keep their lengths.

    Raises Failure for a name that no function has as a shape variable, and for values that contradict the program.
    """
    values = read_lengths(binding_map, "binding_map", "BindSymbolicVars")
    if not values:
        return module
    chosen = {func_name: relax_function(module, func_name)} if func_name else dict(module.relax_functions)
    unused = set(values)
    read = mentioned_anywhere(module)
    for name, fn in chosen.items():
        named = [dim for dim in shape_variables(fn) if dim.name in values]
        own = _bound(fn) if named else set()
        dims = {dim: p.IntImm(values[dim.name], dim.dtype) for dim in named if dim in own}
        unused -= {dim.name for dim in named}
        new = _with_lengths(fn, dims, name not in read, at.as_tvm) if dims else fn
        at.record_in_order(fn, new)
        at.editor.replace(name, new)
    if unused:
        names = dict.fromkeys(dim.name for fn in chosen.values() for dim in shape_variables(fn))
        place = f"function {func_name!r}" if func_name else "the module"
        text = f"{place} has no shape variable {min(unused)!r}"
        raise bad_option(text, f"it has {', '.join(names) or 'none'}", "BindSymbolicVars")
    check_values(at.editor.done(), module, values, at.as_tvm)
    return at.editor.done()


class BindingAsTvm(Substitution):
    """Replaces variables and shape variables, but not in the types of functions. Scalars are not computed: `n + 1` becomes `3 + 1`.

    What a call gives is derived from its new operands, whatever its variable was said to be.
    """

    def expr(self, expr: e.Expr) -> e.Expr:
        """An operand or the value of a binding."""
        if type(expr) is not e.PrimValue:
            return super().expr(expr)
        value = substitute(expr.value, WrittenDims(self.dims))
        info = s.PrimStructInfo(value.dtype, value)
        return expr if value is expr.value else e.PrimValue(value, info, expr.span)

    def binding(self, binding: e.Binding) -> e.Binding:
        """One binding."""
        new = super().binding(binding)
        if type(new) is not e.VarBinding or new.value is binding.value:
            return new
        is_held = new.annotation is not None and any(info_holders(new.annotation))
        return new if is_held else replace(new, annotation=None)

    def info(self, info: s.StructInfo | None) -> s.StructInfo | None:
        """A StructInfo, or None."""
        if isinstance(info, s.TupleStructInfo):
            fields = tuple([self.info(field) or field for field in info.fields])
            return info if fields == info.fields else s.TupleStructInfo(fields)
        if isinstance(info, s.PrimStructInfo) and info.value is not None:
            return s.PrimStructInfo(info.dtype, substitute(info.value, WrittenDims(self.dims)))
        return info if isinstance(info, s.FuncStructInfo) else super().info(info)


def _with_lengths(
    fn: e.Function, dims: dict[p.PrimVar, p.IntImm], drop_scalars: bool, as_tvm: bool
) -> e.Function:
    """The function with numbers for shape variables, and without the parameters that are such scalars."""
    scalars: dict[e.Var, e.Expr] = {}
    for param in fn.params if drop_scalars else ():
        scalar = param.struct_info.value if isinstance(param.struct_info, s.PrimStructInfo) else None
        value = dims.get(scalar) if isinstance(scalar, p.PrimVar) else None
        if value is not None:
            scalars[param] = e.PrimValue(value, s.PrimStructInfo(value.dtype, value))
    if scalars:
        rest = tuple([param for param in fn.params if param not in scalars])
        fn = replace(fn, params=rest, struct_info=None)
    kind = BindingAsTvm if as_tvm else Substitution
    return kind(scalars, FormedDims({**dims}, summed)).function(fn)


def check_values(new: IRModule, old: IRModule, values: Mapping[str, int], as_tvm: bool = False) -> None:
    """Raise Failure for problems that the values bring about, with a note of these; `as_tvm` for those that TVM reports."""
    known = {item.code for item in _errors(old, as_tvm)}
    problems = [item for item in _errors(new, as_tvm) if item.code not in known]
    if problems:
        note = "this is so with " + ", ".join([f"{name} = {value}" for name, value in values.items()])
        raise Failure(*[with_fields(item, notes=(*item.notes, note)) for item in problems])


def _errors(module: IRModule, as_tvm: bool) -> list[Diagnostic]:
    """The errors of inference, else those of well-formedness, such as a negative dimension, of which TVM reports some only."""
    new, report = normalize_with(module)
    found = violations(new, effects=False) if not report.errors else ()
    return report.errors or [item for item in (map(lenient, found) if as_tvm else found) if item.is_error]


def _bound(fn: e.Function) -> set[p.PrimVar]:
    """The shape variables that a function and those in it bind. Those that a function type binds stay: it fits any length."""
    inner = [binding.value for binding in bindings(fn) if type(binding.value) is e.Function]
    return set().union(*map(bound_dims, (fn, *inner)))


def shape_variables(fn: e.Function) -> Iterator[p.PrimVar]:
    """The shape variables of a function, in order."""
    infos = [*[param.struct_info for param in fn.params], fn.ret_struct_info]
    for binding in bindings(fn):
        infos.append(binding.struct_info if type(binding) is e.MatchCast else None)
        if type(binding.value) is e.Function:
            infos += [param.struct_info for param in binding.value.params]
    return iter(dict.fromkeys(dim for info in infos if info is not None for dim in all_dims(info)))


def read_lengths(values: Mapping[str, int] | str, option: str, origin: str) -> dict[str, int]:
    """The values by name; a text has the form `n=4,m=8`. Raises Failure that names the option and the pass."""

    if isinstance(values, str):
        pairs = [part.partition("=") for part in values.split(",") if part.strip()]
        texts = {name.strip(): text.strip() for name, _, text in pairs if text.strip().isdecimal()}
        if len(texts) != len(pairs):
            raise bad_option(f"{option} is {values!r}", f'write {option}="n=4,m=8", each name once', origin)
        values = {name: int(text) if len(text) < 100 else p.INT64_MAX + 1 for name, text in texts.items()}
    for name, value in values.items():
        if type(value) is not int or not 0 <= value <= p.INT64_MAX:
            text = f"{option} gives {name!r} the value {value!r}"
            raise bad_option(text, "a length is a number from 0 on that fits int64", origin)
    return dict(values)
