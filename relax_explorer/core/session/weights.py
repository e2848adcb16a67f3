"""Opens files of named arrays: .npz, .npy, .safetensors, and folders of MLC weights."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

import ml_dtypes
import numpy as np

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir.dtype import dtype as dtype_called
from relax_explorer.core.session.arrays import (
    MOST_ENTRIES,
    MOST_HEADER,
    Entry,
    Weights,
    bytes_at,
    check_places,
    damaged,
    json_object,
    lengths_in,
    numpy_file,
    opened,
    reading,
    whole_number,
)
from relax_explorer.core.session.call_inputs import index_in

# -- safetensors -----------------------------------------------------------------------------------------------------
# Reads .safetensors: eight bytes for the length of the header, the header as JSON, and the data.


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


# -- mlc weights -----------------------------------------------------------------------------------------------------
# Reads a folder of weights as TVM and MLC write them: an index in JSON, and shards of raw bytes that it names.


_NARROWED = "f32-to-bf16"  # stored as the upper halves of float32
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True, slots=True)
class _Record:
    """An entry, the shard that holds it, and its place there."""

    entry: Entry
    shard: str
    start: int
    nbytes: int
    is_narrowed: bool


class MlcFolder(Weights):
    """A folder of weights. The order of the names in its index is the order in which a model takes them."""

    is_ordered = True

    def __init__(self, index: str) -> None:
        super().__init__(index)
        self._folder = os.path.dirname(index) or "."
        with reading(index), opened(index) as file:
            data = file.read(MOST_HEADER + 1)
        if len(data) > MOST_HEADER:
            raise damaged(f"{index} is larger than the {MOST_HEADER:,} bytes that are read")
        self._records: dict[str, _Record] = {}
        with reading(index):
            for shard in _list(json_object(data, index).get("records"), f"{index}: the list of shards"):
                self._add(shard)
        self.names = tuple(self._records)

    def entry(self, name: str) -> Entry:
        """What the index tells of an entry."""
        return self._records[name].entry

    def read(self, name: str) -> Value:
        """The array of an entry."""
        record = self._records[name]
        with reading(record.shard), opened(record.shard) as file:
            data = bytes_at(file, record.start, record.nbytes, f"{name} in {record.shard}")
        array = data.view(_BFLOAT16 if record.is_narrowed else record.entry.dtype)
        return array.reshape(record.entry.shape).astype(record.entry.dtype, copy=False)

    def close(self) -> None:
        """Nothing is open between two reads."""

    def _add(self, shard: object) -> None:
        """The records of one shard."""
        if not isinstance(shard, dict):
            raise damaged(f"{self.path}: a shard is no JSON object")
        place = self._shard(shard.get("dataPath"))
        size = os.stat(place).st_size
        found = _list(shard.get("records"), f"{self.path}: the records of {os.path.basename(place)}")
        if len(self._records) + len(found) > MOST_ENTRIES:
            raise damaged(f"{self.path} has more than {MOST_ENTRIES:,} entries")
        places = []
        for item in found:
            record = _record(item, place, self.path)
            name = record.entry.name
            if name in self._records:
                raise damaged(f"{self.path} names {name[:80]!r} twice")
            if record.start + record.nbytes > size:
                raise damaged(
                    f"{name[:80]} in {self.path} ends at {record.start + record.nbytes}, but {place} has {size} bytes"
                )
            self._records[name] = record
            places.append((record.start, record.start + record.nbytes, name[:80]))
        check_places(places, place)

    def _shard(self, name: object) -> str:
        """The path of a shard, which is a file in the folder of the index."""
        if not isinstance(name, str) or not name or "\0" in name:
            raise damaged(f"{self.path}: a shard has no dataPath")
        parts = PurePosixPath(name).parts
        if PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor or ".." in parts or "\\" in name:
            raise damaged(f"{self.path} names {name[:80]!r}, which is no file of its folder")
        place = Path(self._folder, name)
        if not os.path.lexists(place):
            raise damaged(f"{self.path} names the shard {name[:80]!r}, which is absent")
        if not place.resolve().is_relative_to(Path(self._folder).resolve()):
            raise damaged(f"{self.path} names {name[:80]!r}, a link that leads out of its folder")
        if not place.is_file():
            raise damaged(f"{place} is not a regular file")
        return str(place)


def _record(item: object, shard: str, index: str) -> _Record:
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(name, str):
        raise damaged(f"{index}: a record has no name")
    what = f"{name[:80]} in {index}"
    shape = lengths_in(item.get("shape"), what)
    start, nbytes = [whole_number(item.get(key), f"{key} of {what}") for key in ("byteOffset", "nbytes")]
    word, form = str(item.get("dtype"))[:40], str(item.get("format", "raw"))[:40]
    is_narrowed = form == _NARROWED and word == "float32"
    dtype = _numpy_dtype(word)
    if dtype is None:
        return _Record(
            Entry(name, shape, refusal=f"its dtype {word} can't be decoded"), shard, start, nbytes, False
        )
    if form not in ("raw", "raw-shard", _NARROWED):
        return _Record(
            Entry(name, shape, refusal=f"its format {form} can't be decoded"), shard, start, nbytes, False
        )
    needed = math.prod(shape) * (2 if is_narrowed else dtype.itemsize)
    if needed != nbytes:
        raise damaged(f"{what}: {shape} of {word} takes {needed} bytes, it has {nbytes}")
    return _Record(Entry(name, shape, dtype), shard, start, nbytes, is_narrowed)


def _numpy_dtype(word: str) -> Value:
    """The dtype of numpy for one of TVM; None if elements of it share bytes, or nobody knows it."""
    try:
        found = dtype_called(word)
        return found.to_numpy() if found.bits % 8 == 0 or word == "bool" else None
    except (TypeError, ValueError):
        return None


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise damaged(f"{what} is missing")
    return value


# -- weights ---------------------------------------------------------------------------------------------------------


def open_weights(path: str) -> Weights:
    """The file of arrays at a path. Raises Failure if it can't be read."""
    index = index_in(path)
    if index:
        return MlcFolder(index)
    return SafetensorsFile(path) if path.endswith(".safetensors") else numpy_file(path)
