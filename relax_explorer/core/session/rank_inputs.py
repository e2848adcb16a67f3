"""What several ranks run: their arguments, each with inputs of its own or with parts of those of the program that is not divided.

The calls of a file are one function; each rank makes them with values of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.values import Value, fault
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import INPUT_LIMIT
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.samples import Start, function_of, program_of, sample_of_calls, start_of
from relax_explorer.core.session.stages import Stage

PLACE = "{rank}"
"""In a source of values, or in a file of calls: the number of the rank."""


@dataclass(frozen=True, slots=True)
class Division:
    """A function with the arguments of each rank, the start of the program that is not divided, and what was made up."""

    module: IRModule
    name: str
    arguments: Sequence[Sequence[Value]]
    whole: Start | None = None
    program: CallProgram | None = None
    note: str = ""


def division(
    module: IRModule, name: str, given: CallInputs, count: int, unsharded: IRModule | None = None, most: int = INPUT_LIMIT
) -> Division:  # fmt: skip
    """A function on `count` ranks. With the program that is not divided, inputs are those of that one. Raises Failure."""
    if unsharded is None:
        starts = [_start(module, name, given, rank, most) for rank in range(count)]
        first = starts[0]
        return Division(
            first.module, first.name, [item.args for item in starts], None, first.program, first.note
        )
    if any(PLACE in source for source in given.sources.values()):
        text = f"with --unsharded, inputs are those of the whole program: {PLACE} has no meaning"
        raise fault(codes.WRONG_INPUT, text, None)
    whole_name = name if name in unsharded.functions else Stage(0, "input", unsharded).entry
    if not given.calls:
        function_of(unsharded, whole_name)  # says so if there is none
    whole = start_of(unsharded, whole_name, given, most=most)
    if whole.program is not None:
        form = whole.program.into(module)
        params: Sequence[e.Var] = list(_params_of_calls(whole.program, form))
        values = dict(zip([param.name for param in params], whole.args, strict=True))
        return Division(form, whole.name, divided(params, values, count), whole, whole.program, whole.note)
    fn, whole_fn = function_of(module, name), function_of(unsharded, whole_name)
    values = dict(zip([param.name for param in whole_fn.params], whole.args, strict=True))
    return Division(module, name, divided(fn.params, values, count), whole, None, whole.note)


def _start(module: IRModule, name: str, given: CallInputs, rank: int, most: int) -> Start:
    sources = {key: source.replace(PLACE, str(rank)) for key, source in given.sources.items()}
    own = replace(given, sources=sources)
    if not given.calls:
        return start_of(module, name, own, most=most)
    sample = sample_of_calls(given.calls, [module], most, {PLACE: str(rank)})
    program = program_of(module, sample)
    notes = "; ".join([program.summary, *program.remarks])
    return Start(program.into(module), program.name, program.values, program, notes)


def _params_of_calls(program: CallProgram, module: IRModule) -> Iterator[e.Var]:
    """The inputs of calls with the StructInfo that the called functions of a module have for them."""
    infos = {}
    for binding in bindings(program.function):
        call = binding.value
        fn = (
            module.functions.get(call.op.name)
            if type(call) is e.Call and type(call.op) is e.GlobalVar
            else None
        )
        if type(call) is e.Call and type(fn) is e.Function:
            infos.update({arg: param.struct_info for arg, param in zip(call.args, fn.params, strict=False)})
    for param in program.function.params:
        yield e.Var(param.name, infos.get(param, param.struct_info), param.span)


# -- dividing --------------------------------------------------------------------------------------------------------


def divided(params: Sequence[e.Var], whole: Mapping[str, Value], count: int) -> list[list[Value]]:
    """The arguments of each rank, from the values of parameters of the program that is not divided.

    A parameter whose stated length along one axis is that of the value divided by `count` gets a part. Raises Failure.
    """
    ranks: list[list[Value]] = [[] for _ in range(count)]
    for param in params:
        if param.name not in whole:
            text = f"the program that is not divided has no parameter {param.name}; it has {', '.join(whole) or 'none'}"
            raise fault(codes.WRONG_INPUT, text, param)
        for own, value in zip(
            ranks, _shares(param, param.struct_info, whole[param.name], count), strict=True
        ):
            own.append(value)
    return ranks


def _shares(param: e.Var, info: object, value: Value, count: int) -> list[Value]:
    fields = getattr(info, "fields", None)
    if fields is not None and type(value) is tuple:
        shares = [_shares(param, one, item, count) for one, item in zip(fields, value, strict=True)]
        return [tuple(items) for items in zip(*shares, strict=True)]
    dims = getattr(info, "dims", None)
    if dims is None or not isinstance(value, np.ndarray):
        return [value] * count
    lengths = {axis: int(dim.value) for axis, dim in enumerate(dims) if isinstance(dim, p.IntImm)}
    if value.ndim == len(dims):
        axes = [axis for axis, length in lengths.items() if length != value.shape[axis]]
        if not axes:
            return [value] * count
        if len(axes) == 1 and lengths[axes[0]] * count == value.shape[axes[0]]:
            return [np.ascontiguousarray(part) for part in np.split(value, count, axes[0])]
    text = f"{param.name} is {info}, which is no part of shape {value.shape} for {count} ranks"
    raise fault(codes.WRONG_INPUT, text, param)
