"""The work of functions, binding by binding: calls of other functions count with their lengths, of two branches the costlier one."""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_explorer.core.arith.polynomial import Polynomial
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.check.matching import call_dims
from relax_explorer.core.check.storage import spread
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.call_order import CallOrder
from relax_explorer.core.cost.machine_lengths import MachineLengths
from relax_explorer.core.cost.operator_work import Calls
from relax_explorer.core.cost.work import NO_WORK, Work, costlier, summed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.program.module import IRModule


@dataclass(frozen=True, slots=True)
class BindingWork:
    """The work of one run of a binding, and the bytes of its value. `branch` is where it stands: `then of cond`, or ""."""

    function: str
    binding: e.Binding
    work: Work
    size: Polynomial | None
    branch: str = ""
    calls: str = ""  # the Relax function whose work it has


@dataclass(frozen=True, slots=True)
class FunctionWork:
    """The work of one call of a function: all its bindings in order, also those of branches and nested functions."""

    name: str
    rows: tuple[BindingWork, ...]
    total: Work


@dataclass(slots=True)
class ModuleWork:
    """The work of the functions of a module. Each is found when it is asked for, once."""

    module: IRModule
    calls: Calls = field(init=False)
    order: CallOrder = field(init=False)
    _known: dict[e.Function, FunctionWork] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.calls, self.order = Calls(self.module), CallOrder(self.module)

    def of(self, name: str) -> FunctionWork:
        """The work of a Relax function of the module."""
        functions = self.module.relax_functions
        for callee in () if functions[name] in self._known else self.order.up_to(name):
            if functions[callee] not in self._known:
                self._known[functions[callee]] = _Bindings(self, callee, callee).of(functions[callee])
        return self._known[functions[name]]

    def of_local(self, fn: e.Function, name: str, owner: str) -> FunctionWork:
        """The work of a nested function; one that is being counted calls itself, and so has a part that is not known."""
        if fn not in self._known:
            reason = f"{name} calls itself: the calls inside of one are not counted"
            self._known[fn] = FunctionWork(name, (), Work(unknown=(reason,)))
            self._known[fn] = _Bindings(self, name, owner).of(fn)
        return self._known[fn]


class _Bindings:
    """A walk over the bindings of one function. `owner` is the global function that it is, or is nested in."""

    def __init__(self, module: ModuleWork, name: str, owner: str) -> None:
        self.module, self.name, self.owner = module, name, owner
        self.callees = Callees()
        self.lengths = MachineLengths(module.module)
        self.locals: dict[e.Expr, e.Function] = {}
        self.rows: list[BindingWork] = []

    def of(self, fn: e.Function) -> FunctionWork:
        """The work of the function."""
        total = self._sequence(fn.body, "")
        return FunctionWork(self.name, tuple(self.rows), total)

    def _sequence(self, seq: e.SeqExpr, branch: str) -> Work:
        return summed([self._binding(binding, branch) for block in seq.blocks for binding in block.bindings])

    def _binding(self, binding: e.Binding, branch: str) -> Work:
        self.callees.note(binding)
        self.lengths.note(binding)
        value, var = binding.value, binding.var
        size = amounts.info_bytes(self.lengths.info(var)) if var is not None else {}
        number, calls = len(self.rows), ""
        work = NO_WORK
        if type(value) is e.If:
            work = self._if(value, var.name if var is not None else "if")
        elif type(value) is e.Function and var is not None:
            self.locals[var] = value
        elif type(value) is e.Call:
            work, calls = self._call(value)
        self.rows.insert(number, BindingWork(self.name, binding, work, size, branch, calls))
        return work

    def _if(self, value: e.If, name: str) -> Work:
        """The work of the costlier branch; the other one is named."""
        sides = tuple(
            self._sequence(seq, f"{word} of {name}")
            for word, seq in zip(("then", "else"), sequences(value), strict=True)
        )
        chosen = costlier(sides)
        work, other = sides[chosen], sides[1 - chosen]
        if work.amounts == other.amounts:
            return summed([work, Work(unknown=other.unknown, at_most=other.at_most)])
        word = ("then", "else")[chosen]
        reason = f"{name} counts its {word} branch; the other one has {amounts.text(other.flops)} FLOPs"
        return summed([work, Work(unknown=other.unknown, at_most=(reason,))])

    def _call(self, call: e.Call) -> tuple[Work, str]:
        """The work of a call, and the Relax function that it enters."""
        callee, args = self._entered(call)
        name = callee.name if isinstance(callee, e.GlobalVar | e.Var) else ""
        fn = self.locals.get(callee)
        if fn is not None:
            found = self.module.of_local(fn, name, self.owner)
        elif type(callee) is e.GlobalVar and name in self.module.module.relax_functions:
            if self.module.order.is_recursion(self.owner, name):
                reason = f"{self.owner} calls itself{'' if name == self.owner else f' through {name}'}: the calls inside of one are not counted"
                return Work(unknown=(reason,)), name
            fn, found = self.module.module.relax_functions[name], self.module.of(name)
        else:
            return self.module.calls.of(call, self.callees, self.lengths), ""
        dims = call_dims(fn.params, args) if len(args) == len(fn.params) else {}
        return found.total.with_lengths(dims), name

    def _entered(self, call: e.Call) -> tuple[e.Expr, tuple[e.Expr, ...]]:
        """The function that a call enters, also through a closure, and its arguments."""
        callee = self.callees.of(call.op)
        if type(callee) is e.OpRef and callee.name in _CLOSURES and call.args:
            return self.callees.of(call.args[0]), spread(call, self.callees)[1]
        return callee, call.args


_CLOSURES = frozenset({"relax.invoke_closure", "relax.invoke_pure_closure"})
