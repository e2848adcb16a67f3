"""Sessions of the explorer as files: an archive like that of a recording, with the text of the program and what was done with it.

Nothing in it is trusted: passes, places and commands are checked when it is read. Commands only set breakpoints and watches.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import Step
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.containers import Container, Json, damaged, open_container, whole
from relax_explorer.core.session.folders import is_container
from relax_explorer.core.session.session import Plan, Planned

_MOST = 1_000  # plans, marks, commands and functions
_LONGEST = 10_000  # characters of a name or a command
_COMMANDS = ("break", "disable", "watch")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place by names, since numbers of stages change with the pipeline."""

    stage: int = 0
    made_by: str = "input"
    function: str = ""
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """A session. `text` is that of the program; it is empty for the stages of a build, which stay where they are, at `path`.

    `plans` are the pipelines that were tried, in the order of the edits, and `at` the present one. `commands` set the breakpoints
    and watches of the debugger.
    """

    path: str
    text: str = ""
    plans: tuple[Plan, ...] = ()
    at: int = 0
    selection: Spot = field(default_factory=Spot)
    marks: Mapping[str, Spot] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    inputs: Mapping[str, CallInputs] = field(default_factory=dict)
    calls: str = ""

    @property
    def plan(self) -> Plan | None:
        """The present pipeline; recorded stages have none."""
        return self.plans[self.at] if self.plans else None

    @property
    def is_worth_keeping(self) -> bool:
        """True if something was done that opening the program again would not bring back."""
        return len(self.plans) > 1 or bool(self.marks or self.commands or self.inputs or self.calls)


# -- writing ---------------------------------------------------------------------------------------------------------


def archive(saved: Saved) -> bytes:
    """The file of a session."""
    data = saved.text.encode("utf-8", "backslashreplace")
    key = hashlib.sha256(data).hexdigest()
    told: Json = {
        "path": os.path.abspath(saved.path), "text": key if saved.text else "", "at": saved.at,
        "plans": [[[str(item.step), item.is_on] for item in plan.entries] for plan in saved.plans],
        "selection": _listed(saved.selection), "marks": {name: _listed(spot) for name, spot in saved.marks.items()},
        "commands": list(saved.commands), "calls": os.path.abspath(saved.calls) if saved.calls else "",
        "inputs": {name: [dict(call.sources), dict(call.shape)] for name, call in saved.inputs.items()},
    }  # fmt: skip
    file = io.BytesIO()
    contents = [(recorder.CONTENTS[recorder.TEXT].format(key), data)] if saved.text else []
    recorder.write_archive(file, [], {kind: [] for kind in recorder.PARTS}, contents, {"session": told})
    return file.getvalue()


def _listed(spot: Spot) -> list[object]:
    return [spot.stage, spot.made_by, spot.function, spot.variable]


# -- reading ---------------------------------------------------------------------------------------------------------


def saved_in(path: str) -> Saved | None:
    """The session in a file; None if it has none. Raises ParseError."""
    return saved_of(open_container(path)) if is_container(path) else None


def saved_of(container: Container) -> Saved | None:
    """The session in a container; None if it has none. Raises ParseError."""
    told = container.session
    if told is None:
        return None
    try:
        key = _text(told.get("text"))
        plans = tuple([_plan(item) for item in _items(told.get("plans"))])
        commands = tuple([_command(item) for item in _items(told.get("commands"))])
        marks = {_text(name): _spot(item) for name, item in _pairs(told.get("marks"))}
        inputs = {_text(name): _call(name, item) for name, item in _pairs(told.get("inputs"))}
        calls = _text(told.get("calls"))
        path, selection, at = _text(told.get("path")), _spot(told.get("selection")), whole(told.get("at"))
    except (TypeError, ValueError) as error:
        raise damaged(container.path, f"the session can't be read: {str(error)[:120]}") from None
    except Failure as failure:
        raise damaged(
            container.path, f"the session can't be read: {failure.diagnostics[0].message}"
        ) from None
    if plans and at >= len(plans):
        raise damaged(container.path, "the session names no pipeline of its own")
    text = container.text(key) if key else ""
    return Saved(path, text, plans, at, selection, marks, commands, inputs, calls)


def _items(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > _MOST:
        raise TypeError("a list is missing, or too long")
    return value


def _pairs(value: object) -> list[tuple[str, object]]:
    if not isinstance(value, dict) or len(value) > _MOST:
        raise TypeError("a table is missing, or too long")
    return list(value.items())


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or "\0" in value:
        raise TypeError("a text is missing, or too long")
    return value


def _plan(value: object) -> Plan:
    entries = []
    for item in _items(value):
        step, is_on = _items(item)
        if not isinstance(step, str) or not isinstance(is_on, bool):
            raise TypeError("a pass is a text, and on or off")
        (made,) = _steps(step)
        entries.append(Planned(made, is_on))
    return Plan(tuple(entries))


def _steps(text: str) -> list[Step]:
    found = Plan.of(text).steps
    if len(found) != 1:
        raise ValueError(f"{text[:60]!r} is not one pass")
    return found


def _spot(value: object) -> Spot:
    stage, made_by, function, variable = _items(value)
    return Spot(whole(stage), _text(made_by), _text(function), _text(variable))


def _command(value: object) -> str:
    text = _text(value)
    if text.partition(" ")[0] not in _COMMANDS or "\n" in text:
        raise ValueError(f"{text[:60]!r} sets no breakpoint and no watch")
    return text


def _call(name: str, value: object) -> CallInputs:
    sources, shape = _items(value)
    found = {_text(key): _text(item) for key, item in _pairs(sources)}
    return CallInputs(name, found, {_text(key): whole(item) for key, item in _pairs(shape)})
