"""Files that a test left in the checkout: whoever starts pytest there finds them, and the next commit takes them along."""

from __future__ import annotations

import os
from pathlib import Path

# What tools make, as `.gitignore` names it, and what other steps of CI write while the tests run.
_OF_TOOLS = ("__pycache__", "build", "dist", "htmlcov", "site", "node_modules")
_OF_OTHERS = ("editors", "tests/fuzz/found")


def names(folder: Path) -> set[str]:
    """The names in a folder that are neither hidden nor made by tools."""
    return {name for name in os.listdir(folder) if _counts(name)}


def files(root: Path) -> set[str]:
    """The files below a folder, as `names` chooses them, by their paths from there."""
    found: set[str] = set()
    for folder, folders, inside in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = [
            name for name in folders if _counts(name) and (place / name).as_posix() not in _OF_OTHERS
        ]
        found.update((place / name).as_posix() for name in inside if _counts(name))
    return found


def _counts(name: str) -> bool:
    return not name.startswith(".") and name not in _OF_TOOLS and not name.endswith((".egg-info", ".pyc"))


class Watch:
    """What is new in a folder since it was last asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = names(folder)

    def new(self) -> list[str]:
        """The new names; each is told once."""
        now = names(self.folder)
        found = sorted(now - self.known)
        self.known |= now
        return found
