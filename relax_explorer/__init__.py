"""Interactive IR explorer and visual debugger for Apache TVM Relax programs.

Every name below is loaded at its first use (PEP 562), so `import relax_explorer` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from relax_explorer.core.shown import draw_with

__version__ = "0.1.0"

_HOMES = {
    "parse": "core.syntax.parser",
    "load": "ui.loaded",
    "to_json": "core.syntax.dump",
    "from_json": "core.syntax.dump",
    "normalize": "core.check.normalize",
    "check": "core.phases.module_check",
    "well_formed": "core.phases.module_check",
    "structural_equal": "core.program.equal",
    "structural_hash": "core.program.equal",
    "apply_pass": "core.passes.pipeline",
    "run_pipeline": "core.passes.pipeline",
    "use_python": "viz.live_passes",
    "run": "core.exec.one_run",
    "debug": "core.exec.debugger",
    "graph": "viz.ir_graph",
    "html": "viz.notebook",
    "compare": "core.session.compare",
    "bisect": "core.session.bisect",
    "validate": "core.session.validate",
    "record": "recorder",
    "Session": "core.session.session",
    "open_session": "core.session.build_files",
    "Failure": "core.diagnostics",
    "ParseError": "core.diagnostics",
    "Diagnostic": "core.diagnostics",
    "IRModule": "core.program.module",
    "packed_function": "core.exec.packed",
    "Shape": "core.exec.values",
}
_ROOMS = {"ops": "core.ops", "passes": "core.passes", "extensions": "core.shapes.extensions"}
__all__ = ["__version__", *_ROOMS, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"relax_explorer.{_ROOMS[name]}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'relax_explorer' has no attribute {name!r}")
    value = getattr(import_module(f"relax_explorer.{home}"), name)
    globals()[name] = value
    return value


def _drawn(value: object) -> dict[str, str]:
    """What a notebook shows of a value."""
    found: dict[str, str] = import_module("relax_explorer.viz.notebook").mime_bundle(value)
    return found


draw_with(_drawn)


def __dir__() -> list[str]:
    return sorted(__all__)
