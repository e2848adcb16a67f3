"""How the parameters of a function change from stage to stage, and the values of those that a pass made constants of (`BindParams`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, operands
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.former_parameters import Entry, completed, work_on_weights
from relax_explorer.core.session.samples import Sample
from relax_explorer.core.session.stages import Stage


def on_equal_terms(samples: Sequence[Sample], stages: Sequence[Stage], function: str) -> Sequence[Sample]:
    """The samples for stages in which the function has other parameters; the given ones if all have the same.

    Parameters that later stages have as constants get these values, unless a user gives others: then the stages differ.
    """
    made = [sample if sample.entries else _with(sample, stages, function) for sample in samples]
    return samples if all(x is y for x, y in zip(made, samples, strict=True)) else tuple(made)


def _with(sample: Sample, stages: Sequence[Stage], function: str) -> Sample:
    names = [function] if sample.calls is None else [call.function for call in sample.calls.calls]
    found = {name: _entry(stages, name) for name in dict.fromkeys(names)}
    entries = {name: item for name, item in found.items() if item is not None}
    return replace(sample, entries=entries) if entries else sample


def _entry(stages: Sequence[Stage], name: str) -> Entry | None:
    """The function in the stage whose parameters are given: the first, or the second of two that are compared, if it has more.

    None if all have the same parameters, and if it is not known how one comes from the other.
    """
    for way in (stages, stages[::-1]):
        first, last = next(_readable(way, name), None), next(_readable(way[::-1], name), None)
        if first is None or last is None or first is last:
            return None
        plain = Entry(first, name, {})
        names = [[param.name for param in entry.params] for entry in (plain, Entry(last, name, {}))]
        if names[0] == names[1] and work_on_weights(last, plain) is None:
            continue  # the stages between need not be read
        entry = Entry(first, name, _values(list(_readable(way, name)), name))
        if completed(last, {name: entry}) is not last:
            return entry
    return None


def _readable(stages: Sequence[Stage], name: str) -> Iterator[IRModule]:
    for stage in stages:
        with suppress(Failure):  # the test of the stage tells what is wrong with it
            if name in stage.module.relax_functions:
                yield stage.module


def _values(modules: Sequence[IRModule], name: str) -> dict[str, Array | None]:
    """The values of the parameters that become constants on the way. One that vanishes in another way has none."""
    found: dict[str, Array | None] = {}
    for before, after in pairwise([module.relax_functions[name] for module in modules]):
        missing = _missing(before, after)
        constants = _constants(before, after, missing)
        if constants and all(param in constants or not _is_used(before, param) for param in missing):
            found |= {
                its_name: constants[param].data if param in constants else None
                for param, its_name in missing.items()
            }
    return found


def _missing(before: e.Function, after: e.Function) -> dict[e.Var, str]:
    """The parameters that are lost, with their names, if all others are there."""
    names = {param.name for param in after.params}
    missing = {param: param.name for param in before.params if param.name not in names}
    return missing if len(missing) + len(names) == len(before.params) else {}


def _constants(before: e.Function, after: e.Function, missing: dict[e.Var, str]) -> dict[e.Var, e.Constant]:
    """The constants that stand where the parameters stood in bindings of one name, or that are bound to the name of the parameter."""
    found: dict[e.Var, e.Constant] = {}
    old = {binding.var.name: binding.value for binding in bindings(before) if binding.var is not None}
    params = {name: param for param, name in missing.items()}
    for binding in bindings(after):
        name = "" if binding.var is None else binding.var.name
        if name in old:
            _pair(old[name], binding.value, missing, found)
        elif name in params and isinstance(binding.value, e.Constant):
            found.setdefault(params[name], binding.value)
    _pair(before.body.body, after.body.body, missing, found)
    return found


def _pair(old: e.Expr, new: e.Expr, missing: dict[e.Var, str], found: dict[e.Var, e.Constant]) -> None:
    left, right = list(_read(old)), list(_read(new))
    if len(left) == len(right):
        for x, y in zip(left, right, strict=True):
            if isinstance(x, e.Var) and x in missing and isinstance(y, e.Constant) and y.data is not None:
                found.setdefault(x, y)


def _read(value: e.Expr) -> Iterator[e.Expr]:
    """The variables and constants that a value reads, however they are given: to an operator, or in a tuple to a kernel."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (e.Var, e.Constant)):
            yield item
        else:
            stack += operands(item)


def _is_used(fn: e.Function, param: e.Var) -> bool:
    values = [fn.body.body, *[binding.value for binding in bindings(fn)]]
    return any(item is param for value in values for item in _read(value))
