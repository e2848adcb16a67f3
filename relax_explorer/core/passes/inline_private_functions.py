"""InlinePrivateFunctions: replace calls of private functions by their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property, partial

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.call_graph import call_graph, components, is_recursive, mentioned
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution, fresh_dims
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    called,
    contents,
    infos_of,
    map_blocks,
    map_sequences,
    merged_blocks,
    sequences,
    substitute_info,
)
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite, infer_again, module_pass
from relax_explorer.core.passes.eliminate import drop_unread, killed
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.passes.unused_signatures import canonical
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NO_DATAFLOW, NORMAL_FORM
from relax_explorer.core.program.module import IRModule


@module_pass(
    "InlinePrivateFunctions",
    reads=[PRIVATE],
    only_with=[PRIVATE],
    has_profiles=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
    invalidates=[NO_DATAFLOW],
)
def inline_private_functions(module: IRModule, at: PassSite) -> IRModule:
    """Replace calls of private functions by their bodies, and drop functions without remaining calls.

    Recursive functions stay, and calls whose copies would nest deeper than a text may. The blocks of a function stay what they are,
    so that ordinary ones divide the dataflow block of its call. An argument without a proven fit is cast first, because the call
    would check it. At the end, bindings are canonicalized and unread ones dropped, in every function. A module without a function to
    inline is returned as it is. In the profile `tvm`, no argument is checked, the lengths of the function lose their definition, and
    a function goes even if it is a value.
    """
    graph = call_graph(module)
    private: dict[str, _Callee] = {}
    todo: list[str] = []
    for group in components(graph):
        for name in group:
            fn = module.functions[name]
            assert isinstance(fn, e.Function)  # the graph has Relax functions only
            if fn.is_private and not is_recursive(group, graph):
                private[name] = _Callee.of(fn, private)
            else:
                todo.append(name)
    if not private:
        return module
    deep = _inline(todo, private, at)
    return _cleaned(private.keys(), deep, at)


def _inline(todo: list[str], private: Mapping[str, _Callee], at: PassSite) -> Set[str]:
    """Inline into functions, and into the private ones that they still mention. Others go, so nobody copies into them.

    Returns the names of the functions that are called where copies would nest too deep.
    """
    seen, deep = set(todo), set[str]()
    for name in todo:
        at.function = name
        old = at.module.functions[name]
        assert isinstance(old, e.Function)  # all are Relax functions
        fn = _Inliner(private, deep, at, old).function()
        at.editor.replace(name, fn)
        for other in mentioned(fn):
            if other in private and other not in seen:
                seen.add(other)
                todo.append(other)
    for name in private.keys() - seen:
        at.editor.remove(name)
    return deep


def _cleaned(private: Set[str], deep: Set[str], at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings, without unread ones, and without `private` functions that nothing mentions."""
    at = canonical(at)
    called = set[str]()
    for name, fn in at.module.relax_functions.items():
        live = drop_unread(_with_clean_inner(fn, at) if at.as_tvm else fn, at)
        called.update(mentioned(live))
        at.editor.replace(name, live)
    for name in at.module.functions.keys() & private:
        if (at.as_tvm and name not in deep) or name not in called:
            at.editor.remove(name)
    return infer_again(at.editor.done(), at)


def _with_clean_inner(fn: e.Function, at: PassSite) -> e.Function:
    """The function without unread bindings in nested ones, inner ones first: what only these read is unread then."""

    def cleaned(binding: e.Binding) -> e.Binding:
        new = map_sequences(binding, lambda seq: map_blocks(seq, cleaned))
        if type(new.value) is e.Function:
            new = replace(new, value=drop_unread(new.value, at))
        if new is not binding:
            at.record(binding, new)
        return new

    return replace(fn, body=map_blocks(fn.body, cleaned))


@dataclass(frozen=True, slots=True)
class _Callee:
    """A function to inline, and what each of its calls asks about it. Its body still has the calls of other such functions."""

    fn: e.Function
    params: tuple[s.StructInfo, ...]
    dims: frozenset[p.PrimVar]  # the shape variables that its parameters and its match_casts bind
    ended: frozenset[e.Expr]  # the variables that end early
    calls: bool  # True if functions are inlined into it
    divides: bool  # True if the copy has bindings outside of dataflow blocks
    has_functions: bool  # True if it has nested functions
    depth: int  # how deep branches and nested functions nest in it

    @classmethod
    def of(cls, fn: e.Function, private: Mapping[str, _Callee]) -> _Callee:
        """The callee for a function that calls some of these."""
        params = infos_of(fn.params)
        has, dims = contents(fn), frozenset(bound_dims(fn))
        divides = any([type(block) is not e.DataflowBlock for block in fn.body.blocks])
        has_functions = e.Function in has.values
        calls = not private.keys().isdisjoint(mentioned(fn))
        if calls:
            names = [_called(b) for block in fn.body.blocks for b in block.bindings]
            divides = divides or any(private[name].divides for name in names if name in private)
        depth = 0 if WITH_BLOCKS.isdisjoint(has.values) else _depth(fn.body)
        return cls(fn, params, dims, killed(fn), calls, divides, has_functions, depth)

    @property
    def is_graph(self) -> bool:
        """True if all bindings of the copy stand in dataflow blocks, and none of its own is a function."""
        return not (self.divides or self.has_functions)

    def may_read(self, arg: e.Expr) -> bool:
        """True if its body may read an argument itself: a variable that is visible wherever the body stands."""
        return type(arg) is e.Var or (type(arg) is e.DataflowVar and self.is_graph)


def _depth(seq: e.SeqExpr) -> int:
    """How deep branches and nested functions nest in a sequence."""
    level, depth = list(seq.blocks), -1
    while level:
        values = [binding.value for block in level for binding in block.bindings]
        level = [block for value in values for inner in sequences(value) for block in inner.blocks]
        depth += 1
    return max(depth, 0)


def _called(binding: e.Binding) -> str:
    """The name of what a binding calls; empty if it calls nothing."""
    return called(binding.value) if type(binding) is e.VarBinding else ""


@dataclass(slots=True)
class _Frame:
    """A function during inlining: the one that stays, or the copy of one in it."""

    killed: frozenset[e.Expr]  # the variables that end early
    names: FreshNames
    copy: _Copy | None = None


Steps = Iterator["Steps"]  # the rest of some work, which stops where other work comes first


class _Inliner:
    """Inlines `private` functions into one function. Later bindings read the renamed results.

    A function is copied only into one that stays, not into another that is copied itself: a chain of calls takes linear time.
    """

    def __init__(self, private: Mapping[str, _Callee], deep: set[str], at: PassSite, fn: e.Function) -> None:
        self.private, self.deep, self.at, self.fn = private, deep, at, fn
        self.depth = -1  # of the current sequence
        self.divides = False  # True if an inlined function divided the dataflow block of its call

    def function(self) -> e.Function:
        """The function with every call of a private function replaced. Without such calls, the same object."""
        if self.private.keys().isdisjoint(mentioned(self.fn)):
            return self.fn
        self.build = BlockBuilder(self.at.editor, within=self.fn, record=self.at.record)
        frame = _Frame(killed(self.fn), self.build.names)
        new = replace(self.fn, body=self._sequence(self.fn.body, frame))
        return _with_outputs(new, self.at) if self.divides and not self.at.as_tvm else new

    def _sequence(self, seq: e.SeqExpr, frame: _Frame) -> e.SeqExpr:
        return replace(seq, blocks=self.blocks(seq, frame))

    def blocks(self, seq: e.SeqExpr, frame: _Frame) -> tuple[e.BindingBlock, ...]:
        """The blocks of a sequence, its branches included. Recursion goes only as deep as branches do."""
        self.depth += 1
        with self.build.apart():
            stack = [self._steps(seq, frame, BlockBuilder.start_block)]
            while stack:
                inner = next(stack[-1], None)
                if inner is None:
                    stack.pop()
                else:
                    stack.append(inner)
            self.depth -= 1
            return tuple(merged_blocks(self.build.blocks()))

    def _steps(
        self, seq: e.SeqExpr, frame: _Frame, start: Callable[[BlockBuilder, e.BindingBlock], None]
    ) -> Steps:
        """Emit the bindings of a sequence."""
        build, copy = self.build, frame.copy
        for block in seq.blocks:
            start(build, block)
            for binding in block.bindings:
                callee = self._callee(binding)
                if callee is not None and copy is not None:
                    yield self._inlined(callee, binding, frame)
                elif callee is not None:
                    with build.inherit(binding):
                        yield self._inlined(callee, binding, frame)
                elif copy is not None:
                    _keep(build, copy, binding)
                else:
                    build.keep(map_sequences(binding, lambda inner: self._sequence(inner, frame)))

    def _callee(self, binding: e.Binding) -> _Callee | None:
        """The function to inline for a binding. One that would nest too deep is called as before."""
        callee = self.private.get(_called(binding))
        if callee is not None and self.depth + callee.depth > DEEPEST:
            self.deep.add(_called(binding))
            return None
        return callee

    def _inlined(self, callee: _Callee, binding: e.Binding, frame: _Frame) -> Steps:
        """Emit the arguments of a call, the blocks of the body, and the binding of the result."""
        assert type(binding) is e.VarBinding  # the caller saw a call
        build, outer, body = self.build, frame.copy, callee.fn.body
        self.divides |= build.is_dataflow and not callee.is_graph
        around = _GRAPH if build.is_dataflow else _PLAIN
        copy = self._copy(callee, binding, frame, around)
        if callee.calls:
            inner = _Frame(callee.ended, FreshNames.of(callee.fn), copy)
            copy.inlined = partial(self.blocks, frame=inner)
            yield self._steps(body, inner, _continue)
        else:
            for block in body.blocks:
                _continue(build, block)
                for inside in block.bindings:
                    _keep(build, copy, inside)
        _continue(build, around)
        annotation = None if self.at.as_tvm else binding.annotation
        new = replace(binding, value=copy.expr(body.body), annotation=annotation)
        build.keep(new if outer is None else outer.bound(new))

    def _copy(self, callee: _Callee, binding: e.VarBinding, frame: _Frame, around: e.BindingBlock) -> _Copy:
        """Emit the arguments of a call that the body can't read themselves, for a copy of the body."""
        build, outer, call, as_tvm = self.build, frame.copy, binding.value, self.at.as_tvm
        assert isinstance(call, e.Call)  # the caller checked this
        build.names, build.normalizer.place = frame.names, call.span or binding.span
        infos = infos_of(call.args)
        dims = self._dims(callee, infos) if callee.dims else {}
        is_inside = type(binding.var) is e.DataflowVar or (outer is not None and outer.is_inside)
        copy = _Copy(is_inside and callee.is_graph)
        for param, info, arg, have in zip(callee.fn.params, callee.params, call.args, infos, strict=True):
            want = substitute_info(info, dims) if dims else info
            leaf = arg if outer is None else outer.expr(arg)
            if not (as_tvm or always_fits(have, want)):
                _continue(build, around)  # a block may lose checks
                want = want if outer is None else outer.info(want) or want
                copy.variables[param] = build.emit_match_cast(leaf, want, param.name)
            elif self._may_read(callee, param, arg) and arg not in frame.killed:
                copy.variables[param] = leaf
            else:
                _continue(build, _GRAPH)
                var = e.Var(build.names(param.name, "_"), leaf.struct_info or s.OBJECT, arg.span)
                copy.variables[param] = var
                build.keep(e.VarBinding(var, leaf, None, binding.span))
        outer_dims = {} if outer is None else outer.dims
        copy.set_dims(
            {dim: substitute(length, outer_dims) for dim, length in dims.items()} if outer_dims else dims
        )
        copy.keep_notes()
        return copy

    def _may_read(self, callee: _Callee, param: e.Var, arg: e.Expr) -> bool:
        """True if the body reads an argument in place of a parameter.

        TVM binds each parameter. Where nothing reads it, only an output shows that: it is read behind its block.
        """
        if self.at.as_tvm and type(arg) is e.Var and not facts(callee.fn).users(param):
            return False
        return callee.may_read(arg) and param not in callee.ended

    def _dims(self, callee: _Callee, infos: tuple[s.StructInfo, ...]) -> dict[p.PrimVar, p.PrimExpr]:
        """What the shape variables of a function become at a call: the lengths of its arguments, or others of their own."""
        dims: dict[p.PrimVar, p.PrimExpr] = {}
        params = callee.params
        if self.at.as_tvm:  # scalars are variables to it, and so have their values
            scalars = [at for at, info in enumerate(params) if type(info) is s.PrimStructInfo]
            params, infos = tuple([params[at] for at in scalars]), tuple([infos[at] for at in scalars])
        match_params(params, infos, dims)
        others = callee.dims - dims.keys()
        return dims | fresh_dims(others)


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

    def call(self, call: e.Call) -> e.Expr:
        """A call. Arguments may have more precise StructInfo than parameters, and then it follows anew."""
        new = super().call(call)
        return new if self.keeps_infos or new is call else replace(new, struct_info=None)

    def __init__(self, is_inside: bool) -> None:
        super().__init__()
        self.is_inside = is_inside  # True if only the dataflow block of the call reads what the body binds
        self.inlined: Callable[[e.SeqExpr], tuple[e.BindingBlock, ...]] | None = None

    def blocks(self, seq: e.SeqExpr) -> tuple[e.BindingBlock, ...]:
        """The blocks of a sequence, with the functions that they call."""
        return super().blocks(seq) if self.inlined is None else self.inlined(seq)

    def bound(self, binding: e.VarBinding) -> e.VarBinding:
        """A binding whose value is copied already."""
        annotation = self.info(binding.annotation)
        return e.VarBinding(self._define(binding.var), binding.value, annotation, binding.span)

    def keep_notes(self) -> None:
        """Let calls keep what follows from StructInfo, if the arguments have that of the parameters."""
        self.keeps_infos = all(new.struct_info is old.struct_info for old, new in self.variables.items())

    @cached_property
    def constants(self) -> dict[e.Expr, e.Constant]:
        """The new constants by the old ones."""
        return {}

    def _define(self, var: e.Var) -> e.Var:
        info = self.info(var.struct_info)
        # Inside of a block, a shape may have a name: CanonicalizeBindings finds out.
        is_known = type(info) is s.TensorStructInfo and type(info.shape) is tuple
        kind = e.DataflowVar if self.is_inside and is_known else None
        self.variables[var] = new = e.var_like(var, info, kind)
        return new


def _keep(build: BlockBuilder, copy: _Copy, binding: e.Binding) -> None:
    """Emit the copy of a binding."""
    new = copy.bindings(binding, build.is_dataflow)
    for one in new if isinstance(new, tuple) else (new,):
        build.keep(one)


def _continue(build: BlockBuilder, like: e.BindingBlock) -> None:
    """Go on in the open block if it is of the same kind as `like`, else in a new one."""
    if build.is_dataflow is not (type(like) is e.DataflowBlock):
        build.start_block(like)


DEEPEST = 80  # levels of branches and nested functions: a text has at most 100 levels of indentation
_PLAIN, _GRAPH = e.BindingBlock(()), e.DataflowBlock(())
