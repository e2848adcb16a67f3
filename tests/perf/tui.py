"""The explorer in a real terminal with generated modules: time to the first text, from key to repaint, and work while idle."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import sys
import tempfile
import termios
import time
from functools import partial
from pathlib import Path

from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.generate import transformer

SIZE = (60, 200)
QUIET = 0.003  # this many seconds without output end a repaint
PRESSES = 40
IDLE = 20  # seconds
TEXT = b"matmul"


BYTECODE = tempfile.mkdtemp()  # as after an installation, also where writing it is turned off


class Terminal:
    """A process on a pseudo terminal."""

    def __init__(self, path: str, command: tuple[str, ...] = ()) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
            os.environ.update(
                TERM="xterm-256color", COLUMNS=str(SIZE[1]), LINES=str(SIZE[0]), PYTHONPYCACHEPREFIX=BYTECODE
            )
            ours = [sys.executable, "-m", "relax_explorer", "tui", path, "-p", "CanonicalizeBindings"]
            os.execv(sys.executable, list(command) or ours)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))

    def read_until(self, mark: bytes, seconds: float = 20) -> bytes:
        """The output of the process up to `mark`; raises TimeoutError if it doesn't come."""
        seen = b""
        while mark not in seen:
            ready, _, _ = select.select([self.fd], [], [], seconds)
            if not ready:
                raise TimeoutError(f"no {mark!r} within {seconds} s")
            seen += os.read(self.fd, 1 << 16)
        return seen

    def drain(self) -> None:
        """Read until the process has been quiet for a while."""
        while select.select([self.fd], [], [], 0.5)[0]:
            os.read(self.fd, 1 << 16)

    def press(self, key: bytes) -> None:
        """Press a key and wait for its repaint."""
        os.write(self.fd, key)
        wait = 20.0
        while select.select([self.fd], [], [], wait)[0]:
            os.read(self.fd, 1 << 16)
            wait = QUIET

    def close(self) -> None:
        """End the process."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def _file(bindings: int) -> str:
    path = Path(tempfile.mkdtemp()) / "generated.py"
    path.write_text(transformer(bindings), encoding="utf-8")
    return str(path)


def _first_frame(bindings: int) -> tuple[str, Work]:
    path = _file(bindings)

    def start() -> None:
        terminal = Terminal(path)
        terminal.read_until(TEXT)
        terminal.close()

    return "", start


def _key(bindings: int, key: bytes, before: tuple[bytes, ...] = (), back: bytes = b"") -> tuple[str, Work]:
    """A key, pressed many times, in turns with `back`: the time that 19 of 20 repaints keep."""
    terminal = Terminal(_file(bindings))
    terminal.read_until(TEXT)
    terminal.drain()
    for typed in before:
        os.write(terminal.fd, typed)
        terminal.drain()

    def press() -> Seconds:
        times = []
        for number in range(PRESSES):
            started = time.perf_counter()
            terminal.press(back if back and number % 2 else key)
            times.append(time.perf_counter() - started - QUIET)
        return Seconds(sorted(times)[PRESSES * 19 // 20 - 1])

    return "", press


def _floor() -> tuple[str, Work]:
    """The first text of an application of Textual that does nothing else: no explorer is faster."""
    program = (
        "from textual.app import App\nfrom textual.widgets import Static\n"
        "class A(App):\n    def compose(self):\n        yield Static('matmul')\nA().run()"
    )

    def start() -> None:
        terminal = Terminal("", (sys.executable, "-c", program))
        terminal.read_until(TEXT)
        terminal.close()

    return "", start


def _idle(bindings: int) -> tuple[str, Work]:
    """The processor time of a second in which nothing happens."""
    terminal = Terminal(_file(bindings))
    terminal.read_until(TEXT)
    terminal.drain()
    time.sleep(4)  # the passes run, and what they left is collected
    ticks = os.sysconf("SC_CLK_TCK")

    def busy() -> float:
        fields = Path(f"/proc/{terminal.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    def wait() -> Seconds:
        before = busy()
        time.sleep(IDLE)
        return Seconds((busy() - before) / IDLE)

    return "", wait


STEPS = (b"2", b"s", b"s")  # the debug screen, a few steps behind the start
FIRST = {1_000: 0.5, 10_000: 0.7, 100_000: 1.5}  # seconds until the first text

TUI = [
    Benchmark("first-frame-textual", _floor, repeat=3),
    Benchmark("idle-1000", partial(_idle, 1_000), repeat=1, limit=0.002),
    *[
        benchmark
        for bindings, limit in FIRST.items()
        for benchmark in (
            Benchmark(f"first-frame-{bindings}", partial(_first_frame, bindings), repeat=2, limit=limit),
            Benchmark(f"key-down-{bindings}", partial(_key, bindings, b"j"), repeat=1, limit=0.03),
            Benchmark(f"key-page-{bindings}", partial(_key, bindings, b"\x04"), repeat=1, limit=0.03),
            Benchmark(f"key-step-{bindings}", partial(_key, bindings, b"s", STEPS), repeat=1, limit=0.03),
            Benchmark(
                f"key-stage-{bindings}",
                partial(_key, bindings, b"]", back=b"["),  # there are two stages
                repeat=1,
                limit=0.05 if bindings < 5_000 else 0.15,
            ),
        )
    ],
]
