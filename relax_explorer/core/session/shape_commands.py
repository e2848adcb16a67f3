"""Commands about lengths and types: checks of shapes, shape contracts, type relations."""

from __future__ import annotations

from relax_explorer.core.session.command_arguments import (
    AT,
    CALLS,
    FUNCTION,
    MAX_INPUT,
    PACKED,
    PASSES,
    PROGRAM,
    RUN_INPUT,
    SHAPE,
    STAGE,
    choice_of_format,
)
from relax_explorer.core.session.command_types import Argument, Command

SHAPES = Command(
    "shapes",
    "List the checks of shapes that a program leaves to the run, why, and what would remove them. Exits with 1 if one always fails.",
    (
        PROGRAM,
        FUNCTION,
        PASSES,
        STAGE,
        Argument(
            "--proved",
            "also show the checks that are proved, with the facts that prove them",
            "flag",
            False,
        ),
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
        Argument(
            "--run",
            "run the function, and show how often each check was made and how long it took",
            "flag",
            False,
        ),
        RUN_INPUT,
        SHAPE,
        MAX_INPUT,
        PACKED,
        CALLS,
        Argument(
            "--desugared",
            "print a program with shape contracts (*.shapes) as wrappers with assertions",
            "flag",
            False,
        ),
        Argument("--relax", "print such a program as a Relax module", "flag", False),
        Argument("--matches", "print its contracts as match_shape statements", "flag", False),
        Argument("--split", "print its shape functions apart from the data", "flag", False),
        Argument("--copy", "print a copy of a function for sizes: ff: n=8, m=4", metavar="SIZES"),
        Argument(
            "--keep-branches",
            "look into the functions that such a program calls, branch by branch",
            "flag",
            False,
        ),
        Argument(
            "--trace",
            "list the steps of its analysis: contracts, decisions, types of values",
            "flag",
            False,
        ),
        AT,
        choice_of_format("text", "json"),
    ),
    (
        "relax-explorer shapes model.py",
        "relax-explorer shapes model.py --proved --given 'n == 1'",
        "relax-explorer shapes dumps --stage LegalizeOps --run --shape n=64",
    ),
    "passes",
)

RELATIONS = Command(
    "relations",
    "Solve the types of a program in the notation of Relay's types. Exits with 1 if a relation fails or a type stays unknown.",
    (
        Argument("input", "a file in that notation, or - for standard input", "source", metavar="FILE"),
        PACKED,
        Argument("--trace", "show each run of a relation, and what it assigned", "flag", False),
        AT,
        choice_of_format("text", "json"),
    ),
    (
        "relax-explorer relations samples/relations/layer.relay --trace",
        "relax-explorer relations samples/relations/layer.relay --at 3",
    ),
    "solver",
)
