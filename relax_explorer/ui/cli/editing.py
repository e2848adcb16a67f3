"""The language server for editors: `rxe lsp`."""

from __future__ import annotations

import click

from relax_explorer.ui.cli import output
from relax_explorer.ui.editor.regions import Rules


def lsp(profile: str, allow_unknown_ops: bool, stdio: bool) -> int:
    """Answer an editor on standard input and output until it ends the server. There is no other way, so that `stdio` says nothing."""
    try:
        from relax_explorer.ui.lsp.language_server import language_server
    except ModuleNotFoundError:
        raise click.UsageError("lsp needs pygls: pip install 'relax-explorer[lsp]'") from None
    language_server(Rules(profile, allow_unknown_ops)).start_io()
    return output.OK
