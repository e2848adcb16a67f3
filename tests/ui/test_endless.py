"""Programs that never end: the explorer cancels them, quits, and restores the terminal on every way out."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from relax_explorer.core.exec.packed import packed_function
from relax_explorer.ui.tui.app import Explorer
from tests.perf.tui import Terminal
from tests.ui.test_explorer import screen_text, wait

LEAVE = b"\x1b[?1049l"
RECURSION = """@I.ir_module
class M:
    @R.function
    def main(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        r = M.twice0(c)
        return r
"""
DOUBLING = "".join(
    f"""
    @R.function
    def twice{n}(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        a = M.twice{n + 1}(c)
        b = M.twice{n + 1}(a)
        return b
"""
    for n in range(40)
)
END = """
    @R.function
    def twice40(c: R.Tensor((), "bool")) -> R.Tensor((), "bool"):
        return R.logical_not(c)
"""
KERNEL = """@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((1,), "int64"), B: T.Buffer((1,), "int64")):
        B[0] = T.int64(0)
        while B[0] < T.int64(1):
            B[0] = T.int64(0) - A[0] * A[0]

    @R.function
    def main(x: R.Tensor((1,), "int64")) -> R.Tensor((1,), "int64"):
        y = R.call_tir(M.k, (x,), out_sinfo=R.Tensor((1,), "int64"))
        return y
"""
PROGRAMS = {"recursion": RECURSION + DOUBLING + END, "kernel": KERNEL}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / f"{request.param}.py"
    path.write_text(PROGRAMS[request.param])
    return str(path)


async def test_escape_cancels_and_a_step_goes_on(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("2", "c", "c", "s")
        await pilot.pause(0.5)
        assert not app.jobs.is_idle
        await pilot.press("escape")
        await wait(pilot, lambda: app.jobs.is_idle, 10)
        await wait(pilot, lambda: "cancelled" in screen_text(app), 10)
        await pilot.pause(0.3)
        assert app.jobs.is_idle  # work requested earlier is not started
        assert app.state.run is not None
        if "recursion" in program:
            position = app.run_control.session.debugger.position
            await pilot.press("s")
            await wait(pilot, lambda: app.run_control.session.debugger.position == position + 1, 10)


def running(program: str) -> Terminal:
    """The explorer in a terminal, in the middle of endless work."""
    terminal = Terminal(program)
    terminal.read_until(b"main")
    for key in (b"2", b"c"):
        terminal.drain()
        os.write(terminal.fd, key)
    terminal.drain()
    time.sleep(0.5)
    return terminal


@pytest.mark.parametrize(
    ("ending", "program"),
    [("ctrl+q", "kernel"), ("ctrl+q", "recursion"), ("SIGTERM", "kernel"), ("SIGQUIT", "recursion")],
    indirect=["program"],
)
def test_it_ends_in_the_middle_of_what_never_ends(ending: str, program: str) -> None:
    terminal = running(program)
    if ending == "ctrl+q":
        os.write(terminal.fd, b"\x11")
    else:
        os.kill(terminal.pid, getattr(signal, ending))
    terminal.read_until(LEAVE, 5)
    end = time.monotonic() + 10
    done, status = os.waitpid(terminal.pid, os.WNOHANG)
    while not done and time.monotonic() < end:
        time.sleep(0.05)
        done, status = os.waitpid(terminal.pid, os.WNOHANG)
    if not done:
        os.kill(terminal.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)
    assert done, "it lives on"
    assert os.waitstatus_to_exitcode(status) == (0 if ending == "ctrl+q" else 128 + getattr(signal, ending))


def test_escape_stops_a_packed_function_that_loops(tmp_path: Path) -> None:
    program, code = tmp_path / "p.py", tmp_path / "packed.py"
    program.write_text(
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n'
        '    y = R.call_pure_packed("loops", x, sinfo_args=R.Tensor((2,), "float32"))\n    return y\n'
    )
    code.write_text("def loops(x):\n    while True:\n        pass\n")
    words = ("-m", "relax_explorer", "tui", str(program), "--packed", f"{code}:loops", "--screen", "debug")
    terminal = Terminal(str(program), (sys.executable, *words))
    terminal.read_until(b"made up")  # the text is shown before the run
    terminal.drain()
    os.write(terminal.fd, b"c")
    terminal.drain()
    os.write(terminal.fd, b"\x1b")
    terminal.read_until(b"cancelled", 10)
    terminal.close()


async def test_a_call_that_goes_on_after_escape_is_told(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n'
        '    y = R.call_pure_packed("test.endless.sleeps", x, sinfo_args=R.Tensor((2,), "float32"))\n    return y\n'
    )
    woken = threading.Event()
    packed_function("test.endless.sleeps")(lambda x: [woken.wait(30), x][1])
    app = Explorer(str(program), "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("2", "c")
        await wait(pilot, lambda: "Esc cancels" in app.jobs.notice(), 10)
        await pilot.press("escape")
        await wait(pilot, lambda: "ends after the present call" in app.jobs.notice(), 10)
        woken.set()
        await wait(pilot, lambda: app.jobs.is_idle, 10)


def test_work_that_nothing_can_end_does_not_keep_the_process(tmp_path: Path) -> None:
    """A user's packed function, or a pass, may never return."""
    script = tmp_path / "stuck.py"
    script.write_text(
        "import sys, time\nfrom relax_explorer.ui.tui.app import Explorer\nfrom relax_explorer.ui.tui.launching import run_app\n"
        "from relax_explorer.core.session.session import Session\n"
        "Session.advance = lambda self: time.sleep(600)\nsys.exit(run_app(Explorer(sys.argv[1])))\n"
    )
    program = tmp_path / "p.py"
    program.write_text(KERNEL)
    terminal = Terminal(str(program), (sys.executable, str(script), str(program)))
    terminal.read_until(b"main")
    terminal.drain()
    os.write(terminal.fd, b"q")
    start = time.monotonic()
    terminal.read_until(LEAVE, 5)
    _, status = os.waitpid(terminal.pid, 0)
    assert time.monotonic() - start < 10
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal.fd)
