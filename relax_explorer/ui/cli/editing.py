"""The language server for editors: `rxe lsp`."""

from __future__ import annotations

import click

from relax_explorer.ui.cli import output
from relax_explorer.ui.editor.regions import Rules

_PACKAGES = (
    "pygls>=2.0,<3",
    "lsprotocol>=2025.0.0rc1",
)  # of the extra; these also work where a checkout is installed


def lsp(profile: str, allow_unknown_ops: bool, stdio: bool) -> int:
    """Answer an editor on standard input and output until it ends the server. There is no other way, so that `stdio` says nothing."""
    try:
        from relax_explorer.ui.lsp.language_server import language_server
    except ModuleNotFoundError:
        packages = " ".join([f"'{name}'" for name in _PACKAGES])
        raise click.UsageError(f"lsp needs pygls: pip install {packages}") from None
    language_server(Rules(profile, allow_unknown_ops)).start_io()
    return output.OK
