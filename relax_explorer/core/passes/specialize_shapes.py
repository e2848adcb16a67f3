"""SpecializeShapes: copies of a function for given lengths, which calls with these lengths use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.check.matching import call_dims
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Copy, fresh_dims
from relax_explorer.core.ir.walk import all_dims, called, defined_dims
from relax_explorer.core.passes.bind_values import check_values, read_lengths, shape_variables
from relax_explorer.core.passes.contract import PassSite, bad_option, module_pass, relax_function
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    NO_HIGH_LEVEL_OPS,
    NORMAL_FORM,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.given import LengthNames, Unknown, scopes


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
        raise _bad("no length is given", f"they bind {', '.join(_lengths(names.chosen, fn)) or 'none'}")
    found = {written: _variable(names, written) for written in numbers}
    (name, *others) = dict.fromkeys(place for place, _ in found.values())
    if others:
        help = "give each function a variant of its own"
        raise _bad(f"bindings has lengths of {name!r} and {others[0]!r} in {text!r}", help)
    fn = names.module.relax_functions[name]
    if len({var for _, var in found.values()}) < len(found):
        raise _bad(f"bindings is {text!r}", "name each length once")
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
            raise _bad(f"{name!r} is no function of the module, but stands in another one", help)
        help = f"the functions are {', '.join(names.module.relax_functions)}"
        raise _bad(f"the module has no Relax function {name!r}", help)
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
        raise _bad(f"no parameter of {name!r} binds a shape variable {last!r}", help)
    return name, known[last]


def _lengths(name: str, fn: e.Function) -> dict[str, p.PrimVar]:
    """The shape variables that the parameters of a function bind, by name."""
    bound = {var for param in fn.params for var in defined_dims(param.struct_info or s.OBJECT)}
    return {text: var for text, var in scopes(name, fn)[name,].items() if var in bound}


_bad = partial(bad_option, origin="SpecializeShapes")


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
