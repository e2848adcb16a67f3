"""Settings of the command line: files in TOML, the nearest first, then the environment; what is typed wins.

    profile = "tvm"            # top level: every command that has the option
    [check]
    ignore = "RX0301"          # one command

`./relax-explorer.toml`, or the table `tool.relax-explorer` of a `pyproject.toml`, is looked for here and in the folders
above; then comes `config.toml` in the user's own folder. A variable `RXE_CHECK_PROFILE` sets one option of one command.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from relax_explorer.core.session.commands import COMMANDS
from relax_explorer.ui import places

Settings = dict[str, dict[str, Any]]


class BadConfig(Exception):
    """A file of settings can't be read; the text says which, where and why."""


def settings(start: Path, given: Path | None = None) -> tuple[Settings, list[str]]:
    """Defaults for each command, and remarks about keys that nobody knows; `given` replaces the files that are looked for."""
    options = {item.name: {a.key for a in item.arguments if not a.positional} for item in COMMANDS}
    merged: Settings = {name: {} for name in options}
    remarks: list[str] = []
    for path in reversed(list([given] if given else _files(start))):
        for name, value in _table(path).items():
            if isinstance(value, Mapping):
                _take(merged, options, name, value, path, remarks)
            elif not _everywhere(merged, options, name, value):
                remarks.append(_unknown(path, name, set().union(*options.values()) | options.keys()))
    return merged, remarks


def _take(
    merged: Settings,
    options: dict[str, set[str]],
    command: str,
    table: Mapping[str, Any],
    path: Path,
    remarks: list[str],
) -> None:
    known = options.get(command)
    if known is None:
        remarks.append(_unknown(path, f"[{command}]", options.keys()))
        return
    for name, value in table.items():
        if name.replace("-", "_") in known:
            merged[command][name.replace("-", "_")] = value
        else:
            remarks.append(_unknown(path, f"{command}.{name}", {f"{command}.{key}" for key in known}))


def _everywhere(merged: Settings, options: dict[str, set[str]], name: str, value: Any) -> bool:
    having = [command for command, known in options.items() if name.replace("-", "_") in known]
    for command in having:
        merged[command][name.replace("-", "_")] = value
    return bool(having)


def _unknown(path: Path, name: str, known: Any) -> str:
    near = get_close_matches(name.replace("-", "_"), sorted(known), 1)
    return f"{path}: unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _files(start: Path) -> Iterator[Path]:
    """The files that hold settings, the nearest first."""
    for folder in (start, *start.parents):
        own, project = folder / "relax-explorer.toml", folder / "pyproject.toml"
        if own.is_file():
            yield own
            break
        if project.is_file():
            yield project
            break
    user = places.config()
    if user.is_file():
        yield user


def _table(path: Path) -> Mapping[str, Any]:
    try:
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None
    found = whole.get("tool", {}).get("relax-explorer", {}) if path.name == "pyproject.toml" else whole
    return found if isinstance(found, Mapping) else {}
