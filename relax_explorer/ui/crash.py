"""Write a report of an internal error, to attach to a bug report."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
import traceback
from pathlib import Path

import relax_explorer
from relax_explorer.ui import directories


def write_report(error: BaseException) -> Path:
    """Write traceback and versions to the state directory, or to a temporary one. Returns the path of the file."""
    text = "".join(traceback.format_exception(error))
    head = f"relax-explorer {relax_explorer.__version__}, Python {platform.python_version()}, {platform.platform()}\narguments: {sys.argv[1:]!r}\n\n"
    name = time.strftime("crash-%Y%m%d-%H%M%S.txt")
    for folder in (directories.state(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(head + text, encoding="utf-8")
        except OSError:
            continue
        return folder / name
    return Path("(not written)")
