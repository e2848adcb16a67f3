"""Folders for the files of benchmarks, removed when the process ends."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

_NUMBERS = count()


@cache
def _all() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="relax-explorer-perf-")


def empty_folder() -> Path:
    """A new folder."""
    folder = Path(_all().name) / str(next(_NUMBERS))
    folder.mkdir()
    return folder
