"""Folders of numbered stages, those inside them, the executable beside them, recordings, and addresses of stages, `PATH@STAGE`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from relax_explorer.core.syntax.beginnings import is_executable, is_recording

_FILE = re.compile(r"([0-9]{1,9})[_.-]?(.*)\.py", re.DOTALL)


@dataclass(frozen=True)
class Nested:
    """A folder of stages in a folder of stages, as builds write for a part of the module: its path, and how many stages it has.

    `number` is that of the stage that it belongs to; None if its name has none.
    """

    path: str
    count: int
    number: int | None


def nested(path: str | Path) -> list[Nested]:
    """The folders with stages inside a folder, by the stages that they belong to."""
    found = []
    for place in _entries(Path(path)):
        count = len(numbered_files(place)) if place.is_dir() else 0
        if count:
            number = re.match(r"[0-9]{1,9}", place.name)
            found.append(Nested(str(place), count, int(number[0]) if number else None))
    return sorted(found, key=lambda item: (item.number is None, item.number or 0))


def outer(path: str | Path) -> str:
    """The folder around a folder of nested stages; empty if there is none. Its number tells that it belongs to a stage there."""
    place = Path(path).absolute()
    is_nested = place.name[:1].isdecimal() and os.path.isdir(place) and numbered_files(place.parent)
    return str(place.parent) if is_nested else ""


def numbered_files(folder: Path) -> list[tuple[re.Match[str], Path]]:
    """The numbered files of a folder in order."""
    found = [(hit, name) for name in _entries(folder) if (hit := _FILE.fullmatch(name.name))]
    return sorted(found, key=lambda item: (int(item[0][1]), item[1].name))


def _entries(folder: Path) -> list[Path]:
    """What a folder holds, by name; nothing if it can't be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


RECORDED = ".rxs"
"""The ending of the names of recorded builds."""


def is_container(path: str) -> bool:
    """True for a file that is a recorded build by its first bytes, or by its name. It never waits for a pipe or a device."""
    try:
        if not os.path.isfile(path):
            return False
        with Path(path).open("rb") as file:
            return is_recording(file.read(_BEGINNING)) or path.endswith(RECORDED)
    except (OSError, ValueError):
        return False


_BEGINNING = 64  # bytes that tell a recording


MODELS = {".onnx": "onnx", ".pt2": "torch", ".tflite": "tflite"}
"""The formats of models by the endings of their names."""


def model_at(path: str) -> str:
    """The format of the model at a path; empty if there is none, or it is no regular file."""
    try:
        return MODELS.get(Path(path).suffix.lower(), "") if os.path.isfile(path) else ""
    except ValueError:  # a name with a null character
        return ""


# -- addresses -------------------------------------------------------------------------------------------------------
# Addresses of stages: `PATH@STAGE`. Nothing of the core is imported for them.


def address(text: str) -> tuple[str, str | None]:
    """Path and stage of `PATH@STAGE`. A file whose own name has an `@` is a path."""
    path, at, stage = text.rpartition("@")
    if not at or not path or os.path.exists(text):  # also for a name that no file can have
        return text, None
    return path, stage


NAMES = ("executable.txt", "executable.py")
_HEAD = 4096  # characters that tell what a file is


def executable_beside(folder: str) -> str:
    """The path of the executable in a folder of stages, or beside it; empty if there is none."""
    place = Path(folder)
    for path in [parent / name for parent in (place, place.absolute().parent) for name in NAMES]:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                if is_executable(file.read(_HEAD)):
                    return str(path)
        except OSError:
            continue
    return ""
