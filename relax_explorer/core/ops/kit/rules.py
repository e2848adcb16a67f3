"""The vocabulary of inference: broadcasting, common dtypes, axes, element-wise results."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.arith.bounds import bounds
from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, DType
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ir.struct_info import TensorPlace, is_same_place
from relax_explorer.core.ops.kit.decl import InferFailure, Site

Dims = tuple[p.PrimExpr, ...]
ONE = p.IntImm(1)
ZERO = p.IntImm(0)


def tensor(at: Site, info: s.StructInfo | None, name: str) -> s.TensorStructInfo:
    """`info` as the StructInfo of a tensor. Anything else is refused, even Object: Relax needs an explicit match_cast."""
    if isinstance(info, s.TensorStructInfo):
        return info
    raise _other_kind(at, info, name, f"{name} is not known to be a tensor", "R.Tensor(…)")


def tensors(at: Site, info: s.StructInfo | None, name: str) -> list[s.TensorStructInfo]:
    """The StructInfo of the fields of a tuple of tensors."""
    if not isinstance(info, s.TupleStructInfo):
        raise at.fail(
            codes.WRONG_KIND, f"{name} is {info}, a tuple of tensors is needed", **{name: f"this is {info}"}
        )
    return [tensor(at, field, name) for field in info.fields]


def shape(at: Site, info: s.StructInfo | None, name: str) -> s.ShapeStructInfo:
    """`info` as the StructInfo of a shape; raises InferFailure otherwise."""
    if isinstance(info, s.ShapeStructInfo):
        return info
    raise _other_kind(at, info, name, f"{name} is not known to be a shape", "R.Shape(…)")


def of_shape(at: Site, name: str, dtype: DType | None) -> s.TensorStructInfo:
    """A tensor whose shape is operand `name`: its lengths if they are known, else the variable that holds the shape."""
    operand = at.arg(name)
    info = shape(at, None if operand is None else operand.struct_info, name)
    if info.values is None and isinstance(operand, e.Var):
        return s.TensorStructInfo(operand, dtype)
    return s.TensorStructInfo(info.values, dtype, info.ndim)


def _other_kind(at: Site, info: s.StructInfo | None, name: str, text: str, expected: str) -> InferFailure:
    labels = {name: f"this is {info}"}
    if info is s.OBJECT:
        labels["help"] = f"state what it is with R.match_cast(…, {expected})"
    return at.fail(codes.WRONG_KIND, text, **labels)


_ANY_AXIS = frozenset(
    f"relax.{name}" for name in ("sort", "argsort", "cumsum", "cumprod", "scatter_elements")
)
"""The operators whose axis TVM does not compare with the rank."""


def axis(at: Site, value: int, ndim: int, name: str = "axis") -> int:
    """The axis counted from 0. `ndim` is the rank; if it is -1 (unknown), the axis is returned unchanged."""
    if ndim < 0:
        return value
    if not -ndim <= value < ndim:
        unchecked = at.op is not None and at.op.name in _ANY_AXIS
        raise (at.fail_by_spec if unchecked else at.fail)(
            codes.AXIS_RANGE,
            f"{name} is {value}, the operand has rank {ndim}",
            help=f"use {-ndim} to {ndim - 1}" if ndim else "a tensor of rank 0 has no axes",
            **_of_rank(at, ndim),
        )
    return value % ndim if ndim else value


def _of_rank(at: Site, ndim: int) -> dict[str, str]:
    """A label for the first operand that has a rank."""
    for q in at.op.operands if at.op is not None else ():
        arg = at.arg(q.name)
        info = arg.struct_info if arg is not None else None
        parts = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
        if any(isinstance(part, s.TensorStructInfo) and part.ndim == ndim for part in parts):
            return {q.name: f"this is {info}"}
    return {at.op.operands[0].name: "of this"} if at.op is not None and at.op.operands else {}


def axes(at: Site, values: int | tuple[int, ...] | None, ndim: int, name: str = "axes") -> list[int]:
    """Distinct axes counted from 0. None means all axes."""
    if values is None:
        return list(range(ndim))
    named = values if isinstance(values, tuple) else (values,)
    normalized = [axis(at, value, ndim, f"an entry of {name}" if len(named) > 1 else name) for value in named]
    if len(set(normalized)) != len(normalized):
        raise at.fail(codes.AXIS_TWICE, f"{name} {list(named)} name an axis twice", **_of_rank(at, ndim))
    return normalized


def common_dtype(at: Site, **infos: s.TensorStructInfo) -> DType | None:
    """Like `same_dtype`, but bool goes with any dtype, and the result has the first operand's dtype, as in TVM."""
    kinds = [info.dtype for info in infos.values()]
    if None not in kinds and any(kind is BOOL for kind in kinds):
        return kinds[0]
    return same_dtype(at, **infos)


def same_dtype(at: Site, **infos: s.TensorStructInfo) -> DType | None:
    """The common dtype of operands; None if one is unknown. Different dtypes are refused."""
    common: DType | None = None
    unknown = False
    for info in infos.values():
        if info.dtype is None:
            unknown = True
        elif common is None:
            common = info.dtype
        elif info.dtype is not common:
            labels = {name: f"dtype {part.dtype}" for name, part in infos.items()}
            dtypes = ", ".join(
                f"{name} is {part.dtype or 'of unknown dtype'}" for name, part in infos.items()
            )
            if any(_is_scalar(at, name) for name in infos):
                tensors = [part.dtype for name, part in infos.items() if not _is_scalar(at, name)]
                labels["help"] = write_scalar(tensors[0] if tensors else common)
            raise at.fail(codes.DTYPES_DIFFER, f"{dtypes}: one dtype is needed", **labels)
    return None if unknown else common


def write_scalar(kind: DType | None) -> str:
    """The hint for a scalar of the wrong dtype. R.astype does not take scalars."""
    return f"write the scalar in that dtype: T.{kind}(…)"


def _is_scalar(at: Site, name: str) -> bool:
    arg = at.arg(name)
    return arg is not None and isinstance(arg.struct_info, s.PrimStructInfo)


def same_rank(at: Site, infos: Sequence[s.TensorStructInfo], name: str) -> int:
    """The common rank of the fields of tuple `name`; -1 if none is known. Different ranks are refused."""
    ranks = list(dict.fromkeys(info.ndim for info in infos if info.ndim >= 0))
    if len(ranks) > 1:
        text = f"the fields of {name} have the ranks {' and '.join(map(str, ranks))}, one rank is needed"
        raise at.fail(codes.RANK_WRONG, text, **{name: ", ".join(map(str, infos))})
    return ranks[0] if ranks else -1


def same_field_dtype(at: Site, infos: Sequence[s.TensorStructInfo], name: str) -> DType | None:
    """Like `same_dtype`, for the fields of tuple `name`."""
    dtypes = list(dict.fromkeys(str(info.dtype) for info in infos if info.dtype is not None))
    if len(dtypes) > 1:
        text = f"the fields of {name} are {' and '.join(dtypes)}, one dtype is needed"
        raise at.fail(codes.DTYPES_DIFFER, text, **{name: f"dtypes {', '.join(dtypes)}"})
    return None if any(info.dtype is None for info in infos) else infos[0].dtype if infos else None


def broadcast(at: Site, left: Dims, right: Dims, names: tuple[str, str] = ("x1", "x2")) -> Dims | None:
    """The broadcast shape; None if it depends on the values of shape variables. Compares from the right, as TVM does.

    Where wildcards are allowed, it is always known: a length that depends on such values is one.
    """
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    offset = len(long) - len(short)
    result: list[p.PrimExpr] = []
    is_known = True
    for a, b in zip(reversed(long[offset:]), reversed(short), strict=True):
        if a is b or b is ONE:
            result.append(a)
        elif a is ONE:
            result.append(b)
        elif not is_known:  # TVM compares no further; what the run will compare is an obligation
            at.oblige(a, b, or_one=(a, b))
        else:
            answer = at.equal(a, b, or_one=(a, b))
            if answer is Answer.NO and isinstance(a, p.IntImm) and isinstance(b, p.IntImm):
                labels = {names[0]: f"shape {tuple_text(left)}", names[1]: f"shape {tuple_text(right)}"}
                raise at.fail(codes.NOT_BROADCASTABLE, f"the lengths {a} and {b} don't broadcast", **labels)
            if answer is Answer.NO:  # n and n + 1 broadcast where n is 1
                at.oblige(a, b, or_one=(a, b))
            is_known = answer is Answer.YES or at.wildcards
            result.append(a if answer is Answer.YES else _either(a, b))
    return (*long[:offset], *reversed(result)) if is_known else None


def _either(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The broadcast length of two that may differ: a literal other than 1 if there is one, else a wildcard."""
    return next((dim for dim in (a, b) if isinstance(dim, p.IntImm) and dim is not ONE), p.AnyDim())


def known_dims(at: Site, info: s.TensorStructInfo) -> Dims | None:
    """The lengths of a tensor. Where wildcards are allowed and only the rank is known, they are wildcards."""
    if info.dims is None and at.wildcards and info.ndim >= 0:
        return info.lengths or tuple([p.AnyDim() for _ in range(info.ndim)])
    return info.dims


def broadcast_info(
    at: Site,
    x1: s.TensorStructInfo,
    x2: s.TensorStructInfo,
    dtype: DType | None,
    names: tuple[str, str] = ("x1", "x2"),
) -> s.TensorStructInfo:
    """The result of an element-wise operation on two tensors."""
    if x1.dims is None and x1.shape is not None and x1.shape is x2.shape:
        return s.TensorStructInfo(x1.shape, dtype)
    left, right = known_dims(at, x1), known_dims(at, x2)
    if left is not None and right is not None:
        shape = broadcast(at, left, right, names)
        if shape is not None:
            return s.TensorStructInfo(shape, dtype)
    known = x1.ndim >= 0 and x2.ndim >= 0
    return s.TensorStructInfo(None, dtype, max(x1.ndim, x2.ndim) if known else -1)


def like(x: s.TensorStructInfo, dtype: DType | None) -> s.TensorStructInfo:
    """A tensor with the shape of `x`."""
    return x if x.dtype is dtype else s.TensorStructInfo(x.shape, dtype, x.ndim, x.vdevice)


def on_device(result: s.StructInfo, operands: Sequence[s.StructInfo]) -> s.StructInfo:
    """`result` on the device of the operands; on no device if the operands are on several."""
    devices = [device for info in operands for device in _devices(info)]
    if not devices:
        return result
    first = devices[0]
    return _placed(result, first if all([is_same_place(first, other) for other in devices]) else None)


def _devices(info: s.StructInfo) -> list[TensorPlace]:
    if isinstance(info, s.TensorStructInfo):
        return [info.vdevice] if info.vdevice is not None else []
    return (
        [device for field in info.fields for device in _devices(field)]
        if isinstance(info, s.TupleStructInfo)
        else []
    )


def _placed(info: s.StructInfo, device: TensorPlace | None) -> s.StructInfo:
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple([_placed(field, device) for field in info.fields]))
    if isinstance(info, s.TensorStructInfo):
        return s.TensorStructInfo(info.shape, info.dtype, info.ndim, device)
    return info


def need_float(
    at: Site, x: s.TensorStructInfo, name: str, known: bool = False, by_spec: bool = False
) -> None:
    """Refuse a tensor with a dtype other than floating point. With `known`, refuse an unknown dtype, too.

    `by_spec` is true if TVM accepts it.
    """
    if x.dtype is None:
        if known:
            raise at.fail(
                codes.DTYPE_WRONG,
                f"the dtype of {name} is not known, a floating point one is needed",
                **{name: "dtype unknown"},
            )
        return
    if not x.dtype.is_float or x.dtype.bits < 16:  # TVM: float8 and narrower can't be computed with
        expected = "float16 or wider" if x.dtype.is_float else "a floating point tensor"
        text, label = f"{name} is {x.dtype}, {expected} is needed", {name: f"dtype {x.dtype}"}
        raise (at.fail_by_spec if by_spec else at.fail)(codes.DTYPE_WRONG, text, **label)


def need_rank(at: Site, x: s.TensorStructInfo, ndim: int, name: str) -> None:
    """Refuse a tensor of another rank; accept an unknown rank."""
    if x.ndim not in (-1, ndim):
        raise at.fail(
            codes.RANK_WRONG, f"{name} has rank {x.ndim}, {ndim} is needed", **{name: f"this is {x}"}
        )


def need_known_rank(at: Site, x: s.TensorStructInfo, ndim: int, name: str) -> None:
    """Refuse a tensor of another or an unknown rank."""
    need_rank(at, x, ndim, name)
    if x.ndim < 0:
        hint = f"state it with R.match_cast(…, R.Tensor(ndim={ndim}))"
        text = f"the rank of {name} is not known, {ndim} is needed"
        raise at.fail(codes.RANK_WRONG, text, **{name: f"this is {x}"}, help=hint)


def need_shape(at: Site, x: s.TensorStructInfo, name: str) -> None:
    """Refuse a tensor of unknown shape."""
    if x.shape is None:
        hint = "state it with R.match_cast(…, R.Tensor((n, m), …))"
        raise at.fail(
            codes.RANK_WRONG, f"the shape of {name} is not known", **{name: f"this is {x}"}, help=hint
        )


def volume(dims: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The product of lengths, in order. Adjacent literals are multiplied, factors of 1 omitted."""
    total: p.PrimExpr = ONE
    for dim in dims:
        if isinstance(total, p.IntImm) and isinstance(dim, p.IntImm):
            total = p.IntImm(total.value * dim.value)
        elif ZERO in (total, dim):
            total = ZERO
        else:
            total = dim if total is ONE else total if dim is ONE else p.Mul(total, dim)
    return total


def bounded(place: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """A position clamped to [0, length]."""
    if isinstance(place, p.IntImm):
        if isinstance(length, p.IntImm):
            return p.IntImm(max(0, min(place.value, length.value)))
        if place.value <= 0:
            return ZERO
    if place is length or _never_negative(p.Sub(place, length)):
        return length
    return place if _never_negative(p.Sub(length, place)) else p.Min(place, length)


def _never_negative(expr: p.PrimExpr) -> bool:
    """True if bounds prove it. A proof by cases is not tried: it would give shorter lengths than TVM derives and prints."""
    least = bounds(expr)[0]
    return least is not None and least >= 0


def extent(start: p.PrimExpr, end: p.PrimExpr) -> p.PrimExpr:
    """The number of positions from `start` to `end`; 0 if `end` comes first."""
    if isinstance(start, p.IntImm) and isinstance(end, p.IntImm):
        return p.IntImm(max(0, end.value - start.value))
    if start is ZERO:
        return end
    if isinstance(start, p.Min) and start.b is end:  # end - min(k, end)
        start = start.a
    size = simplify(p.Sub(end, start))
    if isinstance(size, p.IntImm):
        return p.IntImm(max(0, size.value))
    return size if _never_negative(size) else p.Max(size, ZERO)
