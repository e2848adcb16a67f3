"""What depends on weights alone, in a function of its own (LiftTransformParams), and weights in one tuple (BundleModelParams)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Annotated, Any

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.check.call_graph import mentioned_anywhere
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dataflow import unneeded
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    defined_dims,
    exprs,
    infos_of,
    map_operands,
    operands,
    stated_infos,
)
from relax_explorer.core.ops import find as find_op
from relax_explorer.core.passes import lambda_lift
from relax_explorer.core.passes.canonicalize_bindings import canonicalize_bindings
from relax_explorer.core.passes.contract import ALWAYS, Kept, PassSite, bad_option, module_pass
from relax_explorer.core.passes.eliminate import value_key
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    CANONICAL_BINDINGS,
    NO_DATAFLOW,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule

_OPAQUE = (e.Function, e.If, e.SeqExpr)


@module_pass(
    "LiftTransformParams",
    rebuilds=True,
    changes={Kept.SIGNATURES: ALWAYS},
    requires=[NORMAL_FORM],
    invalidates=[
        NO_DATAFLOW,
        CANONICAL_BINDINGS,
        PURITY_ERASED,
        SYMBOLS_ATTACHED,
        BUILTINS_LOWERED,
        SHAPES_LOWERED,
    ],
)
def lift_transform_params(
    module: IRModule,
    at: PassSite,
    *,
    shared_transform: Annotated[bool, "one function for what all functions transform alike"] = False,
    shared_functions: Annotated[tuple[str, ...], "the functions that share it; all of them by default"] = (),
) -> IRModule:
    """Move the bindings of dataflow blocks that depend on weights alone into `<name>_transform_params`.

    The weights are the parameters after the first `num_input` ones, an attribute of the function. The new function takes them as
    one tuple, and returns a tuple of the parameters that take their place. It is to be called once, before all other calls.
    Lengths that only dropped weights tell become a shape, the first of these parameters.
    With `shared_transform` it is called `transform_params`, and has the bindings without shape variables that occur in all functions;
    in the profile `tvm` not those whose value is bound twice, nor what reads them.
    A private function stays, and one that the module itself calls. TVM takes `shared_functions` as `shared_transform`, too.
    At the end nested functions are lifted, as by LambdaLift.
    Raises Failure if one of the `shared_functions` has no weights, or if the weights of functions that share differ.
    """
    lifts = _lifts(module, shared_transform or bool(shared_functions), shared_functions)
    if not lifts:
        return _lifted(module, at)
    if not (shared_transform or shared_functions):
        for name, lift in lifts.items():
            lift.finish()
            at.editor.replace(name, _without(lift, at))
            at.editor.add(f"{name}_transform_params", _transform(lift, at))
        return _canonical(lifts, at)
    _share(lifts, at.as_tvm)
    for name, lift in lifts.items():
        at.editor.replace(name, _without(lift, at))
    at.editor.add("transform_params", _transform(next(iter(lifts.values())), at))
    return _canonical(lifts, at)


def _canonical(names: Iterable[str], at: PassSite) -> IRModule:
    """The module where the bindings of functions without their weights are canonical, as in TVM."""
    for name in names:
        at.function = name
        at.editor.replace(name, canonicalize_bindings.run(at.editor[name], at))
    return _lifted(at.editor.done(), at)


def _lifted(module: IRModule, at: PassSite) -> IRModule:
    """The module without nested functions."""
    result: IRModule = lambda_lift.lambda_lift.run(module, at)
    return result


def _lifts(module: IRModule, shared: bool, names: tuple[str, ...]) -> dict[str, _Lift]:
    """What can be lifted from each function with weights."""
    called = mentioned_anywhere(module)
    lifts = {}
    for name, fn in module.relax_functions.items():
        count = fn.attrs.get("num_input")
        if type(count) is int and 0 <= count <= len(fn.params) and name not in called and not fn.is_private:
            lifts[name] = _Lift(fn, count, shared)
    missing = [name for name in names if name not in lifts]
    if missing:
        text = f"shared_functions names {missing[0]!r}, which has no weights to transform"
        raise _bad(text, f"these have: {', '.join(lifts) or 'none'}")
    return {name: lift for name, lift in lifts.items() if not names or name in names}


_bad = partial(bad_option, origin="LiftTransformParams")


def _share(lifts: dict[str, _Lift], once: bool) -> None:
    """Lift what all functions have in common, and give all of them the same weights. Only values that are bound `once`, if it is so."""
    (name, first), *others = lifts.items()
    for other, lift in others:
        infos = [[_nameless(w.struct_info or s.OBJECT) for w in each.weights] for each in (first, lift)]
        if infos[0] != infos[1]:
            text = f"the weights of {other} have other StructInfo than those of {name}"
            raise _bad(text, "name functions with the same weights in shared_functions")
    numbers: dict[Any, e.Var] = {}
    own = [lift.matched(first, numbers) for lift in lifts.values()]
    several = set[Any]().union(*[lift.several for lift in lifts.values()]) if once else set[Any]()
    staying = _reading(first, {var for (value, _), var in numbers.items() if value in several})
    common = [var for var in numbers.values() if var not in staying and all(var in each for each in own)]
    for lift, each in zip(lifts.values(), own, strict=True):
        lift.finish([each[var] for var in common])
    inverse = [
        {**{each[var]: var for var in common}, **dict(zip(lift.weights, first.weights, strict=True))}
        for lift, each in zip(lifts.values(), own, strict=True)
    ]
    read = {names[var] for lift, names in zip(lifts.values(), inverse, strict=True) for var in lift.outputs}
    lengths = tuple(dict.fromkeys(dim for lift in lifts.values() for dim in lift.lengths))
    for lift, names in zip(lifts.values(), inverse, strict=True):
        lift.outputs = [var for var in (*lift.weights, *lift.lifted) if names[var] in read]
        lift.lengths = lengths  # the functions have one tuple of weights, with the same lengths


def _reading(lift: _Lift, found: set[e.Var]) -> set[e.Expr]:
    """Some variables of a function, and those whose values read them."""
    reading: set[e.Expr] = {*found}
    for binding in lift.liftable:
        if binding.var is not None and not reading.isdisjoint(variables(binding.value)):
            reading.add(binding.var)
    return reading


class _Lift:
    """The bindings of a function that depend on weights and constants alone, and the values that others read."""

    def __init__(self, fn: e.Function, count: int, shared: bool) -> None:
        self.fn, self.count = fn, count
        self.liftable: list[e.Binding] = []
        self.lifted: dict[e.Var, e.Binding] = {}  # those that read a weight; they leave the function
        self.several: set[Any] = set()  # values that are bound several times
        self.outputs: list[e.Var] = []  # weights and variables of `lifted` that stay parameters
        self.lengths: tuple[p.PrimVar, ...] = ()  # those that become a parameter, in front of the outputs
        self.rest = fn  # the function without `lifted`
        self._collect(shared)

    def matched(self, first: _Lift, numbers: dict[Any, e.Var]) -> dict[e.Var, e.Var]:
        """The variables of liftable bindings by those of equal ones of `first`, whose `numbers` tell them by value."""
        by = Substitution(dict(zip(self.weights, first.weights, strict=True)))
        found: dict[e.Var, e.Var] = {}
        times = Counter[Any]()  # a value may be bound several times
        for binding in self.liftable:
            assert binding.var is not None  # `liftable` has no others
            value = value_key(by.expr(binding.value))
            key = value, times[value]
            times[value] += 1
            if times[value] > 1:
                self.several.add(value)
            if self is first:
                numbers[key] = binding.var
            if key in numbers:
                by.variables[binding.var] = numbers[key]
                found[numbers[key]] = binding.var
        return found

    def finish(self, only: Sequence[e.Var] | None = None) -> None:
        """Lift all liftable bindings, or `only` some of them in their order."""
        if only is not None:
            liftable = {b.var: b for b in self.liftable}
            self.liftable = [liftable[var] for var in only]
            self.lifted = {var: liftable[var] for var in only if var in self.lifted}
        self.rest = _rest(self.fn, self.lifted)
        read = {x for x in exprs(self.rest) if isinstance(x, e.Var)}
        self.outputs = [var for var in (*self.weights, *self.lifted) if var in read]
        self.lengths = self._missing_lengths()

    @property
    def weights(self) -> tuple[e.Var, ...]:
        """The parameters that are weights."""
        return self.fn.params[self.count :]

    def _collect(self, shared: bool) -> None:
        known: set[e.Expr] = set(self.weights)
        on_weights = set(known)
        lengths = set() if shared else set(_lengths(w.struct_info for w in self.weights))
        for block in self.fn.body.blocks:
            for binding in block.bindings if type(block) is e.DataflowBlock else ():
                read = set(variables(binding.value))
                is_cast = shared and type(binding) is e.MatchCast
                if binding.var is None or is_cast or not read <= known or not _is_plain(binding, lengths):
                    continue
                self.liftable.append(binding)
                known.add(binding.var)
                if not read.isdisjoint(on_weights):
                    on_weights.add(binding.var)
                    self.lifted[binding.var] = binding

    def _missing_lengths(self) -> tuple[p.PrimVar, ...]:
        """The lengths that the function reads, and that only weights tell which are no parameters any more."""
        used = {dim for x in exprs(self.rest) for dim in _lengths([x.struct_info])}
        used |= {dim for b in bindings(self.rest) for dim in _lengths(stated_infos(b))}
        used |= set(_lengths([self.fn.ret_struct_info]))
        told = _told([*self.fn.params[: self.count], *self.outputs])
        return tuple([dim for dim in _told(self.weights) if dim in used and dim not in told])


def _told(params: Iterable[e.Var]) -> dict[p.PrimVar, None]:
    """The lengths that parameters tell, in order."""
    return dict.fromkeys(dim for info in infos_of(params) for dim in defined_dims(info))


def _rest(fn: e.Function, lifted: Container[e.Var | None]) -> e.Function:
    """A function without bindings, and without blocks that become empty."""
    blocks = []
    for block in fn.body.blocks:
        kept = tuple([b for b in block.bindings if b.var not in lifted])
        if kept:
            blocks.append(block if len(kept) == len(block.bindings) else replace(block, bindings=kept))
    return replace(fn, body=replace(fn.body, blocks=tuple(blocks)))


def _lengths(infos: Iterable[s.StructInfo | None]) -> Iterator[p.PrimVar]:
    """The shape variables of StructInfo."""
    for info in infos:
        if info is not None:
            yield from all_dims(info)


def _is_plain(binding: e.Binding, lengths: set[p.PrimVar]) -> bool:
    """True for one operation, or a check, whose lengths the weights tell."""
    stack: list[e.Expr] = [binding.value]
    infos: list[s.StructInfo | None] = [*stated_infos(binding)]
    while stack:
        expr = stack.pop()
        if type(expr) in _OPAQUE or (type(expr) is e.OpRef and find_op(expr.name) is None):
            return False  # of an unknown operator, nobody can say what it reads or writes
        infos.append(expr.struct_info)
        stack.extend(operands(expr))
    return set(_lengths(infos)) <= lengths


def _without(lift: _Lift, at: PassSite) -> e.Function:
    """The function that takes transformed weights."""
    weights = set(lift.weights)
    new: dict[e.Var, e.Expr] = {
        var: e.Var(var.name, var.struct_info, var.span) for var in lift.outputs if var not in weights
    }
    params: list[e.Expr] = [var if var in weights else new[var] for var in lift.outputs]
    if lift.lengths:
        name = FreshNames.of(lift.fn)("vars_from_compile_time_params")
        params.insert(0, e.Var(name, s.ShapeStructInfo(lift.lengths), lift.fn.span))
    result = Substitution(new).function(replace(lift.rest, params=lift.fn.params[: lift.count]))
    at.record_in_order(lift.rest, result)
    return replace(_bound(result), params=(*result.params, *params), struct_info=None)


def _bound(fn: e.Function) -> e.Function:
    """The function with a variable as its result; TVM binds a tuple that is written as the result."""
    body = fn.body
    if type(body.body) is not e.Tuple or not body.body.fields:
        return fn
    var = e.Var(FreshNames.of(fn)("gv", "_"), body.body.struct_info, body.body.span)
    binding = e.VarBinding(var, body.body, None, body.body.span)
    blocks = body.blocks
    if blocks and type(blocks[-1]) is e.BindingBlock:
        last = replace(blocks[-1], bindings=(*blocks[-1].bindings, binding))
        return replace(fn, body=replace(body, blocks=(*blocks[:-1], last), body=var))
    return replace(fn, body=replace(body, blocks=(*blocks, e.BindingBlock((binding,))), body=var))


def _transform(lift: _Lift, at: PassSite) -> e.Function:
    """The function that computes the transformed weights."""
    values, leaves = _simplified(lift)
    live = _live(values, [leaves.get(var, var) for var in lift.outputs])
    infos = _bundled(lift, live) if at.as_tvm else infos_of(lift.weights)
    bundle = e.Var("model_params", s.TupleStructInfo(infos), lift.fn.span)
    build = BlockBuilder(at.editor, (bundle,), record=at.record)
    build.names.take([b.var.name for b in live if b.var is not None])
    inner: dict[e.Expr, e.Expr] = {}  # the variables in the new function
    numbers: dict[e.Expr, int] = {w: n for n, w in enumerate(lift.weights)}

    def read(expr: e.Expr) -> e.Expr:
        number = numbers.get(expr)
        if number is not None and isinstance(expr, e.Var):
            return build.emit(e.TupleGetItem(bundle, number), expr.name)
        return inner.get(expr) or map_operands(expr, read)

    for binding in lift.lifted.values():
        if binding not in live:
            at.record(binding)
    attrs = Attrs({"num_input": 0, "global_symbol": ""})
    if not lift.lengths and (tuple(lift.outputs) == tuple(lift.weights) or not lift.outputs):
        result: e.Expr = bundle if lift.outputs else e.Tuple((), s.TupleStructInfo(()))
        return build.emit_func_output(result, pure=True, attrs=attrs)
    with build.dataflow():
        copies = _emit(lift, live, build, read, inner, numbers)
        fields = [copies.get(var) or read(leaves.get(var, var)) for var in lift.outputs]
        if lift.lengths:
            fields.insert(0, m.shape(lift.lengths))
        result = build.emit_output(e.Tuple(tuple(fields)), "output_tuple")
    return build.emit_func_output(result, pure=True, attrs=attrs)


def _emit(
    lift: _Lift,
    live: Mapping[e.Binding, e.Expr],
    build: BlockBuilder,
    read: Callable[[e.Expr], e.Expr],
    inner: dict[e.Expr, e.Expr],
    weights: Container[e.Expr],
) -> dict[e.Var, e.Expr]:
    """Emit the bindings that are `live`. Returns the outputs that are copies of weights, with what is read for them."""
    copies, reads, places = _copies(lift, weights), dict[_Read, e.Expr](), dict[e.Var, list[_Read]]()
    for copy in sorted({*copies.values()}, key=itemgetter(1)):
        places.setdefault(copy[0], []).append(copy)
    for binding in lift.liftable:
        assert binding.var is not None  # `liftable` has no others
        for copy in places.get(binding.var, ()):
            reads[copy] = read(copy[2])
        if binding not in live:
            continue
        with build.inherit(binding):
            var = e.DataflowVar(binding.var.name, binding.var.struct_info, binding.var.span)
            build.add(replace(binding, var=var, value=read(live[binding])))
            inner[binding.var] = var
    return {var: reads[copy] for var, copy in copies.items()}


_Read = tuple[e.Var, int, e.Expr]
"""Where a copied weight is read: at the binding of this variable, and in which field of a tuple; and the weight."""


def _copies(lift: _Lift, weights: Container[e.Expr]) -> dict[e.Var, _Read]:
    """The outputs that are copies of weights, each with the first copy: a weight is read there, as in TVM."""
    first: dict[e.Expr, _Read] = {}
    tuples: dict[e.Expr, tuple[e.Var, e.Tuple]] = {}
    for binding in lift.liftable:
        var, value = binding.var, binding.value
        if type(binding) is not e.VarBinding or var is None:
            continue
        place, index = var, 0
        if type(value) is e.Tuple:
            tuples[var] = var, value
        elif value in tuples:
            tuples[var] = tuples[value]
        elif type(value) is e.TupleGetItem and value.tuple in tuples:
            (place, known), index = tuples[value.tuple], value.index
            value = known.fields[index]
        if value in first:
            first[var] = first[value]
        elif value in weights:
            first[var] = place, index, value
    return {var: first[var] for var in lift.outputs if var in first}


def _nameless(info: s.StructInfo) -> s.StructInfo:
    """The StructInfo of a weight without the name of a scalar."""
    return s.PrimStructInfo(info.dtype) if type(info) is s.PrimStructInfo else info


def _bundled(lift: _Lift, live: Iterable[e.Binding]) -> tuple[s.StructInfo, ...]:
    """The StructInfo of weights in a tuple: a scalar has no name there, unless it is a length of something else."""
    infos = infos_of(lift.weights)
    told = [info for info in infos if type(info) is not s.PrimStructInfo]
    named = {*_lengths([*told, *[info for binding in live for info in stated_infos(binding)]]), *lift.lengths}
    return tuple([_nameless(info) if named.isdisjoint(all_dims(info)) else info for info in infos])


def _simplified(lift: _Lift) -> tuple[dict[e.Binding, e.Expr], dict[e.Var, e.Expr]]:
    """The values of the bindings to move; and what replaces variables that are copies, constants, or fields of known tuples."""
    values: dict[e.Binding, e.Expr] = {}
    tuples: dict[e.Expr, e.Tuple] = {}
    by = Substitution()
    for binding in lift.liftable:
        assert binding.var is not None  # `liftable` has no others
        value = by.expr(binding.value)
        if type(value) is e.TupleGetItem and value.tuple in tuples:
            value = tuples[value.tuple].fields[value.index]
        if type(binding) is not e.MatchCast and isinstance(value, (e.Var, e.Constant)):
            by.variables[binding.var] = value
            continue
        if type(value) is e.Tuple:
            tuples[binding.var] = value
        values[binding] = value
    return values, by.variables


def _live(values: dict[e.Binding, e.Expr], outputs: Iterable[e.Expr]) -> dict[e.Binding, e.Expr]:
    """The bindings that the outputs need, in order."""

    def note(binding: e.Binding, read: set[e.Expr]) -> None:
        read.update(variables(values[binding]))

    unread = set(unneeded(reversed(values), set(outputs), lambda binding: False, note))
    return {binding: value for binding, value in values.items() if binding not in unread}


# -- bundle model params ---------------------------------------------------------------------------------------------
# BundleModelParams: pass the parameters of a model as one tuple.


@module_pass(
    "BundleModelParams",
    requires=[NORMAL_FORM],
    invalidates=[CANONICAL_BINDINGS],
    changes={Kept.SIGNATURES: ALWAYS},
)
def bundle_model_params(
    module: IRModule,
    at: PassSite,
    *,
    param_tuple_name: Annotated[str, "the name of the new parameter"] = "model_params",
) -> IRModule:
    """Replace the parameters after the first `num_input` ones, an attribute of the function, by one tuple.

    `f(x, w, b)` with `num_input = 1` becomes `f(x, model_params)`. Each use of `w` reads `model_params[0]` in front of it, as in
    TVM. A function that the module itself calls stays.
    """
    called = mentioned_anywhere(module)
    for name, fn in module.relax_functions.items():
        count = fn.attrs.get("num_input")
        if isinstance(count, int) and name not in called:
            at.editor.replace(name, _in_one_tuple(fn, count, param_tuple_name, at))
    return at.editor.done()


def _in_one_tuple(fn: e.Function, count: int, name: str, at: PassSite) -> e.Function:
    """The function with a tuple of all parameters from number `count` on. A field is read in front of each use of a weight."""
    inputs, weights = fn.params[:count], fn.params[count:]
    numbers: dict[e.Expr, int] = {weight: number for number, weight in enumerate(weights)}
    bundle = e.Var(FreshNames.of(fn)(name), s.TupleStructInfo(infos_of(weights)), fn.span)

    def reading(build: BlockBuilder, expr: e.Expr) -> e.Expr:
        number = numbers.get(expr)
        if number is None or not isinstance(expr, e.Var):
            return map_operands(expr, lambda operand: reading(build, operand))
        return build.emit(e.TupleGetItem(bundle, number), expr.name)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if numbers.keys().isdisjoint(variables(binding.value)):
            return binding
        build = walk.front_of(binding)
        new = replace(binding, value=reading(build, binding.value))
        return (*build.bindings, new) if build.bindings else new

    named = replace(fn, params=(*fn.params, bundle))  # so that new variables have other names than weights
    return replace(rewrite(named, at, rule, reading), params=(*inputs, bundle), struct_info=None)
