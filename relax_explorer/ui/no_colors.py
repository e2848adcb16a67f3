"""Whether the environment asks for no colours (https://no-color.org), for the explorer and the command line alike."""

from __future__ import annotations

import os


def no_colors() -> bool:
    """True with a NO_COLOR that is not empty, and in a dumb terminal."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
