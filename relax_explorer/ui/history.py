"""What is kept between sessions: the files opened last, and the inputs of functions. A home that can't be written keeps none."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from relax_explorer.core.program.equal import structural_hash
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_inputs import CallInputs, is_file
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui import directories
from relax_explorer.ui.files import CannotWrite, target

MOST_RECENT = 10
_RECENT = "recent.json"


def recent() -> list[str]:
    """The paths of files opened before that still exist, the last one first."""
    try:
        found = json.loads(short_text(directories.state() / _RECENT))
    except (UnreadableText, ValueError, RecursionError):
        return []
    paths = [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    return [item for item in paths[:MOST_RECENT] if _exists(item)]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def remember_path(path: str) -> None:
    """Put a path first. Standard input has none."""
    if path in ("", "-"):
        return
    full = str(Path(path).resolve())
    paths = [full, *[item for item in recent() if item != full]][:MOST_RECENT]
    with suppress(OSError, CannotWrite):  # a read-only home: nothing is lost but this list
        directories.state().mkdir(parents=True, exist_ok=True)
        target(str(directories.state() / _RECENT)).write(json.dumps(paths).encode())


# -- remembered inputs -----------------------------------------------------------------------------------------------
# The inputs chosen last for each function of a module. They are kept in the state directory; a home that can't be
# written keeps none.
#
# A module is known by its structural hash, so that a moved or reformatted file is still known.


MOST = 100  # modules
LONGEST = 10_000  # characters of the inputs of one function
DAYS = 180
_NAME = "inputs.json"
_DAY = 86_400


def module_key(module: IRModule) -> str:
    """The name of a module in the file."""
    return f"{structural_hash(module):016x}"


def remembered(key: str) -> dict[str, CallInputs]:
    """The inputs of each function of a module. What is too old or malformed is left out."""
    functions = _modules().get(key, {}).get("functions")
    found = {}
    for name, item in functions.items() if isinstance(functions, dict) else ():
        call = _call(name, item)
        if call is not None:
            found[name] = call
    return found


def remember(key: str, function: str, call: CallInputs) -> None:
    """Keep the inputs of a function. Inputs that say nothing are forgotten."""
    item = {
        "sources": {name: _absolute(text) for name, text in call.sources.items()},
        "shape": dict(call.shape),
        "calls": os.path.abspath(call.calls) if call.calls else "",
    }
    if len(json.dumps(item)) > LONGEST:
        return
    modules = _modules()
    functions = modules.pop(key, {}).get("functions")
    kept = dict(functions) if isinstance(functions, dict) else {}
    kept.pop(function, None)
    if call.sources or call.shape or call.calls:
        kept[function] = item
    if kept:
        modules[key] = {"when": int(time.time()), "functions": kept}
    newest = sorted(modules.items(), key=lambda entry: _when(entry[1]))[-MOST:]
    with suppress(OSError, CannotWrite):  # a read-only home: nothing is lost but this file
        directories.state().mkdir(parents=True, exist_ok=True)
        target(str(directories.state() / _NAME)).write(json.dumps(dict(newest)).encode())


def _modules() -> dict[str, dict[str, object]]:
    """The modules of the file that are not too old."""
    try:
        found = json.loads(short_text(directories.state() / _NAME))
    except (UnreadableText, ValueError, RecursionError):
        return {}
    oldest = time.time() - DAYS * _DAY
    return {
        key: value
        for key, value in (found.items() if isinstance(found, dict) else ())
        if isinstance(value, dict) and _when(value) >= oldest
    }


def _when(module: Mapping[str, object]) -> float:
    """The second in which the inputs of a module were chosen."""
    when = module.get("when")
    return when if isinstance(when, int) else 0


def _call(name: str, item: object) -> CallInputs | None:
    if not isinstance(item, Mapping):
        return None
    sources, shape, calls = item.get("sources"), item.get("shape"), item.get("calls", "")
    if not isinstance(calls, str):
        return None
    if not isinstance(sources, Mapping) or not isinstance(shape, Mapping):
        return None
    if not all(isinstance(text, str) for text in sources.values()):
        return None
    if not all(type(length) is int and length >= 0 for length in shape.values()):
        return None
    return CallInputs(name, dict(sources), dict(shape), calls)


def _absolute(source: str) -> str:
    """A source whose file is found from every folder: `io.npz:x` and `x.npy` get the folder of now."""
    file, colon, key = source.partition(".npz:")
    path = Path(f"{file}.npz" if colon else source)
    with suppress(OSError, ValueError):
        if is_file(str(path)) and path.exists():
            return f"{path.resolve()}{':' + key if colon else ''}"
    return source
