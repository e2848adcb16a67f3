"""The pipeline that a script applies to its module, as the passes here take it."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core import passes as registry
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.session.builds import Build
from relax_explorer.core.syntax.written_passes import WrittenPass

FILE = "file"
"""The name of the pipeline that stands in the file of a program."""


def proposed(written: Sequence[WrittenPass]) -> tuple[str, tuple[str, ...]]:
    """The pipeline of the calls in a script as text, and what it leaves out: passes that are unknown here, and their options."""
    parts, remarks = [], []
    for call in written:
        text, remark = _step(call)
        parts += [text] if text else []
        remarks += [f"line {call.line}: {remark}"] if remark else []
    return ",".join(parts), tuple(remarks)


def _step(call: WrittenPass) -> tuple[str, str]:
    """One step as text, and what was left out."""
    if call.name in registry.PIPELINES:
        return call.name, ""
    known = registry.table().get(registry.ALIASES.get(call.name, call.name))
    if known is None:
        return "", f"{call.name} is no pass here and is left out"
    names = [option.name for option in known.options]
    given = [*zip(names, call.args, strict=False), *call.options]
    text = (
        f"{call.name}{{{','.join([f'{name}={value!r}' for name, value in given])}}}" if given else call.name
    )
    if call.unknown:
        return (
            call.name,
            f"{call.name}: {', '.join(call.unknown)} is known only when the script runs; left out",
        )
    try:
        steps(text)
    except Failure as failure:
        return call.name, f"{call.name} without its options: {failure.diagnostics[0].message}"
    return text, ""


def pipeline_of(build: Build, passes: str) -> str:
    """The text of a pipeline; `file` is the one that stands in the file of the program. Raises Failure if there is none."""
    if passes.strip() != FILE:
        return passes
    if not build.written:
        text = f"{build.path} calls no pass that is known here"
        raise Failure(Diagnostic(codes.UNKNOWN_PASS, text, help="name the passes: -p LegalizeOps,FuseOps"))
    return build.written
