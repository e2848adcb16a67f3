"""The bridge to the process that applies live passes. The core starts none: a front end gives what makes the bridge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from relax_explorer.core.codes import foreign as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.program.module import IRModule


class Bridge(Protocol):
    """Asks the process that applies live passes."""

    def stages(self, pipeline: str, options: Mapping[str, Any]) -> Sequence[str]:
        """The names of the passes inside of a pipeline of TVM; none of what is no pipeline. Raises Failure."""

    def apply(self, name: str, options: Mapping[str, Any], module: IRModule) -> IRModule:
        """The module after a pass, as it was read; the same object if the pass changed nothing. Raises Failure."""

    def keep(self, before: IRModule, after: IRModule) -> None:
        """Let `after` stand for a module that `apply` gave: it is the same program, in normal form."""


class NoBridge(Bridge):
    """Refuses all live passes."""

    def stages(self, pipeline: str, options: Mapping[str, Any]) -> Sequence[str]:
        """None are known."""
        return ()

    def apply(self, name: str, options: Mapping[str, Any], module: IRModule) -> IRModule:
        """Raise Failure."""
        raise refused(name)

    def keep(self, before: IRModule, after: IRModule) -> None:
        """There is nothing to keep."""


def refused(name: str) -> Failure:
    """The failure of a live pass that may not run here."""
    text = f"{name} does not run here: only a pipeline that you type starts passes of TVM and of your own"
    return Failure(Diagnostic(codes.NOT_ALLOWED, text, help=codes.NOT_ALLOWED.fix, origin=name))


_bridges: list[Bridge] = []
_maker: Callable[[], Bridge] = NoBridge


def use_bridge(maker: Callable[[], Bridge]) -> None:
    """Make the bridge so, when it is asked for first."""
    global _maker
    _maker = maker
    _bridges.clear()


def bridge() -> Bridge:
    """The bridge of this process."""
    if not _bridges:
        _bridges.append(_maker())
    return _bridges[0]
