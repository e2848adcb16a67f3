"""First runs, recorded runs and steps back. Their limits are seconds: TVM has no counterpart."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np

from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.exec import chain
from tests.perf.scratch import empty_folder

LLAMA = Path(__file__).parents[1] / "data" / "corpus" / "llama"
SAMPLES = Path(__file__).parents[2] / "samples"
FIRST_RUN = """
import sys, time
from pathlib import Path
import relax_explorer
from relax_explorer.core.session.inputs import from_file
folder = Path(sys.argv[1])
module = relax_explorer.normalize(relax_explorer.parse((folder / "01_LegalizeOps.py").read_text()))
arrays = from_file(module["forward"], folder / "io.npz")
started = time.perf_counter()
relax_explorer.run(module, "forward", arrays, cache=Path(sys.argv[2]))
print(time.perf_counter() - started)
"""


def _first_run(cached: bool) -> tuple[str, Work]:
    """A lowered Llama in a new process: from its inputs to its result, with all kernels compiled or none."""
    kept = empty_folder()

    def work() -> Seconds:
        cache = kept if cached else empty_folder()
        command = [sys.executable, "-c", FIRST_RUN, str(LLAMA), str(cache)]
        return Seconds(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return "", work


def _recorded(length: int) -> tuple[str, Work]:
    """Every step of a chain, recorded."""
    import relax_explorer

    text, shapes = chain(length)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    arrays = [np.ones(shape, "float32") for shape in shapes]

    def work() -> object:
        debugger = relax_explorer.debug(module, "main", arrays)
        debugger.continue_()
        return debugger.result

    return text, work


def _bare(length: int) -> Work:
    """The same steps, not recorded, and each with all its checks."""
    import relax_explorer
    from relax_explorer.core.exec.machine import Machine

    text, shapes = chain(length)
    module = relax_explorer.normalize(relax_explorer.parse(text))
    arrays = [np.ones(shape, "float32") for shape in shapes]

    def work() -> object:
        machine = Machine(module, "main", arrays)
        while machine.frames:
            machine.step()
        return machine.result

    return work


def _back(length: int, size: int, budget: int | None) -> tuple[str, Work]:
    """One step back at the end of a chain, and the value that it shows again."""
    import relax_explorer
    from relax_explorer.core.exec.debugger import Debugger

    text = chain(length)[0].replace("(4,)", f"({size},)")
    module = relax_explorer.normalize(relax_explorer.parse(text))
    debugger = Debugger(module, "main", [np.ones(size, "float32")] * 2, budget=budget)
    debugger.continue_()
    return text, lambda: debugger.back().value


def _recursion(depth: int) -> tuple[str, Work]:
    """A function that calls itself, recorded."""
    import relax_explorer

    module = relax_explorer.normalize(relax_explorer.load(str(SAMPLES / "06_recursion.py")))

    def work() -> object:
        debugger = relax_explorer.debug(module, "power", [np.float32(1), np.int32(depth)])
        debugger.continue_()
        return debugger.result

    return "", work


TRAVEL = [
    Benchmark("first-run-llama", partial(_first_run, False), limit=2, repeat=3),
    Benchmark("cached-run-llama", partial(_first_run, True), limit=0.3, repeat=3),
    # At most 2.5 us for each binding over the bare loop, which takes 4.
    Benchmark("recorded-chain-10000", partial(_recorded, 10_000), hand=partial(_bare, 10_000), most=1.6),
    Benchmark("back-100000", partial(_back, 100_000, 4, None), limit=0.01),
    Benchmark("back-64-mb", partial(_back, 100_000, 1024, 64 << 20), limit=0.1),
    # The second should take twice the time of the first.
    *[Benchmark(f"recursion-{depth}", partial(_recursion, depth), repeat=2) for depth in (2_500, 5_000)],
]
