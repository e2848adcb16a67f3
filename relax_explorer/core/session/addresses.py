"""Addresses of stages: `PATH@STAGE`. Nothing of the core is imported for them."""

from __future__ import annotations

import os


def address(text: str) -> tuple[str, str | None]:
    """Path and stage of `PATH@STAGE`. A file whose own name has an `@` is a path."""
    path, at, stage = text.rpartition("@")
    if not at or not path or os.path.exists(text):  # also for a name that no file can have
        return text, None
    return path, stage
