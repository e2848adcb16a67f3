"""Parsing and printing of generated transformer modules."""

from __future__ import annotations

from functools import partial

from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer


def _parse(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    return text, lambda: relax_explorer.parse(text)


def _print(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    # Printed text may be kept with its module, so that every measured print has a module of its own.
    fresh = iter([relax_explorer.parse(text) for _ in range(PRINTS + 1)])
    return text, lambda: next(fresh).script()


PRINTS = 5

TEXT = [
    Benchmark("parse-1000", partial(_parse, 1_000), tvm="parse", goal=10),
    Benchmark("parse-10000", partial(_parse, 10_000), tvm="parse", goal=25, repeat=3, tvm_repeat=1),
    Benchmark("print-1000", partial(_print, 1_000), tvm="script", goal=1, repeat=PRINTS),
]
