"""Kills recordings of real builds at random times, by SIGKILL from outside, and tells what each lost: `python -m tests.oracle.recording_kills 1000`.

One process imports TVM and forks a build for each kill. The build tells each pass that has ended through a pipe, behind the recorder.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import tvm

from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.build_files import open_build
from tests.builds import models


def build(path: Path, pipe: int) -> None:
    """A recorded build that tells each pass."""
    own = recorder.Recorder.after

    def after(self: recorder.Recorder, module: tvm.IRModule, info: tvm.transform.PassInfo) -> None:
        own(self, module, info)
        os.write(pipe, b"x")

    recorder.Recorder.after = after  # type: ignore[method-assign]  # of this process alone
    module = models.expression()[0]
    with recorder.record(path), tvm.target.Target("llvm"), tvm.transform.PassContext(opt_level=3):
        tvm.compile(module, target="llvm")


def killed(path: Path, after: float | None) -> tuple[int, float, bool]:
    """Start a build and kill it after some seconds: the passes that it told, how long it ran, and whether it had ended by itself."""
    reading, writing = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        os.close(reading)
        build(path, writing)
        os._exit(0)
    os.close(writing)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    seconds, told = time.monotonic() - began, 0
    while part := os.read(reading, 1 << 16):
        told += len(part)
    os.close(reading)
    return told, seconds, os.WIFEXITED(status)


def recorded(folder: Path) -> tuple[int, str]:
    """The passes that can be read of what a build left, and in which file; -1 if there is a file that does not open."""
    for name in ("run.rxs", "run.rxs.journal"):
        if (folder / name).exists():
            try:
                stages = open_build(folder / name).every
            except Failure as failure:
                is_empty = "no pass had ended" in failure.diagnostics[0].message
                is_begun = (folder / name).stat().st_size > len(recorder.MAGIC)
                return (0 if is_empty or not is_begun else -1), name
            _ = [stage.module for stage in stages]
            return sum(stage.recorded is not None and not stage.recorded.is_input for stage in stages), name
    return 0, "none"


def main(count: int, seed: int) -> None:
    """Kill as often as said; a line for each, then what was lost."""
    chance, lost, files = random.Random(seed), Counter[int](), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "whole").mkdir()
        whole = [killed(Path(place) / "whole" / "run.rxs", None)[1] for _ in range(3)][-1]
        for number in range(count):
            folder = Path(place) / str(number)
            folder.mkdir()
            told, _, has_ended = killed(folder / "run.rxs", chance.uniform(0, 1.1 * whole))
            found, file = recorded(folder)
            lost[told - found] += 1
            files["ended" if has_ended else file] += 1
            sys.stdout.write(
                json.dumps({"told": told, "recorded": found, "file": file, "ended": has_ended}) + "\n"
            )
    sys.stdout.write(json.dumps({"lost": dict(lost), "files": dict(files)}) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else int(time.time()))
