"""Distributed tensors: the sharding of a tensor over a mesh of devices. The explorer infers their types; TVM's Disco runs them."""

from __future__ import annotations

import re
from typing import Any

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import Sharding
from relax_explorer.core.ops.distributed.ccl import Collective, divided, need_workers
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Site, attr, operand
from relax_explorer.core.ops.kit.devices import mesh_of, spread
from relax_explorer.core.ops.kit.te import Tensor
from relax_explorer.core.ops.machine.call import CallKernel

_SPEC = re.compile(r"R|S\[(-?\d+)\]")
_MESH = "the mesh: the place of one of the module's, such as mesh[0], or R.device_mesh((2,), [0, 1])"
_PLACEMENT = "for each axis of the mesh S[n], divided along axis n of the tensor, or R, a copy on each device"


def placement_of(at: Site, text: object, ndim: int) -> tuple[str, ...]:
    """The parts of a placement such as `S[0], R`. Refuses an axis that the tensor lacks."""
    parts = tuple([part.strip() for part in text.split(",")]) if isinstance(text, str) else ()
    for part in parts:
        match = _SPEC.fullmatch(part)
        if match is None:
            parts = ()
            break
        if not match[1]:
            continue
        axis = int(match[1])
        if axis < 0 or 0 <= ndim <= axis:
            hint = f"use S[0] to S[{ndim - 1}], or R" if ndim > 0 else "use R"
            raise at.fail(
                codes.AXIS_RANGE, f"placement divides axis {axis}, the tensor has rank {ndim}", help=hint
            )
    if not parts:
        raise at.fail(
            codes.BAD_ATTRIBUTE, f"placement is {text!r}, which is none", help="write for instance S[0], R"
        )
    return parts


def _need_mesh_rank(at: Site, mesh: object, parts: tuple[str, ...], *, fewer: bool = False) -> None:
    """Refuse a placement whose number of parts differs from the mesh's number of axes, if known. `fewer` allows fewer parts."""
    written = re.match(r"R\.device_mesh\(\(([^)]*)\)", mesh_of(at, mesh))
    if written is not None:
        rank = len([item for item in written[1].split(",") if item.strip()])
        if rank != len(parts) and not (fewer and rank > len(parts)):
            text = f"placement has {len(parts)} parts, the mesh {rank} axes"
            raise at.fail(codes.BAD_ATTRIBUTE, text, help="write one of R and S[n] for each axis of the mesh")


def need_spread(at: Site, info: s.StructInfo, name: str) -> s.TensorStructInfo:
    """`info` as the StructInfo of a distributed tensor; a plain tensor is refused."""
    if isinstance(info, s.TensorStructInfo) and spread(info) is not None:
        return info
    text = f"{name} is {info}, a distributed tensor is needed"
    raise at.fail(codes.WRONG_KIND, text, **{name: f"this is {info}"}, help="annotate it: R.DTensor(…)")


class AnnotateSharding(Collective, name="relax.dist.annotate_sharding"):
    """The tensor itself, with a sharding annotation for the pass PropagateSharding."""

    source = "TVM; GSPMD, Xu et al. 2021"
    raises = (codes.AXIS_RANGE,)
    no_legalize = "it is an annotation for PropagateSharding, which removes it"

    value: Tensor = operand("the tensor")
    device_mesh: Any = attr(REQUIRED, _MESH)
    placement: str = attr(REQUIRED, f"{_PLACEMENT}; R for the axes that it does not reach")

    @staticmethod
    def infer(at: Site, value: s.StructInfo, device_mesh: object, placement: str) -> s.StructInfo:
        """The StructInfo of value; only the pass makes it distributed."""
        ndim = value.ndim if isinstance(value, s.TensorStructInfo) else -1
        _need_mesh_rank(at, device_mesh, placement_of(at, placement, ndim), fewer=True)
        if isinstance(value, (s.TensorStructInfo, s.ObjectStructInfo)):
            return value
        raise at.fail(codes.WRONG_KIND, f"value is {value}, a tensor is needed", value=f"this is {value}")


class Redistribute(Collective, name="relax.dist.redistribute"):
    """The same tensor, distributed in another way."""

    source = "TVM; GSPMD, Xu et al. 2021"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG)
    value: Tensor = operand("the distributed tensor")
    device_mesh: Any = attr(REQUIRED, f"{_MESH}, from now on")
    placement: str = attr(REQUIRED, f"{_PLACEMENT}, from now on")

    says_place = True

    @staticmethod
    def infer(at: Site, value: s.StructInfo, device_mesh: object, placement: str) -> s.StructInfo:
        """The shape and dtype of value, distributed by placement."""
        info = need_spread(at, value, "value")
        parts = placement_of(at, placement, info.ndim)
        if info.ndim < 0 and any(part != "R" for part in parts):
            text = f"placement is {placement}, and the rank of value is not known"
            hint = "annotate it with its rank: R.DTensor(ndim=…)"
            raise at.fail(codes.RANK_WRONG, text, value=f"this is {info}", help=hint)
        _need_mesh_rank(at, device_mesh, parts)
        where = Sharding(str(device_mesh), ", ".join(parts))
        return s.TensorStructInfo(info.shape, info.dtype, info.ndim, where)


class RedistributeReplicaToShard(Collective, name="relax.dist.redistribute_replica_to_shard"):
    """Each device keeps its part, along an axis, of a tensor that every device has."""

    source = "TVM"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.SIZE_MISMATCH)
    input: Tensor = operand("the tensor that every device has a copy of")
    num_workers: int = attr(REQUIRED, "the number of workers", unit="workers")
    axis: int = attr(
        REQUIRED, "the axis to divide, counted from 0; its length must be a multiple of `num_workers`"
    )

    says_place = True
    examples = ("f32[4,n] num_workers=2 axis=0 -> f32[2,n]", "i8[n,6] num_workers=3 axis=1 -> i8[n,2]")

    @staticmethod
    def infer(at: Site, input: s.StructInfo, num_workers: int, axis: int) -> s.StructInfo:
        """For a distributed tensor, its shape divided along the axis; for a plain one, the shape of the part. The dtype of input."""
        info = rules.tensor(at, input, "input")
        need_workers(at, num_workers)
        part = divided(at, info, num_workers, axis, "input")
        sharding = spread(info)
        if sharding is None:
            return s.TensorStructInfo(part.shape, part.dtype, part.ndim, info.vdevice)
        if sharding.parts != ["R"]:
            text = f"input is spread as {sharding.placement}, a copy on each device of a mesh of one axis is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, input=f"this is {info}", help="use R.dist.redistribute")
        return s.TensorStructInfo(info.shape, info.dtype, info.ndim, Sharding(sharding.mesh, f"S[{axis}]"))


class CallTirLocalView(CallKernel, name="relax.dist.call_tir_local_view"):
    """Like call_tir, but each worker calls the PrimFunc on its own parts."""

    source = "TVM"
    raises = (codes.AXIS_RANGE, codes.BAD_ATTRIBUTE, codes.ARGUMENT_INFO, codes.NOT_CALLABLE)
    in_parts = True
    by_machine = False
    no_evaluate = Collective.no_evaluate

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: object) -> s.StructInfo:
        """The StructInfo in out_ty: distributed tensors."""
        whole = CallKernel.infer(at, *args)
        for info in whole.fields if isinstance(whole, s.TupleStructInfo) else (whole,):
            sharding = spread(info)
            if sharding is None or not isinstance(info, s.TensorStructInfo):
                text = f"out_ty has {info}, a distributed tensor is needed"
                raise at.fail(codes.ARGUMENT_INFO, text, help="state R.DTensor(…)")
            _need_mesh_rank(at, sharding.mesh, placement_of(at, sharding.placement, info.ndim))
        return whole
