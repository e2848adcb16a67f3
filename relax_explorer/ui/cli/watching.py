"""`--watch`: a command runs again when a file that it reads changed on the disk. Ctrl+c ends it, with the status of what is interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from relax_explorer.ui.cli import output
from relax_explorer.ui.file_stamp import stamp
from relax_explorer.viz.visible import visible

EVERY = 0.3  # seconds between looks at the files


def watched(paths: Sequence[str], run: Callable[[], int]) -> int:
    """Run a command now, and again whenever one of its files is another one. A file that is away for a moment is waited for."""
    if "-" in paths:
        raise click.UsageError(
            "--watch reads files again when they change; standard input is read once, so leave it out"
        )
    known = [stamp(path) for path in paths]
    code = run()
    if code == output.USAGE and not all(known):  # a file that is not there
        return code
    _tell(f"watching {_names(paths)}; ctrl+c ends it")
    while True:
        time.sleep(EVERY)
        now = [stamp(path) or before for path, before in zip(paths, known, strict=True)]
        changed = [path for path, new, old in zip(paths, now, known, strict=True) if new != old]
        if changed:
            known = now
            _tell(f"{_names(changed)} changed at {time.strftime('%H:%M:%S')}")
            _again(run)


def _again(run: Callable[[], int]) -> None:
    """Run it once more. What an option says may be wrong for the new text, and right for the next one."""
    try:
        run()
    except click.ClickException as error:
        output.say(f"Error: {error.format_message()}", err=True)


def _names(paths: Sequence[str]) -> str:
    shown = ", ".join(visible(Path(path).name or path, 60) for path in paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"


def _tell(remark: str) -> None:
    """Say something between two results, after all of the first one was written."""
    with output.stream():
        sys.stdout.flush()
    output.say(remark, err=True)
