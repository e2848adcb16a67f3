"""Operands of operators that index into another operand, so that values in range can be chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Places:
    """`operand` holds indices into axes of the tensor `of`; `axis(attrs, rank, n)` is the axis of field or column n.

    With `columns` the indices are in the last axis, one column for each axis; with `first_only` only in its first column.
    """

    operand: str
    of: str
    axis: Callable[[Mapping[str, Any], int, int], int]
    columns: bool = False
    first_only: bool = False


def _named(attrs: Mapping[str, Any], rank: int, n: int) -> int:
    return attrs["axis"] or 0


def _nth(attrs: Mapping[str, Any], rank: int, n: int) -> int:
    return n


def _class(attrs: Mapping[str, Any], rank: int, n: int) -> int:
    return min(rank - 1, 1)


PLACES = {
    "relax.take": Places("indices", "x", _named),
    "relax.gather_elements": Places("indices", "data", _named),
    "relax.gather_nd": Places(
        "indices", "data", lambda attrs, rank, n: n + attrs["batch_dims"], columns=True
    ),
    "relax.index_tensor": Places("indices", "data", _nth),
    "relax.scatter_elements": Places("indices", "data", _named),
    "relax.scatter_nd": Places("indices", "data", _nth, columns=True),
    "relax.index_put": Places("indices", "data", _nth),
    "relax.nn.nll_loss": Places("targets", "predictions", _class),
    "relax.grad.nll_loss_backward": Places("targets", "predictions", _class),
    "relax.grad.take_backward": Places("indices", "x", _named),
    "relax.multinomial_from_uniform": Places("sample_indices", "prob", lambda attrs, rank, n: 0),
    "relax.vision.roi_align": Places(
        "rois", "data", lambda attrs, rank, n: attrs["layout"].index("N"), columns=True, first_only=True
    ),
    "relax.vision.roi_pool": Places("rois", "data", lambda attrs, rank, n: 0, columns=True, first_only=True),
}
