"""Arrays from files: .npy, .npz, .safetensors, and folders of MLC weights."""

from __future__ import annotations

import io
import json
import math
import os
import stat
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import TracebackType
from typing import IO, Any

import ml_dtypes
import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.values import MOST_AXES, Value
from relax_explorer.core.ir.dtype import dtype as dtype_called
from relax_explorer.core.ops.kit.ndarrays import Array

# -- weight entries --------------------------------------------------------------------------------------------------
# Files of named arrays: the entries that a file tells of, each read when it is needed.
# A reader knows names, shapes and dtypes from headers alone, and checks what they declare against the size of the
# file, so that no size in a file makes it allocate anything.


INPUT_LIMIT = 4 << 30
"""Default limit for the total size of the inputs of a run, in bytes."""
MOST_ENTRIES = 1 << 18
"""No file of weights has more entries; a larger one is refused before they are looked at."""
MOST_HEADER = 24 << 20
"""The bytes of the largest header or index that is read."""
_MOST_BYTES = 1 << 62  # of one array, in any header


@dataclass(frozen=True, slots=True)
class Entry:
    """An array of a file, as the headers tell it. `refusal` says why it can't be read; then nothing else is known."""

    name: str
    shape: tuple[int, ...] = ()
    dtype: Any = None  # of numpy
    refusal: str = ""

    @property
    def nbytes(self) -> int:
        """The bytes of the array in memory."""
        return 0 if self.refusal else math.prod(self.shape) * int(self.dtype.itemsize)


class Weights(ABC):
    """An open file of named arrays. `names` stand in the order of the file; with `is_ordered`, this order tells which is which."""

    is_ordered = False

    def __init__(self, path: str) -> None:
        self.path = path
        self.names: tuple[str, ...] = ()

    @abstractmethod
    def entry(self, name: str) -> Entry:
        """What the headers tell of an entry. Raises Failure for a damaged header."""

    @abstractmethod
    def read(self, name: str) -> Value:
        """The array of an entry. Raises Failure."""

    @abstractmethod
    def close(self) -> None:
        """Close the file. Reading ends here."""

    def __enter__(self) -> Weights:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def damaged(text: str) -> Failure:
    """The Failure for a file that can't be read."""
    return Failure(Diagnostic(codes.BAD_INPUT_FILE, text, help=codes.BAD_INPUT_FILE.fix))


def too_much(name: str, needed: int, most: int) -> Failure:
    """The Failure for an input that needs more memory than is left."""
    text = f"{name} needs {_size(needed)}, but only {_size(max(most, 0))} are left for inputs"
    return Failure(Diagnostic(codes.TOO_LARGE, text, help="use smaller lengths, or raise --max-input"))


def _size(count: int) -> str:
    return f"{count / 2**30:,.2f} GiB" if count >= 1 << 27 else f"{count / 2**20:,.2f} MiB"


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what goes wrong with a file into a Failure."""
    try:
        yield
    except Failure:
        raise
    except (OSError, ValueError, EOFError, KeyError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error)[:120]
        raise damaged(f"{path}: {reason}") from None


def opened(path: str) -> IO[bytes]:
    """A regular file, open for reading. Raises Failure for anything else: a pipe would never end."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise damaged(f"{path} is not a regular file")
    return Path(path).open("rb")


def json_object(data: bytes, what: str) -> dict[str, Any]:
    """The JSON object in `data`, in which no key stands twice. Raises Failure."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for place, key in enumerate(keys) if key in keys[:place])
            raise damaged(f"{what} names {twice[:80]!r} twice")
        return found

    try:
        found = json.loads(data, object_pairs_hook=once)
    except (ValueError, RecursionError) as problem:
        raise damaged(f"{what} is no JSON: {str(problem)[:100]}") from None
    if not isinstance(found, dict):
        raise damaged(f"{what} is no JSON object")
    return found


def lengths_in(value: object, what: str) -> tuple[int, ...]:
    """The lengths of a shape in JSON. Raises Failure."""
    if not isinstance(value, list) or len(value) > MOST_AXES:
        raise damaged(f"{what} has no shape of at most {MOST_AXES} lengths")
    if not all(type(length) is int and 0 <= length < _MOST_BYTES for length in value):
        raise damaged(f"{what} has a shape that is no list of lengths")
    if math.prod([length or 1 for length in value]) >= _MOST_BYTES // 16:
        raise damaged(f"{what} has more elements than any memory holds")
    return tuple(value)


def whole_number(value: object, what: str) -> int:
    """A number from 0 on in JSON. Raises Failure."""
    if type(value) is not int or not 0 <= value < _MOST_BYTES:
        raise damaged(f"{what} is no number from 0 on")
    return value


def check_places(places: list[tuple[int, int, str]], what: str, gapless: bool = False) -> None:
    """Check that no two stretches (start, end, name) overlap, nor leave gaps if there may be none. Raises Failure."""
    end, before = 0, ""
    for start, stop, name in sorted(places):
        if start < end:
            raise damaged(f"{what}: {name} and {before} share bytes")
        if gapless and start > end:
            raise damaged(f"{what}: nothing describes the {start - end} bytes before {name}")
        end, before = max(end, stop), name


def bytes_at(file: IO[bytes], start: int, count: int, what: str) -> Value:
    """`count` bytes of a file as an array. Raises Failure if the file is shorter."""
    file.seek(start)
    data = np.fromfile(file, np.uint8, count)
    if data.size < count:
        raise damaged(f"{what} is cut off: {data.size} of {count} bytes are there")
    return data


def cut(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """Names for a sentence: the first ones, and how many there are besides."""
    shown = [name if len(name) <= 80 else f"{name[:77]}…" for name in names[:most]]
    return ", ".join([*shown, *([f"and {len(names) - most} more"] if len(names) > most else [])])


# -- arrays ----------------------------------------------------------------------------------------------------------


_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LARGE = 1 << 30
_MOST_GROWTH = 500  # of a large entry; deflate makes zeros a thousand times smaller
MAGIC = b"\x93NUMPY"


class ArrayFile(Weights):
    """A .npy file: one array, under the name ""."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with reading(path):
            self._file = opened(path)
        self.names = ("",)

    def entry(self, name: str) -> Entry:
        """What the header tells."""
        with _unpacking(self.path):
            self._file.seek(0)
            return _header(self._file, name, self.path, os.fstat(self._file.fileno()).st_size)

    def read(self, name: str) -> Value:
        """The array."""
        self.entry(name)
        with _unpacking(self.path):
            self._file.seek(0)
            return _array(self._file)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArchiveFile(Weights):
    """A .npz file. The headers of its entries are read one by one, when somebody asks for them."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with reading(path):
            self._file = opened(path)
        try:
            self._places = self._listed()
        except BaseException:
            self._file.close()
            raise
        self.names = tuple(self._places)
        self._known: dict[str, Entry] = {}

    def _listed(self) -> dict[str, zipfile.ZipInfo]:
        """The entries of the archive by name."""
        with _unpacking(self.path):
            self._archive = zipfile.ZipFile(self._file)
            found = self._archive.infolist()
        if len(found) > MOST_ENTRIES:
            raise damaged(f"{self.path} has {len(found):,} entries; at most {MOST_ENTRIES:,} are read")
        places = {item.filename.removesuffix(".npy"): item for item in found}
        if len(places) < len(found):
            raise damaged(f"{self.path} has several entries of one name")
        return places

    def entry(self, name: str) -> Entry:
        """What the header of an entry tells."""
        if name not in self._known:
            place = self._places[name]
            with _unpacking(self.path), self._archive.open(place) as file:
                self._known[name] = _header(file, name, f"{name} in {self.path}", place.file_size)
        return self._known[name]

    def read(self, name: str) -> Value:
        """The array of an entry."""
        place, entry = self._places[name], self.entry(name)
        if entry.nbytes > _LARGE and entry.nbytes > _MOST_GROWTH * place.compress_size:
            raise damaged(
                f"{name} in {self.path} would grow from {place.compress_size:,} to {entry.nbytes:,} bytes: "
                "save it without compression if this is meant"
            )
        with _unpacking(self.path), self._archive.open(place) as file:
            return _array(file)

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()
        self._file.close()


@contextmanager
def _unpacking(path: str) -> Iterator[None]:
    try:
        with reading(path):
            yield
    except Failure:
        raise
    except Exception as error:  # noqa: BLE001  # zipfile, zlib and numpy raise a dozen exception types for damage
        raise damaged(f"{path} is damaged, or no file of arrays: {type(error).__name__}") from None


def read_arrays(
    path: str, most: int = INPUT_LIMIT, wanted: Callable[[str], object] = lambda name: True
) -> dict[str, Any]:
    """The arrays of a .npz file by name, or the array of a .npy file under "". Raises Failure for an unreadable file.

    `most` limits their total size in bytes. Only entries with a `wanted` name are read.
    """
    with numpy_file(path) as file:
        arrays: dict[str, Any] = {}
        for name in filter(wanted, file.names):
            needed = file.entry(name).nbytes
            if needed > most:
                raise too_much(f"{name} in {path}" if name else path, needed, most)
            most -= needed
            arrays[name] = file.read(name)
        return arrays


def archive(values: Mapping[str, Value]) -> bytes:
    """Arrays by name as an .npz. It has the raw bytes of dtypes that numpy does not know."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:  # np.savez takes no array that is called `file`
        for name, value in values.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(storable(value)), allow_pickle=False)
    return held.getvalue()


def storable(value: Value) -> Value:
    """A value in a form that .npz can store: raw bytes for dtypes unknown to numpy."""
    own = isinstance(value, np.ndarray) and value.dtype.isbuiltin != 1
    return value.view(np.dtype((np.void, value.dtype.itemsize))) if own else value


def numpy_file(path: str) -> Weights:
    """An open .npy or .npz file, told apart by its first bytes. Raises Failure."""
    with reading(path), opened(path) as file:
        is_array = file.read(len(MAGIC)) == MAGIC
    return ArrayFile(path) if is_array else ArchiveFile(path)


def _header(file: IO[bytes], name: str, what: str, size: int) -> Entry:
    """The entry that the header of an array tells of, in a file of `size` bytes."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise damaged(f"{what} is an array in the unsupported format {version}")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise damaged(f"{what} holds Python objects, which are never unpickled")
    needed = math.prod(shape) * dtype.itemsize
    if any(length < 0 for length in shape) or not 0 <= needed <= size:
        raise damaged(f"{what} declares {needed} bytes, but has {size}")
    return Entry(name, tuple(shape), dtype)


def _array(file: IO[bytes]) -> Value:
    array = np.lib.format.read_array(file, allow_pickle=False)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_as(array: Array, dtype: np.dtype[Any] | None) -> Array:
    """View an array of raw bytes as a dtype unknown to numpy, such as bfloat16. Files store its bytes without the dtype."""
    return array.view(dtype) if dtype is not None and is_stored(array.dtype, dtype) else array


def is_stored(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    """True if a file with the dtype `given` stores raw bytes of `dtype`."""
    bytes_alone = given.kind == "V" and given.names is None and given.subdtype is None
    return bool(bytes_alone and dtype.isbuiltin != 1 and dtype.itemsize == given.itemsize)


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
                self._entries, self._starts = _safetensors_header(self._file, path)
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


def _safetensors_header(file: IO[bytes], path: str) -> tuple[dict[str, Entry], dict[str, int]]:
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
