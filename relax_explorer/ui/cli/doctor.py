"""`doctor`: what this program finds on the machine, part by part, and what to do where something is missing or broken.

Parts that may be broken are tried in processes of their own, all at once, so that none of them takes this one down.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import relax_explorer
from relax_explorer.core.exec.kernel_cache import refusal
from relax_explorer.ui import directories, process
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.output import Result
from relax_explorer.viz.answering_child import INSTALL, AnsweringChild, Unanswered, interpreter, signal_name
from relax_explorer.viz.child import ChildOutputTooLong, ChildTimeout, own_python, run_child
from relax_explorer.viz.graph import Graph, Node
from relax_explorer.viz.visible import visible

OK, WARNING, BROKEN = "ok", "warning", "broken"
MARKS = {OK: "✓", WARNING: "!", BROKEN: "✗"}
SECONDS = 60.0  # for each part
_PAIRS = (("0.27.", "0.1.14."),)
"""The beginnings of versions of TVM and its ffi that are known to fit together."""
_OURS = (
    "click",
    "graphviz",
    "llvmlite",
    "ml_dtypes",
    "numba",
    "numpy",
    "platformdirs",
    "pygments",
    "rich",
    "textual",
)
_IMPORTERS = {
    "onnx": ("ONNX models", "onnx"),
    "torch": ("PyTorch programs (.pt2)", "torch --index-url https://download.pytorch.org/whl/cpu"),
    "tflite": ("TFLite models", "tflite"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name, its state (ok, warning, broken), what was found, and what to do."""

    name: str
    state: str
    found: str
    advice: str = ""


def doctor(python: str | None) -> Result:
    """Look at all parts. `python` is the Python in which TVM and the importers are."""

    def of_user() -> list[Part]:
        return _of_user(python or "")

    checks: tuple[Callable[[], list[Part]], ...] = (
        _python,
        _packages,
        _kernels,
        _screens,
        _graphviz,
        _cache,
        _terminal,
        of_user,
    )
    with ThreadPoolExecutor(len(checks)) as pool:  # each mostly waits for a child
        parts = [part for found in pool.map(_tried, checks) for part in found]
    status = output.FOUND if any(part.state == BROKEN for part in parts) else output.OK
    counts = {state: sum(part.state == state for part in parts) for state in MARKS}
    return Result(
        "doctor", {"parts": [asdict(part) for part in parts], "counts": counts}, _lines(parts), status
    )


def _lines(parts: list[Part]) -> Iterator[str]:
    for part in parts:
        yield f"{MARKS[part.state]} {part.name}: {visible(part.found, 300)}"
        if part.advice:
            yield f"    {visible(part.advice, 300)}"


def _tried(check: Callable[[], list[Part]]) -> list[Part]:
    """The parts of a check. One that fails in a way that nobody thought of is a part as well."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # a machine may be broken in any way; the other parts are still of interest
        name = check.__name__.strip("_").replace("_", " ")
        return [Part(name, BROKEN, f"{type(error).__name__}: {error}", "report it, with what is said here")]


# -- our own parts ---------------------------------------------------------------------------------------------------


def _python() -> list[Part]:
    found = f"{platform.python_version()} ({sys.executable}), relax-explorer {relax_explorer.__version__}"
    return [Part("Python", OK, found)]


def _packages() -> list[Part]:
    """The packages that this program needs, by what their installation says."""
    from importlib.metadata import PackageNotFoundError, version

    found, missing = [], []
    for name in _OURS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return [Part("packages", BROKEN, f"missing: {', '.join(missing)}", f"{_pip()} {' '.join(missing)}")]
    return [Part("packages", OK, ", ".join(found))]


def _pip(python: str = "") -> str:
    return f"{python or sys.executable} -m pip install"


_KERNEL = """import json, llvmlite, llvmlite.binding as llvm, numba
assert numba.njit(lambda x: x + 1)(1) == 2
print(json.dumps([".".join(map(str, llvm.llvm_version_info)), llvmlite.__version__, numba.__version__, numba.config.NUMBA_NUM_THREADS]))"""


def _kernels() -> list[Part]:
    """What compiles kernels, tried."""
    found, reason = _child(own_python(_KERNEL))
    if found is None:
        advice = f"{_pip()} --force-reinstall numba llvmlite; until then `run --engine reference` runs kernels slowly"
        return [Part("compilers", BROKEN, reason, advice)]
    llvm, llvmlite, numba, threads = found
    return [Part("compilers", OK, f"LLVM {llvm} (llvmlite {llvmlite}), numba {numba}, {threads} threads")]


def _screens() -> list[Part]:
    """The explorer's package."""
    code = "import json, textual; from textual.app import App; print(json.dumps(textual.__version__))"
    found, reason = _child(own_python(code))
    if found is None:
        advice = f"{_pip()} --force-reinstall 'textual>=8.2.5,<9'; all commands but tui, play and serve work without it"
        return [Part("explorer", BROKEN, reason, advice)]
    return [Part("explorer", OK, f"Textual {found}")]


def _graphviz() -> list[Part]:
    """What lays out graphs here, tried on a small one."""
    from relax_explorer.viz.dot import draw

    picture = draw(Graph("doctor", (Node("a", "a"),), ()), timeout=SECONDS)
    if picture.engine == "builtin":
        reasons = "; ".join(picture.notices)
        return [
            Part("graphs", WARNING, f"our own layout, without Graphviz ({reasons})", f"{_pip()} pygraphviz")
        ]
    used = shutil.which("dot") if picture.engine == "dot" else "its wheel"
    return [Part("graphs", OK, f"Graphviz by {picture.engine} ({used})")]


def _cache() -> list[Part]:
    """The folder of compiled kernels."""
    folder = directories.kernel_cache()
    reason = refusal(folder)
    if reason:
        advice = "kernels are compiled anew in each process; set XDG_CACHE_HOME to a folder of yours, or mend its rights"
        return [Part("cache", WARNING, reason, advice)]
    files = [item.stat().st_size for item in folder.rglob("*") if item.is_file()]
    return [Part("cache", OK, f"{folder}: writable, {sum(files) / 1e6:.1f} MB in {len(files)} files")]


# -- the terminal ----------------------------------------------------------------------------------------------------


def _terminal() -> list[Part]:
    """Size, colours, Unicode and pictures of the terminal."""
    kind = os.environ.get("TERM", "")
    if not sys.stdout.isatty():
        return [Part("terminal", OK, "standard output is none", "")]
    columns, rows = shutil.get_terminal_size()
    words = [kind or "TERM is not set", f"{columns}×{rows}", _colours(kind)]
    words += ["ASCII only" if streams.is_ascii() else "Unicode", _pictures()]
    found = ", ".join(filter(None, words))
    advice = _terminal_advice(kind, columns, rows)
    return [Part("terminal", WARNING if advice else OK, found, advice)]


def _colours(kind: str) -> str:
    if process.no_colors():
        return "no colours"
    if os.environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in kind else "16 colours"


def _terminal_advice(kind: str, columns: int, rows: int) -> str:
    if kind in ("", "dumb"):
        return "the explorer needs a terminal that moves its cursor: set TERM to its name, such as xterm-256color"
    if columns < 60 or rows < 16:
        return "the explorer needs 60×16 characters, and is comfortable from 80×24 on"
    if streams.is_ascii():
        return "set a locale of UTF-8, such as LANG=C.UTF-8, if the terminal draws more than ASCII"
    if not process.no_colors() and _colours(kind) != "16 million colours":
        return "set COLORTERM=truecolor if the terminal has more colours"
    return ""


def _pictures() -> str:
    """The pictures that the terminal says it shows; empty if it can't be asked."""
    if os.name != "posix" or not sys.stdin.isatty() or os.environ.get("TERM") in (None, "", "dumb"):
        return ""
    import termios
    import tty

    from relax_explorer.ui.terminal_answers import answer_of
    from relax_explorer.viz.terminal_picture import speech

    reading = sys.stdin.fileno()
    before = termios.tcgetattr(reading)
    try:
        tty.setraw(reading)
        spoken = speech(answer_of(reading, sys.stdout.fileno(), 0.5)).protocol
    finally:
        termios.tcsetattr(reading, termios.TCSAFLUSH, before)
    return {"kitty": "pictures by kitty's protocol", "sixel": "pictures as sixel"}.get(spoken, "no pictures")


# -- the user's Python -----------------------------------------------------------------------------------------------

_VERSIONS = """import json
from importlib.metadata import PackageNotFoundError, version
def of(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
print(json.dumps({name: of(name) for name in ("apache-tvm", "apache-tvm-ffi", "onnx", "torch", "tflite")}))"""


def _of_user(given: str) -> list[Part]:
    """TVM and the importers in the Python of `--python`: what is installed, and whether TVM works."""
    python = interpreter(given)
    found, reason = _child([python, "-c", _VERSIONS])
    if not isinstance(found, dict):
        advice = "name a Python with --python: its path, or the folder of its environment"
        return [Part("TVM", BROKEN if given else WARNING, f"{python} can't be asked: {reason}", advice)]
    return [_tvm(given, python, found), *[_importer(name, python, found) for name in _IMPORTERS]]


def _tvm(given: str, python: str, versions: dict[str, str]) -> Part:
    """The pair of TVM and its ffi, with a smoke test."""
    tvm, ffi = versions["apache-tvm"], versions["apache-tvm-ffi"]
    install = f"{_pip(python)} {INSTALL}"
    child = AnsweringChild("tvm_passes", given)
    try:
        child.ask("smoke", {}, {}, SECONDS, "the smoke test")
        told, _ = child.ask("versions", {}, {}, SECONDS, "asking for versions")
    except Unanswered as problem:
        reason = problem.diagnostics[0].message
        if problem.kind == "missing" and not tvm:
            return Part(
                "TVM", WARNING, f"not installed in {python}", f"for tvm:PASS, record and import: {install}"
            )
        pair = f"{tvm or 'unknown version'} with ffi {ffi or 'of unknown version'}"
        return Part("TVM", BROKEN, f"{pair}: {reason}", install)
    finally:
        child.close()
    pair = f"{told['tvm']} with ffi {told['ffi']} in {python}, smoke test passed"
    is_known = any(str(told["tvm"]).startswith(a) and str(told["ffi"]).startswith(b) for a, b in _PAIRS)
    return (
        Part("TVM", OK, pair)
        if is_known
        else Part("TVM", WARNING, f"{pair}; not a known pair", f"if it crashes: {install}")
    )


def _importer(name: str, python: str, versions: dict[str, str]) -> Part:
    what, package = _IMPORTERS[name]
    if versions[name]:
        return Part(name, OK, versions[name])
    return Part(name, WARNING, f"not installed in {python}", f"to import {what}: {_pip(python)} {package}")


def _child(command: list[str]) -> tuple[Any, str]:
    """What a child prints as JSON, or None and why there is nothing."""
    try:
        done = run_child(command, b"", SECONDS, 1 << 20, is_python=True)
        if done.status == 0:
            return json.loads(done.output), ""
    except ChildTimeout:
        return None, f"no answer within {SECONDS:g} s"
    except (ChildOutputTooLong, ValueError):
        return None, "it prints something else than it was asked for"
    except OSError as error:
        return None, error.strerror or str(error)
    lines = [line for line in done.errors.decode("utf-8", "replace").splitlines() if line.strip()]
    end = f"it crashed: {signal_name(-done.status)}" if done.status < 0 else f"exit status {done.status}"
    return None, f"{lines[-1]} ({end})" if lines else end
