"""Commands about lengths and types: checks of shapes, shape contracts, type relations."""

from __future__ import annotations

from relax_explorer.core.session.command import Argument, Command
from relax_explorer.ui.run_commands import (
    AT,
    CALLS,
    FUNCTION,
    JSON,
    MAX_INPUT,
    PACKED,
    PIPELINE,
    PROGRAM,
    RUN_INPUT,
    SHAPE,
    STAGE,
    Handler,
    flag,
    source,
)

SHAPES = Command(
    "shapes",
    "List the checks of shapes that a program leaves to the run, why, and what would remove them. Exits with 1 if one always fails.",
    Handler("shaping", "shapes"),
    (
        PROGRAM,
        FUNCTION,
        *PIPELINE,
        STAGE,
        flag("--proved", "also show the checks that are proved, with the facts that prove them"),
        Argument(
            "--given",
            "conditions to take for granted: n == 7, or layer.n == 7 of another function",
            metavar="CONDITIONS",
        ),
        Argument(
            "--why",
            "where the lengths of a value come from: main.y, main.y.0, main.result, or main.inner.y of a nested function",
            metavar="VALUE",
        ),
        Argument(
            "--what-if",
            "what every length becomes under conditions: n = 7, or layer.n = 7",
            metavar="CONDITIONS",
        ),
        flag("--run", "run the function, and show how often each check was made and how long it took"),
        RUN_INPUT,
        SHAPE,
        MAX_INPUT,
        PACKED,
        CALLS,
        flag("--desugared", "print a program with shape contracts (*.shapes) as wrappers with assertions"),
        flag("--relax", "print such a program as a Relax module"),
        flag("--matches", "print its contracts as match_shape statements"),
        flag("--split", "print its shape functions apart from the data"),
        Argument("--copy", "print a copy of a function for sizes: ff: n=8, m=4", metavar="SIZES"),
        flag("--keep-branches", "look into the functions that such a program calls, branch by branch"),
        flag("--trace", "list the steps of its analysis: contracts, decisions, types of values"),
        AT,
        JSON,
    ),
    (
        "relax-explorer shapes model.py",
        "relax-explorer shapes model.py --proved --given 'n == 1'",
        "relax-explorer shapes dumps --stage LegalizeOps --run --shape n=64",
    ),
)

RELATIONS = Command(
    "relations",
    "Solve the types of a program in the notation of Relay's types. Exits with 1 if a relation fails or a type stays unknown.",
    Handler("other_notations", "relations"),
    (
        source("input", "a file in that notation, or - for standard input", "FILE"),
        PACKED,
        flag("--trace", "show each run of a relation, and what it assigned"),
        AT,
        JSON,
    ),
    (
        "relax-explorer relations samples/relations/layer.relay --trace",
        "relax-explorer relations samples/relations/layer.relay --at 3",
    ),
)
