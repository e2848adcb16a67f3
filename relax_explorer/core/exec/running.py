"""The interface of the machine for instructions: frames, memory, calls, traps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from relax_explorer.core.diagnostics import Code, Failure
from relax_explorer.core.exec.events import Change, Event
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.core.exec.match import Scope
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.ranks import Rank
from relax_explorer.core.exec.values import Lengths, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.program.module import IRModule


class Running(Protocol):
    """The machine as seen by its instructions."""

    module: IRModule
    kernels: Kernels
    interrupt: Interrupt
    frames: list[Frame]
    output: list[str]
    is_mutable: bool
    met: (
        set[int] | None
    )  # the instructions that ran, in the only run of these lengths; None if others may follow
    rank: Rank | None
    storage_factor: int
    fitting: dict[object, StructInfo]
    change: Change | None
    kept: list[np.ndarray[Any, Any]]
    record: bool
    done: bool
    globals: Mapping[str, Value]

    def scope(self, frame: Frame) -> Scope:
        """The names visible to matches in this frame."""

    def write(self, frame: Frame, slot: int, value: Value) -> None:
        """Set a register. The change can be undone."""

    def packed(self, name: str, args: Sequence[Value], at: Instruction) -> Value:
        """Call a packed function."""

    def enter(
        self,
        fn: e.Function,
        name: str,
        args: Sequence[Value],
        captured: dict[e.Var, Value],
        into: tuple[Frame, int] | None,
        binding: e.Binding | None,
        dims: Lengths,
    ) -> None:
        """Begin a call: a new frame, whose result goes `into` a register."""

    def run(self) -> Value:
        """Run to the end of the first frame."""

    def call_value(self, callee: Value, args: Sequence[Value], frame: Frame, at: Instruction) -> Event | None:
        """Call a function value. If the callee gets its own frame, the result comes later."""

    def trap(
        self, code: Code, text: str, at: Instruction, hint: str = "", notes: tuple[str, ...] = ()
    ) -> Failure:
        """The failure that stops the run at an instruction."""

    def warn(self, code: Code, text: str, at: Instruction) -> None:
        """Add a warning at an instruction, once."""
