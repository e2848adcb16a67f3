"""The table of commands. The command line, the palette, the help and "copy as command" all read it."""

from __future__ import annotations

from relax_explorer.core.session.command_types import Argument, Command
from relax_explorer.core.session.explorer_commands import PLAY, SERVE, TUI
from relax_explorer.core.session.program_commands import CHECK, DIFF, FIND, GRAPH, OPT, REPORT, SHOW, WHO
from relax_explorer.core.session.reference_commands import COMPLETION, EXPLAIN, OPS, PASS_LIST, PHASES
from relax_explorer.core.session.run_commands import BISECT, COMPARE, DEBUG, RUN, VALIDATE
from relax_explorer.core.session.shape_commands import RELATIONS, SHAPES

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
