"""Collectives of a program that runs on several ranks: the operators of `R.ccl`, and the functions of TVM's Disco that they are lowered to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.faults import builtin
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.ranks import Apart, Arrival
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import UNKNOWN, Value
from relax_explorer.core.ops.distributed.ccl import KINDS, Collective
from relax_explorer.core.ops.kit.ndarrays import Array


def collective(machine: Running, frame: Frame, at: Instruction, args: Sequence[Value]) -> None:
    """`R.ccl.NAME(x)`: the tensor that this rank gets, when all have arrived. All ranks are one group."""
    name = at.node.op.name
    if args[0] is UNKNOWN:
        machine.write(frame, at.target, UNKNOWN)
        return
    if machine.rank is None:
        raise machine.trap(codes.NO_EVALUATION, f"{name} can't be run here: {Collective.no_evaluate}", at)
    attrs = {key: value for key, value in at.node.attrs.items() if key != "in_group"}
    machine.write(frame, at.target, _met(machine, at, Arrival(name.rpartition(".")[2], attrs, args[0])))


def _lowered(name: str, attrs: Callable[[Sequence[Value]], dict[str, Any]]) -> None:
    """Register `runtime.disco.NAME(x, …, out)`, which fills its last argument."""
    full = f"runtime.disco.{name}"

    def call(machine: Running, at: Instruction, args: Sequence[Value]) -> Value:
        if machine.rank is None:
            text = f"{full} needs several workers: `run --ranks N` runs N of them side by side"
            raise machine.trap(codes.NO_EVALUATION, text, at)
        result, out = _met(machine, at, Arrival(name, attrs(args), args[0])), args[-1]
        if result.size != out.size or result.dtype != out.dtype:
            given, wanted = [f"{array.dtype.name} of shape {array.shape}" for array in (result, out)]
            raise machine.trap(codes.RANKS_APART, f"{name} gives {given}, but its output is {wanted}", at)
        out[...] = result.reshape(out.shape)
        return ()

    builtin(full, 2)(call)


def _met(machine: Running, at: Instruction, arrival: Arrival) -> Array:
    assert machine.rank is not None
    try:
        return machine.rank.group.meet(machine.rank.number, arrival)
    except Apart as problem:
        raise machine.trap(codes.RANKS_APART, str(problem), at) from None


_lowered("allreduce", lambda args: {"op_type": KINDS[args[1][0]]})
_lowered("allgather", lambda args: {})
_lowered("broadcast_from_worker0", lambda args: {})
_lowered("scatter_from_worker0", lambda args: {})
