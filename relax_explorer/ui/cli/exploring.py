"""`tui`, `play` and `serve`: the explorer in a terminal, without one, and in a browser."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import shlex
import socket
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.folders import address
from relax_explorer.ui import live_settings
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.input_options import lengths_given, sources_by_name
from relax_explorer.ui.cli.output import Exact, Result
from relax_explorer.ui.files import STANDARD_OUTPUT, Target, target
from relax_explorer.ui.tui.keys import BadKeys, Keymap, keymap

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from relax_explorer.ui.tui.app import Explorer
    from relax_explorer.ui.tui.key_recording import Event


WATCHED = 0.25  # seconds between the keys that are played in a terminal
SIZE = (80, 24)  # of the screen without a terminal
_LARGEST = 1000


def tui(
    record: Target | None,
    play: str | None,
    allow_writes: bool,
    no_mouse: bool,
    watch: bool,
    **arguments: object,
) -> int:
    """Open the explorer."""
    if not (
        sys.stdout.isatty() or os.environ.get("TEXTUAL_DRIVER")
    ):  # `serve` draws through a driver of its own
        output.say("the explorer needs a terminal; `relax-explorer show FILE` prints the same", err=True)
        return output.USAGE
    if record is STANDARD_OUTPUT:
        raise click.UsageError("--record takes a file: the terminal shows the explorer")
    os.environ.setdefault("TEXTUAL_FPS", "120")  # a key takes up to three frames; Textual reads this once
    events = _events(play) if play is not None else None
    with collector_at_rest():  # its visits take a tenth of the time to the first picture
        from relax_explorer.ui.tui.launching import run_app
    app = explorer(**arguments)  # type: ignore[arg-type]  # click checked them
    app.stage_control.watch.turn(watch)
    if record is None and events is None:
        return run_app(app, mouse=not no_mouse)
    app.permit.is_all, app.permit.is_typed = allow_writes or events is None, events is None
    return _recorded(app, record, events, not no_mouse)


def _recorded(app: Explorer, record: Target | None, events: list[Event] | None, mouse: bool) -> int:
    """Run the explorer with a recording that is written, or one that is played first."""
    from relax_explorer.ui.tui.key_recording import BadRecording, Recorder, play
    from relax_explorer.ui.tui.launching import run_app

    async def played(pilot: Pilot[object]) -> None:
        try:
            await play(pilot, lambda: app.jobs.is_idle, events or [], pause=WATCHED)
            app.say("the recording ends here; the keys are yours")
        except BadRecording as problem:
            app.say(str(problem))
        app.permit.is_all = app.permit.is_typed = True

    if record is not None:
        app.recorder = Recorder(record, shlex.join(["relax-explorer", *sys.argv[1:]]))
    return run_app(app, played if events is not None else None, mouse)


def play(
    events: str,
    size: str | None,
    each: bool,
    allow_writes: bool,
    output_: Target | None,
    format: str,
    **arguments: object,
) -> Result:
    """Play a recording without a terminal, and print the screen."""
    from relax_explorer.ui.tui.key_recording import BadRecording, at_rest, screen_text
    from relax_explorer.ui.tui.key_recording import play as play_events

    found = _events(events)
    app = explorer(screen="passes", **arguments)  # type: ignore[arg-type]  # click checked them
    app.permit.is_all, app.permit.is_typed = allow_writes, False
    shown: list[str] = []
    problems: list[BadRecording] = []

    def take(event: Event | None = None) -> None:
        if app.is_running and (each or event is None):
            text = screen_text(app) if format == "text" else app.export_screenshot()
            shown.append(f"{event.line}: {event.text}\n{text}" if event is not None else text)

    async def played(pilot: Pilot[object]) -> None:
        try:
            await play_events(pilot, lambda: app.is_at_rest if each else app.jobs.is_idle, found, take)
            await at_rest(pilot, lambda: app.is_at_rest)
        except BadRecording as problem:
            problems.append(problem)
        if not each:
            take()
        app.exit(0)

    # An open loop gives signals back when the garbage collector finds it, and fails there, in whatever thread that runs.
    with closing(asyncio.new_event_loop()) as loop:
        app.run(headless=True, size=_size(size, found), auto_pilot=played, loop=loop)
    status = output.CANNOT if problems or app.return_code else output.OK
    remarks = [f"relax-explorer: {events}: {text}" for text in (*app.permit.refused, *problems[:1])]
    goal = output_ or STANDARD_OUTPUT
    return Result("play", {}, [Exact("\n\n".join(shown))], status, remarks=remarks, file=goal)


def _size(text: str | None, found: list[Event]) -> tuple[int, int]:
    """Columns and rows: those that were asked for, else the first ones of the recording."""
    if text is None:
        first = found[0].numbers if found and found[0].kind == "size" else SIZE
        return first[0], first[1]
    parts = re.fullmatch(r"([0-9]+)x([0-9]+)", text)
    if parts is None or not all(0 < int(part) <= _LARGEST for part in parts.groups()):
        raise click.UsageError(f"--size takes columns and rows, as 80x24, up to {_LARGEST}; not {text!r}")
    return int(parts[1]), int(parts[2])


def _events(path: str) -> list[Event]:
    from relax_explorer.ui.tui.key_recording import BadRecording, read_file

    try:
        return read_file(path)
    except BadRecording as problem:
        raise click.UsageError(str(problem)) from None


def explorer(
    input: str | None, passes: str | None, screen: str, profile: str, func: str | None, input_: tuple[str, ...], shape: tuple[str, ...],
    packed: tuple[str, ...], const: str | None, calls: str | None, theme: str, reduce_motion: bool, keys: str, key: tuple[str, ...],
    ranks: int | None = None, unsharded: str | None = None,
) -> Explorer:  # fmt: skip
    """The explorer of these options, which says nothing of a recording yet."""
    from relax_explorer.ui.tui.app import Explorer

    if packed:
        from relax_explorer.ui.cli.input_options import register_files

        register_files(packed)
    if calls is not None and (func or input_ or shape):
        raise click.UsageError(
            "--calls takes functions and inputs from its file: no other option may give them"
        )
    call = CallInputs(func or "", sources_by_name(input_), lengths_given(shape), calls or "")
    on_ranks = _ranks(ranks, unsharded)
    screen = "ranks" if on_ranks[0] else screen
    named = (input or "", const or "", call.calls, on_ranks[1], *call.sources.values())
    is_stage = input is not None and address(input)[1] is not None
    pipeline = "default" if passes is None and not is_stage else passes or ""
    app = Explorer(
        input,
        pipeline,
        screen,
        profile,
        call,
        theme,
        streams.is_ascii(),
        reduce_motion,
        _keymap(keys, key),
        const,
        on_ranks,
    )
    app.permit.name(named)
    known = live_settings.names_in(passes or "")
    live_settings.allow(
        live_settings.settings() or live_settings.Live(), lambda name: app.permit.is_typed or name in known
    )
    return app


def _ranks(ranks: int | None, unsharded: str | None) -> tuple[int, str]:
    """The number of ranks, and the program that is not divided; 0 without."""
    if ranks is None and unsharded is None:
        return 0, ""
    from relax_explorer.ui.cli.ranked_run import count_of  # few programs are divided

    return count_of(ranks), unsharded or ""


def _keymap(preset: str, pairs: tuple[str, ...]) -> Keymap:
    """The keys of `--keys` and `--key ACTION=KEY`."""
    changes = {name.strip(): text for name, _, text in (pair.partition("=") for pair in pairs)}
    try:
        return keymap(preset, changes)
    except BadKeys as error:
        raise click.UsageError(f"key {error.action!r}: {error}") from None


# -- serving ---------------------------------------------------------------------------------------------------------
# `serve`: the explorer in a browser of this machine, by textual-serve, an optional package.


HOST = "127.0.0.1"  # no other machine reaches it
HIGHEST = 65535
_START = "from relax_explorer.ui.cli.main import main; main()"


_SERVER = "textual-serve>=1.1,<2"  # of the extra; this command also works where a checkout is installed


def serve(
    input: str | None, passes: str | None, profile: str, theme: str, reduce_motion: bool, port: int, web: bool
) -> int:
    """Serve the explorer until Ctrl+C."""
    from relax_explorer.viz.child import own_python

    try:
        from relax_explorer.ui.cli.token_server import PageServer, TokenServer
    except ImportError:
        raise click.UsageError(f"serve needs textual-serve: pip install '{_SERVER}'") from None
    if input == "-":
        raise click.UsageError("serve takes a file or a folder: each tab of the browser reads it again")
    if input is not None and not Path(input).exists():
        raise click.UsageError(f"{input}: there is no such file or folder")
    if web and input is None:
        raise click.UsageError("--web shows a program: name a file or a folder")
    title = Path(input).name if input else "Relax Explorer"
    words = [*own_python(_START), "tui", "--profile", profile, "--theme", theme]
    words += [*["--ascii"] * streams.is_ascii(), *["--reduce-motion"] * reduce_motion]
    words += ["--passes", passes] if passes is not None else []
    chosen = live_settings.settings() or live_settings.Live()
    words += ["--python", chosen.python] if chosen.python else []
    words += ["--pass-seconds", str(chosen.seconds), "--target", chosen.target]
    words += ["--", input] if input is not None else []
    with _listening(port) as listener:
        if web and input is not None:
            from relax_explorer.ui.cli.graphing import live_page

            server: TokenServer = PageServer(
                partial(live_page, input, passes, profile), Path(input), listener, title
            )
        else:
            server = TokenServer(words, listener, title)
        output.say(
            f"{server.address}\nWho has this address {'sees' if web else 'controls'} the explorer. Ctrl+C ends it."
        )
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


def save(input: str, passes: str | None, output_: Target | None) -> Result:
    """Write a program with passes, or the stages of a build, as a session of the explorer."""
    from relax_explorer.core.session.build_passes import with_files
    from relax_explorer.core.session.builds import pipeline_of
    from relax_explorer.core.session.saved import Saved, archive
    from relax_explorer.core.session.session import Plan
    from relax_explorer.ui.cli.opening import build_at

    if input == "-":
        raise click.UsageError("a session names its program: INPUT is a file or a folder")
    if output_ is STANDARD_OUTPUT:
        raise click.UsageError("--output takes a file")
    build = build_at(input)
    if build.is_recorded and passes is not None:
        raise click.UsageError("a build has its own passes: name one of its stages, as PATH@STAGE")
    plans = (
        () if build.is_recorded else (Plan.of(with_files(pipeline_of(build, passes or "default"), "spec")),)
    )
    saved = Saved(input, "" if build.is_recorded else build.stages[0].text, plans)
    name = f"{Path(input).name.partition('@')[0].partition('.')[0]}.rxs"
    return Result("save", {}, archive(saved), file=output_ or target(name))
