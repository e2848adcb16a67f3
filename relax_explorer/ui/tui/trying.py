"""Trying passes on a program in a child process, so that no key waits for them.

The child starts with the first question and stays for the next ones. It gets the program as text: nodes cannot be pickled.
`multiprocessing` cannot start it, since Textual's standard error has no file.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import Verdict
from relax_explorer.ui import process
from relax_explorer.viz.child import MOST_MEMORY, Child, Limits, conversation, own_python

GENTLE = 10  # how far the child stands back behind other processes
START = "from relax_explorer.ui.tui.trying import answer; answer(sys.stdin, sys.stdout)"


class Question(NamedTuple):
    """A program as text, the steps that run first, and the passes to try behind them."""

    text: str
    steps: tuple[str, ...]
    names: tuple[str, ...]


class NoVerdicts(Exception):
    """The steps before the place failed, or the child died."""


class Trier:
    """Asks a child. One that is free is kept for the next question; threads that ask at the same time have a child each."""

    def __init__(self) -> None:
        self._free: Child | None = None
        self.busy: list[Child] = []

    def verdicts(self, question: Question, is_stale: Callable[[], bool]) -> Iterator[Verdict]:
        """The verdicts, in the order of the names. `cancel` ends them early.

        Raises NoVerdicts if the steps fail, or if the child dies.
        """
        child, self._free = self._free, None
        is_free = False
        try:
            child = child or _started()
            self.busy.append(child)
            if is_stale():  # cancelled before the child was known
                return
            for answer in _answers(child, question):
                if isinstance(answer, Verdict):
                    yield answer
                else:
                    is_free = True
                    if answer:
                        raise NoVerdicts(answer)
            if not is_free and not is_stale():
                raise NoVerdicts("the process that tries passes was killed")
        except OSError as error:
            if not is_stale():
                raise NoVerdicts(f"the process that tries passes cannot run: {error}") from None
        finally:
            if child is not None:
                self._let_go(child, is_free)

    def _let_go(self, child: Child, is_free: bool) -> None:
        self.busy = [item for item in self.busy if item is not child]
        if is_free and self._free is None:
            self._free = child
        else:
            child.close()

    def cancel(self) -> None:
        """Kill the children that work."""
        for child in self.busy:
            child.kill()

    def close(self) -> None:
        """End all children."""
        self.cancel()
        child, self._free = self._free, None
        if child is not None:
            child.close()


def _started() -> Child:
    return conversation(own_python(START), Limits(memory=MOST_MEMORY))


def _answers(child: Child, question: Question) -> Iterator[Verdict | str]:
    """What the child answers: verdicts, then a text, which is empty if nothing went wrong. Nothing more once it is killed."""
    child.input.write(json.dumps(question).encode() + b"\n")
    child.input.flush()
    while line := child.output.readline():
        found = json.loads(line)
        if isinstance(found, str):
            yield found
            return
        yield Verdict(*found)


# -- in the child -----------------------------------------------------------------------------------------------------


def answer(questions: IO[str], answers: IO[str]) -> None:
    """Answer questions until the other side is gone. Passes may print; that goes nowhere."""
    process.own()
    if hasattr(os, "nice"):
        os.nice(GENTLE)
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.suppress(OSError),
    ):
        for line in questions:
            text, steps, names = json.loads(line)
            for item in _tried(Question(text, tuple(steps), tuple(names))):
                answers.write(json.dumps(item) + "\n")
                answers.flush()


def _tried(question: Question) -> Iterator[Verdict | str]:
    """The verdicts, then an empty text; or the reason why there are none."""
    from relax_explorer.core.passes.pipeline import normalized, run_step, steps, verdict
    from relax_explorer.core.syntax.parser import parse

    try:
        module = normalized(parse(question.text))[0]
        for step in steps(question.steps):
            module = run_step(step, module, False).module
    except Failure as failure:
        yield failure.diagnostics[0].message
        return
    for name in question.names:
        try:
            yield verdict(module, name)
        except Exception as error:  # noqa: BLE001  # a pass from outside; the others are still of interest
            yield Verdict(name, False, f"{name} fails here: {type(error).__name__}: {error}")
    yield ""
