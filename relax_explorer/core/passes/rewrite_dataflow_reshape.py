"""RewriteDataflowReshape: call `reshape` in place of kernels that only copy a tensor into another shape."""

from __future__ import annotations

from relax_explorer.core.check.aliases import aliases
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes import machine_calls as m
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.properties import (
    BUILTINS_LOWERED,
    NORMAL_FORM,
    SHAPES_LOWERED,
)
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.tir.reshaping import is_reshape
from relax_explorer.core.tir.stmt import PrimFunc


@function_pass(
    "RewriteDataflowReshape",
    requires=[NORMAL_FORM],
    invalidates=[BUILTINS_LOWERED, SHAPES_LOWERED],
)
def rewrite_dataflow_reshape(fn: e.Function, at: PassSite) -> e.Function:
    """In dataflow blocks, replace the call of a kernel that copies its operand in row-major order by `reshape`.

    The virtual machine then gives the same memory another shape, and nothing is copied. Outputs of the block stay copies, and so
    does what shares memory that may be overwritten.
    """
    memory = aliases(at.module, at.function, fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(binding.var) is not e.DataflowVar or type(call) is not e.Call:
            return binding
        out = call.sinfo_args[0] if call.op is e.op_ref("relax.call_tir") else None
        if not isinstance(out, s.TensorStructInfo) or out.dims is None or len(call.args) != 2:
            return binding
        operand = _operand(call)
        if operand is None or not _copies(call.args[0], at):
            return binding
        if memory.written(operand) or memory.written(binding.var):
            return binding
        value = m.operation("relax.reshape", (operand, m.shape(out.dims)), call.struct_info or out, call)
        return replace(binding, value=value)

    return rewrite(fn, at, rule)


def _operand(call: e.Call) -> e.Expr | None:
    inputs = call.args[1].fields if isinstance(call.args[1], e.Tuple) else ()
    return inputs[0] if len(inputs) == 1 else None


def _copies(callee: e.Expr, at: PassSite) -> bool:
    kernel = at.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
    if not isinstance(kernel, PrimFunc):
        return False
    key = "is a reshape", kernel
    if key not in at.shared:
        at.shared[key] = is_reshape(kernel)
    return bool(at.shared[key])
