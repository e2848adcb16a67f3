"""Commands that run a program: once, step by step, or several stages against each other."""

from __future__ import annotations

from relax_explorer.core.session.command import Argument, Command
from relax_explorer.ui.shell_arguments import (
    AT,
    CALL,
    CALLS,
    FUNCTION,
    JSON,
    MAX_INPUT,
    PACKED,
    PASSES,
    PROFILE,
    PROGRAM,
    RUN_INPUT,
    SAMPLING,
    SCRIPT,
    SHAPE,
    SIDE_BY_SIDE,
    STAGE,
    Handler,
    choice,
    flag,
    source,
    target,
)

RUN = Command(
    "run",
    "Run a function and print its result. With --trace, record every step.",
    Handler("run", "run"),
    (
        *CALL,
        source(
            "--expect",
            "compare with the entries out0, out1, … of this .npz; exit with 1 if they differ",
            "FILE.npz",
        ),
        Argument("--rtol", "relative tolerance of --expect", "float", 0.0001),
        Argument("--atol", "absolute tolerance of --expect", "float", 1e-05),
        target("save the results as out0, out1, … in this .npz", "FILE.npz"),
        Argument(
            "--break",
            'stop after this variable (or op:matmul, nan, or a condition such as "n > 2048") and show the frame',
            metavar="VAR",
        ),
        choice(
            "--stop-on",
            "stop at the step that makes a NaN or an infinity, tell how it was made, and exit with 1",
            "nan",
            "inf",
            "not-finite",
            default=None,
        ),
        Argument(
            "--watch",
            'print an expression at each change of its value: "n", "max(y)", "x[0, 1]"; may be repeated',
            "many",
            metavar="EXPR",
        ),
        flag(
            "--shapes",
            "print the shape variables with origins and constraints, and the checks: at the stop, the end or the failure",
        ),
        choice(
            "--engine",
            "what compiles kernels: llvm, numba, or nothing (reference: statement by statement, slowly); fused is an older name of llvm",
            "llvm",
            "numba",
            "reference",
            "fused",
        ),
        flag("--no-fused", "run each binding by itself, instead of neighbouring ones together"),
        flag("--time-bindings", "print time, bytes and engine of each binding, the slowest first"),
        CALLS,
        PROFILE,
        Argument("--trace", "write one JSON line for each step to this file", "target", metavar="FILE.jsonl"),
        JSON,
    ),
    (
        "relax-explorer run model.py --func main --shape n=3",
        "relax-explorer run model.py --input io.npz --expect io.npz",
        "relax-explorer run dumps --stage LegalizeOps",
        "relax-explorer run model.py --stop-on nan",
        'relax-explorer run model.py --watch "max(y)"',
        "relax-explorer run decoder.py --calls session.txt",
    ),
)

DEBUG = Command(
    "debug",
    "Step through a run, forward and back, by commands as in gdb; `help` lists them.",
    Handler("debug", "debug"),
    (
        *CALL,
        Argument(
            "--budget",
            "MiB of recorded values to keep (0: all); older ones are computed again when they are read",
            "int",
            512,
            metavar="MIB",
        ),
        CALLS,
        SCRIPT,
        PROFILE,
        JSON,
    ),
    (
        "relax-explorer debug model.py --shape n=3",
        "relax-explorer debug model.py --script commands.txt --format json",
        "relax-explorer debug decoder.py --calls session.txt",
    ),
)

COMPARE = Command(
    "compare",
    "Run two programs on equal inputs, and name the first binding where their values part.",
    Handler("comparing", "compare"),
    (
        source("a", "a program: FILE, FILE@STAGE, or a folder of numbered stages", "A"),
        Argument("b", "another one (default: A after the passes)", "source", required=False, metavar="[B]"),
        PASSES,
        FUNCTION,
        source("--ref", "compare A with recorded values: out0, out1, … and values by variable", "FILE.npz"),
        *SAMPLING,
        CALLS,
        flag("--all", "list every pair of values"),
        flag(
            "--step",
            "walk through both runs, pair by pair of values, by commands as in `debug`; `help` lists them",
        ),
        SCRIPT,
        *SIDE_BY_SIDE,
        JSON,
    ),
    (
        "relax-explorer compare model.py -p LegalizeOps",
        "relax-explorer compare before.py after.py --shape n=3",
        "relax-explorer compare dumps@FuseOps dumps@FuseTIR --input io.npz",
        "relax-explorer compare before.py after.py --step",
    ),
)

BISECT = Command(
    "bisect",
    "Find the first pass after which a test fails, and the passes to leave out.",
    Handler("comparing", "bisect"),
    (
        source("input", "a TVMScript file, or a folder of numbered stages", "INPUT"),
        Argument(
            "command",
            "after --: a test command; it gets the stage as a file",
            "many",
            required=False,
            metavar="[-- CMD...]",
        ),
        PASSES,
        FUNCTION,
        choice("--test", "what must hold after each pass", "same-output", "no-nan", "well-formed"),
        source("--ref", "the right results out0, out1, … (default: those of the input)", "FILE.npz"),
        *SAMPLING,
        CALLS,
        *SIDE_BY_SIDE,
        PROFILE,
        JSON,
    ),
    (
        "relax-explorer bisect model.py -p default",
        "relax-explorer bisect dumps --input io.npz --ref io.npz",
        "relax-explorer bisect model.py -p default -- ./build_and_test.sh",
    ),
)

VALIDATE = Command(
    "validate",
    "Run every stage against the first one, on several inputs and shapes.",
    Handler("comparing", "validate"),
    (
        source("input", "a TVMScript file, or a folder of numbered stages", "INPUT"),
        PASSES,
        FUNCTION,
        *SAMPLING,
        CALLS,
        *SIDE_BY_SIDE,
        JSON,
    ),
    ("relax-explorer validate model.py -p default", "relax-explorer validate dumps --samples 5 --workers 4"),
)

# -- shape commands --------------------------------------------------------------------------------------------------
# Commands about lengths and types: checks of shapes, shape contracts, type relations.

SHAPES = Command(
    "shapes",
    "List the checks of shapes that a program leaves to the run, why, and what would remove them. Exits with 1 if one always fails.",
    Handler("shaping", "shapes"),
    (
        PROGRAM,
        FUNCTION,
        PASSES,
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
    Handler("relating", "relations"),
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
