"""Files that options of passes name: `BindParams{params="weights.npz"}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from relax_explorer.core.passes.pipeline import FromFile, Step, steps


def with_files(
    pipeline: str | Iterable[str], profile: str = "spec", opened: Callable[[str], str] = str
) -> list[Step]:
    """The steps of a pipeline, with what their files hold: arrays of an .npz for values by name, the text for ReplaceModule.

    The profile is that of `steps`. `opened` gets each path before it is opened, and may refuse it.
    Raises Failure for an unknown pass or option, and for an unreadable file.
    """
    return [
        replace(step, options={**step.options, **_arrays(step, opened), **_edited(step, opened)})
        for step in steps(pipeline, profile)
    ]


def _edited(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    """The text of the file that ReplaceModule goes on with."""
    path = step.options.get("text", "")
    if step.of.name != "ReplaceModule" or not path.endswith(".py") or "\n" in path:
        return {}
    from relax_explorer.core.syntax.load import read_text

    return {"text": read_text(opened(path))}


def _arrays(step: Step, opened: Callable[[str], str]) -> dict[str, object]:
    by_name = [option.name for option in step.of.options if isinstance(option.default, dict)]
    given = {name: step.options.get(name) for name in by_name}
    paths = {name: path for name, path in given.items() if isinstance(path, str) and path.endswith(".npz")}
    if not paths:
        return {}
    from relax_explorer.core.session.arrays import read_arrays

    return {name: FromFile(path, read_arrays(opened(path))) for name, path in paths.items()}
