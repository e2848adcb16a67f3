"""Writes all user files. A target is checked before the work and replaced atomically; its mode and links are kept."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO


class CannotWrite(Exception):
    """A file can't be written. The text names the file and the reason."""


@dataclass(frozen=True, slots=True)
class Target:
    """An output file, checked when created. `name` is its name as typed; None means standard output."""

    name: str | None = None

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        with self.opened() as file:
            file.write(data)

    @contextlib.contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """Open the file for writing. The target is replaced when the block succeeds, and untouched when it fails.

        A device, a pipe, a file with several names, and a file in a folder that takes no new files are written in place.
        Raises CannotWrite.
        """
        assert self.name is not None  # standard output belongs to the command line
        try:
            path, found = _looked_up(self.name)
            with _in_place(path) if _is_written_in_place(path, found) else _beside(path, found) as file:
                yield file
        except OSError as error:
            raise CannotWrite(f"{self.name} can't be written: {_reason(error)}") from None


STANDARD_OUTPUT = Target()


def target(name: str) -> Target:
    """The target called `name`, or standard output for `-`. Raises CannotWrite when it cannot be written."""
    if name == "-":
        return STANDARD_OUTPUT
    if not name:
        raise CannotWrite("the name of the file to write is empty")
    try:
        path, status = _looked_up(name)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise CannotWrite(f"{name} can't be written: {_reason(error)}") from None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise CannotWrite(f"{name} can't be written: it is a folder")
    if status is not None and not os.access(path, os.W_OK):
        raise CannotWrite(f"{name} can't be written: it is not writable for you")
    if status is None and not path.parent.is_dir():
        raise CannotWrite(f"{name} can't be written: there is no folder {path.parent}")
    if status is None and not os.access(path.parent, os.W_OK | os.X_OK):
        raise CannotWrite(f"{name} can't be written: its folder is not writable for you")
    return Target(name)


def _looked_up(name: str) -> tuple[Path, os.stat_result | None]:
    """The path after following links, and its status (None when nothing is there)."""
    if name.endswith(os.sep):
        raise IsADirectoryError(0, "it is a folder")
    path = Path(os.path.realpath(name))
    try:
        return path, path.stat()
    except FileNotFoundError:
        return path, None


def _is_written_in_place(path: Path, status: os.stat_result | None) -> bool:
    """True if the file must be written in place, because a replacement would differ from it."""
    return status is not None and (
        not stat.S_ISREG(status.st_mode)
        or status.st_nlink > 1
        or not os.access(path.parent, os.W_OK | os.X_OK)
    )


def _in_place(path: Path) -> IO[bytes]:
    return path.open("wb")


@contextlib.contextmanager
def _beside(path: Path, status: os.stat_result | None) -> Iterator[IO[bytes]]:
    """Write a new file beside the target under an unguessable name, then move it over the target."""
    scratch = path.with_name(f".rxe-{os.urandom(8).hex()}.part")
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode) & 0o700
    with contextlib.ExitStack() as stack:
        file = os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb")
        stack.callback(scratch.unlink, missing_ok=True)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            _like(scratch, status)
        scratch.replace(path)


def _like(scratch: Path, status: os.stat_result) -> None:
    """Copy the mode of the old file, and its owner where permitted."""
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):
            os.chown(scratch, status.st_uid, status.st_gid)
    scratch.chmod(stat.S_IMODE(status.st_mode))


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
