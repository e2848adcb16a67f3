"""The words in which commands of the shell are declared: kinds of arguments, those that several commands take, and what runs a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.session.command import Argument

_OTHER_NAMES = {"output": "output_", "break": "break_"}
"""Names of options that are keywords of Python or modules of the handlers, with the parameters that take them."""


@dataclass(frozen=True)
class Handler:
    """What runs a command: the function `name` of a module of `ui/cli`, imported at the first call."""

    module: str
    name: str

    def found(self) -> Callable[..., int]:
        """The function."""
        with collector_at_rest():
            function: Callable[..., int] = getattr(
                import_module(f"relax_explorer.ui.cli.{self.module}"), self.name
            )
        return function

    def __call__(self, **values: object) -> int:
        """Run the command; returns the exit status."""
        return self.found()(**{_OTHER_NAMES.get(key, key): value for key, value in values.items()})


def flag(name: str, doc: str) -> Argument:
    """An option without a value."""
    return Argument(name, doc, "flag", False)


_FIRST = object()


def choice(name: str, doc: str, *choices: str, default: object = _FIRST) -> Argument:
    """An option with one of some values, usually the first one."""
    return Argument(name, doc, "choice", choices[0] if default is _FIRST else default, choices=choices)


def source(name: str, doc: str, metavar: str) -> Argument:
    """A path to read."""
    return Argument(name, doc, "source", metavar=metavar)


def target(doc: str, metavar: str = "FILE") -> Argument:
    """The file to write."""
    return Argument("--output", doc, "target", short="-o", metavar=metavar)


JSON = choice("--format", "how to print", "text", "json")
INPUT = source("input", "a TVMScript file, or - for standard input", "INPUT")
PROGRAM = source("input", "a TVMScript file, - for standard input, or a folder of numbered stages", "INPUT")
INPUTS = Argument(
    "inputs",
    "TVMScript files, - for standard input, or folders of numbered stages",
    "sources",
    metavar="INPUT...",
)
PASSES = Argument(
    "--passes",
    "a pipeline: names with options, `A,B{x=1}`, or a named one",
    "passes",
    short="-p",
    metavar="A,B",
)
STAGE = Argument("--stage", "number or pass of the stage to show, after --passes", "stage", metavar="N|NAME")
RUN_STAGE = Argument(
    "--stage",
    "number or pass of the stage to run, of a folder or after --passes (default: the last one that can be read)",
    "stage",
    metavar="N|NAME",
)
CONST = Argument(
    "--const",
    "values for constants that the text omits, where calls tell their shapes: zeros, ones, arange, randn:SEED or a number",
    metavar="SOURCE",
)
FUNCTION = Argument("--func", "the function (default: the entry)", metavar="NAME")
DIALECT = choice(
    "--dialect",
    "dialect to print: tvm-0.27, tvm-0.19, or rxe (with match_shape, which TVM does not read)",
    "tvm-0.27",
    "tvm-0.19",
    "rxe",
)
STRICT = flag("--strict", "print nothing if the dialect can't say all of the program (exit status 1)")
OUTPUT = target("write to this file instead of standard output", "FILE")
PROFILE = choice(
    "--profile",
    "spec (the language), or tvm (what TVM 0.27 accepts, and what its passes give)",
    "spec",
    "tvm",
)
PROFILE_OR_AUTO = choice(
    "--profile",
    "spec (the language), tvm (what TVM 0.27 accepts, and what its passes give), or auto: tvm for the stages of a build, spec for a program",
    "auto",
    "spec",
    "tvm",
)
SHAPE = Argument("--shape", "the value of a shape variable, n=3", "pair", metavar="n=3")
RUN_INPUT = Argument(
    "--input",
    "a parameter's value: x=zeros, ones, arange, randn:SEED, a number or a file; or one file for all; `*=FILE` for all others. Files are .npy, "
    ".npz, .safetensors and folders of MLC weights; their entries go to parameters and fields of tuples by name",
    "many",
    metavar="x=SOURCE",
)
PRIVATE = flag("--private", "also run a private function")
PACKED = Argument(
    "--packed",
    "execute this Python file, which you trust, and register its packed functions (or one function under a name), relations and shape functions",
    "code",
    metavar="[NAME=]FILE.py[:FUNCTION]",
)
MAX_INPUT = Argument("--max-input", "memory limit of all inputs, in GiB", "float", 4.0, metavar="GIB")
CALLS = source(
    "--calls",
    'make the calls in this file, one a line: `logits, cache = prefill([[3, 14]], cache, "weights.npz")`; `shape(2, 3)` makes a '
    "shape, dotted names call packed functions; files are looked for beside it first",
    "FILE",
)
# A call of a function: the program, the function, and its arguments.
CALL = (PROGRAM, FUNCTION, PASSES, RUN_STAGE, CONST, RUN_INPUT, SHAPE, MAX_INPUT, PACKED, PRIVATE)
SCRIPT = source("--script", "read the commands from this file, or - for standard input", "FILE")
SAMPLING = (
    RUN_INPUT,
    SHAPE,
    Argument(
        "--samples",
        "number of inputs (default: 3 if lengths are free: primes, ones, zeros; else 1)",
        "int",
        metavar="N",
    ),
    Argument(
        "--rtol", "relative tolerance, which decides alone (default: rounding is told from faults)", "float"
    ),
    Argument("--atol", "absolute tolerance (default: by dtype and magnitude)", "float"),
    MAX_INPUT,
    PACKED,
)
SIDE_BY_SIDE = (
    Argument("--workers", "run samples or stages side by side in this many processes", "int", metavar="N"),
    Argument(
        "--scheduler",
        "run them on a dask.distributed scheduler, or on a local one",
        "address",
        metavar="ADDRESS|local",
    ),
)
AT = Argument(
    "--at",
    "print this step of the solver, and all that was known after it; 0 is the start",
    "int",
    metavar="STEP",
)
THEME = choice(
    "--theme",
    "the colours: dark, light, classic (green and red), mono (none), or auto (mono with NO_COLOR, else dark)",
    "auto",
    "dark",
    "light",
    "classic",
    "mono",
)
KEYS = choice("--keys", "the keys to start from", "default", "gdb", "vscode", "vim")
KEY = Argument(
    "--key",
    "other keys for an action: next-change=F7, or two keys one after the other, step='z s'; may be repeated",
    "pair",
    metavar="ACTION=KEY,…",
)
REDUCE_MOTION = flag("--reduce-motion", "nothing blinks or moves by itself (also TEXTUAL_ANIMATIONS=none)")

PROGRAM_OR_NONE = Argument(
    "input", "a TVMScript file, or a folder of numbered stages", "source", required=False, metavar="[INPUT]"
)
