"""The values of a run as inputs of smaller programs: what stood in a binding that was cut out is the value of its parameter.

A variable and its value find each other by name, also in other processes, so each variable of the program has a name of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.substitute import Copy
from relax_explorer.core.ir.walk import all_dims, bindings
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.recording import recorded
from relax_explorer.core.session.samples import Sample, function_of
from relax_explorer.core.session.smaller import Case, Lengths, constant_name, large_constants
from relax_explorer.core.syntax.names import usable


def with_own_names(case: Case) -> Case:
    """The case, in which each variable of the entry has another name, and one that the printer keeps."""
    return case.having(case.entry, _OwnNames(case.function).function(case.function))


class _OwnNames(Copy):
    """Copies a function with variables that have different names."""

    def __init__(self, fn: e.Function) -> None:
        super().__init__()
        infos = [var.struct_info for var in (*fn.params, *_variables(fn)) if var.struct_info is not None]
        self._fresh = FreshNames([dim.name for info in infos for dim in all_dims(info)])

    def _define(self, var: e.Var) -> e.Var:
        name = self._fresh("unused" if var.name == "_" else usable(var.name))
        self.variables[var] = new = type(var)(name, self.info(var.struct_info), var.span)
        return new


def _variables(fn: e.Function) -> list[e.Var]:
    return [binding.var for binding in bindings(fn) if binding.var is not None]


def values_of_run(
    case: Case, sample: Sample, cache: Path | None = None, interrupt: Interrupt | None = None
) -> dict[str, Array]:
    """The arrays that parameters, constants and bindings of the entry have in a run, by name. Raises Failure.

    Of a run that stops it has what was there until then; of a binding that runs several times, the first value; of memory that
    others write into, what stood in it last.
    """
    fn = function_of(case.module, case.entry)
    given = sample.values(fn)
    run = recorded(case.module, case.entry, given, cache, interrupt)
    found = {param.name: value for param, value in zip(fn.params, given, strict=True)}
    for binding in bindings(fn):
        found.update({constant_name(binding, n): arg.data for n, arg in large_constants(binding)})
    for item in run.productions:
        if item.function == case.entry and (item.written or item.name not in found):
            found[item.name] = item.value
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


def fitting(case: Case, values: Mapping[str, Array]) -> dict[str, Array]:
    """The values for the parameters of a case: shorter axes have the first elements. What is too short for a parameter is left out."""
    named = [(param, values[param.name]) for param in case.function.params if param.name in values]
    cut = {param.name: _cut(value, param.struct_info, case.lengths) for param, value in named}
    return {name: value for name, value in cut.items() if value is not None}


def _cut(value: Array, info: s.StructInfo | None, lengths: Lengths) -> Array | None:
    dims = info.dims if isinstance(info, s.TensorStructInfo) else None
    if dims is None or len(dims) != value.ndim:
        return None
    wanted = [_length(dim, lengths, have) for dim, have in zip(dims, value.shape, strict=True)]
    if any(want > have for want, have in zip(wanted, value.shape, strict=True)):
        return None
    return np.ascontiguousarray(value[tuple([slice(want) for want in wanted])]).reshape(wanted)


def _length(dim: p.PrimExpr, lengths: Lengths, have: int) -> int:
    """The length of an axis in the smaller program; the one of the run where nothing else is said."""
    if type(dim) is p.IntImm:
        return dim.value
    return dict(lengths).get(dim.name, have) if type(dim) is p.PrimVar else have
