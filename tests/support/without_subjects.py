"""Programs and results of passes without the subject of a row of `differences.md`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.build.module_editor import ModuleEditor
from relax_explorer.core.check.call_graph import call_graph, components, is_recursive
from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.check.purity import has_effect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    bindings,
    dataflow_blocks,
    exprs,
    map_operands,
    merged_blocks,
    operands,
    substitute_info,
)
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.eliminate_dead_code import drop_unread
from relax_explorer.core.passes.pipeline import apply_pass
from relax_explorer.core.passes.properties import PURITY_ERASED
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.traverse import statements

Change = Callable[[IRModule], IRModule]
_MACHINE = re.compile(r"relax\.((builtin|memory|vm)\.|call_|reshape$)")


# -- programs without the subject of a row ---------------------------------------------------------------------


def unknown(binding: e.Binding, args: tuple[e.Expr, ...], is_erased: bool = False) -> e.VarBinding:
    """The binding as a call that no pass knows, with the same StructInfo. The call is pure, unless purity is erased."""
    info = binding.struct_info if type(binding) is e.MatchCast else binding.value.struct_info
    assert info is not None
    callee = e.ExternFunc("test.checked")
    op, operands = (callee, args) if is_erased else (e.op_ref("relax.call_pure_packed"), (callee, *args))
    call = e.Call(op, operands, sinfo_args=(info,), struct_info=info)
    return e.VarBinding(binding.var or e.Var("_checked", info), call, None, binding.span)


def rewritten(
    module: IRModule, rule: Callable[[e.Function], Callable[[Rewriter, e.Binding], Answer]]
) -> IRModule:
    """The module after one walk of each function."""
    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function = name
        site.editor.replace(name, rewrite(fn, site, rule(fn)))
    return site.editor.done()


def without_comparing_casts(module: IRModule) -> IRModule:
    """Casts that compare lengths of which both are known become unknown calls."""

    is_erased = PURITY_ERASED.holds(module)

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        bound = {dim for param in fn.params for dim in defined_dims(param.struct_info or s.OBJECT)}

        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            if type(binding) is not e.MatchCast:
                return binding
            compares = any(list(_compared(binding.struct_info, binding.value.struct_info, bound)))
            return unknown(binding, (binding.value,), is_erased) if compares else binding

        return opaque

    return rewritten(module, rule)


def without_casts(module: IRModule) -> IRModule:
    """Casts become unknown calls that read the value."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        return unknown(binding, (binding.value,)) if type(binding) is e.MatchCast else binding

    return rewritten(module, lambda fn: opaque)


def with_read_results(module: IRModule) -> IRModule:
    """The values that visible functions return come from unknown calls, which read what was returned."""
    functions = module.relax_functions
    visible = {name: _with_read_results(fn) for name, fn in functions.items() if not fn.is_private}
    return module.having({**module.functions, **visible})


def with_read_equal_results(module: IRModule) -> IRModule:
    """Equal values are one, and unknown calls read what was returned."""
    return with_read_results(without_equal_values(module))


def _with_read_results(fn: e.Function) -> e.Function:
    result = fn.body.body
    read: list[e.Binding] = []
    fields: list[e.Expr] = []
    for number, field in enumerate(result.fields if type(result) is e.Tuple else (result,)):
        if isinstance(field, e.Var) and field.struct_info is not None:
            made = e.Var(f"_read{number}", field.struct_info)
            read.append(unknown(e.VarBinding(made, field), (field,)))
            field = made
        fields.append(field)
    if not read:
        return fn
    body = e.tuple_of(tuple(fields)) if type(result) is e.Tuple else fields[0]
    blocks = tuple(merged_blocks([*fn.body.blocks, e.BindingBlock(tuple(read))]))
    return replace(fn, body=replace(fn.body, blocks=blocks, body=body))


def without_scalars(module: IRModule) -> IRModule:
    """Parameters that are scalars become objects, and calls with scalars unknown calls."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        given = call.args if type(call) is e.Call else ()
        return unknown(binding, (), True) if any(map(_is_scalar, given)) else binding

    new = rewritten(module, lambda fn: opaque)
    return new.having(
        {name: _with_objects(fn) if isinstance(fn, e.Function) else fn for name, fn in new.functions.items()}
    )


def _is_scalar(arg: e.Expr) -> bool:
    """True for an operand that is a scalar, but no number."""
    if type(arg) is e.PrimValue:
        return not arg.value.is_literal
    return isinstance(arg, e.Var) and isinstance(arg.struct_info, s.PrimStructInfo)


def _with_objects(fn: e.Function) -> e.Function:
    """The function whose scalar parameters, if nothing reads them, are objects."""
    params = tuple(
        [e.Var(p.name, s.OBJECT) if isinstance(p.struct_info, s.PrimStructInfo) else p for p in fn.params]
    )
    return fn if params == fn.params else replace(fn, params=params, struct_info=None)


def _compared(cast: s.StructInfo, value: s.StructInfo | None, bound: set[p.PrimVar]) -> Iterator[bool]:
    """For each length of a cast, True if it is compared with another one. Those that it binds are added to `bound`."""
    if isinstance(cast, s.TupleStructInfo) and isinstance(value, s.TupleStructInfo):
        for new, old in zip(cast.fields, value.fields, strict=False):
            yield from _compared(new, old, bound)
    elif isinstance(cast, s.TensorStructInfo):
        have = value.dims if isinstance(value, s.TensorStructInfo) else None
        new_here: set[p.PrimVar] = set()
        for number, dim in enumerate(cast.dims or ()):
            if type(dim) is p.PrimVar and dim not in bound:
                bound.add(dim)
                new_here.add(dim)
                yield False
            else:
                yield dim in new_here or (have is not None and have[number] is not dim)


def without_inner_casts(module: IRModule) -> IRModule:
    """Casts in nested functions become copies, so that these functions compare no length."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        def copied(walk: Rewriter, binding: e.Binding) -> Answer:
            if type(binding) is not e.MatchCast or walk.owner is fn:
                return binding
            if binding.var is None:
                return ()
            var = e.var_like(binding.var, binding.value.struct_info)
            walk.rename(binding.var, var)
            return e.VarBinding(var, binding.value)

        return copied

    return rewritten(module, rule)


def without_checked_arguments(module: IRModule) -> IRModule:
    """Arguments that a call of a private function checks come from unknown calls, which do not need a check."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            call = binding.value
            callee = (
                module.functions.get(call.op.name)
                if type(call) is e.Call and type(call.op) is e.GlobalVar
                else None
            )
            if type(call) is not e.Call or not isinstance(callee, e.Function) or not callee.is_private:
                return binding
            dims: dict[p.PrimVar, p.PrimExpr] = {}
            params = tuple([param.struct_info or s.OBJECT for param in callee.params])
            match_params(params, tuple([arg.struct_info or s.OBJECT for arg in call.args]), dims)
            new, args = list[e.Binding](), list[e.Expr]()
            for info, arg in zip(params, call.args, strict=True):
                want = substitute_info(info, dims)
                if not always_fits(arg.struct_info or s.OBJECT, want):
                    var = (e.DataflowVar if type(walk.block) is e.DataflowBlock else e.Var)("checked", want)
                    new.append(unknown(e.MatchCast(var, arg, want, None, None), (arg,)))
                    arg = var
                args.append(arg)
            return (*new, replace(binding, value=replace(call, args=tuple(args)))) if new else binding

        return opaque

    return rewritten(module, rule)


def without_return_annotations(module: IRModule) -> IRModule:
    """The annotations of results are left out, so that they are derived."""
    return _each(module, lambda fn, site: replace(fn, ret_struct_info=None, struct_info=None))


def without_unknown_vectors(module: IRModule) -> IRModule:
    """Calls of `tensor_to_shape` with a vector of unknown length become unknown calls."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            call = binding.value
            if type(call) is not e.Call or call.op is not e.op_ref("relax.tensor_to_shape"):
                return binding
            info = call.args[0].struct_info
            dims = info.dims if isinstance(info, s.TensorStructInfo) else None
            return binding if dims and isinstance(dims[0], p.IntImm) else unknown(binding, call.args)

        return opaque

    return rewritten(module, rule)


def without_vector_products(module: IRModule) -> IRModule:
    """Products with a vector on the right become unknown calls."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or call.op is not e.op_ref("relax.matmul"):
            return binding
        return unknown(binding, call.args) if getattr(call.args[1].struct_info, "ndim", -1) == 1 else binding

    return rewritten(module, lambda fn: opaque)


def without_products_of_products(module: IRModule) -> IRModule:
    """Products of two products become unknown calls."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        product = e.op_ref("relax.matmul")
        made = {b.var for b in bindings(fn) if type(b.value) is e.Call and b.value.op is product}

        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            call = binding.value
            is_product = type(call) is e.Call and call.op is product
            return unknown(binding, ()) if is_product and made.issuperset(operands(call)[1:]) else binding

        return opaque

    return rewritten(module, rule)


def without_branches(module: IRModule) -> IRModule:
    """An If becomes an unknown call."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        return unknown(binding, (value.condition,)) if type(value) is e.If else binding

    return rewritten(module, lambda fn: opaque)


def without_outside(module: IRModule) -> IRModule:
    """What a dataflow block reads of the bindings outside comes from unknown calls, unless it has an effect."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.Call or type(value.op) is not e.OpRef or has_effect(value):
            return binding
        if type(walk.block) is not e.DataflowBlock:
            return unknown(binding, ())
        if type(binding.var) is e.DataflowVar:
            return binding
        inner = e.DataflowVar("inner", value.struct_info)
        return (e.VarBinding(inner, value), unknown(binding, (inner,)))

    return rewritten(module, lambda fn: opaque)


def without_inner_copies(module: IRModule) -> IRModule:
    """Values stand where dataflow variables that are copies of them are read."""

    def renamed(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding.var) is not e.DataflowVar or not isinstance(binding.value, e.Var):
            return binding
        walk.rename(binding.var, binding.value)
        return ()

    return rewritten(module, lambda fn: renamed)


def without_shared(module: IRModule) -> IRModule:
    """Each call in a dataflow block reads calls of its own, three deep: those that others read, too, are repeated."""

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        made = {b.var: b for block in dataflow_blocks(fn) for b in block.bindings if type(b.value) is e.Call}

        def repeated(walk: Rewriter, binding: e.Binding) -> Answer:
            new = list[e.Binding]()

            def with_own_operands(value: e.Expr, depth: int) -> e.Expr:
                def own(operand: e.Expr) -> e.Expr:
                    if type(operand) is not e.DataflowVar or operand not in made:
                        return operand
                    var = e.DataflowVar(operand.name, operand.struct_info)
                    new.append(e.VarBinding(var, with_own_operands(made[operand].value, depth - 1)))
                    return var

                return map_operands(value, own) if depth else value

            if type(binding) is not e.VarBinding or type(binding.value) is not e.Call:
                return binding
            value = with_own_operands(binding.value, 3)
            return (*new, replace(binding, value=value))

        return repeated

    return without_dead(rxe.normalize(rewritten(module, rule)))


def without(is_subject: Callable[[e.Expr], bool], is_erased: bool = True) -> Change:
    """Some values become unknown calls without operands, which are pure if purity is not erased."""

    def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
        return unknown(binding, (), is_erased) if is_subject(binding.value) else binding

    return lambda module: rewritten(module, lambda fn: opaque)


def is_unlowered(value: e.Expr) -> bool:
    """True for a call of an operator that is not lowered."""
    return type(value) is e.Call and type(value.op) is e.OpRef and not _MACHINE.match(value.op.name)


def is_packed(value: e.Expr) -> bool:
    """True for a call of a packed function."""
    return type(value) is e.Call and type(value.op) is e.ExternFunc


def without_dead(module: IRModule) -> IRModule:
    """What nothing reads is dropped first."""
    result: IRModule = rxe.apply_pass(module, "DeadCodeElimination", profile="tvm")
    return result


def without_chained_products(module: IRModule) -> IRModule:
    """Products and transposed matrices are negated, so that no reader of a matrix knows what it was made of."""

    def negated(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        is_made = type(call) is e.Call and call.op in (
            e.op_ref("relax.matmul"),
            e.op_ref("relax.permute_dims"),
        )
        if type(binding) is not e.VarBinding or not is_made:
            return binding
        inner = (e.DataflowVar if type(walk.block) is e.DataflowBlock else e.Var)("made", call.struct_info)
        value = e.Call(e.op_ref("relax.negative"), (inner,), struct_info=call.struct_info)
        return (e.VarBinding(inner, call, None, binding.span), replace(binding, value=value))

    return rewritten(module, lambda fn: negated)


def without_equal_values(module: IRModule) -> IRModule:
    """Each value is bound once."""
    result: IRModule = rxe.run_pipeline(module, "EliminateCommonSubexpr,CanonicalizeBindings", False)
    return result


def without_recursion(module: IRModule) -> IRModule:
    """Calls by which a function calls itself become unknown calls."""
    graph = call_graph(module)
    groups = [set(group) for group in components(graph) if is_recursive(group, graph)]

    def rule(fn: e.Function) -> Callable[[Rewriter, e.Binding], Answer]:
        own = {
            name for group in groups if any(module.functions[name] is fn for name in group) for name in group
        }
        around = {
            b.var for b in bindings(fn) if type(b.value) is e.Function and b.var in free_variables(b.value)
        }

        def opaque(walk: Rewriter, binding: e.Binding) -> Answer:
            op = binding.value.op if type(binding.value) is e.Call else None
            is_own = isinstance(op, e.GlobalVar) and op.name in own
            if type(binding.value) is not e.Call or not (is_own or op in around):
                return binding
            return unknown(binding, binding.value.args)

        return opaque

    return rewritten(module, rule)


# -- results without the subject of a row ----------------------------------------------------------------------


def _each(module: IRModule, change: Callable[[e.Function, PassSite], e.Function]) -> IRModule:
    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function = name
        site.editor.replace(name, change(fn, site))
    return site.editor.done()


def without_unread(module: IRModule) -> IRModule:
    """Unread bindings are dropped even if they may stop the run."""

    def shorter(fn: e.Function, site: PassSite) -> e.Function:
        site.as_tvm = True
        return drop_unread(fn, site)

    return _each(module, shorter)


def without_harmless(module: IRModule) -> IRModule:
    """Unread bindings are dropped that never stop the run."""
    return _each(module, drop_unread)


def without_unread_and_uncalled(module: IRModule) -> IRModule:
    """Unread bindings are dropped even if they may stop the run, and functions that only these call."""
    if not any(fn.attrs.get("global_symbol") for fn in module.relax_functions.values()):
        return module
    result: IRModule = rxe.apply_pass(module, "DeadCodeElimination", profile="tvm")
    return result


def without_blocks(module: IRModule) -> IRModule:
    """Dataflow blocks become ordinary ones, and constants stand where they are read."""
    plain = rxe.apply_pass(rxe.apply_pass(module, "ToNonDataflow"), "CanonicalizeBindings")
    return _each(plain, lambda fn, site: drop_unread(fn, site))


def without_copies(module: IRModule) -> IRModule:
    """Copies go, and tuples that are taken apart, and what nothing reads."""
    return without_unread(rxe.apply_pass(module, "CanonicalizeBindings"))


def canonical(module: IRModule) -> IRModule:
    """Copies go, and outputs that nothing reads outside of their block become dataflow variables."""
    return apply_pass(module, "CanonicalizeBindings")


def with_short_lengths(module: IRModule) -> IRModule:
    """Lengths are as short as those that are known allow, also those of results, which are derived again."""
    return without_return_annotations(apply_pass(module, "SimplifyShapes"))


def cleaned_up(module: IRModule) -> IRModule:
    """Copies, equal values and what nothing reads go, as passes with patterns clean up behind a change."""
    for name in ("CanonicalizeBindings", "EliminateCommonSubexpr", "CanonicalizeBindings"):
        module = rxe.apply_pass(without_unread(module), name)
    return without_unread(module)


def without_named_constants(module: IRModule) -> IRModule:
    """The module tells no names of constants for libraries."""
    attrs = {key: value for key, value in module.attrs.items() if key != "const_name_to_constant"}
    return replace(module, attrs=Attrs(attrs))


def with_sorted_stores(module: IRModule) -> IRModule:
    """Functions of the shape heap store in the order of slots."""
    editor = ModuleEditor(module)
    for name, fn in module.functions.items():
        if (
            isinstance(fn, t.PrimFunc)
            and fn.attrs.get("tirx.is_host_func")
            and isinstance(fn.body, t.SeqStmt)
        ):
            editor.replace(
                name, replace(fn, body=replace(fn.body, stmts=tuple(sorted(fn.body.stmts, key=_slot))))
            )
    return editor.done()


def _slot(store: t.Stmt) -> int:
    slot = store.indices[0] if isinstance(store, t.BufferStore) else None
    assert isinstance(slot, p.IntImm)  # such functions contain nothing else
    return slot.value


class _FirstRegions(Mutator):
    """Keeps of the regions that a block reads or writes the first of each buffer, and no annotations."""

    def stmt(self, node: t.Stmt) -> t.Stmt:
        new = super().stmt(node)
        if not isinstance(new, t.SBlock):
            return new
        return replace(new, reads=_first(new.reads), writes=_first(new.writes), annotations=EMPTY)


def _first(regions: tuple[BufferRegion, ...] | None) -> tuple[BufferRegion, ...] | None:
    found: dict[Buffer, BufferRegion] = {}
    for region in regions or ():
        found.setdefault(region.buffer, region)
    return None if regions is None else tuple(found.values())


def with_first_regions(module: IRModule) -> IRModule:
    """Of the regions of one buffer in a block, the first. No block has annotations."""
    editor = ModuleEditor(module)
    for name, fn in module.functions.items():
        if isinstance(fn, t.PrimFunc):
            editor.replace(name, _FirstRegions().function(fn))
    return editor.done()


def without_plain_patterns(module: IRModule) -> IRModule:
    """PrimFuncs without blocks have no pattern."""
    editor = ModuleEditor(module)
    for name, fn in module.functions.items():
        if isinstance(fn, t.PrimFunc) and not any(isinstance(stmt, t.SBlock) for stmt in statements(fn.body)):
            editor.replace(name, replace(fn, attrs=fn.attrs.without("op_pattern")))
    return editor.done()


class _Rounded(Substitution):
    """Rounds constants of floating point to four digits."""

    def __init__(self, fn: e.Function) -> None:
        constants = [expr for expr in exprs(fn) if type(expr) is e.Constant and expr.data is not None]
        super().__init__({constant: self._rounded(constant) for constant in constants})  # type: ignore[misc]  # constants are leaves, too

    def expr(self, expr: e.Expr) -> e.Expr:
        return self.variables[expr] if expr in self.variables else super().expr(expr)

    def _rounded(self, constant: e.Constant) -> e.Constant:
        data = constant.data
        if data is None or data.dtype.kind != "f":
            return constant
        rounded = np.asarray([float(f"{x:.4g}") for x in data.ravel()], data.dtype)
        return e.Constant(rounded.reshape(data.shape), constant.struct_info, "", None)


def with_rounded_constants(module: IRModule) -> IRModule:
    """Constants of floating point have four digits."""
    return _each(module, lambda fn, site: _Rounded(fn).function(fn))
