"""Commands that read a program and its stages: print, check, change, compare and search their text, and draw them."""

from __future__ import annotations

from relax_explorer.core.session.command import (
    CALLS,
    DIALECT,
    FUNCTION,
    INPUT,
    INPUTS,
    MAX_INPUT,
    OUTPUT,
    PASSES,
    PROFILE,
    PROGRAM,
    RUN_INPUT,
    SHAPE,
    STAGE,
    STRICT,
    Argument,
    Command,
    choice_of_format,
)

SHOW = Command(
    "show",
    "Print a module, or one stage of it after passes.",
    (INPUT, PASSES, STAGE, FUNCTION, DIALECT, STRICT, choice_of_format("text", "json")),
    (
        "relax-explorer show model.py",
        "relax-explorer show model.py -p default --stage LegalizeOps --func main",
    ),
    "passes",
)

CHECK = Command(
    "check",
    "Report errors and warnings: syntax, well-formedness, StructInfo, purity.",
    (
        INPUTS,
        PROFILE,
        Argument(
            "--dialect",
            "the dialect of the texts (default: as each text tells)",
            "choice",
            "auto",
            choices=("auto", "relax-2022", "relax-2023", "tvm-0.19", "tvm-0.25", "tvm-0.27", "rxe"),
        ),
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
            "--fail-on",
            "the least severe problem that makes the exit status 1",
            "choice",
            "error",
            choices=("error", "warning", "note"),
        ),
        Argument(
            "--allow-unknown-ops",
            "an operator that nobody declared is a warning, not an error",
            "flag",
            False,
        ),
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
)

OPT = Command(
    "opt",
    "Apply passes and print the module.",
    (
        INPUT,
        PASSES,
        OUTPUT,
        DIALECT,
        STRICT,
        Argument("--print-after-change", "print the module after each pass that changes it", "flag", False),
        Argument("--no-verify-each", "don't check each pass's contract after it", "flag", False),
        Argument(
            "--phase-check",
            "refuse to run a pass that needs a property which the module lacks, or only warn",
            "choice",
            "error",
            choices=("error", "warn"),
        ),
        Argument(
            "--record",
            "name the passes and the phase that they reach in the attributes rx.passes and rx.phase of the module",
            "flag",
            False,
        ),
        PROFILE,
        Argument("--time-passes", "print the seconds of each pass on standard error", "flag", False),
    ),
    (
        "relax-explorer opt model.py -p CanonicalizeBindings,LegalizeOps -o out.py",
        "cat model.py | relax-explorer opt - -p default",
    ),
    "passes",
)

DIFF = Command(
    "diff",
    "Show the differences between two modules or two stages, binding by binding.",
    (
        Argument("a", "a TVMScript file", "source", metavar="A"),
        Argument("b", "another one", "source", required=False, metavar="[B]"),
        PASSES,
        Argument(
            "--between",
            "two stages of A, as 0..1 (default: before and after all passes), or 17..executable",
            metavar="I..J",
        ),
        Argument("--style", "how to print", "choice", "inline", choices=("inline", "stat", "json")),
        Argument("--exit-code", "exit with 1 if there are differences", "flag", False),
    ),
    ("relax-explorer diff old.py new.py", "relax-explorer diff model.py -p default --between 0..1"),
    "passes",
)

WHO = Command(
    "who",
    "Show the history of one variable across the stages.",
    (
        INPUT,
        Argument("var", "the variable, or @KERNEL", metavar="VAR"),
        PASSES,
        FUNCTION,
        choice_of_format("text", "json"),
    ),
    ("relax-explorer who model.py lv7 -p default",),
    "passes",
)

FIND = Command(
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
)

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
        Argument("--run-calls", "the run of --heat: the calls of this file, as for `run --calls`", "source", metavar="FILE"),
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

REPORT = Command(
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
        CALLS,
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
)
