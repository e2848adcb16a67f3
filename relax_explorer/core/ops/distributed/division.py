"""Operators on distributed tensors: the rules for the sharding of the result.

An axis of the result is divided like the operand axis that it corresponds to element by element, because each device computes
its part from its own parts. Without such an axis every device holds a copy: parts are gathered before, or reduced after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import Sharding
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import InferFailure, Kind, Op, Site
from relax_explorer.core.ops.kit.devices import is_spread, mesh_of, spread

Tensor = s.TensorStructInfo
Runs = Iterator[tuple[int, int, int]]
"""Corresponding axes: the number of an operand, an axis of it, and the axis of the result."""
Rule = Callable[[Site, Sequence[Any], Tensor, Mapping[str, Any]], Runs]


def check_distributed(at: Site, op: type[Op], infos: Sequence[s.StructInfo]) -> bool:
    """True if the operands are distributed tensors. Refuses a mix with other tensors, and operators without a rule."""
    for q, info in zip(op.operands, infos, strict=False):
        if (
            q.kind is Kind.TENSORS
            and isinstance(info, s.TupleStructInfo)
            and any(map(is_spread, info.fields))
        ):
            raise _no_rule(at, q.name, info)
    if not any(map(is_spread, infos)):
        return False
    for number, info in enumerate(infos):
        name = op.operands[min(number, len(op.operands) - 1)].name if op.operands else "an operand"
        if is_spread(info) and op.name not in _RULES:
            raise _no_rule(at, name, info)
        if isinstance(info, (Tensor, s.PrimStructInfo)) and not is_spread(info):
            hint = "spread all operands: R.dist.annotate_sharding, or R.DTensor(…) in the annotation"
            text = f"{name} is {info}, and another operand is distributed"
            raise at.fail(codes.WRONG_KIND, text, **{name: f"this is {info}"}, help=hint)
    return True


def _no_rule(at: Site, name: str, info: s.StructInfo) -> InferFailure:
    text = f"{name} is distributed, and the operator has no rule for parts"
    hint = "use R.dist.call_tir_local_view, which is called on each part"
    return at.fail(codes.WRONG_KIND, text, **{name: f"this is {info}"}, help=hint)


def placed(
    at: Site, op: type[Op], infos: Sequence[s.StructInfo], attrs: Mapping[str, Any], result: s.StructInfo
) -> s.StructInfo:
    """A result with its mesh and its placement, for an operator that `check_distributed` accepted."""
    rule = _RULES[op.name]
    where = [found for found in map(spread, infos) if found is not None]
    mesh, parts = where[0].mesh, where[0].parts
    for other in where[1:]:
        if mesh_of(at, other.mesh) != mesh_of(at, mesh):
            text = f"the operands lie on different meshes, {mesh} and {other.mesh}"
            raise at.fail(codes.WRONG_KIND, text, help="use R.dist.redistribute")
    if rule is not None and isinstance(result, Tensor):
        axes = _divided(at, op, infos, rule(at, infos, result, attrs))
        parts = ["R"] * len(parts)
        for axis, number in sorted(axes.items()):
            parts[number] = f"S[{axis}]"  # one axis of a mesh divides one axis; TVM takes the last, too
    return rules.on_device(result, (Tensor(vdevice=Sharding(mesh, ", ".join(parts))),))


def _divided(at: Site, op: type[Op], infos: Sequence[s.StructInfo], runs: Runs) -> dict[int, int]:
    """The divided axes of the result, each with its axis of the mesh."""
    mesh_axes: dict[int, int] = {}
    for operand, axis, place in runs:
        where = spread(infos[operand])
        parts = where.parts if where is not None else []
        numbers = [number for number, part in enumerate(parts) if part == f"S[{axis}]"]
        if not numbers:
            continue
        if mesh_axes.setdefault(place, numbers[-1]) != numbers[-1]:
            name, info = op.operands[operand].name, infos[operand]
            text = f"axis {place} of the result would be divided over axes {mesh_axes[place]} and {numbers[-1]} of the mesh"
            label = {name: f"this is {info}"}
            raise at.fail(
                codes.WRONG_KIND, text, **label, help="use R.dist.redistribute on one of the operands"
            )
    return mesh_axes


def _lengths(at: Site, x: Tensor, name: str = "the operand") -> rules.Dims:
    """The lengths of a tensor; refuses a tensor of unknown shape."""
    if x.dims is None:
        text = f"{name} is distributed, and its lengths are not known"
        raise at.fail(codes.RANK_WRONG, text, help="state them: R.DTensor((n, m), …)")
    return x.dims


def _aligned(number: int, lengths: rules.Dims, whole: rules.Dims) -> Runs:
    """Axes of broadcast operands, aligned from the right, without repeated axes of length 1."""
    for axis, length in enumerate(lengths):
        place = axis + len(whole) - len(lengths)
        if length is not rules.ONE or whole[place] is rules.ONE:
            yield number, axis, place


def _broadcast(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    whole = _lengths(at, result, "the result")
    for number, x in enumerate(infos):
        yield from _aligned(number, _lengths(at, x), whole)


def _product(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    """The axes of the batch that both have, the rows of the left matrix and the columns of the right one."""
    whole = _lengths(at, result, "the result")
    batch = len(whole) - sum(x.ndim >= 2 for x in infos)
    shared = max(0, min(x.ndim for x in infos) - 2)
    for number, x in enumerate(infos):
        for _, axis, place in _aligned(number, _lengths(at, x)[:-2], whole[:batch]):
            if place >= batch - shared:  # TVM does not divide by the axes that only one operand has
                yield number, axis, place
        if x.ndim >= 2:
            yield (0, x.ndim - 2, batch) if number == 0 else (1, x.ndim - 1, len(whole) - 1)


def _permuted(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    rank = infos[0].ndim
    order = [axis % rank for axis in attrs["axes"] or range(rank)[::-1]]
    if rank < 0 or order != list(range(rank)):
        _lengths(at, infos[0])
    yield from ((0, axis, place) for place, axis in enumerate(order))


def _kept(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    """The axes that are not reduced."""
    rank = len(_lengths(at, infos[0]))
    gone = rules.axes(at, attrs["axis"], rank)
    kept = [axis for axis in range(rank) if axis not in gone]
    for place, axis in enumerate(kept):
        yield 0, axis, axis if attrs["keepdims"] else place


def _normalized(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    """All axes but the normalized one."""
    rank = infos[0].ndim
    if rank < 0:
        _lengths(at, infos[0])
    yield from ((0, axis, axis) for axis in range(rank) if axis != attrs["axis"] % rank)


def _reshaped(at: Site, infos: Sequence[Any], result: Tensor, attrs: Mapping[str, Any]) -> Runs:
    """Axes followed by equally many elements, from the last one on and without the first, as in TVM."""
    old, new = _lengths(at, infos[0]), _lengths(at, result, "the result")
    i, j = len(old) - 1, len(new) - 1
    while i > 0 and j > 0:
        excess = simplify(p.Sub(rules.volume(old[i:]), rules.volume(new[j:])))
        if not isinstance(excess, p.IntImm) or excess.value == 0:
            yield 0, i, j
        i -= not isinstance(excess, p.IntImm) or excess.value <= 0
        j -= not isinstance(excess, p.IntImm) or excess.value >= 0


_SAME = """exp log sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf ceil floor round abs negative
    square sign logical_not bitwise_not isnan isinf isfinite nn.relu nn.gelu nn.gelu_tanh nn.silu builtin.stop_lift_params
    dist.annotate_sharding dist.redistribute dist.redistribute_replica_to_shard"""
_BROADCAST = """add subtract multiply divide floor_divide power mod floor_mod maximum minimum equal not_equal less less_equal
    greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift"""
_RULES: dict[str, Rule | None] = {
    f"relax.{name}": rule
    for names, rule in (
        (_SAME, None),
        (_BROADCAST, _broadcast),
        ("sum prod max min mean variance std", _kept),
        ("matmul", _product),
        ("permute_dims", _permuted),
        ("reshape", _reshaped),
        ("nn.softmax", _normalized),
        ("ccl.allreduce", lambda at, infos, result, attrs: iter(())),
    )
    for name in names.split()
}
"""The sharding rules of the operators for which TVM has one; None means like the operand."""
