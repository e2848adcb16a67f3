"""FuseTIR: make one PrimFunc of each function that FuseOps gathered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.eliminate_dead_code import drop_uncalled, eliminate_dead_code
from relax_explorer.core.passes.fused_kernel import FusedKernel, fused_kernel
from relax_explorer.core.passes.private_functions import calls, fits, following, used_as_values
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.passes.unused_signatures import expand_tuple_arguments, remove_unused_parameters
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    EXPLICIT_ALLOCATION,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule


@module_pass(
    "FuseTIR",
    reads=[PRIVATE],
    has_profiles=True,
    requires=[NORMAL_FORM],
    invalidates=[PATTERNS_ANNOTATED, EXPLICIT_ALLOCATION, SHAPES_LOWERED, SYMBOLS_ATTACHED],
)
def fuse_tir(module: IRModule, at: PassSite) -> IRModule:
    """Replace each private function with the attribute `Primitive` by one PrimFunc, and its calls by call_tir.

    The PrimFunc has the bodies of the called kernels in sequence; values between them become buffers of its root block. If a kernel
    overwrites a parameter that is a result, the calls become call_tir_inplace. Before, ExpandTupleArguments and
    RemoveUnusedParameters run, which change other private functions, too; at the end, dead code is removed. A function that can't be
    fused is kept with a warning.
    """
    ready = expand_tuple_arguments.run(module, at)
    site = following(at, ready)
    site = following(site, remove_unused_parameters.run(ready, site))
    kernels = dict(_kernels(site))
    if not kernels and site.module is module:  # dead code was looked for, and only functions may be dead
        return drop_uncalled(site)
    for name, kernel in kernels.items():
        site.editor.replace(name, kernel.prim_func)
    call = _Calls(kernels, site)  # only now references to them have their StructInfo
    for name, fn in site.module.relax_functions.items():
        if name not in kernels:
            site.editor.replace(name, rewrite(fn, site, call.rule))
    # A nested function may have read what only it reads until it was dropped itself.
    result: IRModule = eliminate_dead_code.run(site.editor.done(), following(site, site.editor.done()))
    return result


def _kernels(at: PassSite) -> Iterator[tuple[str, FusedKernel]]:
    """The names and kernels of the functions that can be fused. A warning tells why another one is kept."""
    functions = at.module.relax_functions
    primitive = {name: fn for name, fn in functions.items() if fn.attrs.get("Primitive") and fn.is_private}
    values = used_as_values(at.module) if primitive else set()
    unproved: set[str] | None = None  # found for the first kernel that overwrites an argument
    for name, fn in primitive.items():
        try:
            if name in values:
                raise NotLowered("it is used as a value")
            found = fused_kernel(fn, at.module.functions, not at.as_tvm)
            if found.in_place and unproved is None:
                called = [(callee, call) for callee, call in calls(at.module) if callee in primitive]
                unproved = {callee for callee, call in called if not fits(primitive[callee], call)}
            if found.in_place and unproved and name in unproved:
                raise NotLowered("it overwrites an argument whose shape is known to the run only")
        except NotLowered as reason:
            at.report.say(codes.NO_LEGALIZATION, f"{name} is kept: {reason}", fn)
        else:
            yield name, found


class _Calls:
    """The rule that makes calls of kernels of the calls of fused functions."""

    def __init__(self, kernels: Mapping[str, FusedKernel], at: PassSite) -> None:
        self.kernels = kernels
        self.references = {name: at.editor.reference(name) for name in kernels}

    def rule(self, walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or type(call.op) is not e.GlobalVar or call.op.name not in self.kernels:
            return binding
        return replace(binding, value=self._kernel_call(call, call.op.name))

    def _kernel_call(self, call: e.Call, name: str) -> e.Call:
        args: list[e.Expr] = []
        for arg in call.args:
            args += map(m.number, arg.values) if type(arg) is e.ShapeExpr else (arg,)
        out, in_place = call.struct_info or s.OBJECT, self.kernels[name].in_place
        op, attrs = (_INTO, Attrs({"inplace_indices": in_place})) if in_place else (_NEW, EMPTY)
        operands = (self.references[name], e.tuple_of(tuple(args)))
        return e.Call(op, operands, attrs, (out,), out, call.span)


_NEW, _INTO = e.op_ref("relax.call_tir"), e.op_ref("relax.call_tir_inplace")
