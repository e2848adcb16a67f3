"""The files opened last. They are kept in the state directory; a home that can't be written keeps none."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.files import CannotWrite, target

MOST = 10
_NAME = "recent.json"


def recent() -> list[str]:
    """The paths of files opened before that still exist, the last one first."""
    try:
        found = json.loads(short_text(directories.state() / _NAME))
    except (UnreadableText, ValueError, RecursionError):
        return []
    paths = [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    return [item for item in paths[:MOST] if _exists(item)]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def remember(path: str) -> None:
    """Put a path first. Standard input has none."""
    if path in ("", "-"):
        return
    full = str(Path(path).resolve())
    paths = [full, *[item for item in recent() if item != full]][:MOST]
    with suppress(OSError, CannotWrite):  # a read-only home: nothing is lost but this list
        directories.state().mkdir(parents=True, exist_ok=True)
        target(str(directories.state() / _NAME)).write(json.dumps(paths).encode())
