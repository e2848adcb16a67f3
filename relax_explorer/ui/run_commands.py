"""The commands of the shell that run a program, and the words in which all are declared: kinds of arguments, and those that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.session.command import Argument, Command

if TYPE_CHECKING:
    from relax_explorer.ui.cli.output import Result

# -- shell arguments -------------------------------------------------------------------------------------------------
# The words in which commands of the shell are declared: kinds of arguments, those that several commands take, and
# what runs a command.


_OTHER_NAMES = {"output": "output_", "break": "break_", "with": "with_"}
"""Names of options that are keywords of Python or modules of the handlers, with the parameters that take them."""


@dataclass(frozen=True)
class Handler:
    """What runs a command: the function `name` of a module of `ui/cli`, imported at the first call."""

    module: str
    name: str

    def found(self) -> Callable[..., int | Result]:
        """The function."""
        with collector_at_rest():
            function: Callable[..., int | Result] = getattr(
                import_module(f"relax_explorer.ui.cli.{self.module}"), self.name
            )
        return function

    def __call__(self, **values: object) -> int | Result:
        """Run the command; returns its result, or the exit status if it printed all itself."""
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


def form(name: str, *forms: str) -> Argument:
    """The option that chooses how the result is shown. The renderer takes it, not the handler."""
    return Argument(name, "how to print", "form", forms[0], choices=forms)


JSON = form("--format", "text", "json")
WATCH = Argument("--watch", "do it again when a file changes on the disk, until ctrl+c", "watch", False)
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
    "a pipeline: names with options, `A,B{x=1}`, or a named one; `tvm:A` is a pass or pipeline of TVM, `my_module:my_pass` one of your own",
    "passes",
    short="-p",
    metavar="A,B",
)
PYTHON = Argument(
    "--python",
    "the Python that has TVM, and runs `tvm:A` and `my_module:my_pass`: its path, its name, or the folder of its environment (default: this one)",
    "interpreter",
    metavar="PYTHON",
)
PASS_SECONDS = Argument("--pass-seconds", "time limit of such a pass (0: none)", "float", 120.0, metavar="N")
TARGET = Argument(
    "--target", "the target of TVM for such passes: a kind, a tag, or JSON", "text", "llvm", metavar="TARGET"
)
PIPELINE = (PASSES, PYTHON, PASS_SECONDS, TARGET)
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
RANKS = (
    Argument(
        "--ranks",
        "run the program on this many ranks side by side, which meet at collectives, and show their values beside each other; "
        "{rank} in a source of --input is the number of the rank",
        "int",
        metavar="N",
    ),
    source(
        "--unsharded",
        "the program that is not divided: --input gives its values, ranks get parts of them; the first binding that parts from it is told",
        "FILE",
    ),
)
ANONYMOUS = flag(
    "--anonymous",
    "replace the names of the program: functions, kernels, variables, lengths, texts of attributes; operators stay",
)
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
CALL = (PROGRAM, FUNCTION, *PIPELINE, RUN_STAGE, CONST, RUN_INPUT, SHAPE, MAX_INPUT, PACKED, PRIVATE)
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
SECONDS = Argument(
    "--max-seconds", "time limit of the child that reads the model", "float", 600.0, metavar="N"
)
MEMORY = Argument(
    "--max-memory", "memory limit of that child, in GiB of addresses", "float", 16.0, metavar="GIB"
)


# -- run commands ----------------------------------------------------------------------------------------------------
# Commands that run a program: once, step by step, or several stages against each other.


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
        *RANKS,
        CALLS,
        PROFILE_OR_AUTO,
        Argument(
            "--trace",
            "write one JSON line for each step to this file; or times of passes, bindings and kernels to a .json for Perfetto and chrome://tracing",
            "target",
            metavar="FILE.jsonl|.json",
        ),
        JSON,
    ),
    (
        "relax-explorer run model.py --func main --shape n=3",
        "relax-explorer run model.py --input io.npz --expect io.npz",
        "relax-explorer run dumps --stage LegalizeOps",
        "relax-explorer run model.py --stop-on nan",
        'relax-explorer run model.py --watch "max(y)"',
        "relax-explorer run decoder.py --calls session.txt",
        "relax-explorer run sharded.py --ranks 2 --unsharded whole.py",
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
        PROFILE_OR_AUTO,
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
        source(
            "a",
            "a program: FILE, FILE@STAGE, or a folder of numbered stages; or a model, compared with its framework",
            "A",
        ),
        Argument("b", "another one (default: A after the passes)", "source", required=False, metavar="[B]"),
        *PIPELINE,
        Argument(
            "--with",
            "another pipeline for A: compare what both give, as programs and as values",
            "passes",
            metavar="A,B",
        ),
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
        "relax-explorer compare model.py -p LegalizeOps --with tvm:LegalizeOps",
        "relax-explorer compare before.py after.py --shape n=3",
        "relax-explorer compare dumps@FuseOps dumps@FuseTIR --input io.npz",
        "relax-explorer compare before.py after.py --step",
        "relax-explorer compare build.rxs",
        "relax-explorer compare model.onnx model.rxs",
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
        *PIPELINE,
        FUNCTION,
        choice("--test", "what must hold after each pass", "same-output", "no-nan", "well-formed"),
        source("--ref", "the right results out0, out1, … (default: those of the input)", "FILE.npz"),
        *SAMPLING,
        CALLS,
        *SIDE_BY_SIDE,
        PROFILE_OR_AUTO,
        JSON,
    ),
    (
        "relax-explorer bisect model.py -p default",
        "relax-explorer bisect dumps --input io.npz --ref io.npz",
        "relax-explorer bisect model.py -p default -- ./build_and_test.sh",
    ),
)

REDUCE = Command(
    "reduce",
    "Make a program smaller while it shows the same fault: passes, bindings, operands, branches, constants and lengths go.",
    Handler("reducing", "reduce"),
    (
        PROGRAM,
        Argument(
            "command",
            "after --: a test command; it gets each stage as a file",
            "many",
            required=False,
            metavar="[-- CMD...]",
        ),
        *PIPELINE,
        FUNCTION,
        choice("--test", "what fails after a pass", "same-output", "no-nan", "well-formed"),
        target("write the program to this file (default: the name of the input, with .reduced.py)", "FILE"),
        Argument("--seconds", "take the smallest program found after this time", "float", metavar="N"),
        *SAMPLING,
        *SIDE_BY_SIDE,
        ANONYMOUS,
        PROFILE,
        JSON,
    ),
    (
        "relax-explorer reduce model.py -p default",
        "relax-explorer reduce model.py --test no-nan --input io.npz -o nan.py",
        "relax-explorer reduce model.py -p FuseOps -- ./crashes.sh {}",
    ),
)

EXPORT = Command(
    "export",
    "Write a program for others to run: one Python file with inputs, passes and right results, or the text of an issue.",
    Handler("exporting", "export"),
    (
        PROGRAM,
        *PIPELINE,
        FUNCTION,
        choice(
            "--to",
            "tvm (a Python file that needs TVM and NumPy), or issue (Markdown with that file)",
            "tvm",
            "issue",
        ),
        RUN_INPUT,
        SHAPE,
        MAX_INPUT,
        target("write to this file instead of standard output", "FILE"),
        ANONYMOUS,
        PROFILE,
        JSON,
    ),
    (
        "relax-explorer export model.reduced.py -p FuseOps -o reproducer.py",
        "relax-explorer export model.py --to issue --shape n=2 --anonymous",
    ),
)

VALIDATE = Command(
    "validate",
    "Run every stage against the first one, on several inputs and shapes.",
    Handler("comparing", "validate"),
    (
        source("input", "a TVMScript file, or a folder of numbered stages", "INPUT"),
        *PIPELINE,
        FUNCTION,
        *SAMPLING,
        CALLS,
        *SIDE_BY_SIDE,
        JSON,
    ),
    ("relax-explorer validate model.py -p default", "relax-explorer validate dumps --samples 5 --workers 4"),
)

RECORD = Command(
    "record",
    "Run a build that uses TVM, and record each of its passes. The exit status is that of the build.",
    Handler("recorded_child", "record"),
    (
        Argument(
            "command", "after --: the command that builds", "code", required=False, metavar="[-- CMD...]"
        ),
        target("the file to write (default: build.rxs for build.py)", "FILE.rxs"),
        Argument("--include", "record only passes with such names; may be repeated", "many", metavar="GLOB"),
        Argument("--exclude", "leave out passes with such names; may be repeated", "many", metavar="GLOB"),
        flag("--no-host", "stop at MakePackedAPI: leave out how the code of the host is lowered"),
        Argument(
            "--values",
            "record what the compiled program computes, too: each call of the virtual machine, or those with such names",
            "optional",
            metavar="[NAMES]",
        ),
        Argument("--max-stages", "stop after so many passes (0: never)", "int", 0, metavar="N"),
        Argument(
            "--json-status",
            "write the exit status and what was recorded to this file",
            "target",
            metavar="FILE",
        ),
    ),
    (
        "relax-explorer record -- python build.py",
        "relax-explorer record -o llama.rxs --no-host -- python -m mlc_llm compile llama",
        "relax-explorer record --values -- python build_and_run.py",
    ),
)

IMPORT = Command(
    "import",
    "Import a model of ONNX, PyTorch (.pt2) or TFLite with TVM's importer, and keep it with its weights.",
    Handler("importing", "import_model"),
    (
        source("model", "a model: .onnx, .pt2 (torch.export.save) or .tflite", "MODEL"),
        target(
            "a container .rxs with the weights, or a text .py with the weights beside it (default: MODEL.rxs)",
            "FILE",
        ),
        PYTHON,
        SHAPE,
        SECONDS,
        MEMORY,
        JSON,
    ),
    (
        "relax-explorer import model.onnx",
        "relax-explorer import model.onnx --shape batch=1 -o model.py",
        "relax-explorer import model.pt2 --python ~/venvs/torch",
    ),
)
