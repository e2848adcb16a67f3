"""Memory effects of the values of bindings: which operands they overwrite, and which operands their results share.

Operators declare them (`shares`, `writes`). An unknown callee may overwrite or return every argument that it ever received.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from relax_explorer.core.check.cache_effects import changed, only_reads
from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dataflow import reachable
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.decl import ANY_OPERAND, Op
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import overwritten


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one value, in terms of the leaves of its expression.

    `writes` are overwritten. The result may share the memory of `shares`. With `keeps` the callee may keep its arguments and
    overwrite them in a later call.
    """

    writes: tuple[e.Expr, ...] = ()
    shares: tuple[e.Expr, ...] = ()
    keeps: bool = False


NONE = Effect()
_EFFECTS: PerNode[Effects] = PerNode()


def effects(module: IRModule) -> Effects:
    """The effects of the calls in a module, built once."""
    return _EFFECTS.of(module, Effects)


class Effects:
    """The effects of values in one module. The bodies of its functions tell which of them write."""

    def __init__(self, module: IRModule) -> None:
        self.kernels = {name: fn for name, fn in module.functions.items() if type(fn) is PrimFunc}
        self.functions = frozenset(module.relax_functions)
        self.called: set[str] = set()
        self.writers: set[str] = set()
        self._quiet: dict[e.OpRef, bool] = {}
        callers: dict[str, list[str]] = {}
        for name, fn in module.relax_functions.items():
            for callee in mentioned(fn):
                self.called.add(callee)
                callers.setdefault(callee, []).append(name)
            if any(self._is_seen_to_write(binding.value) for binding in bindings(fn)):
                self.writers.add(name)
        self.writers.update(reachable(self.writers, lambda name: callers.get(name, ())))

    @property
    def mutable(self) -> bool:
        """True if anything in the module may overwrite memory. If not, sharing can't be observed."""
        return bool(self.writers)

    def _is_seen_to_write(self, value: e.Expr) -> bool:
        """True if a value writes, judged by the writers found so far. Callers are added later."""
        if type(value) is not e.Call:
            return False
        is_quiet = type(value.op) is e.OpRef and self._overwrites_nothing(value.op)
        if is_quiet and not (value.args and type(value.args[0]) is e.ExternFunc):  # most often
            return False
        return bool(self._call(value).writes)

    def _overwrites_nothing(self, op: e.OpRef) -> bool:
        """True if an operator itself overwrites no operand. Each operator is looked up once."""
        known = self._quiet.get(op)
        if known is None:
            declared = find(op.name)
            known = self._quiet[op] = declared is not None and not declared.overwritten()
        return known

    def of(self, value: e.Expr) -> Effect:
        """The effect of the value of a binding. For an If, look at its branches instead."""
        if type(value) is e.Call:
            return self._call(value)
        if type(value) is e.Function:
            return Effect(shares=tuple(free_variables(value)))
        return Effect(shares=tuple(leaves((value,))))

    def _call(self, call: e.Call) -> Effect:
        op = call.op
        if type(op) is e.OpRef:
            declared = find(op.name)
            if declared is not None:
                return _with_cache(_operator(declared, call), call)
        elif type(op) is e.GlobalVar:
            return self._global(op.name, call)
        elif type(op) is e.ExternFunc and only_reads(call):
            return NONE
        arguments = tuple(leaves((op, *call.args)))
        if is_impure(call):
            return Effect(arguments, arguments, keeps=True)
        return Effect(shares=arguments)

    def _global(self, name: str, call: e.Call) -> Effect:
        arguments = tuple(leaves(call.args))
        kernel = self.kernels.get(name)
        if kernel is not None:
            if not is_impure(call):
                return NONE
            if len(call.args) != len(kernel.params):  # the checker reports this
                return Effect(writes=arguments)
            return Effect(writes=tuple(leaves([call.args[place] for place in sorted(overwritten(kernel))])))
        if name in self.functions and name not in self.writers:
            return Effect(shares=arguments)
        return Effect(arguments, arguments, keeps=True) if is_impure(call) else Effect(shares=arguments)


def _with_cache(effect: Effect, call: e.Call) -> Effect:
    """The effect of a call, with the cache that it changes."""
    cache = tuple(leaves(changed(call)))
    return replace(effect, writes=(*effect.writes, *cache)) if cache else effect


def _operator(op: type[Op], call: e.Call) -> Effect:
    overwritten = op.overwritten()
    if not op.shares and not overwritten:
        return NONE
    writes = tuple(leaves(_operands(op, overwritten, call)))
    return Effect(writes, tuple(leaves(_operands(op, op.shares, call))), keeps=bool(writes) and not op.pure)


def _operands(op: type[Op], names: tuple[str, ...], call: e.Call) -> Iterator[e.Expr]:
    """The operands of a call with these names."""
    if names == ANY_OPERAND:
        yield from call.args
        return
    for declared, arg in zip(op.operands, call.args, strict=False):
        if declared.name in names:
            yield arg


def leaves(exprs: Iterable[e.Expr]) -> Iterator[e.Expr]:
    """The variables and constants in operands, also inside tuples and under field accesses."""
    stack = list(exprs)[::-1]
    while stack:
        expr = stack.pop()
        if isinstance(expr, (e.Var, e.Constant)):
            yield expr
        elif type(expr) is e.Tuple:
            stack.extend(reversed(expr.fields))
        elif type(expr) is e.TupleGetItem:
            stack.append(expr.tuple)
