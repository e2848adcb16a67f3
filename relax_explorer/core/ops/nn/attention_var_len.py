"""Attention of sequences of different lengths."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.prim import FloatImm
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.kit.loops import check, ordered, seq, store, tensor
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.nn.attention import (
    Attention,
    check_lengths,
    check_mask,
    four_axes,
    last_key,
    scores_stage,
    weighted_stage,
    within_stage,
)
from relax_explorer.core.tir import stmt as t


class AttentionVarLen(Op, name="relax.nn.attention_var_len"):
    """Like `nn.attention`, for several concatenated sequences; each sequence sees only itself.

    The largest numbers of queries and keys serve kernels of a library; the explorer ignores them.
    """

    source = "TVM"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    queries: Tensor = operand("queries of all sequences, [batch, queries, heads, elements of a head]")
    keys: Tensor = operand("keys of all sequences, [batch, keys, heads or a divisor, elements of a head]")
    values: Tensor = operand(
        "values of all sequences, [batch, keys, heads or a divisor, elements of a value]"
    )
    seqstart_q: Tensor = operand(
        "the start of each sequence of queries, and the end of the last one: a vector of integers"
    )
    max_seqlen_q: Tensor = operand("the largest number of queries of a sequence: an integer of rank 0")
    seqstart_k: Tensor | None = operand(
        "like seqstart_q, for keys and values; seqstart_q when left out", default=None
    )
    max_seqlen_k: Tensor | None = operand(
        "like max_seqlen_q, for keys; max_seqlen_q when left out", default=None
    )
    scale: FloatImm | None = attr(None, "factor of the scores; 1 / sqrt(elements of a head) when None")
    causal_mask: str | None = attr(None, "TopLeft, BottomRight, or None for no mask, within each sequence")
    window_size: int | None = attr(
        None,
        "the number of keys up to its own that a query sees; needs a mask; None means all",
        unit="elements",
    )
    fusion = Fusion.OUT_ELEMENTWISE
    examples = (
        "f32[1,n,4,8] f32[1,n,4,8] f32[1,n,4,6] i32[3] i32[] -> f32[1,n,4,6]",
        'f32[1,5,4,8] f32[1,7,2,8] f32[1,7,2,6] i32[3] i32[] i32[3] i32[] causal_mask="BottomRight" -> f32[1,5,4,6]',
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The scale as a float32, and the starts of keys if they are omitted."""
        attrs, args, scale = call.attrs, call.args, call.attrs.get("scale")
        if isinstance(scale, (int, float)):
            attrs = attrs.having(scale=FloatImm(float(scale)))
        if 5 <= len(args) < 7:
            args = (*args, *args[len(args) - 2 : 5])
        same = attrs is call.attrs and args is call.args
        return call if same else e.Call(call.op, args, attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(
        at: Site, queries: s.StructInfo, keys: s.StructInfo, values: s.StructInfo, seqstart_q: s.StructInfo, max_seqlen_q: s.StructInfo,
        seqstart_k: s.StructInfo | None, max_seqlen_k: s.StructInfo | None, scale: float | None, causal_mask: str | None, window_size: int | None,
    ) -> s.StructInfo:  # fmt: skip
        """[batch, queries, heads, elements of a value], the dtype of queries."""
        parts = four_axes(at, queries=queries, keys=keys, values=values)
        vectors = {"seqstart_q": (seqstart_q, 1), "max_seqlen_q": (max_seqlen_q, 0)}
        vectors |= {
            "seqstart_k": (seqstart_k or seqstart_q, 1),
            "max_seqlen_k": (max_seqlen_k or max_seqlen_q, 0),
        }
        for name, (info, rank) in vectors.items():
            part = rules.tensor(at, info, name)
            rules.need_rank(at, part, rank, name)
            if part.dtype is not None and not part.dtype.is_int:
                text = f"{name} is {part.dtype}, integers are needed"
                raise at.fail(codes.DTYPE_WRONG, text, **{name: f"dtype {part.dtype}"})
        rules.common_dtype(at, **parts)
        check_mask(at, causal_mask, window_size)
        q, k, v = (part.dims or () for part in parts.values())
        check_lengths(at, q, k, v)
        return s.TensorStructInfo((q[0], q[1], q[2], v[3]), parts["queries"].dtype)

    @staticmethod
    def evaluate(
        queries: Array,
        keys: Array,
        values: Array,
        seqstart_q: Array,
        max_seqlen_q: Array,
        seqstart_k: Array | None,
        max_seqlen_k: Array | None,
        scale: float | None,
        causal_mask: str | None,
        window_size: int | None,
    ) -> Array:
        """Attention of one sequence after the other; zeros outside the sequences."""
        result = np.zeros((*queries.shape[:3], values.shape[3]), queries.dtype)
        starts = seqstart_q if seqstart_k is None else seqstart_k
        limits = [
            _checked(name, x, of, n.shape[1])
            for name, x, of, n in (
                ("seqstart_q", seqstart_q, "queries", queries),
                ("seqstart_q" if starts is seqstart_q else "seqstart_k", starts, "keys", keys),
            )
        ]
        for a, b, c, d in zip(limits[0], limits[0][1:], limits[1], limits[1][1:], strict=False):
            if a < b:
                operands = (queries[:, a:b], keys[:, c:d], values[:, c:d])
                result[:, a:b] = Attention.evaluate(*operands, None, scale, causal_mask, window_size)
        return result

    @staticmethod
    def legalize(
        te: Te, queries: Tensor, keys: Tensor, values: Tensor, seqstart_q: Tensor, max_seqlen_q: Tensor, seqstart_k: Tensor | None,
        max_seqlen_k: Tensor | None, scale: p.PrimExpr | None, causal_mask: str | None, window_size: int | None,
    ) -> Tensor:  # fmt: skip
        """Attention over all keys; a mask limits each query to its own sequence."""
        starts_q = _starts(te, seqstart_q, "seqstart_q", queries.shape[1])
        starts_k = _starts(
            te,
            seqstart_q if seqstart_k is None else seqstart_k,
            "seqstart_q" if seqstart_k is None else "seqstart_k",
            keys.shape[1],
        )
        count = (
            starts_q.shape[0]
            if starts_q.shape[0] is starts_k.shape[0]
            else p.Min(starts_q.shape[0], starts_k.shape[0])
        )
        own_q = _sequences(te, starts_q, queries.shape[1], count)
        own_k = _sequences(te, starts_k, keys.shape[1], count)

        def last_seen(i: p.PrimExpr) -> p.PrimExpr:
            number = own_q[i]
            before = p.Sub(number, rules.ONE)
            own, others = (p.Sub(starts[number], starts[before]) for starts in (starts_q, starts_k))
            local = last_key(p.Sub(i, starts_q[before]), own, others, causal_mask)
            return where(p.LT(rules.ZERO, number), p.Add(starts_k[before], local), rules.ZERO)

        last = te.compute("T_last_key", own_q.shape, last_seen) if causal_mask is not None else None

        def seen(i: Sequence[p.PrimExpr]) -> p.PrimExpr:
            same = p.And(p.EQ(own_q[i[2]], own_k[i[3]]), p.LT(rules.ZERO, own_q[i[2]]))
            return same if last is None else p.And(same, within_stage(last[i[2]], i[3], window_size))

        return weighted_stage(te, scores_stage(te, queries, keys, None, scale), values, seen)


def _checked(name: str, starts: Array, of: str, length: int) -> list[int]:
    """The starts of sequences as integers. The run stops if they decrease or lie outside the axis."""
    last = 0
    for place, start in enumerate(starts.tolist()):
        if not 0 <= start <= length:
            text = f"{name}[{place}] is {start}, axis 1 of {of} has length {length}: 0 to {length} are inside"
            raise IndexError(text)
        if start < last:
            text = (
                f"{name}[{place}] is {start}, and the sequence before it starts at {last}: starts never fall"
            )
            raise BadValue(f"{text}; {last} to {length} would do")
        last = start
    return list(map(int, starts.tolist()))


def _starts(te: Te, starts: Tensor, name: str, length: p.PrimExpr) -> Tensor:
    """The starts of sequences. A start outside the axis, or before the previous start, stops the run."""
    checked = tensor(te, "T_start", starts.shape, INT64)

    def start(i: p.PrimExpr) -> t.Stmt:
        current = cast(starts[i], INT64)
        before = where(p.LT(rules.ZERO, i), cast(starts[p.Sub(i, rules.ONE)], INT64), rules.ZERO)
        inside = p.And(p.LE(rules.ZERO, current), p.LE(current, length))
        return seq(
            check(inside, f"{name} has a start outside the axis of positions"),
            check(p.LE(before, current), f"{name} has a start before the previous start"),
            store(checked, (i,), current),
        )

    ordered(te, starts.shape, (checked,), start)
    return checked


def _sequences(te: Te, starts: Tensor, length: p.PrimExpr, count: p.PrimExpr) -> Tensor:
    """The sequence of each position, counted from 1; 0 for a position outside the sequences."""

    def begun(i: p.PrimExpr, k: p.PrimExpr) -> p.PrimExpr:
        return where(p.LE(starts[k], i), rules.ONE, rules.ZERO)

    found = te.sum("T_begun", (length,), starts.shape, begun, INT64)
    return te.compute("T_sequence", (length,), lambda i: where(p.LT(found[i], count), found[i], rules.ZERO))
