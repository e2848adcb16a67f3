"""`serve`: the explorer in a browser of this machine, by textual-serve, an optional package."""

from __future__ import annotations

import errno
import socket
import sys
from pathlib import Path

import click

from relax_explorer.ui.cli import output, streams
from relax_explorer.viz.child import own_python

HOST = "127.0.0.1"  # no other machine reaches it
HIGHEST = 65535
_START = "from relax_explorer.ui.cli.main import main; main()"


def serve(
    input: str | None, passes: str | None, profile: str, theme: str, reduce_motion: bool, port: int
) -> int:
    """Serve the explorer until Ctrl+C."""
    try:
        from relax_explorer.ui.cli.token_server import TokenServer
    except ImportError:
        raise click.UsageError("serve needs textual-serve: pip install 'relax-explorer[serve]'") from None
    if input == "-":
        raise click.UsageError("serve takes a file or a folder: each tab of the browser reads it again")
    if input is not None and not Path(input).exists():
        raise click.UsageError(f"{input}: there is no such file or folder")
    words = [*own_python(_START), "tui", "--profile", profile, "--theme", theme]
    words += [*["--ascii"] * streams.is_ascii(), *["--reduce-motion"] * reduce_motion]
    words += ["--passes", passes] if passes is not None else []
    words += ["--", input] if input is not None else []
    with _listening(port) as listener:
        server = TokenServer(words, listener, Path(input).name if input else "Relax Explorer")
        output.say(f"{server.address}\nWho has this address controls the explorer. Ctrl+C ends it.")
        sys.stdout.flush()  # a reader of a pipe waits for the address
        server.run()
    return output.OK


def _listening(port: int) -> socket.socket:
    """A socket that listens on a port of this machine; port 0 takes a free one."""
    if not 0 <= port <= HIGHEST:
        raise click.UsageError(f"--port takes a number from 0 to {HIGHEST}; 0 takes a free port")
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise click.UsageError(f"port {port} is taken; --port 0 takes a free one") from None
        raise click.UsageError(f"port {port} can't be used: {error.strerror or error}") from None
