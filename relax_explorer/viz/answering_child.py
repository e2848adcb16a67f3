"""A child in the user's Python that answers questions about TVM: found, started, asked, ended, and what went wrong as a diagnostic.

The child runs `injected/answering.py`, which tells the messages. It starts with the first question, stays for the next ones, and
is started again if it ended. Our process imports nothing of the user's.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

from relax_explorer import injected
from relax_explorer.core.codes import foreign as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure
from relax_explorer.injected.answering import Parts, received, send
from relax_explorer.viz.child import PIPED, Child, Limits, conversation
from relax_explorer.viz.visible import visible

STARTING = 120.0  # seconds that an import may take, on a cold disk
_PATIENCE = 10.0  # seconds for a process to end whose pipe has ended
_LAST_WORDS = 16 << 10  # bytes of what the child printed that are remembered
_SHOWN = 12  # lines of an error
INSTALL = "'apache-tvm==0.27.*' 'apache-tvm-ffi>=0.1.14.post0,<0.1.15'"
"""The pair of TVM and its ffi that fits together, for pip."""


class Unanswered(Failure):
    """A question has no answer; the diagnostic tells why.

    `kind` is unstartable, missing (a package), broken (a package), crashed, timeout, cancelled, or what the child gave: the class of an
    exception, or a word of its own with `details`. `error` is the child's own text.
    """

    def __init__(
        self, diagnostic: Diagnostic, kind: str, error: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(diagnostic)
        self.kind, self.error, self.details = kind, error, details or {}


class AnsweringChild:
    """A child that answers with `program`, a file of `injected` (or the path of one), without its `.py`.

    One thread asks at a time; another may cancel.

    `python` is an interpreter, by its name or path, or the folder of its environment; empty for the one that runs us.
    """

    def __init__(self, program: str, python: str = "", limits: Limits | None = None) -> None:
        self.program, self.python, self.limits = program, interpreter(python), limits or Limits()
        self.starts = 0  # of children; what an earlier one knew is gone
        self._child: Child | None = None
        self._lock = threading.Lock()
        self._answers: queue.SimpleQueue[tuple[dict[str, Any], Parts] | None] = queue.SimpleQueue()
        self._words = _Tail()
        self._is_cancelled = False

    def ask(
        self,
        question: str,
        values: Mapping[str, object],
        parts: Mapping[str, bytes],
        seconds: float,
        what: str,
    ) -> tuple[Any, Parts]:
        """The value and the parts of an answer. `what` names the work in messages: `tvm:FuseOps`. Raises Unanswered.

        An interrupt ends the child, since it could not be asked again before its answer is there.
        """
        with self._lock:
            self._is_cancelled = False
            try:
                child = self._child or self._started()
                self._words.clear()
                _write(child, {"ask": question, **values}, parts)
                return self._answer(seconds, what)
            except BaseException as error:
                if not isinstance(error, Unanswered) or error.kind in _ENDINGS:
                    self._drop()
                raise

    def cancel(self) -> None:
        """End the child, if it works on a question, from another thread: the question then has no answer."""
        child = self._child
        if child is not None and self._lock.locked():
            self._is_cancelled = True
            child.kill()

    def close(self) -> None:
        """End the child."""
        self.cancel()
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()

    # -- starting ----------------------------------------------------------------------------------------------------

    def _started(self) -> Child:
        """A child that has imported what its program needs."""
        program = Path(injected.__file__).with_name("answering.py")
        self._answers, self._words = queue.SimpleQueue(), _Tail()
        try:
            child = conversation([self.python, str(program), self.program], self.limits, PIPED)
        except OSError as error:
            raise self._unstartable(error.strerror or str(error)) from None
        self._child = child
        self.starts += 1
        threading.Thread(target=_read, args=(child.output, self._answers), daemon=True).start()
        assert child.errors is not None  # they are piped
        self._words.follow(child.errors)
        self._answer(STARTING, f"starting {visible(self.python)}", is_start=True)
        return child

    def _unstartable(self, reason: str) -> Unanswered:
        text = f"{visible(self.python)} can't be started: {visible(reason)}"
        return Unanswered(
            Diagnostic(codes.NO_INTERPRETER, text, help=codes.NO_INTERPRETER.fix), "unstartable"
        )

    # -- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, seconds: float, what: str, is_start: bool = False) -> tuple[Any, Parts]:
        try:
            found = _next(self._answers, seconds)
        except queue.Empty:
            text = f"{what} took longer than {seconds:g} s, and was ended"
            raise _unanswered(codes.TOO_LONG, text, "timeout", notes=self._words.stack()) from None
        if found is None:
            raise self._ended(what, is_start)
        head, parts = found
        if head.get("ok") is True:
            return head.get("value"), parts
        raise self._not_imported(head) if is_start else _raised(head, what)

    def _ended(self, what: str, is_start: bool) -> Unanswered:
        """Why a child gave no answer: it was killed, crashed, or left."""
        assert self._child is not None  # it was asked
        if self._is_cancelled:
            return _unanswered(codes.CRASHED, f"{what} was cancelled", "cancelled")
        status = self._child.status(_PATIENCE)
        if status is None:
            text = f"{what} wrote into the pipe of its process, whose answers can't be read now"
            return _unanswered(codes.CRASHED, text, "crashed")
        words = self._words.text()
        if is_start and status in _CANNOT_START and not words.startswith(_STACK):
            return self._unstartable(_last_line(words) or f"it ended with exit status {status}")
        work = f"importing {_PACKAGE}" if is_start else what
        text = f"{work} crashed: {signal_name(-status)}"
        if status >= 0:
            text = f"{work} ended the process: exit status {status}"
        return _unanswered(codes.CRASHED, text, "crashed", notes=self._words.stack())

    def _not_imported(self, head: Mapping[str, Any]) -> Unanswered:
        """The program of the child could not be loaded: a package is missing or broken."""
        kind, error, missing = (str(head.get(key) or "") for key in ("kind", "error", "missing"))
        shown = visible(self.python)
        if kind == "ModuleNotFoundError" and missing.partition(".")[0] in _INSTALLS:
            package = missing.partition(".")[0]
            help = f"{shown} -m pip install {_INSTALLS[package]}; or name another Python with --python"
            return _unanswered(codes.NO_PACKAGE, f"{shown} has no {package}", "missing", help, error=error)
        text = f"{shown} can't import {_PACKAGE}: {kind}: {_last_line(visible(error, 2_000))}"
        return _unanswered(codes.NO_PACKAGE, text, "broken", notes=_places(head), error=error)


_PACKAGE = "tvm"
_INSTALLS = {
    "tvm": INSTALL, "tvm_ffi": INSTALL, "numpy": "numpy", "ml_dtypes": "ml_dtypes", "onnx": "onnx", "torch": "torch",
    "tflite": "tflite",
}  # fmt: skip
"""Packages that a child may need, with what pip is to install."""
_CANNOT_START = (126, 127, 1, 2)  # also of a program that is no Python
_ENDINGS = ("timeout", "crashed", "cancelled", "missing", "broken", "unstartable")
_STACK = "Fatal Python error"
_OWN = str(Path(injected.__file__).parent)


def interpreter(python: str) -> str:
    """The interpreter that a user named: its path or name, or that in the folder of an environment."""
    folder = Path(python).expanduser() if python else None
    if folder is None:
        return sys.executable
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return str(inside if folder.is_dir() else folder)


def signal_name(number: int) -> str:
    """`SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _unanswered(
    code: Code, text: str, kind: str, help: str = "", notes: tuple[str, ...] = (), error: str = ""
) -> Unanswered:
    return Unanswered(Diagnostic(code, text, notes=notes, help=help or code.fix), kind, error)


def _raised(head: Mapping[str, Any], what: str) -> Unanswered:
    """The child is well; the code that it ran raised an error."""
    kind, lines = str(head.get("kind")), visible_lines_of(str(head.get("error")))
    plain = [line for line in lines if not line.startswith(("Traceback ", "  File "))]
    text = f"{what} raised {kind}: {plain[0] if plain else '(no text)'}"
    notes = (*_places(head), *plain[1:_SHOWN])
    details = head.get("details")
    diagnostic = Diagnostic(codes.RAISED, text, notes=notes, help=codes.RAISED.fix)
    return Unanswered(diagnostic, kind, "\n".join(lines), details if isinstance(details, dict) else {})


def visible_lines_of(text: str) -> list[str]:
    """The lines of a text of others that say something, without control characters."""
    return [visible(line, 500).rstrip() for line in text.splitlines() if line.strip()]


def _places(head: Mapping[str, Any]) -> tuple[str, ...]:
    """Where an error was raised: the last place in a file."""
    places = head.get("places") or []
    if not places:
        return ()
    file, line, name = places[-1]
    return (f"raised in {visible(str(file), 300)}:{line}, in {visible(str(name), 80)}",)


def _last_line(text: str) -> str:
    lines = visible_lines_of(text)
    return lines[-1] if lines else ""


# -- pipes -----------------------------------------------------------------------------------------------------------


class _Tail:
    """The last of what a child prints. It is read at once, so that the child never waits."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._thread: threading.Thread | None = None

    def follow(self, pipe: IO[bytes]) -> None:
        """Read a pipe to its end, in a thread."""
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        with contextlib.suppress(ValueError, OSError):  # the pipe was closed because the child was ended
            while chunk := os.read(pipe.fileno(), 65_536):
                self._data += chunk
                del self._data[:-_LAST_WORDS]

    def clear(self) -> None:
        """Forget what an earlier question printed."""
        self._data.clear()

    def text(self) -> str:
        """What was printed; the child has ended."""
        if self._thread is not None:
            self._thread.join(1.0)
        return bytes(self._data).decode("utf-8", "replace")

    def stack(self) -> tuple[str, ...]:
        """Of a crash, where Python was, the innermost call first; else the last lines."""
        lines = visible_lines_of(bytes(self._data).decode("utf-8", "replace"))
        heads = [number for number, line in enumerate(lines) if line.startswith("Current thread")]
        if not heads:
            return tuple(lines[-_SHOWN:])
        below = takewhile(lambda line: line.startswith('  File "'), lines[heads[-1] + 1 :])
        return tuple([line.strip() for line in below if _OWN not in line][:_SHOWN])


def _read(pipe: IO[bytes], answers: queue.SimpleQueue[tuple[dict[str, Any], Parts] | None]) -> None:
    """Read messages until the child ends; None tells the end."""
    with contextlib.suppress(
        EOFError, ValueError, OSError, LookupError, TypeError, AttributeError, MemoryError
    ):
        while True:  # what is no message ends the child, too
            answers.put(received(pipe))
    answers.put(None)


def _next(
    answers: queue.SimpleQueue[tuple[dict[str, Any], Parts] | None], seconds: float
) -> tuple[dict[str, Any], Parts] | None:
    return answers.get(timeout=seconds if seconds > 0 else None)


def _write(child: Child, head: Mapping[str, object], parts: Mapping[str, bytes]) -> None:
    """Write a question in a thread: a child that hangs reads nothing, and its time limit runs."""

    def write() -> None:
        with contextlib.suppress(OSError, ValueError):  # it ended: there is no answer either
            send(child.input, head, parts)

    threading.Thread(target=write, daemon=True).start()
