"""What the command line prints and with which status it ends: data on stdout, talk on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

import relax_explorer
from relax_explorer.core.codes import passes as pass_codes
from relax_explorer.core.codes import runtime, syntax
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.syntax.load import decode, load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.problem import render

OK, FOUND, USAGE, CANNOT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130
_USAGE = frozenset({syntax.UNREADABLE, syntax.NOT_TEXT, syntax.NOT_UTF8, pass_codes.UNKNOWN_PASS, pass_codes.BAD_OPTION,
                    runtime.BAD_INPUT_FILE, runtime.UNKNOWN_FUNCTION, runtime.WRONG_INPUT, runtime.INPUT_COUNT})  # fmt: skip
_CANNOT = frozenset({runtime.NO_EVALUATION, runtime.UNKNOWN_PACKED, runtime.NO_KERNEL})


def status(failure: Failure) -> int:
    """The exit status that a failure deserves."""
    codes = {item.code for item in failure.diagnostics if item.is_error}
    if codes & _USAGE:
        return USAGE
    if codes & _CANNOT:
        return CANNOT
    return FOUND if any(code.id.startswith("RX05") for code in codes) else USAGE


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Diagnostics on stderr."""
    color = sys.stderr.isatty()
    for item in diagnostics:
        click.echo(render(item, color), err=True)


def read(path: str) -> IRModule:
    """The module in a file, or on standard input for `-`; raises ParseError."""
    if path != "-":
        return load(path)
    return parse(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>")


def plain(value: Any) -> Any:
    """Data that JSON can hold: NaN and infinities as strings, arrays as lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def document(schema: str, content: dict[str, Any]) -> str:
    """A JSON document with its head."""
    head = {"tool": "relax-explorer", "version": relax_explorer.__version__, "schema": f"rxe.{schema}/1"}
    return json.dumps(plain({**head, **content}), indent=2, ensure_ascii=False)


def write(text: str | bytes, path: str | None) -> None:
    """Text or bytes to a file, replaced as a whole, or to stdout."""
    if path is None:
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            click.echo(text, nl=not text.endswith("\n"))
        return
    target = Path(path)
    try:
        scratch = target.with_name(f".{target.name}.part")
        scratch.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        scratch.replace(target)
    except OSError as error:
        raise click.ClickException(f"{path} can't be written: {error.strerror}") from None
