"""Reads .npy and .npz files. The declared size is checked against the file size and a limit before any data is read."""

from __future__ import annotations

import math
import os
import stat
import zipfile
from typing import IO, Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure

INPUT_LIMIT = 4 << 30
"""Default limit for the total size of the inputs of a run, in bytes."""

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: str, most: int = INPUT_LIMIT) -> dict[str, Any]:
    """The arrays of a .npz file by name, or the array of a .npy file under "". Raises Failure for an unreadable file.

    `most` limits their total size in bytes.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _failure(codes.BAD_INPUT_FILE, f"{path} is not a regular file")
        with open(path, "rb") as file:
            is_array = file.read(6) == b"\x93NUMPY"
            file.seek(0)
            if is_array:
                return {"": _array(file, path, os.fstat(file.fileno()).st_size, most)}
            with zipfile.ZipFile(file) as archive:
                return _entries(archive, path, most)
    except Failure:
        raise
    except (OSError, ValueError, EOFError, KeyError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error)[:120]
        raise _failure(codes.BAD_INPUT_FILE, f"{path}: {reason}") from None
    except Exception as error:  # noqa: BLE001  # zipfile and zlib raise a dozen exception types for a damaged archive
        text = f"{path} is damaged or not an .npz file: {type(error).__name__}"
        raise _failure(codes.BAD_INPUT_FILE, text) from None


def _entries(archive: zipfile.ZipFile, path: str, most: int) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        with archive.open(entry) as file:
            arrays[name] = _array(file, f"{name} in {path}", entry.file_size, most)
        most -= arrays[name].nbytes
    return arrays


def _array(file: IO[bytes], name: str, size: int, most: int) -> Any:
    """The array of a file of `size` bytes."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise _failure(codes.BAD_INPUT_FILE, f"{name} is an array in the unsupported format {version}")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise _failure(codes.BAD_INPUT_FILE, f"{name} holds Python objects, which are never unpickled")
    needed = math.prod(shape) * dtype.itemsize
    if needed > most:
        raise too_much(name, needed, most)
    if not 0 <= needed <= size:
        raise _failure(codes.BAD_INPUT_FILE, f"{name} declares {needed} bytes, but has {size}")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def read_as(array: Any, dtype: Any) -> Any:
    """View an array of raw bytes as a dtype unknown to numpy, such as bfloat16. Files store its bytes without the dtype."""
    bytes_alone = array.dtype.kind == "V" and array.dtype.names is None and array.dtype.subdtype is None
    if bytes_alone and dtype is not None and dtype.isbuiltin != 1 and dtype.itemsize == array.dtype.itemsize:
        return array.view(dtype)
    return array


def too_much(name: str, needed: int, most: int) -> Failure:
    """The Failure for an input that needs more memory than is left."""
    text = f"{name} needs {_size(needed)}, but only {_size(max(most, 0))} are left for inputs"
    return Failure(Diagnostic(codes.TOO_LARGE, text, help="use smaller lengths, or raise --max-input"))


def _size(count: int) -> str:
    return f"{count / 2**30:,.2f} GiB" if count >= 1 << 27 else f"{count / 2**20:,.2f} MiB"


def _failure(code: Code, text: str) -> Failure:
    return Failure(Diagnostic(code, text, help=code.fix))
