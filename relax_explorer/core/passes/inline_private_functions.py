"""InlinePrivateFunctions: replace calls of private functions by their bodies."""

from __future__ import annotations

from collections.abc import Collection

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, mentioned
from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings, map_sequences, sequences, substitute_info
from relax_explorer.core.passes.contract import PassSite, infer_again, module_pass
from relax_explorer.core.passes.eliminate_dead_code import drop_unread
from relax_explorer.core.passes.private_functions import canonical
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule


@module_pass("InlinePrivateFunctions", requires=[NORMAL_FORM], establishes=[CANONICAL_BINDINGS])
def inline_private_functions(module: IRModule, at: PassSite) -> IRModule:
    """Replace calls of private functions by their bodies, and drop functions without remaining calls.

    Recursive functions stay. The bindings of a function join the dataflow block of its call. A function with control flow
    divides the block. An argument without a proven fit is cast first, because the call would check it. At the end, bindings are
    canonicalized and unread ones dropped, in every function. A module without a function to inline is returned as it is.
    """
    graph = call_graph(module)
    private: dict[str, e.Function] = {}
    for group in components(graph):
        for name in group:
            at.function = name
            old = module.functions[name]
            assert isinstance(old, e.Function)  # the graph has Relax functions only
            fn = _Inliner(private, at).function(old)
            at.editor.replace(name, fn)
            if fn.is_private and not is_recursive(group, graph):
                private[name] = fn
    return _cleaned(private, at) if private else module


def _cleaned(private: Collection[str], at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings, without unread ones, and without `private` functions that nothing mentions."""
    at = canonical(at)
    called = set[str]()
    for name, fn in at.module.relax_functions.items():
        live = drop_unread(fn, at, True)
        called.update(mentioned(live))
        at.editor.replace(name, live)
    for name in private:
        if name not in called:
            at.editor.remove(name)
    return infer_again(at.editor.done(), at)


class _Inliner:
    """Inlines `private` functions into one function. Later bindings read the renamed results."""

    def __init__(self, private: dict[str, e.Function], at: PassSite) -> None:
        self.private, self.at = private, at

    def function(self, fn: e.Function) -> e.Function:
        """The function with every call of a private function replaced. Without such calls, the same object."""
        if not any(name in self.private for name in mentioned(fn)):
            return fn
        fn = self._with_outputs(fn)
        build = BlockBuilder(self.at.editor, within=fn, record=self.at.record)
        return replace(fn, body=self.sequence(fn.body, build))

    def _with_outputs(self, fn: e.Function) -> e.Function:
        """The function where all variables of the blocks that will be divided are outputs. Those of one part are settled later."""
        blocks, divided = list(fn.body.blocks), set[e.Var]()
        while blocks:
            block = blocks.pop()
            blocks += [inner for b in block.bindings for seq in sequences(b.value) for inner in seq.blocks]
            if type(block) is e.DataflowBlock and any(map(self._divides, block.bindings)):
                divided |= {b.var for b in block.bindings if type(b.var) is e.DataflowVar}

        def rule(walk: Rewriter, binding: e.Binding) -> Answer:
            if binding.var not in divided or binding.var is None:
                return binding
            output = e.var_like(binding.var, binding.var.struct_info, e.Var)
            walk.rename(binding.var, output)
            return replace(binding, var=output)

        return rewrite(fn, self.at, rule) if divided else fn

    def sequence(self, seq: e.SeqExpr, build: BlockBuilder) -> e.SeqExpr:
        """A sequence, its branches included."""
        with build.apart():
            for block in seq.blocks:
                build.start_block(block)
                for binding in block.bindings:
                    callee = self._callee(binding)
                    if callee is None:
                        build.keep(self._nested(binding, build))
                    else:
                        self.at.is_open = True  # arguments may have more precise StructInfo than parameters
                        _inline(callee, binding, build)  # type: ignore[arg-type]  # `_callee` saw a VarBinding
            return replace(seq, blocks=tuple(build.blocks()))

    def _callee(self, binding: e.Binding) -> e.Function | None:
        value = binding.value
        if (
            type(binding) is not e.VarBinding
            or type(value) is not e.Call
            or type(value.op) is not e.GlobalVar
        ):
            return None
        return self.private.get(value.op.name)

    def _divides(self, binding: e.Binding) -> bool:
        callee = self._callee(binding)
        return callee is not None and not _is_graph(callee)

    def _nested(self, binding: e.Binding, build: BlockBuilder) -> e.Binding:
        return map_sequences(binding, lambda seq: self.sequence(seq, build))


def _is_graph(fn: e.Function) -> bool:
    info = fn.struct_info
    assert isinstance(info, s.FuncStructInfo)  # the module is normalized
    return info.pure and all(type(binding.value) not in (e.If, e.Function) for binding in bindings(fn))


class _Copy(Substitution):
    """Copies a body with new variables. In a dataflow block all of them are dataflow variables."""

    def __init__(self, dims: dict[p.PrimVar, p.PrimExpr], inside: bool) -> None:
        super().__init__({}, dims)
        self.inside = inside

    def _define(self, var: e.Var) -> e.Var:
        kind = e.DataflowVar if self.inside else type(var)
        self.variables[var] = new = e.var_like(var, self.info(var.struct_info), kind)
        return new


def _inline(fn: e.Function, binding: e.VarBinding, build: BlockBuilder) -> None:
    """Emit the casts of the arguments, the blocks of the body, and the binding of the result."""
    call = binding.value
    assert isinstance(call, e.Call)  # the caller checked this
    dims: dict[p.PrimVar, p.PrimExpr] = {}
    params = tuple([param.struct_info or s.OBJECT for param in fn.params])
    infos = tuple([arg.struct_info or s.OBJECT for arg in call.args])
    match_params(params, infos, dims)
    bound = {dim for b in bindings(fn) if type(b) is e.MatchCast for dim in defined_dims(b.struct_info)}
    unmatched = {dim for info in params for dim in defined_dims(info)} - dims.keys()
    dims.update({dim: p.PrimVar(dim.name, dim.dtype) for dim in (bound | unmatched) - dims.keys()})
    is_divided = build.is_dataflow and not _is_graph(fn)
    copy = _Copy(dims, build.is_dataflow and not is_divided)
    with build.inherit(binding):
        for param, info, arg, have in zip(fn.params, params, call.args, infos, strict=True):
            want = substitute_info(info, dims)
            if not always_fits(have, want):
                arg = build.emit_match_cast(arg, want, param.name)
            elif not isinstance(arg, (e.Var, e.GlobalVar, e.ExternFunc)):
                arg = build.emit(arg, param.name)
            copy.variables[param] = arg
        if is_divided:
            build.start_block(_PLAIN)
        for block in copy.sequence(fn.body).blocks:
            build.add_block(block)
        if is_divided:
            build.start_block(_GRAPH)
        build.keep(replace(binding, value=copy.expr(fn.body.body)))


_PLAIN, _GRAPH = e.BindingBlock(()), e.DataflowBlock(())
