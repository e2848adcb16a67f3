"""The explorer in a real terminal with generated modules: time to the first text, from key to repaint, and work while idle.

Beside it xdsl-gui, the explorer of another compiler, with as many operations, if it is installed: `pip install 'xdsl[gui]'`.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import sys
import termios
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.generate import transformer
from tests.perf.scratch import empty_folder

SIZE = (60, 200)
QUIET = 0.15  # seconds without output that end a repaint: also a panel that is filled later belongs to it
SHORT = 0.03  # the same while a program is read: there are no panels, but a clock that counts seconds
CLOCK = b"Esc cancels"  # stands beside its seconds
PRESSES = 40
WHILE_READING = 200  # presses in the ten seconds that a program of 100,000 bindings is read
IDLE = 20  # seconds
TEXT = b"matmul"


class Terminal:
    """A process on a pseudo terminal."""

    def __init__(self, path: str, command: tuple[str, ...] = ()) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # bytecode as after an installation
            os.environ.update(TERM="xterm-256color", COLUMNS=str(SIZE[1]), LINES=str(SIZE[0]))
            ours = [sys.executable, "-m", "relax_explorer", "tui", path, "-p", "CanonicalizeBindings"]
            run = list(command) or ours
            os.execv(run[0], run)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self._last = b""

    def _read(self) -> bytes:
        """The next output; raises EOFError with the status and the last text of a process that has ended."""
        try:
            found = os.read(self.fd, 1 << 16)
        except OSError:  # nobody writes any more
            status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            text = re.sub(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]", b"", self._last).decode(errors="replace")
            raise EOFError(f"the process ended with {status}; at last it wrote: {text[-2000:]}") from None
        self._last = (self._last + found)[-20_000:]
        return found

    def read_until(self, mark: bytes, seconds: float = 20) -> bytes:
        """The output of the process up to `mark`; raises TimeoutError if it doesn't come."""
        seen = b""
        while mark not in seen:
            ready, _, _ = select.select([self.fd], [], [], seconds)
            if not ready:
                raise TimeoutError(f"no {mark!r} within {seconds} s")
            seen += self._read()
        return seen

    def drain(self) -> None:
        """Read until the process has been quiet for a while."""
        while select.select([self.fd], [], [], 0.5)[0]:
            self._read()

    def rest(self) -> None:
        """Wait until the process has nothing to do: a program of 100,000 bindings is read and checked long after its text is shown."""
        before = -1.0
        while (now := self.work()) != before:
            before = now
            self.drain()

    def work(self) -> float:
        """The seconds of processor time that the process took so far, in hundredths."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def press(self, key: bytes, quiet: float = QUIET) -> float:
        """Press a key and wait for its last repaint; the seconds until then. A later tick of the clock is no part of it."""
        started = last = time.perf_counter()
        os.write(self.fd, key)
        wait = 20.0
        while select.select([self.fd], [], [], wait)[0]:
            if CLOCK not in self._read() or last == started:
                last, wait = time.perf_counter(), quiet
        return last - started

    def close(self) -> None:
        """End the process."""
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def generated_file(bindings: int) -> str:
    """The path of a program with so many bindings."""
    path = empty_folder() / "generated.py"
    path.write_text(transformer(bindings), encoding="utf-8")
    return str(path)


def _first_frame(bindings: int) -> tuple[str, Work]:
    path = generated_file(bindings)
    return _started(lambda: Terminal(path), TEXT)


def _started(start: Callable[[], Terminal], text: bytes) -> tuple[str, Work]:
    def work() -> None:
        terminal = start()
        terminal.read_until(text)
        terminal.close()

    return "", work


def _key(
    bindings: int, key: bytes, before: tuple[bytes, ...] = (), back: bytes = b"", is_read: bool = True
) -> tuple[str, Work]:
    """A key, pressed many times, in turns with `back`: the time that 19 of 20 repaints keep.

    The program is read by then if `is_read`, else only its text is shown.
    """
    terminal = Terminal(generated_file(bindings))
    terminal.read_until(TEXT)
    if not is_read:
        return _pressed(terminal, key, before, back, SHORT, WHILE_READING)
    terminal.rest()
    return _pressed(terminal, key, before, back)


def _pressed(
    terminal: Terminal,
    key: bytes,
    before: tuple[bytes, ...] = (),
    back: bytes = b"",
    quiet: float = QUIET,
    presses: int = PRESSES,
) -> tuple[str, Work]:
    terminal.drain()
    for typed in before:
        os.write(terminal.fd, typed)
        terminal.drain()

    def press() -> Seconds:
        keys = [back if back and number % 2 else key for number in range(presses)]
        times = [terminal.press(pressed, quiet) for pressed in keys]
        return Seconds(sorted(times)[presses * 19 // 20 - 1])

    return "", press


def _search(stages: int, bindings: int) -> tuple[str, Work]:
    """From Enter to the first lines that a search of all stages of a build found. Each stage has other names."""
    folder, text = empty_folder(), transformer(bindings)
    for number in range(stages):
        stage = re.sub(r"\bq(\d+)\b", rf"q\1_{number}", text)
        (folder / f"{number:02}_Pass{number}.py").write_text(stage, encoding="utf-8")
    terminal = Terminal(str(folder))
    terminal.read_until(TEXT)
    terminal.rest()

    def find() -> Seconds:
        os.write(terminal.fd, b"\x1b")
        terminal.drain()
        os.write(terminal.fd, b"/all:q3_")
        terminal.drain()
        started = time.perf_counter()
        os.write(terminal.fd, b"\r")
        terminal.read_until(b"in all stages")
        return Seconds(time.perf_counter() - started)

    return "", find


def _floor() -> tuple[str, Work]:
    """The first text of an application of Textual that does nothing else: no explorer is faster."""
    program = (
        "from textual.app import App\nfrom textual.widgets import Static\n"
        "class A(App):\n    def compose(self):\n        yield Static('matmul')\nA().run()"
    )
    return _started(lambda: Terminal("", (sys.executable, "-c", program)), TEXT)


def _theirs(operations: int) -> Terminal:
    """xdsl-gui with a chain of operations."""
    lines = "".join(f"  %a{n + 1} = arith.addi %a{n}, %a0 : i32\n" for n in range(operations))
    path = empty_folder() / "generated.mlir"
    path.write_text(
        f"func.func @main(%a0: i32) -> i32 {{\n{lines}  func.return %a{operations} : i32\n}}\n",
        encoding="utf-8",
    )
    assert PEER is not None  # the rows are made only then
    return Terminal("", (PEER, str(path)))


def _their_first_frame(operations: int) -> tuple[str, Work]:
    return _started(lambda: _theirs(operations), THEIR_TEXT)


def _their_key(operations: int) -> tuple[str, Work]:
    terminal = _theirs(operations)
    terminal.read_until(THEIR_TEXT, 60)
    terminal.rest()
    return _pressed(terminal, b"\x1b[B", (b"\t",))


def _idle(bindings: int) -> tuple[str, Work]:
    """The processor time of a second in which nothing happens."""
    terminal = Terminal(generated_file(bindings))
    terminal.read_until(TEXT)
    terminal.drain()
    time.sleep(4)  # the passes run, and what they left is collected

    def wait() -> Seconds:
        before = terminal.work()
        time.sleep(IDLE)
        return Seconds((terminal.work() - before) / IDLE)

    return "", wait


STEPS = (b"2", b"s", b"s")  # the debug screen, a few steps behind the start
FIRST = {1_000: 0.5, 10_000: 0.7, 100_000: 1.5}  # seconds until the first text
STAGE = {
    1_000: 0.05,
    5_000: 0.15,
    100_000: None,
}  # seconds to another stage with its changes; for the last there is no limit
PEER = shutil.which("xdsl-gui")
THEIR_TEXT = b"arith"

TUI = [
    Benchmark("first-frame-textual", _floor, repeat=6),
    Benchmark("idle-1000", partial(_idle, 1_000), repeat=1, limit=0.002),
    *[
        benchmark
        for bindings, limit in FIRST.items()
        for benchmark in (
            Benchmark(f"first-frame-{bindings}", partial(_first_frame, bindings), repeat=6, limit=limit),
            Benchmark(f"key-down-{bindings}", partial(_key, bindings, b"j"), repeat=1, limit=0.03),
            Benchmark(f"key-page-{bindings}", partial(_key, bindings, b"\x04"), repeat=1, limit=0.03),
            Benchmark(f"key-step-{bindings}", partial(_key, bindings, b"s", STEPS), repeat=1, limit=0.03),
        )
    ],
    *[  # there are two stages
        Benchmark(f"key-stage-{bindings}", partial(_key, bindings, b"]", back=b"["), repeat=1, limit=limit)
        for bindings, limit in STAGE.items()
    ],
    Benchmark("search-80-stages", partial(_search, 80, 1_000), repeat=5, limit=0.1),
    Benchmark("key-down-while-reading", partial(_key, 100_000, b"j", is_read=False), repeat=1, limit=0.03),
    *[
        benchmark
        for operations in (1_000, 10_000)
        if PEER is not None
        for benchmark in (
            Benchmark(
                f"first-frame-xdsl-gui-{operations}", partial(_their_first_frame, operations), repeat=2
            ),
            Benchmark(f"key-down-xdsl-gui-{operations}", partial(_their_key, operations), repeat=1),
        )
    ],
]
