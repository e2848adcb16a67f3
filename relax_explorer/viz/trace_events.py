"""A run and its passes as events for viewers of traces: https://ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relax_explorer.core.exec.timeline import Stretch
from relax_explorer.core.session.binding_matches import callee_of
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.node_text import binding_text

_PROCESS = 1
_PASSES, _BINDINGS, _KERNELS = 1, 2, 3
_THREADS = {_PASSES: "passes", _BINDINGS: "bindings", _KERNELS: "kernels"}
_MOST = 200  # characters of a text


def trace_events(title: str, stages: Sequence[Snapshot], stretches: Sequence[Stretch]) -> dict[str, Any]:
    """The document: passes one after the other, then the run, each in a row of its own; kernels stand in a third one."""
    events = list(_names(title))
    now = 0.0
    for stage in stages[1:]:
        arguments = {"stage": stage.label, "changed": stage.changed, "problems": len(stage.problems)}
        events.append(_complete(_PASSES, stage.made_by, "pass", now, stage.seconds, arguments))
        now += stage.seconds
    for stretch in stretches:
        events += _of_binding(stretch, now)
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"program": title[:_MOST]}}


def _names(title: str) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": _PROCESS, "tid": 0, "name": "process_name", "args": {"name": title[:_MOST]}}
    for thread, name in _THREADS.items():
        yield {"ph": "M", "pid": _PROCESS, "tid": thread, "name": "thread_name", "args": {"name": name}}
        yield {
            "ph": "M",
            "pid": _PROCESS,
            "tid": thread,
            "name": "thread_sort_index",
            "args": {"sort_index": thread},
        }


def _of_binding(stretch: Stretch, now: float) -> Iterator[dict[str, Any]]:
    """The event of a binding, and those of the kernel that it calls, which is compiled first."""
    binding, callee = stretch.binding, callee_of(stretch.binding)
    name = binding.var.name if binding.var is not None else callee
    start = now + stretch.start
    arguments = {
        "operation": callee, "function": stretch.function, "text": binding_text(binding)[:_MOST], "engine": stretch.engine,
        "bytes": stretch.size,
    }  # fmt: skip
    yield _complete(_BINDINGS, name, "binding", start, stretch.seconds, arguments)
    compiling = min(stretch.compiling, stretch.seconds)
    if compiling:
        yield _complete(
            _KERNELS, f"compile {stretch.kernel or callee}", "compile", start, compiling, {"binding": name}
        )
    if stretch.kernel:
        arguments = {"binding": name, "bytes": stretch.size}
        seconds = stretch.seconds - compiling
        yield _complete(_KERNELS, stretch.kernel, "kernel", start + compiling, seconds, arguments)


def _complete(
    thread: int, name: str, category: str, start: float, seconds: float, arguments: dict[str, Any]
) -> dict[str, Any]:
    """An event with a start and a length, in microseconds."""
    return {
        "ph": "X", "pid": _PROCESS, "tid": thread, "name": name[:_MOST], "cat": category, "ts": round(start * 1e6, 3),
        "dur": round(max(seconds, 0.0) * 1e6, 3), "args": arguments,
    }  # fmt: skip
