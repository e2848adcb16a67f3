"""A child process with a time limit and bounded output, killed together with its own children."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_POSIX = os.name == "posix"
_CHUNK = 65_536


class ChildTimeout(Exception):
    """The time limit passed; the child and its children were killed."""


class ChildOutputTooLong(Exception):
    """The child wrote more than its limit; it and its children were killed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a child: exit status (negative: the signal that ended it), standard output, start of standard error."""

    status: int
    output: bytes
    errors: bytes


class _Reader(threading.Thread):
    """Reads a pipe to its end, keeps at most `limit` bytes, and records in `overflow` if there was more."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        super().__init__(daemon=True)
        self.pipe, self.limit = pipe, limit
        self.kept = bytearray()
        self.overflow = threading.Event()
        self.start()

    def run(self) -> None:
        """Read until the other side closes the pipe."""
        with contextlib.suppress(ValueError, OSError):  # the pipe was closed because the child was killed
            while chunk := os.read(self.pipe.fileno(), _CHUNK):
                self.kept += chunk[: self.limit - len(self.kept)]
                if len(chunk) and len(self.kept) >= self.limit:
                    self.overflow.set()


def run_child(
    command: Sequence[str], data: bytes, timeout: float, limit: int = 64 << 20, error_limit: int = 16 << 10
) -> Finished:
    """Run a command without a shell, write `data` to it, and wait at most `timeout` seconds.

    On POSIX the child and its children end with this process, however it ends, and each has a limit of processor time.
    Output beyond `limit` bytes raises ChildOutputTooLong; errors beyond `error_limit` are read and dropped.
    Raises ChildTimeout, and OSError when the command can't be started.
    """
    with _started(command, timeout) as child:
        return _finished(child, data, timeout, limit, error_limit)


@contextlib.contextmanager
def _started(command: Sequence[str], timeout: float) -> Iterator[subprocess.Popen[bytes]]:
    """The child process, on POSIX under `keeper.py`."""
    streams: dict[str, Any] = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with contextlib.ExitStack() as stack:
        if _POSIX and sys.executable:
            program = shutil.which(command[0])
            if program is None:
                raise FileNotFoundError(2, "there is no such program", command[0])
            theirs, ours = os.pipe()
            stack.callback(os.close, ours)
            keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
            kept = [*keeper, str(theirs), str(math.ceil(timeout) + 1), program, *command[1:]]
            try:
                child = subprocess.Popen(kept, start_new_session=True, pass_fds=(theirs,), **streams)
            finally:
                os.close(theirs)
        else:
            child = subprocess.Popen(command, start_new_session=_POSIX, **streams)
        yield child


def _finished(
    child: subprocess.Popen[bytes], data: bytes, timeout: float, limit: int, error_limit: int
) -> Finished:
    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise AssertionError("a child started with pipes has pipes")
    output, errors = _Reader(child.stdout, limit), _Reader(child.stderr, error_limit)
    writer = threading.Thread(target=_write, args=(child.stdin, data), daemon=True)
    writer.start()
    try:
        child.wait(timeout)
        output.join(timeout)
        errors.join(1.0)
        if output.is_alive():
            raise ChildTimeout
    except subprocess.TimeoutExpired:
        # The child is not blocked on a full pipe: the readers drain bytes beyond their limits.
        raise (ChildOutputTooLong if output.overflow.is_set() else ChildTimeout) from None
    finally:
        _kill(child)
        writer.join(1.0)
        for reader in (output, errors):
            reader.join(1.0)
            reader.pipe.close()
    if output.overflow.is_set():
        raise ChildOutputTooLong
    return Finished(child.returncode, bytes(output.kept), bytes(errors.kept))


def _write(pipe: IO[bytes], data: bytes) -> None:
    # a child may close its input early; its exit status tells why
    with contextlib.suppress(OSError, ValueError):
        pipe.write(data)
        pipe.close()


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child, and its children if it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if _POSIX:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    child.wait()
