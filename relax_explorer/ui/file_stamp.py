"""Tells if what stands on the disk at a path is another content than before, without reading it."""

from __future__ import annotations

import os

MOST = 1_000  # files of a folder that are looked at; builds have about 100


def stamp(path: str) -> str:
    """Another text for another content of a file, or of the files in a folder; empty if nothing is there."""
    from relax_explorer.core.session.folders import address

    try:
        place = address(path)[0] if path else ""
        found = os.stat(place) if place else None
        inside = _inside(place) if place and os.path.isdir(place) else ""
    except (OSError, ValueError):  # ValueError: a name with a null character
        return ""
    return "" if found is None else f"{_of(found)}{inside}"


def _inside(folder: str) -> str:
    """The stamps of the files in a folder. A file that goes meanwhile is left out."""
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)[:MOST]
    parts = []
    for name in names:
        try:
            parts.append(f"; {name} {_of(os.stat(os.path.join(folder, name)))}")
        except OSError:
            continue
    return "".join(parts)


def _of(found: os.stat_result) -> str:
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"
