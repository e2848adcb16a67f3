"""Collective communication between the workers of a program. The explorer infers its types; TVM's Disco runs it."""

from __future__ import annotations

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Op, Site, attr, operand
from relax_explorer.core.ops.kit.te import Tensor

KINDS = ("sum", "prod", "min", "max", "avg")


class Collective(Op):
    """Base of the operators that need several workers."""

    no_evaluate = "it needs several workers: `run --ranks N` runs N of them side by side"
    no_legalize = "it computes no elements: the runtime sends them between workers"


def need_workers(at: Site, count: int) -> None:
    """Refuse a number of workers below 1."""
    if count < 1:
        text = f"num_workers is {count}, at least 1 is needed"
        raise at.fail(codes.BAD_ATTRIBUTE, text, help="give a number of workers of at least 1")


def divided(at: Site, x: s.TensorStructInfo, count: int, axis: int, name: str) -> s.TensorStructInfo:
    """The part of one of `count` workers along an axis. The length must be divisible."""
    if x.dims is None:
        text = f"the shape of {name} is not known"
        raise at.fail(codes.RANK_WRONG, text, **{name: f"this is {x}"}, help="state it with R.match_cast")
    if not 0 <= axis < x.ndim:
        hint = f"use 0 to {x.ndim - 1}" if x.ndim else "pass a tensor with an axis"
        text = f"axis is {axis}, the operand has rank {x.ndim}"
        raise at.fail(codes.AXIS_RANGE, text, **{name: f"this is {x}"}, help=hint)
    length = x.dims[axis]
    if isinstance(length, p.IntImm) and length.value % count:
        text = f"axis {axis} has length {length}, which {count} workers (num_workers) can't divide equally"
        raise at.fail(codes.SIZE_MISMATCH, text, **{name: f"this is {x}"}, help="pad the axis")
    if isinstance(length, p.IntImm):
        part: p.PrimExpr = p.IntImm(length.value // count)
    else:
        part = length if count == 1 else p.Div(length, p.IntImm(count))
    return s.TensorStructInfo((*x.dims[:axis], part, *x.dims[axis + 1 :]), x.dtype)


class Allreduce(Collective, name="relax.ccl.allreduce"):
    """Each element reduced over the workers; all workers get the result."""

    source = "MPI_Allreduce; NCCL"
    x: Tensor = operand("the worker's tensor, of the same shape on all workers")
    op_type: str = attr("sum", f"how elements are combined: {', '.join(KINDS)}")
    in_group: bool = attr(True, "True limits the operation to the workers of the group")
    examples = ("f32[n,4] -> f32[n,4]", 'f32[n] op_type="max" in_group=False -> f32[n]')

    @staticmethod
    def infer(at: Site, x: s.StructInfo, op_type: str, in_group: bool) -> s.StructInfo:
        """The shape and dtype of x."""
        if op_type not in KINDS:
            text = f"op_type is {op_type!r}, it must be one of {', '.join(KINDS)}"
            raise at.fail(codes.BAD_ATTRIBUTE, text, help=f"use {', '.join(KINDS)}")
        return rules.tensor(at, x, "x")


class Allgather(Collective, name="relax.ccl.allgather"):
    """The tensors of all workers, concatenated along the first axis, on each worker."""

    source = "MPI_Allgather; NCCL"
    raises = (codes.RANK_WRONG,)
    x: Tensor = operand("the worker's tensor, of the same shape on all workers")
    num_workers: int = attr(REQUIRED, "the number of workers", unit="workers")
    in_group: bool = attr(True, "True limits the operation to the workers of the group")
    examples = ("f32[3,n] num_workers=2 -> f32[6,n]", "f32[n,4] num_workers=2 -> f32[n*2,4]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, num_workers: int, in_group: bool) -> s.StructInfo:
        """The shape of x with the first length times num_workers, the dtype of x."""
        info = rules.tensor(at, x, "x")
        need_workers(at, num_workers)
        if info.ndim == 0:
            raise at.fail(codes.RANK_WRONG, "x has rank 0, an axis is needed", x=f"this is {info}")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim)
        whole = rules.volume((info.dims[0], p.IntImm(num_workers)))
        return s.TensorStructInfo((whole, *info.dims[1:]), info.dtype)


class BroadcastFromWorker0(Collective, name="relax.ccl.broadcast_from_worker0"):
    """The tensor of worker 0, on all workers."""

    source = "MPI_Bcast; NCCL"
    x: Tensor = operand("the tensor; only the tensor of worker 0 is used")
    examples = ("f32[n,4] -> f32[n,4]", "any[?] -> any[?]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo) -> s.StructInfo:
        """The shape and dtype of x."""
        return rules.tensor(at, x, "x")


class ScatterFromWorker0(Collective, name="relax.ccl.scatter_from_worker0"):
    """Equal parts of the tensor of worker 0 along an axis, one for each worker."""

    source = "MPI_Scatter; NCCL"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.SIZE_MISMATCH)
    x: Tensor = operand("the tensor; only the tensor of worker 0 is used")
    num_workers: int = attr(REQUIRED, "the number of workers", unit="workers")
    axis: int = attr(0, "the axis to divide, counted from 0")
    examples = ("f32[6,n] num_workers=2 -> f32[3,n]", "f32[n,4] num_workers=4 axis=1 -> f32[n,1]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, num_workers: int, axis: int) -> s.StructInfo:
        """The shape of x with the length of the axis divided by num_workers, the dtype of x."""
        info = rules.tensor(at, x, "x")
        need_workers(at, num_workers)
        return divided(at, info, num_workers, axis, "x")
