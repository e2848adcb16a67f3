"""The table of commands. The command line, the palette, the help and "copy as command" all read it."""

from __future__ import annotations

from relax_explorer.core.session.command import (
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
    Argument,
    Command,
    choice_of_format,
)
from relax_explorer.ui.program_commands import CHECK, DIFF, FIND, GRAPH, OPT, REPORT, SHOW, WHO
from relax_explorer.ui.run_commands import BISECT, COMPARE, DEBUG, RELATIONS, RUN, SHAPES, VALIDATE

# -- explorer commands -----------------------------------------------------------------------------------------------
# Commands that open the explorer: in a terminal, without one, in a browser.


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


# -- reference commands ----------------------------------------------------------------------------------------------
# Commands that need no program: what passes, phases, operators and codes there are, and the script for a shell.


PASS_LIST = Command(
    "passes",
    "List the passes and pipelines, or tell all about one pass.",
    (
        Argument("subject", "tell all about this pass", required=False, metavar="[PASS]"),
        Argument("--changing", "list only passes that would change this file", "source", metavar="INPUT"),
        Argument(
            "--explain", "tell what the order of these passes lacks, without a program", metavar="A,B,C"
        ),
        Argument("--missing", "list the passes of TVM that are missing, with reasons", "flag", False),
        choice_of_format("text", "json"),
    ),
    (
        "relax-explorer passes",
        "relax-explorer passes FuseOps",
        "relax-explorer passes --changing model.py",
        "relax-explorer passes --explain LambdaLift,LegalizeOps,VMShapeLower",
    ),
)

PHASES = Command(
    "phases",
    "Show the phases, and which pass establishes, needs or breaks what.",
    (
        choice_of_format("text", "json", "markdown", "svg", "dot", "mermaid"),
        Argument(
            "--output",
            "the file to write (default: standard output)",
            "target",
            short="-o",
            metavar="FILE",
        ),
    ),
    ("relax-explorer phases", "relax-explorer phases --format svg -o phases.svg"),
)

OPS = Command(
    "ops",
    "List the operators and their parts.",
    (choice_of_format("text", "json"),),
    ("relax-explorer ops",),
)

EXPLAIN = Command(
    "explain",
    "Explain a diagnostic code, an operator, a pass, or a StructInfo.",
    (Argument("subject", "RX0203, relax.matmul, LegalizeOps or Tensor", metavar="CODE|OP|PASS|TYPE"),),
    ("relax-explorer explain RX0203", "relax-explorer explain nn.conv2d"),
)

COMPLETION = Command(
    "completion",
    "Print the script that completes commands, options, passes, operators and stages in a shell.",
    (Argument("shell", "the shell", "choice", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish"),),
    ('eval "$(relax-explorer completion bash)"', "relax-explorer completion fish | source"),
)


# -- commands --------------------------------------------------------------------------------------------------------


COMMANDS: tuple[Command, ...] = (
    TUI,
    PLAY,
    SERVE,
    SHOW,
    CHECK,
    OPT,
    RUN,
    DEBUG,
    DIFF,
    COMPARE,
    BISECT,
    VALIDATE,
    GRAPH,
    REPORT,
    WHO,
    FIND,
    PASS_LIST,
    PHASES,
    SHAPES,
    RELATIONS,
    OPS,
    EXPLAIN,
    COMPLETION,
)


ASCII = Argument("--ascii", "write only ASCII characters (default: if the terminal is not UTF-8)", "switch")
EVERYWHERE: tuple[Argument, ...] = (ASCII,)
"""The options of every command. They come from the front end itself, not from the handlers."""


def command(name: str) -> Command:
    """The command called `name`. Raises KeyError if there is none."""
    return next(item for item in COMMANDS if item.name == name)
