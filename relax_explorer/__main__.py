"""`python -m relax_explorer` is the command line, as is the installed program."""

import os
import sys
from importlib.util import find_spec

NEEDED = ("click", "platformdirs")  # without them not even `doctor` starts, which tells of all the others


def main() -> None:
    """Start the command line. Says what to install if it can't start, with the exit status 3."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        lacks = f"relax-explorer needs {' and '.join(missing)}, not installed in {sys.executable}"
        sys.stderr.write(f"{lacks}\n    {sys.executable} -m pip install {' '.join(missing)}\n")
        sys.exit(3)
    from relax_explorer.ui.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    # `-m` puts the current folder first, and modules would be taken from there. This package is found already.
    if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
        del sys.path[0]
    main()
