"""Interactive IR explorer and visual debugger for Apache TVM Relax programs.

Every name below is loaded at its first use (PEP 562), so `import relax_explorer` is fast. Names that do not stand here are private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from relax_explorer.core.shown import draw_with, write_with
from relax_explorer.version import __version__ as __version__

# Where each name is, for Python; and below the same for type checkers and editors (tests/library).
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
    "cost": "core.cost.program_cost",
    "Cost": "core.cost.program_cost",
    "record": "recorder",
    "Session": "core.session.session",
    "open_session": "core.session.build_files",
    "Failure": "core.diagnostics",
    "ParseError": "core.diagnostics",
    "Diagnostic": "core.diagnostics",
    "IRModule": "core.program.module",
    "packed_function": "core.exec.packed",
    "Shape": "core.exec.values",
    "inputs": "core.session.scripting",
    "bindings": "core.session.scripting",
    "find": "core.session.scripting",
    "diff": "core.session.scripting",
    "Function": "core.ir.expr",
    "Binding": "core.ir.expr",
    "Comparison": "core.session.verdict",
    "Bisection": "core.session.bisect",
    "Debugger": "core.exec.debugger",
}
_ROOMS = {"ops": "core.ops", "passes": "core.passes", "extensions": "core.shapes.extensions"}
__all__ = ["__version__", *_ROOMS, *_HOMES]

if TYPE_CHECKING:
    from relax_explorer.core import ops as ops
    from relax_explorer.core import passes as passes
    from relax_explorer.core.check.normalize import normalize as normalize
    from relax_explorer.core.cost.program_cost import Cost as Cost
    from relax_explorer.core.cost.program_cost import cost as cost
    from relax_explorer.core.diagnostics import Diagnostic as Diagnostic
    from relax_explorer.core.diagnostics import Failure as Failure
    from relax_explorer.core.diagnostics import ParseError as ParseError
    from relax_explorer.core.exec.debugger import Debugger as Debugger
    from relax_explorer.core.exec.debugger import debug as debug
    from relax_explorer.core.exec.one_run import run as run
    from relax_explorer.core.exec.packed import packed_function as packed_function
    from relax_explorer.core.exec.values import Shape as Shape
    from relax_explorer.core.ir.expr import Binding as Binding
    from relax_explorer.core.ir.expr import Function as Function
    from relax_explorer.core.passes.pipeline import apply_pass as apply_pass
    from relax_explorer.core.passes.pipeline import run_pipeline as run_pipeline
    from relax_explorer.core.phases.module_check import check as check
    from relax_explorer.core.phases.module_check import well_formed as well_formed
    from relax_explorer.core.program.equal import structural_equal as structural_equal
    from relax_explorer.core.program.equal import structural_hash as structural_hash
    from relax_explorer.core.program.module import IRModule as IRModule
    from relax_explorer.core.session.bisect import Bisection as Bisection
    from relax_explorer.core.session.bisect import bisect as bisect
    from relax_explorer.core.session.build_files import open_session as open_session
    from relax_explorer.core.session.compare import compare as compare
    from relax_explorer.core.session.scripting import bindings as bindings
    from relax_explorer.core.session.scripting import diff as diff
    from relax_explorer.core.session.scripting import find as find
    from relax_explorer.core.session.scripting import inputs as inputs
    from relax_explorer.core.session.session import Session as Session
    from relax_explorer.core.session.validate import validate as validate
    from relax_explorer.core.session.verdict import Comparison as Comparison
    from relax_explorer.core.shapes import extensions as extensions
    from relax_explorer.core.syntax.dump import from_json as from_json
    from relax_explorer.core.syntax.dump import to_json as to_json
    from relax_explorer.core.syntax.parser import parse as parse
    from relax_explorer.recorder import record as record
    from relax_explorer.ui.loaded import load as load
    from relax_explorer.viz.ir_graph import graph as graph
    from relax_explorer.viz.live_passes import use_python as use_python
    from relax_explorer.viz.notebook import html as html
else:

    def __getattr__(name):
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


def _written(value: object, is_brief: bool) -> str:
    """A value as text, for `repr` and `print`."""
    text: str = import_module("relax_explorer.viz.plain_text").text(value, is_brief)
    return text


draw_with(_drawn)
write_with(_written)


def __dir__() -> list[str]:
    return sorted(__all__)
