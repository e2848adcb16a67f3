"""`--packed`: Python files that the user trusts. They are executed, and register packed functions."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import click

from relax_explorer.core.exec.packed import packed_function


def register_files(given: Iterable[str]) -> None:
    """Execute the files of `--packed`, each once, and register the functions that it names. Raises click.UsageError."""
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
