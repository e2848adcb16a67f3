"""The table of commands. The command line, the palette, the help and "copy as command" all read it."""

from __future__ import annotations

from relax_explorer.core.session.command_arguments import (
    AT,
    CALL,
    CONST,
    DIALECT,
    FUNCTION,
    INPUT,
    INPUTS,
    KEY,
    KEYS,
    MAX_INPUT,
    OUTPUT,
    PACKED,
    PASSES,
    PROFILE,
    PROFILE_OR_AUTO,
    PROGRAM,
    PROGRAM_OR_NONE,
    REDUCE_MOTION,
    RUN_INPUT,
    SAMPLING,
    SCRIPT,
    SHAPE,
    SIDE_BY_SIDE,
    STAGE,
    THEME,
    choice_of_format,
)
from relax_explorer.core.session.command_types import Argument, Command

GRAPH = Command(
    "graph", "Draw the dataflow graph of a function, or which function calls which.",
    (
        INPUT, FUNCTION, PASSES, STAGE, OUTPUT,
        Argument("--format", "output format (default: by the file's extension)", "choice", None,
                 choices=("svg", "png", "dot", "mermaid", "unicode", "ascii", "json")),
        Argument("--engine", "layout engine", "choice", "auto", choices=("auto", "pygraphviz", "dot", "builtin")),
        Argument("--weights", "weights as lines of their readers (fold), as nodes, or auto", "choice", "auto", choices=("auto", "fold", "nodes")),
        Argument("--between", "draw two stages at once, as 0..1: what was added, removed and changed", metavar="I..J"),
        Argument("--heat", "run the function, and colour bindings by time or bytes", "choice", None, choices=("time", "bytes")),
        RUN_INPUT, SHAPE, MAX_INPUT,
        Argument("--calls", "draw which function calls which, with recursive groups, instead of a function", "flag", False),
        Argument("--expand", "draw each of several equal layers, not only the first one", "flag", False),
        Argument("--inside", "draw what calls of these Relax functions compute, in clusters; all for every function", metavar="A,B|all"),
        Argument("--block", "draw only this block of the function, from 0", "int", None, metavar="N"),
        Argument("--around", "draw only the neighbourhood of this variable", metavar="VAR"),
        Argument("--radius", "radius of the neighbourhood, in edges", "int", 2),
        Argument("--max-nodes", "for larger graphs, draw only the neighbourhood of one node", "int", 2000),
    ),
    ("relax-explorer graph model.py -o model.svg", "relax-explorer graph dumps --between 1..2 -o changes.svg",
     "relax-explorer graph model.py --around lv7 --format unicode"), "graph",
)  # fmt: skip


EXPLORER = (
    PROGRAM_OR_NONE, PASSES, PROFILE_OR_AUTO, FUNCTION, RUN_INPUT, SHAPE, PACKED, CONST, THEME, REDUCE_MOTION, KEYS, KEY,
)  # fmt: skip
"""What the explorer takes, in a terminal and without one."""
COMMANDS: tuple[Command, ...] = (
    Command(
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
        ),
        ("relax-explorer model.py", "relax-explorer tui model.py --passes CanonicalizeBindings,LegalizeOps"),
    ),
    Command(
        "play",
        "Play recorded keys and clicks without a terminal, and print the screen.",
        (
            Argument("events", "the file that `tui --record` wrote", "source", metavar="KEYS"),
            *EXPLORER,
            Argument(
                "--size", "columns and rows (default: those of the recording, else 80x24)", metavar="80x24"
            ),
            Argument("--each", "print the screen after each line, not only the last one", "flag", False),
            choice_of_format("text", "svg"),
            OUTPUT,
        ),
        (
            "relax-explorer play session.keys model.py -p default",
            "relax-explorer play session.keys model.py --size 120x40 --format svg -o screen.svg",
        ),
    ),
    Command(
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
    ),
    Command(
        "show",
        "Print a module, or one stage of it after passes.",
        (INPUT, PASSES, STAGE, FUNCTION, DIALECT, choice_of_format("text", "json")),
        (
            "relax-explorer show model.py",
            "relax-explorer show model.py -p default --stage LegalizeOps --func main",
        ),
        "passes",
    ),
    Command(
        "check",
        "Report errors and warnings: syntax, well-formedness, StructInfo, purity.",
        (
            INPUTS,
            PROFILE,
            Argument(
                "--prover",
                "how to compare dimensions: by arithmetic, or literally (alpha)",
                "choice",
                "arithmetic",
                choices=("arithmetic", "alpha"),
            ),
            Argument(
                "--select", "report only codes with these prefixes (RX02,RX0105)", "names", metavar="CODE,…"
            ),
            Argument("--ignore", "skip codes with these prefixes", "names", metavar="CODE,…"),
            Argument(
                "--output-format",
                "how to print",
                "choice",
                "text",
                choices=("text", "concise", "json", "github", "sarif"),
            ),
        ),
        (
            "relax-explorer check model.py",
            "relax-explorer check *.py --output-format github",
            "relax-explorer check dumps",
        ),
        "problems",
    ),
    Command(
        "opt",
        "Apply passes and print the module.",
        (
            INPUT,
            PASSES,
            OUTPUT,
            DIALECT,
            Argument(
                "--print-after-change", "print the module after each pass that changes it", "flag", False
            ),
            Argument("--no-verify-each", "don't check each pass's contract after it", "flag", False),
            Argument(
                "--phase-check",
                "refuse to run a pass that needs a property which the module lacks, or only warn",
                "choice",
                "error",
                choices=("error", "warn"),
            ),
            Argument("--record", "name the passes in the attribute rx.passes of the module", "flag", False),
            PROFILE,
            Argument("--time-passes", "print the seconds of each pass on standard error", "flag", False),
        ),
        (
            "relax-explorer opt model.py -p CanonicalizeBindings,LegalizeOps -o out.py",
            "cat model.py | relax-explorer opt - -p default",
        ),
        "passes",
    ),
    Command(
        "run",
        "Run a function and print its result. With --trace, record every step.",
        (
            *CALL,
            Argument(
                "--expect",
                "compare with the entries out0, out1, … of this .npz; exit with 1 if they differ",
                "source",
                metavar="FILE.npz",
            ),
            Argument("--rtol", "relative tolerance of --expect", "float", 1e-4),
            Argument("--atol", "absolute tolerance of --expect", "float", 1e-5),
            Argument(
                "--output",
                "save the results as out0, out1, … in this .npz",
                "target",
                short="-o",
                metavar="FILE.npz",
            ),
            Argument(
                "--break",
                'stop after this variable (or op:matmul, nan, or a condition such as "n > 2048") and show the frame',
                metavar="VAR",
            ),
            Argument(
                "--stop-on",
                "stop at the step that makes a NaN or an infinity, tell how it was made, and exit with 1",
                "choice",
                None,
                choices=("nan", "inf", "not-finite"),
            ),
            Argument(
                "--watch",
                'print an expression at each change of its value: "n", "max(y)", "x[0, 1]"; may be repeated',
                "many",
                metavar="EXPR",
            ),
            Argument(
                "--shapes",
                "print the shape variables with origins and constraints, and the checks: at the stop, the end or the failure",
                "flag",
                False,
            ),
            Argument(
                "--engine",
                "fused: bindings run together; numba: each by itself; reference: kernels run uncompiled, slowly",
                "choice",
                "fused",
                choices=("fused", "numba", "reference"),
            ),
            Argument(
                "--time-bindings",
                "print time, bytes and engine of each binding, the slowest first",
                "flag",
                False,
            ),
            Argument(
                "--calls",
                'make the calls in this file, one a line, `logits, cache = prefill([[3, 14]], cache, "weights.npz")`, and print '
                "the named results; `shape(2, 3)` makes a shape, dotted names call packed functions",
                "source",
                metavar="FILE",
            ),
            PROFILE,
            Argument(
                "--trace", "write one JSON line for each step to this file", "target", metavar="FILE.jsonl"
            ),
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer run model.py --func main --shape n=3",
            "relax-explorer run model.py --input io.npz --expect io.npz",
            "relax-explorer run dumps --stage LegalizeOps",
            "relax-explorer run model.py --stop-on nan",
            'relax-explorer run model.py --watch "max(y)"',
            "relax-explorer run decoder.py --calls session.txt",
        ),
        "debug",
    ),
    Command(
        "debug",
        "Step through a run, forward and back, by commands as in gdb; `help` lists them.",
        (
            *CALL,
            Argument(
                "--budget",
                "MiB of recorded values to keep (0: all); older ones are computed again when they are read",
                "int",
                512,
                metavar="MIB",
            ),
            Argument(
                "--calls",
                "make the calls in this file as `run --calls` does, and debug the last one",
                "source",
                metavar="FILE",
            ),
            SCRIPT,
            PROFILE,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer debug model.py --shape n=3",
            "relax-explorer debug model.py --script commands.txt --format json",
            "relax-explorer debug decoder.py --calls session.txt",
        ),
        "debug",
    ),
    Command(
        "diff",
        "Show the differences between two modules or two stages, binding by binding.",
        (
            Argument("a", "a TVMScript file", "source", metavar="A"),
            Argument("b", "another one", "source", required=False, metavar="[B]"),
            PASSES,
            Argument(
                "--between", "two stages of A, as 0..1 (default: before and after all passes)", metavar="I..J"
            ),
            Argument("--style", "how to print", "choice", "inline", choices=("inline", "stat", "json")),
            Argument("--exit-code", "exit with 1 if there are differences", "flag", False),
        ),
        ("relax-explorer diff old.py new.py", "relax-explorer diff model.py -p default --between 0..1"),
        "passes",
    ),
    Command(
        "compare",
        "Run two programs on equal inputs, and name the first binding where their values part.",
        (
            Argument(
                "a", "a program: FILE, FILE@STAGE, or a folder of numbered stages", "source", metavar="A"
            ),
            Argument(
                "b", "another one (default: A after the passes)", "source", required=False, metavar="[B]"
            ),
            PASSES,
            FUNCTION,
            Argument(
                "--ref",
                "compare A with recorded values: out0, out1, … and values by variable",
                "source",
                metavar="FILE.npz",
            ),
            *SAMPLING,
            Argument("--all", "list every pair of values", "flag", False),
            Argument(
                "--step",
                "walk through both runs, pair by pair of values, by commands as in `debug`; `help` lists them",
                "flag",
                False,
            ),
            SCRIPT,
            *SIDE_BY_SIDE,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer compare model.py -p LegalizeOps",
            "relax-explorer compare before.py after.py --shape n=3",
            "relax-explorer compare dumps@FuseOps dumps@FuseTIR --input io.npz",
            "relax-explorer compare before.py after.py --step",
        ),
    ),
    Command(
        "bisect",
        "Find the first pass after which a test fails, and the passes to leave out.",
        (
            Argument("input", "a TVMScript file, or a folder of numbered stages", "source", metavar="INPUT"),
            Argument(
                "command",
                "after --: a test command; it gets the stage as a file",
                "many",
                required=False,
                metavar="[-- CMD...]",
            ),
            PASSES,
            FUNCTION,
            Argument(
                "--test",
                "what must hold after each pass",
                "choice",
                "same-output",
                choices=("same-output", "no-nan", "well-formed"),
            ),
            Argument(
                "--ref",
                "the right results out0, out1, … (default: those of the input)",
                "source",
                metavar="FILE.npz",
            ),
            *SAMPLING,
            *SIDE_BY_SIDE,
            PROFILE,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer bisect model.py -p default",
            "relax-explorer bisect dumps --input io.npz --ref io.npz",
            "relax-explorer bisect model.py -p default -- ./build_and_test.sh",
        ),
    ),
    Command(
        "validate",
        "Run every stage against the first one, on several inputs and shapes.",
        (
            Argument("input", "a TVMScript file, or a folder of numbered stages", "source", metavar="INPUT"),
            PASSES,
            FUNCTION,
            *SAMPLING,
            *SIDE_BY_SIDE,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer validate model.py -p default",
            "relax-explorer validate dumps --samples 5 --workers 4",
        ),
    ),
    GRAPH,
    Command(
        "report",
        "Write a session as one HTML file: pipeline, changes, graphs, problems, and a recorded run.",
        (
            Argument(
                "input", "a program, a folder of stages, a .relay or .shapes file", "source", metavar="INPUT"
            ),
            PASSES,
            FUNCTION,
            RUN_INPUT,
            SHAPE,
            MAX_INPUT,
            Argument("--no-run", "don't run the function", "flag", False),
            Argument(
                "--output",
                "the file to write (default: standard output)",
                "target",
                short="-o",
                metavar="FILE.html",
            ),
        ),
        (
            "relax-explorer report model.py -o report.html",
            "relax-explorer report dumps --input io.npz -o report.html",
        ),
        "passes",
    ),
    Command(
        "who",
        "Show the history of one variable across the stages.",
        (
            INPUT,
            Argument("var", "the variable", metavar="VAR"),
            PASSES,
            FUNCTION,
            choice_of_format("text", "json"),
        ),
        ("relax-explorer who model.py lv7 -p default",),
        "passes",
    ),
    Command(
        "find",
        "List the bindings that a dataflow pattern matches. Exits with 1 if there is none.",
        (
            PROGRAM,
            Argument("pattern", "the pattern, such as matmul(_, permute_dims(w))", metavar="PATTERN"),
            PASSES,
            STAGE,
            FUNCTION,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer find model.py 'matmul(_, permute_dims(w))'",
            "relax-explorer find dumps 'relu(x: f32[_, 64]) >> _' --stage LegalizeOps --format json",
        ),
        "passes",
    ),
    Command(
        "passes",
        "List the passes and pipelines.",
        (
            Argument("--changing", "list only passes that would change this file", "source", metavar="INPUT"),
            Argument(
                "--explain", "tell what the order of these passes lacks, without a program", metavar="A,B,C"
            ),
            Argument("--missing", "list the passes of TVM that are missing, with reasons", "flag", False),
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer passes",
            "relax-explorer passes --changing model.py",
            "relax-explorer passes --explain LambdaLift,LegalizeOps,VMShapeLower",
        ),
    ),
    Command(
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
    ),
    Command(
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
            Argument("--given", "conditions to take for granted: n == 7, m <= 2 * n", metavar="CONDITIONS"),
            Argument(
                "--why",
                "where the lengths of a value come from: main.y, main.y.0, or main.result",
                metavar="VALUE",
            ),
            Argument("--what-if", "what every length becomes under conditions: n = 7", metavar="CONDITIONS"),
            Argument(
                "--run",
                "run the function, and show how often each check was made and how long it took",
                "flag",
                False,
            ),
            RUN_INPUT,
            SHAPE,
            MAX_INPUT,
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
    ),
    Command(
        "relations",
        "Solve the types of a program in the notation of Relay's types. Exits with 1 if a relation fails or a type stays unknown.",
        (
            Argument("input", "a file in that notation, or - for standard input", "source", metavar="FILE"),
            Argument("--trace", "show each run of a relation, and what it assigned", "flag", False),
            AT,
            choice_of_format("text", "json"),
        ),
        (
            "relax-explorer relations samples/relations/layer.relay --trace",
            "relax-explorer relations samples/relations/layer.relay --at 3",
        ),
        "solver",
    ),
    Command(
        "ops",
        "List the operators and their parts.",
        (choice_of_format("text", "json"),),
        ("relax-explorer ops",),
    ),
    Command(
        "explain",
        "Explain a diagnostic code, an operator, a pass, or a StructInfo.",
        (Argument("subject", "RX0203, relax.matmul, LegalizeOps or Tensor", metavar="CODE|OP|PASS|TYPE"),),
        ("relax-explorer explain RX0203", "relax-explorer explain nn.conv2d"),
    ),
    Command(
        "completion",
        "Print the script that completes commands, options, passes, operators and stages in a shell.",
        (Argument("shell", "the shell", "choice", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish"),),
        ('eval "$(relax-explorer completion bash)"', "relax-explorer completion fish | source"),
    ),
)


ASCII = Argument("--ascii", "write only ASCII characters (default: if the terminal is not UTF-8)", "switch")
EVERYWHERE: tuple[Argument, ...] = (ASCII,)
"""The options of every command. They come from the front end itself, not from the handlers."""


def command(name: str) -> Command:
    """The command called `name`. Raises KeyError if there is none."""
    return next(item for item in COMMANDS if item.name == name)
