"""SpecializeShapes: copies of a function for given lengths, which calls with these lengths use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import defined_dims
from relax_explorer.core.passes.bind_symbolic_vars import check_values, read_lengths, shape_variables
from relax_explorer.core.passes.contract import PassSite, module_pass, relax_function
from relax_explorer.core.passes.properties import NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.program.module import IRModule


@dataclass(frozen=True)
class _Variant:
    """Lengths for shape variables of a function, the copy for them, and its name once a call or the outside needs it."""

    lengths: dict[p.PrimVar, p.PrimExpr]
    base: str
    fn: e.Function


@module_pass("SpecializeShapes", requires=[NORMAL_FORM], invalidates=[SHAPES_LOWERED])
def specialize_shapes(
    module: IRModule,
    at: PassSite,
    *,
    func_name: Annotated[str, "the function to specialize"] = "main",
    bindings: Annotated[tuple[str, ...], 'lengths for each variant, such as ["n=7", "n=7,m=8"]'] = (),
    public: Annotated[bool, "variants can be called from outside, and stay without a call"] = False,
) -> IRModule:
    """Copy a function for given lengths, and let the calls with these lengths use the copy. The function itself stays.

    With `bindings="n=7"` the copy of `f` is `f_n7`: the number replaces `n`, also in what is derived from it. A call uses the
    variant with the most lengths whose values are known there from the StructInfo of its arguments. Raises Failure for a name
    that is no shape variable of a parameter, and for lengths that contradict the function.
    """
    if not bindings:
        return module
    fn = relax_function(module, func_name)
    variants = [_variant(module, func_name, fn, text) for text in bindings]
    variants.sort(key=lambda one: -len(one.lengths))  # the most specific first; others keep their order
    calls = _Calls(func_name, fn, variants, at, public)
    for name, caller in module.relax_functions.items():
        at.function = name
        at.editor.replace(name, rewrite(caller, at, calls.rule))
    calls.finish()
    for one in variants:
        if one.base not in calls.names:
            text = (
                f"no call of {func_name!r} is known to have the lengths of {one.base!r}, so it was not added"
            )
            at.report.say(codes.NO_CALL, text, fn, help=codes.NO_CALL.fix)
    at.is_open = True
    return at.editor.done()


def _variant(module: IRModule, name: str, fn: e.Function, text: str) -> _Variant:
    """The copy of a function for the lengths of a text."""
    numbers = read_lengths(text, "bindings", "SpecializeShapes")
    known = {var.name: var for param in fn.params for var in defined_dims(param.struct_info or s.OBJECT)}
    unknown = [one for one in numbers if one not in known]
    if unknown or not numbers:
        what = (
            f"no parameter of {name!r} binds a shape variable {unknown[0]!r}"
            if unknown
            else "no length is given"
        )
        help = f"they bind {', '.join(known) or 'none'}"
        raise Failure(Diagnostic(codes.BAD_OPTION, what, help=help, origin="SpecializeShapes"))
    lengths: dict[p.PrimVar, p.PrimExpr] = {
        known[one]: p.IntImm(value, known[one].dtype) for one, value in numbers.items()
    }
    renamed: dict[p.PrimVar, p.PrimExpr] = {
        var: p.PrimVar(var.name, var.dtype) for var in shape_variables(fn) if var not in lengths
    }
    copy = _Copy({}, {**renamed, **lengths}).function(fn)
    copy = replace(copy, attrs=fn.attrs.without("global_symbol"))
    base = "_".join([name, *[f"{one}{value}" for one, value in numbers.items()]])
    check_values(module.having({**module.functions, f"<{base}>": copy}), module)
    return _Variant(lengths, base, copy)


class _Copy(Substitution):
    """Copies a function with new variables."""

    def _define(self, var: e.Var) -> e.Var:
        self.variables[var] = new = e.var_like(var, self.info(var.struct_info))
        return new


class _Calls:
    """Sends calls to variants. A variant is added when the first call needs it, and its own calls are looked at, too."""

    def __init__(
        self, name: str, fn: e.Function, variants: list[_Variant], at: PassSite, is_public: bool
    ) -> None:
        self.name, self.fn, self.variants, self.at, self.is_public = name, fn, variants, at, is_public
        self.names: dict[str, e.GlobalVar] = {}
        for one in variants if is_public else ():
            self._reference(one)

    def rule(self, walk: Rewriter, binding: e.Binding) -> Rewritten:
        """A call with known lengths calls a variant."""
        call = binding.value
        if type(call) is not e.Call or type(call.op) is not e.GlobalVar or call.op.name != self.name:
            return binding
        found: dict[p.PrimVar, p.PrimExpr] = {}
        wanted = tuple([param.struct_info or s.OBJECT for param in self.fn.params])
        match_params(wanted, tuple([arg.struct_info or s.OBJECT for arg in call.args]), found)
        for one in self.variants:
            if all(
                var in found and equal(found[var], length) is Answer.YES
                for var, length in one.lengths.items()
            ):
                new = replace(call, op=self._reference(one), struct_info=None)
                return replace(binding, value=new, annotation=None)
        return binding

    def _reference(self, one: _Variant) -> e.GlobalVar:
        found = self.names.get(one.base)
        if found is None:
            attrs = one.fn.attrs.having(global_symbol=one.base) if self.is_public else one.fn.attrs
            found = self.names[one.base] = self.at.editor.add(one.base, replace(one.fn, attrs=attrs))
            self.at.record_in_order(self.fn, one.fn)
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
