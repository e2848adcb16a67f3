"""Attention of new tokens to the keys and values of a cache."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.exec.cache_rows import Array


def attention(queries: Array, keys: Array, values: Array, seen: Array, scale: float) -> tuple[Array, Array]:
    """Attention in float32 of each query to the keys that it sees, and the log2 of the sum of its weights.

    Several heads share a head of keys. Each query must see a key.
    """
    shared = queries.shape[1] // keys.shape[1]
    wide = [np.repeat(part.astype(np.float32), shared, axis=1) for part in (keys, values)]
    scores = np.einsum("qhd,khd->hqk", queries.astype(np.float32), wide[0]) * np.float32(scale)
    scores[:, ~seen] = -np.inf
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - largest)
    sums = weights.sum(axis=2, keepdims=True)
    result: Array = np.einsum("hqk,khd->qhd", weights / sums, wide[1])
    logs: Array = (largest / np.log(np.float32(2)) + np.log2(sums))[:, :, 0].T
    return result, logs
