"""InlinePrivateFunctions: replace calls of private functions by their bodies."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, mentioned
from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings, map_sequences, merged_blocks, sequences, substitute_info
from relax_explorer.core.passes.contract import PassSite, infer_again, module_pass
from relax_explorer.core.passes.eliminate_dead_code import drop_unread, reached
from relax_explorer.core.passes.liveness import killed
from relax_explorer.core.passes.private_functions import canonical
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule


@module_pass(
    "InlinePrivateFunctions", has_profiles=True, requires=[NORMAL_FORM], establishes=[CANONICAL_BINDINGS]
)
def inline_private_functions(module: IRModule, at: PassSite) -> IRModule:
    """Replace calls of private functions by their bodies, and drop functions without remaining calls.

    Recursive functions stay. The blocks of a function stay what they are, so that ordinary ones divide the dataflow block of its call.
    An argument without a proven fit is cast first, because the call would check it. At the end, bindings are canonicalized and
    unread ones dropped, in every function. A module without a function to inline is returned as it is. In the profile `tvm`, no
    argument is checked, the lengths of the function lose their definition, and a function goes even if it is a value.
    """
    graph = call_graph(module)
    private: dict[str, _Callee] = {}
    for group in components(graph):
        for name in group:
            at.function = name
            old = module.functions[name]
            assert isinstance(old, e.Function)  # the graph has Relax functions only
            fn = _Inliner(private, at).function(old)
            at.editor.replace(name, fn)
            if fn.is_private and not is_recursive(group, graph):
                private[name] = _Callee.of(fn)
    return _cleaned(private.keys(), at) if private else module


def _cleaned(private: Set[str], at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings, without unread ones, and without `private` functions that nothing mentions.

    Most of these functions go first, so that nobody cleans their bindings.
    """
    functions = at.editor.done().functions
    for name in set(private) - reached(functions, functions.keys() - private):
        at.editor.remove(name)
    at = canonical(at)
    called = set[str]()
    for name, fn in at.module.relax_functions.items():
        live = drop_unread(fn, at)
        called.update(mentioned(live))
        at.editor.replace(name, live)
    for name in at.module.functions.keys() & private:
        if at.as_tvm or name not in called:
            at.editor.remove(name)
    return infer_again(at.editor.done(), at)


@dataclass(frozen=True, slots=True)
class _Callee:
    """A function to inline, and what each of its calls asks about it."""

    fn: e.Function
    params: tuple[s.StructInfo, ...]
    dims: frozenset[p.PrimVar]  # the shape variables that its parameters and its match_casts bind
    is_graph: bool  # True if all its bindings stand in dataflow blocks, and none is a function

    @classmethod
    def of(cls, fn: e.Function) -> _Callee:
        """The callee for a function."""
        params = tuple([param.struct_info or s.OBJECT for param in fn.params])
        inside = list(bindings(fn))
        casts = [b.struct_info for b in inside if type(b) is e.MatchCast]
        dims = frozenset([dim for info in (*params, *casts) for dim in defined_dims(info)])
        is_graph = all(type(block) is e.DataflowBlock for block in fn.body.blocks)
        has_functions = any(type(b.value) is e.Function for b in inside)
        return cls(fn, params, dims, is_graph and not has_functions)

    def may_read(self, arg: e.Expr) -> bool:
        """True if its body may read an argument itself: a variable that is visible wherever the body stands."""
        return type(arg) is e.Var or (type(arg) is e.DataflowVar and self.is_graph)


class _Inliner:
    """Inlines `private` functions into one function. Later bindings read the renamed results."""

    def __init__(self, private: dict[str, _Callee], at: PassSite) -> None:
        self.private, self.at = private, at
        self.killed: frozenset[e.Expr] = frozenset()  # the variables of the function around that end early
        self.divides = False  # True if an inlined function divided the dataflow block of its call

    def function(self, fn: e.Function) -> e.Function:
        """The function with every call of a private function replaced. Without such calls, the same object."""
        if not any(name in self.private for name in mentioned(fn)):
            return fn
        self.killed = killed(fn)
        build = BlockBuilder(self.at.editor, within=fn, record=self.at.record)
        new = replace(fn, body=self.sequence(fn.body, build))
        return _with_outputs(new, self.at) if self.divides and not self.at.as_tvm else new

    def sequence(self, seq: e.SeqExpr, build: BlockBuilder) -> e.SeqExpr:
        """A sequence, its branches included."""
        with build.apart():
            for block in seq.blocks:
                build.start_block(block)
                for binding in block.bindings:
                    callee = self._callee(binding)
                    if callee is None:
                        build.keep(map_sequences(binding, lambda inner: self.sequence(inner, build)))
                    else:
                        self._inline(callee, binding, build)  # type: ignore[arg-type]  # `_callee` saw a VarBinding
            return replace(seq, blocks=tuple(merged_blocks(build.blocks())))

    def _callee(self, binding: e.Binding) -> _Callee | None:
        value = binding.value
        if (
            type(binding) is not e.VarBinding
            or type(value) is not e.Call
            or type(value.op) is not e.GlobalVar
        ):
            return None
        return self.private.get(value.op.name)

    def _inline(self, callee: _Callee, binding: e.VarBinding, build: BlockBuilder) -> None:
        """Emit the arguments, the blocks of the body, and the binding of the result."""
        call = binding.value
        assert isinstance(call, e.Call)  # the caller checked this
        self.at.is_open = True  # arguments may have more precise StructInfo than parameters
        self.divides |= build.is_dataflow and not callee.is_graph
        infos = tuple([arg.struct_info or s.OBJECT for arg in call.args])
        copy = _Copy({}, self._dims(callee, infos) if callee.dims else {})
        around, as_tvm = _GRAPH if build.is_dataflow else _PLAIN, self.at.as_tvm
        ended = killed(callee.fn)
        with build.inherit(binding):
            for param, info, arg, have in zip(callee.fn.params, callee.params, call.args, infos, strict=True):
                want = substitute_info(info, copy.dims) if copy.dims else info
                if not (as_tvm or always_fits(have, want)):
                    _continue(build, around)  # a block may lose checks
                    copy.variables[param] = build.emit_match_cast(arg, want, param.name)
                elif callee.may_read(arg) and param not in ended and arg not in self.killed:
                    copy.variables[param] = arg
                else:
                    _continue(build, _GRAPH)
                    copy.variables[param] = var = e.Var(build.names(param.name, "_"), have, arg.span)
                    build.keep(e.VarBinding(var, arg, None, binding.span))
            copy.keep_notes()
            for block in copy.sequence(callee.fn.body).blocks:
                _continue(build, block)
                for inner in block.bindings:
                    build.keep(inner)
            _continue(build, around)
            annotation = None if as_tvm else binding.annotation
            result = copy.expr(callee.fn.body.body)
            build.keep(replace(binding, value=result, annotation=annotation))

    def _dims(self, callee: _Callee, infos: tuple[s.StructInfo, ...]) -> dict[p.PrimVar, p.PrimExpr]:
        """What the shape variables of a function become at a call: the lengths of its arguments, or others of their own."""
        dims: dict[p.PrimVar, p.PrimExpr] = {}
        if not self.at.as_tvm:
            match_params(callee.params, infos, dims)
        others = callee.dims - dims.keys()
        return dims | {dim: p.PrimVar(dim.name, dim.dtype) for dim in others}


def _with_outputs(fn: e.Function, at: PassSite) -> e.Function:
    """The function where dataflow variables that something behind their block reads are outputs: a call may have divided it."""
    homes, derived = dict[e.Binding, e.BindingBlock](), facts(fn)
    _place(fn.body, None, homes)

    def is_read_outside(var: e.Var, home: e.BindingBlock) -> bool:
        users = derived.users(var)
        return any(n == len(derived.bindings) or homes.get(derived.bindings[n]) is not home for n in users)

    defined = [(b.var, home) for b, home in homes.items() if type(b.var) is e.DataflowVar]
    leaving = {var for var, home in defined if is_read_outside(var, home)}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if binding.var not in leaving or binding.var is None:
            return binding
        output = e.var_like(binding.var, binding.var.struct_info, e.Var)
        walk.rename(binding.var, output)
        return replace(binding, var=output)

    return rewrite(fn, at, rule) if leaving else fn


def _place(seq: e.SeqExpr, around: e.BindingBlock | None, homes: dict[e.Binding, e.BindingBlock]) -> None:
    """Note the dataflow block around each binding of a sequence, those of branches and nested functions included."""
    for block in seq.blocks:
        home = around or (block if type(block) is e.DataflowBlock else None)
        for binding in block.bindings:
            if home is not None:
                homes[binding] = home
            for inner in sequences(binding.value):
                _place(inner, home, homes)


class _Copy(Substitution):
    """Copies a body with new variables, and with constants of its own: one constant in two bindings would mean that one copies the other."""

    def expr(self, expr: e.Expr) -> e.Expr:
        """An operand or the value of a binding."""
        if type(expr) is not e.Constant:
            return super().expr(expr)
        new = self.constants.get(expr)
        if new is None:
            new = self.constants[expr] = e.Constant(expr.data, expr.struct_info, expr.key, expr.span)
        return new

    def keep_notes(self) -> None:
        """Let calls keep what follows from StructInfo, if the arguments have that of the parameters."""
        self.keeps_infos = all(new.struct_info is old.struct_info for old, new in self.variables.items())

    @cached_property
    def constants(self) -> dict[e.Expr, e.Constant]:
        """The new constants by the old ones."""
        return {}

    def _define(self, var: e.Var) -> e.Var:
        self.variables[var] = new = e.var_like(var, self.info(var.struct_info))
        return new


def _continue(build: BlockBuilder, like: e.BindingBlock) -> None:
    """Go on in the open block if it is of the same kind as `like`, else in a new one."""
    if build.is_dataflow is not (type(like) is e.DataflowBlock):
        build.start_block(like)


_PLAIN, _GRAPH = e.BindingBlock(()), e.DataflowBlock(())
