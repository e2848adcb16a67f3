"""The builtins of latent attention (MLA): a cache keeps one compressed vector for each token, which holds keys and values.

New tokens attend to each other with `self_attention`, to earlier ones with `cross_attention`, and `merge_attn_output_inplace` joins both.
"""

from __future__ import annotations

import numpy as np

from relax_explorer.core.exec.cache_attention import attention
from relax_explorer.core.exec.cache_rows import Array
from relax_explorer.core.exec.need import Refused, VmBuiltin, count, explained, need, number, tensor, wrong
from relax_explorer.core.exec.paged_cache import PagedCache
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.sequence_builtins import cache_of, layer_of, sequence_name
from relax_explorer.core.exec.values import Value, describe

_UNSEEN = -5e4
"""The logarithm of the sum of weights of a token that sees nothing, in TVM."""


def append(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Store the vectors of new tokens: cache, layer, vectors. Returns the cache."""
    need(machine, at, args, 3, "append_mla_kv")
    cache, layer = _latent(machine, at, args, "append_mla_kv")
    data = _checked(machine, at, cache, args[2], (cache.forward.count, cache.layout.key_size))
    cache.store(layer, data[:, None, :], data[:, None, :0])
    return cache


def self_attention(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Causal attention of new tokens to each other: cache, layer, scale, queries, keys, values, result, log2 of sums."""
    need(machine, at, args, 8, "self_attention")
    cache, _ = _latent(machine, at, args, "self_attention")
    scale, total = number(machine, at, args[2], "the scale"), cache.forward.count
    queries, keys, values = (tensor(machine, at, arg) for arg in args[3:6])
    if (
        not queries.ndim == keys.ndim == values.ndim == 3
        or not keys.shape[1]
        or queries.shape[1] % keys.shape[1]
    ):
        raise wrong(machine, at, "queries, keys and values need three lengths: tokens, heads, size")
    heads, size = queries.shape[1:]
    _checked(machine, at, cache, queries, (total, heads, size))
    _checked(machine, at, cache, keys, (total, keys.shape[1], size))
    _checked(machine, at, cache, values, (total, keys.shape[1], values.shape[2]))
    out = _checked(machine, at, cache, args[6], (total, heads, values.shape[2]))
    logs = _logs(machine, at, args[7], (total, heads))
    for part in cache.forward.parts:
        own = slice(part.first, part.last)
        seen = np.tri(part.last - part.first, dtype=bool)
        out[own], logs[own] = attention(queries[own], keys[own], values[own], seen, scale)
    return ()


def cross_attention(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Attention of new tokens to the cache: cache, layer, scale, queries, result, log2 of sums.

    The cache holds the tokens of earlier passes, and in a pass with one token for each sequence the new ones, too.
    """
    need(machine, at, args, 6, "cross_attention")
    cache, layer = _latent(machine, at, args, "cross_attention")
    scale, layout, parts = number(machine, at, args[2], "the scale"), cache.layout, cache.forward.parts
    lengths = (cache.forward.count, layout.heads)
    queries = _checked(machine, at, cache, args[3], (*lengths, layout.key_size))
    out = _checked(machine, at, cache, args[4], (*lengths, layout.value_size))
    logs = _logs(machine, at, args[5], lengths)
    decodes = all(part.last - part.first == 1 for part in parts)
    if not decodes and not any(part.before for part in parts):
        raise Refused(
            "no sequence has tokens of an earlier pass, so cross_attention has nothing to attend to"
        )
    for part in parts:
        own, end = slice(part.first, part.last), part.before + decodes
        keys = cache.sequence(part.name).rows[layer][0].data[:end]
        if len(keys) < end:
            text = f"layer {args[1]} has {len(keys)} of the {end} tokens of sequence {part.name}"
            raise Refused(f"{text}; call attention_kv_cache_append_mla_kv first")
        if not end:
            out[own], logs[own] = 0, _UNSEEN
            continue
        seen = np.ones((part.last - part.first, end), bool)
        out[own], logs[own] = attention(queries[own], keys, keys[:, :, : layout.value_size], seen, scale)
    return ()


def merge(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Join two attentions: cache, result and log2 of sums of the first, then of the second. The first is overwritten."""
    need(machine, at, args, 5, "merge_attn_output_inplace")
    if not any(cache_of(machine, at, args[0]).layout.latent):
        raise wrong(machine, at, "merge_attn_output_inplace needs a cache with latent attention")
    one, one_logs, other, other_logs = (tensor(machine, at, arg) for arg in args[1:5])
    if one.ndim != 3 or one.shape != other.shape or not one_logs.shape == other_logs.shape == one.shape[:2]:
        given = ", ".join(describe(arg) for arg in args[1:5])
        raise wrong(machine, at, f"{given} are given, two results and their logarithms are needed")
    largest = np.maximum(one_logs, other_logs)
    weights = [np.exp2(logs - largest) for logs in (one_logs, other_logs)]
    total = weights[0] + weights[1]
    one[...] = one * (weights[0] / total)[:, :, None] + other * (weights[1] / total)[:, :, None]
    one_logs[...] = np.log2(total) + largest
    return one, one_logs


def debug_get(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Copy stored vectors: cache, sequence, first token, end, vectors of shape (layers, tokens, size)."""
    need(machine, at, args, 5, "attention_kv_cache_debug_get_kv_mla")
    cache = cache_of(machine, at, args[0])
    layout = cache.layout
    if not all(layout.latent):
        raise wrong(machine, at, "attention_kv_cache_debug_get_kv_mla needs latent attention in each layer")
    own = cache.sequence(sequence_name(machine, at, args[1]))
    start, end = (count(machine, at, arg, "the token") for arg in args[2:4])
    if not start <= end <= own.length:
        raise wrong(machine, at, f"the sequence has {own.length} tokens, {start} to {end} are asked for")
    target = _checked(machine, at, cache, args[4], (layout.layers, end - start, layout.key_size))
    target[...] = 0
    for layer, (vectors, _) in enumerate(own.rows):
        stored = vectors.data[start:end, 0]
        target[layer, : len(stored)] = stored
    return ()


def _latent(machine: Running, at: Instruction, args: list[Value], name: str) -> tuple[PagedCache, int]:
    """The cache and the layer, which must have latent attention."""
    cache, layer = cache_of(machine, at, args[0]), layer_of(machine, at, args)
    if not cache.layout.latent[layer]:
        text = f"layer {args[1]} has no latent attention"
        raise wrong(machine, at, f"{text}; {name} of other layers can't be run here")
    return cache, layer


def _checked(
    machine: Running, at: Instruction, cache: PagedCache, value: Value, lengths: tuple[int, ...]
) -> Array:
    """A tensor of the dtype of the cache, and of these lengths."""
    given: Array = tensor(machine, at, value)
    if given.shape != lengths or given.dtype != cache.layout.dtype:
        needed = f"{lengths} of {cache.layout.dtype.name}"
        raise wrong(machine, at, f"{describe(given)} is given, {needed} is needed")
    return given


def _logs(machine: Running, at: Instruction, value: Value, lengths: tuple[int, ...]) -> Array:
    """A tensor of float32 for logarithms."""
    given: Array = tensor(machine, at, value)
    if given.shape != lengths or given.dtype != np.float32:
        raise wrong(machine, at, f"{describe(given)} is given, {lengths} of float32 is needed")
    return given


_CACHE = "vm.builtin.attention_kv_cache_"
TABLE: dict[str, VmBuiltin] = {
    _CACHE + "append_mla_kv": explained(append),
    _CACHE + "self_attention": explained(self_attention),
    _CACHE + "cross_attention": explained(cross_attention),
    _CACHE + "merge_attn_output_inplace": explained(merge),
    _CACHE + "debug_get_kv_mla": explained(debug_get),
}
