"""Stages in which a function has other parameters, and the function with those of the first stage.

Passes change what a function takes: `BindParams` makes constants of parameters, `BundleModelParams` one tuple, and `LiftTransformParams`
splits off the work on weights as a function of its own. The stage is run as a function with the former parameters: it does not look at those
that are constants, makes the tuple, and calls the function with the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import merged_blocks
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule, Member


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A function in the stage whose parameters are given, and the values of those that another stage has as constants, by name.

    The value is None if the parameter was not used.
    """

    module: IRModule
    function: str
    values: Mapping[str, Array | None]

    @property
    def params(self) -> tuple[e.Var, ...]:
        """The parameters that are given."""
        return self.module.relax_functions[self.function].params


_COMPLETED: PerNode[dict[tuple[Entry, ...], IRModule]] = PerNode()


def completed(module: IRModule, entries: Mapping[str, Entry]) -> IRModule:
    """A stage whose functions take the parameters of the entries, where it is known how. It is made once for each stage."""
    if not entries:
        return module
    known, key = _COMPLETED.of(module, lambda _: {}), tuple(entries.values())
    if key not in known:
        functions = {
            name: _completed(module, fn, entries[name]) if name in entries else fn
            for name, fn in module.functions.items()
        }
        known[key] = module.having(functions)
    return known[key]


def _completed(module: IRModule, fn: Member, entry: Entry) -> Member:
    if type(fn) is not e.Function:
        return fn
    params = entry.params
    if _names(fn.params) == _names(params) and work_on_weights(module, entry) is None:
        return fn
    return _with_constants(fn, params, entry) or _with_weights(module, fn, params, entry) or fn


def _names(params: Sequence[e.Var]) -> list[str]:
    return [param.name for param in params]


def _with_constants(fn: e.Function, params: Sequence[e.Var], entry: Entry) -> e.Function | None:
    """The function with parameters that it does not look at, in place of constants."""
    own = {param.name: param for param in fn.params}
    back = [param.name for param in params if param.name not in own]
    if not back or len(own) + len(back) != len(params) or not entry.values.keys() >= set(back):
        return None
    return replace(fn, params=tuple([own.get(param.name, param) for param in params]), struct_info=None)


# -- weights -----------------------------------------------------------------------------------------------------------


_WORK = "transform_params"


def does_work_on_weights(name: str) -> bool:
    """True for the name of a function that `LiftTransformParams` splits off. It runs with the function that it comes from."""
    return name == _WORK or name.endswith(f"_{_WORK}")


def work_on_weights(module: IRModule, entry: Entry) -> str | None:
    """The function that does the work on weights which the function did in the stage of the entry."""
    for name in (f"{entry.function}_{_WORK}", _WORK):
        if name in module.relax_functions and name not in entry.module.functions:
            return name
    return None


def _with_weights(
    module: IRModule, fn: e.Function, params: Sequence[e.Var], entry: Entry
) -> e.Function | None:
    """The function that makes its weights from those of the entry: the work on them is done first, and they become a tuple."""
    work = work_on_weights(module, entry)
    count = fn.attrs.get("num_input") if work is not None else len(fn.params) - 1
    if type(count) is not int or _names(fn.params[:count]) != _names(params[:count]):
        return None
    weights: list[e.Expr] = list(params[count:])
    made: list[e.Binding] = []
    if work is not None:
        whole, worker = e.Var("transformed"), module.relax_functions[work]
        args, result = _filled(worker.params, weights), worker.ret_struct_info
        if args is None or not isinstance(result, s.TupleStructInfo):
            return None
        made.append(e.VarBinding(whole, e.Call(e.GlobalVar(work), tuple(args))))
        weights = [e.TupleGetItem(whole, number) for number in range(len(result.fields))]
    values = _filled(fn.params[count:], weights)
    if values is None:
        return None
    for param, value in zip(fn.params[count:], values, strict=True):
        made.append(e.MatchCast(param, value, param.struct_info or s.OBJECT))
    blocks = merged_blocks([e.BindingBlock(tuple(made)), *fn.body.blocks])
    return replace(
        fn,
        params=(*fn.params[:count], *params[count:]),
        body=replace(fn.body, blocks=tuple(blocks)),
        struct_info=None,
    )


def _filled(params: Sequence[e.Var], values: Sequence[e.Expr]) -> list[e.Expr] | None:
    """The values for parameters: one for each, or all as fields of one tuple."""
    if len(params) == 1:
        nested = _nested(params[0].struct_info, values)
        if nested is not None:
            return [nested]
    return list(values) if len(params) == len(values) else None


def _nested(info: s.StructInfo | None, values: Sequence[e.Expr]) -> e.Expr | None:
    if not isinstance(info, s.TupleStructInfo):
        return None
    inner = _nested(info.fields[0], values) if len(info.fields) == 1 else None
    if inner is not None:
        return e.Tuple((inner,))
    return e.Tuple(tuple(values)) if len(info.fields) == len(values) else None
