"""Values that are known before the run: of parameters (BindParams), of lengths (BindSymbolicVars), and of lengths in copies (SpecializeShapes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import partial
from typing import Annotated, Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import summed
from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.check.call_graph import mentioned_anywhere
from relax_explorer.core.check.compatible import always_fits, match_dims
from relax_explorer.core.check.matching import call_dims
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.fold import FormedDims, WrittenDims, substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Copy, Substitution, fresh_dims
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    called,
    defined_dims,
    functions_in,
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
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.phases.module_check import lenient
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    NO_HIGH_LEVEL_OPS,
    NORMAL_FORM,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.length_names import LengthNames, Unknown, scopes


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
    return set().union(*map(bound_dims, functions_in(fn)))


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


# -- specialize shapes -----------------------------------------------------------------------------------------------
# SpecializeShapes: copies of a function for given lengths, which calls with these lengths use.


@dataclass(frozen=True)
class _Variant:
    """Lengths for shape variables of a function, the copy for them, and its name once a call or the outside needs it."""

    of: str  # the name of the function
    source: e.Function
    lengths: dict[p.PrimVar, p.PrimExpr]
    base: str
    fn: e.Function


@module_pass(
    "SpecializeShapes",
    requires=[NORMAL_FORM],
    invalidates=[NO_HIGH_LEVEL_OPS, BUILTINS_LOWERED, SHAPES_LOWERED, SYMBOLS_ATTACHED],
)
def specialize_shapes(
    module: IRModule,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function whose lengths have bare names"] = "main",
    bindings: Annotated[
        tuple[str, ...], 'lengths for each variant, such as ["n=7", "n=7,m=8", "layer.n=7"]'
    ] = (),
    public: Annotated[bool, "variants can be called from outside, and stay without a call"] = False,
    dispatch: Annotated[
        bool, "the function chooses a variant in the run, by the lengths of its arguments"
    ] = False,
) -> IRModule:
    """Copy a function for given lengths, and let the calls with these lengths use the copy. The function itself stays.

    With `bindings="n=7"` the copy of `f` is `f_n7`: the number replaces `n`, also in what is derived from it. A call uses the
    variant with the most lengths whose values are known there from the StructInfo of its arguments. `layer.n=7` makes a variant of
    `layer`, whatever `func_name` is. Two variables of one name in a function are `n` and `n_1`, as they are printed.

    Raises Failure for a name that is no shape variable of a parameter, for lengths of several functions in one variant, and
    for lengths that contradict the function.

    With `dispatch`, the function compares its lengths with those of each variant, the most specific first, and calls the first
    one that fits; `f_generic` is the function as it was. So calls from outside and with lengths of the run use variants, too.
    """
    if not bindings:
        return module
    relax_function(module, func_name)
    names = LengthNames(module, func_name)
    variants = [_variant(names, text) for text in bindings]
    variants.sort(key=lambda one: -len(one.lengths))  # the most specific first; others keep their order
    calls = _Calls(variants, at, public, dispatch)
    for name, caller in module.relax_functions.items():
        at.function = name
        at.editor.replace(name, rewrite(caller, at, calls.rule))
    calls.finish()
    for name in calls.variants if dispatch else ():
        at.function = name
        at.editor.replace(name, _dispatcher(name, relax_function(at.editor.done(), name), calls))
    for one in variants:
        if one.base not in calls.names:
            text = f"no call of {one.of!r} is known to have the lengths of {one.base!r}, so it was not added"
            at.report.say(codes.NO_CALL, text, one.source, help=codes.NO_CALL.fix)
    return at.editor.done()


def _variant(names: LengthNames, text: str) -> _Variant:
    """The copy of a function for the lengths of a text."""
    numbers = read_lengths(text, "bindings", "SpecializeShapes")
    if not numbers:
        fn = names.module.relax_functions[names.chosen]
        raise _bad_variant(
            "no length is given", f"they bind {', '.join(_lengths(names.chosen, fn)) or 'none'}"
        )
    found = {written: _variable(names, written) for written in numbers}
    (name, *others) = dict.fromkeys(place for place, _ in found.values())
    if others:
        help = "give each function a variant of its own"
        raise _bad_variant(f"bindings has lengths of {name!r} and {others[0]!r} in {text!r}", help)
    fn = names.module.relax_functions[name]
    if len({var for _, var in found.values()}) < len(found):
        raise _bad_variant(f"bindings is {text!r}", "name each length once")
    lengths: dict[p.PrimVar, p.PrimExpr] = {
        var: p.IntImm(numbers[written], var.dtype) for written, (_, var) in found.items()
    }
    copy = Copy({}, {**fresh_dims(shape_variables(fn)), **lengths}).function(fn)
    copy = replace(copy, attrs=fn.attrs.without("global_symbol"))
    base = "_".join([name, *[f"{one.rpartition('.')[2]}{value}" for one, value in numbers.items()]])
    with_copy = names.module.having({**names.module.functions, f"<{base}>": copy})
    check_values(with_copy, names.module, numbers)
    return _Variant(name, fn, lengths, base, copy)


def _variable(names: LengthNames, written: str) -> tuple[str, p.PrimVar]:
    """The function and the shape variable that `n` or `layer.n` names. It is one of a parameter: a call tells its length."""
    *place, last = written.split(".")
    name = ".".join(place) or names.chosen
    fn = names.module.relax_functions.get(name)
    if fn is None:
        nested = names.find(written.split("."))
        if not isinstance(nested, Unknown):
            help = "LambdaLift makes a function of the module of it, which can be copied"
            raise _bad_variant(f"{name!r} is no function of the module, but stands in another one", help)
        help = f"the functions are {', '.join(names.module.relax_functions)}"
        raise _bad_variant(f"the module has no Relax function {name!r}", help)
    known = _lengths(name, fn)
    if last not in known:
        help = f"they bind {', '.join(known) or 'none'}"
        if not place:
            others = [
                f"{one}.{last}"
                for one, other in names.module.relax_functions.items()
                if last in _lengths(one, other)
            ]
            help += f"; {others[0]} is a length, too" if others else ""
        raise _bad_variant(f"no parameter of {name!r} binds a shape variable {last!r}", help)
    return name, known[last]


def _lengths(name: str, fn: e.Function) -> dict[str, p.PrimVar]:
    """The shape variables that the parameters of a function bind, by name."""
    bound = {var for param in fn.params for var in defined_dims(param.struct_info or s.OBJECT)}
    return {text: var for text, var in scopes(name, fn)[name,].items() if var in bound}


_bad_variant = partial(bad_option, origin="SpecializeShapes")


class _Calls:
    """Sends calls to variants. A variant is added when the first call needs it, and its own calls are looked at, too."""

    def __init__(self, variants: list[_Variant], at: PassSite, is_public: bool, dispatches: bool) -> None:
        self.at, self.is_public, self.dispatches = at, is_public, dispatches
        self.variants: dict[str, list[_Variant]] = {}  # by the function that they are copies of
        for one in variants:
            self.variants.setdefault(one.of, []).append(one)
        self.names: dict[str, e.GlobalVar] = {}
        for one in variants if is_public or dispatches else ():
            self.reference(one)

    def rule(self, walk: Rewriter, binding: e.Binding) -> Rewritten:
        """A call with known lengths calls a variant, unless the dispatcher may choose one with more of them."""
        call = binding.value
        variants = self.variants.get(called(call))
        if variants is None or type(call) is not e.Call:
            return binding
        found = call_dims(variants[0].source.params, call.args)
        for one in variants:
            answers = {
                equal(found[var], length) if var in found else Answer.UNKNOWN
                for var, length in one.lengths.items()
            }
            if answers == {Answer.YES}:
                new = replace(call, op=self.reference(one), struct_info=None)
                return replace(binding, value=new, annotation=None)
            if self.dispatches and Answer.NO not in answers:
                return binding  # this more specific variant may fit in the run
        return binding

    def reference(self, one: _Variant) -> e.GlobalVar:
        """The copy for a variant, which is added to the module when it is needed first."""
        found = self.names.get(one.base)
        if found is None:
            attrs = one.fn.attrs.having(global_symbol=one.base) if self.is_public else one.fn.attrs
            found = self.names[one.base] = self.at.editor.add(one.base, replace(one.fn, attrs=attrs))
            self.at.record_in_order(one.source, one.fn)
        return found

    def finish(self) -> None:
        """Look at the calls in the variants, which may need further ones."""
        done: set[str] = set()
        while True:
            waiting = [ref.name for ref in self.names.values() if ref.name not in done]
            if not waiting:
                return
            for name in waiting:
                done.add(name)
                fn = self.at.editor[name]
                if isinstance(fn, e.Function):
                    self.at.editor.replace(name, rewrite(fn, self.at, self.rule))


def _dispatcher(name: str, fn: e.Function, calls: _Calls) -> e.Function:
    """A function that compares its lengths with those of the variants, and calls the first one that fits."""
    editor = calls.at.editor
    generic = editor.add(f"{name}_generic", replace(fn, attrs=fn.attrs.without("global_symbol")))
    own = fresh_dims(shape_variables(fn))
    copy = Copy({}, dict(own)).function(fn)
    result = _called(generic, copy, None)
    for one in reversed(calls.variants[name]):
        lengths = {
            own[var]: number.value for var, number in one.lengths.items() if isinstance(number, p.IntImm)
        }
        *tests, fits = _comparison(lengths)
        changes = not set(all_dims(fn.ret_struct_info or s.OBJECT)).isdisjoint(one.lengths)
        known = copy.ret_struct_info if changes else None
        choice = e.If(fits.var, _called(calls.reference(one), copy, known), result)
        result = _ending(*tests, fits, e.VarBinding(e.Var("result"), choice))
    return replace(copy, body=result)


def _comparison(lengths: dict[p.PrimExpr, int]) -> list[e.VarBinding]:
    """Bindings of which the last one tells whether variables have these lengths: a tensor, as the condition of an If is one."""
    numbers = np.array(list(lengths.values()), "int64")
    wanted = e.Constant(numbers, s.constant_info(numbers))
    steps = (
        ("lengths", "shape_to_tensor", (e.ShapeExpr(tuple(lengths)),), EMPTY),
        ("same", "equal", (wanted,), EMPTY),
        ("numbers", "astype", (), Attrs({"dtype": dtype("int8")})),
        ("smallest", "min", (), Attrs({"axis": None, "keepdims": False})),
        ("fits", "astype", (), Attrs({"dtype": dtype("bool")})),
    )
    found: list[e.VarBinding] = []
    for name, op, args, attrs in steps:
        before = (found[-1].var,) if found else ()
        call = e.Call(e.op_ref(f"relax.{op}"), (*before, *args), attrs)
        found.append(e.VarBinding(e.Var(name), call))
    return found


def _called(callee: e.GlobalVar, fn: e.Function, known: s.StructInfo | None) -> e.SeqExpr:
    """A call with all parameters of a function, and its result with the lengths of that function."""
    call = e.VarBinding(e.Var("result"), e.Call(callee, fn.params))
    return _ending(call) if known is None else _ending(call, e.MatchCast(e.Var("result"), call.var, known))


def _ending(*bindings: e.Binding) -> e.SeqExpr:
    last = bindings[-1].var
    assert last is not None  # both callers bind one
    return e.SeqExpr((e.BindingBlock(bindings),), last)
