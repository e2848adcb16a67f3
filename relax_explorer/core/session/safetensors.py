"""Reads .safetensors: eight bytes for the length of the header, the header as JSON, and the data."""

from __future__ import annotations

import math
import os
from typing import IO, Any

import ml_dtypes
import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.weight_entries import (
    MOST_ENTRIES,
    MOST_HEADER,
    Entry,
    Weights,
    bytes_at,
    check_places,
    damaged,
    json_object,
    lengths_in,
    opened,
    reading,
    whole_number,
)

_DTYPES: dict[str, Any] = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind}{8 * size}": np.dtype(f"<{kind.lower()}{size}") for kind in "IU" for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (2, 4, 8)},
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}


class SafetensorsFile(Weights):
    """A .safetensors file. All of its header is checked when it is opened, as the format asks for."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with reading(path):
            self._file = opened(path)
        try:
            with reading(path):
                self._entries, self._starts = _header(self._file, path)
        except BaseException:
            self._file.close()
            raise
        self.names = tuple(self._entries)

    def entry(self, name: str) -> Entry:
        """What the header tells of an entry."""
        return self._entries[name]

    def read(self, name: str) -> Value:
        """The array of an entry."""
        entry = self._entries[name]
        with reading(self.path):
            data = bytes_at(self._file, self._starts[name], entry.nbytes, f"{name} in {self.path}")
        return data.view(entry.dtype).reshape(entry.shape)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _header(file: IO[bytes], path: str) -> tuple[dict[str, Entry], dict[str, int]]:
    """The entries of a file, and where their data starts. Raises Failure."""
    size = os.fstat(file.fileno()).st_size
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length > size - 8:
        raise damaged(f"{path} is cut off, or no .safetensors file: it has no whole header")
    if length > MOST_HEADER:
        raise damaged(f"{path} has a header of {length:,} bytes; at most {MOST_HEADER:,} are read")
    described = json_object(file.read(length), f"the header of {path}")
    described.pop("__metadata__", None)
    if len(described) > MOST_ENTRIES:
        raise damaged(f"{path} has {len(described):,} entries; at most {MOST_ENTRIES:,} are read")
    entries: dict[str, Entry] = {}
    places: list[tuple[int, int, str]] = []
    for name, item in described.items():
        what = f"{name[:80]} in {path}"
        entries[name], start, end = _entry(name, item, what, size - 8 - length)
        places.append((start, end, name[:80]))
    check_places(places, path, gapless=True)
    if max([end for _, end, _ in places], default=0) < size - 8 - length:
        raise damaged(f"{path} has more bytes than its header describes")
    return entries, {name: 8 + length + place[0] for name, place in zip(entries, places, strict=True)}


def _entry(name: str, item: object, what: str, size: int) -> tuple[Entry, int, int]:
    """An entry with the start and the end of its data."""
    offsets = item.get("data_offsets") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(offsets, list) or len(offsets) != 2:
        raise damaged(f"{what} has no dtype, shape and data_offsets")
    start, end = [whole_number(offset, f"an offset of {what}") for offset in offsets]
    if not start <= end <= size:
        raise damaged(f"{what} lies at {start}–{end}, but the file has {size} bytes of data")
    shape, word = lengths_in(item.get("shape"), what), str(item.get("dtype"))[:20]
    dtype = _DTYPES.get(word)
    if dtype is None:
        return Entry(name, shape, refusal=f"its dtype {word} can't be decoded"), start, end
    if math.prod(shape) * dtype.itemsize != end - start:
        text = (
            f"{what}: {shape} of {word} takes {math.prod(shape) * dtype.itemsize} bytes, it has {end - start}"
        )
        raise damaged(text)
    return Entry(name, shape, dtype), start, end
