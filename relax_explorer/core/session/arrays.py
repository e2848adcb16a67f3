"""Reads .npy and .npz files. The declared size is checked against the file size and a limit before any data is read."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.weight_entries import (
    INPUT_LIMIT,
    MOST_ENTRIES,
    Entry,
    Weights,
    damaged,
    opened,
    reading,
    too_much,
)

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


def read_as(array: Any, dtype: Any) -> Any:
    """View an array of raw bytes as a dtype unknown to numpy, such as bfloat16. Files store its bytes without the dtype."""
    return array.view(dtype) if is_stored(array.dtype, dtype) else array


def is_stored(given: Any, dtype: Any) -> bool:
    """True if a file with the dtype `given` stores raw bytes of `dtype`."""
    bytes_alone = given.kind == "V" and given.names is None and given.subdtype is None
    return bool(
        bytes_alone and dtype is not None and dtype.isbuiltin != 1 and dtype.itemsize == given.itemsize
    )
