"""The disk cache of kernels, with source and machine code, in a private directory of the user."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from importlib.abc import InspectLoader
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

MOST = 512 << 20  # bytes of all files; beyond them, the oldest go until half is left
VERSION = 11  # of the generated source and its runtime support; files of older versions are not used


def text_key(*parts: str) -> int:
    """The key of a generated text, and of what else decides its machine code."""
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=16).digest(), "little")


def refusal(cache: Path) -> str:
    """Why a directory can't be the cache; empty if it can. Anyone who can write to it could make us execute code.

    A missing directory is created, accessible only to the user.
    """
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.mkdir(mode=0o700, exist_ok=True)
        inner = cache / "__pycache__"
        inner.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        return f"{cache} can't be written: {error.strerror}"
    for folder in (cache, inner):
        if not _is_private(folder.lstat()):
            return f"{folder} belongs to another user, or others can write to it"
    return ""


def _is_private(status: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True  # on Windows, the folder of the user controls access
    others = stat.S_IMODE(status.st_mode) & (stat.S_IWGRP | stat.S_IWOTH)
    return not stat.S_ISLNK(status.st_mode) and status.st_uid == os.getuid() and not others


class _Loader(SourceFileLoader):
    """Loads a source, never a `.pyc`."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class _InMemory(InspectLoader):
    """Loads a source that is no file."""

    def __init__(self, source: str) -> None:
        self.source = source

    def get_source(self, fullname: str) -> str:
        return self.source


def in_memory(key: int, source: str) -> Callable[..., None]:
    """The `kernel` of a source, without a file: a process that is killed leaves nothing behind."""
    loader = _InMemory(source)
    loaded = ModuleType(f"k_{key:016x}")
    loaded.__spec__ = spec_from_loader(loaded.__name__, loader)
    loader.exec_module(loaded)
    kernel: Callable[..., None] = loaded.kernel
    return kernel


def module(folder: Path, key: int, source: str) -> Callable[..., None]:
    """The `kernel` of a source file in `folder`. A missing or different file is written first.

    Files of other users beside it, numba's included, are deleted. A `.pyc` is neither read nor written.
    """
    name = f"k_{key:016x}_{VERSION}"
    path = folder / f"{name}.py"
    for file in [path, *folder.glob(f"__pycache__/{name}*")]:
        if (file.exists() or file.is_symlink()) and not _is_private(file.lstat()):
            file.unlink()
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != source:
        _write(path, source.encode())
    spec = spec_from_loader(name, _Loader(name, str(path)))
    if spec is None or spec.loader is None:
        raise OSError(f"{path} can't be loaded")
    loaded = module_from_spec(spec)
    sys.modules[name] = loaded  # numba's cache looks the module up
    spec.loader.exec_module(loaded)
    kernel: Callable[..., None] = loaded.kernel
    return kernel


def _write(path: Path, content: bytes) -> None:
    handle, part = tempfile.mkstemp(prefix=path.stem, suffix=".part", dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(part).replace(path)


def machine_code(folder: Path, key: int) -> bytes | None:
    """The machine code of a text, kept before. None if there is none, or another user can write to the file."""
    path = _object(folder, key)
    try:
        if not _is_private(path.lstat()):
            path.unlink()
            return None
        return path.read_bytes()
    except OSError:
        return None


def keep(folder: Path, key: int, code: bytes) -> bool:
    """Keep machine code on disk. False if the directory can't be written."""
    try:
        if folder not in _MEASURED:
            _MEASURED.add(folder)
            _shrink(folder)
        _write(_object(folder, key), code)
    except OSError:
        return False
    return True


_MEASURED: set[Path] = set()  # directories whose size this process compared with MOST


def _shrink(folder: Path) -> None:
    """Remove the oldest files of a directory that became too large. Another process may do so as well."""
    paths = [path for path in folder.rglob("*") if not path.is_dir()]  # numba has files below
    files = [(path.lstat(), path) for path in paths]
    left = sum([status.st_size for status, _ in files])
    if left <= MOST:
        return
    for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
        if left <= MOST // 2:
            break
        path.unlink(missing_ok=True)
        left -= status.st_size


def _object(folder: Path, key: int) -> Path:
    return folder / f"k_{key:016x}_{VERSION}.o"


def lines(path: Path, most: int) -> list[bytes]:
    """The lines of a file that `add_line` wrote. None if another user can write to it; then, and beyond `most` bytes, it begins anew."""
    try:
        status = path.lstat()
        if _is_private(status) and status.st_size <= most:
            return path.read_bytes().splitlines()
        path.unlink()
    except OSError:
        pass  # there is none, or the directory can't be read
    return []


def add_line(path: Path, line: bytes) -> None:
    """Add a line to a file, whole or not at all. Without effect if the directory can't be written."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError:
        return
    try:
        os.write(handle, line + b"\n")
    except OSError:
        pass  # the disk is full: what was written of the line has no valid checksum
    finally:
        os.close(handle)


def purge(folder: Path, key: int) -> None:
    """Remove the files of a kernel."""
    for path in [*folder.glob(f"k_{key:016x}_*"), *folder.glob(f"__pycache__/k_{key:016x}_*")]:
        path.unlink(missing_ok=True)
