"""Attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, INT64
from relax_explorer.core.ir.prim import FloatImm
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import index
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.flop_count import FlopCount, each, products, together
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import BadValue, wide
from relax_explorer.core.ops.kit.te import (
    Te,
    Tensor,
    call,
    cast,
    check,
    lowest,
    ordered,
    seq,
    store,
    tensor,
    where,
)
from relax_explorer.core.tir import stmt as t

Seen = Callable[[Sequence[p.PrimExpr]], p.PrimExpr]
_MASKS = (None, "TopLeft", "BottomRight")


class Attention(Op, name="relax.nn.attention"):
    """softmax(query · key * scale + bias) · value for each head; the softmax runs over the keys.

    The axes are batch, position, head and element of a head: not batch, head and position, as in PyTorch. With a causal mask a
    query sees the keys up to its own position, counted from the first query and key (TopLeft) or from the last (BottomRight);
    with a window only the last ones of these. A query that sees no key gives zeros. Several query heads may share a key or value head.
    """

    source = "Vaswani et al. 2017"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    stops = Stops.LENGTHS
    query: Tensor = operand("queries, [batch, queries, heads, elements of a head]")
    key: Tensor = operand("keys, [batch, keys, heads or a divisor, elements of a head]")
    value: Tensor = operand("values, [batch, keys, heads or a divisor, elements of a value]")
    bias: Tensor | None = operand(
        "added to the scores [batch, heads, queries, keys], if given; lengths of 1 are repeated, but not along the keys",
        default=None,
    )
    scale: FloatImm | None = attr(None, "factor of the scores; 1 / sqrt(elements of a head) when None")
    causal_mask: str | None = attr(None, "TopLeft, BottomRight, or None for no mask")
    window_size: int | None = attr(
        None,
        "the number of keys up to its own that a query sees; needs a mask; None means all",
        unit="elements",
    )
    fusion = Fusion.OUT_ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = (
        "f32[b,3,4,8] f32[b,5,4,8] f32[b,5,4,6] -> f32[b,3,4,6]",
        'f32[2,3,4,8] f32[2,3,4,8] f32[2,3,4,8] causal_mask="TopLeft" -> f32[2,3,4,8]',
        'f32[2,3,1,8] f32[2,5,1,8] f32[2,5,1,8] scale=0.5 causal_mask="BottomRight" -> f32[2,3,1,8]',
        'f32[2,n,4,8] f32[2,n,2,8] f32[2,n,1,6] causal_mask="TopLeft" window_size=2 -> f32[2,n,4,6]',
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The scale as a float32. A call with a bias becomes attention_bias."""
        attrs, scale = call.attrs, call.attrs.get("scale")
        if isinstance(scale, (int, float)):
            attrs = attrs.having(scale=FloatImm(float(scale)))
        op = e.op_ref("relax.nn.attention_bias") if len(call.args) == 4 else call.op
        same = op is call.op and attrs is call.attrs
        return call if same else e.Call(op, call.args, attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(
        at: Site, query: s.StructInfo, key: s.StructInfo, value: s.StructInfo, bias: s.StructInfo | None, scale: float | None,
        causal_mask: str | None, window_size: int | None,
    ) -> s.StructInfo:  # fmt: skip
        """[batch, queries, heads, elements of a value], the dtype of query."""
        parts = four_axes(at, query=query, key=key, value=value)
        rules.common_dtype(at, **parts)
        check_mask(at, causal_mask, window_size)
        q, k, v = (part.dims or () for part in parts.values())
        check_lengths(at, q, k, v)
        if bias is not None:
            _check_bias(at, rules.tensor(at, bias, "bias"), (q[0], q[2], q[1], k[1]))
        return s.TensorStructInfo((q[0], q[1], q[2], v[3]), parts["query"].dtype)

    @staticmethod
    def flops(
        out: s.StructInfo, query: s.StructInfo, key: s.StructInfo, value: s.StructInfo, bias: s.StructInfo | None, scale: float | None,
        causal_mask: str | None, window_size: int | None,
    ) -> FlopCount | None:  # fmt: skip
        """Two products of matrices; of each score its scale and bias, and a softmax. A mask saves nothing."""
        q, k = s.lengths(query), s.lengths(key)
        if len(q) != 4 or len(k) != 4:
            return None
        scores = s.TensorStructInfo((q[0], q[2], q[1], k[1]))
        of_score = each(scores, 5 if bias is None else 6, functions=1)
        return together(products(scores, q[3:]), of_score, products(out, k[1:2]))

    @staticmethod
    def evaluate(
        query: Array,
        key: Array,
        value: Array,
        bias: Array | None,
        scale: FloatImm | float | None,
        causal_mask: str | None,
        window_size: int | None,
    ) -> Array:
        """Computed at least in float32."""
        seen = None
        if causal_mask is not None:
            queries, keys = query.shape[1], key.shape[1]
            own = np.arange(queries)[:, None] + (0 if causal_mask == "TopLeft" else abs(keys - queries))
            seen = within(own, np.arange(keys)[None, :], window_size)
        return weighted(query, key, value, bias, scale, seen)

    @staticmethod
    def legalize(
        te: Te,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        scale: p.PrimExpr | None,
        causal_mask: str | None,
        window_size: int | None,
    ) -> Tensor:
        """Scores, softmax, a product with the values."""
        n, m = query.shape[1], key.shape[1]

        def seen(i: Sequence[p.PrimExpr]) -> p.PrimExpr:
            return within_stage(last_key(i[2], n, m, causal_mask), i[3], window_size)

        mask = seen if causal_mask is not None else None
        scores = scores_stage(te, query, key, bias, scale)
        return weighted_stage(te, scores, value, mask)


class AttentionBias(Attention, name="relax.nn.attention_bias"):
    """`nn.attention` with a bias. A call of `nn.attention` with a bias becomes this operator."""

    source = "TVM"
    bias: Tensor = operand("added to the scores; lengths of 1 are repeated, but not along the keys")
    examples = (
        "f32[b,3,4,8] f32[b,5,4,8] f32[b,5,4,6] f32[b,4,3,5] -> f32[b,3,4,6]",
        'f32[2,n,4,8] f32[2,5,2,8] f32[2,5,2,6] f32[1,1,n,5] causal_mask="BottomRight" -> f32[2,n,4,6]',
    )


def last_key(i: p.PrimExpr, queries: p.PrimExpr, keys: p.PrimExpr, mask: str | None) -> p.PrimExpr:
    """The last key that a query sees."""
    if mask != "BottomRight" or queries is keys:
        return i
    return p.Add(i, simplify(p.Max(p.Sub(keys, queries), p.Sub(queries, keys))))


def within(last: Any, place: Any, window: int | None) -> Any:
    """True for the keys that a query sees: up to the last one, limited by the window."""
    return (place <= last) if window is None else (place <= last) & (place > last - window)


def within_stage(last: p.PrimExpr, place: p.PrimExpr, window: int | None) -> p.PrimExpr:
    """Like `within`, for indices in a kernel."""
    seen = p.LE(place, last)
    return seen if window is None else p.And(seen, p.LT(p.Sub(last, p.IntImm(window)), place))


def four_axes(at: Site, **given: s.StructInfo) -> dict[str, s.TensorStructInfo]:
    """Floating point tensors of four known lengths."""
    parts = {name: rules.tensor(at, info, name) for name, info in given.items()}
    for name, part in parts.items():
        if part.dims is None or part.ndim != 4:
            text = f"{name} is {part}, a tensor of four known lengths is needed"
            raise at.fail(codes.RANK_WRONG, text, **{name: f"this is {part}"})
        rules.need_float(at, part, name, by_spec=True)
    return parts


def check_mask(at: Site, causal_mask: str | None, window_size: int | None) -> None:
    """Refuse unknown names of masks, and windows without any key."""
    if causal_mask not in _MASKS:
        raise at.fail_by_spec(
            codes.BAD_ATTRIBUTE, f"causal_mask is {causal_mask!r}, it must be TopLeft, BottomRight or None"
        )
    if window_size is not None and window_size <= 0:
        raise at.fail_by_spec(codes.BAD_ATTRIBUTE, f"window_size is {window_size}, at least 1 is needed")


def check_lengths(at: Site, q: rules.Dims, k: rules.Dims, v: rules.Dims) -> None:
    """Refuse queries, keys and values of mismatched lengths."""
    names = [q.name for q in at.op.operands] if at.op is not None else ["query", "key", "value"]
    query, key, value = names[:3]
    for a, b, left, right, measure in (
        (q[0], k[0], query, key, "the batch"),
        (q[3], k[3], query, key, "the head size"),
        (k[0], v[0], key, value, "the batch"),
        (k[1], v[1], key, value, "the number of positions"),
    ):
        if at.equal(a, b) is Answer.NO:
            text = f"{left} has {measure} {a}, {right} has {b}: they must agree"
            raise at.fail(codes.DIMS_DIFFER, text, **{left: f"{measure} {a}", right: f"{measure} {b}"})
    for heads, name in ((k[2], key), (v[2], value)):
        if not (isinstance(q[2], p.IntImm) and isinstance(heads, p.IntImm)):
            continue
        if not heads.value or q[2].value % heads.value:
            text = f"{name} has {heads} heads, a divisor of {q[2]} is needed, the heads of {query}"
            raise at.fail(codes.DIMS_DIFFER, text, **{query: f"{q[2]} heads", name: f"{heads} heads"})


def _check_bias(at: Site, bias: s.TensorStructInfo, scores: rules.Dims) -> None:
    if bias.ndim != 4:
        raise at.fail(
            codes.RANK_WRONG,
            f"bias {f'has rank {bias.ndim}' if bias.ndim >= 0 else 'has no known rank'}, 4 is needed: batch, heads, queries, keys",
            bias=f"this is {bias}",
        )
    for axis, (have, length) in enumerate(zip(bias.dims or (), scores, strict=False)):
        repeated = have is rules.ONE and axis < 3  # there is a number for each key
        if not repeated and at.equal(have, length, or_one=(have,) if axis < 3 else ()) is Answer.NO:
            raise at.fail(
                codes.DIMS_DIFFER,
                f"bias has the length {have} where the scores have {length}",
                bias=f"this is {bias}",
            )


def weighted(
    query: Array,
    key: Array,
    value: Array,
    bias: Array | None,
    scale: FloatImm | float | None,
    seen: Array | None,
) -> Array:
    """Values weighted by the softmax of the scores. `seen` marks the keys that each query sees; None means all."""
    q, k, v = (np.ascontiguousarray(np.swapaxes(wide(x), 1, 2)) for x in (query, key, value))  # for BLAS
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) if 0 < x.shape[1] < q.shape[1] else x for x in (k, v))
    scale = scale.value if isinstance(scale, FloatImm) else scale
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * np.asarray(factor, q.dtype)
    scores = scores if bias is None else scores + wide(bias)
    scores = scores if seen is None else np.where(seen, scores, -np.inf)
    power = np.exp(scores - np.max(scores, -1, keepdims=True, initial=np.finfo(q.dtype).min))
    total = np.sum(power, -1, keepdims=True)
    made = np.matmul(power / np.where(total == 0, 1, total), v)
    return np.ascontiguousarray(np.swapaxes(made, 1, 2)).astype(query.dtype, copy=False)


def scores_stage(te: Te, query: Tensor, key: Tensor, bias: Tensor | None, scale: p.PrimExpr | None) -> Tensor:
    """Products of queries and keys (batch, head, query, key), scaled, with the bias."""
    (b, n, h, d), m, dtype = query.shape, key.shape[1], query.dtype
    wide_kind = dtype if dtype is FLOAT64 else FLOAT32
    root = call("sqrt", cast(d, wide_kind))
    factor = p.Div(FloatImm(1.0, wide_kind), root) if scale is None else scale

    def product(*i: p.PrimExpr) -> p.PrimExpr:
        return p.Mul(query[i[0], i[2], i[1], i[4]], key[i[0], i[3], _head(i[1], h, key), i[4]])

    raw = te.sum("T_batch_matmul", (b, h, n, m), (d,), product, dtype)

    def score(*i: p.PrimExpr) -> p.PrimExpr:
        scaled: p.PrimExpr = p.Mul(raw[i], cast(factor, dtype))
        return scaled if bias is None else p.Add(scaled, cast(index(bias, i, raw.shape), dtype))

    return te.compute("T_scores", raw.shape, score)


def _head(i: p.PrimExpr, heads: p.PrimExpr, x: Tensor) -> p.PrimExpr:
    """The key or value head that a query head uses."""
    groups = x.shape[2]
    if groups is heads:
        return i
    return rules.ZERO if groups is rules.ONE else p.FloorDiv(i, simplify(p.FloorDiv(heads, groups)))


def weighted_stage(te: Te, scores: Tensor, value: Tensor, seen: Seen | None) -> Tensor:
    """Values weighted by the softmax of the scores."""
    (b, h, n, m), dtype = scores.shape, scores.dtype
    zero, one = p.as_prim(0, dtype), p.as_prim(1, dtype)

    def visible(i: Sequence[p.PrimExpr], shown: p.PrimExpr, hidden: p.PrimExpr) -> p.PrimExpr:
        return shown if seen is None else where(seen(i), shown, hidden)

    def score(*i: p.PrimExpr) -> p.PrimExpr:
        return visible(i, scores[i], lowest(dtype))

    largest = te.reduce("T_softmax_maxelem", (b, h, n), (m,), score, p.Max, lowest(dtype))

    def powered(*i: p.PrimExpr) -> p.PrimExpr:
        return visible(i, call("exp", p.Sub(scores[i], largest[i[:3]])), zero)

    power = te.compute("T_softmax_exp", scores.shape, powered)
    total = te.sum("T_softmax_expsum", (b, h, n), (m,), lambda *i: power[i], dtype)

    def share(*i: p.PrimExpr) -> p.PrimExpr:
        whole = total[i[:3]]
        return p.Div(power[i], whole if seen is None else where(p.EQ(whole, zero), one, whole))

    shares = te.compute("T_softmax_norm", scores.shape, share)

    def product(*i: p.PrimExpr) -> p.PrimExpr:
        return p.Mul(shares[i[0], i[2], i[1], i[4]], value[i[0], i[4], _head(i[2], h, value), i[3]])

    return te.sum("T_attention", (b, n, h, value.shape[3]), (m,), product, dtype)


# -- attention var len -----------------------------------------------------------------------------------------------
# Attention of sequences of different lengths.


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
