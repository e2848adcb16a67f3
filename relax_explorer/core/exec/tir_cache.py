"""Where the source and the machine code of kernels lie: in a directory that belongs to the user alone, or in none that lasts."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from functools import cache as once
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

VERSION = 5  # of the generated source and what it calls: an older file on disk is not used


@once
def scratch() -> Path:
    """A directory for sources that are not kept."""
    return Path(tempfile.mkdtemp(prefix="relax-explorer-"))


def refusal(cache: Path) -> str:
    """Why a directory is not used as a cache: whoever can write to it can have code executed. Empty when it can be used.

    It is made, for the user alone, when it is missing.
    """
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.mkdir(mode=0o700, exist_ok=True)
        inner = cache / "__pycache__"
        inner.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        return f"{cache} can't be written: {error.strerror}"
    for folder in (cache, inner):
        if not _is_own(folder.lstat()):
            return f"{folder} belongs to another user, or others can write to it"
    return ""


def _is_own(found: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows: access there is a matter of the user's folder
    others = stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH)
    return not stat.S_ISLNK(found.st_mode) and found.st_uid == os.getuid() and not others


class _Loader(SourceFileLoader):
    """Loads a source, never a `.pyc`."""

    def get_code(self, fullname: str) -> Any:
        return self.source_to_code(self.get_data(self.path), self.path)


def module(folder: Path, key: int, name: str, source: str) -> Any:
    """The `kernel` of a source file in `folder`; the file is written when it is missing or differs.

    What others have put beside it, numba's files included, is thrown away; a `.pyc` is neither read nor written.
    """
    name = f"k_{key:016x}_{VERSION}{name}"
    path = folder / f"{name}.py"
    for held in [path, *folder.glob(f"__pycache__/{name}*")]:
        if (held.exists() or held.is_symlink()) and not _is_own(held.lstat()):
            held.unlink()
    if not path.is_file() or path.read_text(encoding="utf-8", errors="replace") != source:
        _write(path, source)
    spec = spec_from_loader(name, _Loader(name, str(path)))
    if spec is None or spec.loader is None:
        raise OSError(f"{path} can't be loaded")
    made = module_from_spec(spec)
    sys.modules[name] = made  # numba's cache looks the module up
    spec.loader.exec_module(made)
    return made.kernel


def _write(path: Path, source: str) -> None:
    handle, part = tempfile.mkstemp(prefix=path.stem, suffix=".part", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(source)
    Path(part).replace(path)


def purge(folder: Path, key: int) -> None:
    """Remove what is on disk of a kernel."""
    for path in [*folder.glob(f"k_{key:016x}_*"), *folder.glob(f"__pycache__/k_{key:016x}_*")]:
        path.unlink(missing_ok=True)
