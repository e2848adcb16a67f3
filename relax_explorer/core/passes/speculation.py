"""Which passes would change a module: each runs on it, and the result is thrown away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

from relax_explorer.core import passes as registry
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import Step, run_step
from relax_explorer.core.program.module import IRModule


class Verdict(NamedTuple):
    """The outcome of a pass that was tried: `refusal` tells why it did not run."""

    name: str
    changes: bool
    refusal: str = ""


def verdict(module: IRModule, name: str) -> Verdict:
    """Try a pass on a normalized module."""
    try:
        return Verdict(name, run_step(Step(registry.get(name)), module, False).changed)
    except Failure as failure:
        return Verdict(name, False, failure.diagnostics[0].message)


def verdicts(
    module: IRModule, names: Iterable[str] | None = None, executor: Executor | None = None
) -> Iterator[Verdict]:
    """Try passes (by default all), in the order of `names`. Closing the iterator cancels those that have not begun."""
    chosen = list(registry.names() if names is None else names)
    if executor is None:
        for name in chosen:
            yield verdict(module, name)
        return
    futures = [executor.submit(verdict, module, name) for name in chosen]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
