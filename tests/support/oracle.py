"""Asks Apache TVM about TVMScript text, in one child process per test session.

TVM can crash, so it never runs in the process of the tests. The child is a process that has loaded TVM and a copy of it that
answers. When the copy dies, another one is made for the next question, and the death is an answer like any other.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

from tests.support import wire

ROOT = Path(__file__).resolve().parents[2]
QUESTION_SECONDS = 60.0
"""The time limit of a question in seconds, unless the caller sets another; the first one includes TVM's import."""
STARTUP_SECONDS = 60.0

T = TypeVar("T")
U = TypeVar("U")
Pass = str | tuple[str, dict[str, Any]]
"""A Relax transform by TVM's name, with or without options, or `pipeline:NAME`."""


@dataclass(frozen=True)
class Handle:
    """A module kept by the child, for text that TVM prints but does not read again."""

    child: int
    name: str


Program = str | Handle


class OracleRefusal(AssertionError):
    """TVM gave an error, crashed or took too long, but the test needs a value."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """An answer: a value, or the reason why there is none.

    `kind` is "" for a value, "crashed", "timeout", or the name of TVM's exception. `crashed` is the signal that ended the
    child (a negative number is an exit status).
    """

    value: T | None = None
    error: str = ""
    kind: str = ""
    crashed: int | None = None

    @property
    def ok(self) -> bool:
        """True if there is a value."""
        return not self.kind

    def get(self) -> T:
        """Return the value, or raise OracleRefusal with TVM's own words."""
        if not self.ok:
            raise OracleRefusal(f"{self.kind}: {self.error}")
        return self.value  # type: ignore[return-value]  # T itself may be optional


class BindingType(NamedTuple):
    """One binding in TVM's view; `kind` is an operator, `call:` and a callee class, or a class of value."""

    function: str
    name: str
    type: str
    kind: str


class Signature(NamedTuple):
    """The types of a Relax function's parameters and result, and its purity."""

    function: str
    params: list[str]
    result: str
    pure: bool


class Equality(NamedTuple):
    """Structural equality of two modules, with free variables mapped to one another and without.

    `mismatch` is the path to the first difference that remains with the mapping.
    """

    mapped: bool
    exact: bool
    mismatch: str


class WellFormed(NamedTuple):
    """TVM's verdict about a module, and the first reason if it is negative."""

    well_formed: bool
    message: str


class Relation(NamedTuple):
    """The relation of the types of a function's last two parameters.

    `check` tells if the first is accepted for the second (PASS, FAIL_L2: perhaps, FAIL_L1: after a cast, FAIL_L0: never).
    `common` is their least upper bound; `static` and `erased` are the first without lengths, and without shape variables.
    """

    function: str
    check: str
    common: str
    static: str
    erased: str


class Built(NamedTuple):
    """An executable as text and as Python, and the module that it was made of."""

    text: str
    python: str
    stage: str


class Saved(NamedTuple):
    """A module as TVM's JSON, and TVM's print of it."""

    json: str
    text: str


class Applied(NamedTuple):
    """A module after passes: TVM's print of it, and the module itself for further questions."""

    text: str
    handle: Handle


@dataclass
class Oracle:
    """The child process and the counts of its questions.

    Every method takes text or a handle (some only text), and `seconds`, the time limit.
    """

    asked: int = 0
    refused: list[str] = field(default_factory=list)
    _child: subprocess.Popen[bytes] | None = None
    _generation: int = 0
    _lines: queue.Queue[bytes] = field(default_factory=queue.Queue)
    _reader: threading.Thread | None = None
    _stderr: IO[bytes] | None = None
    _read: int = 0  # bytes of what the child said, up to the death of a copy

    @staticmethod
    def is_installed() -> bool:
        """True if TVM can be found, without loading it."""
        return importlib.util.find_spec("tvm") is not None

    def could_not_ask(self, reason: str) -> None:
        """Count a comparison that TVM cannot answer; the session prints the count."""
        self.refused.append(reason)

    def keeps(self, handle: Handle) -> bool:
        """True if the child that made a handle is there to know it."""
        return handle.child == self._generation and self._child is not None

    @property
    def process(self) -> int:
        """The number of the child's process, and of the group of its copies; 0 if there is none."""
        return 0 if self._child is None else self._child.pid

    def version(self) -> str:
        """Return TVM's version."""
        answer: Answer[str] = self._ask("version", QUESTION_SECONDS)
        return answer.get()

    def parse(
        self, program: Program, *, check_well_formed: bool = True, seconds: float = QUESTION_SECONDS
    ) -> Answer[Handle]:
        """Parse text and keep the module; the answer is an error if TVM rejects the text."""
        answer: Answer[str] = self._ask(
            "parse", seconds, program=self._wire(program), check=check_well_formed
        )
        return _converted(answer, lambda name: Handle(self._generation, name))

    def script(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[str]:
        """Print the module as TVM does, with its metadata."""
        return self._ask("script", seconds, program=self._wire(program))

    def saved(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[Saved]:
        """Write the module as JSON (`tvm.ir.save_json`), and print it."""
        answer: Answer[dict[str, str]] = self._ask("saved", seconds, program=self._wire(program))
        return _converted(answer, lambda value: Saved(**value))

    def executable(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[Built]:
        """Build the module for llvm, and print the executable in both forms, and the last module with Relax functions."""
        answer: Answer[dict[str, str]] = self._ask("executable", seconds, program=self._wire(program))
        return _converted(answer, lambda value: Built(**value))

    def equal(self, a: Program, b: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[Equality]:
        """Compare two modules by their structure."""
        answer: Answer[dict[str, Any]] = self._ask("equal", seconds, a=self._wire(a), b=self._wire(b))
        return _converted(answer, lambda value: Equality(**value))

    def reads_alike(self, text: str) -> Answer[bool]:
        """Ask if the child, which parses quickly (`quick_parser`), reads a text as TVM's own parser does."""
        return self._ask("reads_alike", QUESTION_SECONDS, program=self._wire(text))

    def types(
        self, program: Program, *, strip: bool = False, seconds: float = QUESTION_SECONDS
    ) -> Answer[list[BindingType]]:
        """List every binding of every Relax function, functions by name and bindings in order.

        The bindings inside an `If` or a local function come before the binding that holds it; a local function is called
        `outer.inner`. With `strip` (text only) the annotations of bindings are removed first, so that TVM infers the types.
        """
        if strip and isinstance(program, Handle):
            raise ValueError("annotations can be removed from text only")
        answer: Answer[list[list[str]]] = self._ask(
            "types", seconds, program=self._wire(program), strip=strip
        )
        return _converted(answer, lambda rows: [BindingType(*row) for row in rows])

    def signatures(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[list[Signature]]:
        """List the Relax functions by name with the types of their parameters and results."""
        answer: Answer[list[list[Any]]] = self._ask("signatures", seconds, program=self._wire(program))
        return _converted(answer, lambda rows: [Signature(*row) for row in rows])

    def python_signatures(self, names: Sequence[str]) -> Answer[dict[str, list[list[str]] | None]]:
        """The parameters of TVM's Python functions by the operators' names: names, and defaults as text; None without a function."""
        return self._ask("python_signatures", QUESTION_SECONDS, names=list(names))

    def purities(self, names: Sequence[str]) -> Answer[dict[str, bool | None]]:
        """The purity of TVM's operators of these names; None if TVM does not declare it."""
        return self._ask("purities", QUESTION_SECONDS, names=list(names))

    def operators_with(self, attribute: str) -> Answer[dict[str, int | None]]:
        """TVM's operators that have an attribute, such as `FPrimalGradient`, with its value if that is a number."""
        return self._ask("operators_with", QUESTION_SECONDS, attribute=attribute)

    def lattice(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[list[Relation]]:
        """Relate the types of the last two parameters of every Relax function, functions by name."""
        answer: Answer[list[dict[str, str]]] = self._ask("lattice", seconds, program=self._wire(program))
        return _converted(answer, lambda rows: [Relation(**row) for row in rows])

    def well_formed(self, program: Program, *, seconds: float = QUESTION_SECONDS) -> Answer[WellFormed]:
        """Ask if the module is well formed; text is parsed without that check."""
        answer: Answer[dict[str, Any]] = self._ask("well_formed", seconds, program=self._wire(program))
        return _converted(answer, lambda value: WellFormed(**value))

    def memory_usage(self, program: Program) -> Answer[str]:
        """TVM's estimate of the memory of each function, before and after its planning, as it prints it."""
        return self._ask("memory_usage", QUESTION_SECONDS, program=self._wire(program))

    def flops(self, program: Program) -> Answer[dict[str, float]]:
        """TVM's estimate of the FLOPs of each PrimFunc of constant lengths, by name."""
        return self._ask("flops", QUESTION_SECONDS, program=self._wire(program))

    def matches(
        self, program: Program, pattern: dict[str, Any], *, seconds: float = QUESTION_SECONDS
    ) -> Answer[list[tuple[str, str]]]:
        """List the bindings that a pattern matches: function and variable. `pattern_trees.tree` describes the pattern."""
        answer: Answer[list[list[str]]] = self._ask(
            "matches", seconds, program=self._wire(program), pattern=pattern
        )
        return _converted(answer, lambda rows: [(name, var) for name, var in rows])

    def apply(
        self, program: Program, passes: Sequence[Pass], *, seconds: float = QUESTION_SECONDS
    ) -> Answer[Applied]:
        """Apply passes in order, for the target llvm."""
        answer: Answer[dict[str, str]] = self._ask(
            "apply", seconds, program=self._wire(program), passes=_with_options(passes)
        )
        return _converted(
            answer, lambda value: Applied(value["text"], Handle(self._generation, value["handle"]))
        )

    def run(
        self,
        program: Program,
        func: str,
        inputs: Sequence[Any],
        *,
        passes: Sequence[Pass] = (),
        seconds: float = QUESTION_SECONDS,
    ) -> Answer[Any]:
        """Compile with TVM's default pipeline for llvm and call `func` on the virtual machine.

        Inputs and results: arrays, tuples, scalars, and tuples of integers for shapes. `passes` run before
        the pipeline; a program with local functions needs `LambdaLift` there.
        """
        answer: Answer[dict[str, Any]] = self._ask(
            "run",
            seconds,
            program=self._wire(program),
            func=func,
            inputs=[wire.encode(value) for value in inputs],
            passes=_with_options(passes),
        )
        return _converted(answer, wire.decode)

    def run_each(
        self,
        program: Program,
        calls: Sequence[tuple[str, Sequence[Any]]],
        *,
        passes: Sequence[Pass] = (),
        seconds: float = QUESTION_SECONDS,
    ) -> Answer[list[Answer[Any]]]:
        """Compile as `run` does, once, and call several functions, each with its inputs; one answer for each call."""
        answer: Answer[list[dict[str, Any]]] = self._ask(
            "run_each",
            seconds,
            program=self._wire(program),
            calls=[[func, [wire.encode(value) for value in inputs]] for func, inputs in calls],
            passes=_with_options(passes),
        )
        return _converted(answer, lambda rows: [_one(row) for row in rows])

    def time(
        self, text: str, what: Sequence[str], *, repeat: int = 3, rounds: int = 1, seconds: float = 600
    ) -> Answer[dict[str, float]]:
        """Return the seconds, at best, of `parse`, `script`, `well_formed` or a pass by its name.

        The work is done on the module whose dataflow block stands `rounds` times in a row.
        """
        return self._ask(
            "time", seconds, program={"text": text}, what=list(what), repeat=repeat, rounds=rounds
        )

    def run_time(
        self, text: str, func: str, lengths: Mapping[str, int], *, repeat: int = 3, seconds: float = 60
    ) -> Answer[float]:
        """Return the seconds of a call of a function that TVM compiled for the processor, at best, on random values."""
        return self._ask("run_time", seconds, text=text, func=func, lengths=dict(lengths), repeat=repeat)

    def pass_time(
        self,
        text: str,
        of: Pass,
        *,
        before: Sequence[Pass] = (),
        rounds: int = 1,
        repeat: int = 3,
        seconds: float = 60,
    ) -> Answer[float]:
        """Return the seconds of the processor that a pass takes, at best, on the module of a text after the passes `before`.

        The dataflow block of the module stands `rounds` times in a row. The time limit is for all repetitions together. With `repeat=0`
        the module is only made ready, which the next question then need not do.
        """
        return self._ask(
            "pass_time",
            seconds,
            text=text,
            of=_with_options([of])[0],
            before=_with_options(before),
            rounds=rounds,
            repeat=repeat,
        )

    def die(self, signal: int) -> Answer[None]:
        """Make the child end by a signal, like a crash of TVM."""
        return self._ask("die", QUESTION_SECONDS, signal=signal)

    def close(self) -> None:
        """End the child, if there is one."""
        if self._child is not None:
            self._reap()

    def _ask(self, ask: str, seconds: float, **arguments: Any) -> Answer[Any]:
        self.asked += 1
        limit = seconds
        if self._child is None:
            self._start()
            limit += STARTUP_SECONDS
        child = self._child
        assert child is not None
        assert child.stdin is not None
        try:
            child.stdin.write(json.dumps({"ask": ask, **arguments}).encode() + b"\n")
            child.stdin.flush()
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            return self._lost("timeout", f"{ask}: no answer in {limit:g} s")
        except BrokenPipeError:
            line = b""
        if not line:
            return self._lost("crashed", f"{ask}: the process of TVM ended")
        reply = json.loads(line)
        if "died" in reply:
            self._generation += 1  # modules of the copy are lost
            return self._refused(
                "crashed", f"{ask}: the process of TVM ended\n{self._words()}", -reply["died"]
            )
        if reply["ok"]:
            return Answer(reply["value"])
        return Answer(error=reply["error"], kind=reply["kind"])

    def _start(self) -> None:
        self._generation += 1
        self._lines = queue.Queue()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed when the child is reaped
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.oracle_child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,  # the child and its copy are ended together
        )
        self._read = 0
        self._reader = threading.Thread(target=_forward, args=(self._child.stdout, self._lines), daemon=True)
        self._reader.start()

    def _lost(self, kind: str, error: str) -> Answer[Any]:
        status, last_words = self._reap()
        return self._refused(kind, f"{error}\n{last_words}", -status if kind == "crashed" else None)

    def _refused(self, kind: str, message: str, crashed: int | None) -> Answer[Any]:
        message = message.rstrip()
        self.could_not_ask(message.splitlines()[0])
        return Answer(error=message, kind=kind, crashed=crashed)

    def _words(self) -> str:
        """What the child said since the last death of a copy, at most its last 2,000 bytes."""
        assert self._stderr is not None
        end = os.fstat(self._stderr.fileno()).st_size
        start, self._read = max(self._read, end - 2000), end
        return os.pread(self._stderr.fileno(), end - start, start).decode(errors="replace")

    def _reap(self) -> tuple[int, str]:
        child = self._child
        assert child is not None
        ended = child.poll()  # None if it must be ended
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait() if ended is None else ended
        self._child = None
        assert self._reader is not None
        self._reader.join()
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        assert self._stderr is not None
        with self._stderr:
            return status, self._words()

    def _wire(self, program: Program) -> dict[str, str]:
        if isinstance(program, str):
            return {"text": program}
        if program.child != self._generation or self._child is None:
            raise OracleRefusal("the module of this handle was lost with the process that kept it")
        return {"handle": program.name}


def _forward(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(b"")


def _one(row: dict[str, Any]) -> Answer[Any]:
    if row["ok"]:
        return Answer(wire.decode(row["value"]))
    return Answer(error=row["error"], kind=row["kind"])


def _with_options(passes: Sequence[Pass]) -> list[tuple[str, dict[str, Any]]]:
    return [(item, {}) if isinstance(item, str) else item for item in passes]


def _converted(answer: Answer[T], convert: Callable[[T], U]) -> Answer[U]:
    if not answer.ok:
        return Answer(None, answer.error, answer.kind, answer.crashed)
    return Answer(convert(answer.get()))
