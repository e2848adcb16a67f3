"""LambdaLift: make nested functions private functions of the module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from relax_explorer.core.check.call_graph import call_graph
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import as_told, call_dims
from relax_explorer.core.check.normalize_function import function_info
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.dataflow import Analysis, reachable, solve
from relax_explorer.core.ir.facts import Facts, facts, free_variables, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution, fresh_dims
from relax_explorer.core.ir.walk import (
    all_dims,
    bindings,
    defined_dims,
    exprs,
    functions_in,
    info_holders,
    infos_of,
    operands,
    sequences,
    stated_infos,
)
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.readings import NESTED
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.phases import machine_calls as m
from relax_explorer.core.phases.module_properties import (
    BUILTINS_LOWERED,
    CLOSURES_CONVERTED,
    NO_NESTED_FUNCTIONS,
    NORMAL_FORM,
    PURITY_ERASED,
    SHAPES_LOWERED,
    SYMBOLS_ATTACHED,
)
from relax_explorer.core.program.module import IRModule


@module_pass(
    "LambdaLift",
    rebuilds=True,
    reads=[NESTED],
    only_with=[NESTED],
    requires=[NORMAL_FORM],
    establishes=[NO_NESTED_FUNCTIONS, CLOSURES_CONVERTED],
    invalidates=[PURITY_ERASED, SYMBOLS_ATTACHED, BUILTINS_LOWERED, SHAPES_LOWERED],
)
def lambda_lift(module: IRModule, at: PassSite) -> IRModule:
    """Move nested functions into the module as private functions, named after the function around them.

    Captured variables become the last parameters. A function that captures nothing is called directly. Others become closures by
    `make_closure`, which `invoke_closure` calls, and `invoke_pure_closure` if they have no effects. A closure is an object: for a
    function of the module that takes it, a match_cast makes it a function again. A captured length that the parameters do not
    tell is passed as a shape. In the profile `tvm` a length that the body computes with is passed as a scalar, and one in StructInfo alone
    is not passed: the function has a length of its own; a result that was said to be a function still is; and every closure is called by
    `invoke_pure_closure`.
    """
    nesting = {name for name, fn in module.relax_functions.items() if len(functions_in(fn)) > 1}
    affected = nesting | _calling_makers(module, nesting)
    # Those that a new function holds anew, each once.
    at.shared["moved"] = moved = dict[e.Binding, e.Binding]()
    for name, fn in module.relax_functions.items():
        if name in affected:
            at.editor.replace(name, _Lifter(at, name, fn).function(fn))
    if moved:
        at.recorded.renew(moved, at.rule)
    return at.editor.done()


def _calling_makers(module: IRModule, nesting: set[str]) -> set[str]:
    """The functions that call one that returns a closure, where `nesting` are those with nested functions."""
    functions, callers = module.relax_functions, dict[str, list[str]]()
    makers = [name for name in nesting if _may_return_closure(functions[name])]
    for name, called in call_graph(module).items() if makers else ():
        for callee in called:
            callers.setdefault(callee, []).append(name)

    def passing_on(name: str) -> list[str]:
        return [caller for caller in callers.get(name, ()) if _may_return_closure(functions[caller])]

    return {caller for name in reachable(makers, passing_on) for caller in callers.get(name, ())}


def _may_return_closure(fn: e.Function) -> bool:
    return fn.ret_struct_info is not None and _open(fn.ret_struct_info) is not fn.ret_struct_info


class _Scopes:
    """Which function binds each shape variable, by the variable that holds the function; None is the outermost one."""

    def __init__(self) -> None:
        self.around: dict[e.Expr, e.Var | None] = {}
        self.functions: dict[e.Expr, e.Function] = {}
        self.binders: dict[p.PrimVar, set[e.Var | None]] = {}

    def add(self, fn: e.Function, own: e.Var | None) -> None:
        """Note a function and those in it."""
        self._note(own, *infos_of(fn.params))

        def transfer(own: e.Var | None, binding: e.Binding) -> e.Var | None:
            value = binding.value
            if type(binding) is e.MatchCast:
                self._note(own, binding.struct_info)
            elif type(value) is e.Function and binding.var is not None:
                self.around[binding.var], self.functions[binding.var] = own, value
                self._note(binding.var, *infos_of(value.params))
            return own

        def enter(own: e.Var | None, binding: e.Binding) -> list[tuple[e.SeqExpr, e.Var | None]]:
            scope = binding.var if type(binding.value) is e.Function else own
            return [(seq, scope) for seq in sequences(binding.value)]

        solve(Analysis(transfer, enter), fn.body, own)

    def _note(self, own: e.Var | None, *infos: s.StructInfo) -> None:
        for dim in [dim for info in infos for dim in defined_dims(info)]:
            self.binders.setdefault(dim, set()).add(own)

    def is_captured(self, dim: p.PrimVar, own: e.Var) -> bool:
        """True if a function around `own` binds a shape variable."""
        binders = self.binders.get(dim, ())
        scope = self.around.get(own)
        while scope is not None and scope not in binders:
            scope = self.around.get(scope)
        return scope in binders

    def binds(self, own: e.Var, dim: p.PrimVar) -> bool:
        """True if a function, or one in it, binds a shape variable."""
        for scope in self.binders.get(dim, ()):
            while scope is not None:
                if scope is own:
                    return True
                scope = self.around.get(scope)
        return False


class _Lifter:
    """Lifts the functions nested in one function."""

    def __init__(self, at: PassSite, name: str, fn: e.Function) -> None:
        self.at, self.name, self.fn = at, name, fn
        self.names = FreshNames.of(fn)
        # Objects that hold closures now, with the StructInfo of these.
        self.closures: dict[e.Expr, s.StructInfo] = {}
        self.tuples: set[e.Expr] = set()  # tuples with closures
        self.open: set[e.Expr] = set()  # other tuples that may have closures
        self.impure: set[e.Expr] = set()  # those whose functions have effects
        self.scopes = _Scopes()
        self.scopes.add(fn, None)
        # The nested functions in which the walk finds nothing to lift.
        self.unchanged: set[e.Expr] = set(functions_in(fn)[1:])
        # The new functions that say less of their results than the nested ones did.
        self.vague: set[str] = set()

    @cached_property
    def facts(self) -> Facts:
        """The facts of the function. Only functions that capture nothing but lengths ask for them."""
        return facts(self.fn)

    def function(self, fn: e.Function) -> e.Function:
        """The function with calls of functions of the module, and closures, where it had nested functions."""
        new = rewrite(fn, self.at, self._rule)
        result = new.ret_struct_info and _open(new.ret_struct_info)
        if result is not new.ret_struct_info and not self.at.as_tvm:
            return replace(new, ret_struct_info=result)
        return new

    def _rule(self, walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is e.Function and type(binding) is e.VarBinding:
            return self._lift(walk, binding, value)
        casts: list[e.Binding] = []
        if type(value) is e.Call and value.op in self.closures:
            info = (
                binding.var.struct_info if self.at.as_tvm and binding.var is not None else value.struct_info
            )
            is_pure = self.at.as_tvm or value.op not in self.impure
            binding = replace(binding, value=_invoked(value, info, is_pure))
        elif self.closures and type(value) is e.Call and isinstance(value.op, (e.GlobalVar, e.Var)):
            casts, binding = self._cast(walk, binding)
        if type(binding) is e.VarBinding:
            if self.closures and type(value) is not e.Call and any(map(self._holds, variables(value))):
                self._note_tuple(binding.var, self.tuples)
                binding = replace(binding, annotation=self._said_of_others(binding))  # it speaks of functions
            if type(value) is e.GlobalVar and value.name in self.vague:
                binding = replace(binding, annotation=None)
            if isinstance(binding.var.struct_info, s.TupleStructInfo) and self._may_hold(value):
                self._note_tuple(binding.var, self.open)
            binding = self._holding(walk, binding)
        return (*casts, binding) if casts else binding

    def _said_of_others(self, binding: e.VarBinding) -> s.StructInfo | None:
        """What TVM's annotation of a tuple of closures says of other functions in it; None if it says nothing."""
        said, fields = binding.annotation, operands(binding.value)
        if not self.at.as_tvm or type(said) is not s.TupleStructInfo or type(binding.value) is not e.Tuple:
            return None
        others = [
            isinstance(info, s.FuncStructInfo) and isinstance(field, e.Var) and not self._holds(field)
            for info, field in zip(said.fields, fields, strict=True)
        ]
        have = infos_of(fields)
        infos = [info if kept else own for info, own, kept in zip(said.fields, have, others, strict=True)]
        return s.TupleStructInfo(tuple(infos)) if any(others) else None

    def _holding(self, walk: Rewriter, binding: e.VarBinding) -> e.VarBinding:
        """The binding; if it may hold a closure, its variable is an object from now on."""
        value = binding.value
        stated = type(value) is e.Call and type(value.op) in (e.ExternFunc, e.OpRef)
        if (
            not isinstance(binding.var.struct_info, s.FuncStructInfo)
            or (stated and binding.var.struct_info is value.struct_info)
            or not self._may_hold(value)
        ):
            return binding
        return e.VarBinding(self._closure(walk, binding.var), value, None, binding.span)

    def _closure(self, walk: Rewriter, var: e.Var) -> e.Var:
        """The object that holds a closure in place of a variable."""
        new = e.var_like(var, s.OBJECT)
        walk.rename(var, new)
        self.closures[new] = var.struct_info or s.OBJECT
        if isinstance(var.struct_info, s.FuncStructInfo) and not var.struct_info.pure:
            self.impure.add(new)
        return new

    def _note_tuple(self, var: e.Var, tuples: set[e.Expr]) -> None:
        info = var.struct_info
        if info is not None and _open(info) is not info:  # other fields of such a tuple are no closures
            tuples.add(var)

    def _may_hold(self, value: e.Expr) -> bool:
        """True if a value may be a closure. A function of the module is none, and neither is a parameter."""
        if type(value) is e.If:
            return any([self._may_hold(branch.body) for branch in sequences(value)])
        if type(value) is e.Tuple:
            return any(map(self._may_hold, value.fields))
        source = value.tuple if type(value) is e.TupleGetItem else value
        return type(source) is e.Call or source in self.open or self._holds(source) or self._captures(source)

    def _captures(self, var: e.Expr) -> bool:
        """True for a function that refers to itself, and to variables or lengths around it."""
        fn = self.scopes.functions.get(var)
        if fn is None or not isinstance(var, e.Var):
            return False
        captured = self._captured(var, fn)
        return bool(captured or self._lengths(var, fn, captured, _dims_of(fn)))

    def _captured(self, own: e.Var, fn: e.Function) -> tuple[e.Var | p.PrimVar, ...]:
        """The variables that a function captures, but for itself; in the profile `tvm` with the lengths that it computes with."""
        free = dict.fromkeys([var for var in free_variables(fn) if var is not own])
        if not self.at.as_tvm:
            return tuple(free)
        found: dict[e.Var | p.PrimVar, None] = {}
        for expr in _in_order(fn):
            if isinstance(expr, e.Var) and expr in free:
                found[expr] = None
            for dim in [dim for part in _lengths_in(expr) for dim in p.free_vars(part)]:
                if self.scopes.is_captured(dim, own) and not self.scopes.binds(own, dim):
                    found[dim] = None
        return tuple({**found, **free} if len(found) > len(free) else free)

    def _holds(self, var: e.Expr) -> bool:
        return var in self.closures or var in self.tuples

    def _held(self, leaf: e.Expr) -> s.StructInfo | None:
        """The StructInfo with functions of an operand that holds closures now."""
        if type(leaf) is e.Tuple:
            fields = [self._held(field) for field in leaf.fields]
            if not any(fields):
                return None
            known = zip(fields, leaf.fields, strict=True)
            return s.TupleStructInfo(tuple([held or field.struct_info or s.OBJECT for held, field in known]))
        return leaf.struct_info if leaf in self.tuples else self.closures.get(leaf)

    def _cast(self, walk: Rewriter, binding: e.Binding) -> tuple[list[e.Binding], e.Binding]:
        """The call of a function, and match_casts in front of it: what it takes for functions are objects now."""
        call, casts = binding.value, list[e.Binding]()
        assert type(call) is e.Call
        args = list(call.args)
        kind = e.DataflowVar if type(walk.block) is e.DataflowBlock else e.Var
        for number, arg in enumerate(args):
            held = self._held(arg)
            if held is not None:
                var = kind(self.names(getattr(arg, "name", "fields")), held, call.span)
                casts.append(e.MatchCast(var, arg, held, None, call.span))
                args[number] = var
        if not casts:
            return casts, binding
        return casts, replace(binding, value=replace(call, args=tuple(args)))

    def _lift(self, walk: Rewriter, binding: e.VarBinding, fn: e.Function) -> Answer:
        own = binding.var
        free = free_variables(fn)
        captured = self._captured(own, fn)
        dims = _dims_of(fn) + [
            dim for var in _values(captured) for dim in all_dims(var.struct_info or s.OBJECT)
        ]
        lengths = self._lengths(own, fn, captured, dims)
        # The function mentions its own name, so the name is taken first.
        name = self.at.editor.fresh_name(f"{self.name}_{own.name}")
        args: list[e.Expr] = [m.number(item) if isinstance(item, p.PrimVar) else item for item in captured]
        args += [m.shape(lengths)] if lengths else []
        lifted = self._lifted(fn, own if own in free else None, name, captured, lengths, dims)
        reference = self.at.editor.add_named(name, lifted)
        if not args:
            walk.rename(own, reference)
            return ()
        value = m.operation("relax.make_closure", (reference, e.tuple_of(tuple(args))), s.OBJECT, fn)
        return e.VarBinding(self._closure(walk, own), value, None, binding.span)

    def _lengths(
        self, own: e.Var, fn: e.Function, captured: tuple[e.Var | p.PrimVar, ...], dims: list[p.PrimVar]
    ) -> tuple[p.PrimVar, ...]:
        """The captured shape variables whose values the parameters of the lifted function would not tell, or not check."""
        used = [] if self.at.as_tvm else [dim for dim in dims if self.scopes.is_captured(dim, own)]
        if used:
            told = {dim for var in _values(captured) for dim in defined_dims(var.struct_info or s.OBJECT)}
            used = [dim for dim in used if dim not in told]
        if not used or (not captured and self._fits(own, fn, used)):
            return ()
        return tuple(dict.fromkeys(used))

    def _fits(self, own: e.Var, fn: e.Function, used: list[p.PrimVar]) -> bool:
        """True if every use of a function is a call whose arguments have the captured lengths."""
        params = infos_of(fn.params)
        told = {dim for info in params for dim in defined_dims(info)}
        if not told.issuperset(used):
            return False
        for number in self.facts.users(own):
            call = self.facts.bindings[number].value if number < len(self.facts.bindings) else None
            if type(call) is not e.Call or call.op is not own or own in call.args:
                return False
            dims = call_dims(fn.params, call.args)
            if any(dims.get(dim) is not dim for dim in used):
                return False
        return True

    def _lifted(
        self,
        fn: e.Function,
        own: e.Var | None,
        name: str,
        captured: tuple[e.Var | p.PrimVar, ...],
        lengths: tuple[p.PrimVar, ...],
        dims: list[p.PrimVar],
    ) -> e.Function:
        """The function of the module: captured values are its last parameters, and it calls itself by its name, if it reads `own`."""
        copies = _copies(captured)
        renewed = fresh_dims(dict.fromkeys(dims))
        extra = [copies[item] if isinstance(item, e.Var) else _scalar(item) for item in captured]
        if lengths:
            extra.append(e.Var(self.names("lengths"), s.ShapeStructInfo(lengths)))
        attrs = fn.attrs.without("global_symbol") if "global_symbol" in fn.attrs else fn.attrs
        whole = _comparing_inside(fn)
        result = whole.ret_struct_info and _open(whole.ret_struct_info)
        if self.at.as_tvm and renewed:
            told_by = [param.struct_info for param in whole.params]
            said = result
            result = None if result is None or (captured and own is None) else as_told(result, told_by)
            if result != said:
                self.vague.add(name)
        params = (*whole.params, *extra)
        whole = replace(whole, params=params, ret_struct_info=result, attrs=attrs, struct_info=None)
        if own is not None:
            whole = _calling_itself(whole, own, e.GlobalVar(name), tuple(extra), self.at)
        before = whole
        if self.at.as_tvm and copies:
            whole = rewrite(whole, PassSite(self.at.module), _without_annotation)
        if copies or renewed:
            whole = Substitution(dict(copies), dict(renewed)).function(whole)
            if fn not in self.unchanged:  # the walk recorded bindings of it
                pairs = zip(bindings(before), bindings(whole), strict=True)
                self.at.shared["moved"].update([(old, new) for old, new in pairs if old is not new])
        is_known = own is None and not (renewed and self.at.as_tvm) and all(map(_is_tensor, captured))
        return self._settled(fn, whole) if is_known and fn in self.unchanged else whole

    def _settled(self, fn: e.Function, whole: e.Function) -> e.Function:
        """The lifted function with the StructInfo that follows from what was known of it: nothing in it changed."""
        info = fn.struct_info
        if not isinstance(info, s.FuncStructInfo):
            return whole
        return replace(whole, struct_info=function_info(whole, info.pure))


def _copies(captured: tuple[e.Var | p.PrimVar, ...]) -> dict[e.Var, e.Var]:
    """The parameters for captured variables.

    A captured length is a parameter itself, and then another one than the length of a captured tensor: nothing compares them.
    """
    scalars = [item for item in captured if isinstance(item, p.PrimVar)]
    apart = Substitution({}, fresh_dims(scalars))
    return {var: e.Var(var.name, apart.info(var.struct_info), var.span) for var in _values(captured)}


def _in_order(fn: e.Function) -> Iterator[e.Expr]:
    """The expressions of a function, operands from left to right."""
    for binding in bindings(fn):
        todo = [*[seq.body for seq in sequences(binding.value)], binding.value]
        while todo:
            yield (expr := todo.pop())
            todo.extend(reversed(operands(expr)))
    yield fn.body.body


def _values(captured: tuple[e.Var | p.PrimVar, ...]) -> list[e.Var]:
    return [item for item in captured if isinstance(item, e.Var)]


def _scalar(dim: p.PrimVar) -> e.Var:
    return e.Var(dim.name, s.PrimStructInfo(dim.dtype, dim))


def _is_tensor(var: e.Var | p.PrimVar) -> bool:
    if isinstance(var, p.PrimVar):
        return False
    return type(var.struct_info) is s.TensorStructInfo and type(var.struct_info.shape) is tuple


def _comparing_inside(fn: e.Function) -> e.Function:
    """The function with match_casts of parameters whose shapes captured variables hold: these come after the parameters now."""
    params, casts = list(fn.params), []
    renamed: dict[e.Var, e.Expr] = {}
    for number, param in enumerate(fn.params):
        info = param.struct_info
        if info is not None and info_holders(info):
            params[number] = e.var_like(param, s.OBJECT)
            renamed[param] = new = e.Var(param.name, info, param.span)
            casts.append(e.MatchCast(new, params[number], info))
    if not casts:
        return fn
    body = Substitution(renamed).sequence(fn.body)
    start = e.BindingBlock(tuple(casts))
    return replace(fn, params=tuple(params), body=replace(body, blocks=(start, *body.blocks)))


def _calling_itself(
    fn: e.Function, own: e.Var, reference: e.GlobalVar, extra: tuple[e.Var, ...], at: PassSite
) -> e.Function:
    """The function with calls of itself by its name. A closure that passes itself on makes itself first."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is e.Call and value.op is own and own not in value.args:
            return replace(binding, value=replace(value, op=reference, args=(*value.args, *extra)))
        return binding

    new = rewrite(fn, PassSite(at.module), rule)
    if not any(var is own for expr in exprs(new) for var in (expr,)):
        return new
    if not extra:
        return Substitution({own: reference}).function(new)
    itself = e.Var(own.name, s.OBJECT, own.span)
    closure = m.operation("relax.make_closure", (reference, e.tuple_of(extra)), s.OBJECT)
    new = Substitution({own: itself}).function(new)
    start = e.BindingBlock((e.VarBinding(itself, closure),))
    return replace(new, body=replace(new.body, blocks=(start, *new.body.blocks)))


def _invoked(call: e.Call, info: s.StructInfo | None, pure: bool) -> e.Call:
    """The call of a closure in place of the call of a variable, with a result of this StructInfo."""
    name = "relax.invoke_pure_closure" if pure else "relax.invoke_closure"
    result = s.OBJECT if info is None or isinstance(info, s.FuncStructInfo) else info
    return e.Call(
        e.op_ref(name), (call.op, e.tuple_of(call.args)), EMPTY, (result,), struct_info=result, span=call.span
    )


def _without_annotation(walk: Rewriter, binding: e.Binding) -> Answer:
    return replace(binding, annotation=None) if type(binding) is e.VarBinding else binding


def _dims_of(fn: e.Function) -> list[p.PrimVar]:
    """The shape variables in the signature and the body of a function."""
    infos = [*infos_of(fn.params), fn.ret_struct_info or s.OBJECT]
    infos += [info for binding in bindings(fn) for info in stated_infos(binding)]
    told = [dim for info in dict.fromkeys(infos) for dim in all_dims(info)]
    parts = [part for expr in exprs(fn) for part in _lengths_in(expr)]
    return list(dict.fromkeys([*told, *[dim for part in parts for dim in p.free_vars(part)]]))


def _lengths_in(expr: e.Expr) -> tuple[p.PrimExpr, ...]:
    if type(expr) is e.ShapeExpr:
        return expr.values
    return (expr.value,) if type(expr) is e.PrimValue else ()


def _open(info: s.StructInfo) -> s.StructInfo:
    if isinstance(info, s.FuncStructInfo):
        return s.OBJECT
    if isinstance(info, s.TupleStructInfo):
        fields = tuple(map(_open, info.fields))
        return info if fields == info.fields else s.TupleStructInfo(fields)
    return info
