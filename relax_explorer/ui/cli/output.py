"""Output and exit statuses of the command line: data on stdout, messages on stderr.

Every command imports this module, even `--version`, so imports for only some commands are local.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import click

from relax_explorer.ui.cli import streams
from relax_explorer.ui.files import STANDARD_OUTPUT, CannotWrite, Target
from relax_explorer.ui.process import has_colors
from relax_explorer.viz.visible import json_document, visible, visible_json, visible_lines

if TYPE_CHECKING:
    from relax_explorer.core.diagnostics import Diagnostic, Failure
    from relax_explorer.core.session.session import Session
    from relax_explorer.viz.pygmented import TerminalColors

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
OK, FOUND, USAGE, CANNOT, CRASHED, INTERNAL, INTERRUPTED, UNHEARD = 0, 1, 2, 3, 4, 70, 130, 141
STATUSES = {
    OK: "all is right",
    FOUND: "something was found: a problem, a difference, a wrong stage, a NaN",
    USAGE: "wrong usage, or a file that can't be read",
    CANNOT: "it can't be done here, or in part: something is missing, skipped or not supported",
    CRASHED: "a pass of TVM crashed",
    INTERNAL: "a fault of this program, whose report is named",
    INTERRUPTED: "interrupted",
    UNHEARD: "nobody reads the output any more",
}
"""What the exit statuses of all commands mean. `record` ends with the status of the script."""


# -- results -----------------------------------------------------------------------------------------------------------


class Styled(str):
    """A line whose parts are escaped already. It may have our colours."""


class Remark(str):
    """A line for standard error."""


class Exact(str):
    """A text for a reader that is a program: what ASCII lacks becomes escapes, not marks that look alike."""

    def __new__(cls, text: str) -> Self:
        """The text without the line break at its end, which every line gets."""
        return super().__new__(cls, text.removesuffix("\n"))


class Program(Exact):
    """TVMScript."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command found, for every format.

    JSON is `data`: a mapping, or a function that makes it when it is shown. Text is `lines`, best an iterator, so that they are only made
    when they are shown; the bytes of a picture are written as they are. Both go to `file`; `problems` and `remarks` go to standard error behind them.
    """

    schema: str
    data: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    lines: Iterable[str] | bytes = ()
    status: int = OK
    problems: Sequence[Diagnostic] = ()
    remarks: Sequence[str] = ()
    file: Target = STANDARD_OUTPUT

    @property
    def content(self) -> Mapping[str, Any]:
        """The data."""
        return self.data() if callable(self.data) else self.data


_style = "text"


def use_style(style: str) -> None:
    """Show the results of this process in a format."""
    global _style
    _style = style


def style() -> str:
    """The format in which results are shown."""
    return _style


def is_json() -> bool:
    """True if results are shown as JSON."""
    return _style == "json"


def show(result: Result) -> int:
    """Print or write a result in the format of the command; returns its exit status."""
    lines = result.lines
    if is_json():
        lines = [Exact(json_text(json_document(result.schema, result.content), 2))]
    if isinstance(lines, bytes):
        write(lines, result.file)
    elif result.file.name is not None:
        write("\n".join([*lines, ""]), result.file)
    else:
        for line in lines:
            _show_line(line)
    report(result.problems)
    for remark in result.remarks:
        say(remark, err=True)
    return result.status


def show_answer(result: Result) -> None:
    """Print one of the results of a session: its JSON is one line without a head."""
    if is_json():
        say(json_text({"schema": f"rxe.{result.schema}/1", **result.content}))
    assert not isinstance(result.lines, bytes)  # a session shows no pictures
    say_lines(result.lines)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines that only text has."""
    for line in () if is_json() else lines:
        _show_line(line)


def _show_line(line: str) -> None:
    if isinstance(line, Exact):
        # A program stays the same program: its strings get escapes, not marks that look alike.
        text = visible_lines(
            line.encode("ascii", "backslashreplace").decode() if streams.is_ascii() else line
        )
        say_styled(code(text) if isinstance(line, Program) else text)
    elif isinstance(line, Styled):
        say_styled(line)
    else:
        say(line, err=isinstance(line, Remark))


def aligned(rows: Sequence[Sequence[str]], numbers: int = 0) -> list[str]:
    """The rows of a table as lines of equal columns. The first `numbers` columns are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [
                text.rjust(width) if n < numbers else text.ljust(width)
                for n, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
        ).rstrip()
        for row in rows
    ]


# -- streams -----------------------------------------------------------------------------------------------------------


def status(failure: Failure) -> int:
    """The exit status of a failure."""
    from relax_explorer.core.codes import foreign, passes, relations, runtime, syntax

    usage = {syntax.UNREADABLE, syntax.NOT_TEXT, syntax.NOT_UTF8, passes.UNKNOWN_PASS, passes.BAD_OPTION,
             runtime.BAD_INPUT_FILE, runtime.UNKNOWN_FUNCTION, runtime.WRONG_INPUT, runtime.INPUT_COUNT, relations.NOTATION}  # fmt: skip
    cannot = {*runtime.NOT_HERE, runtime.TOO_LARGE,
              foreign.NO_INTERPRETER, foreign.NO_PACKAGE, foreign.TOO_LONG, foreign.NOT_READ_BACK, foreign.NOT_ALLOWED}  # fmt: skip
    codes = {item.code for item in failure.diagnostics if item.is_error}
    if codes & usage:
        return USAGE
    if codes & cannot:
        return CANNOT
    if foreign.CRASHED in codes:
        return CRASHED
    return FOUND if any(code.id.startswith(("RX05", "RX06", "RX070")) for code in codes) else USAGE


class Unwritable(click.ClickException):
    """Writing failed although the target passed its check."""

    exit_code = CANNOT


def say(text: str, err: bool = False) -> None:
    """Print text with control characters escaped: programs and file names cannot steer the terminal."""
    say_styled(visible_lines(text), err)


def say_styled(text: str, err: bool = False) -> None:
    """Print text with our colours. Its parts must be escaped already."""
    with stream(err):
        click.echo(text, err=err, color=has_colors(sys.stderr if err else sys.stdout))


@contextlib.contextmanager
def stream(err: bool = False) -> Iterator[None]:
    """Guard writes to a standard stream. A closed pipe ends the command with 128 + SIGPIPE, as usual.

    A failed write to standard output is reported. A failed write to standard error is ignored.
    """
    try:
        yield
    except BrokenPipeError:
        if not err:
            streams.drop(sys.stdout)
            sys.exit(UNHEARD)
    except OSError as problem:
        if not err:
            streams.drop(sys.stdout)
            reason = problem.strerror or str(problem)
            raise Unwritable(f"standard output can't be written: {reason}") from None


def report(diagnostics: Sequence[Diagnostic]) -> None:
    """Print diagnostics on stderr."""
    if not diagnostics:
        return
    from relax_explorer.viz.problem import render

    found = colors(err=True)
    for item in diagnostics:
        say_styled(render(item, found), err=True)


def colors(err: bool = False) -> TerminalColors | None:
    """The colours of standard output or standard error; None if it has none: see `has_colors`."""
    if not has_colors(sys.stderr if err else sys.stdout):
        return None
    from relax_explorer.viz.pygmented import TerminalColors
    from relax_explorer.viz.tokens import DARK, LIGHT

    is_light = os.environ.get("COLORFGBG", "").endswith((";7", ";15"))
    return TerminalColors(
        LIGHT if is_light else DARK, os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
    )


def width() -> int | None:
    """The columns of the terminal that standard output is; None for a file and a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def code(text: str) -> str:
    """TVMScript, coloured if standard output has colours. It must be escaped already."""
    found = colors()
    return found.code(text) if found else text


def of_passes(session: Session) -> list[Diagnostic]:
    """The errors of passes that failed or broke their contract. Later stages are then not the requested result."""
    return [item for stage in session.stages[1:] for item in stage.problems if item.is_error]


def is_misnamed(found: Sequence[Diagnostic]) -> bool:
    """True if a pass of a pipeline is not there, or has no such option, which only the process that has it could tell."""
    from relax_explorer.core.codes import passes

    return any(item.code in (passes.UNKNOWN_PASS, passes.BAD_OPTION) for item in found)


def json_text(value: object, indent: int | None = None) -> str:
    """Data as JSON. If standard output takes only ASCII, other characters are escapes: the same data when read back."""
    text = visible_json(value, indent)
    return _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text) if streams.is_ascii() else text


def write(text: str | bytes, target: Target) -> None:
    """Write text or bytes to a file or to standard output, where control characters of text are escaped."""
    if target.name is not None:
        save(target, text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))
    elif isinstance(text, bytes):
        with stream():
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
    else:
        _show_line(text if isinstance(text, Exact) else Exact(text))


def save(target: Target, data: bytes) -> None:
    """Write bytes to a file. If that fails, the command ends."""
    try:
        target.write(data)
    except CannotWrite as error:
        raise Unwritable(visible(str(error), 600)) from None
