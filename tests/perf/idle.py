"""Passes over 10,000 bindings on which they change nothing, against one walk over all expressions of the same module.

What passes find out together (which operators a function calls, what reads a variable) stays known as long as a function is the
same object. So it is found before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import relax_explorer
from relax_explorer.core import passes as registry
from relax_explorer.core.ir.walk import exprs
from tests.perf.benchmark import Benchmark, Work
from tests.perf.generate import transformer

MOST = 2.5  # walks
MOST_RUNS = 4  # of a pass until it leaves its own result as it is


@cache
def _module() -> relax_explorer.IRModule:
    return relax_explorer.normalize(relax_explorer.parse(transformer(10_000)))


@cache
def _idle(name: str) -> relax_explorer.IRModule:
    module = _module()
    for _ in range(MOST_RUNS):
        new, _site = registry.own()[name].apply(module)
        if new is module:
            return module
        module = new
    raise AssertionError(f"{name} never leaves its own result as it is")


def _pass(name: str) -> tuple[str, Work]:
    module, of = _idle(name), registry.own()[name]
    return "", lambda: of.apply(module)


def _walk(name: str) -> Work:
    functions = _idle(name).relax_functions.values()
    return lambda: [sum(1 for _ in exprs(fn)) for fn in functions]


def _row(name: str) -> Benchmark:
    hand: Callable[[], Work] = partial(_walk, name)
    return Benchmark(f"idle-{name}", partial(_pass, name), hand=hand, most=MOST)


IDLE = [_row(name) for name in sorted(registry.own())]
