"""The keys of the user: a preset, and single actions with keys of their own. Actions have names for this, such as `next-change`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from relax_explorer.ui.tui.keys import KEYS, LABELS, SCREENS, Key, keys_of

Keymap = tuple[Key, ...]


class BadKeys(Exception):
    """A key or an action does not exist, or a key has two actions. `action` is the name as it was written."""

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(reason)
        self.action = action


_WORDS = {
    "ask('')": "command", "ask('watch ')": "watch", "match(1)": "next-match", "match(-1)": "previous-match", "page(1)": "next-page",
    "page(-1)": "previous-page", "stage(1, True)": "next-changing-stage", "stage(-1, True)": "previous-changing-stage",
    "stage(1, False)": "next-stage", "stage(-1, False)": "previous-stage", "change(1)": "next-change", "change(-1)": "previous-change",
    "function(1)": "next-function", "function(-1)": "previous-function", "difference(1)": "next-difference",
    "difference(-1)": "previous-difference", "jump(1)": "jump-forward", "jump(-1)": "jump-back", "side(1)": "scroll-right",
    "side(-1)": "scroll-left", "radius(1)": "wider", "radius(-1)": "narrower", "to_cursor(False)": "to-cursor",
    "to_cursor(True)": "back-to-cursor", "move_step(1)": "move-pass-down", "move_step(-1)": "move-pass-up", "switch_step": "switch-pass",
    "edit_step": "edit-pass", "add": "add-pass", "remove": "remove-pass", "run_plan": "run-pipeline", "toggle_pass": "disable-pass",
    "pan(-1, 0)": "pan-left", "pan(1, 0)": "pan-right", "pan(0, -1)": "pan-up", "pan(0, 1)": "pan-down", "lower": "next-table",
    "fold_all('open')": "open-all", "fold_all('close')": "close-all", "whole": "whole-graph",
    "filter(1)": "next-filter", "filter(-1)": "previous-filter", "ask('checks given ')": "given", "pair(1)": "next-pair",
    "pair(-1)": "previous-pair", "match": "find",
}  # fmt: skip
"""The names of actions that their text does not give."""

PRESETS: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "gdb": {"finish": "f", "reverse-finish": "F", "inspect": "p,i", "watch": "d,a"},
    "vscode": {
        "search": "ctrl+f,/", "next-change": "F7,c", "previous-change": "shift+F7,C", "restart": "ctrl+shift+F5,r", "uses": "F12,%",
        "jump-back": "alt+left,ctrl+o", "jump-forward": "alt+right,alt+o", "undo": "ctrl+z,u", "redo": "ctrl+y,ctrl+r",
        "to-cursor": "ctrl+F10,.",
    },
    "vim": {
        "fold": "z a", "fold-all": "z i", "open-all": "z R", "close-all": "z M", "next-change": "] c", "previous-change": "[ c",
        "next-changing-stage": "] ]", "previous-changing-stage": "[ [", "top": "g g,home", "next-page": "ctrl+d,ctrl+f,pagedown",
        "quit": "Z Z,ctrl+q",
    },
}  # fmt: skip
"""What each preset changes: names of actions with their keys."""

_PUNCTUATION = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip
_NAMED = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "enter", "escape", "space", "backspace",
     "delete", "insert", *[f"f{number}" for number in range(1, 25)]}
)  # fmt: skip
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+left_square_bracket": "Esc"}  # what terminals send


def name_of(action: str) -> str:
    """The name of an action in settings."""
    if action in _WORDS:
        return _WORDS[action]
    head, _, rest = action.partition("(")
    words = re.sub(r"[^a-z]+", "-", rest.lower()).strip("-")
    if head == "run":
        return words
    return f"{head}-{words}".strip("-").replace("_", "-")


def action_names() -> list[str]:
    """The names of all actions."""
    return list(dict.fromkeys(name_of(key.action) for key in KEYS))


def named_keys(table: Keymap) -> list[tuple[str, str, str]]:
    """The actions: name, keys, description."""
    labels: dict[str, tuple[list[str], str]] = {}
    for key in table:
        shown = labels.setdefault(name_of(key.action), ([], key.description))[0]
        shown += [key.label] if key.key and key.label not in shown else []
    return [(name, " ".join(shown), doc) for name, (shown, doc) in labels.items()]


def keymap(preset: str = "default", changes: Mapping[str, str] | None = None) -> Keymap:
    """The table of keys of a preset, with other keys for single actions: `{"step": "F7,s", "fold": "z a"}`. Raises BadKeys."""
    table = KEYS
    for name, text in {**PRESETS[preset], **(changes or {})}.items():
        table = _with_keys(table, name, [_typed(name, part) for part in _parts(text)])
    for screen in (*SCREENS, "popup", "pipeline"):
        _check(screen, table, changes or {})
    return table


def _parts(text: str) -> list[str]:
    """The keys in a text with commas. A comma alone is a key."""
    return [","] if text.strip() == "," else [part.strip() for part in text.split(",") if part.strip()]


def _with_keys(table: Keymap, name: str, pressed: Sequence[str]) -> Keymap:
    """A table in which these keys, and no other, have an action."""
    rows = [key for key in table if name_of(key.action) == name]
    if not rows:
        near = get_close_matches(name, action_names(), 1)
        raise BadKeys(name, f"there is no action {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if not pressed:
        raise BadKeys(name, "it names no key")
    is_everywhere = any(not row.screens for row in rows)
    screens = () if is_everywhere else tuple(dict.fromkeys(screen for row in rows for screen in row.screens))
    hint = next((row.hint for row in rows if row.hint), "")
    new = [
        replace(rows[0], key=key, screens=screens, hint=hint if number == 0 else "", shown="")
        for number, key in enumerate(dict.fromkeys(pressed))
    ]
    at = table.index(rows[0])
    return (
        *[key for key in table[:at] if key not in rows],
        *new,
        *[key for key in table[at:] if key not in rows],
    )


def _typed(name: str, text: str) -> str:
    """A key, or two keys one after the other, as the terminal names them."""
    parts = text.split()
    if not 1 <= len(parts) <= 2:
        raise BadKeys(name, f"{text!r} is no key; write one key, or two with a space between them")
    return " ".join([_key(name, part) for part in parts])


def _key(name: str, text: str) -> str:
    by_label = {label: key for key, label in LABELS.items()}
    if text in by_label:
        return by_label[text]
    *modifiers, last = text.split("+") if text != "+" else ["+"]
    if len(last) == 1:
        last = (
            last if last.isalnum() else unicodedata.name(last, "").lower().replace(" ", "_").replace("-", "_")
        )
        last = _PUNCTUATION.get(last, last)
    elif last.lower() in {*_NAMED, *LABELS}:
        last = last.lower()
    else:
        last = ""
    pressed = "+".join([*[part.lower() for part in modifiers], last])
    if not last or not {part.lower() for part in modifiers} <= {"ctrl", "alt", "shift"}:
        raise BadKeys(name, f"{text!r} is no key; keys are such as s, S, ctrl+s, alt+left, F5, ] or Space")
    if pressed in _SAME:
        raise BadKeys(name, f"terminals send {_SAME[pressed]} for {text}; choose another key")
    return pressed


def _check(screen: str, table: Keymap, changes: Mapping[str, str]) -> None:
    """Raise BadKeys if a screen has two actions for a key that the table of the project gives one."""
    before = {(a.action, b.action) for a, b in _clashes(screen, KEYS)}
    for a, b in _clashes(screen, table):
        if (a.action, b.action) not in before:
            first, second = name_of(a.action), name_of(b.action)
            name, other = (first, second) if first in changes else (second, first)
            raise BadKeys(name, f"{_both(a, b)} is the key of {other!r} in {screen.title()}")


def _both(a: Key, b: Key) -> str:
    return a.label if a.key == b.key else f"{a.label}, or {b.label},"


def _clashes(screen: str, table: Keymap) -> Iterator[tuple[Key, Key]]:
    """Pairs of keys of one screen with different actions, where one is the other or begins it."""
    shared = [] if screen in ("popup", "pipeline") else [key for key in table if not key.screens]
    rows = [key for key in dict.fromkeys([*keys_of(screen, table), *shared]) if key.key]
    held: dict[str, Key] = {}
    for row in rows:
        first, _, second = row.key.partition(" ")
        other = held.get(row.key) or (held.get(first) if second else None)
        if other is not None and other.action != row.action:
            yield other, row
        held.setdefault(row.key, row)
    for row in rows:
        first, _, second = row.key.partition(" ")
        if second and first in held and held[first].action != row.action:
            yield held[first], row
