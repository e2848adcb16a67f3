"""Boxes of a detector: selection by score, and decoding of positions."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT64, INT32, INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Fusion, NotLowered, Numbers, Op, Site, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, lowest, where
from relax_explorer.core.tir.stmt import Stmt


def need_column(at: Site, name: str, value: int, least: int, columns: p.PrimExpr | None) -> None:
    """Refuse a column index that boxes lack."""
    if value < least or (isinstance(columns, p.IntImm) and value >= columns.value):
        last = columns.value - 1 if isinstance(columns, p.IntImm) else None
        expected = f"at least {least}" if last is None or last < least else f"{least} to {last}"
        has = "" if last is None else f", and a box of data has {columns} numbers"
        labels = {} if last is None else {"data": f"{columns} numbers for each box"}
        raise at.fail(codes.BAD_ATTRIBUTE, f"{name} is {value}, {expected} is needed{has}", **labels)


class GetValidCounts(Op, name="relax.vision.get_valid_counts"):
    """For each image, the number of boxes that score above a threshold, these boxes first, and their indices.

    The boxes keep their order; the rows behind them are filled with -1.
    """

    source = "TVM"
    raises = (codes.RANK_WRONG,)
    data: Tensor = operand("boxes, [batch, boxes, numbers of a box]")
    score_threshold: float = attr(0.0, "the score that a valid box must exceed")
    id_index: int = attr(
        0, "the index of the class in a box; -1 if there is none. A negative class marks an invalid box"
    )
    score_index: int = attr(1, "the index of the score in a box")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[b,n,6] score_threshold=0.5 -> (i32[b],f32[b,n,6],i32[b,n])",
        "f32[2,5,5] id_index=-1 score_index=0 -> (i32[2],f32[2,5,5],i32[2,5])",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, score_threshold: float, id_index: int, score_index: int
    ) -> s.StructInfo:
        """Counts [batch], int32; boxes of the shape and dtype of data; their indices [batch, boxes], int32."""
        info = rules.tensor(at, data, "data")
        rules.need_rank(at, info, 3, "data")
        columns = info.dims[2] if info.dims is not None else None
        need_column(at, "score_index", score_index, 0, columns)
        need_column(at, "id_index", id_index, -1, columns)
        if info.dims is None:
            return s.TupleStructInfo(
                (
                    s.TensorStructInfo(None, INT32, 1),
                    s.TensorStructInfo(None, info.dtype, 3),
                    s.TensorStructInfo(None, INT32, 2),
                )
            )
        boxes = s.TensorStructInfo(info.dims, info.dtype)
        return s.TupleStructInfo(
            (s.TensorStructInfo(info.dims[:1], INT32), boxes, s.TensorStructInfo(info.dims[:2], INT32))
        )

    @staticmethod
    def evaluate(
        data: Array, score_threshold: float, id_index: int, score_index: int
    ) -> tuple[Array, Array, Array]:
        """A stable order by validity."""
        valid = data[..., score_index] > np.asarray(score_threshold).astype(data.dtype)
        if id_index >= 0:
            valid &= data[..., id_index] >= np.asarray(0, data.dtype)
        order = np.argsort(~valid, axis=1, kind="stable")
        counts = valid.sum(axis=1)
        is_kept = np.arange(data.shape[1]) < counts[:, None]
        boxes = np.where(
            is_kept[..., None],
            np.take_along_axis(data, order[..., None], 1),
            np.asarray(-1).astype(data.dtype),
        )
        return counts.astype(np.int32), boxes, np.where(is_kept, order, -1).astype(np.int32)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, score_threshold: float, id_index: int, score_index: int
    ) -> tuple[Tensor, ...]:
        """One box after the other."""
        batch, boxes, columns = data.shape
        counts = loops.tensor(te, "valid_count", (batch,), INT32)
        result = loops.tensor(te, "out_tensor", data.shape, data.dtype)
        numbers = loops.tensor(te, "out_indices", (batch, boxes), INT32)

        def image(i: p.PrimExpr) -> Stmt:
            count = cast(counts[(i,)], INT64)

            def keep(j: p.PrimVar) -> Stmt:
                limit = cast(p.FloatImm(float(score_threshold), FLOAT64), data.dtype)
                valid: p.PrimExpr = p.LT(limit, data[(i, j, score_index)])
                if id_index >= 0:
                    valid = p.And(valid, p.LE(p.as_prim(0, data.dtype), data[(i, j, id_index)]))
                copy = loops.loop(columns, lambda k: loops.store(result, (i, count, k), data[(i, j, k)]))
                number = loops.store(numbers, (i, count), j)
                count_up = loops.store(counts, (i,), p.Add(count, rules.ONE))
                return loops.when(valid, loops.seq(copy, number, count_up))

            def drop(j: p.PrimVar) -> Stmt:
                blank = loops.loop(columns, lambda k: loops.store(result, (i, j, k), -1))
                return loops.when(p.LE(count, j), loops.seq(blank, loops.store(numbers, (i, j), -1)))

            return loops.seq(loops.store(counts, (i,), 0), loops.loop(boxes, keep), loops.loop(boxes, drop))

        loops.ordered(te, (batch,), (counts, result, numbers), image)
        return counts, result, numbers


class MultiboxTransformLoc(Op, name="relax.vision.multibox_transform_loc"):
    """The boxes given by anchors and offsets, and the scores of their classes.

    Anchors are left, top, right, bottom, but the resulting boxes are top, left, bottom, right, as in TFLite.
    """

    source = "Liu et al. 2016, section 2.2; TFLite"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    cls_pred: Tensor = operand("scores, [batch, classes, anchors]")
    loc_pred: Tensor = operand(
        "offsets of each anchor in x, y, width and height, the last two as logarithms, [batch, 4 * anchors]"
    )
    anchor: Tensor = operand("anchors as left, top, right, bottom, [1, anchors, 4]")
    clip: bool = attr(False, "True clips boxes to the image, from 0 to 1")
    threshold: float = attr(0.0, "scores below it become 0")
    variances: Numbers = attr((1.0, 1.0, 1.0, 1.0), "factors of the offsets in x, y, width and height")
    keep_background: bool = attr(True, "True keeps the scores of class 0; False sets them to 0")
    apply_softmax: bool = attr(True, "True applies a softmax over the classes to the scores first")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[b,3,n] f32[b,n*4] f32[1,n,4] -> (f32[b,n,4],f32[b,3,n])",
        "f32[1,3,10] f32[1,40] f32[1,10,4] clip=True threshold=0.2 variances=[0.1,0.1,0.2,0.2] keep_background=False -> (f32[1,10,4],f32[1,3,10])",
    )

    @staticmethod
    def infer(
        at: Site, cls_pred: s.StructInfo, loc_pred: s.StructInfo, anchor: s.StructInfo, clip: bool, threshold: float,
        variances: Numbers, keep_background: bool, apply_softmax: bool,
    ) -> s.StructInfo:  # fmt: skip
        """Boxes [batch, anchors, 4] and scores [batch, classes, anchors], in the dtype of cls_pred."""
        infos = {
            "cls_pred": rules.tensor(at, cls_pred, "cls_pred"),
            "loc_pred": rules.tensor(at, loc_pred, "loc_pred"),
            "anchor": rules.tensor(at, anchor, "anchor"),
        }
        if not isinstance(variances, tuple) or len(variances) != 4:
            raise at.fail(codes.BAD_ATTRIBUTE, f"variances is {variances}, four numbers are needed")
        rules.same_dtype(at, **{name: info for name, info in infos.items() if info.dtype is not None})
        for (name, info), rank in zip(infos.items(), (3, 2, 3), strict=True):
            rules.need_rank(at, info, rank, name)
        scores, offsets, anchors = infos.values()
        _check_lengths(at, scores.dims, offsets.dims, anchors.dims)
        if scores.dims is None:
            unknown = s.TensorStructInfo(None, scores.dtype, 3)
            return s.TupleStructInfo((unknown, unknown))
        boxes = s.TensorStructInfo((scores.dims[0], scores.dims[2], p.IntImm(4)), scores.dtype)
        return s.TupleStructInfo((boxes, s.TensorStructInfo(scores.dims, scores.dtype)))

    @staticmethod
    def evaluate(
        cls_pred: Array, loc_pred: Array, anchor: Array, clip: bool, threshold: float, variances: Numbers, keep_background: bool,
        apply_softmax: bool,
    ) -> tuple[Array, Array]:  # fmt: skip
        """All anchors at once."""
        dtype = cls_pred.dtype
        scores, corners = wide(cls_pred), wide(anchor)[0]
        batch, _, count = scores.shape
        offsets = wide(loc_pred).reshape(batch, count, 4) * np.asarray(variances, wide(loc_pred).dtype)
        center, size = (corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]
        middle, half = offsets[..., :2] * size + center, np.exp(offsets[..., 2:]) * size / 2
        boxes = np.concatenate([(middle - half)[..., ::-1], (middle + half)[..., ::-1]], -1)
        if clip:
            boxes = np.clip(boxes, 0, 1)
        if apply_softmax and scores.size:
            raised = np.exp(scores - scores.max(axis=1, keepdims=True))
            scores = raised / raised.sum(axis=1, keepdims=True)
        scores = scores * (scores >= np.asarray(threshold, scores.dtype))
        if not keep_background:
            scores[:, :1] = 0
        return boxes.astype(dtype), scores.astype(dtype)

    @staticmethod
    def legalize(
        te: Te, cls_pred: Tensor, loc_pred: Tensor, anchor: Tensor, clip: bool, threshold: float, variances: Numbers,
        keep_background: bool, apply_softmax: bool,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """An expression for each corner; the softmax uses the maximum and the sum."""
        dtype = cls_pred.dtype
        if not dtype.is_float:
            raise NotLowered(f"the scores are {dtype}, no floats")
        batch, _, count = cls_pred.shape
        half, zero, one = (p.as_prim(number, dtype) for number in (0.5, 0.0, 1.0))

        def corner(b: p.PrimExpr, a: p.PrimExpr, k: p.PrimExpr) -> p.PrimExpr:
            axis = p.FloorMod(p.Sub(rules.ONE, p.FloorMod(k, p.IntImm(2))), p.IntImm(2))  # y before x
            low, high = anchor[(0, a, axis)], anchor[(0, a, p.Add(axis, p.IntImm(2)))]
            first = p.Add(p.Mul(a, p.IntImm(4)), axis)
            factors = [p.as_prim(float(number), dtype) for number in variances]
            shift = where(p.EQ(axis, rules.ZERO), factors[0], factors[1])
            grow = where(p.EQ(axis, rules.ZERO), factors[2], factors[3])
            size = p.Sub(high, low)
            middle = p.Add(p.Mul(p.Mul(loc_pred[(b, first)], shift), size), p.Mul(p.Add(low, high), half))
            reach = p.Mul(
                p.Mul(half, call("exp", p.Mul(loc_pred[(b, p.Add(first, p.IntImm(2)))], grow))), size
            )
            value: p.PrimExpr = where(p.LT(k, p.IntImm(2)), p.Sub(middle, reach), p.Add(middle, reach))
            return p.Max(zero, p.Min(one, value)) if clip else value

        boxes = te.compute("multibox_boxes", (batch, count, p.IntImm(4)), corner, dtype)
        scores = _softmax(te, cls_pred) if apply_softmax else cls_pred

        def kept(b: p.PrimExpr, c: p.PrimExpr, n: p.PrimExpr) -> p.PrimExpr:
            score = scores[(b, c, n)]
            value = where(p.LE(p.as_prim(float(threshold), dtype), score), score, zero)
            return value if keep_background else where(p.EQ(c, rules.ZERO), zero, value)

        return boxes, te.compute("multibox_scores", cls_pred.shape, kept, dtype)


def _softmax(te: Te, cls_pred: Tensor) -> Tensor:
    """Probabilities of the classes."""
    dtype, (batch, classes, count) = cls_pred.dtype, cls_pred.shape
    most = te.reduce(
        "T_max",
        (batch, count),
        (classes,),
        lambda b, n, c: cls_pred[(b, c, n)],
        p.Max,
        lowest(dtype),
        dtype,
    )
    raised = te.compute(
        "T_exp",
        cls_pred.shape,
        lambda b, c, n: call("exp", p.Sub(cls_pred[(b, c, n)], most[(b, n)])),
        dtype,
    )
    total = te.sum("T_sum", (batch, count), (classes,), lambda b, n, c: raised[(b, c, n)], dtype)
    return te.compute(
        "T_softmax", cls_pred.shape, lambda b, c, n: p.Div(raised[(b, c, n)], total[(b, n)]), dtype
    )


def _check_lengths(
    at: Site, scores: rules.Dims | None, offsets: rules.Dims | None, anchors: rules.Dims | None
) -> None:
    """Refuse literal lengths that don't fit."""

    def fits(name: str, measure: str, have: p.PrimExpr, expected: p.PrimExpr | int, why: str) -> None:
        value = expected.value if isinstance(expected, p.IntImm) else expected
        if isinstance(have, p.IntImm) and isinstance(value, int) and have.value != value:
            text = f"{name} has {measure} {have}, {value} is needed{why}"
            raise at.fail(codes.DIMS_DIFFER, text, **{name: f"{measure} {have}"})

    if offsets is not None:
        if isinstance(offsets[1], p.IntImm) and offsets[1].value % 4:
            text = f"loc_pred has {offsets[1]} offsets, a multiple of 4 is needed, 4 for each anchor"
            raise at.fail(codes.DIMS_DIFFER, text, loc_pred=f"{offsets[1]} offsets")
        if scores is not None:
            fits("loc_pred", "the batch", offsets[0], scores[0], ", as cls_pred has it")
            if isinstance(scores[2], p.IntImm):
                fits(
                    "loc_pred",
                    "the length",
                    offsets[1],
                    4 * scores[2].value,
                    ", 4 for each anchor of cls_pred",
                )
    if anchors is not None:
        fits("anchor", "the first length", anchors[0], 1, "")
        fits("anchor", "the last length", anchors[2], 4, ", for the four corners")
        if scores is not None:
            fits("anchor", "the second length", anchors[1], scores[2], ", the anchors of cls_pred")
