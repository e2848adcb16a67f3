"""The executable. Click commands are built from the command table; a call without a command opens the explorer."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

import relax_explorer
from relax_explorer.core.notations import CONTRACTS, RELATIONS
from relax_explorer.core.session.command import Argument, Command
from relax_explorer.ui import live_settings, process
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.output import Result
from relax_explorer.ui.commands import ASCII, COLOR, COMMANDS
from relax_explorer.ui.files import CannotWrite, Target, target
from relax_explorer.ui.run_commands import WATCH
from relax_explorer.viz.visible import visible_lines

if TYPE_CHECKING:
    _OfTarget = click.ParamType[Target]
    _OfSource = click.ParamType[str]
else:
    _OfTarget = _OfSource = click.ParamType  # before click 8.4 it takes no type


class _TargetType(_OfTarget):
    """A file to write, checked before the command begins."""

    name = "file"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        if isinstance(value, Target):
            return value
        try:
            return target(str(value))
        except CannotWrite as error:
            self.fail(str(error), param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class _SourceType(_OfSource):
    """A file or folder to read. `samples/…` also names the samples of the program."""

    name = "path"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from relax_explorer.ui.directories import sample

        return sample(str(value))


_TYPES: dict[str, Any] = {
    "int": click.INT, "float": click.FLOAT, "target": _TargetType(), "source": _SourceType(), "sources": _SourceType(),
    "code": click.Path(),
}  # fmt: skip
_COMPLETED = frozenset({"source", "sources", "passes", "stage", "subject", "codes"})
"""The kinds of arguments that complete to something."""


@contextlib.contextmanager
def _safe_messages() -> Iterator[None]:
    """Escape control characters in error messages: they quote user input, file names and function names."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = visible_lines(error.message)
        raise


_PRINTED = {RELATIONS: "relations", CONTRACTS: "shapes"}
"""The commands that print files of other notations. Without a terminal a file is printed."""


_TABLE = {item.name: item for item in COMMANDS}


class _Group(click.Group):
    """A group that treats an unknown command as a file to open."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _TABLE and not args[0].startswith("-"):
            if not ctx.resilient_parsing:
                self._need_file(ctx, args)
            printed = _PRINTED.get(Path(args[0]).suffix, "show")
            opened = "tui" if sys.stdout.isatty() or ctx.resilient_parsing else printed
            return opened, self.get_command(ctx, opened), args
        return super().resolve_command(ctx, args)

    def _need_file(self, ctx: click.Context, args: list[str]) -> None:
        """Refuse a word that is no command and no file but looks like a command, and several files where none can be opened."""
        from difflib import get_close_matches  # not needed by a call that is right

        word = args[0]
        if not Path(word).exists() and word.isidentifier():
            close = get_close_matches(word, _TABLE)
            if close or len(args) > 1:
                hint = (
                    f"Did you mean {close[0]}?" if close else f"{ctx.command_path} --help lists the commands."
                )
                ctx.fail(f"there is no command and no file {word!r}. {hint}")
        files = list(takewhile(lambda arg: Path(arg).exists(), args))
        if len(files) > 1 and not sys.stdout.isatty():
            ctx.fail(
                "several files are the stages of one session, which opens in a terminal. Print each one with show, or use diff."
            )

    def make_context(self, *arguments: Any, **named: Any) -> click.Context:
        with _safe_messages(), output.stream():  # which prints the help
            return super().make_context(*arguments, **named)

    def invoke(self, ctx: click.Context) -> object:
        with _safe_messages():
            return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and the files that the first word may also be."""
        from relax_explorer.ui.cli.completing import paths

        files = [] if incomplete.startswith("-") else paths(incomplete)
        return [*files, *super().shell_complete(ctx, incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_TABLE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, made from the table when it is asked for."""
        if cmd_name in _TABLE and cmd_name not in self.commands:
            self.add_command(_command(_TABLE[cmd_name]))
        return super().get_command(ctx, cmd_name)


def _parameter(argument: Argument) -> click.Parameter:
    value_type: Any = (
        click.Choice(argument.choices) if argument.choices else _TYPES.get(argument.kind, click.STRING)
    )
    many = argument.may_repeat
    own: dict[str, Any] = {"type": value_type, "metavar": argument.metavar or None}
    if argument.kind in _COMPLETED:
        own["shell_complete"] = _completer(argument)
    if argument.positional:
        return click.Argument([argument.key], required=argument.required, nargs=-1 if many else 1, **own)
    own |= {"help": argument.doc, "allow_from_autoenv": not argument.is_typed}
    names = [argument.name, *([argument.short] if argument.short else []), argument.key]
    if argument.kind in ("flag", "permission", "watch"):
        return click.Option(names, is_flag=True, default=argument.default, **{**own, "type": None})
    if argument.kind == "optional":
        return click.Option(names, is_flag=False, flag_value="*", **own)
    shown = argument.default not in (None, False) and not many
    default = () if many else argument.default
    return click.Option(names, default=default, multiple=many, show_default=shown, **own)


def _completer(argument: Argument) -> Callable[..., list[CompletionItem]]:
    """What click asks for completions. The lists are loaded then."""

    def found(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from relax_explorer.ui.cli.completing import complete

        return complete(argument, ctx, incomplete)

    return found


def _ascii_option() -> click.Option:
    """`--ascii`, before or behind the name of a command. It acts at once, since `--help` prints too."""

    def chosen(ctx: click.Context, param: click.Parameter, value: bool | None) -> None:
        if value is not None and not ctx.resilient_parsing:
            streams.use_ascii(value)

    return click.Option(
        ["--ascii/--no-ascii"],
        default=None,
        help=ASCII.doc,
        is_eager=True,
        expose_value=False,
        callback=chosen,
    )


def _color_option() -> click.Option:
    """`--color`, before or behind the name of a command, as `--ascii`."""

    def chosen(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None and not ctx.resilient_parsing:
            process.use_colors(value)
            ctx.call_on_close(lambda: process.use_colors("auto"))  # a host may call again without it

    return click.Option(
        [COLOR.name],
        type=click.Choice(COLOR.choices),
        metavar=COLOR.metavar,
        help=COLOR.doc,
        is_eager=True,
        expose_value=False,
        callback=chosen,
    )


def _callback(command: Command[int | Result]) -> Callable[..., None]:
    """What click calls. `--version` and `--help` import no handler."""

    forms = [argument.key for argument in command.arguments if argument.kind == "form"]
    pipelines = [argument.key for argument in command.arguments if argument.kind == "passes"]
    sources = [argument for argument in command.arguments if argument.kind in ("source", "sources")]

    def callback(**arguments: Any) -> None:
        output.use_style(next((arguments.pop(key) for key in forms), "text"))
        if "pass_seconds" in arguments:
            _allow_live(pipelines, arguments)
        is_watched = WATCH in command.arguments and arguments.pop(WATCH.key)
        try:
            if is_watched:
                from relax_explorer.ui.cli.watching import watched  # few calls wait

                code = watched(_paths(sources, arguments), lambda: _status(command, arguments))
            else:
                code = _status(command, arguments)
        except KeyboardInterrupt:
            code = output.INTERRUPTED
        sys.exit(code)

    return callback


def _paths(sources: Sequence[Argument], arguments: Mapping[str, Any]) -> list[str]:
    """What a command reads."""
    found = [arguments[item.key] for item in sources]
    return [path for item in found for path in ([item] if isinstance(item, str) else item)]


def _status(command: Command[int | Result], arguments: dict[str, Any]) -> int:
    """Run a command and show what it found; its exit status."""
    from relax_explorer.core.diagnostics import Failure  # only a command that runs can fail so

    try:
        found = command.run(**arguments)
        return found if isinstance(found, int) else output.show(found)
    except Failure as failure:
        output.report(failure.diagnostics)
        return output.status(failure)


def _allow_live(pipelines: Sequence[str], arguments: dict[str, Any]) -> None:
    """Let passes of TVM and of the user run in this process. Only what was typed names them."""
    seconds = arguments.pop("pass_seconds")
    if not seconds >= 0:  # also refuses NaN
        raise click.UsageError("--pass-seconds takes a number from 0 on")
    live_settings.allow(live_settings.Live(arguments.pop("python") or "", seconds, arguments.pop("target")))
    for key in pipelines:
        found = live_settings.names_in(arguments[key] or "")
        typed = click.get_current_context().get_parameter_source(key)
        if found and typed is not click.core.ParameterSource.COMMANDLINE:
            text = f"{min(found)} executes code, which no settings file and no environment variable chooses"
            raise click.UsageError(f"{text}; type the option --{key}")


class _Command(click.Command):
    """A command that keeps its words for completion: click drops the arguments if an option without its value follows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["relax_explorer.words"] = tuple(args)
        return super().parse_args(ctx, args)


def _command(spec: Command[int | Result]) -> click.Command:
    epilog = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in spec.examples)
    return _Command(
        spec.name,
        callback=_callback(spec),
        params=[*[_parameter(a) for a in spec.arguments], _ascii_option(), _color_option()],
        help=spec.doc,
        epilog=epilog,
    )


@click.group(
    cls=_Group,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "auto_envvar_prefix": "RXE",
    },
    epilog="\b\nExit statuses of all commands:\n"
    + "\n".join(f"  {status:3}  {meaning}" for status, meaning in output.STATUSES.items()),
)
@click.version_option(relax_explorer.__version__, prog_name="relax-explorer")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="read settings only from this file",
)
@click.option("--isolated", is_flag=True, help="ignore all settings files")
@click.pass_context
def group(ctx: click.Context, config_file: Path | None, isolated: bool) -> None:
    """Explore and debug Relax programs of Apache TVM: `relax-explorer FILE` opens the explorer."""
    if not isolated:
        from relax_explorer.ui import config

        try:
            ctx.default_map, remarks = config.settings(Path.cwd(), config_file)
        except config.BadConfig as error:
            raise click.UsageError(str(error)) from None
        for remark in remarks:
            output.say(f"warning: {remark}", err=True)
    if ctx.invoked_subcommand is None:
        if not sys.stdout.isatty():
            output.say(ctx.get_help())
            return
        opened = group.get_command(ctx, "tui")
        assert opened is not None
        with opened.make_context("tui", ["--screen", "home"], parent=ctx) as home:
            opened.invoke(home)


group.params += [_ascii_option(), _color_option()]


def main() -> None:
    """Run the command line. An internal error exits with status 70 and prints the path of its report."""
    streams.prepare()
    process.check_memory()
    streams.keep_interrupts()
    process.own()
    try:
        group(prog_name="relax-explorer")
    except (SystemExit, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  # the last line of defence: a report instead of a traceback
        if process.is_want_of_memory(error):
            process.leave_for_memory()
        from relax_explorer.ui.process import write_report

        output.say(
            f"relax-explorer: internal error: {type(error).__name__}: {error}\nreport: {write_report(error)}",
            err=True,
        )
        sys.exit(output.INTERNAL)


if __name__ == "__main__":
    main()
