"""Calls that need no more checks: operands of the same types and lengths passed them before.

The rule of an operator derives the type of the result from the types of the operands, not from their elements. So the first
call checks everything, and each later one only that nothing has changed. The same holds for a kernel. The memory is part of the
instruction, because a program mostly calls with the same lengths again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.own_kernels import OwnKernel
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Lengths, Shape, Types, Value, shape_value, types_of
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_holders, info_vars
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.ops.kit.ndarrays import UFUNCS, dense, empty
from relax_explorer.core.tir.stmt import PrimFunc

if TYPE_CHECKING:
    from relax_explorer.core.exec.compiled_kernel import Kernel

ERRORS = (Failure, ArithmeticError, LookupError, MemoryError, TypeError, ValueError)
Type = tuple[tuple[int, ...], np.dtype[Any]]
Rule = Callable[[Any, Frame, Instruction], object]
Computed = Callable[[list[Value], Interrupt], Value]  # from the registers
LARGE = 1 << 17  # elements


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A call that passed its checks: the types of its operands, and the lengths that its types mention."""

    operands: Types
    dims: tuple[p.PrimVar, ...]
    lengths: tuple[int | None, ...]

    def fits(self, operands: Types | None, dims: Lengths) -> bool:
        """True if a call with operands of these types needs no checks."""
        return operands == self.operands and (
            not self.dims or tuple(map(dims.get, self.dims)) == self.lengths
        )


@dataclass(frozen=True, slots=True, eq=False)
class KnownOperator(Known):
    """A call of an operator with one array as its result."""

    type: Type
    function: Callable[..., Any]
    shares: bool  # True if the result may share memory with an operand
    is_large: bool  # True if running by blocks of rows is worth it (`trace_blocks`)

    def value(self, args: Sequence[Value]) -> Value:
        """The result. None if the call needs its checks: they say why, or its lengths depend on elements."""
        try:
            value = self.function(*args)
        except ERRORS:
            return None
        return value if self.is_expected(value) else None

    def is_expected(self, value: Value) -> bool:
        """True for a value of the type of the result."""
        shape, dtype = self.type
        return type(value) is np.ndarray and value.shape == shape and value.dtype == dtype

    @property
    def ufunc(self) -> np.ufunc | None:
        """The ufunc that gives a result of the dtype of the operands without conversions."""
        dtype = self.type[1]
        is_plain = dtype.isbuiltin == 1 and (
            dtype.kind in "iu" or (dtype.kind == "f" and dtype.itemsize >= 4)
        )
        found = UFUNCS.get(self.function)
        return (
            found.function if found and is_plain and all(of == dtype for of in self.operands[1::2]) else None
        )


@dataclass(frozen=True, slots=True, eq=False)
class KnownTuple(Known):
    """A call of an operator with a tuple of arrays as its result."""

    types: tuple[Type, ...]
    function: Callable[..., Any]
    shares: bool  # True if the result may share memory with an operand

    def value(self, args: Sequence[Value]) -> Value:
        """The result. None if the call needs its checks: they say why, or its lengths depend on elements."""
        try:
            value = self.function(*args)
        except ERRORS:
            return None
        return value if self.is_expected(value) else None

    def is_expected(self, value: Value) -> bool:
        """True for a value of the types of the results."""
        return _array_types(value) == self.types


@dataclass(frozen=True, slots=True, eq=False)
class KnownCall(Known):
    """A call_tir that passed its checks."""

    fn: PrimFunc
    engine: str  # that compiled it
    types: tuple[Type, ...]  # of the results
    is_tuple: bool

    def is_of(self, fn: object, machine: Running) -> bool:
        """True if a machine calls this PrimFunc as it was compiled: another engine compiles it anew."""
        return self.fn is fn and self.engine == machine.kernels.engine

    def value(self, given: Value, interrupt: Interrupt) -> Value:
        """The result for the tuple of operands. None if the call needs its checks."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class KnownView(KnownCall):
    """A call whose result is a view of its operand."""

    axes: tuple[int, ...]

    def value(self, given: Value, interrupt: Interrupt) -> Value:  # noqa: D102  # as in the class above
        return dense(given[0].transpose(self.axes))


@dataclass(frozen=True, slots=True, eq=False)
class KnownKernel(KnownCall):
    """A call that fills arrays, and what it gets beside them."""

    filled: tuple[bool, ...]  # True for a result that the kernel writes whole
    scalars: tuple[Any, ...]  # converted operands; None for an array
    tail: tuple[Any, ...]  # scalars after the outputs, and the lengths of the buffers
    viewed: frozenset[int]  # operands that need not be compact

    def value(self, given: Value, interrupt: Interrupt) -> Value:  # noqa: D102  # as in the class above
        passed = kernel_arguments(given)
        for number, scalar in enumerate(self.scalars):
            if scalar is not None:
                passed[number] = scalar
            elif (
                not ((flags := passed[number].flags).c_contiguous or number in self.viewed)
                or not flags.aligned
            ):
                return None  # copied by the checked call: for it numba would compile a text of its own
        outputs = [
            empty(shape, dtype) if is_filled else np.zeros(shape, dtype)
            for (shape, dtype), is_filled in zip(self.types, self.filled, strict=True)
        ]
        if not self.run([*passed, *outputs, *self.tail], interrupt):
            return None  # the checked call stops as well, and says why
        return tuple(outputs) if self.is_tuple else outputs[0]

    def run(self, passed: Sequence[Any], interrupt: Interrupt) -> bool:
        """Fill the outputs. False if the kernel stopped."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class KnownCode(KnownKernel):
    """A call of compiled code."""

    function: Callable[..., Any]
    note: np.ndarray[Any, Any]  # where the code notes where it stops; nobody reads it
    stops: tuple[type[Exception], ...]  # what it raises then

    def run(self, passed: Sequence[Any], interrupt: Interrupt) -> bool:  # noqa: D102  # as in the class above
        try:
            self.function(*passed, self.note, interrupt.address)
        except self.stops:
            return False
        return True


@dataclass(frozen=True, slots=True, eq=False)
class KnownPieces(KnownKernel):
    """A call of a kernel in pieces."""

    function: Callable[[Sequence[Any], Interrupt], bool]

    def run(self, passed: Sequence[Any], interrupt: Interrupt) -> bool:  # noqa: D102  # as in the class above
        try:
            return self.function(passed, interrupt)
        except Cancelled:
            raise
        except Failure:
            return False


@dataclass(slots=True, eq=False)
class Step:
    """One instruction: a call that is known, or one between calls, whose value follows from registers and lengths alone.

    `value` takes the registers, and the interrupt of the run.
    """

    at: Instruction
    value: Computed  # None, or one of `ERRORS`, if the instruction needs its checks
    known: KnownCall | KnownOperator | KnownTuple | None = None  # of a call

    def run(self, registers: list[Value], interrupt: Interrupt) -> bool:
        """Put the value into its register. False if that needs checks; then nothing was done."""
        try:
            value = self.value(registers, interrupt)
        except Cancelled:
            raise
        except ERRORS:
            return False
        if value is None:
            return False
        registers[self.at.target] = value
        return True


def kernel_arguments(args: Sequence[Value]) -> list[Any]:
    """The arguments of a kernel. A shape is replaced by its lengths."""
    return [item for arg in args for item in (arg if isinstance(arg, Shape) else (arg,))]


def operator_again(at: Instruction, args: Sequence[Value], dims: Lengths) -> Value:
    """The result of an operator that needs no checks. None if it needs them; then nothing was done."""
    known = at.known
    if type(known) not in (KnownOperator, KnownTuple) or not known.fits(types_of(args), dims):
        return None
    with np.errstate(all="ignore"):
        return known.value(args)


def kernel_again(
    machine: Running, frame: Frame, at: Instruction, fn: PrimFunc, args: Sequence[Value]
) -> Value:
    """The result of a kernel that needs no checks. None if it needs them; then nothing was done."""
    known = at.known
    if not isinstance(known, KnownCall) or not known.is_of(fn, machine):
        return None
    if not known.fits(types_of(args[1:]), frame.dims):
        return None
    with np.errstate(all="ignore"):
        return known.value(args[1], machine.interrupt)


def kernel_alike(
    machine: Running, frame: Frame, at: Instruction, fn: PrimFunc, args: Sequence[Value]
) -> Value:
    """The result of a kernel whose call elsewhere passed its checks with operands and results of the same types. None if it needs them.

    Layers of a model call the same kernels, so that their first calls need no checks but those of the first layer.
    """
    alike = machine.kernels.alike
    types = _result_types(at, frame.dims) if alike else None
    known = alike.get((id(fn), types_of(args[1:]), types)) if types is not None else None
    if known is None:
        return None
    with np.errstate(all="ignore"):
        value = known.value(args[1], machine.interrupt)
    if value is not None:
        dims = info_vars(at.node.sinfo_args[0])
        at.known = replace(known, dims=dims, lengths=tuple(map(frame.dims.get, dims)))
    return value


def _result_types(at: Instruction, dims: Lengths) -> tuple[Type, ...] | None:
    """The types of the arrays that a call fills. None where they are not known before it runs."""
    out = at.node.sinfo_args[0]
    types: list[Type] = []
    for info in out.fields if isinstance(out, s.TupleStructInfo) else (out,):
        if type(info) is not s.TensorStructInfo or info.dims is None or info.dtype is None:
            return None
        try:
            types.append((shape_value(info.dims, dims, None), info.dtype.to_numpy()))
        except (Failure, TypeError):  # TypeError: NumPy has no such dtype
            return None
    return tuple(types)


def pays(machine: Running, again: object) -> bool:
    """True if a call is worth remembering: the instruction, or what it calls, comes `again`.

    In a run that is the only one of its lengths, that is known from the second time on.
    """
    if machine.met is None or id(again) in machine.met:
        return True
    machine.met.add(id(again))
    return False


def operator_alike(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], computes: object, args: Sequence[Value]
) -> Value:
    """The result of an operator whose call elsewhere passed its checks: with operands of these types, and the same StructInfo.

    None if it needs its checks; then nothing was done.
    """
    alike = machine.kernels.alike
    found = alike.get(_alike(at, op, args)) if alike else None
    if found is None or found[0] is not computes or not found[1].fits(found[1].operands, frame.dims):
        return None
    with np.errstate(all="ignore"):
        value = found[1].value(args)
    if value is not None:
        at.known = found[1]
    return value


def _alike(at: Instruction, op: type[Op], args: Sequence[Value]) -> tuple[object, ...]:
    """What calls that need the same checks have in common: the rule reads types, and the value is compared with the StructInfo."""
    call = at.node
    return op, call.attrs, types_of(args), call.struct_info, call.sinfo_args


def remember_operator(
    machine: Running,
    frame: Frame,
    at: Instruction,
    op: type[Op],
    computes: Callable[..., Any],
    args: Sequence[Value],
    value: Value,
) -> None:
    """Remember a call that passed its checks, if later ones can be recognised by the types of their operands."""
    types = _array_types(value if type(value) is tuple else (value,))
    if not types or op.overwritten():
        return  # a call that is evaluated again after a failure must have no effect
    operands = types_of(args)
    infos = [info for info in (at.node.struct_info, *[arg.struct_info for arg in at.node.args]) if info]
    if operands is None or any(map(info_holders, infos)):
        return
    dims = tuple(dict.fromkeys(var for info in infos for var in info_vars(info)))
    function: Callable[..., Any] = computes
    absent = () if op.variadic else (None,) * (len(op.operands) - len(args))
    if absent:
        function = partial(_with, computes, absent, dict(at.node.attrs))
    elif at.node.attrs:
        function = partial(computes, **at.node.attrs)
    known = operands, dims, tuple(map(frame.dims.get, dims))
    if type(value) is tuple:
        at.known = KnownTuple(*known, types, function, bool(op.shares))
    else:
        is_large = value.ndim > 0 and value.size >= LARGE and not isinstance(computes, OwnKernel)
        at.known = KnownOperator(*known, types[0], function, bool(op.shares), is_large)
    if op.by_info:
        machine.kernels.alike[_alike(at, op, args)] = computes, at.known


def _array_types(values: Value) -> tuple[Type, ...]:
    """The types of a tuple of arrays; empty for another value."""
    if type(values) is not tuple or any([type(item) is not np.ndarray for item in values]):
        return ()
    return tuple([(item.shape, item.dtype) for item in values])


def _with(
    function: Callable[..., Any], absent: tuple[None, ...], attrs: dict[str, Any], *args: Value
) -> Value:
    """Call `function` with optional operands that are absent, and with attributes."""
    return function(*args, *absent, **attrs)


def view_axes(machine: Running, frame: Frame, at: Instruction, fn: PrimFunc) -> tuple[int, ...] | None:
    """The order of the axes if a kernel only transposes for others that multiply, so that its result may be a view of its operand.

    None for another kernel, for products so small that loops compute them, and where a run can distinguish shared memory from a copy.
    """
    from relax_explorer.core.exec.loop_fusion import transposition

    if not at.readers or machine.is_mutable:
        return None
    axes, functions = transposition(fn), machine.module.functions
    for reader, place in at.readers if axes is not None else ():
        callee = functions.get(frame.registers[reader.args[0]].name)
        if type(callee) is not PrimFunc or len(reader.args) > 2:  # other arguments stand behind the outputs
            return None
        shapes = {place: _shapes(at, frame)[0]}
        shapes.update(enumerate(results := _shapes(reader, frame), len(callee.params) - len(results)))
        if not machine.kernels.get(callee).takes_view(place, shapes):
            return None
    return axes


def _shapes(at: Instruction, frame: Frame) -> list[tuple[int, ...]]:
    """The shapes of the outputs of a call; empty ones where they are not known yet."""
    out = at.node.sinfo_args[0]
    infos = out.fields if isinstance(out, s.TupleStructInfo) else (out,)
    return [_shape(info, frame.dims) for info in infos]


def _shape(info: s.StructInfo, dims: Lengths) -> tuple[int, ...]:
    if not isinstance(info, s.TensorStructInfo) or info.dims is None:
        return ()
    try:
        return shape_value(info.dims, dims, None)
    except Failure:
        return ()


def remember_kernel(
    machine: Running,
    frame: Frame,
    at: Instruction,
    fn: PrimFunc,
    args: Sequence[Value],
    parts: Sequence[Sequence[Any]],
    value: Value,
) -> None:
    """Remember a call that passed its checks and gave `value`. `parts` are the parameters before and after the outputs."""
    inputs, tail = parts
    results, operands = value if type(value) is tuple else (value,), types_of(args[1:])
    if operands is None:
        return
    dims = info_vars(at.node.sinfo_args[0])
    call = (
        operands,
        dims,
        tuple(map(frame.dims.get, dims)),
        fn,
        machine.kernels.engine,
        tuple([(item.shape, item.dtype) for item in results]),
        type(value) is tuple,
    )
    axes = view_axes(machine, frame, at, fn)
    if axes is not None:
        at.known = KnownView(*call, axes)
        return
    known = _filling(machine.kernels.get(fn), call, [*inputs, *results, *tail], len(inputs), len(results))
    at.known = known
    if known is not None:
        machine.kernels.alike[id(fn), operands, known.types] = known


_Call = tuple[Types, tuple[p.PrimVar, ...], tuple[int | None, ...], PrimFunc, str, tuple[Type, ...], bool]


def _filling(kernel: Kernel, call: _Call, args: Sequence[Any], first: int, count: int) -> KnownKernel | None:
    """What is known of a call that fills `count` arrays, from parameter `first` on. None if it needs its checks each time."""
    from relax_explorer.core.exec.kernel_traps import ERRORS, NOTE_LENGTH

    divided = kernel.in_pieces(args, first)
    ready = divided or kernel.prepared(args, first)
    if ready is None:
        return None
    function, passed = ready
    numbers, whole = range(first, first + count), kernel.filled
    filling = (
        tuple([number in whole for number in numbers]),
        tuple([None if type(item) is np.ndarray else item for item in passed[:first]]),
        tuple(passed[numbers.stop :]),
    )
    if divided is None:
        note = np.zeros(NOTE_LENGTH, np.int64)
        return KnownCode(*call, *filling, frozenset(), function, note, (InterruptedError, *ERRORS))
    return KnownPieces(*call, *filling, kernel.viewed, function)
