"""The parameters that later stages have no longer, because a pass made constants of them (`BindParams`), and their values."""

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
from relax_explorer.core.session.samples import Bound, Sample
from relax_explorer.core.session.stages import Stage


def with_bound(samples: Sequence[Sample], stages: Sequence[Stage], function: str) -> Sequence[Sample]:
    """The samples with the values of the parameters that later stages have as constants; the given ones if there are none.

    What a user gives for them is taken: if it is something else, the stages differ.
    """
    made = [sample if sample.bound else _with(sample, stages, function) for sample in samples]
    return samples if all(x is y for x, y in zip(made, samples, strict=True)) else tuple(made)


def _with(sample: Sample, stages: Sequence[Stage], function: str) -> Sample:
    names = [function] if sample.calls is None else [call.function for call in sample.calls.calls]
    found = {name: _bound_in(_modules(stages, name), name) for name in dict.fromkeys(names)}
    bound = {name: item for name, item in found.items() if item is not None}
    return replace(sample, bound=bound) if bound else sample


def _bound_in(modules: Sequence[IRModule], name: str) -> Bound | None:
    """The constants in place of the parameters of a function; None if there are none, or one is not found."""
    found: dict[str, Array | None] = {}
    for before, after in pairwise([_function(module, name) for module in modules]):
        missing = _missing(before, after)
        constants = _constants(before, after, missing)
        for param, its_name in missing.items():
            if param not in constants and _is_used(before, param):
                return None  # something else happened to it
            found[its_name] = constants[param].data if param in constants else None
    return Bound(modules[0], name, found) if any(value is not None for value in found.values()) else None


def _missing(before: e.Function, after: e.Function) -> dict[e.Var, str]:
    """The parameters that are lost, with their names, if all others are there."""
    names = {param.name for param in after.params}
    missing = {param: param.name for param in before.params if param.name not in names}
    return missing if len(missing) + len(names) == len(before.params) else {}


def _modules(stages: Sequence[Stage], name: str) -> list[IRModule]:
    """The stages with a function that can be read, the one with most parameters first; none if no parameter is lost.

    Of two stages that are compared, the second one may be the one that has the parameters.
    """
    ends = [
        module for side in (stages, stages[::-1]) if (module := next(_readable(side, name), None)) is not None
    ]
    if len({tuple([param.name for param in _function(module, name).params]) for module in ends}) < 2:
        return []  # the stages between need not be read
    return sorted(_readable(stages, name), key=lambda module: -len(_function(module, name).params))


def _readable(stages: Sequence[Stage], name: str) -> Iterator[IRModule]:
    for stage in stages:
        with suppress(Failure):  # the test of the stage tells what is wrong with it
            if type(stage.module.functions.get(name)) is e.Function:
                yield stage.module


def _function(module: IRModule, name: str) -> e.Function:
    fn = module.functions[name]
    assert type(fn) is e.Function  # only such modules are asked
    return fn


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
