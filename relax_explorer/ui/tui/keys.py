"""The table of all keys. Bindings, footer, help, palette and the names of settings come from it. Lower case goes forward, UPPER CASE back.

A key's action is the method `action_NAME` of the screen, or of the app. Users may choose other keys: a preset, and single actions.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from textwrap import wrap
from typing import TYPE_CHECKING

from relax_explorer.viz.tokens import MARKS

if TYPE_CHECKING:  # settings are read without Textual
    from textual.binding import Binding, BindingsMap, BindingType


@dataclass(frozen=True, slots=True)
class Key:
    """The action of a key on `screens` (on all when empty). `hint` is its word in the footer, `name` that of the action in settings."""

    key: str
    action: str
    description: str
    screens: tuple[str, ...] = ()
    hint: str = ""
    shown: str = ""
    name: str = ""

    @property
    def label(self) -> str:
        """The key as shown to users; empty for an action without a key."""
        return self.shown or " ".join([_label(part) for part in self.key.split()])


Keymap = tuple[Key, ...]


class BadKeys(Exception):
    """A key or an action does not exist, or a key has two actions. `action` is the name as it was written."""

    def __init__(self, action: str, reason: str) -> None:
        super().__init__(reason)
        self.action = action


# -- keys as users write them ----------------------------------------------------------------------------------------


def _label(key: str) -> str:
    head, plus, last = key.rpartition("+")
    name = last.upper() if last[0] == "f" and last[1:].isdecimal() else last
    return LABELS.get(key) or f"{head}{plus}{LABELS.get(last, name)}"


LABELS = {
    "question_mark": "?", "slash": "/", "colon": ":", "escape": "Esc", "tab": "Tab", "shift+tab": "shift+Tab", "enter": "Enter",
    "pagedown": "PageDown", "pageup": "PageUp", "home": "Home", "end": "End", "right_curly_bracket": "}", "left_curly_bracket": "{",
    "right_square_bracket": "]", "left_square_bracket": "[", "alt+right_square_bracket": "alt+]", "alt+left_square_bracket": "alt+[",
    "full_stop": ".", "comma": ",", "circumflex_accent": "^", "dollar_sign": "$", "percent_sign": "%", "plus": "+", "minus": "-",
    "space": "Space", "apostrophe": "'", "less_than_sign": "<", "greater_than_sign": ">", "asterisk": "*", "equals_sign": "=",
    "left_parenthesis": "(", "right_parenthesis": ")",
}  # fmt: skip
"""The keys that have another name for users."""
_BY_LABEL = {label: key for key, label in LABELS.items()}
_PUNCTUATION = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus", "plus_sign": "plus",
    "low_line": "underscore",
}  # fmt: skip
_NAMED = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "tab", "enter", "escape", "space", "backspace",
     "delete", "insert", *[f"f{number}" for number in range(1, 25)]}
)  # fmt: skip
_SAME = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+left_square_bracket": "Esc"}  # what terminals send


def _parts(text: str) -> list[str]:
    """The keys in a text with commas. A comma alone is a key."""
    return [","] if text.strip() == "," else [part.strip() for part in text.split(",") if part.strip()]


def _typed(name: str, text: str) -> str:
    """A key, or two keys one after the other, as the terminal names them."""
    parts = text.split()
    if not 1 <= len(parts) <= 2:
        raise BadKeys(name, f"{text!r} is no key; write one key, or two with a space between them")
    return " ".join([_key(name, part) for part in parts])


def _key(name: str, text: str) -> str:
    if text in _BY_LABEL:
        return _BY_LABEL[text]
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


# -- table -----------------------------------------------------------------------------------------------------------


def _act(
    keys: str, action: str, description: str, hint: str = "", name: str = "", shown: str = ""
) -> tuple[Key, ...]:
    """An action with its keys; the first one stands in the footer. Most actions give their name in settings themselves."""
    pressed = [_typed(action, part) for part in _parts(keys)] or [""]
    first = Key(pressed[0], action, description, (), hint, shown, name or _name(action))
    return (first, *[replace(first, key=key, hint="", shown="") for key in pressed[1:]])


def _on(screens: str, *rows: tuple[Key, ...]) -> Keymap:
    """Keys of some screens; without any, of all that have no other use for them."""
    return tuple(replace(key, screens=tuple(screens.split())) for row in rows for key in row)


def _name(action: str) -> str:
    """The name of an action in settings, by its text."""
    head, _, rest = action.partition("(")
    words = re.sub(r"[^a-z]+", "-", rest.lower()).strip("-")
    return words if head == "run" else f"{head}-{words}".strip("-").replace("_", "-")


_IR = "passes debug"
_STAGES = "passes graph problems compare checks ranks"  # in debug, another stage would end the run
KEYS: Keymap = (
    *_on("",
        _act("1", "show('passes')", "Passes: stages and what each changed"),
        _act("2", "show('debug')", "Debug: evaluation step by step"),
        _act("3", "show('graph')", "Graph: the dataflow graph"),
        _act("4", "show('problems')", "Problems: errors and warnings of all stages"),
        _act("5", "show('compare')", "Compare: the values of two stages"),
        _act("6", "show('checks')", "Checks of lengths left to the run: why, and what removes them"),
        _act("7", "show('solver')", "Solver: type relations and shape contracts step by step"),
        _act("8", "show('ranks')", "Ranks: the values of one program on several ranks"),
        _act("0", "show('home')", "Home: recent files and samples"),
    ),
    *_on(_STAGES,
        _act("]", "stage(1, True)", "Next stage that changed the module", "next stage", name="next-changing-stage"),
        _act("[", "stage(-1, True)", "Previous stage that changed the module", name="previous-changing-stage"),
        _act("alt+]", "stage(1, False)", "Next stage", name="next-stage"),
        _act("alt+[", "stage(-1, False)", "Previous stage", name="previous-stage"),
    ),
    *_on("passes",
        _act("c", "change(1)", "Next change in this stage", "change", name="next-change"),
        _act("C", "change(-1)", "Previous change in this stage", name="previous-change"),
        _act("d", "diff", "Changes in place, side by side, only what changed, or none", "diff"),
        _act("w", "who", "Who changed this value or kernel; Enter goes to a stage", "who"),
    ),
    *_on("passes",
        _act("r", "debug_here", "Debug the function under the cursor", "values"),
    ),
    *_on("graph",
        _act("r", "debug_here", "Debug the function under the cursor"),
    ),
    *_on("passes",
        _act("B", "bisect", "Bisect: the first stage whose results are wrong", "bisect"),
        _act("R", "reduce", "Reduce: the smallest program that shows the fault of this stage, as a file"),
        _act("x", "toggle_pass", "Turn the pass of this stage off, or on again, and run the rest anew", name="disable-pass"),
        _act("E", "edit_pipeline", "Edit the pipeline: turn off, move, add and remove passes", "pipeline"),
        _act("u", "undo", "Undo the last change of the pipeline"),
        _act("ctrl+r", "redo", "Redo it"),
        _act("alt+u", "edits", "All pipelines that were tried; Enter goes back to one"),
    ),
    *_on(_IR,
        _act("m", "mark", "Mark this place; a letter follows", shown="m a"),
        _act("'", "to_mark", "Go to a mark; a letter follows, ' goes back", shown="' a"),
    ),
    *_on("passes",
        _act("t", "density", "Compact, TVMScript with StructInfo at the right, or as written"),
        _act("U", "unchanged", "Show or hide stages that changed nothing"),
        _act("i", "details", "Show or hide the details"),
        _act("}", "function(1)", "Next function", name="next-function"),
        _act("{", "function(-1)", "Previous function", name="previous-function"),
    ),
    *_on(_IR,
        _act("%", "uses", "The next use of this value, then its definition"),
    ),
    *_on("debug",
        _act("s,F11", "run('step')", "Step: the next binding, into calls", "step"),
        _act("S", "run('reverse-step')", "Step back", "back"),
        _act("n,F10", "run('next')", "Next binding, over calls", "next"),
        _act("N", "run('reverse-next')", "Back over calls"),
        _act("c,F5", "run('continue')", "Run to a breakpoint or the end", "run"),
        _act("C", "run('reverse-continue')", "Back to a breakpoint or the start"),
        _act("b,F9", "breakpoint", "Set or clear a breakpoint on the selected binding", "break"),
        _act("B", "condition", "Edit the condition of the breakpoint on the selected binding"),
        _act("i", "inspect", "Inspect the selected value: elements, numbers, NaN places", "inspect"),
        _act("I", "inputs", "Inputs of the run: files, sources, lengths", "inputs"),
        _act("o,shift+F11", "run('finish')", "Run until the function returns"),
        _act("O", "run('reverse-finish')", "Back to before the function was entered"),
        _act("e", "run('into')", "Into the PrimFunc that is called, store by store"),
        _act("E", "run('reverse-into')", "Back, store by store"),
        _act(".", "to_cursor(False)", "Run to the selected binding", name="to-cursor"),
        _act(",", "to_cursor(True)", "Back to the selected binding", name="back-to-cursor"),
        _act("^", "run('goto start')", "To the first step"),
        _act("$", "run('goto end')", "To the last step"),
        _act(")", "run('next-call')", "To the next call of a file of calls"),
        _act("(", "run('previous-call')", "Back to the start of this call, or to the call before"),
        _act(">", "run('step')", "One step forward"),
        _act("<", "run('reverse-step')", "One step back"),
        _act("a", "ask('watch ')", "Watch an expression", name="watch"),
        _act("x", "blame", "Where the NaN or infinity of the selected value came from"),
        _act("v", "lower", "Next table: values, shapes, calls, breakpoints", name="next-table"),
        _act("r", "restart", "Start again"),
    ),
    *_on(f"{_IR} graph",
        _act("alt+c", "ask('cost ')", "What the function costs: FLOPs, bytes and memory of each binding", name="cost"),
    ),
    *_on(_IR,
        _act("K", "explain", "Explain the selected operator: operands, type rule, errors; or the pass"),
    ),
    *_on("problems",
        _act("K", "explain", "Explain the code of the problem"),
        _act("R", "reduce", "Reduce: the smallest program that shows the problem, as a file"),
    ),
    *_on(_IR,
        _act("z", "fold", "Fold or open the function, block, branch or kernel", "fold"),
        _act("Z", "fold_all", "Open everything, or fold all"),
        _act("", "fold_all('open')", "Open everything", name="open-all"),
        _act("", "fold_all('close')", "Fold all", name="close-all"),
    ),
    *_on("debug",
        _act("w", "who", "Who changed this value or kernel; Enter goes to a stage"),
    ),
    *_on("graph",
        _act("e", "export", "Write the graph as SVG", "SVG"),
        _act("j,down", "node('down')", "To a reader of the value, else to a node below"),
        _act("k,up", "node('up')", "To an input, else to a node above"),
        _act("h,left", "node('left')", "To the next node on the left", "node", shown="hjkl"),
        _act("l,right", "node('right')", "To the next node on the right"),
        _act("H", "pan(-1, 0)", "Pan; the cursor stays", name="pan-left"),
        _act("J", "pan(0, 1)", "Pan; the cursor stays", name="pan-down"),
        _act("K", "pan(0, -1)", "Pan; the cursor stays", name="pan-up"),
        _act("L", "pan(1, 0)", "Pan; the cursor stays", name="pan-right"),
        _act("f", "calls", "Functions: which calls which; Enter opens one", "functions"),
        _act("z", "layers", "Draw equal layers once or each"),
        _act("M", "memory", "Show or hide allocations, ends of lives and lengths of a lowered function", name="memory"),
        _act("Enter", "enter", "Go to the binding: in Debug during a run, else in Passes", "go there"),
        _act("o", "open", "Show or hide what the called function computes"),
        _act("d", "removed", "Show what the stage removed, too: its changes as one graph", "changes"),
        _act("c", "heat", "Colour by class, by the time of a run, by the bytes of its values", "heat"),
        _act("C", "counted_heat", "Colour by FLOPs, by bytes moved, by memory held; no run is needed", name="counted-heat"),
        _act("s", "storages", "Colour values by the storage that holds them, after StaticPlanBlockMemory", name="storages"),
        _act("m", "map", "Show or hide the map of a drawing that is larger than the view"),
        _act("+", "radius(1)", "A wider neighbourhood of the selected binding", "wider", name="wider"),
        _act("-", "radius(-1)", "A narrower neighbourhood", "narrower", name="narrower"),
        _act("a", "whole", "The whole graph", "all", name="whole-graph"),
        _act("i", "image", "Show the graph as a picture, if the terminal can (kitty's protocol, sixel)"),
    ),
    *_on("compare",
        _act("p", "programs", "Show or hide both programs: the pair under the cursor is marked in both", "programs"),
        _act("s", "pair(1)", "Step: the next pair of values, in both programs", "step", name="next-pair"),
        _act("S", "pair(-1)", "Step back", name="previous-pair"),
        _act("b", "other_stage", "Choose the stage to compare with", "other stage"),
        _act("B", "bisect", "Bisect: the first stage between the two whose results are wrong"),
        _act("v", "compiled", "The values of the compiled program, if the recording has them", name="compiled"),
        _act("d", "worst", "The pair of values that differs most", "worst"),
        _act("c", "difference(1)", "Next pair of values that differs", "difference", name="next-difference"),
        _act("C", "difference(-1)", "Previous pair of values that differs", name="previous-difference"),
    ),
    *_on("ranks",
        _act("s", "pair(1)", "Step: the next value on all ranks", "step", name="next-pair"),
        _act("S", "pair(-1)", "Step back", name="previous-pair"),
        _act("c", "difference(1)", "Next value that parts from the undivided program", "part", name="next-difference"),
        _act("C", "difference(-1)", "Previous value that parts", name="previous-difference"),
        _act("b", "ask('ranks ')", "Choose the number of ranks and the undivided program", "ranks", name="choose-ranks"),
        _act("Enter", "enter", "Go to the binding"),
    ),
    *_on("checks",
        _act("Enter", "enter", "Go to the binding: in Debug during a run, else in Passes", "go there"),
        _act("f", "filter(1)", "What remains, what is proved, all checks, or what a run spent", "filter", name="next-filter"),
        _act("F", "filter(-1)", "The filter before", name="previous-filter"),
        _act("a", "ask('checks given ')", "What a condition would decide", "given", name="given"),
        _act("K", "explain", "Where both lengths of the check come from, and where they part", "why"),
        _act("w", "ask('what-if ')", "What every length becomes under a condition"),
    ),
    *_on("source",
        _act("]", "problem(1)", "Next problem", "[ problem", name="next-problem"),
        _act("[", "problem(-1)", "Previous problem", name="previous-problem"),
        _act("e,t", "edit", "Edit the text at this line; the file is written only if the editor is asked to", "edit", name="edit-source"),
        _act("Enter,E", "edit_outside", "Edit the file in $EDITOR; here, if none is set", "your editor", name="edit-outside"),
        _act("w", "watch_file", "Watch the file: read it again when it changes on the disk, or no longer", "watch"),
        _act("f", "fix", "Apply the fix of the problem, in the editor", "fix", name="fix-problem"),
    ),
    *_on("solver",
        _act("s", "run('step')", "Step: the next run of a relation, or the next decision", "step"),
        _act("S", "run('reverse-step')", "Step back", "back"),
        _act("c", "run('continue')", "To the end", "end"),
        _act("C", "run('reverse-continue')", "To the start", "start"),
        _act("n", "run('next')", "Next step that failed or left something open", "next open"),
        _act("N", "run('reverse-next')", "Previous step that failed or left something open"),
        _act("v", "lower", "Next table: what is known, what was made, what is left, the text", "table", name="next-table"),
        _act("r", "reload", "Read the file again", "reload"),
    ),
    *_on("passes debug compare solver",
        _act("Enter", "enter", "Go to what the line shows"),
    ),
    *_on("problems",
        _act("Enter", "enter", "Go to the place of the problem", "go there"),
        _act("s", "source", "The source with the problems below their lines; e edits it", "source", name="show-source"),
    ),
    *_on("home",
        _act("Enter", "enter", "Open what the line names", "open"),
    ),
    *_on("pipeline",
        _act("Space", "switch_step", "Turn the pass on or off", "on/off", name="switch-pass"),
        _act("J", "move_step(1)", "Move the pass down", "K move", name="move-pass-down"),
        _act("K", "move_step(-1)", "Move the pass up", name="move-pass-up"),
        _act("a", "add", "Add a pass", "add", name="add-pass"),
        _act("e", "edit_step", "Edit the pass and its options", "edit", name="edit-pass"),
        _act("t", "edit_text", "Edit the text of the program behind the pass; only the passes behind run again"),
        _act("D", "remove", "Remove the pass", "remove", name="remove-pass"),
        _act("i", "insert_missing", "Insert the passes that the selected one lacks", "fix"),
        _act("Tab", "next_pane", "Between the steps and the passes to add", "passes"),
        _act("U", "unchanged", "Only the passes that would change the program, or all"),
        _act("Enter", "run_plan", "Run the pipeline, or add the selected pass", "run", name="run-pipeline"),
        _act("u", "undo", "Undo", "undo"),
        _act("ctrl+r", "redo", "Redo"),
    ),
    *_on("",
        _act("/", "search", "Find text; op:, ty:, var:, pat:, layer: narrow it, all: searches every stage", "find"),
    ),
    *_on("passes source graph problems compare checks ranks home popup",
        _act("n", "match(1)", "Next match", name="next-match"),
        _act("N", "match(-1)", "Previous match", name="previous-match"),
    ),
    *_on("",
        _act("F3", "match(1)", "Next match", name="next-match"),
        _act("shift+F3", "match(-1)", "Previous match", name="previous-match"),
        _act(":", "ask('')", "Type a command; Tab completes it", "command", name="command"),
        _act("?", "help", "All keys", "help"),
        _act("ctrl+o", "jump(-1)", "Back to the place before the last jump", name="jump-back"),
        _act("alt+o", "jump(1)", "Forward again", name="jump-forward"),
        _act("Tab", "next_pane", "Next pane; the list of stages in a narrow terminal"),
        _act("shift+Tab", "previous_pane", "Previous pane"),
        _act("j,down", "down", "Next line"),
        _act("k,up", "up", "Previous line"),
        _act("ctrl+d,PageDown", "page(1)", "One page down", name="next-page"),
        _act("ctrl+u,PageUp", "page(-1)", "One page up", name="previous-page"),
        _act("g,Home", "top", "First line"),
        _act("G,End", "bottom", "Last line"),
        _act("h,left", "side(-1)", "Scroll left", name="scroll-left"),
        _act("l,right", "side(1)", "Scroll right", name="scroll-right"),
        _act("y", "copy", "Copy the selected line"),
        _act("Y", "copy_command", "Copy the command line that shows the same"),
        _act("T", "next_theme", "Next theme: dark, light, classic, mono"),
        _act("Esc", "cancel", "Cancel what runs, close what is open"),
        _act("q", "back", "Back; from Passes quit"),
        _act("ctrl+q", "quit", "Quit"),
    ),
)  # fmt: skip
MOUSE = (
    ("Mouse", "clicks do what keys do"),
    ("header", "A click shows the screen"),
    ("footer", "A click presses the key"),
    ("line", "A click puts the cursor there; a second one chooses a line of a list"),
    ("popup", "A click beside it closes it"),
    ("shift", "Held down: the terminal selects text, as with --no-mouse"),
)
LEAST_TEXT = 8  # cells of a description; what then has no room is scrolled to
WIDEST_LABEL = 22  # cells of keys in the help, before their description
READING = "reading"  # the screen of a text that is being read; no key leads to it
SOURCE = "source"  # the screen of a text with problems, in the place of passes
ALONE = ("home", "problems", "solver", SOURCE)  # screens that need no stages
SCREENS = ("passes", "debug", "graph", "problems", "compare", "checks", "solver", "ranks", "home")
POPUP = (
    "down", "up", "page(1)", "page(-1)", "top", "bottom", "side(1)", "side(-1)", "search", "match(1)", "match(-1)", "copy",
    "copy_command", "next_theme", "quit",
)  # fmt: skip
"""The actions that a popup has too; Esc, q and Enter close it."""


# -- keys of a screen ------------------------------------------------------------------------------------------------


def described(action: str) -> str:
    """What an action does, as one sentence."""
    return next(f"{key.description}." for key in KEYS if key.action == action)


def keys_of(screen: str, table: Sequence[Key] = KEYS) -> list[Key]:
    """The keys of a screen, its own first."""
    if screen in ("popup", "pipeline"):
        return [key for key in table if screen in key.screens or (not key.screens and key.action in POPUP)]
    own = [key for key in table if screen in key.screens]
    return own + _shared(own, table)


def _shared(own: list[Key], table: Sequence[Key]) -> list[Key]:
    """The keys of all screens that a screen has no other use for."""
    taken = {key.key for key in own if key.key}
    return [key for key in table if not key.screens and key.key not in taken]


def bindings(screen: str, table: Sequence[Key] = KEYS) -> list[BindingType]:
    """The keys of a screen for Textual. They come before the focused widget, since a key may move the focus for those behind it."""
    return list(_bindings(screen, table).values())


def _bindings(screen: str, table: Sequence[Key]) -> dict[str, Binding]:
    from textual.binding import Binding

    found: dict[str, Binding] = {}
    for key in keys_of(screen, table):
        first, _, second = key.key.partition(" ")
        action, text = (
            (f"chord('{first}')", "The first of two keys") if second else (key.action, key.description)
        )
        if first and first not in found:
            found[first] = Binding(first, action, text, show=False, priority=True)
    return found


def with_table(held: BindingsMap, screen: str, table: Sequence[Key]) -> BindingsMap:
    """The bindings of a screen with the keys of another table; those that are not from the table stay."""
    from textual.binding import BindingsMap

    old = _bindings(screen, KEYS)
    rest = [binding for key, binding in held if key not in old or binding.action != old[key].action]
    return BindingsMap([*bindings(screen, table), *rest])


def chord(screen: str, first: str, table: Sequence[Key]) -> dict[str, Key]:
    """What may follow the first key of a pair, by the second."""
    pairs = [(key.key.partition(" "), key) for key in keys_of(screen, table)]
    return {parts[2]: key for parts, key in pairs if parts[0] == first and parts[2]}


def hints(screen: str, table: Sequence[Key] = KEYS) -> tuple[list[Key], list[Key]]:
    """The keys in the footer: those of the screen, and those of all screens."""
    shown = [key for key in table if key.hint and key.key]
    return [key for key in shown if screen in key.screens], [key for key in shown if not key.screens]


def help_lines(screen: str, table: Sequence[Key] = KEYS) -> list[tuple[str, str]]:
    """Keys with descriptions: those of the screen, its marks, those of all screens, the mouse; one line for keys that do the same."""
    own = [key for key in table if screen in key.screens]
    marks = [("", ""), ("Marks", "at the left of lines"), *MARKS[screen]] if screen in MARKS else []
    return [*_grouped(own), *marks, ("", ""), *_grouped(_shared(own, table)), ("", ""), *MOUSE]


def help_text(screen: str, width: int, table: Sequence[Key] = KEYS) -> list[str]:
    """The lines of `help_lines` in at most `width` cells, if there is room for words: what does not fit goes on below its text."""
    found = help_lines(screen, table)
    column = min(WIDEST_LABEL, max(len(label) for label, _ in found))
    lines: list[str] = []
    for label, text in found:
        parts = wrap(text, max(LEAST_TEXT, width - max(column, len(label)) - 1)) or [""]
        lines += [f"{label if n == 0 else '':<{column}} {part}" for n, part in enumerate(parts)]
    return lines


def _grouped(found: list[Key]) -> list[tuple[str, str]]:
    labels: dict[str, list[str]] = {}
    for key in found:
        if key.key:
            labels.setdefault(key.description, []).append(key.label)
    return [(" ".join(names), description) for description, names in labels.items()]


# -- keys of the user -------------------------------------------------------------------------------------------------


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


def action_names() -> list[str]:
    """The names of all actions."""
    return list(dict.fromkeys(key.name for key in KEYS))


def named_keys(table: Keymap) -> list[tuple[str, str, str]]:
    """The actions: name, keys, description."""
    labels: dict[str, tuple[list[str], str]] = {}
    for key in table:
        shown = labels.setdefault(key.name, ([], key.description))[0]
        shown += [key.label] if key.key and key.label not in shown else []
    return [(name, " ".join(shown), doc) for name, (shown, doc) in labels.items()]


def keymap(preset: str = "default", changes: Mapping[str, str] | None = None) -> Keymap:
    """The table of keys of a preset, with other keys for single actions: `{"step": "F7,s", "fold": "z a"}`. Raises BadKeys."""
    table = KEYS
    for name, text in {**PRESETS[preset], **(changes or {})}.items():
        table = _with_keys(table, name, [_typed(name, part) for part in _parts(text)])
    for screen in (*SCREENS, SOURCE, "popup", "pipeline"):
        _check(screen, table, changes or {})
    return table


def _with_keys(table: Keymap, name: str, pressed: Sequence[str]) -> Keymap:
    """A table in which these keys, and no other, have an action."""
    rows = [key for key in table if key.name == name]
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


def _check(screen: str, table: Keymap, changes: Mapping[str, str]) -> None:
    """Raise BadKeys if a screen has two actions for a key that the table of the project gives one."""
    before = {(a.action, b.action) for a, b in _clashes(screen, KEYS)}
    for a, b in _clashes(screen, table):
        if (a.action, b.action) not in before:
            first, second = a.name, b.name
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
