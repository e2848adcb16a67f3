"""The pipelines that stand beside programs, as the passes here take them: in the calls of a script, and with the files that options name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from relax_explorer.core import passes as registry
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import FromFile, Step, steps
from relax_explorer.core.syntax.surroundings import WrittenPass


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


# -- pass files ------------------------------------------------------------------------------------------------------
# Files that options of passes name: `BindParams{params="weights.npz"}`.


def with_files(
    pipeline: str | Iterable[str], profile: str = "spec", opened: Callable[[str], str] = str
) -> list[Step]:
    """The steps of a pipeline, with what their files hold: arrays of an .npz for values by name, the text for ReplaceModule.

    The profile is that of `steps`. `opened` gets each path before it is opened, and may refuse it.
    Raises Failure for an unknown pass or option, and for an unreadable file.
    """
    return [
        replace(step, options={**step.options, **_option_arrays(step, opened), **_option_text(step, opened)})
        for step in steps(pipeline, profile)
    ]


def _option_text(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    """The text of the file that ReplaceModule goes on with."""
    path = step.options.get("text", "")
    if step.of.name != "ReplaceModule" or not path.endswith(".py") or "\n" in path:
        return {}
    from relax_explorer.core.syntax.load import read_text

    return {"text": read_text(opened(path))}


def _option_arrays(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    known = [option.name for option in step.of.options if isinstance(option.default, dict)]
    by_name = known if step.of.has_contract else list(step.options)  # of a live pass, no option is known here
    given = {name: step.options.get(name) for name in by_name}
    paths = {name: path for name, path in given.items() if isinstance(path, str) and path.endswith(".npz")}
    if not paths:
        return {}
    from relax_explorer.core.session.arrays import read_arrays

    return {name: FromFile(path, read_arrays(opened(path))) for name, path in paths.items()}
