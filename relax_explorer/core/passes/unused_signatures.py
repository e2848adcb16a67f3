"""Private functions whose calls are all known, and their signatures: RemoveUnusedParameters, RemoveUnusedOutputs and ExpandTupleArguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import call_dims, match_params
from relax_explorer.core.check.purity import has_effect
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    called,
    defined_dims,
    exprs,
    infos_of,
    merged_blocks,
    operands,
    sequences,
    stated_infos,
    substitute_info,
)
from relax_explorer.core.passes import eliminate as dead_code
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, infer_again, module_pass
from relax_explorer.core.passes.readings import PRIVATE
from relax_explorer.core.passes.rewrite import Answer, Rewriter, at_calls, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM, SHAPES_LOWERED
from relax_explorer.core.program.module import IRModule

# -- private functions -----------------------------------------------------------------------------------------------
# Private functions whose calls are all known, so that a pass may change their parameters and results.


def changeable(
    module: IRModule, at: PassSite, chosen: Callable[[e.Function], bool] = bool
) -> dict[str, e.Function]:
    """The private Relax functions that nothing uses as a value, by name; with `chosen` only some. In the profile `tvm` all private ones."""
    private = {name: fn for name, fn in module.relax_functions.items() if fn.is_private and chosen(fn)}
    if at.as_tvm or not private:
        return private
    values = used_as_values(module)
    return {name: fn for name, fn in private.items() if name not in values}


def used_as_values(module: IRModule) -> set[str]:
    """The names of the functions that something else than a call reads."""
    found: set[str] = set()
    for fn in module.relax_functions.values():
        todo: list[e.Expr] = [fn.body.body]
        for binding in bindings(fn):
            value = binding.value
            if type(value) is not e.Call:
                todo.append(value)
                todo.extend([seq.body for seq in sequences(value)])
            elif not _PLAIN.issuperset(map(type, value.args)):
                todo.extend(value.args)
        while todo:
            expr = todo.pop()
            if type(expr) is e.GlobalVar:
                found.add(expr.name)
            else:
                todo.extend(operands(expr))
    return found


_PLAIN = frozenset({e.Var, e.DataflowVar, e.Constant, e.PrimValue, e.ShapeExpr})


def calls(module: IRModule) -> Iterator[tuple[str, e.Call]]:
    """The calls of global functions in a module, each with the name of its callee."""
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                yield expr.op.name, expr


def fits(fn: e.Function, call: e.Call) -> bool:
    """True if the StructInfo of the arguments proves that a call need not check them."""
    dims = call_dims(fn.params, call.args)
    pairs = zip(infos_of(call.args), infos_of(fn.params), strict=True)
    return all(always_fits(have, substitute_info(want, dims)) for have, want in pairs)


def clean_up(at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings and without dead code, for passes that end with this."""
    site = canonical(at)
    return infer_again(dead_code.eliminate_dead_code.run(site.module, site), site)


def canonical(at: PassSite) -> PassSite:
    """A site for the rest of a pass, whose module has canonical bindings."""
    site = following(at)
    for name, fn in site.module.relax_functions.items():
        site.function = name
        site.editor.replace(name, canonicalize(fn, site))
    return following(site)


def drop_unread_bindings(at: PassSite) -> IRModule:
    """The module of `at` with all its functions, but without their unread bindings, for passes that end with this."""
    site = following(at)
    for name, fn in site.module.relax_functions.items():
        site.editor.replace(name, dead_code.drop_unread(fn, site))
    return infer_again(site.editor.done(), site)


def following(at: PassSite, module: IRModule | None = None) -> PassSite:
    """A site for the next part of a pass, with the same report and record. Its module is `module`, by default that of `at`."""
    if module is None:
        module = infer_again(at.editor.done(), at)
    return PassSite(
        module, report=at.report, recorded=at.recorded, rule=at.rule, as_tvm=at.as_tvm, changes=at.changes
    )


# -- unused signatures -----------------------------------------------------------------------------------------------
# RemoveUnusedParameters, RemoveUnusedOutputs and ExpandTupleArguments: signatures of private functions.


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
    rule = at_calls(changes, lambda change, call: replace(call, args=change.args(call)))
    for name, fn in module.relax_functions.items():
        new = changes[name].function() if name in changes else fn
        at.editor.replace(name, rewrite(new, at, rule))
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
        self.infos = infos_of(fn.params)
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
        infos = infos_of(call.args)
        for numbers in (self.kept, self.dropped):
            match_params(tuple([self.infos[n] for n in numbers]), tuple([infos[n] for n in numbers]), dims)
        return dims


def _dims_of(fn: e.Function, kept: list[int]) -> set[p.PrimVar]:
    """The shape variables in the kept parameters, the body and the return annotation of a function."""
    infos = [fn.params[n].struct_info for n in kept] + [fn.ret_struct_info]
    infos += [info for binding in bindings(fn) for info in stated_infos(binding)]
    for expr in exprs(fn):  # a nested function tells the lengths of its parameters
        infos.append(expr.struct_info)
        if type(expr) is e.Call:
            infos.extend(expr.sinfo_args)
    return {dim for info in dict.fromkeys(infos) if info is not None for dim in all_dims(info)}


Outputs = Mapping[str, tuple[int, ...]]  # the fields that stay, by the name of the function


@module_pass(
    "RemoveUnusedOutputs",
    reads=[PRIVATE],
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
)
def remove_unused_outputs(module: IRModule, at: PassSite) -> IRModule:
    """Drop the fields of tuples returned by private functions that no call reads.

    A single remaining field is returned without a tuple. A function keeps all fields if a call uses its result as a whole, or if
    the function is used as a value. At the end, bindings are canonicalized and dead code is removed. In the profile `tvm` uses as
    a value do not count, and a call whose result nothing reads goes with its effects.
    """
    outputs = _read_outputs(module, at)
    for name, fn in module.relax_functions.items() if outputs else ():
        new = _returning(fn, outputs[name]) if name in outputs else fn
        at.editor.replace(name, _reading(new, outputs, at))
    return clean_up(at)


def _read_outputs(module: IRModule, at: PassSite) -> Outputs:
    """The fields that calls read, of the functions that return others too."""
    found = changeable(module, at, lambda fn: _fields(fn) > 0)
    sizes = {name: _fields(fn) for name, fn in found.items()}
    read: dict[str, set[int]] = {name: set() for name in sizes}
    for fn in module.relax_functions.values() if sizes else ():
        derived = facts(fn)
        for binding in derived.bindings:
            name = called(binding.value)
            if name in read and binding.var is not None:
                read[name] |= _read_fields(derived, binding.var, sizes[name])
    return {name: tuple(sorted(fields)) for name, fields in read.items() if len(fields) < sizes[name]}


def _fields(fn: e.Function) -> int:
    """The number of fields that a function returns; 0 if it returns no tuple."""
    info = fn.struct_info
    ret = info.ret if isinstance(info, s.FuncStructInfo) else None
    return len(ret.fields) if isinstance(ret, s.TupleStructInfo) else 0


def _read_fields(derived: Facts, var: e.Var, size: int) -> set[int]:
    """The fields of a tuple that its readers take. All, if one of them uses the tuple as a whole."""
    fields: set[int] = set()
    for number in derived.users(var):
        value = derived.bindings[number].value if number < len(derived.bindings) else None
        if type(value) is e.Function:  # it captures the tuple
            fields |= _read_fields(facts(value), var, size)
            continue
        if type(value) is not e.TupleGetItem:
            return set(range(size))
        fields.add(value.index)
    return fields


def _returning(fn: e.Function, fields: tuple[int, ...]) -> e.Function:
    """The function with fewer fields in its result."""
    names = FreshNames.of(fn)
    whole = m.bound(names("previous_outputs"), fn.body.body)
    parts = [m.bound(names("gv"), _field(whole.var, number)) for number in fields]
    block = e.BindingBlock((whole, *parts))
    result = parts[0].var if len(parts) == 1 else e.tuple_of(tuple([part.var for part in parts]))
    body = replace(
        fn.body,
        blocks=tuple(merged_blocks([*fn.body.blocks, block])),
        body=result,
        struct_info=result.struct_info,
    )
    ret = fn.ret_struct_info
    if isinstance(ret, s.TupleStructInfo):
        infos = tuple([ret.fields[number] for number in fields])
        ret = infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)
    return replace(fn, body=body, ret_struct_info=ret, struct_info=None)


def _field(whole: e.Var, number: int) -> e.TupleGetItem:
    assert isinstance(whole.struct_info, s.TupleStructInfo)  # the function returns a tuple
    return e.TupleGetItem(whole, number, whole.struct_info.fields[number])


def _reading(fn: e.Function, outputs: Outputs, at: PassSite) -> e.Function:
    """The function with fewer fields in the results of the calls of `outputs`."""
    results: dict[e.Expr, tuple[e.Var, tuple[int, ...]]] = {}  # by the variable that held the whole result
    may_stop = stopping(at.module).binding

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is e.TupleGetItem and value.tuple in results:
            var, fields = results[value.tuple]
            if len(fields) == 1:
                return replace(binding, value=var)
            return replace(binding, value=replace(value, tuple=var, index=fields.index(value.index)))
        name = called(binding.value)
        if name not in outputs or binding.var is None:
            return binding
        if not outputs[name] and (at.as_tvm or not (has_effect(value) or may_stop(binding))):
            return ()
        info = binding.var.struct_info
        assert isinstance(info, s.TupleStructInfo)  # the result of the callee
        infos = tuple([info.fields[number] for number in outputs[name]])
        new = infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)
        var = e.var_like(binding.var, new)
        results[binding.var] = var, outputs[name]
        return replace(binding, var=var, value=replace(value, struct_info=new), annotation=None)

    return rewrite(fn, at, rule)


Functions = Mapping[str, e.Function]


@module_pass(
    "ExpandTupleArguments",
    reads=[PRIVATE],
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
)
def expand_tuple_arguments(module: IRModule, at: PassSite) -> IRModule:
    """Replace each tuple parameter of a private function by one parameter for each field.

    `f(x: R.Tuple(A, B))` becomes `f(x_0: A, x_1: B)`, and so do tuples in tuples. A function that is used as a value stays, unless the
    profile is `tvm`. At the end, bindings are canonicalized and dead code is removed.
    """
    expanded = changeable(module, at, _takes_tuples)
    for name, fn in module.relax_functions.items() if expanded else ():
        new = _expanded(fn) if name in expanded else fn
        at.editor.replace(name, _expanding(new, expanded, at))
    return clean_up(at)


def _is_tuple(expr: e.Expr) -> bool:
    return isinstance(expr.struct_info, s.TupleStructInfo)


def _takes_tuples(fn: e.Function) -> bool:
    return any(map(_is_tuple, fn.params))


def _expanded(fn: e.Function) -> e.Function:
    """The function with parameters for fields. It begins with the bindings of the tuples."""
    names = FreshNames.of(fn)
    params: list[e.Var] = []

    tuples: list[e.Binding] = []

    def given(param: e.Var) -> e.Var:
        """The parameter itself, or the tuple bound from its fields."""
        info = param.struct_info
        if not isinstance(info, s.TupleStructInfo):
            params.append(param)
            return param
        fields = [given(e.Var(names(f"{param.name}_{n}"), field)) for n, field in enumerate(info.fields)]
        tuples.append(e.VarBinding(param, e.tuple_of(tuple(fields))))
        return param

    for param in fn.params:
        given(param)
    result, ends = fn.body.body, list[e.Binding]()
    if type(result) is e.Tuple:  # TVM binds it, too
        ends.append(m.bound(names("gv"), result))
        result = ends[-1].var or result
    blocks = merged_blocks([e.BindingBlock(tuple(tuples)), *fn.body.blocks, e.BindingBlock(tuple(ends))])
    body = replace(fn.body, blocks=tuple(blocks), body=result)
    return replace(fn, params=tuple(params), body=body, struct_info=None)


def _expanding(fn: e.Function, expanded: Functions, at: PassSite) -> e.Function:
    """The function with one argument for each field in the calls of `expanded`."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        call = binding.value
        if type(call) is not e.Call or called(call) not in expanded:
            return binding
        build = walk.front_of(binding)
        args = [leaf for arg in call.args for leaf in _fields_arguments(arg, build)]
        return *build.bindings, replace(binding, value=replace(call, args=tuple(args)))

    return rewrite(fn, at, rule)


def _fields_arguments(arg: e.Expr, build: BlockBuilder) -> list[e.Expr]:
    """The fields of an argument, those of inner tuples included. The argument itself if it is no tuple."""
    if type(arg) is e.Tuple:
        return [leaf for field in arg.fields for leaf in _fields_arguments(field, build)]
    info = arg.struct_info
    if not isinstance(info, s.TupleStructInfo):
        return [arg]
    leaves: list[e.Expr] = []
    for number in range(len(info.fields)):
        leaves += _fields_arguments(build.emit(e.TupleGetItem(arg, number)), build)
    return leaves
