"""The files of a reduction: the program, and the values of its parameters beside it. Files of the user stay."""

from __future__ import annotations

import io
import os
import zipfile
from itertools import count
from pathlib import Path

from relax_explorer.core.session.arrays import archive
from relax_explorer.core.session.smallest import Reduction
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui.files import CannotWrite, Target, target
from relax_explorer.viz.reduction_text import MARK

_COMMENT = b"values of a program reduced by relax-explorer"


def default_name(path: str) -> str:
    """The file for what is reduced: a name from that of the input, in the folder of the user. Raises CannotWrite if another file has it."""
    stem = Path(path.partition("@")[0]).stem or "program"
    name = f"{'program' if path == '-' else stem}.reduced.py"
    if os.path.lexists(name) and not _is_own(name):
        raise CannotWrite(f"{name} is not a file of reduce; give another one with -o")
    return name


def values_name(found: Reduction, name: str | None) -> str:
    """The file for the values of parameters; empty if the program needs none, or goes to standard output."""
    if name is None or not found.values:
        return ""
    stem = f"{name.removesuffix('.py')}.values"
    names = (f"{stem}{f'-{number}' if number > 1 else ''}.npz" for number in count(1))
    return next(item for item in names if not os.path.lexists(item) or _has_own_values(item))


def write_values(found: Reduction, name: str) -> None:
    """Write the values of parameters. Raises CannotWrite."""
    if name:
        held = io.BytesIO(archive(found.values))
        with zipfile.ZipFile(held, "a") as file:
            file.comment = _COMMENT
        target(name).write(held.getvalue())


def checked(name: str) -> Target:
    """A file to write, which is none of the user's. Raises CannotWrite."""
    if os.path.lexists(name) and not _is_own(name):
        raise CannotWrite(f"{name} is not a file of reduce; give another name")
    return target(name)


def _has_own_values(name: str) -> bool:
    try:
        with zipfile.ZipFile(name) as file:
            return file.comment == _COMMENT
    except (OSError, zipfile.BadZipFile):
        return False


def _is_own(name: str) -> bool:
    try:
        return short_text(Path(name)).startswith(MARK)
    except (UnreadableText, OSError):
        return False
