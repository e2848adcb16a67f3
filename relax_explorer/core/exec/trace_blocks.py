"""Parts of a trace that run on blocks of rows, so that values between neighbouring element-wise operators stay in the cache.

The first run goes operator by operator, and each later one by one compiled loop (`element_loop`), if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from threading import local

import numpy as np

from relax_explorer.core.exec.element_loop import Call, compiled, flat, has_loop, operands
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.known_call import ERRORS, KnownOperator, Step
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit import large_arrays
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.by_rows import in_blocks, rows_of
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.ops.tensor.binary import Arithmetic

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
        results = {slot: large_arrays.empty(self.shape, dtype) for slot, dtype in self.kept.items()}
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
        from relax_explorer.core.exec.tir_text import NotCompiled  # llvmlite takes a while to load

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
