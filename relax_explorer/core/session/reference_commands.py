"""Commands that need no program: what passes, phases, operators and codes there are, and the script for a shell."""

from __future__ import annotations

from relax_explorer.core.session.command_arguments import choice_of_format
from relax_explorer.core.session.command_types import Argument, Command

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
