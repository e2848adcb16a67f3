"""Commands that open the explorer: in a terminal, without one, in a browser."""

from __future__ import annotations

from relax_explorer.core.session.command_arguments import (
    CALLS,
    CONST,
    FUNCTION,
    KEY,
    KEYS,
    OUTPUT,
    PACKED,
    PASSES,
    PROFILE_OR_AUTO,
    PROGRAM_OR_NONE,
    REDUCE_MOTION,
    RUN_INPUT,
    SHAPE,
    THEME,
    choice_of_format,
)
from relax_explorer.core.session.command_types import Argument, Command

EXPLORER = (
    PROGRAM_OR_NONE, PASSES, PROFILE_OR_AUTO, FUNCTION, RUN_INPUT, SHAPE, PACKED, CONST, CALLS, THEME, REDUCE_MOTION, KEYS, KEY,
)  # fmt: skip
"""What the explorer takes, in a terminal and without one."""

WRITES = Argument(
    "--allow-writes",
    "let the recording write files, and open others than its program",
    "permission",
    False,
)

TUI = Command(
    "tui",
    "Open the explorer on a file, or a folder of stages: step passes and evaluation, see graphs.",
    (
        *EXPLORER,
        Argument(
            "--screen",
            "the screen to start on",
            "choice",
            "passes",
            choices=("passes", "debug", "graph", "problems", "checks", "home"),
        ),
        Argument(
            "--record",
            "write the keys and clicks to this file, to play them again",
            "target",
            metavar="FILE",
        ),
        Argument("--play", "first play the keys and clicks of this file", "source", metavar="FILE"),
        WRITES,
        Argument("--no-mouse", "leave the mouse to the terminal, which selects text with it", "flag", False),
    ),
    ("relax-explorer model.py", "relax-explorer tui model.py --passes CanonicalizeBindings,LegalizeOps"),
)

PLAY = Command(
    "play",
    "Play recorded keys and clicks without a terminal, and print the screen.",
    (
        Argument("events", "the file that `tui --record` wrote", "source", metavar="KEYS"),
        *EXPLORER,
        Argument("--size", "columns and rows (default: those of the recording, else 80x24)", metavar="80x24"),
        Argument("--each", "print the screen after each line, not only the last one", "flag", False),
        WRITES,
        choice_of_format("text", "svg"),
        OUTPUT,
    ),
    (
        "relax-explorer play session.keys model.py -p default",
        "relax-explorer play session.keys model.py --size 120x40 --format svg -o screen.svg",
    ),
)

SERVE = Command(
    "serve",
    "Serve the explorer to a browser on this machine, at an address with a secret token.",
    (
        PROGRAM_OR_NONE,
        PASSES,
        PROFILE_OR_AUTO,
        THEME,
        REDUCE_MOTION,
        Argument("--port", "the port; 0 takes a free one", "int", 8765, metavar="N"),
    ),
    ("relax-explorer serve model.py", "relax-explorer serve dumps --port 0"),
)
