"""Non-maximum suppression for each class separately."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.kit.element_loops import Loop
from relax_explorer.core.ops.kit.legalize import Emitter, need_known
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.tensor.index import sliced
from relax_explorer.core.ops.tensor.sort import order, order_stage
from relax_explorer.core.ops.vision import box_loops
from relax_explorer.core.ops.vision.nms import overlap, share_of
from relax_explorer.core.tir.stmt import Stmt

_FORMATS = ("onnx", "tensorflow")


def _select_rows(corners: Array, left: Array, most: int, near: float) -> Array:
    """Which boxes are selected, of those that are left. Changes `left`."""
    kept, count = np.zeros(left.shape, bool), left.shape[2]
    for j in range(count):
        taken = left[..., j] & (kept.sum(-1) < most)
        kept[..., j] = taken
        share = overlap(corners[:, :, j : j + 1], corners)
        left &= ~(taken[..., None] & (share >= near) & (np.arange(count) > j))
    return kept


_select = Loop(_select_rows, box_loops.select_each, lambda _, left, *rest: left.size * left.shape[2], 1 << 21)


class AllClassNonMaxSuppression(Op, name="relax.vision.all_class_non_max_suppression"):
    """The boxes of each class and image by decreasing score, without boxes that overlap a better one."""

    source = "ONNX NonMaxSuppression"
    raises = (codes.RANK_WRONG,)
    boxes: Tensor = operand("boxes as two opposite corners, [batch, boxes, 4]")
    scores: Tensor = operand("the score of each box for each class, [batch, classes, boxes]")
    max_output_boxes_per_class: Tensor = operand(
        "the number of boxes to keep for each class of an image: an integer, of rank 0 or length 1"
    )
    iou_threshold: Tensor = operand(
        "two boxes overlap if their common area, as a fraction of the area of their union, reaches it: one number"
    )
    score_threshold: Tensor = operand("the score that a box must exceed: one number")
    output_format: str = attr(
        "onnx",
        "onnx: rows of image, class and box, and the number of rows; "
        "tensorflow: for each image rows of class and box, their scores, and their number, padded with 0",
    )
    fusion = Fusion.OPAQUE
    examples = (
        "f32[b,n,4] f32[b,2,n] i64[] f32[] f32[] -> (i64[?,?],i64[1])",
        'f32[2,n,4] f32[2,c,n] i64[1] f32[1] f32[1] output_format="tensorflow" -> (i64[2,c*n,2],f32[2,c*n],i64[2])',
    )

    @staticmethod
    def infer(
        at: Site, boxes: s.StructInfo, scores: s.StructInfo, max_output_boxes_per_class: s.StructInfo,
        iou_threshold: s.StructInfo, score_threshold: s.StructInfo, output_format: str,
    ) -> s.StructInfo:  # fmt: skip
        """A tuple; onnx: [rows, 3] and [1], both int64; tensorflow: [batch, classes * boxes, 2] int64,
        [batch, classes * boxes] float32 and [batch] int64.
        """
        places, marks = rules.tensor(at, boxes, "boxes"), rules.tensor(at, scores, "scores")
        limits = (max_output_boxes_per_class, iou_threshold, score_threshold)
        for name, operand_info in zip(
            ("max_output_boxes_per_class", "iou_threshold", "score_threshold"), limits, strict=True
        ):
            rules.tensor(at, operand_info, name)
        for name, info in (("boxes", places), ("scores", marks)):
            if info.ndim != 3:
                has = f"has rank {info.ndim}" if info.ndim >= 0 else "has no known rank"
                raise at.fail(codes.RANK_WRONG, f"{name} {has}, 3 is needed", **{name: f"this is {info}"})
        if output_format not in _FORMATS:
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"output_format is {output_format!r}, it must be {' or '.join(_FORMATS)}"
            )
        if output_format == "onnx":
            return s.TupleStructInfo(
                (s.TensorStructInfo(None, INT64, 2), s.TensorStructInfo((rules.ONE,), INT64))
            )
        if places.dims is None or marks.dims is None:
            ranks = ((INT64, 3), (FLOAT32, 2), (INT64, 1))
            return s.TupleStructInfo(tuple([s.TensorStructInfo(None, kind, rank) for kind, rank in ranks]))
        batch, all_boxes = places.dims[0], rules.volume((marks.dims[1], places.dims[1]))
        return s.TupleStructInfo(
            (
                s.TensorStructInfo((batch, all_boxes, p.IntImm(2)), INT64),
                s.TensorStructInfo((batch, all_boxes), FLOAT32),
                s.TensorStructInfo((batch,), INT64),
            )
        )

    @staticmethod
    def evaluate(
        boxes: Array,
        scores: Array,
        max_output_boxes_per_class: Array,
        iou_threshold: Array,
        score_threshold: Array,
        output_format: str,
    ) -> tuple[Array, ...]:
        """All images and classes at once, one box after the other."""
        most, near, least = (
            x.reshape(-1)[0] for x in (max_output_boxes_per_class, iou_threshold, score_threshold)
        )
        batch, _, count = scores.shape
        ranks = order(scores, 2, True)
        ranked = np.take_along_axis(wide(scores), ranks, 2)
        real = boxes.astype(np.float64) if boxes.dtype.kind in "iub" else wide(boxes)
        corners = np.take_along_axis(real[:, None], ranks[..., None], 2)
        left = (ranked > least) & (near > 0)
        kept = _select(corners, left, int(most), near)
        if output_format == "onnx":
            rows = np.stack(np.nonzero(kept), 1).astype(np.int64)
            rows[:, 2] = ranks[kept]
            return rows, np.array([len(rows)], np.int64)
        flat = kept.reshape(batch, -1)
        first = np.argsort(~flat, axis=1, kind="stable")
        is_selected = np.take_along_axis(flat, first, 1)
        numbers = np.stack(
            [first // max(count, 1), np.take_along_axis(ranks.reshape(batch, -1), first, 1)], -1
        )
        marks = np.take_along_axis(ranked.reshape(batch, -1), first, 1)
        indices = np.where(is_selected[..., None], numbers, 0).astype(np.int64)
        return indices, np.where(is_selected, marks, 0).astype(np.float32), flat.sum(1).astype(np.int64)

    @staticmethod
    def unfold(build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """A kernel that selects boxes; for ONNX, a slice of the filled rows follows."""
        for q, info in zip(AllClassNonMaxSuppression.operands, infos, strict=True):
            need_known(info, q.name)
        tensors = [info for info in infos if isinstance(info, s.TensorStructInfo)]
        if call.attrs["output_format"] == "tensorflow":
            out = call.struct_info
            assert out is not None  # it was inferred
            return build.call_te("all_class_non_max_suppression", _padded, call.args, tensors, out)
        rows = simplify(rules.volume(tensors[1].dims or ()))
        table = s.TensorStructInfo((rows, p.IntImm(3)), INT64)
        total = s.TensorStructInfo((rules.ONE,), INT64)
        out = s.TupleStructInfo((table, total))
        both = build.emit(
            build.call_te("all_class_non_max_suppression", _rows, call.args, tensors, out), "selected"
        )
        rows_found = build.emit(e.TupleGetItem(both, 0), "rows")
        count = build.emit(e.TupleGetItem(both, 1), "count")
        pair = s.TensorStructInfo((p.IntImm(2),), INT64)
        begin = build.emit(build.call_te("begin", _constant(0), (), (), pair), "begin")
        steps = build.emit(build.call_te("strides", _constant(1), (), (), pair), "strides")
        end = build.emit(build.call_te("end", _end, (count,), (total,), pair), "end")
        selected = build.emit(sliced(build, rows_found, table, (begin, end, steps)), "trimmed")
        return e.tuple_of((selected, count))


def _constant(value: int) -> Callable[[Te, s.TensorStructInfo], Tensor]:
    return lambda te, out: te.compute("T_full", out.dims or (), lambda i: p.IntImm(value), INT64)


def _end(te: Te, count: Tensor, out: s.TensorStructInfo) -> Tensor:
    return te.compute(
        "T_end", out.dims or (), lambda i: where(p.EQ(i, rules.ZERO), count[(0,)], p.IntImm(3)), INT64
    )


def _ranked(te: Te, boxes: Tensor, scores: Tensor, ranks: Tensor) -> tuple[Tensor, Tensor]:
    """The corners and the scores of the boxes in order."""
    corners = te.compute(
        "T_corners", (*scores.shape, p.IntImm(4)), lambda b, c, j, n: boxes[(b, ranks[(b, c, j)], n)]
    )
    ranked = te.compute("T_ranked", scores.shape, lambda b, c, j: scores[(b, c, ranks[(b, c, j)])])
    return corners, ranked


def _start(
    kept: Tensor, ranked: Tensor, score_limit: p.PrimExpr, share_limit: p.PrimExpr
) -> Callable[[p.PrimExpr, p.PrimExpr, p.PrimExpr], Stmt]:
    """Mark boxes with a sufficient score as left, and drop the others."""

    def start(b: p.PrimExpr, c: p.PrimExpr, j: p.PrimExpr) -> Stmt:
        marks = ranked.dtype if ranked.dtype.is_float else FLOAT64
        enough = p.LT(cast(score_limit, marks), cast(ranked[(b, c, j)], marks))
        good = p.And(enough, p.LT(p.as_prim(0, share_limit.dtype), share_limit))
        return loops.store(kept, (b, c, j), where(good, rules.ZERO, p.IntImm(-1)))

    return start


def _selected(
    te: Te, boxes: Tensor, scores: Tensor, most: Tensor, near: Tensor, least: Tensor
) -> tuple[Tensor, Tensor]:
    """The order of the boxes of each class, and marks for the kept ones."""
    ranks = order_stage(te, scores, 2, True)
    batch, classes, count = scores.shape
    corners, ranked = _ranked(te, boxes, scores, ranks)
    kept = loops.tensor(te, "T_kept", scores.shape, INT64)  # 1: kept, 0: left, -1: dropped
    number = loops.tensor(te, "T_number", (batch, classes), INT64)
    limit, share_limit, score_limit = (x[(rules.ZERO,) * x.ndim] for x in (most, near, least))

    start = _start(kept, ranked, score_limit, share_limit)
    # The overlap of integers is a fraction.
    dtype = boxes.dtype if boxes.dtype.is_float else FLOAT64

    def one(b: p.PrimExpr, c: p.PrimExpr) -> Stmt:
        def drop(j: p.PrimExpr, k: p.PrimExpr) -> Stmt:
            one_, other = (lambda n, i=i: cast(corners[(b, c, i, n)], dtype) for i in (j, k))
            share = share_of(one_, other, p.as_prim(0.0, dtype))
            rival = p.And(p.LT(j, k), p.EQ(kept[(b, c, k)], rules.ZERO))
            close = p.LE(cast(share_limit, dtype), share)
            return loops.when(rival, loops.when(close, loops.store(kept, (b, c, k), -1)))

        def step(j: p.PrimVar) -> Stmt:
            take = loops.seq(
                loops.store(kept, (b, c, j), 1),
                loops.store(number, (b, c), p.Add(number[(b, c)], rules.ONE)),
                loops.loop(count, lambda k: drop(j, k), "rival"),
            )
            room = p.LT(number[(b, c)], cast(limit, INT64))
            return loops.when(p.And(p.EQ(kept[(b, c, j)], rules.ZERO), room), take)

        zeroed = loops.store(number, (b, c), 0)
        return loops.seq(zeroed, loops.loop(count, lambda j: start(b, c, j)), loops.loop(count, step))

    loops.ordered(te, (batch, classes), (kept, number), one)
    return ranks, kept


def _rows(
    te: Te, boxes: Tensor, scores: Tensor, most: Tensor, near: Tensor, least: Tensor, out: s.TupleStructInfo
) -> tuple[Tensor, Tensor]:
    ranks, kept = _selected(te, boxes, scores, most, near, least)
    table = loops.tensor(te, "T_rows", s.lengths(out.fields[0]), INT64)
    total = loops.tensor(te, "T_total", (rules.ONE,), INT64)

    def collect() -> Stmt:
        def box(b: p.PrimExpr, c: p.PrimExpr, j: p.PrimExpr) -> Stmt:
            values = (b, c, ranks[(b, c, j)])
            row = [loops.store(table, (total[(0,)], n), value) for n, value in enumerate(values)]
            count_up = loops.store(total, (0,), p.Add(total[(0,)], rules.ONE))
            return loops.when(p.EQ(kept[(b, c, j)], rules.ONE), loops.seq(*row, count_up))

        blank = loops.grid(table.shape, lambda i, n: loops.store(table, (i, n), 0), "blank")
        return loops.seq(blank, loops.store(total, (0,), 0), loops.grid(scores.shape, box))

    loops.ordered(te, (), (table, total), collect)
    return table, total


def _padded(
    te: Te, boxes: Tensor, scores: Tensor, most: Tensor, near: Tensor, least: Tensor, out: s.TupleStructInfo
) -> tuple[Tensor, Tensor, Tensor]:
    ranks, kept = _selected(te, boxes, scores, most, near, least)
    indices = loops.tensor(te, "T_indices", s.lengths(out.fields[0]), INT64)
    marks = loops.tensor(te, "T_scores", s.lengths(out.fields[1]), FLOAT32)
    total = loops.tensor(te, "T_total", s.lengths(out.fields[2]), INT64)

    def collect(b: p.PrimExpr) -> Stmt:
        place = total[(b,)]

        def blank(i: p.PrimVar) -> Stmt:
            pair = [loops.store(indices, (b, i, n), 0) for n in range(2)]
            return loops.seq(*pair, loops.store(marks, (b, i), 0))

        def box(c: p.PrimExpr, j: p.PrimExpr) -> Stmt:
            number = ranks[(b, c, j)]
            values = [
                loops.store(indices, (b, place, 0), c),
                loops.store(indices, (b, place, 1), number),
                loops.store(marks, (b, place), scores[(b, c, number)]),
            ]
            more = loops.store(total, (b,), p.Add(place, rules.ONE))
            return loops.when(p.EQ(kept[(b, c, j)], rules.ONE), loops.seq(*values, more))

        first = loops.seq(loops.loop(indices.shape[1], blank), loops.store(total, (b,), 0))
        return loops.seq(first, loops.grid(scores.shape[1:], box))

    loops.ordered(te, (scores.shape[0],), (indices, marks, total), collect)
    return indices, marks, total
