"""A program on several ranks: its runs side by side, and how the values of the ranks make those of the program that is not divided.

Tensor parallelism keeps three relations to the whole value (Megatron-LM, arXiv 1909.08053): each rank has it, each rank has a part along one
axis, or the values of the ranks add up to it. What is none of these is where the divided program parts from the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import numpy as np

from relax_explorer.core.check.effects import effects
from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.ranks import Group, Rank
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, delta, leaves_of
from relax_explorer.core.session.rank_inputs import Division
from relax_explorer.core.session.recording import Arguments

EQUAL, PARTS, SUMS, APART = "equal", "axis", "sums", "apart"
MOST_RANKS = 64


@dataclass(slots=True, eq=False)
class RankRun:
    """The run of one rank: the values of the bindings of its function, in order, and its result or failure."""

    values: dict[str, Value] = field(default_factory=dict)
    result: Value = None
    failure: Failure | None = None
    output: list[str] = field(default_factory=list)
    meetings: int = 0


def run_ranks(
    module: IRModule,
    function: str,
    arguments: Sequence[Sequence[Value]],
    cache: Path | None = None,
    interrupt: Interrupt | None = None,
    private: bool = False,
    program: CallProgram | None = None,
) -> list[RankRun]:
    """Run a function once for each list of arguments, side by side. What stops one rank stops those that wait for it.

    `module` is in normal form; `program` are the calls of a file that the function makes. Raises Cancelled.
    """
    interrupt = interrupt or Interrupt()
    group, runs = Group(len(arguments), interrupt), [RankRun() for _ in arguments]
    problems: list[BaseException] = []
    threads = []
    for number, args in enumerate(arguments):
        if effects(module).mutable:  # ranks may have arrays in common
            args = Arguments(tuple(args)).copies()
        machine = Machine(module, function, args, cache=cache, interrupt=interrupt, private=private)
        machine.rank = Rank(group, number)
        given = machine, machine.rank, runs[number], problems, program
        threads.append(Thread(target=_run, args=given, name=f"rank {number}", daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in runs:
        run.meetings = group.meetings
        if isinstance(run.failure, Cancelled):
            raise run.failure
    if problems:
        raise problems[0]
    return runs


def _run(
    machine: Machine, rank: Rank, run: RankRun, problems: list[BaseException], program: CallProgram | None
) -> None:
    """What a thread does: run a machine, and tell the others at its end."""
    why = "stopped"
    try:
        _collect(machine, run, program)
        why = "ended"
    except Failure as failure:
        run.failure = failure
        why = f"stopped: {failure.diagnostics[0].message}"
    except BaseException as problem:  # noqa: BLE001  # the caller raises it again
        problems.append(problem)
    finally:
        rank.group.leave(rank.number, why)


def _collect(machine: Machine, run: RankRun, program: CallProgram | None) -> None:
    """Run a machine to its end, and keep the values of the bindings of its first function; those of each call, if it makes several."""
    number = 1
    while not machine.done:
        event = machine.step()
        binding = event.binding
        if event.kind not in ("bind", "return") or binding is None or binding.var is None:
            continue
        if event.depth == 1:
            run.values[binding.var.name] = event.content
            number = max(number, program.number(binding) + 1) if program is not None else number
        elif event.depth == 2 and program is not None:
            run.values[f"{number}.{binding.var.name}"] = event.content
    run.result, run.output = machine.result, machine.output


@dataclass(frozen=True, slots=True)
class Ranked:
    """The runs of all ranks, that of the program that is not divided, and the rows of their values."""

    ranks: Sequence[RankRun]
    whole: RankRun | None
    rows: Sequence[RankRow]

    @property
    def apart(self) -> RankRow | None:
        """The first value that parts from the program that is not divided."""
        return next((row for row in self.rows if row.is_apart), None)

    @property
    def failed(self) -> list[tuple[int, Failure]]:
        """The ranks that stopped, with the reasons."""
        return [(number, run.failure) for number, run in enumerate(self.ranks) if run.failure is not None]

    @property
    def problems(self) -> list[Diagnostic]:
        """Why the ranks stopped, of the first one that did, and why the program that is not divided did."""
        found = [item for _, failure in self.failed for item in failure.diagnostics][:1]
        stopped = None if self.whole is None else self.whole.failure
        return [*found, *(() if stopped is None else stopped.diagnostics)]


def ranked(
    asked: Division, cache: Path | None = None, interrupt: Interrupt | None = None, private: bool = False
) -> Ranked:
    """Run a division, and the program that is not divided. Raises Cancelled."""
    program, whole = asked.program, asked.whole
    form = normal_form_of(asked.module)
    ranks = run_ranks(form, asked.name, asked.arguments, cache, interrupt, private, program)
    other = None
    if whole is not None:
        form = normal_form_of(whole.module)
        other = run_ranks(form, whole.name, [whole.args], cache, interrupt, private, whole.program)[0]
    return Ranked(ranks, other, list(rows(ranks, other)))


# -- relations -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation:
    """How the values of the ranks make a value of the program that is not divided.

    `kind` is EQUAL, PARTS (along `axis`), SUMS or APART. Apart, `rank` is the first one whose value is wrong, and `delta` tells how.
    """

    kind: str
    axis: int = 0
    rank: int = 0
    delta: Delta = field(default_factory=Delta)

    @property
    def text(self) -> str:
        """The relation in two words."""
        return {EQUAL: "each has it", PARTS: f"parts, axis {self.axis}", SUMS: "sums", APART: "apart"}[
            self.kind
        ]


@dataclass(frozen=True, slots=True)
class RankRow:
    """The values of a name: of the ranks, and of the program that is not divided. None for what has no value to compare."""

    name: str
    parts: tuple[Value, ...]
    whole: Value = None
    relation: Relation | None = None

    @property
    def is_apart(self) -> bool:
        """True if the values do not make that of the program that is not divided."""
        return self.relation is not None and self.relation.kind == APART


def rows(
    ranks: Sequence[RankRun], whole: RankRun | None, tolerance: Tolerance = BY_DTYPE
) -> Iterator[RankRow]:
    """The bindings that all ranks have, in the order of rank 0, then the results `out0`, `out1`, …"""
    for name, value in ranks[0].values.items():
        parts = tuple([run.values.get(name) for run in ranks])
        other = None if whole is None else whole.values.get(name)
        yield from _row(name, (value, *parts[1:]), other, tolerance)
    if all(run.failure is None for run in ranks):
        results = [list(leaves_of(run.result)) for run in ranks]
        others = [None] * len(results[0]) if whole is None or whole.failure else list(leaves_of(whole.result))
        for number, values in enumerate(zip(*results, strict=False)):
            yield from _row(
                f"out{number}", values, others[number] if number < len(others) else None, tolerance
            )


def _row(name: str, parts: tuple[Value, ...], whole: Value, tolerance: Tolerance) -> Iterator[RankRow]:
    if not all(isinstance(part, np.ndarray) for part in parts):
        return
    found = None
    if isinstance(whole, np.ndarray):
        found = relation(whole, parts, tolerance)
    yield RankRow(name, parts, whole, found)


def relation(whole: Array, parts: Sequence[Array], tolerance: Tolerance = BY_DTYPE) -> Relation | None:
    """How tensors of ranks make a whole one. None if their shapes have nothing to do with it."""
    if any(part.dtype != whole.dtype or part.ndim != whole.ndim for part in parts):
        return None
    if all(part.shape == whole.shape for part in parts):
        deltas = [delta(whole, part, tolerance) for part in parts]
        if all(item.equal for item in deltas):
            return Relation(EQUAL)
        if whole.dtype.kind not in "b" and delta(whole, _sum(parts), tolerance).equal:
            return Relation(SUMS)
        return _first_apart(deltas, 0)
    axis = next((axis for axis in range(whole.ndim) if _fit(whole, parts, axis)), None)
    if axis is None:
        return None
    deltas = [delta(a, b, tolerance) for a, b in zip(np.split(whole, len(parts), axis), parts, strict=True)]
    return Relation(PARTS, axis) if all(item.equal for item in deltas) else _first_apart(deltas, axis)


def _fit(whole: Array, parts: Sequence[Array], axis: int) -> bool:
    shape = list(whole.shape)
    shape[axis], rest = divmod(shape[axis], len(parts))
    return not rest and all(list(part.shape) == shape for part in parts)


def _sum(parts: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        total = parts[0]
        for part in parts[1:]:
            total = np.asarray(total + part, total.dtype)
        return total


def _first_apart(deltas: Sequence[Delta], axis: int) -> Relation:
    rank = next(number for number, item in enumerate(deltas) if not item.equal)
    return Relation(APART, axis, rank, deltas[rank])
