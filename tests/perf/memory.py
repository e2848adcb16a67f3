"""The memory of a session beside that of its largest stage alone. The columns of times show MB."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial

from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.generate import transformer

MOST = 1.5  # times the largest stage


def _bytes(make: Callable[[], object]) -> int:
    """The bytes that a value holds."""
    gc.collect()
    tracemalloc.start()
    value = make()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del value
    return held


def _stages(bindings: int) -> list[str]:
    """The texts of all stages."""
    import relax_explorer
    from relax_explorer.core.session.session import Session

    session = Session(relax_explorer.parse(transformer(bindings)))
    session.run_all()
    return list(dict.fromkeys([stage.module.script() for stage in session.stages]))


def _session(bindings: int) -> tuple[str, Work]:
    import relax_explorer
    from relax_explorer.core.session.session import Session

    text = transformer(bindings)

    def opened() -> Session:
        session = Session(relax_explorer.parse(text))
        session.run_all()
        return session

    return text, lambda: Seconds(_bytes(opened) / 1e9)


def _largest(bindings: int) -> Work:
    import relax_explorer

    texts = _stages(bindings)

    def checked(text: str) -> object:
        return relax_explorer.normalize(relax_explorer.parse(text))

    return lambda: Seconds(max([_bytes(partial(checked, text)) for text in texts]) / 1e9)


MEMORY = [
    Benchmark(
        f"memory-{bindings}",
        partial(_session, bindings),
        repeat=1,
        hand=partial(_largest, bindings),
        most=MOST,
    )
    for bindings in (1_000, 5_000)
]
