"""Parts of a trace that run on blocks of rows, so that values between neighbouring element-wise operators stay in the cache.

The first run goes operator by operator, and each later one by one compiled loop, if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import prod
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.exec import kernel_cache
from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.known_call import ERRORS, KnownOperator, Step
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.ops.kit.ndarrays import Array, in_blocks, rows_of
from relax_explorer.core.ops.tensor.binary import Arithmetic

if TYPE_CHECKING:
    from relax_explorer.core.exec.machine_code import Text


# -- element loop ----------------------------------------------------------------------------------------------------
# Element-wise operators as one compiled loop: each element is read once, and the values between stay in registers.
#
# Only operators whose elements are given by one rule of arithmetic take part. So the values are those of numpy, bit
# for bit.


# The result of each operator. Integers wrap around; the others need floats. A comparison with NaN is false.
_OF_INTEGERS = {"relax.add": "+", "relax.subtract": "-", "relax.multiply": "*"}
_OPERATORS = {**_OF_INTEGERS, "relax.divide": "/", "relax.negative": "neg"}
_FUNCTIONS = {
    "relax.abs": "abs",
    "relax.nn.relu": "larger",
    "relax.maximum": "larger",
    "relax.minimum": "smaller",
}
# The operator, the numbers of its operands, the number of its result.
Call = tuple[str, tuple[int, ...], int]


def operands(calls: Sequence[Call]) -> list[int]:
    """The values that calls take from outside, in order."""
    inside = {target for _, _, target in calls}
    return list(dict.fromkeys([number for _, args, _ in calls for number in args if number not in inside]))


def has_loop(calls: Sequence[Call], dtype: np.dtype[Any]) -> bool:
    """True if calls on operands of one dtype have a loop."""
    if dtype.name in ("float32", "float64"):
        return all(name in _OPERATORS or name in _FUNCTIONS for name, _, _ in calls)
    return dtype.kind in "iu" and dtype.isnative and all(name in _OF_INTEGERS for name, _, _ in calls)


@lru_cache(256)
def compiled(
    calls: tuple[Call, ...], kept: tuple[int, ...], single: frozenset[int], dtype: str, cache: Path | None
) -> Text:
    """The function of calls that have a loop. It takes the results that are `kept`, the operands, their number of elements, a note
    and the address of the stop flag. Arrays have one axis, and those in `single` one element. None if it can't be compiled.
    """
    from relax_explorer.core.exec.llvm_kernel import Param  # llvmlite takes a while to load
    from relax_explorer.core.exec.machine_code import NUMBER, compiled_text

    number: ir.Expr = ir.Var("i")
    values: dict[int, ir.Expr] = {
        slot: ir.Element(f"a{slot}", dtype, (ir.Const(0) if slot in single else number,))
        for slot in operands(calls)
    }
    names = [*[f"r{slot}" for slot in kept], *[f"a{slot}" for slot in values], "n"]
    body: list[ir.Stmt] = []
    for place, (name, args, target) in enumerate(calls):
        body.append(ir.Assign(f"t{place}", _formula(name, dtype, [values[slot] for slot in args])))
        values[target] = ir.Var(f"t{place}")
    body += [ir.Store(ir.Element(f"r{slot}", dtype, (number,)), values[slot]) for slot in kept]
    routine = ir.Routine(tuple(names), (ir.For("i", ir.Const(0), ir.Var("n"), tuple(body)),))
    folder = None if cache is not None and kernel_cache.refusal(cache) else cache
    params = [Param("", dtype, (1,))] * (len(names) - 1)  # what the memory holds; nobody reads the lengths
    return compiled_text(routine, folder, [*params, NUMBER], True)


def _formula(name: str, kind: str, args: list[ir.Expr]) -> ir.Expr:
    if name in _OPERATORS:
        return ir.Convert(kind, ir.Op(_OPERATORS[name], tuple(args)))
    zero = [ir.Convert(kind, ir.Const(0))] if name == "relax.nn.relu" else []
    return ir.Apply(_FUNCTIONS[name], (*args, *zero))


def flat(value: Value, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
    """An operand for a loop: an array of this shape as one axis, or one element. None for another one."""
    if type(value) is not np.ndarray or value.dtype != dtype or (value.ndim and value.shape != shape):
        return None
    return value.reshape(-1) if value.flags.c_contiguous and value.flags.aligned else None


# -- trace blocks ----------------------------------------------------------------------------------------------------


RUNS_BEFORE = 1  # compiling takes as long as some runs; what runs again and again is worth it
_AT_ONCE = 1 << 18  # elements between two looks at the interrupt


class _Other(Exception):
    """A block has another type than the whole array before. The calls run one by one."""


def blocks(steps: Sequence[Step]) -> dict[int, Blocks]:
    """The parts of these steps, by the number of their first step: at least two calls whose results have one shape."""
    found: dict[int, Blocks] = {}
    numbered = [(number, step, _shape(step)) for number, step in enumerate(steps)]
    for shape, group in groupby(numbered, lambda item: item[2]):
        members = list(group)
        if shape is not None and len(members) > 1:
            found[members[0][0]] = Blocks.of([(step.at, step.known) for _, step, _ in members], shape)  # type: ignore[misc]  # `_shape` found operators
    return found


def _shape(step: Step) -> tuple[int, ...] | None:
    """The shape of a large result whose elements depend only on the elements at their places. None for another step."""
    known, op = step.known, find(getattr(getattr(step.at.node, "op", None), "name", ""))
    if type(known) is not KnownOperator or op is None or not known.is_large:
        return None
    shape = known.type[0]
    is_alike = all(of == shape for of in known.operands[::2] if type(of) is tuple)
    is_by_element = issubclass(op, Arithmetic) or (op.fusion is Fusion.ELEMENTWISE and is_alike)
    return shape if is_by_element else None


@dataclass(slots=True, eq=False)
class Blocks:
    """Calls that run together: the instructions, the shape, and the registers that something reads later or that end."""

    calls: list[tuple[Instruction, KnownOperator]]
    shape: tuple[int, ...]
    kept: dict[int, np.dtype[np.generic]]
    dead: set[int]
    written: tuple[Call, ...]
    has_loop: bool
    runs: int = 0

    @staticmethod
    def of(calls: list[tuple[Instruction, KnownOperator]], shape: tuple[int, ...]) -> Blocks:
        """The part of these calls."""
        dead = {slot for at, _ in calls for slot in at.dead}
        kept = {at.target: known.type[1] for at, known in calls if at.target not in dead}
        written = tuple([(at.node.op.name, at.args, at.target) for at, _ in calls])
        dtypes = {known.type[1] for _, known in calls}
        is_one = bool(kept) and len(dtypes) == 1 and has_loop(written, *dtypes)
        return Blocks(calls, shape, kept, dead, written, is_one)

    @property
    def length(self) -> int:
        """The number of calls."""
        return len(self.calls)

    def run(self, machine: Running, frame: Frame) -> bool:
        """Do all calls. False if a block fails; then nothing was done."""
        results = {slot: ndarrays.empty(self.shape, dtype) for slot, dtype in self.kept.items()}
        if not (self._by_loop(machine, frame, results) or self._by_calls(frame, results, machine.interrupt)):
            return False
        for slot in self.dead:
            frame.registers[slot] = None
        for slot, result in results.items():
            frame.registers[slot] = result
        return True

    def _by_loop(self, machine: Running, frame: Frame, results: dict[int, Array]) -> bool:
        """Fill the results by one compiled loop. False if there is none, or not yet; nothing was done."""
        self.runs += 1
        if self.runs <= RUNS_BEFORE or not self.has_loop:
            return False
        (dtype,) = set(self.kept.values())
        values = {slot: flat(frame.registers[slot], self.shape, dtype) for slot in operands(self.written)}
        if any(value is None for value in values.values()):
            return False
        from relax_explorer.core.exec.machine_code import NotCompiled

        single = frozenset([slot for slot in values if not frame.registers[slot].ndim])
        arrays = [array.reshape(-1) for array in results.values()]
        arrays += [values[slot] for slot in values]
        note, interrupt, size = (
            np.zeros(1, np.int64),
            machine.interrupt,
            prod(self.shape),
        )  # nothing is checked
        try:
            function = compiled(
                self.written, tuple(results), single, dtype.name, machine.kernels.cache
            ).function((*arrays, size, note, interrupt.address))
        except NotCompiled:
            self.has_loop = False
            return False

        def fill(start: int, end: int) -> None:
            interrupt.check()
            parts = [array[start:end] if len(array) == size else array for array in arrays]
            function(*parts, end - start, note, interrupt.address)

        in_blocks(fill, size, _AT_ONCE, size)
        return True

    def _by_calls(self, frame: Frame, results: dict[int, Array], interrupt: Interrupt) -> bool:
        """Fill the results operator by operator, some rows at a time. False if a block fails."""
        size = prod(self.shape)
        rows = rows_of(self.shape, size)
        scratch = local()  # of each thread: arrays for the values of a block

        def fill(start: int, end: int) -> None:
            interrupt.check()
            targets = vars(scratch).setdefault("targets", {})
            for at, known in self.calls:
                if at.target not in self.kept and at.target not in targets:
                    targets[at.target] = np.empty((rows, *self.shape[1:]), known.type[1])
            outputs = {slot: array[: end - start] for slot, array in targets.items()}
            outputs |= {slot: array[start:end] for slot, array in results.items()}
            self._block(frame, start, end, outputs)

        try:
            with np.errstate(all="ignore"):
                in_blocks(fill, self.shape[0], rows, size)
        except (_Other, *ERRORS):
            return False
        return True

    def _block(self, frame: Frame, start: int, end: int, outputs: dict[int, Array]) -> None:
        """Compute all calls for some rows into `outputs`, which has an array for each register."""
        done: set[int] = set()
        for at, known in self.calls:
            args = [
                outputs[slot] if slot in done else _rows(frame.registers[slot], self.shape, start, end)
                for slot in at.args
            ]
            output, ufunc = outputs[at.target], known.ufunc
            if ufunc is not None:
                ufunc(*args, out=output)
            else:
                value = known.function(*args)
                if type(value) is not np.ndarray or (value.shape, value.dtype) != (
                    output.shape,
                    output.dtype,
                ):
                    raise _Other
                output[...] = value
            done.add(at.target)


def _rows(value: Value, shape: Sequence[int], start: int, end: int) -> Value:
    """Rows of an operand. A scalar, or an operand that is broadcast along the rows, stays whole."""
    if type(value) is not np.ndarray or value.ndim != len(shape) or value.shape[0] != shape[0]:
        return value
    return value[start:end]
