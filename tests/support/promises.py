"""The rows of `differences.md` that hold for every program: functions from TVM's result to the result that we promise instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, exprs, map_blocks, map_operands, map_sequences
from relax_explorer.core.program.module import IRModule
from tests.support.freedoms import with_calls

if TYPE_CHECKING:
    from tests.support.judged import Results

Promise = Callable[["Results", IRModule], IRModule]
"""From TVM's result to ours. Both results are there for a row about one node, such as a number that is rounded otherwise."""


@dataclass(frozen=True)
class Row:
    """A row by its first words, the passes that it is about, and what it promises instead of TVM's result."""

    row: str
    passes: frozenset[str]
    promise: Promise


def with_printing_operators(module: IRModule) -> IRModule:
    """Calls of the machine's functions that print and assert are the operators that they were."""

    def kept(expr: e.Call) -> e.Call:
        name = expr.op.name if type(expr.op) is e.ExternFunc else ""
        if name not in ("relax.run.print", "relax.run.assert_op"):
            return expr
        place = 0 if name == "relax.run.print" else 1  # of the format
        written = expr.args[place]
        assert type(written) is e.StringImm
        operands = (*expr.args[:place], *expr.args[place + 1 :])
        op = e.op_ref("relax.print" if place == 0 else "relax.assert_op")
        return e.Call(op, operands, Attrs({"format": written.value}), (), expr.struct_info)

    return with_calls(module, kept)


def _order_of_lengths(results: Results, theirs: IRModule) -> IRModule:
    """The lengths that a kernel takes have the order of our call, if they are the same lengths."""
    assert isinstance(results.ours, IRModule)
    orders = {
        (_callee(call), frozenset(numbers)): numbers
        for call in _calls(results.ours)
        if len(numbers := _lengths(call)) > 1 and len(set(numbers)) == len(numbers)
    }

    def ordered(expr: e.Call) -> e.Call:
        if expr.op is not _CALL_TIR:
            return expr
        numbers = _lengths(expr)
        wanted = orders.get((_callee(expr), frozenset(numbers)), numbers)
        if wanted == numbers or type(expr.args[1]) is not e.Tuple:
            return expr
        fields = expr.args[1].fields
        if len([field for field in fields if type(field) is e.PrimValue]) != len(numbers):
            return expr
        tensors = [field for field in fields if type(field) is not e.PrimValue]
        scalars = dict(zip(numbers, [field for field in fields if type(field) is e.PrimValue], strict=True))
        operands = e.tuple_of((*tensors, *[scalars[name] for name in wanted]))
        return e.Call(
            expr.op, (expr.args[0], operands), expr.attrs, expr.sinfo_args, expr.struct_info, expr.span
        )

    return with_calls(theirs, ordered)


_CALL_TIR = e.op_ref("relax.call_tir")


def _callee(call: e.Call) -> str:
    """The name of the kernel of a call_tir."""
    return call.args[0].name if call.args and type(call.args[0]) is e.GlobalVar else ""


def _lengths(call: e.Call) -> tuple[str, ...]:
    """The names of the lengths behind the tensors of a call_tir."""
    operands = call.args[1] if call.op is _CALL_TIR else None
    fields = operands.fields if type(operands) is e.Tuple else ()
    return tuple([f.value.name for f in fields if type(f) is e.PrimValue and isinstance(f.value, p.PrimVar)])


def _calls(module: IRModule) -> Iterator[e.Call]:
    for fn in module.relax_functions.values():
        yield from (binding.value for binding in bindings(fn) if type(binding.value) is e.Call)


def with_our_rounding(ours: IRModule, theirs: IRModule) -> IRModule:
    """Constants that differ from ours in the last bits of their numbers are ours, if the functions have equally many."""
    module = theirs
    for name, fn in theirs.relax_functions.items():
        mine = ours.relax_functions.get(name)
        pairs = list(zip(_constants(mine), _constants(fn), strict=False)) if mine is not None else []
        rounded = {theirs: our for our, theirs in pairs if _is_rounding(our.data, theirs.data)}
        if rounded and len(pairs) == len(_constants(fn)) == len(_constants(mine or fn)):
            changed = replace(fn, body=_with_leaves(fn.body, rounded), struct_info=None)
            module = module.having({**module.functions, name: changed})
    return module


def _constants(fn: e.Function) -> list[e.Constant]:
    return [expr for expr in exprs(fn) if type(expr) is e.Constant]


_LAST = 2
"""Units in the last place between numbers that two libraries of functions round."""


def _is_rounding(a: Any, b: Any) -> bool:
    """True for two arrays that differ, by no more than the last bits of a number."""
    if a is None or b is None or a.dtype != b.dtype or a.shape != b.shape or a.dtype.kind != "f":
        return False
    apart = np.abs(a - b) <= _LAST * np.spacing(np.maximum(np.abs(a), np.abs(b)))
    return bool(np.any(a != b) and np.all((a == b) | apart))


def _with_leaves(seq: e.SeqExpr, new: Mapping[e.Constant, e.Constant]) -> e.SeqExpr:
    """A sequence with other constants."""

    def leaf(expr: e.Expr) -> e.Expr:
        return new.get(expr, expr) if type(expr) is e.Constant else map_operands(expr, leaf)

    def changed(binding: e.Binding) -> e.Binding:
        inner = map_sequences(binding, lambda seq: _with_leaves(seq, new))
        value = leaf(inner.value)
        return inner if value is inner.value else replace(inner, value=value)

    result = map_blocks(seq, changed)
    return replace(result, body=leaf(result.body))


LEGALIZED = frozenset({"LegalizeOps"})
ROWS: list[Row] = [
    Row(
        "`R.print` and `R.assert_op` in LegalizeOps",
        LEGALIZED,
        lambda _, theirs: with_printing_operators(theirs),
    ),
    Row("The order of several lengths", LEGALIZED, _order_of_lengths),
    Row(
        "Rounding of constants in FoldConstant",
        frozenset({"FoldConstant"}),
        lambda results, theirs: with_our_rounding(results.shown, theirs),
    ),
]
"""Narrow ones first. One that has nothing to say about a result returns the same object."""


def promised_by(results: Results) -> tuple[str, ...]:
    """The rows that lead from TVM's result to ours: one alone, else all that change it, one after another. Empty if none do."""
    theirs = results.theirs
    assert theirs is not None
    known = [row for row in ROWS if results.of.name in row.passes]
    for row in known:
        changed = row.promise(results, theirs)
        if changed is not theirs and results.is_promised(rxe.normalize(changed)):
            return (row.row,)
    used, promised = [], theirs
    for row in known:
        changed = row.promise(results, promised)
        if changed is not promised:
            promised = rxe.normalize(changed)
            used.append(row.row)
    return tuple(used) if len(used) > 1 and results.is_promised(promised) else ()
