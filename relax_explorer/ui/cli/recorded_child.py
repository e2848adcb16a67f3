"""`record`: runs a build in a child that records its passes, and joins what its processes recorded."""

from __future__ import annotations

import json
import os
import shlex
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

import relax_explorer
from relax_explorer import recorder
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.containers import Told, pack, seconds
from relax_explorer.core.session.folders import RECORDED
from relax_explorer.core.syntax.notes import UnreadableText, short_text
from relax_explorer.ui.cli import output
from relax_explorer.ui.files import STANDARD_OUTPUT, CannotWrite, Target, target
from relax_explorer.viz.child import run_through
from relax_explorer.viz.visible import counted, json_document, visible, visible_json

_NO_CALLS = (
    "no call of a virtual machine was seen: nothing ran in this build, or it was compiled with `exec_mode='compiled'`, "
    "whose calls go straight to the kernels"
)
_SIGNALLED = 128  # added to the number of a signal, as shells do


def record(
    command: Sequence[str],
    output_: Target | None,
    include: Sequence[str],
    exclude: Sequence[str],
    no_host: bool,
    values: str | None,
    max_stages: int,
    json_status: Target | None,
) -> int:
    """Run a command and record the passes of TVM in it. Returns its exit status."""
    if not command:
        raise click.UsageError("there is nothing to run: relax-explorer record -- python build.py")
    file = output_ or _target(default_name(command))
    if file is STANDARD_OUTPUT:
        raise click.UsageError("--output takes a file: the build writes to standard output")
    path = os.path.realpath(str(file.name))
    _check_unused(path)
    names = [name for name in (values or "").split(",") if name]
    options = recorder.Options(include, exclude, not no_host, names, max_stages)
    settings = {"path": path, "options": asdict(options)}
    with tempfile.TemporaryDirectory(prefix="rxe-record-") as notes:
        ended = _run(command, settings, notes)
        told = _joined(file, path, ended)
        if not told:
            output.say(f"nothing was recorded: {_reason(Path(notes))}", err=True)
    lines = closing_lines(told, str(file.name), ended) if told else [ended.sentence]
    for line in lines:
        output.say(line, err=True)
    if json_status is not None:
        data = {**asdict(figures(told)), "file": str(file.name) if told else None}
        data |= {"status": ended.status, "signal": ended.signal or None, "command": list(command)}
        output.save(json_status, (visible_json(json_document("record", data), 2) + "\n").encode())
    return ended.status or (output.OK if told else output.CANNOT)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a build ended: the exit status of a shell, and the name of the signal that ended it."""

    command: tuple[str, ...]
    status: int
    signal: str = ""

    @property
    def sentence(self) -> str:
        """`exit status 0`, or the signal."""
        return f"ended by {self.signal}" if self.signal else f"exit status {self.status}"


def _run(command: Sequence[str], settings: Mapping[str, object], notes: str) -> Ended:
    hook = str(Path(relax_explorer.__file__).parent / "injected")
    more = {
        "PYTHONPATH": os.pathsep.join([hook, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "RELAX_EXPLORER_RECORDING": json.dumps(settings),
        "RELAX_EXPLORER_NOTES": notes,
    }
    try:
        status = run_through(command, more)
    except OSError as error:
        hint = f"; to run it by Python: -- python {command[0]}" if command[0].endswith(".py") else ""
        raise click.UsageError(f"{command[0]} can't be started: {error.strerror or error}{hint}") from None
    if status >= 0:
        return Ended(tuple(command), status)
    return Ended(tuple(command), _SIGNALLED - status, signal.Signals(-status).name)


def default_name(command: Sequence[str]) -> str:
    """`build.rxs` for `python build.py`, `compile.rxs` for `python -m tool.compile`, else by the name of the program."""
    words = list(command)
    script = next((word for word in words if word.endswith(".py")), "")
    if not script and "-m" in words[:-1]:
        script = words[words.index("-m") + 1].rpartition(".")[2]
    return Path(script or words[0]).stem + RECORDED


def _target(name: str) -> Target:
    try:
        return target(name)
    except CannotWrite as error:
        raise click.UsageError(str(error)) from None


def _check_unused(path: str) -> None:
    """Refuse a file into which another recording is written, or whose last recording was not joined."""
    left = recorder.journal_name(path)
    if os.path.lexists(left):
        text = f"{left} is there: a recording is running, or ended early"
        raise click.UsageError(
            f"{text}. Look at it with `rxe {left}`, remove it, or name another file with -o."
        )


def _journals(path: str) -> list[str]:
    found = [recorder.journal_name(path, number) for number in range(1, recorder.MOST_PROCESSES + 1)]
    return [name for name in found if os.path.lexists(name)]


def _joined(file: Target, path: str, ended: Ended) -> list[Told]:
    """What the processes of a build recorded, written as one file. A remark tells if that fails: their journals stay."""
    journals = _journals(path)
    if not journals:
        return []
    more = {"explorer": relax_explorer.__version__, "command": list(ended.command), "status": ended.status}
    try:
        with file.opened() as opened:
            told = pack(journals, opened, more)
    except CannotWrite as error:
        raise output.Unwritable(
            f"{visible(str(error), 600)}; what was recorded is in {journals[0]}"
        ) from None
    except Failure as failure:
        output.report(failure.diagnostics)
        return []
    for name in journals:
        os.unlink(name)
    return told


def _reason(notes: Path) -> str:
    """Why no process recorded anything, and what to do."""

    def note(name: str) -> str | None:
        try:
            return short_text(notes / name)[:300]
        except UnreadableText:
            return None

    failed, missing = note("failed"), note("no-tvm")
    if failed is not None:
        return f"the recorder could not start in the build ({failed})"
    if note("tvm") is not None:
        return "TVM was imported, but no pass ran"
    if missing is not None:
        return f"{missing} has no TVM; install it there (pip install apache-tvm), or name another Python behind --"
    if note("started") is not None:
        return "the command did not import TVM"
    text = "no Python process took the recorder: -I, -E and -S keep it out"
    return f'{text}; leave them away, or write `with relax_explorer.record("run.rxs"):` around the build'


# -- closing lines ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a recording. `seconds` is what recording took."""

    passes: int
    changed: int
    helpers: int
    calls: int
    processes: int
    seconds: float


def figures(told: Sequence[Told]) -> Figures:
    """The figures of what the processes of a build told."""
    stages = [line for item in told for line in item.lines[recorder.STAGE]]
    passes = [line for line in stages if not line.get("failed") and not line.get("input")]
    lineages = [line for item in told for line in item.lines[recorder.LINEAGE]]
    return Figures(
        len(passes),
        sum(not line.get("unchanged") for line in passes),
        sum(line.get("kind") == "helper" for line in lineages),
        sum(len(item.lines[recorder.CALL]) for item in told),
        len(told),
        round(sum([seconds(item.process.get("spent")) for item in told]), 3),
    )


def closing_lines(told: Sequence[Told], name: str, ended: Ended) -> list[str]:
    """`recorded 91 passes (31 changed), 2 helper modules; 1.4 s over the build; exit status 0`, and how to open it."""
    found = figures(told)
    parts = [f"recorded {found.passes} pass{'es' * (found.passes != 1)} ({found.changed} changed)"]
    parts += [counted(found.helpers, "helper module")] * (found.helpers > 0)
    parts += [f"{counted(found.calls, 'call')} of the virtual machine"] * (found.calls > 0)
    parts += [f"in {found.processes} processes"] * (found.processes > 1)
    early = [str(item.process["running"][-1]) for item in told if item.process.get("running")]
    during = [f"{visible(name, 80)} was running at the end" for name in early[:1]]
    end = "; ".join([", ".join(parts), *during, f"{found.seconds:.1f} s over the build", ended.sentence])
    options = told[0].process.get("options")
    wanted = isinstance(options, dict) and options.get("values")
    return [end, *[_NO_CALLS] * bool(wanted and not found.calls), f"open it: rxe {shlex.quote(name)}"]
