"""The rows of `differences.md` that hold for every program: functions from TVM's result to the result that we promise instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import exprs, map_blocks, map_operands, map_sequences
from relax_explorer.core.program.module import IRModule
from tests.support.own_storages import with_own_storages
from tests.support.tuple_fields import with_cast_fields, with_permuted_fields

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


ROWS: list[Row] = [
    Row(
        "Rounding of constants in FoldConstant",
        frozenset({"FoldConstant"}),
        lambda results, theirs: with_our_rounding(results.shown, theirs),
    ),
    Row(
        "Field of a tuple that only products read, in ToMixedPrecision",
        frozenset({"ToMixedPrecision"}),
        lambda results, theirs: with_cast_fields(theirs),
    ),
    Row(
        "Field of a tuple as a result in ConvertLayout",
        frozenset({"ConvertLayout"}),
        lambda results, theirs: with_permuted_fields(theirs),
    ),
    *[
        Row(
            f"StaticPlanBlockMemory of {title}",
            frozenset({"StaticPlanBlockMemory"}),
            partial(lambda of, results, theirs: with_own_storages(theirs, of), of),
        )
        for of, title in (
            ("captured", "values that nested functions capture"),
            ("nested", "nested functions"),
            ("branches", "branches"),
        )
    ],
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
