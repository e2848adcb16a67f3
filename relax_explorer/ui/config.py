"""Settings of the command line. Typed options win, then environment variables, then TOML files, the nearest first.

    profile = "tvm"            # top level: every command that has the option
    [check]
    ignore = "RX0301"          # one command
    [keys]
    preset = "vim"             # default, gdb, vscode or vim
    next-change = ["F7", "c"]  # other keys for one action

The project file is `relax-explorer.toml`, or the table `tool.relax-explorer` of a `pyproject.toml`, in the current folder
or one above. It cannot set paths, because a stranger may have written it. Then comes `config.toml` in the user's own
folder. An environment variable sets one option of one command: `RXE_CHECK_PROFILE`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.commands import COMMANDS, EVERYWHERE

Settings = dict[str, dict[str, Any]]


class BadConfig(Exception):
    """A settings file can't be read. The text names the file, the place and the reason."""


@dataclass(slots=True)
class _Reader:
    """Merges the settings files. `personal` options cannot be set by project files, `code` options by no file."""

    options: dict[str, set[str]]
    personal: set[str]
    code: set[str]
    kinds: dict[tuple[str, str], str]
    merged: Settings
    remarks: list[str]

    def read(self, path: Path, is_project: bool) -> None:
        """Add the settings of a file; they override earlier ones. `is_project` marks a project file, which the user may never have seen."""
        for name, value in _table(path).items():
            if name == "keys":
                self._keys(path, value, is_project)
            elif isinstance(value, Mapping):
                self._command(path, name, value, is_project)
            else:
                having = [command for command, known in self.options.items() if _key(name) in known]
                self._set(path, name, having, name, value, is_project)

    def _command(self, path: Path, command: str, table: Mapping[str, Any], is_project: bool) -> None:
        known = self.options.get(command)
        if known is None:
            self.remarks.append(_unknown(path, f"[{command}]", self.options.keys()))
            return
        for name, value in table.items():
            having = [command] if _key(name) in known else []
            self._set(path, f"{command}.{name}", having, name, value, is_project)

    def _keys(self, path: Path, table: object, is_project: bool) -> None:
        """Add the keys of the explorer. Raises BadConfig with the line of a wrong one."""
        from relax_explorer.ui.tui.keys import PRESETS, BadKeys, keymap

        if is_project:
            text = f"{path}: setting 'keys' is ignored: a file found in a folder does not choose keys"
            self.remarks.append(text)
            return
        if not isinstance(table, Mapping):
            raise BadConfig(f"{path}: setting 'keys' has to be a table, not {_brief(table)}")
        changes = {name: _pressed(path, name, value) for name, value in table.items() if name != "preset"}
        preset = table.get("preset", "default")
        if not isinstance(preset, str) or preset not in PRESETS:
            place = _place(path, "preset")
            raise BadConfig(
                f"{place}: keys.preset is {_brief(preset)}, it must be one of {', '.join(PRESETS)}"
            )
        try:
            keymap(preset, changes)
        except BadKeys as error:
            raise BadConfig(f"{_place(path, error.action)}: keys.{error.action}: {error}") from None
        self.merged["tui"]["keys"] = preset
        self.merged["tui"]["key"] = [f"{name}={text}" for name, text in changes.items()]

    def _set(
        self, path: Path, written: str, having: list[str], name: str, value: object, is_project: bool
    ) -> None:
        if not having:
            option_names = {key for known in self.options.values() for key in known} | self.options.keys()
            inside = {f"{command}.{key}" for command, known in self.options.items() for key in known}
            self.remarks.append(_unknown(path, written, inside if "." in written else option_names))
        elif _key(name) in self.code:
            self.remarks.append(
                f"{path}: setting {written!r} is ignored: no settings file chooses code to execute; type the option"
            )
        elif is_project and _key(name) in self.personal:
            self.remarks.append(
                f"{path}: setting {written!r} is ignored: a file found in a folder does not choose paths; "
                "type the option, or name the file with --config"
            )
        else:
            for command in having:
                kind = self.kinds[command, _key(name)]
                self.merged[command][_key(name)] = _fitting(f"{path}: setting {written!r}", kind, value)


def settings(start: Path, given: Path | None = None) -> tuple[Settings, list[str]]:
    """Defaults for each command, and warnings about unknown or refused keys. `given` replaces all other files.

    Project files may come from strangers, so they cannot set paths to read or write. The user's own file and `given` can.
    """
    options, personal, code, kinds = _declared()
    reader = _Reader(options, personal, code, kinds, {name: {} for name in options}, [])
    for path, is_project in [(given, False)] if given else reversed(list(_files(start))):
        reader.read(path, is_project)
    return reader.merged, reader.remarks


@cache
def _declared() -> tuple[dict[str, set[str]], set[str], set[str], dict[tuple[str, str], str]]:
    """The options of each command, those that are personal, those that choose code, and the kind of each."""
    arguments = {item.name: (*item.arguments, *EVERYWHERE) for item in COMMANDS}
    options = {name: {a.key for a in own if not a.positional} for name, own in arguments.items()}
    personal = {a.key for own in arguments.values() for a in own if a.is_personal}
    code = {a.key for own in arguments.values() for a in own if a.is_typed}
    return options, personal, code, {(name, a.key): a.kind for name, own in arguments.items() for a in own}


def _fitting(place: str, option_type: str, value: object) -> object:
    """Convert a value to the type of its option. Raises BadConfig for a wrong type."""
    is_list = isinstance(value, list)
    items: list[Any] = value if isinstance(value, list) else [value]
    if any(isinstance(item, (list, Mapping)) or (is_list and not isinstance(item, str)) for item in items):
        raise BadConfig(f"{place} is {_brief(value)}, which is no value of an option")
    if option_type in ("pair", "many"):
        return [str(item) for item in items]
    if is_list and option_type in ("passes", "codes"):
        return ",".join(items)
    types: dict[str, tuple[type, ...]] = {
        "flag": (bool,),
        "switch": (bool,),
        "int": (int,),
        "float": (int, float),
    }
    accepted = types.get(option_type, (str,))
    if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
        raise BadConfig(f"{place} is {_brief(value)}, it must be {_WORDS.get(option_type, 'a text')}")
    return value


def _pressed(path: Path, name: str, value: object) -> str:
    """The keys of an action as one text."""
    given = value if isinstance(value, list) else [value]
    keys = [key for key in given if isinstance(key, str)]
    if not keys or len(keys) < len(given):
        place = _place(path, name)
        raise BadConfig(f"{place}: keys.{name} is {_brief(value)}, it must be a text or a list of texts")
    return ",".join(keys)


def _place(path: Path, name: str) -> str:
    """The file with the line behind the head `[keys]` that gives a name a value."""
    is_inside = False
    for number, line in enumerate(short_text(path).splitlines(), 1):
        written, equals, _ = line.partition("=")
        if line.strip().startswith("["):
            is_inside = line.strip().strip("[] ").split(".")[-1] == "keys"
        elif is_inside and equals and written.strip().strip("\"'") == name:
            return f"{path}:{number}"
    return str(path)


_WORDS = {
    "flag": "true or false", "switch": "true or false", "int": "a whole number", "float": "a number", "passes": "a text or a list of texts",
    "codes": "a text or a list of texts",
}  # fmt: skip


def _brief(value: object) -> str:
    text = "true" if value is True else "false" if value is False else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _key(name: str) -> str:
    return name.replace("-", "_")


def _unknown(path: Path, name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name.replace("-", "_"), sorted(known), 1)
    return f"{path}: unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _files(start: Path) -> Iterator[tuple[Path, bool]]:
    """The settings files, the nearest first, each with True for a project file."""
    for folder in (start, *start.parents):
        own, project = folder / "relax-explorer.toml", folder / "pyproject.toml"
        if own.is_file():
            yield own, True
            break
        if project.is_file():
            yield project, True
            break
    user = directories.config()
    if user.is_file():
        yield user, False


@lru_cache(8)
def _toml(text: str) -> Mapping[str, Any]:
    """The content of a TOML file. A `pyproject.toml` of 400 lines takes 5 ms, which a process that runs many commands spends once."""
    return tomllib.loads(text)


def _table(path: Path) -> Mapping[str, Any]:
    try:
        whole = _toml(short_text(path))
    except RecursionError:
        raise BadConfig(f"{path}: its values are nested too deep") from None
    except (UnreadableText, ValueError) as error:  # ValueError: not TOML
        raise BadConfig(f"{path}: {error}") from None
    if path.name != "pyproject.toml":
        return whole
    tool = whole.get("tool", {})
    found = tool.get("relax-explorer", {}) if isinstance(tool, Mapping) else tool
    if not isinstance(found, Mapping):
        raise BadConfig(f"{path}: tool.relax-explorer has to be a table, not {type(found).__name__}")
    return found
