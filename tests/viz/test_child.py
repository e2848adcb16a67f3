"""The child that lays out graphs ends with its parent, however that ends, and keeps its time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

from relax_explorer.viz.child import Child, Limits, environment, own_python, python, run_child
from relax_explorer.viz.workers import Workers
from tests.support.signals import hearing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups of POSIX")


def is_running(pid: int) -> bool:
    """True if the process exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def waited(condition: object, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]  # a callable
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("ending", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_the_child_and_its_children_end_with_the_parent(ending: str, tmp_path: Path) -> None:
    """Like Graphviz inside pygraphviz: a child starts another one, and both work for minutes."""
    endless = "while :; do :; done"
    command = [
        "/bin/sh",
        "-c",
        f"({endless}) & echo $! > {tmp_path}/inner; echo $$ > {tmp_path}/outer; {endless}",
    ]
    code = f"from relax_explorer.viz.child import run_child\nrun_child({command!r}, b'', 300)\n"
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, preexec_fn=hearing)
    files = [tmp_path / "inner", tmp_path / "outer"]
    assert waited(lambda: all(path.exists() and path.read_text().strip() for path in files))
    pids = [int(path.read_text()) for path in files]
    assert all(map(is_running, pids))
    parent.send_signal(getattr(signal, ending))
    parent.wait(10)
    assert waited(lambda: not any(map(is_running, pids)))


def test_the_child_has_a_limit_of_processor_time() -> None:
    assert run_child(["/bin/sh", "-c", "ulimit -t"], b"", timeout=2.5).output == b"4\n"


def test_the_child_ends_as_its_command_does() -> None:
    assert run_child(["/bin/sh", "-c", "exit 7"], b"", timeout=5).status == 7
    assert run_child(["/bin/sh", "-c", "kill -SEGV $$"], b"", timeout=5).status == -signal.SIGSEGV
    assert run_child(["/bin/sh", "-c", "kill -KILL $$"], b"", timeout=5).status == -signal.SIGKILL
    assert run_child(["/bin/sh", "-c", "printf word; printf no >&2"], b"", timeout=5).output == b"word"


def test_a_program_that_is_not_there_or_does_not_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_child([str(tmp_path / "nothing")], b"", timeout=5)
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELFodd")
    odd.chmod(0o700)
    done = run_child([str(odd)], b"", timeout=5)
    assert done.status == 126
    assert b"can't be started" in done.errors


def test_the_command_ends_with_its_keeper(tmp_path: Path) -> None:
    """The keeper alone is killed, as the kernel does it for want of memory: no pipe tells the command."""
    child = Child(
        ["/bin/sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 300"], Limits(), subprocess.DEVNULL, False
    )
    try:
        assert waited(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        command = int((tmp_path / "pid").read_text())
        os.kill(child.process.pid, signal.SIGKILL)
        assert waited(lambda: not is_running(command))
    finally:
        child.close()


def test_the_child_has_a_limit_of_memory() -> None:
    words = ["/bin/sh", "-c", "ulimit -v"]
    assert run_child(words, b"", timeout=5, memory=1 << 30).output == b"1048576\n"
    limited = python("-c", "print(len(bytearray(3 << 30)))")
    assert b"MemoryError" in run_child(limited, b"", timeout=20, memory=1 << 30, is_python=True).errors
    assert run_child(words, b"", timeout=5).output == b"unlimited\n"


@pytest.mark.parametrize("place", [":", "", ".", f"{os.pathsep}."])
def test_python_children_import_nothing_from_the_current_folder(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "sitecustomize", "relax_explorer", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", place)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    monkeypatch.chdir(tmp_path)
    code = "import json, numpy, relax_explorer; print(json.dumps(numpy.__name__))"
    done = run_child(own_python(code), b"", timeout=20, is_python=True)
    assert (done.output, (tmp_path / "executed").exists()) == (b'"numpy"\n', False), done.errors
    with Workers(1, print) as pool:
        assert pool.submit(len, [1, 2]).result() == 2
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("lock", ["-P", "environment"])
def test_each_lock_of_the_current_folder_holds_by_itself(lock: str, tmp_path: Path) -> None:
    """Python children have both: `-P` for those that lose their environment, a variable for their own children."""
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()\n")
    code = "import json; print(json.dumps(1))"
    words = python("-c", code) if lock == "-P" else [sys.executable, "-c", code]
    variables = {} if lock == "-P" else environment()
    done = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, timeout=20, check=False)
    assert (done.stdout, (tmp_path / "executed").exists()) == (b"1\n", False), done.stderr
    assert own_python(code)[1] == "-P"


def test_closing_kills_a_child_that_reads_nothing() -> None:
    child = Child(["/bin/sh", "-c", "echo on; exec sleep 300"], Limits(), subprocess.DEVNULL, False)
    assert child.output.readline() == b"on\n"
    child.close()
    assert child.process.returncode == -signal.SIGKILL  # None if it were only left alone
    assert child.input.closed
    assert child.output.closed


def test_workers_end_with_what_they_do() -> None:
    with Workers(2, print, "to standard error") as pool:
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
        with pytest.raises(BrokenExecutor, match="ended before its work did"):
            pool.submit(os._exit, 3).result()
        assert pool.submit(os.getpid).result() != os.getpid(), "another child took its place"
        pids = {pool.submit(os.getpid).result() for _ in range(4)}
    assert waited(lambda: not any(map(is_running, pids)))
    pool = Workers(1, print)
    running = pool.submit(os.getpid).result()
    pool.submit(time.sleep, 300)
    pool.__exit__(KeyboardInterrupt)
    assert waited(lambda: not is_running(running))
    with pytest.raises(RuntimeError, match="have ended"):
        pool.submit(abs, 1)
