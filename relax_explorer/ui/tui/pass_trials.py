"""Which passes would change the program at a place of the pipeline: they are tried in a child process, so that no key waits for them.

The child starts with the first question and stays for the next ones. It gets the program as text: nodes cannot be pickled.
`multiprocessing` cannot start it, since Textual's standard error has no file. Verdicts are remembered and listed.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple

from relax_explorer.core import passes as registry
from relax_explorer.core.codes.foreign import NOT_ALLOWED
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.live import is_live, live_pass, offered
from relax_explorer.core.passes.pipeline import Step, Verdict, normalized, run_step, steps, verdict
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui import process
from relax_explorer.viz.child import MOST_MEMORY, Child, Limits, conversation, own_python
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:  # the child needs no screens
    from relax_explorer.core.phases.module_properties import Property
    from relax_explorer.core.program.module import IRModule
    from relax_explorer.core.session.session import Session
    from relax_explorer.ui.tui.jobs import Job, Jobs

LANE = "trials"
GROUP = 0.1  # seconds of verdicts that are drawn together
MOST = 8  # places that are remembered
Told = Callable[[list[Verdict], str], None]


class PassTrials:
    """Tries all passes behind some steps. Newer work replaces older; `stop` cancels it."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self._trier = Trier()
        self._found: dict[tuple[IRModule, tuple[str, ...]], list[Verdict]] = {}

    def start(self, session: Session, steps: Sequence[Step], told: Told) -> None:
        """Try the passes behind `steps`. `told` gets the verdicts as they arrive, and the reason if there are none."""
        stage = _last_run(session, steps)
        module, rest = session.stages[stage].module, tuple([str(step) for step in steps[stage:]])
        own = {item.module for item in session.stages}
        self._found = {place: found for place, found in self._found.items() if place[0] in own}
        known = self._found.get((module, rest))
        if known is not None:
            told(known, "")
            return

        def work(job: Job) -> list[Verdict]:
            question = Question(module.script("rxe"), rest, tuple(registry.names()))
            return _tell_all(self._trier.verdicts(question, lambda: job.is_stale), job, told)

        def done(found: list[Verdict]) -> None:
            if len(found) == len(registry.names()):
                self._found = {**dict(list(self._found.items())[1 - MOST :]), (module, rest): found}

        self.stop()
        self.jobs.start(LANE, "trying passes", work, done, is_quiet=True)

    @property
    def children(self) -> list[Child]:
        """The processes that try passes now."""
        return self._trier.busy

    def stop(self) -> None:
        """Cancel what runs, and kill its child."""
        self.jobs.drop(LANE)
        self._trier.cancel()

    def close(self) -> None:
        """Cancel what runs, and end the child."""
        self.stop()
        self._trier.close()


def _tell_all(verdicts: Iterator[Verdict], job: Job, told: Told) -> list[Verdict]:
    """Tell the verdicts in groups, since each group is drawn. Return all of them."""
    found: list[Verdict] = []
    group: list[Verdict] = []
    last = time.monotonic()
    trouble = ""
    try:
        for verdict in verdicts:
            found.append(verdict)
            group.append(verdict)
            if time.monotonic() - last > GROUP:
                job.tell(partial(told, group, ""))
                group, last = [], time.monotonic()
    except NoVerdicts as error:
        trouble = str(error)
    job.tell(partial(told, group, trouble))
    return found


def _last_run(session: Session, steps: Sequence[Step]) -> int:
    """The last stage that the steps share with the pipeline that ran."""
    ran = session.pipeline[: len(session.stages) - 1]
    same = [old == new for old, new in zip(ran, steps, strict=False)]
    return same.index(False) if False in same else len(same)


# -- asking the child --------------------------------------------------------------------------------------------------


GENTLE = 10  # how far the child stands back behind other processes
START = "from relax_explorer.ui.tui.pass_trials import answer; answer(sys.stdin, sys.stdout)"


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
    try:
        module = normalized(parse(question.text))[0]
        for step in steps(question.steps):
            module = run_step(step, module, False).module
    except Failure as failure:
        first = failure.diagnostics[0]
        yield "run the pipeline first: only that starts TVM" if first.code is NOT_ALLOWED else first.message
        return
    for name in question.names:
        try:
            yield verdict(module, name)
        except Exception as error:  # noqa: BLE001  # a pass from outside; the others are still of interest
            yield Verdict(name, False, f"{name} fails here: {type(error).__name__}: {error}")
    yield ""


# -- pass choices ----------------------------------------------------------------------------------------------------
# The passes that a pipeline may get: which of them would change the program at a place, and the texts that complete
# their names.


UNKNOWN, CHANGES, SAME, REFUSES, LIVE = "·", "●", "○", "✗", ">"


@dataclass(slots=True)
class Choices:
    """All passes with their verdicts so far. `text` narrows the list; `only_changing` hides passes that would change nothing.

    Those of TVM are not tried, and hidden with them.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    text: str = ""
    only_changing: bool = False
    trouble: str = ""  # why there are no verdicts

    def names(self) -> list[str]:
        """The passes of the list, in reading order."""
        near = [name for name in (*registry.names(), *offered()) if self.text.lower() in name.lower()]
        return [name for name in near if not self.only_changing or self.glyph(name) in (CHANGES, UNKNOWN)]

    def glyph(self, name: str) -> str:
        """The verdict as one character; passes of TVM are marked apart, and not tried."""
        if is_live(name):
            return LIVE
        found = self.verdicts.get(name)
        if found is None:
            return UNKNOWN
        return CHANGES if found.changes else REFUSES if found.refusal else SAME

    def rows(self) -> list[Row]:
        """A row for each pass; those that would do nothing are grey."""
        return [self._row(name) for name in self.names()]

    def _row(self, name: str) -> Row:
        glyph = self.glyph(name)
        role = "operator" if glyph == LIVE else "text" if glyph in (CHANGES, UNKNOWN) else "muted"
        pieces = (("dimension" if glyph == CHANGES else role, f"{glyph} "), (role, name))
        return Row(f"{glyph} {name}", node=name, pieces=pieces)

    def title(self, place: int) -> str:
        """What the list shows: passes to add behind a step; how far trying them is."""
        where = f"behind {place}" if place else "add"
        if self.text:
            return f"{where} · /{visible(self.text, 12)}"
        tried, count = len(self.verdicts), len(registry.names())
        if self.trouble or tried == count:
            return f"{where} · ● would change"
        return f"{where} · tried {tried} of {count}" if tried else f"{where} · passes"

    def about(self, name: str, holding: Collection[Property]) -> list[str]:
        """A pass: what it does, its contract, and its verdict."""
        found = self.verdicts.get(name)
        text = (
            "run by TVM, in a process of its own; it is not tried before" if is_live(name)
            else f"not tried: {self.trouble}" if self.trouble and found is None
            else "not tried yet" if found is None
            else "would change the program" if found.changes
            else found.refusal or "would change nothing here"
        )  # fmt: skip
        return [*about(name, holding), f"{self.glyph(name)} {text}"]


def about(name: str, holding: Collection[Property]) -> list[str]:
    """A pass: what it does, its contract, its options. ✓ marks requirements that hold at the place, ✗ those that do not."""
    of = live_pass(name) if is_live(name) else registry.get(name)
    needs = [f"{item.name} {'✓' if item in holding else '✗'}" for item in of.requires]
    parts = [
        f"{word} {', '.join(items)}"
        for word, items in (
            ("requires", needs),
            ("establishes", [item.name for item in of.establishes]),
            ("breaks", [item.name for item in of.invalidates]),
        )
        if items
    ]
    options = ", ".join(f"{option.name}={option.default!r}" for option in of.options)
    parts += [f"options {options}"] if options else []
    return [f"{of.name}: {of.doc.splitlines()[0] if of.doc else ''}", " · ".join(parts)]


def step_completions(text: str) -> list[str]:
    """The texts that complete the last name: passes and pipelines; behind a brace, options of the pass."""
    head, brace, last = text.rpartition("{")
    name = head.rpartition(",")[2].strip()
    if brace and "}" not in last:
        of = registry.table().get(registry.ALIASES.get(name, name))
        found = [f"{option.name}=" for option in of.options] if of is not None else []
        return [f"{head}{{{item}" for item in found if item.startswith(last)]
    before, comma, last = text.rpartition(",")
    known = [*registry.names(), *registry.PIPELINES, *(offered() if last.strip().startswith("tvm") else ())]
    near = [item for item in known if item.startswith(last.strip())] or [
        item for item in known if last.strip().lower() in item.lower()
    ]
    return [f"{before}{comma}{item}" for item in near]
