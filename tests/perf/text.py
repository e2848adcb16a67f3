"""Parsing, checking and printing of generated transformer modules."""

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


def _check(bindings: int) -> tuple[str, Work]:
    import relax_explorer

    text = transformer(bindings)
    module = relax_explorer.parse(text)
    return text, lambda: relax_explorer.check(module)


PRINTS = 5

TEXT = [
    Benchmark("parse-1000", partial(_parse, 1_000), tvm="parse", goal=15),
    Benchmark("parse-10000", partial(_parse, 10_000), tvm="parse", goal=40, repeat=3, tvm_repeat=1),
    # TVM would need minutes; ours is to be ten times parse-10000.
    Benchmark("parse-100000", partial(_parse, 100_000), repeat=1),
    # Inference from scratch, every rule, and unused values; TVM's checks stop at the first problem and tell no place.
    Benchmark("check-10000", partial(_check, 10_000), repeat=3),
    Benchmark("print-1000", partial(_print, 1_000), tvm="script", goal=3, repeat=PRINTS),
]
