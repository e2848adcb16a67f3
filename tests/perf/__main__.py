"""Run benchmarks: `python -m tests.perf [NAME or GROUP…]`, beside TVM if it is installed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict

from tests.perf import by_torch, growth
from tests.perf.benchmark import Benchmark, Result
from tests.perf.each_pass import EACH
from tests.perf.exec import EXEC
from tests.perf.graphs import GRAPHS
from tests.perf.idle import IDLE
from tests.perf.memory import MEMORY
from tests.perf.passes import PASSES
from tests.perf.raw_builds import RAW_BUILDS
from tests.perf.real import REAL
from tests.perf.shapes import SHAPES
from tests.perf.shortcuts import SHORTCUTS
from tests.perf.text import TEXT
from tests.perf.travel import TRAVEL
from tests.perf.tui import TUI
from tests.perf.verdicts_of_layers import VERDICTS
from tests.support.oracle import Oracle

GROUPS = {
    "text": TEXT,
    "passes": PASSES,
    "each-pass": EACH,
    "idle": IDLE,
    "exec": [*EXEC, *TRAVEL],
    "graphs": GRAPHS,
    "ui": [*TUI, *SHORTCUTS, *MEMORY],
    "shapes": SHAPES,
    "builds": RAW_BUILDS,
    "verdicts": VERDICTS,
    "real": REAL,
}
BENCHMARKS: list[Benchmark] = [benchmark for group in GROUPS.values() for benchmark in group]
ROW = "{:<24} {:>12} {:>12} {:>8} {:>6} {:>12} {:>6} {:>5} {:>10} {:>6} {:>6} {:>10}  {:<22} {}"
HEAD = (
    "benchmark", "ours, ms", "TVM, ms", "ratio", "goal", "by hand, ms", "times", "most", "torch, ms", "times", "beside", "limit, ms",
    "rate", "",
)  # fmt: skip


def main() -> int:
    """Measure the named benchmarks, print one row for each, and return 1 if a goal was missed."""
    arguments = _arguments()
    os.environ.pop(
        "PYTHONDONTWRITEBYTECODE", None
    )  # cold processes are those of users, whose modules are compiled
    if arguments.growth:
        return growth.main()
    chosen = [item for item in BENCHMARKS if item.name in named(arguments.names or [*GROUPS])]
    is_asked = Oracle.is_installed() and not arguments.no_tvm and not arguments.processor
    oracle = Oracle() if is_asked else None
    if oracle is None:
        print("TVM is not asked: no ratios", file=sys.stderr)
    if not by_torch.is_installed() and any(item.torch for item in chosen):
        print("PyTorch is not asked: it is not installed", file=sys.stderr)
    clock = time.process_time if arguments.processor else time.perf_counter
    results = []
    for benchmark in chosen:
        result = benchmark.measure(oracle, clock)
        results.append(result)
        if not arguments.json:
            print(_row(result), flush=True)
    if arguments.json:
        rows = [
            {
                **asdict(result),
                "ratio": result.ratio,
                "times": result.times,
                "to_torch": result.to_torch,
                "verdict": result.verdict,
            }
            for result in results
        ]
        print(json.dumps({"python": platform.python_version(), "seconds": rows}, indent=1))
    if oracle is not None:
        oracle.close()
    return int(any(result.verdict == "below the goal" for result in results))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.perf", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"a benchmark, or a group of them: {', '.join(GROUPS)} (all of them)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parser.add_argument(
        "--growth", action="store_true", help="print how times grow with the program, and nothing else"
    )
    parser.add_argument("--no-tvm", action="store_true", help="measure without TVM")
    parser.add_argument(
        "--processor",
        action="store_true",
        help="seconds of the processor, for a machine that others use, and not those of TVM; first runs still by the clock",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the groups and the names of their benchmarks"
    )
    arguments = parser.parse_args()
    names = [item.name for item in BENCHMARKS]
    if arguments.list:
        for group, members in GROUPS.items():
            print(f"{group}: {', '.join([item.name for item in members])}")
        parser.exit()
    unknown = sorted(named(arguments.names) - set(names))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join([*GROUPS, *names])}")
    if not arguments.json and not arguments.growth:
        print(ROW.format(*HEAD).rstrip())
    return arguments


def named(names: list[str]) -> set[str]:
    """The names of benchmarks, each group replaced by its members."""
    groups = {group: [item.name for item in members] for group, members in GROUPS.items()}
    return {member for name in names for member in groups.get(name, [name])}


def _row(result: Result) -> str:
    tvm = "-" if result.tvm is None else f"{result.tvm * 1000:.3g}"
    tvm = tvm if result.over is None else f"over {result.over:g} s"
    ratio = "-" if result.ratio is None else f"{result.ratio:.1f}"
    goal = "-" if result.goal is None else f"{result.goal:g}"
    hand = "-" if result.hand is None else f"{result.hand * 1000:.1f}"
    times = "-" if result.times is None else f"{result.times:.2f}"
    most = "-" if result.most is None else f"{result.most:g}"
    torch = "-" if result.torch is None else f"{result.torch * 1000:.3g}"
    to_torch = "-" if result.to_torch is None else f"{result.to_torch:.2f}"
    beside = "-" if result.beside is None else f"{result.beside:g}"
    limit = "-" if result.limit is None else f"{result.limit * 1000:g}"
    ours = f"{result.ours * 1000:.1f}" if result.ours >= 0.001 else f"{result.ours * 1000:.3f}"
    return ROW.format(
        result.name, ours, tvm, ratio, goal, hand, times, most, torch, to_torch, beside, limit, result.rate, result.verdict
    ).rstrip()  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
