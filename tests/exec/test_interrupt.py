"""Another thread can stop a run: in the machine's loop, in a kernel, on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from tests.support.signals import hearing

ENDLESS = """
@I.ir_module
class M:
    @R.function
    def main(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        r = M.twice(c)
        s = M.twice(r)
        return s

    @R.function
    def twice(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        a = R.logical_not(c)
        b = R.logical_not(a)
        return b
"""


def test_a_machine_stops_before_its_next_step() -> None:
    interrupt = Interrupt()
    machine = Machine(rxe.normalize(rxe.parse(ENDLESS)), "main", [True], interrupt=interrupt)
    machine.step()
    interrupt.cancel()
    with pytest.raises(Cancelled) as caught:
        machine.step()
    assert caught.value.diagnostics[0].code.id == "RX0523"


def test_a_debugger_goes_on_after_it_was_cancelled() -> None:
    debugger = Debugger(rxe.parse(ENDLESS), "main", [True])
    debugger.step()
    position = debugger.position
    debugger.interrupt.cancel()
    with pytest.raises(Cancelled):
        debugger.continue_()
    assert debugger.position == position
    debugger.interrupt.clear()
    debugger.continue_()
    assert debugger.done
    assert bool(debugger.result) is True


def test_threads_inside_packed_functions_are_counted_under_the_lock() -> None:
    interrupt, asked = Interrupt(), []

    class Guarded(set[int]):
        """A set that other threads must not see while it changes."""

        def _seen(self, *args: int) -> None:
            assert interrupt._lock._is_owned()  # type: ignore[attr-defined]  # threading has no public question

        add = discard = __contains__ = _seen  # type: ignore[assignment]

        def __iter__(self) -> Iterator[int]:
            self._seen()
            asked.append(True)
            return iter(())

    interrupt._reached = Guarded()
    with interrupt.reaching():
        interrupt.cancel()
        interrupt.is_cancelled = False
    assert asked == [True]


def doubling(depth: int) -> str:
    """A program of functions, each of which calls the one before twice."""
    functions = [
        f"    @R.function\n    def f{n}(c: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n"
        f"        r: R.Tensor((2,), 'float32') = M.f{n + 1}(c)\n        s: R.Tensor((2,), 'float32') = M.f{n + 1}(r)\n        return s\n"
        for n in range(depth)
    ]
    last = f"    @R.function\n    def f{depth}(c: R.Tensor((2,), 'float32')) -> R.Tensor((2,), 'float32'):\n        return c\n"
    return "@I.ir_module\nclass M:\n" + "\n".join([*functions, last])


def interrupted(path: Path, *options: str) -> int:
    """The exit status of `run` after a SIGINT, which has to come soon."""
    command = [sys.executable, "-m", "relax_explorer", "run", str(path), *options]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=hearing
    ) as child:
        try:
            while child.poll() is None and processor_time(child.pid) < 2:  # it does not end by itself
                time.sleep(0.1)
            child.send_signal(signal.SIGINT)
            child.wait(60)  # it would take years
        finally:
            child.kill()
        return child.returncode


def processor_time(process: int) -> float:
    """The seconds that a process computed, which tell how far it is even on a busy machine."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_ends_a_long_run_of_relax_functions(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text(doubling(50), encoding="utf-8")
    assert interrupted(path, "--func", "f0") == 130
