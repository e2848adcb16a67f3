"""The command line loads only the modules that the command needs."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_needs_no_compiler_loads_none(word: str) -> None:
    code = (
        "import sys\n"
        "from relax_explorer.ui.cli.main import group\n"
        f"try:\n    group([{word!r}], prog_name='relax-explorer')\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "rooms = ('ir', 'syntax', 'check', 'passes', 'exec', 'ops', 'codes', 'session.session')\n"
        "heavy = {'numpy', 'textual', *(f'relax_explorer.core.{room}' for room in rooms)}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("relax-explorer" if word == "--version" else "Usage")
    assert done.stderr.strip() == "[]"
