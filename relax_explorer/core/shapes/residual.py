"""The checks of lengths, ranks and dtypes in a program: which the program itself proves, and which remain for the run.

Functions are walked in the order of evaluation. What a check demands is known after it; what a branch tests is known inside.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.check.arguments import problem
from relax_explorer.core.check.effects import effects
from relax_explorer.core.check.stopping import lengths_to_check
from relax_explorer.core.check.wildcards import wildcards_in
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.walk import all_dims, sequences
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import Op, Stops
from relax_explorer.core.ops.machine.call import CallTir
from relax_explorer.core.ops.machine.effect import AssertOp
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions, Fact, all_of, assuming
from relax_explorer.core.shapes.callers import Callers, CallSite, LengthTests
from relax_explorer.core.shapes.conditions import (
    Demand,
    Matching,
    are_always_possible,
    conjuncts,
    dtype_demands,
    has_no_lengths,
    remedy,
    values_in,
    why_not,
    words,
)
from relax_explorer.core.shapes.machine_checks import MachineState, is_lowered
from relax_explorer.core.shapes.origins import tensors
from relax_explorer.core.shapes.value_terms import ValueNames, is_no_length, names_of
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info

PARAMETERS, CAST, ASSERT, ARGUMENTS, KERNEL, OPERATOR, RESULT, MACHINE, PACKED = (
    "parameters", "match_cast", "assert", "arguments", "kernel", "operator", "result", "machine", "packed",
)  # fmt: skip
ALL = frozenset((PARAMETERS, CAST, ASSERT, ARGUMENTS, KERNEL, OPERATOR, RESULT, MACHINE))
# PACKED is not one of them: nobody checks what a packed function gets and returns, so it proves nothing.
# These stand in the text of a program, and every way of running it makes them. Kernels of operators may not compare lengths.
WRITTEN = frozenset((PARAMETERS, CAST, ASSERT, MACHINE))


@dataclass(frozen=True, eq=False)
class ShapeCheck:
    """One condition that a place of a program demands.

    `answer` is YES if the program proves it, NO if no run fulfils it, UNKNOWN if it remains for the run. `facts` has the facts
    before it. No run gets to a check that is not `is_reached`: an earlier one fails, or its branch is never taken.
    """

    function: str
    kind: str
    subject: str
    text: str
    answer: Answer
    place: object = None
    condition: p.PrimExpr | None = None
    facts: Assumptions = field(default_factory=Assumptions, repr=False)
    is_reached: bool = True
    callers: tuple[
        Fact, ...
    ] = ()  # for each call of a private function, what it gives, and the facts that prove that
    call: str = ""  # the first call of its private function that does not prove it
    refuting: tuple[CallSite, ...] = ()  # the calls of its private function under which it never holds

    @property
    def word(self) -> str:
        """The kind as the program writes it: a match_cast to lengths alone is a match_shape."""
        return self.place.word if isinstance(self.place, e.MatchCast) and self.kind == CAST else self.kind

    @cached_property
    def proof(self) -> tuple[Fact, ...]:
        """The facts that decide it."""
        if self.callers:
            return self.callers
        return () if self.condition is None else tuple(self.facts.reasons(self.condition))

    @cached_property
    def why(self) -> str:
        """Why it remains or fails: lengths, or a call. Calls from outside are always checked, so parameters need no reason."""
        if self.answer is Answer.NO and self.call:
            return self.call
        if self.answer is not Answer.UNKNOWN or self.kind == PARAMETERS:
            return ""
        if self.kind == PACKED and self.subject.startswith(_OF_PACKED):
            return "a packed function may return anything"
        if self.kind == MACHINE and self.text != str(self.condition):
            return "nothing before it tells"
        if self.condition is None:
            return _NOT_LENGTHS
        return "; ".join(filter(None, (why_not(self.facts, self.condition), self.call)))

    @cached_property
    def remedy(self) -> str:
        """What would remove a check that remains."""
        if self.answer is not Answer.UNKNOWN or self.kind == PARAMETERS:
            return ""
        if self.kind == PACKED:
            return (
                _UNCHECKED_RESULT
                if self.subject.startswith(_OF_PACKED)
                else "nobody checks it: cast the argument before the call"
            )
        if self.kind == MACHINE:
            return "prove or cast it before VMShapeLower"
        subject = self.subject if self.kind != OPERATOR else values_in(self.condition) or self.subject
        return remedy(subject, self.condition, self.facts)


@collector_at_rest()
def shape_checks(
    module: IRModule,
    given: Mapping[str, Sequence[p.PrimExpr]] | None = None,
    trusted: Collection[str] = ALL,
) -> list[ShapeCheck]:
    """The checks of all functions of a normalized module, in the order of evaluation.

    `given` has conditions that are taken for granted in a function: what would be proved if they held? Only checks of the
    kinds `trusted` prove later ones.
    """
    found: list[ShapeCheck] = []
    sites: list[CallSite] = []
    for name, fn in module.relax_functions.items():
        facts = assuming((given or {}).get(name, ()))
        walk = _Walk(module, name, trusted)
        found += walk.function(fn, facts)
        sites += walk.sites
    callers = Callers(module, {check.function for check in remaining(found)}, sites)
    return [_with_callers(check, callers) for check in found] if callers.sites else found


def refuted_checks(module: IRModule) -> list[ShapeCheck]:
    """The checks that no run fulfils, apart from those of parameters, found in at most half the time of `shape_checks`."""
    found: list[ShapeCheck] = []
    for name, fn in module.relax_functions.items():
        walk = _Walk(module, name, ALL)
        walk.is_quick = True
        found += [check for check in walk.function(fn, Assumptions()) if check.kind != PARAMETERS]
    return found


def _with_callers(check: ShapeCheck, callers: Callers) -> ShapeCheck:
    """The check; proved or refuted if every call of its private function does so, with the first call that does not prove it."""
    if check.answer is not Answer.UNKNOWN or check.condition is None:
        return check
    told = callers.judged(check.function, check.condition)
    return replace(check, answer=told.answer, callers=told.proof, call=told.call, refuting=told.refuting)


@dataclass(frozen=True, slots=True)
class Visible:
    """The shape variables that have values at a place. A nested function does not use those that only the outer one binds."""

    bound: Collection[p.PrimVar]
    outer: Collection[p.PrimVar]

    def __contains__(self, var: p.PrimVar) -> bool:
        return var in self.bound and var not in self.outer


Visit = Callable[[e.Binding | e.SeqExpr, Assumptions, Visible], None]


def visit_facts(
    module: IRModule,
    visit: Visit,
    trusted: Collection[str] = WRITTEN,
    given: Mapping[str, Sequence[p.PrimExpr]] | None = None,
) -> None:
    """Call `visit` with each binding and the facts before it, then with each sequence and the facts at its result."""
    for name, fn in module.relax_functions.items():
        _Walk(module, name, trusted, visit).function(fn, assuming((given or {}).get(name, ())))


_BY_PLACE: PerNode[dict[int, list[ShapeCheck]]] = PerNode()


def checks_at(module: IRModule, place: object) -> list[ShapeCheck]:
    """The checks that one place of a module demands, such as a binding. The first question looks at the whole module."""
    return _BY_PLACE.of(module, _by_place).get(id(place), [])


def _by_place(module: IRModule) -> dict[int, list[ShapeCheck]]:
    found: dict[int, list[ShapeCheck]] = {}
    for check in shape_checks(module):
        found.setdefault(id(check.place), []).append(check)
    return found


def _short(op: type[Op]) -> str:
    """The name of an operator as people say it."""
    return op.name.removeprefix("relax.")


class _Walk:
    """One function with its branches and nested functions."""

    def __init__(
        self, module: IRModule, name: str, trusted: Collection[str], visit: Visit | None = None
    ) -> None:
        self.module, self.name, self.trusted, self.visit = module, name, trusted, visit
        self.outer: frozenset[p.PrimVar] = frozenset()  # the variables that only an outer function binds
        self.checks: list[ShapeCheck] = []
        self.sites: list[CallSite] = []
        self.is_reached = True
        self.is_quick = False  # only checks that facts refute are wanted
        self.demands: dict[object, list[tuple[Demand, str]]] = {}  # of operators
        self.names = ValueNames()
        self.wildcards: dict[p.PrimExpr, p.PrimVar] = {}
        self.fits: dict[object, p.PrimVar] = {}  # of operators and operands of unknown lengths
        self.tests = LengthTests()
        self.externs: dict[e.Var, e.ExternFunc] = {}
        self.machine: MachineState | None = None  # of a function in virtual machine form

    def called(self, value: e.Expr) -> str:
        """The name of a value."""
        return self.names.called(value)

    def function(self, fn: e.Function, facts: Assumptions) -> list[ShapeCheck]:
        """The checks of the function. One in virtual machine form makes its checks itself, by builtins."""
        if is_lowered(fn):
            self.machine = MachineState(self.module.functions)
            self.sequence(fn.body, facts, set())
        else:
            self.body(fn, facts, set(), is_public=not fn.is_private)
        return self.checks

    def body(self, fn: e.Function, facts: Assumptions, scope: set[p.PrimVar], is_public: bool) -> None:
        """Parameters, bindings, result. Arguments of a private function are checked where it is called."""
        params = [(param.struct_info or s.OBJECT, None, self.called(param)) for param in fn.params]
        if is_public and not (self.is_quick and are_always_possible([info for info, _, _ in params])):
            matching = self.matching(scope)
            matching.bind(params)
            for param, (info, _, name) in zip(fn.params, params, strict=True):
                for demand in matching.demands(info, None, name):
                    is_told = demand.condition is not None and is_no_length(demand.condition)
                    self.add(PARAMETERS, name, Demand(demand.text) if is_told else demand, param, facts)
        inside = scope | {dim for param in fn.params for dim in all_dims(param.struct_info or s.OBJECT)}
        for param in fn.params:
            facts = self._lengths_of(param, facts)
        facts = self.sequence(fn.body, facts, inside)
        derived, declared = fn.body.struct_info, fn.ret_struct_info
        if derived is not None and declared is not None and declared is not derived:
            result = fn.body.body
            name = self.names.place(result) if isinstance(result, e.Var) else ""
            facts = self.place(
                RESULT, "the result", declared, derived, fn, facts, self.matching(inside), name
            )

    def _lengths_of(self, param: e.Var, facts: Assumptions) -> Assumptions:
        """What is known because a parameter exists: a tensor with a length of `n - 4` tells that n is at least 4."""
        for tensor, info in tensors(param.name, param.struct_info):
            for dim in info.lengths or ():
                if dim.children() and at_least(dim, 0) is not Answer.YES:
                    facts = facts.plus(p.GE(dim, p.IntImm(0, dim.dtype)), f"a length of {tensor}", param)
        return facts

    def matching(self, scope: set[p.PrimVar]) -> Matching:
        """A matching that shares the names of unknown lengths."""
        return Matching(scope, {}, self.names.unknown, self.wildcards, self.names.fields)

    def sequence(self, seq: e.SeqExpr, facts: Assumptions, scope: set[p.PrimVar]) -> Assumptions:
        """The bindings of a sequence; what is known after them. `scope` takes the variables that they bind."""
        for block in seq.blocks:
            for binding in with_pauses(block.bindings):
                if self.visit is not None:
                    self.visit(binding, facts, Visible(scope, self.outer))
                facts = self.binding(binding, facts, scope)
        if self.visit is not None:
            self.visit(seq, facts, Visible(scope, self.outer))
        return facts

    def binding(self, binding: e.Binding, facts: Assumptions, scope: set[p.PrimVar]) -> Assumptions:
        """One binding."""
        value = binding.value
        if self.machine is not None:
            return self._of_machine(binding, self.machine, facts, scope)
        name = binding.var.name if binding.var is not None else "_"
        if binding.var is not None:
            self._note(binding.var, binding)
        if isinstance(binding, e.MatchCast):
            matching = self.matching(scope)
            facts = self.place(
                CAST, self.called(value), binding.struct_info, value.struct_info, binding, facts, matching, self.names.place(value)
            )  # fmt: skip
            scope.update(all_dims(binding.struct_info))
            for var, length in matching.bound:
                facts = facts.plus(p.EQ(var, length), f"bound by the {binding.word} of {name}", binding)
            return facts
        if isinstance(value, e.If):
            self._branches(value, facts, scope)
        elif isinstance(value, e.Function):
            outside = self.outer
            own = {dim for q in value.params for dim in all_dims(q.struct_info or s.OBJECT)}
            self.outer = frozenset(scope - own)
            reached, tests = self.is_reached, self.tests
            if effects(self.module).mutable:  # it may be called after tensors were overwritten
                self.tests = LengthTests()
            self.body(value, facts, scope, is_public=True)
            self.outer, self.is_reached, self.tests = outside, reached, tests
        elif isinstance(value, e.Call):
            facts = self._call(value, name, binding, facts, scope)
        return facts

    def _note(self, var: e.Var, binding: e.Binding) -> None:
        """Note what a variable is."""
        value, tests = binding.value, self.tests
        if tests.has_any and effects(self.module).of(value).writes:
            tests.forget()
        tests.note(var, value)
        if type(value) is e.Call:
            return  # a value of its own, which no other name tells and nobody calls as a packed function
        self.names.note(binding)
        packed = self._extern(value)
        if packed is not None:
            self.externs[var] = packed

    def _branches(self, value: e.If, facts: Assumptions, scope: set[p.PrimVar]) -> None:
        """Each branch with what its condition tells, if that is about lengths."""
        condition = self.tests.condition(value.condition)
        for branch, is_then in ((value.true_branch, True), (value.false_branch, False)):
            inside = facts
            outside = self.is_reached
            if condition is not None:
                fact = condition if is_then else p.Not(condition)
                self.is_reached = outside and facts.prove(fact) is not Answer.NO
                for part in conjuncts(fact):
                    inside = inside.plus(part, "the condition of this branch", value)
            if isinstance(branch, e.SeqExpr):
                self.sequence(branch, inside, set(scope))
            self.is_reached = outside

    def _of_machine(
        self, binding: e.Binding, state: MachineState, facts: Assumptions, scope: set[p.PrimVar]
    ) -> Assumptions:
        """One binding in virtual machine form."""
        value, checked = binding.value, state.checked(binding)
        if isinstance(value, e.If):
            before, outcomes, reached = state.slots, [], self.is_reached
            for branch in sequences(value):
                state.slots = dict(before)
                self.sequence(branch, facts, scope)
                outcomes.append(state.slots)
                self.is_reached = reached
            same = outcomes[0].items()
            state.slots = {n: dim for n, dim in same if all(one.get(n) is dim for one in outcomes)}
            state.join(binding.var, [branch.body for branch in sequences(value)])
            return facts
        if checked is not None:
            facts = state.facts_with(checked, facts)
            for demand in state.demands(binding):
                facts = self.add(MACHINE, self.called(checked), demand, binding, facts)
        state.bind(binding)
        if isinstance(value, e.Call) and checked is None:
            state.call(value)
        return facts

    def _call(
        self, call: e.Call, name: str, binding: e.Binding, facts: Assumptions, scope: set[p.PrimVar]
    ) -> Assumptions:
        op = call.op
        if type(op) is not e.OpRef:
            packed = self._extern(op)
            if packed is not None:
                return self._packed(call, packed, binding, facts)
            return self._arguments(call, op, binding, facts) if isinstance(op, e.GlobalVar) else facts
        declared = find(op.name)
        if declared is CallTir:
            return self._kernel(call, binding, facts)
        if declared is AssertOp:
            return self._assert(call, binding, facts)
        if declared is None or declared.takes_sinfo or declared.stops is Stops.NEVER:
            return facts
        for demand, subject in self._of_operator(declared, call):
            facts = self.add(OPERATOR, subject or f"{_short(declared)} in {name}", demand, binding, facts)
        return facts

    def _of_operator(self, declared: type[Op], call: e.Call) -> Sequence[tuple[Demand, str]]:
        """What an operator demands of the lengths of its operands, with the subject if it is not the operator itself.

        Layers repeat: most calls have the same StructInfo as one before.
        """
        infos = tuple([arg.struct_info for arg in call.args])
        found = self.demands.get((declared, call.attrs, infos))
        if found is not None:
            return found
        infos = tuple(map(self._named, call.args))
        key = (declared, call.attrs, infos)
        found = self.demands.get(key)
        if found is not None:
            return found
        if problem(declared, call.attrs) or (len(infos) > len(declared.operands) and not declared.variadic):
            return ()  # the checker tells what is wrong with the call
        untyped = list(dtype_demands(declared, call, infos, self.names.place, self.names.element))
        unknown = [self.called(arg) for arg in call.args if has_no_lengths(arg.struct_info)]
        if unknown and self.is_quick:
            return untyped  # that operands fit is never refuted
        if unknown:
            return [*untyped, (self._fit(declared, call), " and ".join(dict.fromkeys(unknown)))]
        pairs = lengths_to_check(declared, call, infos) or ()
        conditions = [p.EQ(a, b) for a, b in pairs]
        found = [(Demand(words(condition), condition), "") for condition in conditions]
        if untyped:
            return [*untyped, *found]
        self.demands[key] = found
        return found

    def _fit(self, declared: type[Op], call: e.Call) -> Demand:
        """The demand that the operands of an operator fit. They do if they did in an earlier call with the same operands."""
        text = f"the operands of {_short(declared)} fit"
        key = declared, call.attrs, tuple(map(self.names.operand, call.args))
        term = self.fits.setdefault(key, p.PrimVar(f"{text}.fit"))
        return Demand(text, p.EQ(term, p.IntImm(1)))

    def _named(self, arg: e.Expr) -> s.StructInfo | None:
        """The StructInfo of an operand, with variables for its wildcards."""
        if type(arg) is e.Tuple:
            return s.TupleStructInfo(tuple([self._named(field) or s.OBJECT for field in arg.fields]))
        info = arg.struct_info
        if info is None or not wildcards_in(info):
            return info
        return self.matching(set()).named(info, self.names.place(arg))

    def _arguments(
        self, call: e.Call, op: e.GlobalVar, binding: e.Binding, facts: Assumptions
    ) -> Assumptions:
        """The arguments of a call of a function of the module."""
        callee = self.module.functions.get(op.name)
        if isinstance(callee, e.Function) and len(callee.params) == len(call.args):
            rows = [
                (f"{called} of {op.name}", q.struct_info or s.OBJECT, arg.struct_info, self.names.place(arg))
                for q, called, arg in zip(callee.params, names_of(callee.params), call.args, strict=True)
            ]
            matching, facts = self._matched(ARGUMENTS, rows, binding, facts)
            operands = self.names.operands_at(callee, call)
            site = CallSite(op.name, self.name, binding, matching.values, operands, facts, self.is_reached)
            self.sites.append(site)
        return facts

    def _packed(
        self, call: e.Call, value: e.ExternFunc, binding: e.Binding, facts: Assumptions
    ) -> Assumptions:
        """What a packed function with a signature needs, and what a call states of the result. Nobody checks it in the run."""
        info = value.struct_info
        signature = info.params if isinstance(info, s.FuncStructInfo) else None
        if signature is not None and len(signature) == len(call.args):
            pairs = zip(signature, call.args, map(self.names.place, call.args), strict=True)
            rows = [(f"{name} for {value.name}", want, arg.struct_info, name) for want, arg, name in pairs]
            _, facts = self._matched(PACKED, rows, binding, facts)
        stated = call.struct_info
        is_told = isinstance(stated, (s.TensorStructInfo, s.TupleStructInfo, s.ShapeStructInfo))
        if is_told and binding.var is not None and not value.name.startswith("vm.builtin."):
            demand = Demand(f"{self.called(binding.var)} is {stated}")
            facts = self.add(PACKED, _OF_PACKED + value.name, demand, binding, facts)
        return facts

    def _extern(self, callee: e.Expr) -> e.ExternFunc | None:
        """The packed function that a callee is."""
        found: object = callee
        if isinstance(callee, e.Var):
            found = self.externs.get(callee)
        elif isinstance(callee, e.GlobalVar):
            found = self.module.functions.get(callee.name)
        return found if isinstance(found, e.ExternFunc) else None

    def _assert(self, call: e.Call, binding: e.Binding, facts: Assumptions) -> Assumptions:
        """An assertion about lengths; one about data tells nothing."""
        info = call.args[0].struct_info if call.args else None
        condition = info.value if isinstance(info, s.PrimStructInfo) else None
        if condition is None:
            return facts
        return self.add(ASSERT, "the assertion", Demand(str(condition), condition), binding, facts)

    def _kernel(self, call: e.Call, binding: e.Binding, facts: Assumptions) -> Assumptions:
        """The buffers of a call_tir: its tensors, then its outputs."""
        callee, arguments = call.args[:2]
        kernel = self.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
        infos = arguments.struct_info
        if (
            not isinstance(kernel, PrimFunc)
            or not isinstance(infos, s.TupleStructInfo)
            or not call.sinfo_args
        ):
            return facts
        outs = call.sinfo_args[0]
        have = [*infos.fields, *(outs.fields if isinstance(outs, s.TupleStructInfo) else (outs,))]
        want = prim_func_info(kernel).params or ()
        if len(have) < len(want):
            have += [arg.struct_info or s.OBJECT for arg in call.args[2:]]
        if len(have) != len(want):
            return facts
        if all(map(operator.is_, want, have)):
            return facts  # nothing can differ
        kernel_name = callee.name if isinstance(callee, e.GlobalVar) else ""
        subjects = [f"{param.name} of {kernel_name}" for param in kernel.params]
        values = self._values_of(arguments, len(infos.fields), len(have))
        return self._matched(KERNEL, list(zip(subjects, want, have, values, strict=True)), binding, facts)[1]

    def _matched(
        self,
        kind: str,
        rows: Sequence[tuple[str, s.StructInfo, s.StructInfo | None, str]],
        binding: e.Binding,
        facts: Assumptions,
    ) -> tuple[Matching, Assumptions]:
        """The demands of values that are passed together, each with its subject, wanted and actual StructInfo, and name."""
        matching = self.matching(set())
        matching.bind([row[1:] for row in rows])
        for subject, want, have, name in rows:
            facts = self.place(kind, subject, want, have, binding, facts, matching, name)
        return matching, facts

    def _values_of(self, arguments: e.Expr, inputs: int, count: int) -> list[str]:
        """The names of what a kernel gets: the fields of a tuple, then results and lengths."""
        fields = arguments.fields if isinstance(arguments, e.Tuple) else ()
        names = [self.names.place(field) for field in fields] or [
            self.names.place(arguments, n) for n in range(inputs)
        ]
        return names + [f"the result[{n}]" for n in range(count - inputs)]

    def place(
        self,
        kind: str,
        subject: str,
        want: s.StructInfo,
        have: s.StructInfo | None,
        place: object,
        facts: Assumptions,
        matching: Matching,
        name: str = "",
    ) -> Assumptions:
        """The demands of one value at one place; what is known after them."""
        for demand in matching.demands(want, have, name or subject):
            facts = self.add(kind, subject, demand, place, facts)
        return facts

    def add(self, kind: str, subject: str, demand: Demand, place: object, facts: Assumptions) -> Assumptions:
        """Note one check, decided or not; what is known after it."""
        condition = demand.condition
        parts = [] if condition is None else conjuncts(condition)
        answer = all_of(map(facts.prove, parts))
        is_wanted = answer is not Answer.YES or kind == MACHINE or not _is_trivial(condition)
        if is_wanted and (answer is Answer.NO or not self.is_quick):
            self.checks.append(
                ShapeCheck(
                    self.name, kind, subject, demand.text, answer, place, condition, facts, self.is_reached
                )
            )
        if answer is Answer.NO and kind != PACKED:
            self.is_reached = False
        if (
            answer is not Answer.UNKNOWN
            or condition is None
            or kind not in self.trusted
            or kind == PARAMETERS
        ):
            return facts
        line = getattr(getattr(place, "span", None), "line", None)
        for one in parts:
            facts = facts.plus(one, f"checked {'in line ' + str(line) if line else 'before'}", place)
        return facts


_OF_PACKED = "the result of "
_UNCHECKED_RESULT = "nobody checks it: state less, such as the rank alone, and cast the result"
_NOT_LENGTHS = "the StructInfo of the value does not tell"


def _is_trivial(condition: p.PrimExpr | None) -> bool:
    """True if an equation holds without any fact: nobody would check it."""
    return isinstance(condition, p.EQ) and equal(condition.a, condition.b) is Answer.YES


def remaining(checks: Sequence[ShapeCheck]) -> Iterator[ShapeCheck]:
    """The checks that the run makes."""
    return (check for check in checks if check.answer is Answer.UNKNOWN)
