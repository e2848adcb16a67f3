"""Completion in the shell: what the words of a command line may become, and the script that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from relax_explorer.core.session.command import Argument
from relax_explorer.ui.cli.output import Exact, Result

VARIABLE = "_RELAX_EXPLORER_COMPLETE"  # click asks for completions by this variable of the environment
PROGRAMS = ("rxe", "relax-explorer")
Items = Iterable[tuple[str, str]]  # values, each with a remark


def completion(shell: str) -> Result:
    """Print the script for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # the command line offers no other shell
    # Without the check of click's own class, which starts the shell to ask for its version.
    scripts = [ShellComplete.source(kind(click.Command(None), {}, name, VARIABLE)) for name in PROGRAMS]
    return Result("completion", {}, [Exact("\n".join(scripts))])


def complete(argument: Argument, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What an argument may become. A shell completes names of files itself."""
    maker = _MAKERS.get(argument.kind)
    if maker is not None:
        return _matching(maker(ctx, incomplete), incomplete)
    return paths(incomplete)


def paths(incomplete: str) -> list[CompletionItem]:
    """Names of files. Behind `samples/` come the samples of the program, where no folder has that name."""
    from relax_explorer.ui.directories import SAMPLES, sample_name, samples

    if (
        not incomplete
        or Path(SAMPLES).is_dir()
        or not (SAMPLES + "/").startswith(incomplete[: len(SAMPLES) + 1])
    ):
        return [CompletionItem(incomplete, type="file")]
    here = [path.name for path in Path().glob("*") if not incomplete.count("/")]
    known = [(sample_name(path), "a sample") for path in samples()]
    return _matching([*((name, "") for name in sorted(here)), *known], incomplete)


def _matching(items: Items, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(value, help=remark or None) for value, remark in items if value.startswith(incomplete)
    ]


def _passes(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Names for the last part of a pipeline."""
    from relax_explorer.core import passes

    before, comma, _ = incomplete.rpartition(",")
    for name, parts in passes.PIPELINES.items():
        yield f"{before}{comma}{name}", ",".join(parts)
    for name, found in passes.table().items():
        yield f"{before}{comma}{name}", found.doc.splitlines()[0]
    if incomplete[len(before) + len(comma) :].startswith("tvm"):
        from relax_explorer.core.passes.live import offered

        yield from [(f"{before}{comma}{name}", "TVM's own") for name in offered()]


def _stages(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The stages of the given folder or file: numbers, then passes."""
    from relax_explorer.core.diagnostics import Failure
    from relax_explorer.core.passes.pipeline import steps
    from relax_explorer.core.session.build_files import open_build

    try:
        found = [(stage.number, stage.made_by) for stage in open_build(_input(ctx)).stages]
        made = steps(ctx.params.get("passes") or ())
    except (Failure, OSError):  # nothing completes a name that can't be read
        return
    found += [(len(found) + number, str(step)) for number, step in enumerate(made)]
    yield from [(str(number), name) for number, name in found]
    yield from [(name, f"stage {number}") for number, name in found]


def _input(ctx: click.Context) -> str:
    """The program of the command line, also if click did not come to it."""
    from relax_explorer.ui.directories import sample

    words = [sample(word) for word in ctx.meta.get("relax_explorer.words", ())]
    found = ctx.params.get("input") or next((word for word in words if Path(word).exists()), "")
    return str(found)


def _subjects(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """What `explain` knows. Operators are offered by their short names, unless `relax.` is typed."""
    from relax_explorer.core import ops
    from relax_explorer.viz.explanations import named

    if incomplete.startswith("relax."):
        yield from [(name, "operator") for name in ops.names()]
    yield from _codes(ctx, incomplete)
    yield from [(name, kind) for name, kind in named() if kind != "code"]


def _codes(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Codes of problems, for the last part of a list."""
    from relax_explorer.core.codes import CODES

    before, comma, _ = incomplete.rpartition(",")
    yield from [(f"{before}{comma}{name}", code.title) for name, code in CODES.items()]


_MAKERS: dict[str, Callable[[click.Context, str], Items]] = {
    "passes": _passes,
    "stage": _stages,
    "subject": _subjects,
    "codes": _codes,
}
