"""Tensors in other layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.index_map import IndexMap
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import (
    REQUIRED,
    Fusion,
    Ints,
    NotLowered,
    Op,
    Site,
    Stops,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.ndarrays import Array, OfNumpy
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor
from relax_explorer.core.tir.stmt import Stmt

Expr = Any  # a scalar of the program, or a Python number
Interval = tuple[p.PrimExpr, p.PrimExpr]  # the least and the greatest value


class Unplaceable(ValueError):
    """The positions of an index map have no bounding box."""


class LayoutTransform(Op, name="relax.layout_transform"):
    """The elements moved to other positions by a map of their indices; positions without an element are padding.

    The result is the smallest box from index 0 on that contains all positions.
    """

    source = "TVM"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DTYPE_WRONG)
    x: Tensor = operand("the tensor")
    index_map: IndexMap = attr(
        REQUIRED, "maps the indices of an element to its new position: T.index_map(lambda i, j: (j, i))"
    )
    pad_value: Expr | None = attr(
        None, "the value of positions without an element, in the dtype of x; None means 0"
    )
    axis_separators: Ints = attr(
        (),
        "the starts of groups of axes of the result; each group is flattened, for memory of several axes",
    )
    input_axis_separators: Ints = attr((), "the same for the axes of x")
    kernel = "te_layout_transform"
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,4] index_map={T.index_map(lambda i, j: (j, i))} -> f32[4,n]",
        "f32[2,14] index_map={T.index_map(lambda i, j: (j // 4, i, j % 4))} pad_value=2 -> f32[4,2,4]",
        "i32[n] index_map={T.index_map(lambda i: (i // 4, i % 4))} -> i32[(n-n%-4)//4,4]",
        "f32[2,n] index_map={T.index_map(lambda i, j: (j * 2 + i,))} -> f32[n*2]",
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The padding in the dtype of x."""
        value, info = call.attrs.get("pad_value"), infos[0] if infos else None
        if (
            not isinstance(value, (int, float))
            or not isinstance(info, s.TensorStructInfo)
            or info.dtype is None
        ):
            return call
        element = info.dtype
        fits = (
            element.is_float
            or (element.is_int and isinstance(value, int))
            or (element.is_bool and type(value) is bool)
        )
        if not fits:
            return call
        literal = p.as_prim(float(value) if element.is_float else int(value), element)
        return e.Call(
            call.op, call.args, call.attrs.having(pad_value=literal), call.sinfo_args, None, call.span
        )

    @classmethod
    def stops_with(cls, attrs: Mapping[str, Any]) -> Stops:
        """A map that only reorders the indices sends no two elements to one position."""
        index_map = attrs.get("index_map")
        reorders = isinstance(index_map, IndexMap) and sorted(index_map.results, key=id) == sorted(
            index_map.places, key=id
        )
        return Stops.RANKS if reorders else cls.stops

    @staticmethod
    def infer(
        at: Site,
        x: s.StructInfo,
        index_map: IndexMap,
        pad_value: object,
        axis_separators: Ints,
        input_axis_separators: Ints,
    ) -> s.StructInfo:
        """The lengths of the bounding box of the positions, the dtype of x."""
        info = rules.tensor(at, x, "x")
        if not isinstance(index_map, IndexMap):
            text = f"index_map is {index_map!r}, which is not a map of indices"
            raise at.fail(codes.BAD_ATTRIBUTE, text, help="write T.index_map(lambda i, j: (j, i))")
        if info.ndim not in (-1, len(index_map.names)):
            text = f"index_map takes {len(index_map.names)} indices, x has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, text, x=f"this is {info}")
        if pad_value is not None:
            pad_dtype = getattr(pad_value, "dtype", type(pad_value).__name__)
            if info.dtype is None:
                raise at.fail(codes.DTYPE_WRONG, "pad_value needs a known dtype of x", x="dtype unknown")
            if pad_dtype is not info.dtype:
                raise at.fail(
                    codes.DTYPES_DIFFER,
                    f"pad_value is {pad_dtype}, x is {info.dtype}: one dtype is needed",
                    x=f"dtype {info.dtype}",
                    help=rules.write_scalar(info.dtype),
                )
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, len(index_map.results))
        try:
            return s.TensorStructInfo(box(index_map, info.dims), info.dtype)
        except Unplaceable as error:
            raise at.fail(codes.BAD_ATTRIBUTE, str(error)) from None

    @staticmethod
    def evaluate(
        x: Array, index_map: IndexMap, pad_value: object, axis_separators: Ints, input_axis_separators: Ints
    ) -> Array:
        """All elements are moved in one assignment."""
        shape = [number(dim, {}) for dim in box(index_map, tuple(map(p.IntImm, x.shape)))]
        value = getattr(pad_value, "value", pad_value)
        output = np.full([int(length) for length in shape], 0 if value is None else value, x.dtype)
        indices: dict[p.PrimVar, Array] = dict(
            zip(index_map.places, np.indices(x.shape, sparse=True), strict=True)
        )
        places = tuple([np.broadcast_to(number(result, indices), x.shape) for result in index_map.results])
        taken = np.zeros(output.shape, bool)
        taken[places] = True
        if np.count_nonzero(taken) != x.size:
            raise BadValue("index_map sends two elements to one position")
        output[places] = x
        return output

    @staticmethod
    def legalize(
        te: Te,
        x: Tensor,
        index_map: IndexMap,
        pad_value: object,
        axis_separators: Ints,
        input_axis_separators: Ints,
    ) -> Tensor:
        """Padding everywhere, if there is any, then each element at its position."""
        if index_map.free:
            raise NotLowered("index_map mentions shape variables")
        shape = box(index_map, x.shape)
        output = loops.tensor(te, "T_layout", shape, x.dtype)
        if equal(simplify(rules.volume(shape)), simplify(rules.volume(x.shape))) is not Answer.YES:
            value = pad_value if isinstance(pad_value, p.PrimExpr) else p.as_prim(0, x.dtype)
            loops.ordered(te, shape, (output,), lambda *i: loops.store(output, i, value))

        def put(*i: p.PrimExpr) -> Stmt:
            return loops.store(output, index_map.at(i), x[i])

        loops.ordered(te, x.shape, (output,), put)
        return output


def box(index_map: IndexMap, dims: rules.Dims) -> rules.Dims:
    """The lengths of the result: from 0 to the greatest value of each index; raises Unplaceable.

    If each index depends on one axis, a divided axis is rounded up: `i // 4, i % 4` gives a remainder 4 elements, too.
    """
    apart = all(len(set(p.free_vars(result)) & set(index_map.places)) == 1 for result in index_map.results)
    domains: dict[p.PrimVar, Interval] = {
        var: (rules.ZERO, simplify(p.Sub(dim, rules.ONE)))
        for var, dim in zip(index_map.places, dims, strict=True)
    }
    lengths = []
    for result in index_map.results:
        low, high = _interval(result, domains, apart)
        if equal(simplify(low), rules.ZERO) is not Answer.YES:
            raise Unplaceable(f"an index of the result starts at {simplify(low)}, not at 0")
        length = _rounded(result, index_map, dims) if apart else None
        lengths.append(simplify(p.Add(high, rules.ONE)) if length is None else length)
    return tuple(lengths)


def _rounded(result: p.PrimExpr, index_map: IndexMap, dims: rules.Dims) -> p.PrimExpr | None:
    """The length of `i // c` if the axis is not proven to be a multiple of c."""
    if not (
        isinstance(result, p.FloorDiv) and result.a in index_map.places and isinstance(result.b, p.IntImm)
    ):
        return None
    length = dims[index_map.places.index(result.a)]
    if isinstance(length, p.IntImm):
        return p.IntImm(-(-length.value // result.b.value))
    if equal(p.FloorMod(length, result.b), rules.ZERO) is Answer.YES:
        return simplify(p.FloorDiv(length, result.b))
    rest = p.FloorMod(length, p.IntImm(-result.b.value))
    return p.FloorDiv(p.Sub(length, rest), result.b)


def _interval(expr: p.PrimExpr, domains: dict[p.PrimVar, Interval], whole: bool) -> Interval:
    """The interval of an index; with `whole`, a remainder may have any value."""
    if isinstance(expr, p.PrimVar):
        return domains.get(expr, (expr, expr))
    if isinstance(expr, p.IntImm):
        return expr, expr
    rule = _INTERVALS.get(type(expr))
    if rule is None or not isinstance(expr, p.Binary):
        raise Unplaceable(f"it is not known where {expr} lies")
    a, b = _interval(expr.a, domains, whole), _interval(expr.b, domains, whole)
    return rule(a, b, whole)


def _product(a: Interval, b: Interval, whole: bool) -> Interval:
    (low, high), factor = (a, b[0]) if b[0] is b[1] else (b, a[0])
    if not isinstance(factor, p.IntImm) and a[0] is not a[1] and b[0] is not b[1]:
        raise Unplaceable("a product of two indices has no box")
    ends = simplify(p.Mul(low, factor)), simplify(p.Mul(high, factor))
    return ends[::-1] if isinstance(factor, p.IntImm) and factor.value < 0 else ends


def _quotient(a: Interval, b: Interval, whole: bool) -> Interval:
    divisor = _positive(b)
    return simplify(p.FloorDiv(a[0], divisor)), simplify(p.FloorDiv(a[1], divisor))


def _remainder(a: Interval, b: Interval, whole: bool) -> Interval:
    divisor = _positive(b)
    most = simplify(p.Sub(divisor, rules.ONE))
    if not whole and isinstance(a[1], p.IntImm) and a[0] is rules.ZERO and isinstance(most, p.IntImm):
        return rules.ZERO, p.IntImm(min(max(a[1].value, 0), most.value))
    return rules.ZERO, most


def _positive(b: Interval) -> p.PrimExpr:
    if b[0] is not b[1] or (isinstance(b[0], p.IntImm) and b[0].value < 1):
        raise Unplaceable("an index is divided by a number that is not positive")
    return b[0]


_INTERVALS: dict[type, Callable[[Interval, Interval, bool], Interval]] = {
    p.Add: lambda a, b, whole: (simplify(p.Add(a[0], b[0])), simplify(p.Add(a[1], b[1]))),
    p.Sub: lambda a, b, whole: (simplify(p.Sub(a[0], b[1])), simplify(p.Sub(a[1], b[0]))),
    p.Mul: _product,
    p.FloorDiv: _quotient,
    p.FloorMod: _remainder,
}
_NUMPY = {
    p.Add: OfNumpy("add"),
    p.Sub: OfNumpy("subtract"),
    p.Mul: OfNumpy("multiply"),
    p.FloorDiv: OfNumpy("floor_divide"),
    p.FloorMod: OfNumpy("mod"),
}


def number(expr: p.PrimExpr, values: dict[p.PrimVar, Array]) -> Array | int:
    """The value of an index expression; arrays of indices are computed at once."""
    if isinstance(expr, p.IntImm):
        return expr.value
    if isinstance(expr, p.PrimVar):
        if expr not in values:
            raise ValueError(f"the map mentions {expr}, whose value is not known")
        return values[expr]
    assert isinstance(expr, p.Binary)  # inference refused anything else
    found: Array | int = _NUMPY[type(expr)](number(expr.a, values), number(expr.b, values))
    return found
