"""Non-maximum suppression: of overlapping boxes, only the one with the best score is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT64, INT32, INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import Fusion, NotLowered, Op, Site, attr, operand
from relax_explorer.core.ops.kit.element_loops import Loop
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import NotDefined
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, lowest, where
from relax_explorer.core.ops.tensor.sort import order, order_stage
from relax_explorer.core.ops.vision import box_loops
from relax_explorer.core.ops.vision.box import need_column
from relax_explorer.core.tir.stmt import Stmt

Corner = Callable[[int], p.PrimExpr]  # a number of a box, by its offset from the first coordinate


class NonMaxSuppression(Op, name="relax.vision.non_max_suppression"):
    """The boxes of each image by decreasing score, without boxes that overlap a better one.

    Rows without a box are filled with -1. Boxes whose score is not above 0 are dropped, too.
    """

    source = "TVM; Bodla et al. 2017"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand("boxes, [batch, boxes, numbers of a box]")
    valid_count: Tensor = operand("the number of valid boxes of each image, which come first, [batch], int32")
    indices: Tensor = operand("the index of each box for the result, [batch, boxes], int32")
    max_output_size: int = attr(-1, "the number of boxes to keep in an image; all when not positive")
    iou_threshold: float = attr(
        0.5, "two boxes overlap if their common area, as a fraction of the area of their union, reaches it"
    )
    force_suppress: bool = attr(False, "True lets boxes of different classes suppress each other")
    top_k: int = attr(-1, "the number of best boxes to consider; all when not positive")
    coord_start: int = attr(
        2, "the index of the first coordinate in a box; the four coordinates are two opposite corners"
    )
    score_index: int = attr(1, "the index of the score in a box")
    id_index: int = attr(0, "the index of the class in a box; -1 if there is none")
    return_indices: bool = attr(
        True, "True returns the indices of the boxes and their number; False returns the boxes"
    )
    invalid_to_bottom: bool = attr(False, "True moves the kept boxes to the front, if boxes are returned")
    soft_nms_sigma: float = attr(
        0.0, "if above 0, soft suppression: the width of the Gaussian by which scores fall with the overlap"
    )
    score_threshold: float = attr(0.0, "with soft_nms_sigma, boxes of at most this score are dropped")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[b,n,6] i32[b] i32[b,n] -> (i32[b,n],i32[b,1])",
        "f32[2,5,6] i32[2] i32[2,5] max_output_size=2 return_indices=False invalid_to_bottom=True -> f32[2,5,6]",
        "f32[1,6,5] i32[1] i32[1,6] coord_start=1 score_index=0 id_index=-1 soft_nms_sigma=0.5 -> (f32[1,6,5],i32[1,6],i32[1,1])",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, valid_count: s.StructInfo, indices: s.StructInfo, **attrs: Any
    ) -> s.StructInfo:
        """Indices [batch, boxes] and counts [batch, 1], int32; with soft_nms_sigma, boxes like data come first; or boxes alone."""
        info, counts = rules.tensor(at, data, "data"), rules.tensor(at, valid_count, "valid_count")
        names = rules.tensor(at, indices, "indices")
        rules.need_rank(at, info, 3, "data")
        for name, vector, rank in (("valid_count", counts, 1), ("indices", names, 2)):
            rules.need_rank(at, vector, rank, name)
            if vector.dtype not in (None, INT32):
                text = f"{name} is {vector.dtype}, int32 is needed"
                raise at.fail(codes.DTYPE_WRONG, text, **{name: f"dtype {vector.dtype}"})
        columns = info.dims[2] if info.dims is not None else None
        need_column(at, "score_index", attrs["score_index"], 0, columns)
        need_column(at, "id_index", attrs["id_index"], -1, columns)
        need_column(at, "coord_start", attrs["coord_start"], 0, columns)
        need_column(at, "coord_start + 3", attrs["coord_start"] + 3, 0, columns)
        for name, vector in (("valid_count", counts), ("indices", names)):
            for have, length in zip(vector.dims or (), info.dims or (), strict=False):
                if at.equal(have, length) is not Answer.YES:
                    text = f"{name} has the length {have}, {length} is needed, the length of data"
                    raise at.fail(
                        codes.DIMS_DIFFER, text, data=f"this is {info}", **{name: f"this is {vector}"}
                    )
        boxes = s.TensorStructInfo(info.shape, info.dtype, 3)
        if not attrs["return_indices"]:
            return boxes
        lead = info.dims[:2] if info.dims is not None else None
        called = s.TensorStructInfo(lead, INT32, 2)
        count = s.TensorStructInfo(None if lead is None else (lead[0], rules.ONE), INT32, 2)
        return s.TupleStructInfo((boxes, called, count) if attrs["soft_nms_sigma"] > 0 else (called, count))

    @staticmethod
    def evaluate(data: Array, valid_count: Array, indices: Array, **attrs: Any) -> Array | tuple[Array, ...]:
        """All images at once, one box after the other."""
        if data.dtype.kind == "u":
            text = f"data is {data.dtype.name}, but removed boxes are marked by -1"
            raise NotDefined(text, "convert it with R.astype to a signed or a floating point dtype")
        score, soft = attrs["score_index"], attrs["soft_nms_sigma"] > 0
        place = np.arange(data.shape[1])
        ranks = order(np.where(place < valid_count[:, None], data[..., score], _least(data.dtype)), 1, True)
        keep = np.clip(valid_count.astype(np.int64), 0, data.shape[1])
        keep = np.minimum(keep, attrs["top_k"]) if attrs["top_k"] > 0 else keep
        is_box = place < keep[:, None]
        minus = np.asarray(-1, data.dtype)
        boxes = np.where(is_box[..., None], np.take_along_axis(data, ranks[..., None], 1), minus)
        named = np.where(is_box, ranks, -1)
        element, label = data.dtype.type, -1 if attrs["force_suppress"] else attrs["id_index"]
        near = element(attrs["iou_threshold"])
        chosen = (boxes, named, is_box, score, attrs["coord_start"], attrs["max_output_size"], near, label)
        if soft:
            least, scale = element(attrs["score_threshold"]), element(-0.5 / attrs["soft_nms_sigma"])
            count = _soften(*chosen, least, scale)
            boxes = np.where((place < count[:, None])[..., None], boxes, minus)
            named = np.where(place < count[:, None], named, -1)
        else:
            _suppress(*chosen)
        if attrs["return_indices"]:
            first = np.argsort(named < 0, axis=1, kind="stable")
            packed = np.take_along_axis(named, first, 1)
            called = np.where(packed >= 0, np.take_along_axis(indices, np.maximum(packed, 0), 1), -1).astype(
                np.int32
            )
            total = (named >= 0).sum(axis=1, keepdims=True).astype(np.int32)
            return (boxes, called, total) if soft else (called, total)
        if not attrs["invalid_to_bottom"]:
            return boxes
        kept = boxes[..., score] >= 0
        first = np.argsort(~kept, axis=1, kind="stable")
        last = np.arange(data.shape[1]) < kept.sum(axis=1, keepdims=True)
        return np.where(last[..., None], np.take_along_axis(boxes, first[..., None], 1), minus)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, valid_count: Tensor, indices: Tensor, **attrs: Any
    ) -> Tensor | tuple[Tensor, ...]:
        """Boxes are sorted, then processed one after the other in each image."""
        if not data.dtype.is_float:
            raise NotLowered(f"the boxes are {data.dtype}: the overlap of integers would be 0 or 1")
        return _Stages(te, data, valid_count, indices, attrs).results()


def _least(dtype: np.dtype[Any]) -> Array | int:
    return np.asarray(-np.inf, dtype) if dtype.kind not in "iu" else np.iinfo(dtype).min


def overlap(a: Array, b: Array) -> Array:
    """The common area of boxes as a fraction of their union; corners may come in any order."""
    low, high = (
        (np.minimum(x[..., :2], x[..., 2:]) for x in (a, b)),
        (np.maximum(x[..., :2], x[..., 2:]) for x in (a, b)),
    )
    (a_low, b_low), (a_high, b_high) = low, high
    common = np.prod(np.maximum(np.minimum(a_high, b_high) - np.maximum(a_low, b_low), 0), -1)
    whole = np.prod(a_high - a_low, -1) + np.prod(b_high - b_low, -1) - common
    return np.where(whole <= 0, 0, common / np.where(whole <= 0, 1, whole))


def _same(boxes: Array, best: Array, label: int) -> Array:
    """Which boxes have the label of the best one. A negative column means that labels don't count."""
    if label < 0:
        return np.ones(boxes.shape[:2], bool)
    result: Array = boxes[..., label] == best[..., label]
    return result


def _suppress_rows(
    boxes: Array, named: Array, is_box: Array, score: int, first: int, most: int, near: float, label: int
) -> None:
    """Drop boxes that overlap a better one, in place."""
    count = np.zeros(len(boxes), np.int64)
    place = np.arange(boxes.shape[1])
    for j in range(boxes.shape[1]):
        good = is_box[:, j] & (boxes[:, j, score] > 0) & ((count < most) | (most <= 0))
        count += good
        best = boxes[:, j : j + 1]
        share = overlap(best[..., first : first + 4], boxes[..., first : first + 4])
        gone = good[:, None] & (share >= near) & is_box & (place > j) & (boxes[..., score] > 0)
        gone &= _same(boxes, best, label)
        boxes[..., score][gone] = -1
        named[gone] = -1
        boxes[~good, j] = -1
        named[~good, j] = -1


def _soften_rows(
    boxes: Array, named: Array, is_box: Array, score: int, first: int, most: int, near: float, label: int,
    least: float, scale: float,
) -> Array:  # fmt: skip
    """Move the best remaining box to the front and lower the scores of boxes that overlap it. Returns the number of kept boxes."""
    count, rows = np.zeros(len(boxes), np.int64), np.arange(len(boxes))
    place = np.arange(boxes.shape[1])
    for _ in range(boxes.shape[1]):
        left = is_box & (place >= count[:, None]) & (named >= 0) & (boxes[..., score] > least)
        active = left.any(axis=1) & ((count < most) | (most <= 0))
        if not active.any():
            break
        at = np.argmax(np.where(left, boxes[..., score], -np.inf), axis=1)
        r, slots, best = rows[active], count[active], at[active]
        boxes[r, slots], boxes[r, best] = boxes[r, best].copy(), boxes[r, slots].copy()
        named[r, slots], named[r, best] = named[r, best].copy(), named[r, slots].copy()
        top = boxes[rows, np.minimum(count, boxes.shape[1] - 1)][:, None]
        share = overlap(top[..., first : first + 4], boxes[..., first : first + 4]).astype(boxes.dtype)
        others = (
            active[:, None] & is_box & (place > count[:, None]) & (named >= 0) & (boxes[..., score] > least)
        )
        others &= _same(boxes, top, label)
        is_near = share >= near
        boxes[..., score] *= np.where(others & ~is_near, np.exp(scale * share * share), 1).astype(boxes.dtype)
        named[others & (is_near | (boxes[..., score] <= least))] = -1
        count += active
    return count


def _pairs(boxes: Array, *_: object) -> int:
    """The pairs of boxes of all images."""
    return len(boxes) * int(boxes.shape[1]) ** 2


_suppress = Loop(_suppress_rows, box_loops.suppress_each, _pairs, 1 << 21)
_soften = Loop(_soften_rows, box_loops.soften_each, _pairs, 1 << 20)


class _Stages:
    """The lowering of non-maximum suppression: the statements for one image, and their output tensors."""

    def __init__(
        self, te: Te, data: Tensor, valid_count: Tensor, indices: Tensor, attrs: dict[str, Any]
    ) -> None:
        self.te, self.data, self.valid_count, self.indices, self.attrs = te, data, valid_count, indices, attrs
        self.kind, self.soft = data.dtype, attrs["soft_nms_sigma"] > 0
        self.batch, self.boxes, self.columns = data.shape
        lead = (self.batch, self.boxes)
        self.result = loops.tensor(te, "out_data", data.shape, data.dtype)
        self.named = loops.tensor(te, "T_named", lead, INT32)
        self.called = loops.tensor(te, "out_box_indices", lead, INT32)
        self.total = loops.tensor(te, "out_valid_box_count", (self.batch, rules.ONE), INT32)
        self.state = loops.tensor(
            te, "T_state", (self.batch, p.IntImm(3)), INT64
        )  # number of considered boxes, of kept boxes; the best box
        self.number = loops.tensor(
            te, "T_number", (self.batch, p.IntImm(2)), data.dtype
        )  # overlap; value during a swap
        scores = te.compute(
            "score_tensor",
            lead,
            lambda i, j: where(
                p.LT(j, cast(valid_count[i], INT64)), data[(i, j, attrs["score_index"])], lowest(self.kind)
            ),
        )
        self.ranks = order_stage(te, scores, 1, True)
        self.least = self.literal(attrs["score_threshold"] if self.soft else 0.0)

    def literal(self, value: float) -> p.PrimExpr:
        """A number in the dtype of the boxes."""
        return cast(p.FloatImm(float(value), FLOAT64), self.kind)

    def results(self) -> Tensor | tuple[Tensor, ...]:
        """The result tensors, depending on the attributes."""
        filled = [self.result, self.named, self.state, self.number]
        if self.soft:  # indices are swapped there
            filled.append(self.called)
        loops.ordered(self.te, (self.batch,), filled, self.image)
        if self.attrs["return_indices"]:
            loops.ordered(self.te, (self.batch,), (self.called, self.total), self.names)
            return (self.result, self.called, self.total) if self.soft else (self.called, self.total)
        if not self.attrs["invalid_to_bottom"]:
            return self.result
        packed = loops.tensor(self.te, "rearranged", self.data.shape, self.kind)
        loops.ordered(self.te, (self.batch,), (packed, self.total), lambda i: self.packed(i, packed))
        return packed

    def image(self, i: p.PrimExpr) -> Stmt:
        """The sorted boxes, then suppression."""
        looked, valid = self.state[(i, 0)], p.Min(cast(self.valid_count[i], INT64), self.boxes)
        top = self.attrs["top_k"]

        def start(j: p.PrimVar) -> Stmt:
            inside = p.LT(j, looked)
            copy = loops.loop(
                self.columns,
                lambda k: loops.store(
                    self.result,
                    (i, j, k),
                    where(inside, self.data[(i, self.ranks[(i, j)], k)], self.literal(-1)),
                ),
            )
            return loops.seq(
                copy, loops.store(self.named, (i, j), where(inside, self.ranks[(i, j)], p.IntImm(-1)))
            )

        step = self.soft_step if self.soft else self.hard_step
        limit = self.attrs["max_output_size"]
        room = p.LT(self.state[(i, 1)], p.IntImm(limit)) if limit > 0 else p.EQ(rules.ZERO, rules.ZERO)
        parts = [
            loops.store(self.state, (i, 0), p.Min(valid, p.IntImm(top)) if top > 0 else valid),
            loops.store(self.state, (i, 1), 0),
            loops.loop(self.boxes, start),
            loops.loop(self.boxes, lambda j: loops.when(p.LT(j, looked), step(i, j, room))),
        ]
        if self.soft:
            parts.append(
                loops.loop(self.boxes, lambda j: loops.when(p.LE(self.state[(i, 1)], j), self.drop(i, j)))
            )
        return loops.seq(*parts)

    def score(self, i: p.PrimExpr, j: p.PrimExpr) -> p.PrimExpr:
        """The score of a box."""
        return self.result[(i, j, self.attrs["score_index"])]

    def drop(self, i: p.PrimExpr, j: p.PrimExpr) -> Stmt:
        """Fill a box with -1."""
        row = loops.loop(self.columns, lambda k: loops.store(self.result, (i, j, k), self.literal(-1)))
        return loops.seq(row, loops.store(self.named, (i, j), -1))

    def rivals(self, i: p.PrimExpr, j: p.PrimExpr, then: Callable[[p.PrimExpr], Stmt]) -> Stmt:
        """A statement for each later box that box `j` may suppress; the overlap is available."""
        start, identity = self.attrs["coord_start"], self.attrs["id_index"]

        def rival(k: p.PrimVar) -> Stmt:
            fits = p.And(p.And(p.LT(j, k), p.LT(k, self.state[(i, 0)])), p.LT(self.least, self.score(i, k)))
            if self.soft:
                fits = p.And(fits, p.LE(rules.ZERO, cast(self.named[(i, k)], INT64)))
            if not self.attrs["force_suppress"] and identity >= 0:
                fits = p.And(fits, p.EQ(self.result[(i, j, identity)], self.result[(i, k, identity)]))
            share = share_of(
                lambda n: self.result[(i, j, start + n)],
                lambda n: self.result[(i, k, start + n)],
                self.literal(0),
            )
            return loops.when(fits, loops.seq(loops.store(self.number, (i, 0), share), then(k)))

        return loops.loop(self.boxes, rival, "rival")

    def hard_step(self, i: p.PrimExpr, j: p.PrimExpr, room: p.PrimExpr) -> Stmt:
        """A valid box removes the boxes that overlap it; an invalid box is removed."""
        near = p.LE(self.literal(self.attrs["iou_threshold"]), self.number[(i, 0)])

        def gone(k: p.PrimExpr) -> Stmt:
            score = loops.store(self.result, (i, k, self.attrs["score_index"]), self.literal(-1))
            return loops.when(near, loops.seq(score, loops.store(self.named, (i, k), -1)))

        more = loops.store(self.state, (i, 1), p.Add(self.state[(i, 1)], rules.ONE))
        good = p.And(p.LT(self.least, self.score(i, j)), room)
        return loops.when(good, loops.seq(more, self.rivals(i, j, gone)), self.drop(i, j))

    def look(self, i: p.PrimExpr, k: p.PrimExpr) -> Stmt:
        """Make box `k` the best one if it remains and is better."""
        count = self.state[(i, 1)]
        left = p.And(
            p.And(p.LE(count, k), p.LT(k, self.state[(i, 0)])),
            p.LE(rules.ZERO, cast(self.named[(i, k)], INT64)),
        )
        better = p.And(left, p.LT(self.number[(i, 1)], self.score(i, k)))
        return loops.when(
            better,
            loops.seq(loops.store(self.state, (i, 2), k), loops.store(self.number, (i, 1), self.score(i, k))),
        )

    def swap(self, i: p.PrimExpr, k: p.PrimExpr) -> Stmt:
        """Swap a number of the best box with the next position."""
        count, best = self.state[(i, 1)], self.state[(i, 2)]
        return loops.seq(
            loops.store(self.number, (i, 1), self.result[(i, count, k)]),
            loops.store(self.result, (i, count, k), self.result[(i, best, k)]),
            loops.store(self.result, (i, best, k), self.number[(i, 1)]),
        )

    def soft_step(self, i: p.PrimExpr, j: p.PrimExpr, room: p.PrimExpr) -> Stmt:
        """The best remaining box comes next and lowers the scores of boxes that overlap it."""
        count, best, column = self.state[(i, 1)], self.state[(i, 2)], self.attrs["score_index"]

        name = loops.seq(  # the counter is unused until the indices are counted
            loops.store(self.called, (i, 0), self.named[(i, count)]),
            loops.store(self.named, (i, count), self.named[(i, best)]),
            loops.store(self.named, (i, best), self.called[(i, 0)]),
        )
        share = self.number[(i, 0)]
        scale = self.literal(-0.5 / self.attrs["soft_nms_sigma"])

        def lower(k: p.PrimExpr) -> Stmt:
            gone = loops.store(self.named, (i, k), -1)
            factor = call("exp", p.Mul(p.Mul(scale, share), share))
            fallen = loops.store(self.result, (i, k, column), p.Mul(self.score(i, k), factor))
            still = loops.when(p.LE(self.score(i, k), self.least), gone)
            return loops.when(
                p.LE(self.literal(self.attrs["iou_threshold"]), share), gone, loops.seq(fallen, still)
            )

        taken = loops.seq(
            loops.loop(self.columns, lambda k: self.swap(i, k), "column"),
            name,
            self.rivals(i, count, lower),
            loops.store(self.state, (i, 1), p.Add(count, rules.ONE)),
        )
        parts = (
            loops.store(self.state, (i, 2), -1),
            loops.store(self.number, (i, 1), self.least),
            loops.loop(self.boxes, lambda k: self.look(i, k), "left"),
            loops.when(p.LE(rules.ZERO, best), taken),
        )
        return loops.when(room, loops.seq(*parts))

    def names(self, i: p.PrimExpr) -> Stmt:
        """The indices of the kept boxes, and their number."""
        count = cast(self.total[(i, 0)], INT64)

        def keep(j: p.PrimVar) -> Stmt:
            name = cast(self.named[(i, j)], INT64)
            take = loops.store(self.called, (i, count), self.indices[(i, name)])
            increment = loops.store(self.total, (i, 0), p.Add(count, rules.ONE))
            return loops.when(p.LE(rules.ZERO, name), loops.seq(take, increment))

        clear = loops.loop(
            self.boxes, lambda j: loops.when(p.LE(count, j), loops.store(self.called, (i, j), -1))
        )
        return loops.seq(loops.store(self.total, (i, 0), 0), loops.loop(self.boxes, keep), clear)

    def packed(self, i: p.PrimExpr, packed_boxes: Tensor) -> Stmt:
        """The boxes with a nonnegative score first."""
        count = cast(self.total[(i, 0)], INT64)

        def keep(j: p.PrimVar) -> Stmt:
            copy = loops.loop(
                self.columns, lambda k: loops.store(packed_boxes, (i, count, k), self.result[(i, j, k)])
            )
            count_up = loops.store(self.total, (i, 0), p.Add(count, rules.ONE))
            return loops.when(p.LE(self.literal(0), self.score(i, j)), loops.seq(copy, count_up))

        def fill(j: p.PrimVar) -> Stmt:
            row = loops.loop(self.columns, lambda k: loops.store(packed_boxes, (i, j, k), self.literal(-1)))
            return loops.when(p.LE(count, j), row)

        return loops.seq(
            loops.store(self.total, (i, 0), 0), loops.loop(self.boxes, keep), loops.loop(self.boxes, fill)
        )


def share_of(a: Corner, b: Corner, zero: p.PrimExpr) -> p.PrimExpr:
    """`overlap` in an index expression."""
    sides, areas = [], []
    for axis in (0, 1):
        sides.append(
            p.Max(
                zero,
                p.Sub(
                    p.Min(p.Max(a(axis), a(axis + 2)), p.Max(b(axis), b(axis + 2))),
                    p.Max(p.Min(a(axis), a(axis + 2)), p.Min(b(axis), b(axis + 2))),
                ),
            )
        )
    for box in (a, b):
        width, height = (p.Sub(p.Max(box(n), box(n + 2)), p.Min(box(n), box(n + 2))) for n in (0, 1))
        areas.append(p.Mul(width, height))
    common = p.Mul(sides[0], sides[1])
    whole = p.Sub(p.Add(areas[0], areas[1]), common)
    return where(p.LE(whole, zero), zero, p.Div(common, whole))
