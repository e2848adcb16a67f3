"""Live passes in this process: which Python applies them, whether they may run now, and their end; and that of other children."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_explorer.core.passes.bridge import Bridge
    from relax_explorer.core.program.module import IRModule
    from relax_explorer.viz.answering_child import AnsweringChild
    from relax_explorer.viz.live_passes import LivePasses

TARGET = "llvm"
_TOKEN = re.compile(r"[\w./\\~-]+:[\w.]+")
_LIVE: list[Live] = []  # of this process, at most one
_STARTED: list[LivePasses] = []
_ASKED: list[AnsweringChild] = []


@dataclass(frozen=True, slots=True)
class Live:
    """The interpreter of `--python` (empty: the one that runs us), the seconds that a pass may take, and the target of TVM."""

    python: str = ""
    seconds: float = 120.0
    target: str = TARGET

    def started(self) -> LivePasses:
        """What asks the interpreter. It starts with the first question."""
        if not _STARTED:
            from relax_explorer.viz.live_passes import LivePasses

            _STARTED.append(LivePasses(self.python, self.seconds, self.target))
        return _STARTED[0]


def names_in(pipeline: str) -> frozenset[str]:
    """The names of live passes and pipelines in a text."""
    return frozenset(_TOKEN.findall(pipeline)) if ":" in pipeline else frozenset()


def allow(live: Live, may_run: Callable[[str], bool] = lambda name: True) -> None:
    """Let live passes run in this process, unless `may_run` refuses one by its name."""
    from relax_explorer.core.passes.bridge import use_bridge

    if [live] != _LIVE:
        for started in _STARTED:
            started.close()
        _STARTED.clear()
    _LIVE[:] = [live]
    use_bridge(lambda: _guarded(live, may_run))


def settings() -> Live | None:
    """What live passes run with; None where they may not run."""
    return _LIVE[0] if _LIVE else None


def python() -> str:
    """The interpreter that `--python` names; empty for the one that runs us."""
    return _LIVE[0].python if _LIVE else ""


def target() -> str:
    """The target of TVM that `--target` names."""
    return _LIVE[0].target if _LIVE else TARGET


def cancel() -> None:
    """End the pass that runs, if one does, and the children that work on a question."""
    for started in _STARTED:
        started.cancel()
    for child in list(_ASKED):
        child.cancel()


@contextmanager
def ended_by_cancel(child: AnsweringChild) -> Iterator[AnsweringChild]:
    """A child that `cancel` ends while it is asked, and that ends afterwards."""
    _ASKED.append(child)
    try:
        yield child
    finally:
        _ASKED.remove(child)
        child.close()


def _guarded(live: Live, may_run: Callable[[str], bool]) -> Bridge:
    from relax_explorer.core.passes.bridge import Bridge, refused

    class Guarded(Bridge):
        """Asks only about passes that may run."""

        def stages(self, pipeline: str, options: Mapping[str, Any]) -> Sequence[str]:
            return live.started().stages(pipeline, options) if may_run(f"tvm:{pipeline}") else ()

        def apply(self, name: str, options: Mapping[str, Any], module: IRModule) -> IRModule:
            if not may_run(name.partition("/")[0]):
                raise refused(name)
            return live.started().apply(name, options, module)

        def keep(self, before: IRModule, after: IRModule) -> None:
            live.started().keep(before, after)

    return Guarded()
