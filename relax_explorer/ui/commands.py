"""The table of commands of the shell. The command line, its help, completion and settings, and the twins in the explorer come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_explorer.core.session.command import Argument, Command
from relax_explorer.ui.run_commands import (
    BISECT,
    CALLS,
    COMPARE,
    CONST,
    DEBUG,
    DIALECT,
    EXPORT,
    FUNCTION,
    IMPORT,
    INPUT,
    INPUTS,
    JSON,
    KEY,
    KEYS,
    MAX_INPUT,
    OUTPUT,
    PACKED,
    PASS_SECONDS,
    PIPELINE,
    PROFILE,
    PROFILE_OR_AUTO,
    PROGRAM,
    PROGRAM_OR_NONE,
    PYTHON,
    RANKS,
    RECORD,
    REDUCE,
    REDUCE_MOTION,
    RUN,
    RUN_INPUT,
    SHAPE,
    STAGE,
    STRICT,
    TARGET,
    THEME,
    VALIDATE,
    WATCH,
    Handler,
    choice,
    flag,
    form,
    source,
    target,
)
from relax_explorer.ui.shape_commands import RELATIONS, SHAPES

if TYPE_CHECKING:
    from relax_explorer.ui.cli.output import Result

# -- explorer commands -----------------------------------------------------------------------------------------------
# Commands that open the explorer: in a terminal, without one, in a browser.

EXPLORER = (
    PROGRAM_OR_NONE,
    *PIPELINE,
    PROFILE_OR_AUTO,
    FUNCTION,
    RUN_INPUT,
    SHAPE,
    PACKED,
    CONST,
    CALLS,
    *RANKS,
    THEME,
    REDUCE_MOTION,
    KEYS,
    KEY,
)
"""What the explorer takes, in a terminal and without one."""

WRITES = Argument(
    "--allow-writes", "let the recording write files, and open others than its program", "permission", False
)

TUI = Command(
    "tui",
    "Open the explorer on a file, or a folder of stages: step passes and evaluation, see graphs.",
    Handler("exploring", "tui"),
    (
        *EXPLORER,
        choice(
            "--screen", "the screen to start on", "passes", "debug", "graph", "problems", "checks", "home"
        ),
        Argument(
            "--record", "write the keys and clicks to this file, to play them again", "target", metavar="FILE"
        ),
        source("--play", "first play the keys and clicks of this file", "FILE"),
        WRITES,
        flag("--no-mouse", "leave the mouse to the terminal, which selects text with it"),
        flag("--watch", "read the program again when its file changes on the disk"),
    ),
    ("relax-explorer model.py", "relax-explorer tui model.py --passes CanonicalizeBindings,LegalizeOps"),
)

PLAY = Command(
    "play",
    "Play recorded keys and clicks without a terminal, and print the screen.",
    Handler("exploring", "play"),
    (
        source("events", "the file that `tui --record` wrote", "KEYS"),
        *EXPLORER,
        Argument("--size", "columns and rows (default: those of the recording, else 80x24)", metavar="80x24"),
        flag("--each", "print the screen after each line, not only the last one"),
        WRITES,
        choice("--format", "how to print", "text", "svg"),
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
    Handler("exploring", "serve"),
    (
        PROGRAM_OR_NONE,
        *PIPELINE,
        PROFILE_OR_AUTO,
        THEME,
        REDUCE_MOTION,
        Argument("--port", "the port; 0 takes a free one", "int", 8765, metavar="N"),
        flag("--web", "serve the page of `report`, made anew when the file changed, instead of the terminal"),
    ),
    (
        "relax-explorer serve model.py",
        "relax-explorer serve dumps --port 0",
        "relax-explorer serve dumps --web",
    ),
)

ALLOW_UNKNOWN_OPS = flag("--allow-unknown-ops", "an operator that nobody declared is a warning, not an error")

LSP = Command(
    "lsp",
    "Answer an editor in the Language Server Protocol, on standard input and output.",
    Handler("editing", "lsp"),
    (PROFILE, ALLOW_UNKNOWN_OPS, flag("--stdio", "what some editors say; it is always so")),
    ("relax-explorer lsp", "relax-explorer lsp --profile tvm"),
)

# -- program commands ------------------------------------------------------------------------------------------------
# Commands that read a program and its stages: print, check, change, compare and search their text, and draw them.

SHOW = Command(
    "show",
    "Print a module, or one stage of it after passes.",
    Handler("programs", "show"),
    (INPUT, *PIPELINE, STAGE, FUNCTION, DIALECT, STRICT, WATCH, JSON),
    (
        "relax-explorer show model.py",
        "relax-explorer show model.py -p default --stage LegalizeOps --func main",
    ),
)

CHECK = Command(
    "check",
    "Report errors and warnings: syntax, well-formedness, StructInfo, purity.",
    Handler("checking", "check"),
    (
        INPUTS,
        PROFILE_OR_AUTO,
        choice(
            "--dialect",
            "the dialect of the texts (default: as each text tells)",
            "auto",
            "relax-2022",
            "relax-2023",
            "tvm-0.19",
            "tvm-0.25",
            "tvm-0.27",
            "rxe",
        ),
        choice(
            "--prover",
            "how to compare dimensions: by arithmetic, or literally (alpha)",
            "arithmetic",
            "alpha",
        ),
        Argument(
            "--select", "report only codes with these prefixes (RX02,RX0105)", "codes", metavar="CODE,…"
        ),
        Argument("--ignore", "skip codes with these prefixes", "codes", metavar="CODE,…"),
        choice(
            "--fail-on", "the least severe problem that makes the exit status 1", "error", "warning", "note"
        ),
        ALLOW_UNKNOWN_OPS,
        WATCH,
        form("--output-format", "text", "concise", "json", "github", "sarif", "junit"),
    ),
    (
        "relax-explorer check model.py",
        "relax-explorer check model.py --watch",
        "relax-explorer check *.py --output-format github",
        "relax-explorer check dumps",
    ),
)

SAVE = Command(
    "save",
    "Save a program with passes as a session of the explorer, in one file that `rxe FILE` opens.",
    Handler("exploring", "save"),
    (INPUT, *PIPELINE, target("the file to write; by default NAME.rxs", "FILE.rxs")),
)

OPT = Command(
    "opt",
    "Apply passes and print the module.",
    Handler("programs", "opt"),
    (
        INPUT,
        *PIPELINE,
        OUTPUT,
        DIALECT,
        STRICT,
        flag("--print-after-change", "print the module after each pass that changes it"),
        flag("--no-verify-each", "don't check each pass's contract after it"),
        choice(
            "--phase-check",
            "refuse to run a pass that needs a property which the module lacks, or only warn",
            "error",
            "warn",
        ),
        flag(
            "--record",
            "name the passes and the phase that they reach in the attributes rx.passes and rx.phase of the module",
        ),
        PROFILE,
        flag("--time-passes", "print the seconds of each pass on standard error"),
    ),
    (
        "relax-explorer opt model.py -p CanonicalizeBindings,LegalizeOps -o out.py",
        "cat model.py | relax-explorer opt - -p default",
    ),
)

DIFF = Command(
    "diff",
    "Show the differences between two modules or two stages, binding by binding.",
    Handler("programs", "diff"),
    (
        source("a", "a TVMScript file", "A"),
        Argument("b", "another one", "source", required=False, metavar="[B]"),
        *PIPELINE,
        Argument(
            "--between",
            "two stages of A, as 0..1 (default: before and after all passes), or 17..executable",
            metavar="I..J",
        ),
        form("--style", "inline", "stat", "json"),
        flag("--exit-code", "exit with 1 if there are differences"),
    ),
    ("relax-explorer diff old.py new.py", "relax-explorer diff model.py -p default --between 0..1"),
)

WHO = Command(
    "who",
    "Show the history of one variable across the stages.",
    Handler("programs", "who"),
    (
        INPUT,
        Argument("var", "the variable, or @KERNEL", metavar="VAR"),
        *PIPELINE,
        FUNCTION,
        flag("--layer", "tell the layer of the model that has the value, as names of weights tell it"),
        JSON,
    ),
    ("relax-explorer who model.py lv7 -p default", "relax-explorer who build.rxs lv7 --layer"),
)

FIND = Command(
    "find",
    "List the bindings that a dataflow pattern matches. Exits with 1 if there is none.",
    Handler("programs", "find"),
    (
        PROGRAM,
        Argument("pattern", "the pattern, such as matmul(_, permute_dims(w))", metavar="PATTERN"),
        *PIPELINE,
        STAGE,
        FUNCTION,
        JSON,
    ),
    (
        "relax-explorer find model.py 'matmul(_, permute_dims(w))'",
        "relax-explorer find dumps 'relu(x: f32[_, 64]) >> _' --stage LegalizeOps --format json",
    ),
)

GRAPH = Command(
    "graph",
    "Draw the dataflow graph of a function, or which function calls which.",
    Handler("graphing", "graph"),
    (
        INPUT,
        FUNCTION,
        *PIPELINE,
        STAGE,
        OUTPUT,
        choice(
            "--format",
            "output format (default: by the file's extension)",
            "svg",
            "png",
            "dot",
            "mermaid",
            "unicode",
            "ascii",
            "json",
            "model-explorer",
            "netron",
            default=None,
        ),
        choice("--engine", "layout engine", "auto", "pygraphviz", "dot", "builtin"),
        choice(
            "--weights",
            "weights as lines of their readers (fold), as nodes, or auto",
            "auto",
            "fold",
            "nodes",
        ),
        Argument(
            "--between",
            "draw two stages at once, as 0..1: what was added, removed and changed",
            metavar="I..J",
        ),
        choice(
            "--heat",
            "colour bindings by the time or the bytes of a run; by FLOPs, bytes moved or memory held without one; machine: by a recorded run",
            "time",
            "bytes",
            "flops",
            "moved",
            "peak",
            "machine",
            default=None,
        ),
        RUN_INPUT,
        SHAPE,
        MAX_INPUT,
        source("--run-calls", "the run of --heat: the calls of this file, as for `run --calls`", "FILE"),
        flag("--calls", "draw which function calls which, with recursive groups, instead of a function"),
        flag("--expand", "draw each of several equal layers, not only the first one"),
        flag("--memory", "of a lowered function, draw allocations, ends of lives and the shape heap, too"),
        flag(
            "--storages",
            "of a planned function, colour each value by the storage that holds it, and tell who lives there when",
        ),
        Argument(
            "--inside",
            "draw what calls of these Relax functions compute, in clusters; all for every function",
            metavar="A,B|all",
        ),
        Argument("--block", "draw only this block of the function, from 0", "int", None, metavar="N"),
        Argument("--around", "draw only the neighbourhood of this variable", metavar="VAR"),
        Argument("--radius", "radius of the neighbourhood, in edges", "int", 2),
        Argument("--max-nodes", "for larger graphs, draw only the neighbourhood of one node", "int", 2000),
    ),
    (
        "relax-explorer graph model.py -o model.svg",
        "relax-explorer graph dumps --between 1..2 -o changes.svg",
        "relax-explorer graph model.py --around lv7 --format unicode",
    ),
)

REPORT = Command(
    "report",
    "Write a session as one HTML file to step through: stages, changes, graphs, values, lengths, problems, cost.",
    Handler("graphing", "report"),
    (
        source("input", "a program, a folder of stages, a .relay or .shapes file", "INPUT"),
        *PIPELINE,
        PROFILE_OR_AUTO,
        FUNCTION,
        RUN_INPUT,
        SHAPE,
        MAX_INPUT,
        CALLS,
        flag("--no-run", "don't run the function"),
        target("the file to write (default: standard output)", "FILE.html"),
    ),
    (
        "relax-explorer report model.py -o report.html",
        "relax-explorer report dumps --input io.npz -o report.html",
    ),
)

# -- reference commands ----------------------------------------------------------------------------------------------
# Commands that need no program: what passes, phases, operators and codes there are, and the script for a shell.

PASS_LIST = Command(
    "passes",
    "List the passes and pipelines, or tell all about one pass.",
    Handler("reference", "list_passes"),
    (
        Argument(
            "subject",
            "tell all about this pass; `tvm:` lists those of TVM",
            "subject",
            required=False,
            metavar="[PASS]",
        ),
        source("--changing", "list only passes that would change this file", "INPUT"),
        Argument(
            "--explain", "tell what the order of these passes lacks, without a program", metavar="A,B,C"
        ),
        flag("--missing", "list the passes of TVM that are missing, with reasons"),
        PYTHON,
        PASS_SECONDS,
        TARGET,
        JSON,
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
    Handler("reference", "phases"),
    (
        form("--format", "text", "json", "markdown", "svg", "dot", "mermaid"),
        target("the file to write (default: standard output)", "FILE"),
    ),
    ("relax-explorer phases", "relax-explorer phases --format svg -o phases.svg"),
)

OPS = Command(
    "ops",
    "List the operators and their parts.",
    Handler("reference", "list_ops"),
    (JSON,),
    ("relax-explorer ops",),
)

EXPLAIN = Command(
    "explain",
    "Explain a diagnostic code, an operator, a pass, or a word of the language.",
    Handler("reference", "explain"),
    (
        Argument(
            "subject",
            "RX0203, relax.matmul, LegalizeOps, StructInfo or default",
            "subject",
            metavar="CODE|OP|PASS|WORD",
        ),
    ),
    (
        "relax-explorer explain RX0203",
        "relax-explorer explain nn.conv2d",
        "relax-explorer explain 'normal form'",
    ),
)

SCHEMA = Command(
    "schema",
    "List the kinds of JSON documents, or print the JSON schema of one.",
    Handler("schemas", "schema"),
    (
        Argument("name", "the kind, such as bisect or rxe.bisect/1", required=False, metavar="[NAME]"),
        JSON,
    ),
    ("relax-explorer schema", "relax-explorer schema bisect > bisect.schema.json"),
)

DOCTOR = Command(
    "doctor",
    "Look at what this program needs: Python, compilers, Graphviz, cache, terminal, TVM, importers. Exits with 1 if a part is broken.",
    Handler("doctor", "doctor"),
    (PYTHON, JSON),
    ("relax-explorer doctor", "relax-explorer doctor --python venv/bin/python --format json"),
)

COMPLETION = Command(
    "completion",
    "Print the script that completes commands, options, passes, operators and stages in a shell.",
    Handler("completing", "completion"),
    (Argument("shell", "the shell", "choice", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish"),),
    ('eval "$(relax-explorer completion bash)"', "relax-explorer completion fish | source"),
)

# -- commands --------------------------------------------------------------------------------------------------------
COST = Command(
    "cost",
    "Tell what a program costs: FLOPs, bytes, parameters and memory, as expressions in the shape variables and as numbers, stage by stage.",
    Handler("costing", "cost"),
    (
        PROGRAM,
        FUNCTION,
        *PIPELINE,
        STAGE,
        Argument(
            "--shape",
            "lengths of a shape variable: n=3, or n=16,128 for two columns (default: 16, 128 and 1024 for all)",
            "pair",
            metavar="n=3,4",
        ),
        choice(
            "--by",
            "also list the bindings, the layers that repeat, or all functions of the stage",
            "binding",
            "layer",
            "function",
            default=None,
        ),
        flag("--no-chart", "leave the chart of the memory out"),
        JSON,
    ),
    (
        "relax-explorer cost model.py --shape n=128",
        "relax-explorer cost model.py -p zero,default_build --shape b=1 --shape s=16,128,1024",
        "relax-explorer cost dumps --stage FuseTIR --by binding",
    ),
)

COMMANDS: tuple[Command[int | Result], ...] = (
    TUI,
    PLAY,
    SERVE,
    LSP,
    SHOW,
    CHECK,
    OPT,
    SAVE,
    RUN,
    DEBUG,
    DIFF,
    COMPARE,
    BISECT,
    VALIDATE,
    REDUCE,
    EXPORT,
    RECORD,
    IMPORT,
    GRAPH,
    REPORT,
    WHO,
    FIND,
    PASS_LIST,
    PHASES,
    COST,
    SHAPES,
    RELATIONS,
    OPS,
    EXPLAIN,
    SCHEMA,
    DOCTOR,
    COMPLETION,
)

ASCII = Argument("--ascii", "write only ASCII characters (default: if the terminal is not UTF-8)", "switch")
COLOR = Argument(
    "--color",
    "colours: always, never, or auto (the default: in a terminal, unless NO_COLOR is set)",
    "choice",
    choices=("auto", "always", "never"),
    metavar="WHEN",
)

EVERYWHERE: tuple[Argument, ...] = (ASCII, COLOR)
"""The options of every command. They come from the front end itself, not from the handlers."""


def command(name: str) -> Command[int | Result]:
    """The command called `name`. Raises KeyError if there is none."""
    return next(item for item in COMMANDS if item.name == name)
