"""The table of all keys. Bindings, footer, help and palette come from it. Lower case goes forward, UPPER CASE back.

A key's action is the method `action_NAME` of the screen, or of the app.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from relax_explorer.viz.tokens import MARKS

if TYPE_CHECKING:  # settings are read without Textual
    from textual.binding import Binding, BindingsMap, BindingType


@dataclass(frozen=True, slots=True)
class Key:
    """The action of a key on `screens` (on all when empty). `hint` is its word in the footer."""

    key: str
    action: str
    description: str
    screens: tuple[str, ...] = ()
    hint: str = ""
    shown: str = ""

    @property
    def label(self) -> str:
        """The key as shown to users; empty for an action without a key."""
        return self.shown or " ".join([_label(part) for part in self.key.split()])


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
}  # fmt: skip
"""The keys that have another name for users."""
_IR = ("passes", "debug")
_STAGES = ("passes", "graph", "problems", "compare", "checks")  # in debug, another stage would end the run
KEYS: tuple[Key, ...] = (
    Key("1", "show('passes')", "Passes: stages and what each changed"),
    Key("2", "show('debug')", "Debug: evaluation step by step"),
    Key("3", "show('graph')", "Graph: the dataflow graph"),
    Key("4", "show('problems')", "Problems: errors and warnings of all stages"),
    Key("5", "show('compare')", "Compare: the values of two stages"),
    Key("6", "show('checks')", "Checks of lengths left to the run: why, and what removes them"),
    Key("7", "show('solver')", "Solver: type relations and shape contracts step by step"),
    Key("0", "show('home')", "Home: recent files and samples"),
    Key(
        "right_square_bracket", "stage(1, True)", "Next stage that changed the module", _STAGES, "next stage"
    ),
    Key("left_square_bracket", "stage(-1, True)", "Previous stage that changed the module", _STAGES),
    Key("alt+right_square_bracket", "stage(1, False)", "Next stage", _STAGES),
    Key("alt+left_square_bracket", "stage(-1, False)", "Previous stage", _STAGES),
    Key("c", "change(1)", "Next change in this stage", ("passes",), "change"),
    Key("C", "change(-1)", "Previous change in this stage", ("passes",)),
    Key("d", "diff", "Changes in place, side by side, only what changed, or none", ("passes",), "diff"),
    Key("w", "who", "Who changed this value or kernel; Enter goes to a stage", ("passes",), "who"),
    Key("r", "debug_here", "Debug the function under the cursor", ("passes", "graph")),
    Key("B", "bisect", "Bisect: the first stage whose results are wrong", ("passes",), "bisect"),
    Key(
        "x", "toggle_pass", "Turn the pass of this stage off, or on again, and run the rest anew", ("passes",)
    ),
    Key(
        "E",
        "edit_pipeline",
        "Edit the pipeline: turn off, move, add and remove passes",
        ("passes",),
        "pipeline",
    ),
    Key("u", "undo", "Undo the last change of the pipeline", ("passes",)),
    Key("ctrl+r", "redo", "Redo it", ("passes",)),
    Key("alt+u", "edits", "All pipelines that were tried; Enter goes back to one", ("passes",)),
    Key("m", "mark", "Mark this place; a letter follows", _IR, "", "m a"),
    Key("apostrophe", "to_mark", "Go to a mark; a letter follows, ' goes back", _IR, "", "' a"),
    Key("t", "density", "Compact, TVMScript with StructInfo at the right, or as written", ("passes",)),
    Key("U", "unchanged", "Show or hide stages that changed nothing", ("passes",)),
    Key("i", "details", "Show or hide the details", ("passes",)),
    Key("right_curly_bracket", "function(1)", "Next function", ("passes",)),
    Key("left_curly_bracket", "function(-1)", "Previous function", ("passes",)),
    Key("percent_sign", "uses", "The next use of this value, then its definition", _IR),
    Key("s", "run('step')", "Step: the next binding, into calls", ("debug",), "step"),
    Key("S", "run('reverse-step')", "Step back", ("debug",), "back"),
    Key("n", "run('next')", "Next binding, over calls", ("debug",), "next"),
    Key("N", "run('reverse-next')", "Back over calls", ("debug",)),
    Key("c", "run('continue')", "Run to a breakpoint or the end", ("debug",), "run"),
    Key("C", "run('reverse-continue')", "Back to a breakpoint or the start", ("debug",)),
    Key("b", "breakpoint", "Set or clear a breakpoint on the selected binding", ("debug",), "break"),
    Key("B", "condition", "Edit the condition of the breakpoint on the selected binding", ("debug",)),
    Key("i", "inspect", "Inspect the selected value: elements, numbers, NaN places", ("debug",), "inspect"),
    Key("I", "inputs", "Inputs of the run: files, sources, lengths", ("debug",), "inputs"),
    Key("o", "run('finish')", "Run until the function returns", ("debug",)),
    Key("O", "run('reverse-finish')", "Back to before the function was entered", ("debug",)),
    Key("e", "run('into')", "Into the PrimFunc that is called, store by store", ("debug",)),
    Key("E", "run('reverse-into')", "Back, store by store", ("debug",)),
    Key("full_stop", "to_cursor(False)", "Run to the selected binding", ("debug",)),
    Key("comma", "to_cursor(True)", "Back to the selected binding", ("debug",)),
    Key("circumflex_accent", "run('goto start')", "To the first step", ("debug",)),
    Key("dollar_sign", "run('goto end')", "To the last step", ("debug",)),
    Key("right_parenthesis", "run('next-call')", "To the next call of a file of calls", ("debug",)),
    Key(
        "left_parenthesis",
        "run('previous-call')",
        "Back to the start of this call, or to the call before",
        ("debug",),
    ),
    Key("greater_than_sign", "run('step')", "One step forward", ("debug",)),
    Key("less_than_sign", "run('reverse-step')", "One step back", ("debug",)),
    Key("a", "ask('watch ')", "Watch an expression", ("debug",)),
    Key("x", "blame", "Where the NaN or infinity of the selected value came from", ("debug",)),
    Key("v", "lower", "Next table: values, shapes, calls, breakpoints", ("debug",)),
    Key("r", "restart", "Start again", ("debug",)),
    Key(
        "K",
        "explain",
        "Explain the selected operator: operands, type rule, errors; or the pass",
        ("passes", "debug"),
    ),
    Key("K", "explain", "Explain the code of the problem", ("problems",)),
    Key("z", "fold", "Fold or open the function, block, branch or kernel", _IR, "fold"),
    Key("Z", "fold_all", "Open everything, or fold all", _IR),
    Key("", "fold_all('open')", "Open everything", _IR),
    Key("", "fold_all('close')", "Fold all", _IR),
    Key("f5", "run('continue')", "Run to a breakpoint or the end", ("debug",)),
    Key("f9", "breakpoint", "Set or clear a breakpoint on the selected binding", ("debug",)),
    Key("f10", "run('next')", "Next binding, over calls", ("debug",)),
    Key("f11", "run('step')", "Step: the next binding, into calls", ("debug",)),
    Key("shift+f11", "run('finish')", "Run until the function returns", ("debug",)),
    Key("w", "who", "Who changed this value or kernel; Enter goes to a stage", ("debug",)),
    Key("j", "node('down')", "To a reader of the value, else to a node below", ("graph",)),
    Key("down", "node('down')", "To a reader of the value, else to a node below", ("graph",)),
    Key("k", "node('up')", "To an input, else to a node above", ("graph",)),
    Key("up", "node('up')", "To an input, else to a node above", ("graph",)),
    Key("h", "node('left')", "To the next node on the left", ("graph",), "node", "hjkl"),
    Key("left", "node('left')", "To the next node on the left", ("graph",)),
    Key("l", "node('right')", "To the next node on the right", ("graph",)),
    Key("right", "node('right')", "To the next node on the right", ("graph",)),
    Key("H", "pan(-1, 0)", "Pan; the cursor stays", ("graph",)),
    Key("J", "pan(0, 1)", "Pan; the cursor stays", ("graph",)),
    Key("K", "pan(0, -1)", "Pan; the cursor stays", ("graph",)),
    Key("L", "pan(1, 0)", "Pan; the cursor stays", ("graph",)),
    Key("f", "calls", "Functions: which calls which; Enter opens one", ("graph",), "functions"),
    Key("z", "layers", "Draw equal layers once or each", ("graph",)),
    Key("enter", "enter", "Go to the binding: in Debug during a run, else in Passes", ("graph",), "go there"),
    Key("o", "open", "Show or hide what the called function computes", ("graph",)),
    Key("d", "removed", "Show what the stage removed, too: its changes as one graph", ("graph",), "changes"),
    Key("c", "heat", "Colour by class, by the time of a run, by the bytes of its values", ("graph",), "heat"),
    Key("m", "map", "Show or hide the map of a drawing that is larger than the view", ("graph",)),
    Key("plus", "radius(1)", "A wider neighbourhood of the selected binding", ("graph",), "wider"),
    Key("minus", "radius(-1)", "A narrower neighbourhood", ("graph",), "narrower"),
    Key("a", "whole", "The whole graph", ("graph",), "all"),
    Key("e", "export", "Write the graph as SVG", ("graph",), "SVG"),
    Key(
        "i", "image", "Show the graph as a picture, if the terminal can (kitty's protocol, sixel)", ("graph",)
    ),
    Key(
        "p",
        "programs",
        "Show or hide both programs: the pair under the cursor is marked in both",
        ("compare",),
        "programs",
    ),
    Key("s", "pair(1)", "Step: the next pair of values, in both programs", ("compare",), "step"),
    Key("S", "pair(-1)", "Step back", ("compare",)),
    Key("b", "other_stage", "Choose the stage to compare with", ("compare",), "other stage"),
    Key("d", "worst", "The pair of values that differs most", ("compare",), "worst"),
    Key("c", "difference(1)", "Next pair of values that differs", ("compare",), "difference"),
    Key("C", "difference(-1)", "Previous pair of values that differs", ("compare",)),
    Key(
        "enter", "enter", "Go to the binding: in Debug during a run, else in Passes", ("checks",), "go there"
    ),
    Key(
        "f",
        "filter(1)",
        "What remains, what is proved, all checks, or what a run spent",
        ("checks",),
        "filter",
    ),
    Key("F", "filter(-1)", "The filter before", ("checks",)),
    Key("a", "ask('checks given ')", "What a condition would decide", ("checks",), "given"),
    Key("K", "explain", "Where both lengths of the check come from, and where they part", ("checks",), "why"),
    Key("w", "ask('what-if ')", "What every length becomes under a condition", ("checks",)),
    Key("s", "run('step')", "Step: the next run of a relation, or the next decision", ("solver",), "step"),
    Key("S", "run('reverse-step')", "Step back", ("solver",), "back"),
    Key("c", "run('continue')", "To the end", ("solver",), "end"),
    Key("C", "run('reverse-continue')", "To the start", ("solver",), "start"),
    Key("n", "run('next')", "Next step that failed or left something open", ("solver",), "next open"),
    Key("N", "run('reverse-next')", "Previous step that failed or left something open", ("solver",)),
    Key(
        "v", "lower", "Next table: what is known, what was made, what is left, the text", ("solver",), "table"
    ),
    Key("r", "reload", "Read the file again", ("solver",), "reload"),
    Key(
        "enter",
        "enter",
        "Go to what the line shows",
        ("passes", "debug", "compare", "solver"),
        "",
    ),
    Key("enter", "enter", "Go to the place of the problem", ("problems",), "go there"),
    Key("enter", "enter", "Open what the line names", ("home",), "open"),
    Key("space", "switch_step", "Turn the pass on or off", ("pipeline",), "on/off"),
    Key("J", "move_step(1)", "Move the pass down", ("pipeline",), "K move"),
    Key("K", "move_step(-1)", "Move the pass up", ("pipeline",)),
    Key("a", "add", "Add a pass", ("pipeline",), "add"),
    Key("e", "edit_step", "Edit the pass and its options", ("pipeline",), "edit"),
    Key(
        "t",
        "edit_text",
        "Edit the text of the program behind the pass; only the passes behind run again",
        ("pipeline",),
    ),
    Key("D", "remove", "Remove the pass", ("pipeline",), "remove"),
    Key("i", "insert_missing", "Insert the passes that the selected one lacks", ("pipeline",), "fix"),
    Key("tab", "next_pane", "Between the steps and the passes to add", ("pipeline",), "passes"),
    Key("U", "unchanged", "Only the passes that would change the program, or all", ("pipeline",)),
    Key("enter", "run_plan", "Run the pipeline, or add the selected pass", ("pipeline",), "run"),
    Key("u", "undo", "Undo", ("pipeline",), "undo"),
    Key("ctrl+r", "redo", "Redo", ("pipeline",)),
    Key(
        "slash", "search", "Find text; op:, ty:, var:, pat: narrow it, all: searches every stage", (), "find"
    ),
    Key("n", "match(1)", "Next match", ("passes", "graph", "problems", "compare", "checks", "home", "popup")),
    Key(
        "N",
        "match(-1)",
        "Previous match",
        ("passes", "graph", "problems", "compare", "checks", "home", "popup"),
    ),
    Key("f3", "match(1)", "Next match"),
    Key("shift+f3", "match(-1)", "Previous match"),
    Key("colon", "ask('')", "Type a command; Tab completes it", (), "command"),
    Key("question_mark", "help", "All keys", (), "help"),
    Key("ctrl+o", "jump(-1)", "Back to the place before the last jump"),
    Key("alt+o", "jump(1)", "Forward again"),
    Key("tab", "next_pane", "Next pane; the list of stages in a narrow terminal"),
    Key("shift+tab", "previous_pane", "Previous pane"),
    Key("j", "down", "Next line"),
    Key("k", "up", "Previous line"),
    Key("down", "down", "Next line"),
    Key("up", "up", "Previous line"),
    Key("ctrl+d", "page(1)", "One page down"),
    Key("ctrl+u", "page(-1)", "One page up"),
    Key("pagedown", "page(1)", "One page down"),
    Key("pageup", "page(-1)", "One page up"),
    Key("g", "top", "First line"),
    Key("G", "bottom", "Last line"),
    Key("home", "top", "First line"),
    Key("end", "bottom", "Last line"),
    Key("h", "side(-1)", "Scroll left"),
    Key("l", "side(1)", "Scroll right"),
    Key("left", "side(-1)", "Scroll left"),
    Key("right", "side(1)", "Scroll right"),
    Key("y", "copy", "Copy the selected line"),
    Key("Y", "copy_command", "Copy the command line that shows the same"),
    Key("T", "next_theme", "Next theme: dark, light, classic, mono"),
    Key("escape", "cancel", "Cancel what runs, close what is open"),
    Key("q", "back", "Back; from Passes quit"),
    Key("ctrl+q", "quit", "Quit"),
)
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
SCREENS = ("passes", "debug", "graph", "problems", "compare", "checks", "solver", "home")
POPUP = (
    "down", "up", "page(1)", "page(-1)", "top", "bottom", "side(1)", "side(-1)", "search", "match(1)", "match(-1)", "copy",
    "copy_command", "next_theme", "quit",
)  # fmt: skip
"""The actions that a popup has too; Esc, q and Enter close it."""


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
    """The same in lines of at most `width` cells, if there is room for words: what does not fit goes on below its text."""
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
