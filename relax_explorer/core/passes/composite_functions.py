"""Functions with the attribute `Composite`: one pattern of a library each. Code generators take them wrapped in public functions."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.wildcards import simplified
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import all_dims
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.external_code import codegen_of
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


def wrap(at: PassSite) -> None:
    """Replace each composite function by a public function that contains it, with the attribute `Codegen`."""
    wrapped: dict[str, e.GlobalVar] = {}
    for name, fn in at.editor.done().relax_functions.items():
        if codegen_of(fn):
            wrapped[name] = at.editor.add(f"{name}_{codegen_of(fn)}", _wrapper(fn))
    _call_instead(at, wrapped)


def enclose(at: PassSite, composites: Mapping[str, e.Function]) -> None:
    """Replace each function with `Codegen` by a public one that contains the composite functions that it calls."""
    enclosing: dict[str, e.GlobalVar] = {}
    for name, fn in at.editor.done().relax_functions.items():
        if fn.attrs.get("Codegen") and fn.is_private:
            enclosing[name] = at.editor.add(f"{name}_{fn.attrs['Codegen']}", _enclosing(fn, composites))
    _call_instead(at, enclosing)
    called = {name for fn in at.editor.done().relax_functions.values() for name in mentioned(fn)}
    for name in composites.keys() - called:
        at.editor.remove(name)


def _call_instead(at: PassSite, replaced: Mapping[str, e.GlobalVar]) -> None:
    """Remove functions, and call others in their place."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        called = (
            replaced.get(value.op.name) if type(value) is e.Call and type(value.op) is e.GlobalVar else None
        )
        return binding if called is None else replace(binding, value=replace(value, op=called))

    for name in replaced:
        at.editor.remove(name)
    for name, fn in at.editor.done().relax_functions.items() if replaced else ():
        at.editor.replace(name, rewrite(fn, at, rule))


class _Copy(Substitution):
    """Copies a function with new variables."""

    def _define(self, var: e.Var) -> e.Var:
        self.variables[var] = new = e.var_like(var, self.info(var.struct_info))
        return new


def _copied(fn: e.Function) -> e.Function:
    """A copy with variables and shape variables of its own, as a function inside another."""
    infos = [
        info for info in (*[param.struct_info for param in fn.params], fn.ret_struct_info) if info is not None
    ]
    dims: dict[p.PrimVar, p.PrimExpr] = {
        dim: p.PrimVar(dim.name, dim.dtype) for info in infos for dim in all_dims(info)
    }
    copy = _Copy({}, dims).function(fn)
    return replace(copy, attrs=fn.attrs.without("Primitive", "global_symbol"))


def _enclosing(fn: e.Function, composites: Mapping[str, e.Function]) -> e.Function:
    """A public function with a local function for each composite function that `fn` calls."""
    (block,) = fn.body.blocks
    inner: dict[str, e.Var] = {}
    new: list[e.Binding] = []
    plain: dict[e.Var, e.Expr] = {
        b.var: e.var_like(b.var, b.var.struct_info, e.Var) for b in block.bindings if b.var
    }
    for binding in Substitution(plain).sequence(fn.body).blocks[0].bindings:
        value, var = binding.value, binding.var
        assert var is not None  # groups have variables only
        if type(value) is e.Call and type(value.op) is e.GlobalVar and value.op.name in composites:
            if value.op.name not in inner:
                local = _copied(composites[value.op.name])
                inner[value.op.name] = e.Var(var.name, local.struct_info)
                new.append(e.VarBinding(inner[value.op.name], local))
            value = replace(value, op=inner[value.op.name])
        new.append(replace(binding, var=plain.get(var, var), value=value))
    body = Substitution(plain).expr(fn.body.body)
    seq = replace(fn.body, blocks=(e.BindingBlock(tuple(new)),), body=body)
    return replace(fn, body=seq, attrs=fn.attrs.having(global_symbol=""))


def _wrapper(fn: e.Function) -> e.Function:
    """A public function that contains a composite function and calls it. Both have the same shape variables, as in TVM."""
    inner = replace(fn, attrs=fn.attrs.without("Primitive", "global_symbol"))
    params = tuple([e.var_like(param, param.struct_info) for param in fn.params])
    result = fn.ret_struct_info
    local, output = e.Var("local_func", fn.struct_info), e.Var("output", result)
    returned = simplified(result) if result is not None else None
    call = e.Call(local, params, struct_info=returned)
    last = e.VarBinding(output, call, None if returned is result else result)
    body = e.SeqExpr((e.BindingBlock((e.VarBinding(local, inner), last)),), output, result)
    attrs = Attrs({"Codegen": codegen_of(fn), "global_symbol": ""})
    return e.Function(params, body, result, None, attrs, fn.struct_info)
