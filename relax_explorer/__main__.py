"""`python -m relax_explorer` is the command line."""

from relax_explorer.ui.cli.main import main

main()
