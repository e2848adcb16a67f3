"""Infer the StructInfo of expressions in normal form: operators by their rules, calls by signature, the rest by structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from relax_explorer.core.arith.prove import prover_in_use
from relax_explorer.core.check import arguments, prim_funcs
from relax_explorer.core.check.arguments import (
    depends_on_missing,
    explained,
    operand_problem,
    problem,
    with_numbers,
)
from relax_explorer.core.check.call_graph import Callees, Context, default_derive, derived
from relax_explorer.core.check.compatible import erase, match_dims, unify
from relax_explorer.core.check.matching import bound_dims, holds_function, is_closed, pinned
from relax_explorer.core.check.normal_form import (
    SIMPLE,
    call_key,
    is_simple_tuple,
    names_no_variable,
    seen_by_rules,
)
from relax_explorer.core.check.wildcards import Wildcards, blurred, opened, renewed, simplified, wildcards_in
from relax_explorer.core.codes import internal
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.codes import syntax as syntax_codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.fold import overflowing
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import info_holders, info_vars, substitute_info
from relax_explorer.core.ops import edition, find
from relax_explorer.core.ops.distributed.division import check_distributed, placed
from relax_explorer.core.ops.kit.decl import InferFailure, Kind, Op, Site
from relax_explorer.core.ops.kit.rules import on_device
from relax_explorer.core.ops.machine.call import CallKernel

_NO_DIMS: frozenset[p.PrimVar] = frozenset()
EXTERN = s.FuncStructInfo(None, s.OBJECT, False, "default_derive")
_UNASKED = object()
_FAULTS = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)
Signature = Callable[[str], s.StructInfo | None]


class Inferrer:
    """Derives StructInfo and reports problems. A consequence of a wrong value is not reported again."""

    def __init__(self, report: Report, signature: Signature) -> None:
        self.report, self.signature = report, signature
        self.poisoned: set[e.Expr] = set()
        self.poisoned_results: set[e.Expr] = set()  # correct closures with wrong results
        self.unread: set[str] = set()  # functions with unknown results
        self.definitions: dict[e.Var, e.Expr] = {}  # the values of variables, for explanations
        # For each variable with a function: the shape variables in scope at its definition.
        self.captured: dict[e.Expr, frozenset[p.PrimVar]] = {}
        self.callees = Callees()
        self.places: Mapping[str, Any] = {}  # the devices and meshes of the module
        self.caller = "this function"  # its name, where it has one; `main.inner` for a nested one
        self.wildcards: Wildcards | None = None  # None if the module does not allow them
        # A call with the first note follows from the StructInfo of its operands alone, one with the second also names functions,
        # or has effects.
        self.settings, self.in_full = _settings(prover_in_use(), edition())
        self._memo: dict[Any, tuple[s.StructInfo, object]] = {}  # with the note
        self._repeated: dict[Any, s.StructInfo] = {}  # results of correct calls by all that is seen of them
        # Results of complete calls without effects; None for calls that are no such.
        self._complete: dict[Any, s.StructInfo | None] = {}
        self._kernel_calls: set[Any] = set()  # the inputs of correct calls of PrimFuncs
        self._applied: dict[Any, s.StructInfo] = {}  # the results of correct calls of global functions

    def info(self, expr: e.Expr) -> s.StructInfo:
        """The StructInfo of an operand."""
        known = expr.struct_info
        return known if known is not None else _INFO[type(expr)](self, expr)

    def informed(self, leaf: e.Expr) -> e.Expr:
        """A leaf with its StructInfo; a variable or an operator stays unchanged."""
        rule = _LEAF_INFO.get(type(leaf))
        return leaf if rule is None else replace(leaf, struct_info=rule(self, leaf))

    def call(self, call: e.Call) -> s.StructInfo:
        """The StructInfo of a call with known operands."""
        op = call.op
        if type(op) is e.OpRef:
            declared = find(op.name)
            if declared is not None:
                return self.operator(call, declared)[0]
            self._unknown(call, op.name)
            info = call.sinfo_args[0] if len(call.sinfo_args) == 1 else s.OBJECT
        elif type(op) is e.ExternFunc:
            info = default_derive(call)
        else:
            info = self._function(call, self.info(op))
        return self.bounded(call, info)

    def bounded(self, expr: e.Expr, info: s.StructInfo) -> s.StructInfo:
        """`info`, or Object if it is too large to print; then the size is reported."""
        for value in overflowing(info):
            self._overflow(expr, f"a length of the result is {value}, which does not fit int64")
            return s.OBJECT
        if not s.is_too_large(info):
            return info
        text = f"the StructInfo of this value has more than {s.MOST_WRITTEN:,} terms"
        if info.depth > s.MOST_NESTED:
            text = f"more than {s.MOST_NESTED} tuples stand in each other"
        self.report.say(codes.TOO_LARGE, text, expr, help=codes.TOO_LARGE.fix)
        self.poisoned.add(expr)
        return s.OBJECT

    def _overflow(self, expr: e.Expr, text: str) -> None:
        self.report.say(codes.LENGTH_OVERFLOW, text, expr, help=codes.LENGTH_OVERFLOW.fix)
        self.poisoned.add(expr)

    def _unknown(self, call: e.Call, name: str) -> None:
        if name == e.UNREAD:
            self.poisoned.add(call)
            return
        from relax_explorer.core.check.other_names import meant  # few programs have one

        near = meant(name)
        hint = f"did you mean R.{near}?" if near else syntax_codes.UNKNOWN_OPERATOR.fix
        text = f"operator {name.replace('relax.', 'R.', 1)} is unknown; its result is treated as Object"
        self.poisoned.add(call)
        self.report.say(syntax_codes.UNKNOWN_OPERATOR, text, call, help=hint)

    def operator(self, call: e.Call, op: type[Op]) -> tuple[s.StructInfo, object]:
        """The StructInfo of a call of operator `op` with known operands, and the note that the call may get."""
        infos = [arg.struct_info or self.info(arg) for arg in call.args]
        # Equal operands and attributes have equal results, so a block repeated a thousand times is inferred once.
        same = op.by_info or op.by_literals or _calls_kernel(call, op)
        literals = tuple(map(_literal, call.args)) if op.by_literals else ()
        key = (op, call.attrs, tuple(infos), call.sinfo_args, *literals) if same else None
        cached = self._memo.get(key) if key is not None else None
        if cached is not None:
            return cached
        info = self.bounded(call, self._operator(call, op, infos, key))
        return info, self._memo[key][1] if key in self._memo else None

    def function(self, call: e.Call) -> tuple[s.StructInfo, object]:
        """The StructInfo of a call of anything but a known operator, and the note that the call may get."""
        before = len(self.report.items)
        info = self.call(call)
        is_right = len(self.report.items) == before and not self.poisoned
        return info, self.in_full if is_right and type(call.op) is not e.OpRef else None

    def keep(self, call: e.Call, note: object) -> None:
        """Note that a correct call needs no general path any more; `note` is what its rule allows."""
        if note is self.settings:
            call.settle(note)
        elif note is not None and self.wildcards is None and not self.poisoned:
            key, info = seen_by_rules(call), call.struct_info
            if key is not None and info is not None and names_no_variable(info):
                self._repeated[key] = info
                call.settle(note)

    def repeats(self, call: e.Call) -> bool:
        """True if a correct call that is equal in all that inference sees has the StructInfo of this call. The call notes it."""
        key = call_key(call) if self._repeated else None  # the table has only keys of what rules see
        info = self._repeated.get(key) if key is not None else None
        if info is None or info is not call.struct_info:
            return False
        call.settle(self.in_full)
        return True

    def derived(self, call: e.Call) -> e.Call:
        """A call in normal form with the StructInfo that follows from its operands. Equal calls are derived once, and noted."""
        key = seen_by_rules(call)
        info = self._repeated.get(key) if key is not None else None
        if info is None:
            op = find(call.op.name) if type(call.op) is e.OpRef else None
            info, note = self.function(call) if op is None else self.operator(call, op)
            stays = op is None or (op.refine is None and len(call.attrs) >= len(op.attributes))
            if key is None or note is None or self.poisoned or not stays or not names_no_variable(info):
                return replace(call, struct_info=info)
            self._repeated[key] = info
        new = replace(call, struct_info=info)
        new.settle(self.in_full)
        return new

    def confirms(self, call: e.Call) -> bool:
        """True if inference gives a call in normal form the StructInfo that it has, without a problem. The call notes it."""
        if self.repeats(call):
            return True
        new = self.derived(call)
        return new.settled is not None and new.struct_info is call.struct_info and self.repeats(call)

    def settles(self, call: e.Call) -> bool:
        """True if an equal call has the StructInfo of this call, which is complete and has no effect. The call notes it.

        Its operands are leaves with StructInfo. False also stands for calls that need the general path.
        """
        info, op_ref, args = call.struct_info, call.op, call.args
        if type(op_ref) is not e.OpRef or call.sinfo_args or not _is_fixed(info):
            return False
        if not SIMPLE.issuperset(map(type, args)) and not all(map(_is_simple, args)):
            return False
        # Operators refine shapes that are written out, so the kinds of the operands count too.
        key = (op_ref, call.attrs, *map(type, args), *[arg.struct_info for arg in args])
        known = self._complete.get(key, _UNASKED)
        if known is _UNASKED:
            op, infos = find(op_ref.name), tuple([arg.struct_info for arg in args])
            found = None if op is None else self._memo.get((op, call.attrs, infos, ()))
            if op is None or found is None:
                return False
            if not _is_plain(op, call, infos):
                self._complete[key] = None  # nor are equal calls
                return False
            known = self._complete[key] = found[0]
        if known is not info:
            return False
        call.settle(self.settings)
        return True

    def _operator(self, call: e.Call, op: type[Op], infos: list[s.StructInfo], key: object) -> s.StructInfo:
        site = Site(call, op, definitions=self.definitions, places=self.places)
        site.wildcards = self.wildcards is not None
        _need_rule(site, op)
        try:
            attrs = _check_kinds(site, op, call, infos)
            distributed = check_distributed(site, op, infos)
            result = op.infer(site, *infos, *[None] * (len(op.operands) - len(infos)), **attrs)
            if not (op.by_machine or op.takes_sinfo or op.says_place):
                result = (
                    placed(site, op, infos, call.attrs, result) if distributed else on_device(result, infos)
                )
        except _FAULTS as error:
            self._failed(call, op, infos, error)
            return s.OBJECT
        except InferFailure as failure:
            if depends_on_missing(call, self.definitions):
                return s.OBJECT  # no proven error: the annotation of the result is trusted
            if not any(map(self.is_poisoned, call.args)):
                self.report.add(explained(failure.diagnostic, call, self.definitions))
            self.poisoned.add(call)
            return s.OBJECT
        if issubclass(op, CallKernel) and not op.in_parts and not self._is_right(call, infos):
            key = None  # each such call is reported
        if not site.report or not depends_on_missing(call, self.definitions):
            self.report.extend(site.report)
        if self._is_of_this_call(result, infos):
            key = None
        if key is not None and not site.obligations and not site.report and not s.is_too_large(result):
            self._memo[key] = result, self._note(op, call, infos, result)
        return result

    def _note(self, op: type[Op], call: e.Call, infos: list[s.StructInfo], result: s.StructInfo) -> object:
        """The note for a correct call of an operator; None if its rule looks at every call."""
        if op.refine is not None or op.says_place:
            return None
        alone = _is_plain(op, call, tuple(infos)) and _is_fixed(result) and not op.by_literals
        return self.settings if alone and not any(map(_may_name, infos)) else self.in_full

    def _is_of_this_call(self, result: s.StructInfo, infos: list[s.StructInfo]) -> bool:
        """True if the result has wildcards, or names an operand that holds its shape. They belong to one call."""
        if self.wildcards is not None and wildcards_in(result):
            return True
        return any(all(var not in info_holders(info) for info in infos) for var in info_holders(result))

    def _failed(self, call: e.Call, op: type[Op], infos: list[s.StructInfo], error: Exception) -> None:
        """Report a rule of an operator that raised: a length exceeds int64, or the rule has a bug.

        The kinds of the attributes are already checked, and the rule itself must refuse wrong values.
        """
        self.poisoned.add(call)
        if isinstance(error, OverflowError):
            self._overflow(
                call, f"{op.name}: a number that it computes from lengths overflows: {str(error)[:80]}"
            )
            return
        operands = ", ".join(map(str, infos))[:200]
        text = f"the rule of {op.name} failed for ({operands}): {type(error).__name__}: {str(error)[:80]}"
        self.report.say(internal.OWN_FAULT, text, call, help=internal.OWN_FAULT.fix)

    def is_poisoned(self, expr: e.Expr) -> bool:
        """True if a value or one of its fields is wrong."""
        return expr in self.poisoned or (type(expr) is e.Tuple and any(map(self.is_poisoned, expr.fields)))

    def _is_right(self, call: e.Call, infos: list[s.StructInfo]) -> bool:
        """True if a call of a PrimFunc is correct, without any report."""
        before = len(self.report.items)
        if not self._fits_kernel(call, infos):
            self.poisoned.add(call)
        return call not in self.poisoned and len(self.report.items) == before

    def _fits_kernel(self, call: e.Call, infos: list[s.StructInfo]) -> bool:
        """True if the result of a call of a PrimFunc can be inferred. Correct calls are cached."""
        key = (*infos, call.sinfo_args, call.attrs.get("inplace_indices"))
        if key in self._kernel_calls:
            return True
        before = len(self.report.items)
        good = prim_funcs.check(self.report, call, infos, self.poisoned, self.definitions, self.caller)
        if good and len(self.report.items) == before:
            self._kernel_calls.add(key)
        return good

    def _function(self, call: e.Call, callee: s.StructInfo) -> s.StructInfo:
        function = self.callees.of(call.op)
        if function in self.poisoned_results or (
            type(function) is e.GlobalVar and function.name in self.unread
        ):
            self.poisoned.add(call)
        if not isinstance(callee, s.FuncStructInfo):
            missing = (
                type(call.op) is e.GlobalVar and self.signature(call.op.name) is None
            )  # reported elsewhere
            if call.op not in self.poisoned and not missing:
                text = f"the called value is {callee}, not a function"
                cast = callee is s.OBJECT
                fix = "cast it first: R.match_cast(…, R.Callable)" if cast else codes.NOT_CALLABLE.fix
                self.report.say(codes.NOT_CALLABLE, text, call, help=fix)
            self.poisoned.add(call)
            return s.OBJECT
        if callee.params is None:
            return derived(callee, call, Context(self.signature, self.info))
        if len(callee.params) != len(call.args):
            takes = f"{len(callee.params)} argument{'' if len(callee.params) == 1 else 's'}"
            text = f"{_name(call.op)} takes {takes}, {len(call.args)} given"
            self.report.say(codes.ARGUMENT_COUNT, text, call, help=codes.ARGUMENT_COUNT.fix)
            self.poisoned.add(call)
            return callee.ret if not info_vars(callee.ret) else s.OBJECT
        return self._apply(call, callee, callee.params)

    def _outer_dims(self, function: e.Expr) -> frozenset[p.PrimVar]:
        """The shape variables that a function captured. They keep their values, and a call does not bind them (errata E-51)."""
        source = self.callees.of(function)
        # The annotation of the source may be weaker.
        holder = source if self.info(source) is self.info(function) else function
        return self.captured.get(holder, _NO_DIMS)

    def pinned(self, expr: e.Expr) -> s.StructInfo:
        """The StructInfo of an operand for comparing: its functions do not bind the shape variables that they captured."""
        info = self.info(expr)
        if not holds_function(info):
            return info
        fields = self.callees.fields(expr) if isinstance(info, s.TupleStructInfo) else None
        if fields is None or not isinstance(info, s.TupleStructInfo) or len(fields) != len(info.fields):
            return pinned(info, self._outer_dims(expr))
        around = self.captured.get(expr, _NO_DIMS)
        known = zip(fields, info.fields, strict=True)
        return s.TupleStructInfo(
            tuple([self.pinned(a) if self.info(a) is b else pinned(b, around) for a, b in known])
        )

    def _apply(
        self, call: e.Call, callee: s.FuncStructInfo, params: tuple[s.StructInfo, ...]
    ) -> s.StructInfo:
        """Beta-reduction: replace the callee's shape variables by their values from the arguments. None leaks."""
        infos = [self.info(arg) for arg in call.args]
        ret, known_infos = callee.ret, infos
        if self.wildcards is not None:
            ret, known_infos = renewed(ret), list(map(opened, infos))
        # Nothing is captured by a global function. The answer for functions as arguments depends on their captures.
        key = (
            (callee, *infos) if type(call.op) is e.GlobalVar and not any(map(holds_function, infos)) else None
        )
        known = self._applied.get(key)
        if known is not None:
            return known
        mapping: dict[p.PrimVar, p.PrimExpr] = {var: var for var in self._outer_dims(call.op)}
        bound = bound_dims(callee) - mapping.keys()
        for want, have in zip(params, known_infos, strict=True):
            match_dims(want, have, mapping)
        pinned_infos = [self.pinned(arg) for arg in call.args]
        at = arguments.Application(call, params, infos, pinned_infos, mapping, self.caller)
        fits = key is not None and arguments.all_fit(at)
        if not (fits or arguments.check(self.report, at, self.poisoned, self.definitions)):
            self.poisoned.add(call)
        if self.wildcards is not None:
            ret = blurred(ret, mapping.keys())
        ret = erase(ret, mapping.keys(), None, bound - mapping.keys())
        result = substitute_info(ret, mapping)
        if not is_closed(ret):
            result = simplified(result)
        if fits and not (self.wildcards and wildcards_in(result)):
            self._applied[key] = result
        return result

    def item(self, expr: e.TupleGetItem) -> s.StructInfo:
        """The StructInfo of a field of a tuple."""
        source = self.info(expr.tuple)
        if isinstance(source, s.TupleStructInfo):
            if 0 <= expr.index < len(source.fields):
                return source.fields[expr.index]
            text = f"the tuple has {len(source.fields)} fields, no field {expr.index}"
            self.report.say(codes.TUPLE_INDEX, text, expr, help=codes.TUPLE_INDEX.fix)
        elif expr.tuple not in self.poisoned:
            text = f"a field is taken from {source}, not from a tuple"
            fix = "cast it first: R.match_cast(…, R.Tuple(…))" if source is s.OBJECT else "index a tuple"
            self.report.say(codes.WRONG_KIND, text, expr, help=fix)
        self.poisoned.add(expr)
        return s.OBJECT

    def settles_item(self, item: e.TupleGetItem) -> bool:
        """True if a field of a variable has the StructInfo that follows from the variable, a tuple of tensors."""
        source = item.tuple
        info = source.struct_info
        if type(info) is not s.TupleStructInfo or type(source) not in SIMPLE or source in self.poisoned:
            return False
        known = item.struct_info
        return 0 <= item.index < len(info.fields) and info.fields[item.index] is known and _is_fixed(known)

    def branches(self, infos: Sequence[s.StructInfo], pinned_infos: Sequence[s.StructInfo]) -> s.StructInfo:
        """The StructInfo of an If with these branches. Their functions must also agree in `pinned_infos`, used for comparing."""
        by_axis = self.wildcards is not None
        info = unify(infos[0], infos[1], by_axis)
        if not holds_function(info):
            return info
        return _alike(info, unify(pinned_infos[0], pinned_infos[1], by_axis))


def _alike(info: s.StructInfo, pinned_info: s.StructInfo) -> s.StructInfo:
    """`info`, with Object for every part that is Object in `pinned_info`, used for comparing."""
    if type(info) is s.TupleStructInfo and type(pinned_info) is s.TupleStructInfo:
        return s.TupleStructInfo(tuple(map(_alike, info.fields, pinned_info.fields)))
    return s.OBJECT if pinned_info is s.OBJECT else info


@cache
def _settings(prover: str, edition: int) -> tuple[object, object]:
    """What results of rules depend on, beside their calls, as two objects for each combination, one for each note."""
    return object(), object()


def _is_fixed(info: s.StructInfo | None) -> bool:
    """True for the StructInfo of tensors, or of a tuple of tensors, whose shapes no variable holds."""
    if type(info) is s.TupleStructInfo:
        return all(map(_is_fixed, info.fields))
    return type(info) is s.TensorStructInfo and type(info.shape) is tuple


def _may_name(info: s.StructInfo) -> bool:
    """True if an operand with this StructInfo may be a global function."""
    return type(info) not in (s.TensorStructInfo, s.ShapeStructInfo, s.PrimStructInfo) and not _is_fixed(info)


def _is_simple(arg: e.Expr) -> bool:
    """True for a variable or constant, and for a tuple of these with the StructInfo that follows from them."""
    return is_simple_tuple(arg) if isinstance(arg, e.Tuple) else type(arg) in SIMPLE


def _is_plain(op: type[Op], call: e.Call, infos: tuple[Any, ...]) -> bool:
    """True for a complete call without effects whose result depends on the StructInfo of its operands alone."""
    if not (op.pure and op.pure_in_spec) or op.says_place:
        return False
    return op.refine is None or op.refine(call, infos) is call


def _literal(arg: e.Expr) -> object:
    """What a rule may see of an operand, beside its StructInfo: the kind, and the value of a literal."""
    return arg.value if type(arg) is e.DataTypeImm else type(arg)


def _calls_kernel(call: e.Call, op: type[Op]) -> bool:
    """True for a call of a PrimFunc of the module. Its signature answers every other question."""
    return bool(call.args) and type(call.args[0]) is e.GlobalVar and issubclass(op, CallKernel)


def _need_rule(site: Site, op: type[Op]) -> None:
    """Warn about an operator without inference (errata E-16)."""
    if op.infer is Op.infer:
        site.warn(codes.NO_INFERENCE, "its class has no `infer`; the result is treated as Object")


def _check_kinds(site: Site, op: type[Op], call: e.Call, infos: list[s.StructInfo]) -> Attrs:
    """Refuse operands and attributes that contradict the declaration of the operator, before its own rule runs.

    The result is the attributes. TVM reads True in place of a number as 1.
    """
    signature = f"signature: {op.signature()}"
    if len(infos) > len(op.operands) and not op.variadic:
        raise site.fail(codes.ARGUMENT_COUNT, _too_many(op, len(infos)), help=signature)
    for q, arg, info in zip(op.operands, call.args, infos, strict=False):
        mistaken = operand_problem(q, arg, info)
        if mistaken:
            raise site.fail(codes.WRONG_KIND, mistaken, **{q.name: f"this is {info}"}, help=signature)
        if q.kind is Kind.PRIM and isinstance(info, s.TensorStructInfo):
            text = f"TVM takes a scalar for {q.name}, not {info}"
            site.refuse_in_tvm(codes.WRONG_KIND, text, **{q.name: f"this is {info}"}, help=signature)
    wrong = problem(op, call.attrs)
    if not wrong:
        return call.attrs
    attrs = with_numbers(op, call.attrs)
    if problem(op, attrs):
        raise site.fail(codes.BAD_ATTRIBUTE, wrong)
    site.refuse_by_spec(codes.BAD_ATTRIBUTE, wrong)
    return attrs


def _too_many(op: type[Op], actual: int) -> str:
    count = len(op.operands)
    return f"it takes {count} operand{'' if count == 1 else 's'}, {actual} given"


def _name(op: e.Expr) -> str:
    return getattr(op, "name", "the function")


# The rules for leaves, then for all expressions.
_LEAF_INFO: dict[type, Callable[[Inferrer, Any], s.StructInfo]] = {
    e.ExternFunc: lambda i, x: EXTERN,
    e.Constant: lambda i, x: s.OBJECT if x.data is None else s.constant_info(x.data),
    e.ShapeExpr: lambda i, x: s.ShapeStructInfo(x.values),
    e.PrimValue: lambda i, x: s.PrimStructInfo(x.value.dtype, x.value),
    e.StringImm: lambda i, x: s.OBJECT,
    e.DataTypeImm: lambda i, x: s.OBJECT,
}
_INFO: dict[type, Callable[[Inferrer, Any], s.StructInfo]] = {
    **_LEAF_INFO,
    e.Var: lambda i, x: s.OBJECT,
    e.DataflowVar: lambda i, x: s.OBJECT,
    e.GlobalVar: lambda i, x: i.signature(x.name) or s.OBJECT,
    e.OpRef: lambda i, x: s.OBJECT,
    e.Tuple: lambda i, x: s.TupleStructInfo(tuple([i.info(field) for field in x.fields])),
    e.TupleGetItem: Inferrer.item,
    e.Call: Inferrer.call,
    e.Function: lambda i, x: x.struct_info or s.OBJECT,
    e.If: lambda i, x: s.OBJECT,
}

UNREPORTED = Inferrer(Report(), lambda _: None)
"""For passes. Operands are leaves, so it looks up no function. Nobody reads its report."""
