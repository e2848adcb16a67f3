"""The table of all keys. Bindings, footer hints and help come from it. Lower case goes forward, UPPER CASE back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """The action of a key on `panes` (on all when empty; `popup` is a text over a pane). `hint` is its word in the footer."""

    key: str
    name: str
    description: str
    panes: tuple[str, ...] = ()
    hint: str = ""
    shown: str = ""

    @property
    def label(self) -> str:
        """The key as shown to users."""
        return self.shown or self.key


_IR = ("passes", "debug", "graph", "problems", "popup")
_TEXT = ("passes", "graph", "problems", "popup")  # in debug, n and N move the debugger
ACTIONS: tuple[Action, ...] = (
    Action("1", "show_passes", "Passes: stages and what each changed"),
    Action("2", "show_debug", "Debug: evaluation step by step"),
    Action("3", "show_graph", "Graph: the dataflow graph"),
    Action("4", "show_problems", "Problems: errors and warnings"),
    Action("0", "show_home", "Home: samples and recent files"),
    Action("question_mark", "help", "All keys", hint="help", shown="?"),
    Action("q", "back", "Back; from Passes quit"),
    Action("ctrl+q", "quit", "Quit"),
    Action("escape", "cancel", "Cancel what is running, close what is open", shown="Esc"),
    Action("T", "next_theme", "Next theme: dark, light, classic, mono"),
    Action("Y", "copy_command", "Copy the command line that shows the same"),
    Action("j", "down", "Next line", _IR),
    Action("k", "up", "Previous line", _IR),
    Action("down", "down", "Next line", _IR),
    Action("up", "up", "Previous line", _IR),
    Action("pagedown", "page_down", "One page down", _IR, shown="PageDown"),
    Action("pageup", "page_up", "One page up", _IR, shown="PageUp"),
    Action("ctrl+d", "page_down", "One page down", _IR),
    Action("ctrl+u", "page_up", "One page up", _IR),
    Action("g", "top", "First line", _IR),
    Action("home", "top", "First line", _IR, shown="Home"),
    Action("end", "bottom", "Last line", _IR, shown="End"),
    Action("G", "bottom", "Last line", _IR),
    Action("h", "left", "Scroll left", _IR),
    Action("l", "right", "Scroll right", _IR),
    Action("left", "left", "Scroll left", _IR),
    Action("right", "right", "Scroll right", _IR),
    Action("right_curly_bracket", "next_function", "Next function", ("passes",), shown="}"),
    Action("left_curly_bracket", "previous_function", "Previous function", ("passes",), shown="{"),
    Action(
        "right_square_bracket",
        "next_change",
        "Next stage that changed the module",
        ("passes", "graph"),
        "next",
        "]",
    ),
    Action(
        "left_square_bracket",
        "previous_change",
        "Previous stage that changed the module",
        ("passes", "graph"),
        "prev",
        "[",
    ),
    Action("alt+right_square_bracket", "next_stage", "Next stage", ("passes", "graph"), shown="alt+]"),
    Action("alt+left_square_bracket", "previous_stage", "Previous stage", ("passes", "graph"), shown="alt+["),
    Action("tab", "toggle_list", "Show or hide the list of stages", ("passes",), shown="Tab"),
    Action("c", "next_in_stage", "Next change in this stage", ("passes",), "change"),
    Action("C", "previous_in_stage", "Previous change in this stage", ("passes",)),
    Action("d", "cycle_diff", "Changes in place, only what changed, or none", ("passes",), "diff"),
    Action("t", "cycle_types", "Compact, TVMScript with StructInfo at the right, or as written", ("passes",)),
    Action("z", "fold", "Open or fold the kernel", ("passes",)),
    Action("Z", "fold_all", "Open or fold all kernels", ("passes",)),
    Action("w", "who", "Who changed this value: its history", ("passes",), "who"),
    Action("slash", "search", "Find text", (*_TEXT, "debug"), "find", "/"),
    Action("n", "next_match", "Next match", _TEXT),
    Action("N", "previous_match", "Previous match", _TEXT),
    Action("f3", "next_match", "Next match", ("debug",), shown="F3"),
    Action("shift+f3", "previous_match", "Previous match", ("debug",), shown="shift+F3"),
    Action("s", "step", "Step: the next binding, into calls", ("debug",), "step"),
    Action("S", "back_step", "Step back", ("debug",), "back"),
    Action("n", "next", "Next binding, over calls", ("debug",), "next"),
    Action("N", "back_next", "Back over calls", ("debug",)),
    Action("o", "finish", "Run until the function returns", ("debug",)),
    Action("O", "back_finish", "Back to before the function was entered", ("debug",)),
    Action("c", "continue", "Run to a breakpoint or the end", ("debug",), "run"),
    Action("C", "back_continue", "Back to the last breakpoint, or the start", ("debug",)),
    Action("b", "breakpoint", "Set or clear a breakpoint on the selected binding", ("debug",)),
    Action("B", "condition", "Edit the condition of the breakpoint on the selected binding", ("debug",)),
    Action("a", "watch", "Watch an expression", ("debug",)),
    Action("full_stop", "to_cursor", "Run to the selected binding", ("debug",), shown="."),
    Action("comma", "back_to_cursor", "Back to the selected binding", ("debug",), shown=","),
    Action(
        "colon",
        "command",
        "Type a command of the debugger, such as break y if n > 3 (help lists them)",
        ("debug",),
        shown=":",
    ),
    Action("v", "cycle_values", "Values, or breakpoints, watches and calls", ("debug",)),
    Action("r", "restart", "Start again", ("debug",)),
    Action("circumflex_accent", "first_step", "To the first step", ("debug",), shown="^"),
    Action("dollar_sign", "last_step", "To the last step", ("debug",), shown="$"),
    Action("plus", "wider", "A wider neighbourhood", ("graph",), "wider", "+"),
    Action("minus", "narrower", "A narrower neighbourhood", ("graph",), shown="-"),
    Action("a", "all", "The whole graph", ("graph",), "all"),
    Action("e", "export", "Write the graph as SVG", ("graph",), "export"),
)
OF_LISTS = frozenset({"up", "down", "pageup", "pagedown", "home", "end"})  # a focused list takes these


def actions_of(pane: str) -> list[Action]:
    """The actions of a pane."""
    return [action for action in ACTIONS if not action.panes or pane in action.panes]


def find(pane: str, key: str) -> Action | None:
    """The action of a key on a pane, or None."""
    return next((action for action in actions_of(pane) if action.key == key), None)


def hints(pane: str) -> list[Action]:
    """The actions in the footer of a pane, at most five."""
    own = [action for action in ACTIONS if action.hint and pane in action.panes]
    shared = [action for action in ACTIONS if action.hint and not action.panes]
    return (own[:4] + shared)[:5]
