"""The simple caches of keys or values that language models build: `vm.builtin.attention_kv_cache_create`, `append`, `view`, …

A cache is a table of rows, one for each token. `view` shows the rows of its time: later calls don't change a view. (In TVM a view
shares the memory of the cache, so rows that are popped and appended again change in it.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relax_explorer.core.exec.faults import builtin, count, shape, tensor, wrong
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value, describe

# -- tables of rows --------------------------------------------------------------------------------------------------
# Tables that grow by rows. A table never changes; adding rows makes another one, which shares the memory of the
# first.


Array = np.ndarray[Any, Any]


class _Memory:
    """Memory for rows. The first `used` ones belong to tables, and are not written again."""

    __slots__ = ("data", "used")

    def __init__(self, data: Array, used: int) -> None:
        self.data, self.used = data, used


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The first `count` rows of a memory."""

    memory: _Memory
    count: int

    @property
    def data(self) -> Array:
        """The rows, as a view."""
        return self.memory.data[: self.count]

    @property
    def capacity(self) -> int:
        """The number of rows that fit without another allocation."""
        return len(self.memory.data)

    def added(self, values: Array) -> Rows:
        """These rows, and then `values`."""
        memory, end = self.memory, self.count + len(values)
        if memory.used != self.count or end > len(
            memory.data
        ):  # another table owns these places, or it is full
            memory = _Memory(_copied(self.data, max(end, self._grown(end))), self.count)
        memory.data[self.count : end] = values
        memory.used = end
        return Rows(memory, end)

    def _grown(self, end: int) -> int:
        size = max(self.capacity, 1)
        while size < end:
            size *= 2
        return size

    def first(self, count: int) -> Rows:
        """The first `count` rows, at most as many as fit."""
        return Rows(self.memory, count)

    def changed(self, count: int, places: Array, values: Array) -> Rows:
        """A copy of `count` rows, with `values` at `places`, in this order."""
        data = _copied(self.memory.data[:count], max(count, self.capacity))
        data[places] = values
        return Rows(_Memory(data, count), count)


def _copied(data: Array, capacity: int) -> Array:
    """A copy with memory for `capacity` rows. What was not filled is 0."""
    fresh = np.zeros((capacity, *data.shape[1:]), data.dtype)
    fresh[: len(data)] = data
    return fresh


def empty_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Rows:
    """A table without rows; `shape` tells how many fit, and the shape of a row."""
    return Rows(_Memory(np.zeros(shape, dtype), 0), 0)


# -- simple caches ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Filled:
    """The rows of a cache, and the next row that a window overwrites."""

    rows: Rows
    window: int = 0


class KvCache(Stateful):
    """A cache of one tensor, with a row for each token."""

    __slots__ = ()
    state: _Filled

    def parts(self) -> tuple[tuple[str, Array], ...]:
        """Its rows."""
        return (("", self.state.rows.data),)

    def seen(self) -> Value:
        """Its rows."""
        return self.state.rows.data

    def __repr__(self) -> str:
        rows = self.state.rows
        element = "×".join(map(str, rows.data.shape[1:])) or "1"
        return f"<kv cache of {rows.count} rows, {element} {rows.data.dtype.name} each>"


@builtin("vm.builtin.attention_kv_cache_create", 3)
def create(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A cache: first rows, reserved shape, number of rows in use (-1: all of the first ones)."""
    first, reserved = tensor(machine, at, args[0]), shape(machine, at, args[1], "the reserved shape")
    used = count(machine, at, args[2], "init_fill_count", -1)
    if not reserved:
        raise wrong(machine, at, "the reserved shape has no lengths, the first one counts rows")
    size = first.dtype.itemsize
    for length in reserved:
        size *= length
    if size > MEMORY_LIMIT:
        raise wrong(machine, at, f"a cache of {describe(reserved)} is over {MEMORY_LIMIT >> 30} GiB")
    cache = KvCache(_Filled(empty_rows(tuple(reserved), first.dtype)))
    _check_rows(machine, at, cache, first)
    rows = cache.state.rows.added(first)
    if used > rows.capacity:
        raise wrong(machine, at, f"init_fill_count is {used}, the cache has room for {rows.capacity} rows")
    cache.state = _Filled(rows) if used < 0 else _Filled(rows.first(used), used)
    return cache


@builtin("vm.builtin.attention_kv_cache_append", 2)
def append(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add rows: cache, rows. Returns the cache."""
    cache, values = _cache(machine, at, args[0]), tensor(machine, at, args[1])
    _check_rows(machine, at, cache, values)
    cache.state = replace(cache.state, rows=cache.state.rows.added(values))
    return cache


@builtin("vm.builtin.attention_kv_cache_update", 2)
def update(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Replace all rows: cache, as many rows. Returns the cache."""
    cache, values = _cache(machine, at, args[0]), tensor(machine, at, args[1])
    _check_rows(machine, at, cache, values)
    filled = cache.state.rows.count
    if len(values) != filled:
        raise wrong(machine, at, f"{len(values)} rows replace {filled}; update needs as many")
    cache.state = replace(cache.state, rows=cache.state.rows.changed(filled, np.arange(filled), values))
    return cache


@builtin("vm.builtin.attention_kv_cache_view", 1)
def view(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The rows as a tensor: cache, and its expected shape if it is known."""
    data = _cache(machine, at, args[0]).state.rows.data
    if len(args) > 1 and tuple(shape(machine, at, args[1], "the shape of the view")) != data.shape:
        raise wrong(machine, at, f"the cache holds {describe(data)}, {describe(args[1])} is asked for")
    return data


@builtin("vm.builtin.attention_kv_cache_array_popn", 2)
def pop_rows(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Drop the last rows of caches: caches, number of rows."""
    caches, dropped = _caches(machine, at, args[0]), count(machine, at, args[1], "the number of rows")
    for cache in caches:
        if dropped > cache.state.rows.count:
            raise wrong(machine, at, f"{dropped} rows can't be dropped: {cache!r}")
    for cache in caches:
        rows = cache.state.rows
        cache.state = replace(cache.state, rows=rows.first(max(rows.count - dropped, 0)))
    return ()


@builtin("vm.builtin.attention_kv_cache_array_clear", 1)
def clear(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Drop all rows of caches."""
    for cache in _caches(machine, at, args[0]):
        cache.state = replace(cache.state, rows=cache.state.rows.first(0))
    return ()


@builtin("vm.builtin.attention_kv_cache_window_override", 3)
@builtin("vm.builtin.attention_kv_cache_window_override_with_sinks", 3)
def window_override(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add rows to a cache of limited size, whose oldest ones are overwritten: cache, rows, size, first rows to keep."""
    cache, values = _cache(machine, at, args[0]), tensor(machine, at, args[1])
    most = count(machine, at, args[2], "max_cache_size")
    sinks = count(machine, at, args[3], "num_attention_sinks") if len(args) > 3 else 0
    _check_rows(machine, at, cache, values)
    if len(values) > most - sinks:
        raise wrong(machine, at, f"{len(values)} rows don't fit into a window of {most - sinks}")
    start, rows = cache.state.window, cache.state.rows
    before_end = min(len(values), max(most - start, 0))
    rest = len(values) - before_end
    places = np.concatenate([np.arange(start, start + before_end), np.arange(sinks, sinks + rest)])
    filled = min(rows.count + len(values), most)
    window = sinks + rest if rest else start + before_end
    if places.size and places.max() >= max(filled, rows.capacity):
        raise wrong(machine, at, f"the window is at row {start}, behind the {rows.count} rows of the cache")
    cache.state = _Filled(rows.changed(filled, places, values), window)
    return cache


def _cache(machine: Running, at: Instruction, value: Value) -> KvCache:
    if not isinstance(value, KvCache):
        text = f"{describe(value)} is not a cache made by attention_kv_cache_create"
        raise wrong(machine, at, text)
    return value


def _caches(machine: Running, at: Instruction, value: Value) -> list[KvCache]:
    """The caches in a tuple, each once for each time that it occurs."""
    return [_cache(machine, at, item) for item in (value if type(value) is tuple else (value,))]


def _check_rows(machine: Running, at: Instruction, cache: KvCache, values: Value) -> None:
    """Refuse rows that are not like those of a cache."""
    own = cache.state.rows.data
    if values.ndim == 0 or values.shape[1:] != own.shape[1:] or values.dtype != own.dtype:
        row = f"({', '.join(map(str, own.shape[1:]))}) of {own.dtype.name}"
        raise wrong(machine, at, f"{describe(values)} has no rows of shape {row}, which the cache holds")


# -- attention -------------------------------------------------------------------------------------------------------
# Attention of new tokens to the keys and values of a cache.


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
