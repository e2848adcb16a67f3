"""The one door through which child processes start, and the ways in which they end.

On POSIX each child has a group of its own, under `keeper.py`: it and its children end with this process, however that ends,
and it may have limits of processor time and of memory. Python children import nothing from the current folder.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

_POSIX = os.name == "posix"
_CHUNK = 65_536
_ERROR_LIMIT = 16 << 10  # bytes of errors that are kept
_PATIENCE = 10.0  # seconds for the kernel to end what was killed
_ROOT = str(Path(__file__).parents[2])
MOST_MEMORY = (
    8 << 30
)  # bytes of address space for work on what a stranger wrote; libraries reserve 2 GiB and use little


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


@dataclass(frozen=True, slots=True)
class Limits:
    """Processor time in seconds and address space in bytes, for each process of a child; 0 for no limit."""

    seconds: float = 0
    memory: int = 0


# -- what a child runs ------------------------------------------------------------------------------------------------


def python(*words: str) -> list[str]:
    """The command line of a Python child that never imports from the current folder. Raises OSError if Python has no path."""
    if not sys.executable:
        raise FileNotFoundError(2, "the path of the Python interpreter is unknown")
    return [sys.executable, "-P", *words]


def own_python(code: str, *words: str) -> list[str]:
    """The command line of a Python child with the modules of this process. `sys.argv[1:]` are the words."""
    start = "import sys; count = int(sys.argv[1]); sys.path[:] = sys.argv[2:2 + count]; del sys.argv[1:2 + count]; "
    path = _own_path()
    return python("-c", start + code, str(len(path)), *path, *words)


def _own_path() -> list[str]:
    """The module path without the current folder, unless this program lies there."""
    here = os.path.realpath(os.curdir)
    found = [item for item in sys.path if item and os.path.realpath(item) != here]
    return found if os.path.realpath(_ROOT) != here or _ROOT in found else [_ROOT, *found]


def environment() -> dict[str, str]:
    """The environment for a Python child. An empty part of PYTHONPATH would be the current folder."""
    found = {**os.environ, "PYTHONSAFEPATH": "1"}  # noqa: TID251  # passed on
    if "PYTHONPATH" in found:
        parts = [item for item in found["PYTHONPATH"].split(os.pathsep) if item not in ("", os.curdir)]
        found["PYTHONPATH"] = os.pathsep.join(parts)
    return found


@contextlib.contextmanager
def safe_environment() -> Iterator[None]:
    """Let children that another package starts import nothing from the current folder."""
    before = dict(os.environ)  # noqa: TID251  # put back
    os.environ.update(environment())  # noqa: TID251  # for children of that package
    try:
        yield
    finally:
        os.environ.clear()  # noqa: TID251  # put back
        os.environ.update(before)  # noqa: TID251  # put back


# -- starting ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _under_keeper(command: Sequence[str], limits: Limits) -> Iterator[tuple[list[str], dict[str, Any], int]]:
    """The command under its keeper, the options of its start, and our end of its pipe: while it is open the child may live."""
    if not (_POSIX and sys.executable):
        yield [*command], {"start_new_session": _POSIX}, -1
        return
    program = shutil.which(command[0])
    if program is None:
        raise FileNotFoundError(2, "there is no such program", command[0])
    theirs, ours = os.pipe()
    try:
        keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py")), str(theirs)]
        bounds = [str(math.ceil(limits.seconds) + 1) if limits.seconds else "0", str(limits.memory)]
        yield (
            [*keeper, *bounds, program, *command[1:]],
            {"start_new_session": True, "pass_fds": (theirs,)},
            ours,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)


class Child:
    """A child with pipes to its standard streams, which ends when it is closed."""

    def __init__(self, command: Sequence[str], limits: Limits, errors: int, is_python: bool) -> None:
        with _under_keeper(command, limits) as (kept, options, ours):
            self.process: subprocess.Popen[bytes] = subprocess.Popen(
                kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env=environment() if is_python else None, **options,
            )  # fmt: skip
        self._ours, self._is_killed = ours, False
        assert self.process.stdin is not None  # both are pipes
        assert self.process.stdout is not None
        self.input: IO[bytes] = self.process.stdin
        self.output: IO[bytes] = self.process.stdout
        self.errors: IO[bytes] | None = self.process.stderr  # with `PIPED` errors

    def status(self, seconds: float) -> int | None:
        """The exit status (negative: the signal that ended it) of a child that ends within some seconds; None of one that goes on."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End the child and its children; pipes stay open for those who read them."""
        if self._is_killed:  # its number may be that of another process by now
            return
        self._is_killed = True
        kill_group(self.process.pid)

    def close(self) -> None:
        """End the child and its children, and close everything."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):  # the kernel holds it: it ends when it is let go
            self.process.wait(_PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):  # the last words may still stand in its buffer
                    pipe.close()
        ours, self._ours = self._ours, -1
        if ours >= 0:
            os.close(ours)


PIPED = subprocess.PIPE


def conversation(command: Sequence[str], limits: Limits, errors: int = subprocess.DEVNULL) -> Child:
    """A Python child that answers questions on its standard streams; `errors` is where its errors go, as in `subprocess`.

    Raises OSError when it can't be started.
    """
    return Child(command, limits, errors, is_python=True)


def own_errors() -> int:
    """The standard error of this process, if it has one."""
    return subprocess.DEVNULL if sys.__stderr__ is None else sys.__stderr__.fileno()


async def conversation_of_loop(
    command: Sequence[str], limits: Limits, more: Mapping[str, str]
) -> tuple[asyncio.subprocess.Process, int]:
    """A Python child of an event loop, with more variables in its environment, and the pipe to close when it is over."""
    import asyncio  # only `serve` has a loop

    with _under_keeper(command, limits) as (kept, options, ours):
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *kept, stdin=pipe, stdout=pipe, stderr=pipe, env={**environment(), **more}, **options
        )
    return process, ours


def kill_group(process: int) -> None:
    """Kill a child and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if _POSIX:
            os.killpg(process, signal.SIGKILL)
        else:
            os.kill(process, signal.SIGTERM)


# -- one question and its answer --------------------------------------------------------------------------------------


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
    command: Sequence[str], data: bytes, timeout: float | None, limit: int = 64 << 20, memory: int = 0,
    is_python: bool = False,
) -> Finished:  # fmt: skip
    """Run a command without a shell, write `data` to it, and wait at most `timeout` seconds.

    On POSIX each of its processes has a limit of processor time, if there is a timeout, and of `memory`.
    Output beyond `limit` bytes raises ChildOutputTooLong; errors beyond the first 16 KiB are read and dropped.
    Raises ChildTimeout, and OSError when the command can't be started.
    """
    child = Child(command, Limits(timeout or 0, memory), subprocess.PIPE, is_python)
    try:
        return _finished(child, data, timeout, limit)
    finally:
        child.close()


def _finished(child: Child, data: bytes, timeout: float | None, limit: int) -> Finished:
    assert child.process.stderr is not None  # it is a pipe
    output, errors = _Reader(child.output, limit), _Reader(child.process.stderr, _ERROR_LIMIT)
    writer = threading.Thread(target=_write, args=(child.input, data), daemon=True)
    writer.start()
    try:
        child.process.wait(timeout)
        output.join(timeout)
        errors.join(1.0)
        if output.is_alive():
            raise ChildTimeout
    except subprocess.TimeoutExpired:
        # The child is not blocked on a full pipe: the readers drain bytes beyond their limits.
        raise (ChildOutputTooLong if output.overflow.is_set() else ChildTimeout) from None
    finally:
        child.kill()
        for thread in (writer, output, errors):
            thread.join(1.0)
    if output.overflow.is_set():
        raise ChildOutputTooLong
    return Finished(child.process.returncode, bytes(output.kept), bytes(errors.kept))


def _write(pipe: IO[bytes], data: bytes) -> None:
    # a child may close its input early; its exit status tells why
    with contextlib.suppress(OSError, ValueError):
        pipe.write(data)
        pipe.close()


# -- a command of the user ---------------------------------------------------------------------------------------------


def run_through(command: Sequence[str], more: Mapping[str, str]) -> int:
    """Run a command on the standard streams of this process, with more variables in its environment.

    Returns its exit status, negative for the signal that ended it. Keys that interrupt are left to it, and a request to end is handed on.
    Raises OSError when it can't be started.
    """
    child = subprocess.Popen(command, env={**os.environ, **more})  # noqa: TID251  # passed on
    old = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda number, frame: child.terminate())
        return child.wait()
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
