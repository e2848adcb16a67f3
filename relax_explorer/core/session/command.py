"""What a command of the table is: its name, one sentence, its arguments and examples."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. It is positional if its name has no dash.

    `kind` is text, names (with commas), int, float, flag, switch (a flag with a `--no-` form), permission (a flag that is typed), source (a path
    to read), target (a path to write), address (of a server), pair (`name=value`, may be repeated), many (may be repeated), code (files to execute,
    may be repeated) or one of `choices`.
    """

    name: str
    doc: str
    kind: str = "text"
    default: Any = None
    short: str = ""
    choices: tuple[str, ...] = ()
    required: bool = True
    metavar: str = ""

    @property
    def key(self) -> str:
        """The name as a Python identifier. An option that shares its name with a positional argument gets an underscore."""
        return "input_" if self.name == "--input" else self.name.removeprefix("--").replace("-", "_")

    @property
    def is_personal(self) -> bool:
        """True for paths, addresses and permissions: only the user sets them, never a settings file found in a folder."""
        return self.kind in ("source", "target", "address") or self.is_typed

    @property
    def is_typed(self) -> bool:
        """True if only the command line sets it: no settings file and no environment variable."""
        return self.is_code or self.kind == "permission"

    @property
    def is_code(self) -> bool:
        """True for files that are executed."""
        return self.kind == "code"

    @property
    def may_repeat(self) -> bool:
        """True if the option may be given several times."""
        return self.kind in ("pair", "many", "code")

    @property
    def positional(self) -> bool:
        """True if the argument is positional."""
        return not self.name.startswith("-")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its name, one sentence, its arguments and examples."""

    name: str
    doc: str
    arguments: tuple[Argument, ...]
    examples: tuple[str, ...] = ()
    screen: str = ""  # the equivalent screen of the explorer

    def text(self, values: Mapping[str, Any]) -> str:
        """The command line with these arguments. Arguments with default values are omitted."""
        parts = ["relax-explorer", self.name]
        for argument in self.arguments:
            value = values.get(argument.key)
            if value is None or value == argument.default:
                continue
            if argument.positional:
                parts.append(shlex.quote(str(value)))
            elif argument.kind in ("flag", "permission"):
                parts.append(argument.name)
            elif isinstance(value, Mapping):
                parts += [f"{argument.name} {shlex.quote(f'{key}={item}')}" for key, item in value.items()]
            else:
                parts.append(f"{argument.name} {shlex.quote(str(value))}")
        return " ".join(parts)


# -- command arguments -----------------------------------------------------------------------------------------------
# The arguments that several commands take.


INPUT = Argument("input", "a TVMScript file, or - for standard input", "source", metavar="INPUT")
PROGRAM = Argument(
    "input",
    "a TVMScript file, - for standard input, or a folder of numbered stages",
    "source",
    metavar="INPUT",
)
INPUTS = Argument(
    "inputs",
    "TVMScript files, - for standard input, or folders of numbered stages",
    "many",
    metavar="INPUT...",
)
PASSES = Argument(
    "--passes",
    "a pipeline: names with options, `A,B{x=1}`, or a named one",
    "names",
    short="-p",
    metavar="A,B",
)
STAGE = Argument("--stage", "number or pass of the stage to show, after --passes", metavar="N|NAME")
RUN_STAGE = Argument(
    "--stage",
    "number or pass of the stage to run, of a folder or after --passes (default: the last one that can be read)",
    metavar="N|NAME",
)
CONST = Argument(
    "--const",
    "values for constants that the text omits, where calls tell their shapes: zeros, ones, arange, randn:SEED or a number",
    metavar="SOURCE",
)
FUNCTION = Argument("--func", "the function (default: the entry)", metavar="NAME")
DIALECT = Argument(
    "--dialect",
    "dialect to print: tvm-0.27, tvm-0.19, or rxe (with match_shape, which TVM does not read)",
    "choice",
    "tvm-0.27",
    choices=("tvm-0.27", "tvm-0.19", "rxe"),
)
STRICT = Argument(
    "--strict", "print nothing if the dialect can't say all of the program (exit status 1)", "flag", False
)
OUTPUT = Argument(
    "--output", "write to this file instead of standard output", "target", short="-o", metavar="FILE"
)
PROFILE = Argument(
    "--profile",
    "spec (the language), or tvm (what TVM 0.27 accepts, and what its passes give)",
    "choice",
    "spec",
    choices=("spec", "tvm"),
)
PROFILE_OR_AUTO = Argument(
    "--profile",
    "spec (the language), tvm (what TVM 0.27 accepts, and what its passes give), or auto: tvm for the stages of a build, spec for a program",
    "choice",
    "auto",
    choices=("auto", "spec", "tvm"),
)
SHAPE = Argument("--shape", "the value of a shape variable, n=3", "pair", metavar="n=3")

INPUT_HELP = (
    "a parameter's value: x=zeros, ones, arange, randn:SEED, a number or a file; or one file for all; `*=FILE` for all others. Files are .npy, .npz, "
    ".safetensors and folders of MLC weights; their entries go to parameters and fields of tuples by name"
)
RUN_INPUT = Argument(
    "--input",
    INPUT_HELP,
    "many",
    metavar="x=SOURCE",
)
PRIVATE = Argument("--private", "also run a private function", "flag", False)
PACKED = Argument(
    "--packed",
    "execute this Python file, which you trust, and register its packed functions (or one function under a name), relations and shape "
    "functions",
    "code",
    metavar="[NAME=]FILE.py[:FUNCTION]",
)
MAX_INPUT = Argument("--max-input", "memory limit of all inputs, in GiB", "float", 4.0, metavar="GIB")
CALLS = Argument(
    "--calls",
    'make the calls in this file, one a line: `logits, cache = prefill([[3, 14]], cache, "weights.npz")`; `shape(2, 3)` makes a '
    "shape, dotted names call packed functions; files are looked for beside it first",
    "source",
    metavar="FILE",
)
# A call of a function: the program, the function, and its arguments.
CALL = (PROGRAM, FUNCTION, PASSES, RUN_STAGE, CONST, RUN_INPUT, SHAPE, MAX_INPUT, PACKED, PRIVATE)


SCRIPT = Argument(
    "--script", "read the commands from this file, or - for standard input", "source", metavar="FILE"
)
SAMPLING = (
    Argument(
        "--input",
        INPUT_HELP,
        "many",
        metavar="x=SOURCE",
    ),
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


THEME = Argument(
    "--theme",
    "the colours: dark, light, classic (green and red), mono (none), or auto (mono with NO_COLOR, else dark)",
    "choice",
    "auto",
    choices=("auto", "dark", "light", "classic", "mono"),
)


KEYS = Argument(
    "--keys", "the keys to start from", "choice", "default", choices=("default", "gdb", "vscode", "vim")
)
KEY = Argument(
    "--key",
    "other keys for an action: next-change=F7, or two keys one after the other, step='z s'; may be repeated",
    "pair",
    metavar="ACTION=KEY,…",
)
REDUCE_MOTION = Argument(
    "--reduce-motion", "nothing blinks or moves by itself (also TEXTUAL_ANIMATIONS=none)", "flag", False
)


def choice_of_format(*choices: str) -> Argument:
    """The option that chooses among several forms of the output. The first is the usual one."""
    return Argument("--format", "how to print", "choice", choices[0], choices=choices)


PROGRAM_OR_NONE = Argument(
    "input", "a TVMScript file, or a folder of numbered stages", "source", required=False, metavar="[INPUT]"
)
