"""The options `--input`, `--shape` and `--packed`: values, lengths, and Python files that the user trusts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click

from relax_explorer.core.session.call_inputs import CallInputs

_LENGTH = re.compile(r"[0-9]{1,18}")


def inputs_given(sources: tuple[str, ...], shape: tuple[str, ...], function: str = "") -> CallInputs:
    """The inputs of a call that both options give."""
    call = CallInputs(function, sources_by_name(sources), lengths_given(shape))
    if call.whole and shape:
        raise click.UsageError(
            "--shape has no effect with a file of all inputs: its arrays have fixed lengths"
        )
    return call


def sources_by_name(sources: tuple[str, ...]) -> dict[str, str]:
    """The sources of `--input` by the name or number of their parameter."""
    found: dict[str, str] = {}
    for number, source in enumerate(sources):
        name, equals, value = source.partition("=")
        key = name if equals else str(number)
        if key in found:
            raise click.UsageError(f"--input gives {key!r} twice")
        found[key] = value if equals else source
    return found


def lengths_given(pairs: tuple[str, ...]) -> dict[str, int]:
    """The lengths of `--shape` by shape variable."""
    lengths = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not name or not _LENGTH.fullmatch(value):
            several = "; give --shape once for each length" if pair.count("=") > 1 else ""
            raise click.UsageError(
                f"--shape takes n=3, a length of at least 0 and below 10 to the 18th, not {pair[:60]!r}{several}"
            )
        if name in lengths:
            raise click.UsageError(f"--shape gives {name!r} twice")
        lengths[name] = int(value)
    return lengths


# -- packed files ----------------------------------------------------------------------------------------------------
# `--packed`: Python files that the user trusts. They are executed, and register packed functions.


def register_files(given: Iterable[str]) -> None:
    """Execute the files of `--packed`, each once, and register the functions that it names. Raises click.UsageError."""
    from relax_explorer.core.exec.packed import packed_function  # the explorer starts without the evaluator

    loaded: dict[Path, ModuleType] = {}
    for text in given:
        name, path, function = _parts(text)
        key = path.resolve()
        if key not in loaded:
            loaded[key] = _execute(path, f"rxe_packed_{len(loaded)}")
        if not function:
            continue
        found = getattr(loaded[key], function, None)
        if not callable(found):
            raise click.UsageError(f"--packed {text}: {path} has no function {function!r}")
        packed_function(name or function)(found)


def _parts(text: str) -> tuple[str, Path, str]:
    """The registered name, the file and its function, from `name=file.py:function`."""
    name, equals, rest = text.partition("=")
    file, colon, function = (rest if equals else text).rpartition(":")
    if not colon or not function.isidentifier() or not file.endswith(".py"):
        file, function = (rest if equals else text), ""
    if (equals and not (name and function)) or not file.endswith(".py"):
        raise click.UsageError(
            f"--packed takes FILE.py, FILE.py:FUNCTION or NAME=FILE.py:FUNCTION, not {text[:80]!r}"
        )
    return (name if equals else ""), Path(file), function


def _execute(path: Path, name: str) -> ModuleType:
    """The module of a file, executed."""
    if not path.is_file():
        raise click.UsageError(f"--packed {path}: there is no such file")
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"--packed {path}: it is no Python file")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as problem:  # a file of the user can raise anything
        raise click.UsageError(f"--packed {path} raised {type(problem).__name__}: {problem}") from problem
    return module
