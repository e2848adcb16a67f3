"""RemoveUnusedParameters: drop the parameters of private functions that their bodies do not read."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    defined_dims,
    exprs,
    substitute_info,
)
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.private_functions import calls, changeable, drop_unread_bindings
from relax_explorer.core.passes.properties import NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule


@module_pass(
    "RemoveUnusedParameters",
    reads=[PRIVATE],
    has_profiles=True,
    requires=[NORMAL_FORM],
    invalidates=[SHAPES_LOWERED],
)
def remove_unused_parameters(module: IRModule, at: PassSite) -> IRModule:
    """Drop the parameters of private functions that their bodies do not read, and the arguments of their calls.

    A length that only such parameters tell becomes a parameter of its own: `f(x, y)` becomes `f(x, R.shape([n]))`. A parameter
    stays if a call may have to check its argument, and if the function is used as a value. If anything changes, unread bindings are
    dropped, too. In the profile `tvm` no parameter stays, and a length that a scalar tells becomes a parameter, too.
    """
    found = changeable(module, at, lambda fn: bool(_unread(fn)))
    changes = {name: _Change(fn, _unread(fn), at.as_tvm) for name, fn in found.items()}
    for name, call in calls(module) if changes and not at.as_tvm else ():
        if name in changes and not changes[name].suits(call):
            del changes[name]
    if not changes:
        return module
    for name, fn in module.relax_functions.items():
        new = changes[name].function() if name in changes else fn
        at.editor.replace(name, _calling(new, changes, at))
    return drop_unread_bindings(at)


def _unread(fn: e.Function) -> frozenset[int]:
    """The numbers of the parameters that nothing in the function reads."""
    derived = facts(fn)
    unread = [n for n, var in enumerate(fn.params) if not derived.users(var)]
    scalars = [n for n in unread if type(fn.params[n].struct_info) is s.PrimStructInfo]
    if not scalars:  # most often
        return frozenset(unread)
    read = _dims_of(fn, [n for n in range(len(fn.params)) if n not in scalars])
    told = {n for n in scalars if not read.isdisjoint(defined_dims(fn.params[n].struct_info or s.OBJECT))}
    return frozenset(unread) - told


class _Change:
    """The new parameters of a function, and what its calls pass for them."""

    def __init__(self, fn: e.Function, unread: frozenset[int], as_tvm: bool) -> None:
        self.fn = fn
        self.infos = tuple([param.struct_info or s.OBJECT for param in fn.params])
        self.kept = [n for n in range(len(fn.params)) if n not in unread]
        self.dropped = sorted(unread)
        scalars = [n for n in self.kept if type(self.infos[n]) is s.PrimStructInfo] if as_tvm else []
        others = [n for n in self.kept if n not in scalars]
        told = {dim for n in others for dim in defined_dims(self.infos[n])}
        needed = _dims_of(fn, others) - told
        dims = [
            dim for n in (*self.dropped, *scalars) for dim in defined_dims(self.infos[n]) if dim in needed
        ]
        self.lengths: tuple[p.PrimVar, ...] = tuple(dict.fromkeys(dims))

    def function(self) -> e.Function:
        """The function with its new parameters."""
        names = FreshNames.of(self.fn)
        shapes = [e.Var(names(f"param_{dim.name}"), s.ShapeStructInfo((dim,))) for dim in self.lengths]
        params = (*[self.fn.params[n] for n in self.kept], *shapes)
        return replace(self.fn, params=params, struct_info=None)

    def suits(self, call: e.Call) -> bool:
        """True if a call need not check the arguments that it drops. Then it also knows their lengths."""
        dims = self._dims(call)
        infos = [(call.args[n].struct_info or s.OBJECT, self.infos[n]) for n in self.dropped]
        return all(always_fits(have, substitute_info(want, dims)) for have, want in infos)

    def args(self, call: e.Call) -> tuple[e.Expr, ...]:
        """The new arguments of a call."""
        dims = self._dims(call)
        return (*[call.args[n] for n in self.kept], *[m.shape((dims.get(dim, dim),)) for dim in self.lengths])

    def _dims(self, call: e.Call) -> dict[p.PrimVar, p.PrimExpr]:
        """The lengths that a call gives to shape variables, those of kept parameters first."""
        dims: dict[p.PrimVar, p.PrimExpr] = {}
        infos = tuple([arg.struct_info or s.OBJECT for arg in call.args])
        for numbers in (self.kept, self.dropped):
            match_params(tuple([self.infos[n] for n in numbers]), tuple([infos[n] for n in numbers]), dims)
        return dims


def _dims_of(fn: e.Function, kept: list[int]) -> set[p.PrimVar]:
    """The shape variables in the kept parameters, the body and the return annotation of a function."""
    infos = [fn.params[n].struct_info for n in kept] + [fn.ret_struct_info]
    for binding in bindings(fn):
        infos.append(binding.var.struct_info if binding.var is not None else None)
        if type(binding) is e.MatchCast:
            infos.append(binding.struct_info)
    for expr in exprs(fn):  # a nested function tells the lengths of its parameters
        infos.append(expr.struct_info)
        if type(expr) is e.Call:
            infos.extend(expr.sinfo_args)
    return {dim for info in dict.fromkeys(infos) if info is not None for dim in all_dims(info)}


def _calling(fn: e.Function, changes: Mapping[str, _Change], at: PassSite) -> e.Function:
    """The function with new arguments for the functions that lost parameters."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or type(call.op) is not e.GlobalVar or call.op.name not in changes:
            return binding
        return replace(binding, value=replace(call, args=changes[call.op.name].args(call)))

    return rewrite(fn, at, rule)
