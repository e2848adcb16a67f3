"""What every pass keeps of memory: no call overwrites a value in place that is read later, unless one did so before.

Only copies, fields and captured values count here. Those of `check.aliases` may share memory, as all parameters may: too many to
blame a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dataflow import Analysis, solve
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.walk import bindings, contents, operands, sequences
from relax_explorer.core.passes.kept import Loss
from relax_explorer.core.program.module import IRModule

_IN_PLACE = e.op_ref("relax.call_tir_inplace")


def overwritten(before: IRModule, after: IRModule) -> Iterator[Loss]:
    """The first call of a function that overwrites what is read later, if the module has more such calls than before."""
    changed = [
        (name, fn) for name, fn in after.relax_functions.items() if before.functions.get(name) is not fn
    ]
    found = [(name, loss) for name, fn in changed for loss in _of_function(fn)]
    if not found:
        return
    same = {name for name, _ in changed}
    old = [
        loss.place
        for name, fn in before.relax_functions.items()
        if name in same or name not in after.functions
        for loss in _of_function(fn)
    ]
    if len(found) > len(old):
        yield next((loss for _, loss in found if loss.place not in old), found[0][1])


Values = Mapping[e.Expr, e.Expr]
Later = set[e.Var]  # the variables whose memory is read behind a place


def _of_function(fn: e.Function) -> list[Loss]:
    """The calls of a function, and of those nested in it, that overwrite a value that is read later."""
    if _IN_PLACE not in contents(fn).operators:
        return []
    values: Values = {b.var: b.value for b in bindings(fn) if b.var is not None}
    found: list[Loss] = []

    def transfer(later: Later, binding: e.Binding) -> Later:
        value = binding.value
        if type(value) is e.Call:
            lost = next((var for var in _memory(_overwritten(value), values) if var in later), None)
            if lost is not None:
                found.append(Loss(binding, f"a call overwrites {lost.name!r}, which is read later"))
            later.update(_memory(operands(value), values))
        return later

    def enter(later: Later, binding: e.Binding) -> list[tuple[e.SeqExpr, Later]]:
        is_branch = type(binding.value) is e.If  # nobody knows what is read behind a nested function
        return [(seq, later if is_branch else set()) for seq in sequences(binding.value)]

    def join(later: Later, binding: e.Binding, ends: list[Later]) -> Later:
        """What one branch reads is read in front of the If, but not behind the other branch."""
        if type(binding.value) is e.If:
            later.update(*ends, _memory([binding.value.condition], values))
        return later

    def result(later: Later, expr: e.Expr) -> Later:
        return later | set(_memory([expr], values))  # a new set: the other branch reads nothing of this one

    solve(Analysis(transfer, enter, join, result, backward=True), fn.body, set())
    return found


def _overwritten(call: e.Call) -> list[e.Expr]:
    """The arguments that a call overwrites."""
    if call.op is not _IN_PLACE:
        return []
    given, places = call.args[1], call.attrs.get("inplace_indices") or ()
    fields = given.fields if type(given) is e.Tuple else (given,)
    return [fields[place] for place in places if isinstance(place, int) and 0 <= place < len(fields)]


def _memory(exprs: Iterable[e.Expr], values: Values) -> Iterator[e.Var]:
    """The variables that hold the memory of expressions, and of what functions capture: copies and fields are looked through."""
    open_, seen = list(exprs), set[e.Expr]()
    while open_:
        expr = open_.pop()
        if expr in seen:
            continue
        seen.add(expr)
        if type(expr) is e.Tuple:
            open_ += expr.fields
        elif isinstance(expr, e.Var):
            known = values.get(expr)
            if type(known) is e.Function:
                open_ += free_variables(known)
            part = _part(known, values)
            if part is None:
                yield expr
            else:
                open_.append(part)


def _part(value: e.Expr | None, values: Values) -> e.Expr | None:
    """What a variable with this value stands for: another variable, a tuple, or a field of one."""
    if isinstance(value, (e.Var, e.Tuple)):
        return value
    if type(value) is not e.TupleGetItem:
        return None
    whole: e.Expr | None = value.tuple
    while isinstance(whole, e.Var):
        whole = values.get(whole)
    if type(whole) is e.TupleGetItem:
        whole = _part(whole, values)
        while isinstance(whole, e.Var):
            whole = values.get(whole)
    return whole.fields[value.index] if type(whole) is e.Tuple else None
