"""Bindings that go: those that nothing reads (DeadCodeElimination), and those that compute a value again (EliminateCommonSubexpr)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.cache_effects import is_new
from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.purity import has_effect, impure_calls, is_impure
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dataflow import reachable, unneeded
from relax_explorer.core.ir.facts import facts, free_variables, signature_holders, variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import WITH_BLOCKS, bindings, contents, info_vars, operands, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.passes.contract import Kept, PassSite, bad_option, function_pass, module_pass
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.program.equal import structural_equal
from relax_explorer.core.program.hash import Hasher, data_digest
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

# -- liveness --------------------------------------------------------------------------------------------------------
# The live bindings of a function: those that its result or an effect reads.


KILLS = ("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object")


def killed(fn: e.Function) -> frozenset[e.Expr]:
    """The variables whose life an explicit kill ends. A copy of one lives on: the kill empties one register of the machine."""
    has_kills = not contents(fn).operators.isdisjoint(_KILL_OPS)  # hardly ever
    return _KILLED.of(fn, _killed) if has_kills else frozenset()


_KILLED: PerNode[frozenset[e.Expr]] = PerNode()
_KILL_OPS = frozenset(map(e.op_ref, KILLS))


def _killed(fn: e.Function) -> frozenset[e.Expr]:
    calls = [b.value for b in bindings(fn) if type(b.value) is e.Call and b.value.op in _KILL_OPS]
    return frozenset(arg for call in calls for arg in operands(call)[1:])


def unread_in_graphs(fn: e.Function) -> set[e.Binding] | None:
    """The bindings without effects that nothing reads, found in one sweep from the end. None where that does not tell enough.

    So it is with branches and nested functions, with unread bindings outside of dataflow blocks, which may stop a run, and with
    variables that are read in front of their bindings.
    """
    return _UNREAD.of(fn, _unread_in_graphs)


_UNREAD: PerNode[set[e.Binding] | None] = PerNode()


def _unread_in_graphs(fn: e.Function) -> set[e.Binding] | None:
    if not WITH_BLOCKS.isdisjoint(contents(fn).values):
        return None
    read: set[e.Expr] = set(variables(fn.body.body))
    unread: set[e.Binding] = set()
    for block in reversed(fn.body.blocks):
        here = unneeded(reversed(block.bindings), read, _does_something)
        if here and type(block) is not e.DataflowBlock:
            return None
        unread.update(here)
    return None if any(binding.var in read for binding in unread) else unread


def _does_something(binding: e.Binding) -> bool:
    """True for a check, and for a call that may have an effect."""
    return type(binding) is e.MatchCast or is_impure(binding.value)


class _Place(NamedTuple):
    """The If or nested function that holds a block, and the innermost nested function around it. None at the top."""

    around: e.Binding | None = None
    owner: e.Binding | None = None


class _Placed(NamedTuple):
    """A binding, with the one that holds it."""

    binding: e.Binding
    holder: e.Binding | None


class Live:
    """The live bindings of a function: read by its result or by an effect, or kept anyway.

    What a nested function reads for its result, its effects or its checks is live even if nothing reads the function, and a
    function with effects is kept, as in TVM. Without `every_cast` a match_cast of a dataflow block is none of the checks, unless it may bind a
    shape variable: the language lets passes drop it (errata E-35).
    """

    def __init__(self, fn: e.Function, every_cast: bool = True) -> None:
        self.facts = facts(fn)
        self._every_cast = every_cast
        self.read: set[e.Var] = set()
        self.kept: set[e.Binding] = set()
        # Those that are not in dataflow blocks, which may lose errors (errata E-35), from the last one.
        self.outside: list[_Placed] = []
        # The match_casts that stay if the If or the function around them does, from the last one.
        self._casts: list[_Placed] = []
        self._effects: dict[e.Binding | None, list[e.Binding]] = {}  # by the nested function that they are in
        self._functions: list[e.Function] = [fn]
        self._collect(fn)
        for function in self._functions:
            self._mark(variables(function.body.body))
        for binding, around in self._casts:
            if around is not None and type(around.value) is e.Function:
                self._mark(self._operands(self.facts.number[binding]))
        for owner, effects in self._effects.items():
            for binding in (*effects, owner) if owner is not None else effects:
                self.keep(binding)

    def _collect(self, fn: e.Function) -> None:
        blocks = [(block, _Place()) for block in fn.body.blocks]
        while blocks:
            block, place = blocks.pop()
            inside = type(block) is e.DataflowBlock
            for binding in block.bindings:
                if type(binding) is e.MatchCast:
                    if not inside or self._every_cast or info_vars(binding.struct_info):
                        self._casts.append(_Placed(binding, place.around))
                    continue
                value = binding.value
                if type(value) in WITH_BLOCKS:
                    owner = binding if type(value) is e.Function else place.owner
                    self._functions += [value] if type(value) is e.Function else []
                    inner = [block for seq in sequences(value) for block in seq.blocks]
                    blocks += [(block, _Place(binding, owner)) for block in inner]
                if not inside:
                    self.outside.append(_Placed(binding, place.owner))
                if has_effect(value):
                    self._effects.setdefault(place.owner, []).append(binding)
        for placed in (self._casts, self.outside):
            placed.sort(key=lambda item: -self.facts.number[item.binding])

    def keep_casts(self) -> None:
        """Keep match_casts whose errors must stay: those of the function itself, and those in Ifs and functions that stay."""
        for binding, around in self._casts:  # it is known by now which Ifs later bindings read
            if around is None or self.stays(around):
                self.keep(binding)

    def stays(self, binding: e.Binding) -> bool:
        """True if a binding is live or kept."""
        return binding in self.kept or binding.var in self.read

    def keep(self, binding: e.Binding) -> None:
        """Keep a binding and what it reads."""
        self.kept.add(binding)
        if binding.var is not None:
            self.read.add(binding.var)  # a walk rebuilds the binding of an If when it drops something inside
        self._mark(self._operands(self.facts.number[binding]))

    def _mark(self, variables: list[e.Var]) -> None:
        stack = list(variables)
        while stack:
            var = stack.pop()
            if var in self.read:
                continue
            self.read.add(var)
            number = self.facts.defs.get(var, -1)
            if number >= 0:
                stack += self._operands(number)

    def _operands(self, number: int) -> list[e.Var]:
        """What a binding reads; of a nested function only its signature. What its body reads is marked by itself."""
        value = self.facts.bindings[number].value
        return signature_holders(value) if type(value) is e.Function else self.facts.operands[number]


# -- eliminate -------------------------------------------------------------------------------------------------------
# Bindings that go: those that nothing reads (DeadCodeElimination), and those that compute a value again
# (EliminateCommonSubexpr).


@module_pass(
    "DeadCodeElimination", rebuilds=True, changes={Kept.SIGNATURES: "entry_functions"}, requires=[NORMAL_FORM]
)
def eliminate_dead_code(
    module: IRModule,
    at: PassSite,
    *,
    entry_functions: Annotated[
        tuple[str, ...], "functions that count as called; all public ones by default"
    ] = (),
) -> IRModule:
    """Drop unread bindings without an effect, then uncalled private functions.

    A binding outside a dataflow block stays if it may stop the run, as the specification says; in the profile `tvm` it goes. As in
    TVM, every match_cast stays, also in dataflow blocks.
    `entry_functions` count as called; without them every public function does.
    One sweep from the end of each function finds the live bindings, in linear time. Raises Failure if one of the
    `entry_functions` is not in the module, or if none is public: then no function could be called from outside.
    """
    _check_entries(module, entry_functions)
    return drop_dead(at, entry_functions)


def _check_entries(module: IRModule, names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in module.functions]
    problem = f"names {unknown[0]!r}, which is not a function of the module" if unknown else ""
    public = [name for name, fn in module.functions.items() if "global_symbol" in getattr(fn, "attrs", ())]
    if names and public and set(names).isdisjoint(public):
        problem = problem or "names no public function"
    if problem:
        known = f"the public functions are {', '.join(public)}"
        help = known if public else "the module has no public function"
        raise bad_option(f"entry_functions {problem}", help)


def drop_dead(at: PassSite, entries: Collection[str] = ()) -> IRModule:
    """The module of `at` without unread bindings and uncalled private functions."""
    for name, fn in at.editor.done().relax_functions.items():
        at.editor.replace(name, drop_unread(fn, at))
    return drop_uncalled(at, entries)


def drop_uncalled(at: PassSite, entries: Collection[str] = ()) -> IRModule:
    """The module of `at` without the functions that the entries, by default all public ones, do not call."""
    module = at.editor.done()
    for name in module.functions.keys() - reached(module.functions, entries):
        at.editor.remove(name)
    return at.editor.done()


def drop_unread(fn: e.Function, at: PassSite) -> e.Function:
    """The function without unread bindings that have no effect. Those stay that may stop the run, unless the profile is `tvm`."""
    unread = unread_in_graphs(fn)
    if unread is not None:
        return without(fn, at, lambda binding: binding not in unread) if unread else fn
    keep_errors = not at.as_tvm
    live = Live(fn)
    live.keep_casts()
    may_stop = stopping(at.module).binding
    doubtful: list[e.Binding] = []
    for binding, owner in live.outside:
        if (owner is None or live.stays(owner)) and not live.stays(binding) and may_stop(binding):
            doubtful.append(binding)
            if keep_errors:
                live.keep(binding)
    doubtful.reverse()
    if doubtful:
        verb, it, them = ("is", "it", "it") if len(doubtful) == 1 else ("are", "they", "them")
        what = f"{verb} kept: {it}" if keep_errors else f"{verb} dropped although {it}"
        names = ", ".join(repr(b.var.name) for b in doubtful[:3] if b.var is not None)
        others = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
        text = f"{names}{others} {what} may stop the run, and nothing reads {them}"
        at.report.say(codes.STOPS_UNREAD, text, doubtful[0], help=codes.STOPS_UNREAD.fix)
    live.keep_casts()  # those in an If that is kept now

    if all(map(live.stays, live.facts.bindings)):
        return fn
    return without(fn, at, live.stays)


def reached(functions: Mapping[str, object], entries: Collection[str] = ()) -> set[str]:
    """The functions that the entries (by default all public ones) call, directly or through others, and the entries."""
    starts = [n for n, fn in functions.items() if (n in entries if entries else not _private(fn))]

    def called(name: str) -> Iterable[str]:
        fn = functions.get(name)
        return mentioned(fn) if type(fn) is e.Function else ()

    return set(reachable(starts, called))


def _private(fn: object) -> bool:
    return isinstance(fn, (e.Function, PrimFunc)) and fn.is_private


# -- eliminate common subexpr ----------------------------------------------------------------------------------------
# EliminateCommonSubexpr: compute an equal expression once.


@function_pass(
    "EliminateCommonSubexpr", rebuilds=True, requires=[NORMAL_FORM], invalidates=[CANONICAL_BINDINGS]
)
def eliminate_common_subexpr(
    fn: e.Function, at: PassSite, *, call_only: Annotated[bool, "merge calls only"] = False
) -> e.Function:
    """Let later bindings of an equal, pure expression read the first one's variable.

    Nested functions of the same structure and without effects are equal, too. Two values are kept apart if memory of their
    operands may be overwritten between them, or memory of their results afterwards. Outside of a dataflow block only its outputs
    are reused, and those of a function not in nested ones. With `call_only` only calls count. Nested functions still read the
    later one. The later binding stays as a copy, which CanonicalizeBindings removes. In the profile `tvm` it is not asked what
    overwrites memory, and equal Ifs are merged, too.
    """
    memory = None if at.as_tvm else aliases(at.module, at.function, fn)
    dead = killed(fn)  # a kill ends one variable; the other one lives on
    plain: dict[e.Expr, bool] = {}  # for each operator met so far, whether every call of it counts
    with_outputs: set[object] = set()  # keys with an output of their own

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if binding.var is None or binding.var in dead or not _counts(binding, call_only, memory, plain):
            return binding
        key = _key(binding)
        keys = (key, (_OUTPUT, key)) if key in with_outputs else (key,)
        known = [found for found in map(walk.lookup, keys) if found is not None]
        if not known:  # most often
            walk.note(key, _Known(binding.var, walk.block, walk.owner))
            return binding
        first = next(
            (found for found in known if _stands_for(found, walk, binding, binding.var, memory)), None
        )
        own = _Known(binding.var, walk.block, walk.owner)
        if first is None:
            walk.note(key, own)
            return binding
        if type(first.var) is e.DataflowVar and type(binding.var) is e.Var and len(known) == 1:
            with_outputs.add(key)
            walk.note((_OUTPUT, key), own)
        if type(binding.var) is e.DataflowVar or type(walk.block) is not e.DataflowBlock:
            walk.rename_here(binding.var, first.var)
        else:
            walk.rename_in_block(binding.var, first.var)
        return e.VarBinding(binding.var, first.var, binding.annotation, binding.span)

    return rewrite(fn, at, rule)


_OUTPUT = "output"  # the key of the output of a dataflow block whose first variable ends with it


@dataclass(slots=True)
class _Known:
    """The variable of a reusable binding, with its block and its function."""

    var: e.Var
    block: e.BindingBlock | None
    owner: e.Function | None


def _counts(binding: e.Binding, call_only: bool, memory: Aliases | None, plain: dict[e.Expr, bool]) -> bool:
    value = binding.value
    if type(value) is e.Function:
        return not call_only and _is_typed_by_itself(binding) and next(impure_calls(value), None) is None
    if type(value) is e.If:
        return memory is None and not call_only and next(impure_calls(_as_function(value)), None) is None
    if type(value) is not e.Call or type(binding) is e.MatchCast:
        return not call_only and (type(binding) is e.MatchCast or type(value) in _VALUES)
    op = value.op
    if op not in plain:
        plain[op] = _is_plain(op)
    if plain[op] or is_impure(value) or _allocates(value):
        return plain[op]
    return memory is None or not memory.effect(value).writes


def _as_function(value: e.If) -> e.Function:
    """A function that computes an If, for comparing it."""
    var = e.Var("value", value.struct_info)
    return e.Function((), e.SeqExpr((e.BindingBlock((e.VarBinding(var, value),)),), var), value.struct_info)


def _is_typed_by_itself(binding: e.Binding) -> bool:
    """True if the variable has the type of its value: the types of equal functions are equal then, up to names of lengths."""
    return binding.var is not None and binding.var.struct_info is binding.value.struct_info


_VALUES = (
    e.Tuple, e.TupleGetItem, e.Var, e.DataflowVar, e.Constant, e.ShapeExpr, e.PrimValue, e.StringImm, e.DataTypeImm,
)  # fmt: skip


def _is_plain(op: e.Expr) -> bool:
    """True if no call of an operator changes anything, and equal calls may return the same memory."""
    declared = find(op.name) if type(op) is e.OpRef else None
    if declared is None or declared.calls_first():
        return False  # the effect is that of the callee
    return declared.pure and not declared.overwritten() and not declared.allocates


def _allocates(value: e.Call) -> bool:
    """True if each call must return new memory, even for equal calls."""
    declared = find(value.op.name) if type(value.op) is e.OpRef else None
    return (declared is not None and declared.allocates) or is_new(value)


def _stands_for(
    first: _Known, walk: Rewriter, binding: e.Binding, var: e.Var, memory: Aliases | None
) -> bool:
    """True if readers of `var` may read `first`, which has equal operands. Nested functions compute their values themselves."""
    known = first.var
    value = type(binding.value)
    if first.owner is not walk.owner or (
        known.struct_info is not var.struct_info and value is not e.Function
    ):
        return False
    if type(known) is e.DataflowVar and first.block is not walk.block:
        return False
    if memory is None or (value is not e.Call and value is not e.Constant):
        return True  # equal tuples, fields and casts hold the same values
    if memory.written(known, after=known) or memory.written(var, after=known):
        return False
    return value is e.Constant or not memory.written_between(variables(binding.value), known, var)


def _key(binding: e.Binding) -> Hashable:
    """A key that is equal for bindings of equal values."""
    value = value_key(binding.value)
    return (e.MatchCast, value, binding.struct_info) if type(binding) is e.MatchCast else value


def value_key(expr: e.Expr) -> Hashable:
    """A key that is equal for equal expressions over the same leaves. It is hashed once and recurses only into tuples."""
    return _KEYS[type(expr)](expr)


def _call_key(expr: e.Call) -> tuple[object, ...]:
    args = expr.args
    if type(expr.op) is e.OpRef and _VARS.issuperset(map(type, args)):  # most often
        return (expr.op, expr.attrs, expr.sinfo_args, *args)
    return (value_key(expr.op), expr.attrs, expr.sinfo_args, *[value_key(arg) for arg in args])


_VARS = frozenset((e.Var, e.DataflowVar))


def _constant_key(expr: e.Constant) -> Hashable:
    if expr.data is None:
        return (e.Constant, expr.key)
    return (e.Constant, str(expr.data.dtype), expr.data.shape, data_digest(expr.data))


_HASHES: PerNode[int] = PerNode()


class _FunctionHasher(Hasher):
    """Hashes a nested function. It takes the hashes of those inside as they are, so that all together take linear time."""

    def __init__(self) -> None:
        super().__init__()
        self.is_inside = False

    def function(self, value: e.Function) -> None:
        """Add the function itself, or one inside. That may call a scalar parameter of one around it by its other name."""
        if self.is_inside and not self.scalars:
            self.token(_hash(value))
            for var in free_variables(value):
                self.number(var)
        else:
            self.is_inside = True
            super().function(value)


def _hash(fn: e.Function) -> int:
    return _HASHES.of(fn, lambda fn: _FunctionHasher().hash(fn))


class _FunctionKey:
    """A nested function by its structure: functions with other names of their own variables are equal."""

    __slots__ = ("_hash", "function")

    def __init__(self, function: e.Function) -> None:
        self.function, self._hash = function, _hash(function)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FunctionKey) and structural_equal(self.function, other.function)


class _IfKey:
    """An If by its structure. Its hash tells the outermost bindings of its branches and what they read from around it.

    Nested ones are left out, so that a tower of Ifs takes linear time.
    """

    __slots__ = ("_hash", "value")

    def __init__(self, value: e.If) -> None:
        self.value = value
        inside = [b for seq in sequences(value) for block in seq.blocks for b in block.bindings]
        own = {b.var for b in inside}
        told: list[object] = [value_key(value.condition)]
        for binding in inside:
            told.append(type(binding.value))
            for part in operands(binding.value):
                is_alike = type(part) is e.OpRef or (isinstance(part, e.Var) and part not in own)
                told.append(part if is_alike else type(part))
        self._hash = hash(tuple(told))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IfKey) and structural_equal(
            _as_function(self.value), _as_function(other.value)
        )


_KEYS: dict[type, Callable[[Any], Hashable]] = {
    e.Function: _FunctionKey,
    e.If: _IfKey,
    e.Var: lambda x: x,
    e.DataflowVar: lambda x: x,
    e.GlobalVar: lambda x: (e.GlobalVar, x.name),
    e.ExternFunc: lambda x: (e.ExternFunc, x.name),
    e.OpRef: lambda x: x,
    e.Constant: _constant_key,
    e.ShapeExpr: lambda x: (e.ShapeExpr, x.values),
    e.PrimValue: lambda x: (e.PrimValue, x.value),
    e.StringImm: lambda x: (e.StringImm, x.value),
    e.DataTypeImm: lambda x: (e.DataTypeImm, x.value),
    e.Tuple: lambda x: (e.Tuple, *[value_key(field) for field in x.fields]),
    e.TupleGetItem: lambda x: (e.TupleGetItem, value_key(x.tuple), x.index),
    e.Call: _call_key,
}
