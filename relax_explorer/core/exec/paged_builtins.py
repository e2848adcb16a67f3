"""The builtins of paged caches: `vm.builtin.paged_attention_kv_cache_create`, and attention with such a cache.

They check their arguments. The kernels given to the creation are not run, except the one that rotates queries and keys.
"""

from __future__ import annotations

import numpy as np

from relax_explorer.core.exec.faults import (
    Refused,
    builtin,
    count,
    guarded,
    number,
    shape,
    tensor,
    wrong,
)
from relax_explorer.core.exec.kv_cache import Array, attention
from relax_explorer.core.exec.paged_cache import INLINE_ROPE, NO_ROPE, ROPE, Layout, PagedCache
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.sequence_builtins import cache_of, layer_of, numbers, sequence_name
from relax_explorer.core.exec.values import Value, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc

_CACHE = "vm.builtin.attention_kv_cache_"

_KERNELS = 13
"""The number of arguments of the creation before its kernels."""
_ROTATE = -4
"""The place of the kernel that rotates, among all arguments."""
_MULTI_HEAD, _LATENT, _SLIDING = 0, 1, 3
_USUAL_WINDOW = 1024
"""The window of sliding layers, if the sizes of the cache don't tell it."""


@builtin("vm.builtin.paged_attention_kv_cache_create", _KERNELS + 4)
def create(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A cache: sizes, layers, heads, heads of keys, sizes of heads, kinds of attention, rotation, dtype, kernels."""
    sizes = shape(machine, at, args[0], "the sizes of the cache")
    if len(sizes) not in (5, 6) or min(sizes[:4]) < 1:
        text = "5 or 6 sizes are needed: batch, tokens, chunk, page (each above 0), window"
        raise wrong(machine, at, f"{describe(sizes)} is given, {text}")
    first, kinds = _layers(machine, at, args)
    window = sizes[5] if len(sizes) == 6 else _USUAL_WINDOW
    if window < 1:
        raise wrong(machine, at, f"the window of sliding layers must be above 0, it is {window}")
    windows = tuple(window if kind == _SLIDING else None for kind in kinds)
    names = ("the heads", "the heads of keys", "the size of keys", "the size of values")
    heads, kv_heads, key_size, value_size = [
        count(machine, at, value, name, 1) for value, name in zip(args[2:6], names, strict=True)
    ]
    if heads % kv_heads:
        raise wrong(machine, at, f"{heads} heads can't share {kv_heads} heads of keys")
    rope = _rope(machine, at, args, bool(sizes[4]), _SLIDING in kinds)
    rotate = _rotate(machine, at, args[_ROTATE]) if rope != NO_ROPE else None
    element = tensor(machine, at, args[12]).dtype
    pages = -(-sizes[1] // sizes[3]) + 1 + (2 * sizes[0] if sizes[4] else 0)
    slides = bool(sizes[4]) and _SLIDING not in kinds
    if slides and _LATENT in kinds:
        raise wrong(machine, at, "a cache with latent attention takes no sliding windows")
    return PagedCache(
        Layout(
            sizes[0], sizes[2], pages, sizes[3], first, len(kinds), heads, kv_heads, key_size, value_size, rope, element, rotate,
            slides, windows, tuple(kind == _LATENT for kind in kinds)
        )
    )  # fmt: skip


def _layers(machine: Running, at: Instruction, args: list[Value]) -> tuple[int, tuple[int, ...]]:
    """The first layer, and the kinds of attention."""
    partition, kinds = (
        shape(machine, at, args[place], what)
        for place, what in ((1, "the partition"), (6, "the kinds of attention"))
    )
    if len(partition) < 2 or partition[-1] - partition[0] != len(kinds) or not kinds:
        raise wrong(machine, at, f"{describe(partition)} is not a partition of {len(kinds)} layers")
    if not set(kinds) <= {_MULTI_HEAD, _LATENT, _SLIDING}:
        text = "multi-head, latent and sliding attention (kinds 0, 1 and 3) can be run here, not linear attention"
        raise wrong(machine, at, text)
    return partition[0], tuple(kinds)


def _rope(
    machine: Running, at: Instruction, args: list[Value], slides: bool, has_sliding_layers: bool
) -> int:
    """The mode of rotation. A cache with windows rotates in its attention, because positions change."""
    rope = count(machine, at, args[8], "rope_mode")
    if rope not in (NO_ROPE, ROPE, INLINE_ROPE):
        raise wrong(machine, at, f"rope_mode must be 0, 1 or 2, this is {rope}")
    if isinstance(args[11], np.ndarray):
        raise wrong(machine, at, "rotation with extension factors (longrope) can't be run here")
    if slides and rope == ROPE:
        rope = INLINE_ROPE
    base = [number(machine, at, arg, "the scale or base of the rotation") for arg in args[9:11]]
    if rope == INLINE_ROPE and has_sliding_layers and base != [1, 10000]:
        text = (
            "sliding layers that rotate in their attention (rope_mode 2) need the scale 1 and the base 10000"
        )
        raise wrong(machine, at, f"{text}, which TVM uses there")
    return rope


def _rotate(machine: Running, at: Instruction, value: Value) -> PrimFunc:
    """The kernel that splits and rotates."""
    fn = machine.module.functions.get(value.name) if isinstance(value, e.GlobalVar) else None
    if type(fn) is not PrimFunc or len(fn.params) != 6:
        raise wrong(
            machine,
            at,
            f"{describe(value)} is not the PrimFunc of 6 parameters that rotates queries and keys",
        )
    return fn


# -- attention --------------------------------------------------------------------------------------------------------


@builtin(_CACHE + "attention_with_fused_qkv", 5)
def attend(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Attention of new tokens to their sequences: cache, layer, scale, queries and keys and values in one, result."""
    cache, layer = cache_of(machine, at, args[0]), layer_of(machine, at, args)
    scale = number(machine, at, args[2], "the scale")
    fused, out = tensor(machine, at, args[3]), tensor(machine, at, args[4])
    layout, total = cache.layout, cache.forward.count
    if layout.latent[layer]:
        raise wrong(machine, at, f"layer {args[1]} has latent attention, which takes append_mla_kv")
    _check_fused(machine, at, layout, fused, out, total)
    plain = fused[:total]
    turned = _turned(machine, at, layout, plain, cache.forward.positions) if layout.rope != NO_ROPE else plain
    keys = turned if layout.rope == ROPE else plain
    first, last = layout.heads, layout.heads + layout.kv_heads
    cache.store(layer, keys[:, first:last, : layout.key_size], plain[:, last:, : layout.value_size])
    for part in cache.forward.parts:
        rows = cache.sequence(part.name).rows[layer]
        own, values = rows[0].data, rows[1].data
        if layout.rope == INLINE_ROPE:
            own = _turned_keys(machine, at, layout, own)
        queries = turned[part.first : part.last, :first, : layout.key_size]
        seen = part.seen(layout.windows[layer])
        out[part.first : part.last], _ = attention(queries, own, values, seen, scale)
    return ()


@builtin(_CACHE + "attention_with_shared_kv", 7)
def attend_shared(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Attention to the keys of another layer, which ran before: cache, layer, scale, queries, new keys, new values, result.

    Passes of one token for each sequence read the new keys and values from the layer, as TVM does.
    """
    cache, layer = cache_of(machine, at, args[0]), layer_of(machine, at, args)
    scale, layout, parts = number(machine, at, args[2], "the scale"), cache.layout, cache.forward.parts
    if layout.latent[layer] or layout.rope == INLINE_ROPE:
        kind = (
            "a layer of latent attention" if layout.latent[layer] else "a cache that rotates in its attention"
        )
        raise wrong(machine, at, f"attention_with_shared_kv can't be run here in {kind}")
    shapes = (
        (layout.heads, layout.key_size),
        (layout.kv_heads, layout.key_size),
        (layout.kv_heads, layout.value_size),
    )
    for value, lengths in zip(args[3:7], (*shapes, (layout.heads, layout.value_size)), strict=True):
        if tensor(machine, at, value).shape != (cache.forward.count, *lengths) or value.dtype != layout.dtype:
            needed = f"{(cache.forward.count, *lengths)} of {layout.dtype.name}"
            raise wrong(machine, at, f"{describe(value)} is given, {needed} is needed")
    queries, keys, values, out = args[3:7]
    stored = cache.forward.stores_first and not layout.slides
    for part in parts:
        own, rows = slice(part.first, part.last), cache.sequence(part.name).rows[layer]
        if rows[0].count < part.before + part.last - part.first:
            raise wrong(machine, at, f"layer {args[1]} must attend first in this forward pass")
        seen, used = part.seen(layout.windows[layer]), [row.data for row in rows]
        if not stored:
            used = [
                np.concatenate([row[: part.before], new[own]])
                for row, new in zip(used, (keys, values), strict=True)
            ]
        out[own], _ = attention(queries[own], used[0], used[1], seen, scale)
    return ()


def _check_fused(
    machine: Running, at: Instruction, layout: Layout, fused: Array, out: Array, total: int
) -> None:
    """Refuse operands of attention that don't fit the cache. There may be more rows than tokens."""
    size = max(layout.key_size, layout.value_size)
    heads = layout.heads + 2 * layout.kv_heads
    if (
        fused.ndim != 3
        or len(fused) < total
        or fused.shape[1:] != (heads, size)
        or fused.dtype != layout.dtype
    ):
        text = f"needed is a tensor ({total}, {heads}, {size}) of {layout.dtype.name} for the {total} tokens"
        raise wrong(machine, at, f"{describe(fused)} is given for queries, keys and values; {text}")
    if out.ndim != 3 or len(out) < total or out.shape[1:] != (layout.heads, layout.value_size):
        raise wrong(
            machine,
            at,
            f"the result is {describe(out)}, needed is ({total}, {layout.heads}, {layout.value_size})",
        )


def _turned(machine: Running, at: Instruction, layout: Layout, fused: Array, positions: Array) -> Array:
    """Queries and keys rotated by their positions, by the kernel of the model, which knows how it scales."""
    rotate, count = layout.rotate, len(fused)
    assert rotate is not None
    q, k, v = (
        np.zeros((count, heads, fused.shape[2]), fused.dtype)
        for heads in (layout.heads, layout.kv_heads, layout.kv_heads)
    )
    source = np.ascontiguousarray(fused)
    guarded(machine, at, lambda: machine.kernels.call(rotate, [source, positions, q, k, v, 1]))
    return np.concatenate([q, k, v], axis=1)


def _turned_keys(machine: Running, at: Instruction, layout: Layout, keys: Array) -> Array:
    """All keys of a sequence, rotated."""
    first, last = layout.heads, layout.heads + layout.kv_heads
    fused = np.zeros((len(keys), last + layout.kv_heads, keys.shape[2]), keys.dtype)
    fused[:, first:last] = keys
    return _turned(machine, at, layout, fused, np.arange(len(keys), dtype=np.int32))[:, first:last]


# -- windows and trees -------------------------------------------------------------------------------------------------


@builtin(_CACHE + "enable_sliding_window_for_seq", 4)
def enable_window(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Let a sequence keep its last tokens only: cache, number, how many tokens, how many of them are its first ones."""
    cache, name = cache_of(machine, at, args[0]), sequence_name(machine, at, args[1])
    size = count(machine, at, args[2], "the size of the window", 1)
    sinks = count(machine, at, args[3], "the number of first tokens (sinks)")
    if sinks >= size:
        raise wrong(machine, at, f"a window of {size} tokens can't keep {sinks} first ones")
    cache.limit(name, size, sinks)
    return ()


@builtin(_CACHE + "commit_accepted_token_tree_nodes", 3)
def commit_trees(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """End trees of tokens: cache, sequences, for each one the last accepted token of its tree (-1: none)."""
    names = numbers(machine, at, args[1], "the sequences")
    leaves = numbers(machine, at, args[2], "the accepted tokens")
    cache_of(machine, at, args[0]).commit(names, leaves)
    return ()


# -- questions --------------------------------------------------------------------------------------------------------


@builtin(_CACHE + "get_query_positions", 1)
def query_positions(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The position of each new token in its sequence."""
    return cache_of(machine, at, args[0]).forward.positions


@builtin(_CACHE + "get_total_sequence_length", 1)
def total_length(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The number of tokens of all sequences."""
    return cache_of(machine, at, args[0]).total


@builtin(_CACHE + "get_sequence_length", 2)
def sequence_length(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The number of tokens of a sequence: cache, number."""
    return cache_of(machine, at, args[0]).sequence(sequence_name(machine, at, args[1])).length


@builtin(_CACHE + "get_num_available_pages", 1)
def free_pages(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The number of free pages."""
    return cache_of(machine, at, args[0]).free


@builtin(_CACHE + "empty", 1)
def is_empty(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """True if there are no sequences."""
    return not cache_of(machine, at, args[0]).state.sequences


@builtin(_CACHE + "debug_get_kv", 6)
def debug_get_kv(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Copy stored keys and values: cache, sequence, first token, end, keys and values of shape (layers, tokens, heads, size)."""
    cache = cache_of(machine, at, args[0])
    if any(cache.layout.latent):
        raise wrong(machine, at, "a layer of the cache has latent attention; use debug_get_kv_mla")
    own = cache.sequence(sequence_name(machine, at, args[1])).settled()
    start, end = (count(machine, at, arg, "the token") for arg in args[2:4])
    if not start <= end <= own.length:
        raise wrong(machine, at, f"the sequence has {own.length} tokens, {start} to {end} are asked for")
    for place, target in enumerate(args[4:6]):
        stored = np.zeros(
            (cache.layout.layers, end - start, *own.rows[0][place].data.shape[1:]), cache.layout.dtype
        )
        if tensor(machine, at, target).shape != stored.shape:
            raise wrong(machine, at, f"{describe(target)} is given, {describe(stored)} is needed")
        for layer, rows in enumerate(own.rows):
            filled = rows[place].data[start:end]
            stored[layer, : len(filled)] = filled
        target[...] = stored
    return ()


# -- latent builtins -------------------------------------------------------------------------------------------------
# The builtins of latent attention (MLA): a cache keeps one compressed vector for each token, which holds keys and
# values.
#
# New tokens attend to each other with `self_attention`, to earlier ones with `cross_attention`, and
# `merge_attn_output_inplace` joins both.


_UNSEEN = -5e4
"""The logarithm of the sum of weights of a token that sees nothing, in TVM."""


@builtin(_CACHE + "append_mla_kv", 3)
def append(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Store the vectors of new tokens: cache, layer, vectors. Returns the cache."""
    cache, layer = _latent(machine, at, args, "append_mla_kv")
    data = _checked(machine, at, cache, args[2], (cache.forward.count, cache.layout.key_size))
    cache.store(layer, data[:, None, :], data[:, None, :0])
    return cache


@builtin(_CACHE + "self_attention", 8)
def self_attention(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Causal attention of new tokens to each other: cache, layer, scale, queries, keys, values, result, log2 of sums."""
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


@builtin(_CACHE + "cross_attention", 6)
def cross_attention(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Attention of new tokens to the cache: cache, layer, scale, queries, result, log2 of sums.

    The cache holds the tokens of earlier passes, and in a pass with one token for each sequence the new ones, too.
    """
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


@builtin(_CACHE + "merge_attn_output_inplace", 5)
def merge(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Join two attentions: cache, result and log2 of sums of the first, then of the second. The first is overwritten."""
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


@builtin(_CACHE + "debug_get_kv_mla", 5)
def debug_get(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Copy stored vectors: cache, sequence, first token, end, vectors of shape (layers, tokens, size)."""
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
