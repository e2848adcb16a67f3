"""The calls that a compiled program made, as a recording holds them, beside the bindings of the last Relax stage.

The virtual machine does not tell bindings, but it calls in their order: `expected` lists the calls that a function makes, and both lists are laid
beside each other by order and by name. So each tensor of the compiled run gets the variable that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from relax_explorer import recorder
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.played import Played, PlayedCall
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import dtype as dtype_called
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import read_as
from relax_explorer.core.session.compiled import Call, expected
from relax_explorer.core.session.containers import Json, seconds

if TYPE_CHECKING:
    from relax_explorer.core.session.containers import Container

_JUMPS = frozenset({"if", "goto", "ret"})
_ALLOCATES = "vm.builtin.alloc_tensor"
_HEAP = "vm.builtin.alloc_shape_heap"  # it holds lengths, and what was in its memory before
_LOOKED_AHEAD = 40
"""How many calls may be missing on one side before the other goes on."""
_LEAST = 0.8  # of the calls that a function without branches makes


@dataclass(frozen=True, slots=True)
class CompiledRun:
    """One run of a function of the compiled program: its arguments, and its values by the names of variables, results as out0, out1, ….

    An argument that no call told is None, such as a cache. `times` are the seconds that the call of each binding took,
    `fillers` the calls that wrote into what others had allocated, `objects` those that took objects which are not recorded.
    """

    name: str
    function: e.Function
    arguments: tuple[Value, ...]
    values: Mapping[str, Value]
    times: Mapping[e.VarBinding, float]
    fillers: Mapping[e.Var, e.VarBinding]
    objects: tuple[PlayedCall, ...] = ()

    @property
    def calls(self) -> int:
        """The number of its calls that belong to bindings."""
        return len(self.times)

    @property
    def seconds(self) -> float:
        """What its calls took."""
        return sum(self.times.values())

    @property
    def unknown(self) -> tuple[str, ...]:
        """The parameters whose value no call told."""
        params = zip(self.function.params, self.arguments, strict=True)
        return tuple([param.name for param, value in params if value is None])

    def completed(self, returned: Sequence[Value]) -> tuple[Value, ...] | None:
        """The arguments, with objects from what earlier runs here have returned, the last first. None if one is not found."""
        found = []
        for param, value in zip(self.function.params, self.arguments, strict=True):
            if value is None:
                fitting = [item for item in _parts(returned) if _fits(item, param.struct_info)]
                if not fitting:
                    return None
                value = fitting[-1]
            found.append(value)
        return tuple(found)

    def played(self) -> tuple[Value, ...] | None:
        """The arguments, with one object that answers as all objects did. None if an argument is unknown that is no object."""
        answering = Played(self.objects)
        found = [
            _object_as(param.struct_info, answering) if value is None else value
            for param, value in zip(self.function.params, self.arguments, strict=True)
        ]
        return None if not self.objects or any(item is None for item in found) else tuple(found)


def _object_as(info: s.StructInfo | None, answering: Played) -> Value:
    """An object, or a tuple of it, where a parameter takes one; else None."""
    if isinstance(info, s.TupleStructInfo) and info.fields:
        fields = tuple([_object_as(field, answering) for field in info.fields])
        return None if any(item is None for item in fields) else fields
    return answering if isinstance(info, s.ObjectStructInfo) else None


def _parts(returned: Sequence[Value]) -> Iterator[Value]:
    """Results, and the fields of those that are tuples."""
    for item in returned:
        yield from item if type(item) is tuple else ()
        yield item


def _fits(value: Value, info: s.StructInfo | None) -> bool:
    """True for an object, or a tuple of objects, where a parameter takes one."""
    if isinstance(info, s.TupleStructInfo):
        is_tuple = type(value) is tuple and len(value) == len(info.fields) > 0
        return is_tuple and all(map(_fits, value, info.fields))
    return isinstance(info, s.ObjectStructInfo) and isinstance(value, Stateful)


def compiled_runs(container: Container, module: IRModule) -> Iterator[CompiledRun]:
    """The runs of functions of the last Relax stage, in order. Calls that belong to none are left out. Raises ParseError."""
    wanted = {
        name: [call for call in expected(fn, module) if call.name not in _JUMPS]
        for name, fn in module.relax_functions.items()
    }
    for told in container.told:
        calls = told.lines[recorder.CALL]
        names = [str(line.get("name")) for line in calls]
        at = 0
        while at < len(names):
            name, pairs = max(
                [(name, _beside(names, at, calls_of)) for name, calls_of in wanted.items()],
                key=lambda item: _likeness(item[1], len(wanted[item[0]])),
                default=("", []),
            )
            if not pairs:
                at += 1
                continue
            function, end = module.relax_functions[name], pairs[-1][0] + 1
            laid = [(wanted[name][n].place, calls[i]) for i, n in pairs]
            yield _Filled(function, container, dict(laid_out(laid))).run(name, calls[at:end])
            at = end


def _likeness(pairs: Sequence[tuple[int, int]], calls: int) -> tuple[float, int]:
    """How well recorded calls fit to those of a function: which part of both lists is in pairs, and how many pairs there are."""
    if not pairs:
        return 0.0, 0
    recorded = pairs[-1][0] - pairs[0][0] + 1
    return len(pairs) / max(recorded, calls), len(pairs)


def laid_out(pairs: Sequence[tuple[object, Json]]) -> Iterator[tuple[e.VarBinding, Json]]:
    """The bindings with their calls; a tuple that is made for an operand comes before the call of its binding."""
    for place, line in pairs:
        if isinstance(place, e.VarBinding):
            yield place, line


def _beside(names: Sequence[str], start: int, calls: Sequence[Call]) -> list[tuple[int, int]]:
    """The pairs of recorded and expected calls from `start` on; nothing if the function does not begin there."""
    pairs: list[tuple[int, int]] = []
    at, n = start, 0
    while at < len(names) and n < len(calls):
        if names[at] == calls[n].name:
            pairs.append((at, n))
            at, n = at + 1, n + 1
        elif not pairs:
            return []
        else:
            skipped = [
                k for k in range(1, _LOOKED_AHEAD) if n + k < len(calls) and calls[n + k].name == names[at]
            ]
            more = [
                k for k in range(1, _LOOKED_AHEAD) if at + k < len(names) and names[at + k] == calls[n].name
            ]
            if skipped and (not more or skipped[0] < more[0]):
                n += skipped[0]
            else:
                at += more[0] if more else 1
    return pairs if len(pairs) >= _LEAST * len(calls) else []


@dataclass
class _Filled:
    """Fills the values of a function from its calls."""

    function: e.Function
    container: Container
    lines: dict[e.VarBinding, Json]
    told: dict[e.Var, Value] = field(default_factory=dict)
    fields: dict[tuple[e.Var, int], Value] = field(default_factory=dict)
    empty: set[e.Var] = field(default_factory=set)
    fillers: dict[e.Var, e.VarBinding] = field(default_factory=dict)

    def run(self, name: str, calls: Sequence[Json]) -> CompiledRun:
        """The run that made these calls."""
        for binding, line in self.lines.items():
            self._call(binding, line)
        arguments = [self._argument(param) for param in self.function.params]
        params = set(self.function.params)
        values = {
            var.name: value for var, value in self.told.items() if var not in params and _is_array(value)
        }
        for number, part in enumerate(_leaves(self.function.body.body, self._tuples())):
            # a cache counts as many results as it has parts, so that those behind it have unknown numbers
            if not isinstance(part, e.Var) or not _is_array(self.told.get(part)):
                break
            values[f"out{number}"] = self.told[part]
        times = {binding: seconds(line.get("seconds")) for binding, line in self.lines.items()}
        objects = tuple([self._played(line) for line in calls if _takes_object(line)])
        return CompiledRun(name, self.function, tuple(arguments), values, times, self.fillers, objects)

    def _played(self, line: Json) -> PlayedCall:
        arrays = [item for item in map(self._value, line["operands"]) if _is_array(item)]
        return PlayedCall(
            str(line.get("name")), arrays[-1] if arrays else None, self._value(line.get("result"))
        )

    def _tuples(self) -> dict[e.Expr, e.Expr]:
        """The tuples and copies that variables stand for."""
        found = [item for item in bindings(self.function) if isinstance(item, e.VarBinding)]
        return {item.var: item.value for item in found if isinstance(item.value, (e.Tuple, e.Var))}

    def _call(self, binding: e.VarBinding, line: Json) -> None:
        call, operands = binding.value, line.get("operands")
        result = self._value(line.get("result"))
        if isinstance(call, e.TupleGetItem) and isinstance(call.tuple, e.Var):
            self.fields[call.tuple, call.index] = result
        elif isinstance(call, e.Call) and not isinstance(call.op, e.OpRef) and isinstance(operands, list):
            for arg, operand in zip(call.args, operands, strict=False):
                if isinstance(arg, e.Var) and arg not in self.told:
                    self._learn(arg, operand, binding)
        if line.get("name") == _ALLOCATES:
            self.empty.add(binding.var)  # what it holds is known when a kernel has filled it
        elif line.get("name") != _HEAP and result is not None:
            self.told[binding.var] = result

    def _learn(self, var: e.Var, operand: object, binding: e.VarBinding) -> None:
        value = self._value(operand)
        if value is not None and (var in self.empty or var in self.function.params):
            self.told[var] = value
            if var in self.empty:
                self.fillers[var] = binding

    def _argument(self, param: e.Var) -> Value:
        """The value of a parameter; None if it is not known."""
        info = param.struct_info
        if param in self.told:
            return self.told[param]
        if isinstance(info, s.TupleStructInfo):
            found = tuple([self.fields.get((param, n)) for n in range(len(info.fields))])
            return None if any(item is None for item in found) else found
        return None

    def _value(self, told: object) -> Value:
        """A recorded value: a tensor, or a shape. None for others."""
        if isinstance(told, dict) and told.get("array"):
            return _as(self.container.array(str(told["array"])), str(told.get("dtype")))
        if isinstance(told, list) and all(type(item) is int for item in told):
            return Shape(told)
        return None


_OF_THE_MACHINE = frozenset({"Storage", "Function", "c_void_p"})


def _takes_object(line: Json) -> bool:
    """True for a call with an object of the runtime, such as a cache."""
    operands = line.get("operands")
    kinds = (
        [item.get("type") for item in operands if isinstance(item, dict)]
        if isinstance(operands, list)
        else []
    )
    return any(kind is not None and kind not in _OF_THE_MACHINE for kind in kinds)


def _as(array: Array, dtype: str) -> Value:
    """An array in its dtype: those that numpy does not know are stored as bytes. None if nobody knows it."""
    if array.dtype.kind != "V":
        return array
    try:
        return read_as(array, dtype_called(dtype).to_numpy())
    except (TypeError, ValueError):
        return None


def _is_array(value: Value) -> bool:
    return isinstance(value, np.ndarray)


def _leaves(result: e.Expr, tuples: Mapping[e.Expr, e.Expr]) -> Iterator[e.Expr]:
    """The parts of a result."""
    value = tuples.get(result, result)
    if isinstance(value, e.Tuple):
        for part in value.fields:
            yield from _leaves(part, tuples)
    elif value is not result:
        yield from _leaves(value, tuples)
    else:
        yield result
