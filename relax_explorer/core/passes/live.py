"""Live passes: those that another process applies to a program. Passes of TVM (`tvm:FuseOps`), each pass of its pipelines
(`tvm:zero`), and passes of the user's own Python (`my_module:my_pass`).

Such a step fails without a bridge (`bridge.py`) to that process. Live passes have no contract: what they give is checked as a program
that comes from outside.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from relax_explorer.core import passes as registry
from relax_explorer.core.check.claimed_phase import HISTORY, recorded
from relax_explorer.core.codes import foreign as codes
from relax_explorer.core.codes.passes import UNKNOWN_PASS
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir.node import replace as with_fields
from relax_explorer.core.passes.bridge import bridge
from relax_explorer.core.passes.contract import Kept, Option, Pass, PassSite, with_phase
from relax_explorer.core.passes.replace_module import taken_over
from relax_explorer.core.phases.module_check import checked, judged
from relax_explorer.core.phases.module_properties import PROPERTIES, Property
from relax_explorer.core.program.module import IRModule

TVM = "tvm:"
PIPELINES = ("zero", "default_build", "default_cpu")
"""TVM's pipelines that are offered; it has others."""
_ONLY_HERE = frozenset(
    {
        "ReplaceModule",
        "SpecializeShapes",
        "LowerWildcards",
        "ElideChecks",
        "EliminateShapeChecks",
        "SimplifyShapes",
    }
)
"""Passes that TVM does not have."""
_NAME = re.compile(r"tvm:[A-Za-z_][\w.]*(?:/\w+(?:#[0-9]+)?)?|[\w./\\~-]+:[A-Za-z_][\w.]*")


def is_live(name: str) -> bool:
    """True for the name of a pass that another process applies."""
    return ":" in name


@dataclass(frozen=True)
class LivePass(Pass):
    """A pass that another process applies. It takes any options: the other process knows which there are."""

    has_contract: ClassVar[bool] = False

    @property
    def doc(self) -> str:
        """What is known of it here."""
        of = "TVM's own" if self.name.startswith(TVM) else "your own"
        return f"{of[0].upper()}{of[1:]} pass, run in a Python process of its own."

    @property
    def options(self) -> tuple[Option, ...]:
        """None that are known here."""
        return ()

    def settled_options(self, values: dict[str, Any]) -> dict[str, Any]:
        """The options as they are."""
        return dict(values)

    def breaks(self, options: Mapping[str, Any]) -> set[Property]:
        """Nothing is known to stay."""
        return {*PROPERTIES}

    def apply(self, module: IRModule, options: dict[str, Any] | None = None) -> tuple[IRModule, PassSite]:
        """The module after the pass in normal form, with the problems of its result."""
        site = PassSite(module, rule=self.name, changes=frozenset(Kept))
        read = bridge().apply(self.name, options or {}, module)
        if read is module:
            return module, site
        result = checked(read, "tvm")
        new = taken_over(result.module, module, site)
        site.report.extend(judged(result.problems, "tvm", allow_unknown_ops=True))
        new = with_phase(_with_history(new, module), module)
        if new is not module:
            bridge().keep(read, new)
        return new, site


def _with_history(new: IRModule, before: IRModule) -> IRModule:
    """The module with the history of the one before, which TVM knows of a while ago."""
    ran = recorded(before)
    if ran is None or recorded(new) == ran:
        return new
    return with_fields(new, attrs=new.attrs.having(**{HISTORY: ran}))


def offered() -> list[str]:
    """The live passes that completion offers without asking TVM: its pipelines, and its passes that have a namesake here."""
    return [f"{TVM}{name}" for name in (*PIPELINES, *registry.own()) if name not in _ONLY_HERE]


def live_pass(name: str) -> LivePass:
    """The live pass of a name. Raises Failure for what is no such name."""
    if _NAME.fullmatch(name) is None:
        text = f"{name[:80]!r} is no pass: write tvm:PASS, tvm:PIPELINE or my_module:my_pass"
        raise Failure(Diagnostic(UNKNOWN_PASS, text, help=UNKNOWN_PASS.fix))
    return LivePass(name, _elsewhere, True)


def _elsewhere(module: IRModule, at: PassSite) -> IRModule:
    """What a live pass runs is in another process."""
    raise NotImplementedError


def stages(name: str, options: Mapping[str, Any]) -> Sequence[str]:
    """The names of the passes that a pipeline of TVM runs, each a step of its own; none if the name is one of a pass.

    If TVM can't be asked, there are none either: the step then fails, and tells why.
    """
    pipeline = name.removeprefix(TVM)
    if not name.startswith(TVM) or "/" in pipeline or not pipeline[:1].islower() or "." in pipeline:
        return ()
    try:
        return [f"{name}/{stage}" for stage in bridge().stages(pipeline, options)]
    except Failure:
        return ()


_SHOWN_BY_A_FILE = (codes.CRASHED, codes.TOO_LONG, codes.RAISED, codes.NOT_A_MODULE)


def reproduced(
    problems: Sequence[Diagnostic], pipeline: Sequence[object], file: str
) -> tuple[Diagnostic, ...]:
    """The problems of a step, the last one of a pipeline. A live pass that failed gets the command for a file that shows it with TVM alone."""
    if not problems or problems[0].code not in _SHOWN_BY_A_FILE:
        return (*problems,)
    words = [
        "relax-explorer",
        "export",
        file or "INPUT",
        "-p",
        ",".join(map(str, pipeline)),
        "-o",
        "reproducer.py",
    ]
    note = f"reproduce it: {shlex.join(words)} && python reproducer.py"
    first, *rest = problems
    return (replace(first, notes=(*first.notes, note)), *rest)
