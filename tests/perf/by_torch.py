"""The same work by PyTorch, in a child: it has threads of its own, which wait for work on processors that others need."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
Clock = Callable[[], float]


def is_installed() -> bool:
    """Whether there is a PyTorch to ask."""
    return importlib.util.find_spec("torch") is not None


@contextmanager
def asked(name: str, unit: str) -> Iterator[Clock]:
    """What runs a kernel or a model of `real` once, and gives the seconds: of the `unit` wall or processor."""
    command = [sys.executable, "-m", "tests.perf.torch_child", name]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        lines, answers = child.stdin, child.stdout
        first = answers.readline().strip()
        if first != "ready":
            raise RuntimeError(first or f"PyTorch did not run {name}")

        def seconds() -> float:
            print(unit, file=lines, flush=True)
            return float(answers.readline())

        try:
            yield seconds
        finally:
            lines.close()  # the child ends
