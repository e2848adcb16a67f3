"""Attention."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.binary import index
from relax_explorer.core.ops.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Te, Tensor, call, cast, lowest, where

_MASKS = (None, "TopLeft", "BottomRight")


class Attention(Op, name="relax.nn.attention"):
    """softmax(query · key * scale + bias) · value for each head (Vaswani and others 2017).

    The axes are batch, position, head and element of a head. With a causal mask a query sees the keys up to its own
    position, counted from the first query and key (TopLeft) or from the last (BottomRight); with a window only so many.
    """

    query: Tensor = operand("queries")
    key: Tensor = operand("keys")
    value: Tensor = operand("values")
    bias: Tensor | None = operand("added to the scores; lengths of 1 are repeated", default=None)
    scale: Any = attr(None, "factor of the scores; one over the root of the elements of a head when None")
    causal_mask: str | None = attr(None, "TopLeft, BottomRight, or None for no mask")
    window_size: int | None = attr(
        None, "how many keys before its own a query sees, with a mask", unit="elements"
    )
    fusion = Fusion.OUT_ELEMENTWISE
    no_legalize = "a window, and fewer heads of keys than of queries, have no lowering yet"
    examples: ClassVar[tuple[str, ...]] = (
        "f32[b,3,4,8] f32[b,5,4,8] f32[b,5,4,6] -> f32[b,3,4,6]",
        'f32[2,3,4,8] f32[2,3,4,8] f32[2,3,4,8] causal_mask="TopLeft" -> f32[2,3,4,8]',
        'f32[2,3,1,8] f32[2,5,1,8] f32[2,5,1,8] scale=0.5 causal_mask="BottomRight" -> f32[2,3,1,8]',
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The scale as a float32; with a bias it is another operator."""
        attrs, scale = call.attrs, call.attrs.get("scale")
        if isinstance(scale, (int, float)):
            attrs = attrs.having(scale=p.FloatImm(float(scale)))
        op = e.op_ref("relax.nn.attention_bias") if len(call.args) == 4 else call.op
        same = op is call.op and attrs is call.attrs
        return call if same else e.Call(op, call.args, attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(
        at: Site, query: s.StructInfo, key: s.StructInfo, value: s.StructInfo, bias: s.StructInfo | None, scale: Any,
        causal_mask: str | None, window_size: int | None,
    ) -> s.StructInfo:  # fmt: skip
        """A row of values for each query."""
        given = {"query": query, "key": key, "value": value}
        parts = {name: rules.tensor(at, info, name) for name, info in given.items()}
        for name, part in parts.items():
            if part.dims is None or part.ndim != 4:
                raise at.fail(
                    codes.RANK_WRONG, f"{name} needs four known lengths", **{name: f"this is {part}"}
                )
        rules.common_dtype(at, **parts)
        if causal_mask not in _MASKS:
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"causal_mask is {causal_mask!r}; TopLeft and BottomRight are known"
            )
        q, k, v = (part.dims or () for part in parts.values())
        for a, b, what in (
            (q[0], k[0], "batches"),
            (q[3], k[3], "elements of heads"),
            (k[0], v[0], "batches"),
            (k[1], v[1], "positions"),
        ):
            if at.equal(a, b) is Answer.NO:
                raise at.fail(codes.DIMS_DIFFER, f"the {what} differ: {a} and {b}")
        if bias is not None:
            _check_bias(at, rules.tensor(at, bias, "bias"), (q[0], q[2], q[1], k[1]))
        return s.TensorStructInfo((q[0], q[1], q[2], v[3]), parts["query"].dtype)

    @staticmethod
    def evaluate(
        query: Any,
        key: Any,
        value: Any,
        bias: Any,
        scale: Any,
        causal_mask: str | None,
        window_size: int | None,
    ) -> Any:
        """In float32 at least."""
        q, k, v = (np.swapaxes(wide(x), 1, 2) for x in (query, key, value))
        if k.shape[1] and q.shape[1] % k.shape[1] == 0:  # several heads of queries share one of keys
            k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
        factor = 1 / math.sqrt(q.shape[-1]) if scale is None else getattr(scale, "value", scale)
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) * np.asarray(factor, q.dtype)
        scores = scores if bias is None else scores + wide(bias)
        if causal_mask is not None:
            scores = np.where(_seen(q.shape[2], k.shape[2], causal_mask, window_size), scores, -np.inf)
        power = np.exp(scores - np.max(scores, -1, keepdims=True, initial=np.finfo(q.dtype).min))
        made = np.matmul(power / np.sum(power, -1, keepdims=True), v)
        return np.ascontiguousarray(np.swapaxes(made, 1, 2)).astype(query.dtype)

    @staticmethod
    def legalize(
        te: Te,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        scale: Any,
        causal_mask: str | None,
        window_size: int | None,
    ) -> Tensor | None:
        """Scores, softmax, a product with the values."""
        if (
            window_size is not None
            or query.shape[2] is not key.shape[2]
            or query.shape[2] is not value.shape[2]
        ):
            return None
        scores = _scores(te, query, key, bias, scale, causal_mask)
        return _weighted(te, scores, value)


def _scores(
    te: Te, query: Tensor, key: Tensor, bias: Tensor | None, scale: Any, causal_mask: str | None
) -> Tensor:
    """Products of queries and keys (batch, head, query, key), scaled, with the bias, masked."""
    (b, n, h, d), m, kind = query.shape, key.shape[1], query.dtype
    factor = p.Div(p.FloatImm(1.0), call("sqrt", cast(d, FLOAT32))) if scale is None else scale

    def product(*i: p.PrimExpr) -> p.PrimExpr:
        return p.Mul(query[i[0], i[2], i[1], i[4]], key[i[0], i[3], i[1], i[4]])

    raw = te.sum("T_batch_matmul", (b, h, n, m), (d,), product, kind)

    def score(*i: p.PrimExpr) -> p.PrimExpr:
        found: p.PrimExpr = p.Mul(raw[i], cast(factor, kind))
        if bias is not None:
            found = p.Add(found, index(bias, i, raw.shape))
        if causal_mask is None:
            return found
        last = i[2] if causal_mask == "TopLeft" else p.Add(i[2], p.Sub(m, n))
        return where(p.LE(i[3], last), found, lowest(kind))

    return te.compute("T_scores", raw.shape, score)


def _weighted(te: Te, scores: Tensor, value: Tensor) -> Tensor:
    """Values by the softmax of the scores."""
    (b, h, n, m), kind = scores.shape, scores.dtype
    largest = te.reduce("T_softmax_maxelem", (b, h, n), (m,), lambda *i: scores[i], p.Max, lowest(kind))
    power = te.compute(
        "T_softmax_exp", scores.shape, lambda *i: call("exp", p.Sub(scores[i], largest[i[:3]]))
    )
    total = te.sum("T_softmax_expsum", (b, h, n), (m,), lambda *i: power[i], kind)

    def product(*i: p.PrimExpr) -> p.PrimExpr:
        share = p.Div(power[i[0], i[2], i[1], i[4]], total[i[0], i[2], i[1]])
        return p.Mul(share, value[i[0], i[4], i[2], i[3]])

    return te.sum("T_attention", (b, n, h, value.shape[3]), (m,), product, kind)


class AttentionBias(Attention, name="relax.nn.attention_bias"):
    """Attention with a bias added to the scores; what `nn.attention` with four operands becomes."""

    bias: Tensor = operand("added to the scores; lengths of 1 are repeated")
    examples = ("f32[b,3,4,8] f32[b,5,4,8] f32[b,5,4,6] f32[b,4,3,5] -> f32[b,3,4,6]",)


def _check_bias(at: Site, bias: s.TensorStructInfo, scores: rules.Dims) -> None:
    if bias.ndim != 4:
        raise at.fail(
            codes.RANK_WRONG, "the bias needs four axes: batch, head, query, key", bias=f"this is {bias}"
        )
    for have, wanted in zip(bias.dims or (), scores, strict=False):
        if have is not rules.ONE and at.equal(have, wanted) is Answer.NO:
            raise at.fail(
                codes.DIMS_DIFFER,
                f"a length of the bias is {have}, the scores have {wanted}",
                bias=f"this is {bias}",
            )


def _seen(queries: int, keys: int, mask: str, window: int | None) -> Any:
    """Which keys each query sees."""
    own = np.arange(queries)[:, None] + (0 if mask == "TopLeft" else keys - queries)
    place = np.arange(keys)[None, :]
    return (place <= own) if window is None else (place <= own) & (place > own - window)
