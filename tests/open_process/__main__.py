"""`python -m tests.open_process -n 20000`: open, run and drop different texts; print the growth of the process."""

from __future__ import annotations

import argparse
import gc
import sys
import time

import relax_explorer as rxe
from relax_explorer.core.session.inputs import generated_inputs
from relax_explorer.viz.lexer import highlight
from tests.meaning.programs import Program
from tests.meaning.trial import register
from tests.support.random_programs import random_program

WARM = 200
"""Texts opened before the first measurement: they load modules and fill bounded tables."""


MOST_STEPS = 200
_KERNEL = """from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def double(given: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("block"):
                v = T.axis.spatial(4, i)
                out[v] = given[v] * T.float32(2)

    @R.function
    def main(given: R.Tensor((4,), "float32")):
        cls = Module
        y = R.call_tir(cls.double, (given,), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def text(number: int) -> str:
    """A unique text for each number: ordinary ones, ones with effects, branches and closures, and kernels."""
    if number % 4 == 1:
        return Program(number).text.replace("main", f"main{number}")
    return _KERNEL.replace("given", f"given{number}") if number % 4 == 3 else random_program(number)


def use(number: int) -> bool:
    """Use a text as a user does: stages, their text, problems, graph, differences, a run; True if it ran to the end."""
    try:
        session = rxe.Session(rxe.parse(text(number), filename=f"{number}.py"))
    except rxe.Failure:
        return False
    session.run_all()
    last = len(session.stages) - 1
    for stage in session.stages:
        assert all([highlight(line.text) for line in stage.printed.lines if line.text])
        assert len(stage.located) >= len(stage.problems)
    session.diff(0, last)
    module = session.stages[0].module
    name = session.stages[0].entry
    rxe.graph(module, name).terminal(80)
    rxe.structural_hash(module)
    try:
        debugger = session.debug(name, generated_inputs(module[name], {})[0])
        for _ in range(MOST_STEPS):
            if debugger.done:
                return True
            debugger.step()
    except rxe.Failure:
        return False
    return False


def main() -> int:
    """Print the growth after each tenth; 1 if it exceeds the limit."""
    parser = argparse.ArgumentParser(prog="python -m tests.open_process", description=__doc__)
    parser.add_argument("-n", type=int, default=20_000, help="texts")
    parser.add_argument("--limit", type=float, default=20.0, help="megabytes")
    arguments = parser.parse_args()
    register()
    for number in range(WARM):
        use(number)
    before, start, ran = resident(), time.monotonic(), 0
    growth = 0.0
    for number in range(1, arguments.n + 1):
        ran += use(WARM + number)
        if number % max(1, arguments.n // 10) == 0:
            growth = (resident() - before) / 1e6
            print(
                f"{number} texts, {ran} ran to the end, {growth:+.1f} MB, {time.monotonic() - start:.0f} s",
                flush=True,
            )
    return int(growth > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
