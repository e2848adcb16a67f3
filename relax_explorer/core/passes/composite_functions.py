"""Functions with the attribute `Composite`: one pattern of a library each. Code generators take them wrapped in public functions."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


def codegen_of(fn: object) -> str:
    """The code generator of a composite function: the part of its name in front of the first point. Empty for other functions."""
    composite = fn.attrs.get("Composite") if type(fn) is e.Function else None
    return composite.partition(".")[0] if isinstance(composite, str) else ""


def wrap(at: PassSite) -> None:
    """Replace each composite function by a public function that contains it, with the attribute `Codegen`."""
    module = at.editor.done()
    wrapped: dict[str, e.GlobalVar] = {}
    for name, fn in module.relax_functions.items():
        if codegen_of(fn):
            wrapped[name] = at.editor.add(f"{name}_{codegen_of(fn)}", _wrapper(fn))
            at.editor.remove(name)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        called = (
            wrapped.get(value.op.name) if type(value) is e.Call and type(value.op) is e.GlobalVar else None
        )
        return binding if called is None else replace(binding, value=replace(value, op=called))

    for name, fn in module.relax_functions.items() if wrapped else ():
        if name not in wrapped:
            at.editor.replace(name, rewrite(fn, at, rule))


def _wrapper(fn: e.Function) -> e.Function:
    """A public function that contains a composite function and calls it. Both have the same shape variables, as in TVM."""
    inner = replace(fn, attrs=fn.attrs.without("Primitive", "global_symbol"))
    params = tuple([e.var_like(param, param.struct_info) for param in fn.params])
    result = fn.ret_struct_info
    local, output = e.Var("local_func", fn.struct_info), e.Var("output", result)
    call = e.Call(local, params, struct_info=result)
    body = e.SeqExpr(
        (e.BindingBlock((e.VarBinding(local, inner), e.VarBinding(output, call))),), output, result
    )
    attrs = Attrs({"Codegen": codegen_of(fn), "global_symbol": ""})
    return e.Function(params, body, result, None, attrs, fn.struct_info)
