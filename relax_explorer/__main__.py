"""`python -m relax_explorer` is the command line."""

import os
import sys

# `-m` puts the current folder first, and modules would be taken from there. This package is found already.
if not sys.flags.safe_path and sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.curdir):
    del sys.path[0]

from relax_explorer.ui.cli.main import main

main()
