"""FuseTIR: make one PrimFunc of each function that FuseOps gathered."""

from __future__ import annotations

from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit.decl import NotLowered
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.eliminate_dead_code import eliminate_dead_code
from relax_explorer.core.passes.fused_kernel import fused_kernel
from relax_explorer.core.passes.properties import (
    EXPLICIT_ALLOCATION,
    NORMAL_FORM,
    PATTERNS_ANNOTATED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule


@module_pass(
    "FuseTIR",
    has_profiles=True,
    requires=[NORMAL_FORM],
    invalidates=[PATTERNS_ANNOTATED, EXPLICIT_ALLOCATION, SHAPES_LOWERED, SYMBOLS_ATTACHED],
)
def fuse_tir(module: IRModule, at: PassSite) -> IRModule:
    """Replace each private function with the attribute `Primitive` by one PrimFunc, and its calls by call_tir.

    The PrimFunc has the bodies of the called kernels in sequence; values between them become buffers of its root block. Before,
    the bindings are canonicalized; at the end, dead code is removed. A function that can't be fused is kept with a warning.
    """
    fused: set[str] = set()
    for name, fn in module.relax_functions.items():
        at.function = name
        new = canonicalize(fn, at)
        at.editor.replace(name, new)
        if fn.attrs.get("Primitive") and fn.is_private:
            try:
                at.editor.replace(name, fused_kernel(new, module.functions))
                fused.add(name)
            except NotLowered as reason:
                text = f"{name} is kept: {reason}"
                at.report.say(codes.NO_LEGALIZATION, text, fn)
    if fused:
        for name in module.relax_functions.keys() - fused:
            at.editor.replace(name, _calling(at.editor[name], fused, at))
    result: IRModule = eliminate_dead_code.run(at.editor.done(), at)
    return result


def _calling(fn: object, fused: set[str], at: PassSite) -> e.Function:
    """The function with calls of kernels where it called fused functions."""
    assert isinstance(fn, e.Function)  # the caller chose Relax functions

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or type(call.op) is not e.GlobalVar or call.op.name not in fused:
            return binding
        return replace(binding, value=_kernel_call(call, at))

    return rewrite(fn, at, rule)


def _kernel_call(call: e.Call, at: PassSite) -> e.Call:
    args: list[e.Expr] = []
    for arg in call.args:
        args += map(m.number, arg.values) if type(arg) is e.ShapeExpr else (arg,)
    assert isinstance(call.op, e.GlobalVar)  # the caller saw one
    out = call.struct_info or s.OBJECT
    operands = (at.editor.reference(call.op.name), e.tuple_of(tuple(args)))
    new = m.operation("relax.call_tir", operands, out, call)
    return replace(new, sinfo_args=(out,))
