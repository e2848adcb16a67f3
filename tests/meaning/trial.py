"""Run one program before and after passes, and compare everything that a user can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import relax_explorer as rxe
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.packed import packed_function
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.program.module import IRModule
from tests.meaning.programs import PARAMS, Program
from tests.support.ready_modules import Held
from tests.support.ready_modules import after as after_pass

LENGTHS = ((2, 2), (2, 3), (3, 2), (1, 2), (3, 3))
_LOG: list[tuple[str, bytes]] = []
_KEPT: list[Any] = []


def _seen(name: str, x: Any) -> None:
    _LOG.append((name, x.tobytes()))


def increment(x: Any) -> None:
    """Add 1 to its argument, in place."""
    _seen("increment", x)
    np.add(x, np.ones((), x.dtype), out=x)


def keep(x: Any) -> None:
    """Keep its argument, and add 1 to the one kept before."""
    _seen("keep", x)
    for array in _KEPT:
        np.add(array, np.ones((), array.dtype), out=array)
    _KEPT.append(x)


def log(x: Any) -> None:
    """Record its argument."""
    _seen("log", x)


def identity(x: Any) -> Any:
    """Its argument."""
    return x


def register() -> None:
    """Register these functions in this process."""
    for function in (increment, keep, log, identity):
        packed_function(function.__name__)(function)


@dataclass(frozen=True)
class Seen:
    """The observable behaviour of a run: values, prints, effects in order, arguments afterwards, and its end."""

    result: Any
    output: tuple[str, ...]
    effects: tuple[tuple[str, bytes], ...]
    arguments: Any
    stopped: str = ""
    in_dataflow: bool = False  # it stopped in a dataflow block, so passes may drop the error

    def allows(self, other: Seen) -> bool:
        """True if a run after a pass may show `other`."""
        if not self.in_dataflow:
            return (self.result, self.output, self.effects, self.arguments, bool(self.stopped)) == (
                other.result, other.output, other.effects, other.arguments, bool(other.stopped),
            )  # fmt: skip
        count = len(self.effects)
        return other.effects[:count] == self.effects and other.output[: len(self.output)] == self.output


def frozen(value: Any) -> Any:
    """A value in comparable form."""
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.shape, value.tobytes())
    return tuple(map(frozen, value)) if isinstance(value, tuple) else value


def arguments(lengths: tuple[int, int]) -> list[Any]:
    """New arrays for `main`. Packed functions forget the earlier ones."""
    _LOG.clear()
    _KEPT.clear()
    sizes = {"f2": 2, "fn": lengths[0], "fm": lengths[1], "i2": 2}
    args: list[Any] = []
    for number, kind in enumerate(PARAMS.values()):
        dtype = np.int32 if kind == "i2" else np.float32
        args.append(np.arange(number % 3, number % 3 + sizes[kind], dtype=dtype))
    return args


def run(module: IRModule, lengths: tuple[int, int], condition: bool) -> Seen:
    """Run `main`."""
    args = arguments(lengths)
    machine = Machine(module, "main", [*args, np.array(condition)])
    result, stopped, inside = None, "", False
    try:
        while not machine.done:
            machine.step()
        result = frozen(machine.result)
    except rxe.Failure as failure:
        stopped = failure.diagnostics[0].code.id
        inside = _in_dataflow(machine)
    after = frozen(tuple(args)) if not stopped else None
    return Seen(result, tuple(machine.output), tuple(_LOG), after, stopped, inside)


def _in_dataflow(machine: Machine) -> bool:
    for frame in machine.frames:
        inside = _dataflow_bindings(frame.function)
        at = frame.plan.code[min(max(frame.pc - 1, 0), len(frame.plan.code) - 1)]
        following = (item.binding for item in frame.plan.code[max(frame.pc - 1, 0) :])
        binding = at.binding or next((item for item in following if item is not None), None)
        if binding in inside:
            return True
    return False


def _dataflow_bindings(fn: e.Function) -> set[e.Binding]:
    found: set[e.Binding] = set()
    stack = [(block, False) for block in fn.body.blocks]
    while stack:
        block, within = stack.pop()
        inside = within or type(block) is e.DataflowBlock
        for binding in block.bindings:
            if inside:
                found.add(binding)
            for seq in sequences(binding.value) if type(binding.value) is e.If else ():
                stack += [(inner, inside) for inner in seq.blocks]
    return found


@dataclass(frozen=True)
class Finding:
    """One or more passes that changed the behaviour of a run."""

    seed: int
    passes: tuple[str, ...]
    text: str
    what: str

    def __str__(self) -> str:
        return f"seed {self.seed}, {', '.join(self.passes)}: {self.what}\n{self.text}"


def trial(
    seed: int, orders: Sequence[tuple[str, ...]], of: type[Program] = Program
) -> tuple[int, list[Finding]]:
    """The number of compared runs, and the differences after each of `orders`; (0, []) for a refused program."""
    program = of(seed)
    try:
        before = rxe.normalize(rxe.parse(program.text))
    except rxe.Failure:
        return 0, []
    if not rxe.well_formed(before, profile="tvm"):
        return 0, []
    random = Random(seed)
    lengths, condition = random.choice(LENGTHS), random.random() < 0.5
    plain = run(before, lengths, condition)
    found, count = [], 0
    after: dict[tuple[str, ...], Any] = {(): before}
    held: Held = {}
    shown = {before: plain}  # a pass that changes nothing gives the same module
    for order in orders:
        what = ""
        try:
            module = _after(order, after, held)
        except rxe.Failure as failure:
            what = f"refused: {failure.diagnostics[0].message}"
        else:
            if module not in shown:
                shown[module] = run(module, lengths, condition)
            what = "" if plain.allows(shown[module]) else _difference(plain, shown[module])
        count += 1
        if what:
            found.append(Finding(seed, order, program.text, what))
    return count, found


def _after(order: tuple[str, ...], done: dict[tuple[str, ...], IRModule], held: Held) -> IRModule:
    hit = done.get(order)
    if hit is None:
        previous = _after(order[:-1], done, held)
        same = (
            done.get(order[1:]) if len(order) > 1 and previous is done[()] else None
        )  # the first pass changed nothing
        hit = done[order] = same if same is not None else after_pass(previous, order[-1], held)
    return hit


def _difference(a: Seen, b: Seen) -> str:
    for name in ("stopped", "effects", "output", "result", "arguments"):
        if getattr(a, name) != getattr(b, name):
            return f"{name} was {getattr(a, name)}, is {getattr(b, name)}"
    return "other"
