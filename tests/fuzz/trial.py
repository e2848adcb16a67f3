"""One trial: a text goes through everything that reads it, and must come out as a module or as problems."""

from __future__ import annotations

import contextlib
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.syntax.parser import read

MOST_SECONDS = 2
PASSES = ("CanonicalizeBindings", "DeadCodeElimination", "ToNonDataflow")
DIALECTS = ("tvm-0.27", "tvm-0.19")


class TooSlow(BaseException):
    """The time is over; no `except Exception` of the program may catch it."""


@dataclass(frozen=True)
class Finding:
    """What went wrong: `what` is the same for texts that show the same fault."""

    what: str
    text: str
    details: str = ""


@dataclass(frozen=True)
class Outcome:
    """How far a text came, and what went wrong."""

    parsed: bool
    clean: bool
    finding: Finding | None = None


def trial(text: str) -> Outcome:
    """Read, check, normalize and print `text`, with a limit of time."""
    try:
        with _limited(MOST_SECONDS):
            return _steps(text)
    except TooSlow:
        return Outcome(False, False, Finding(f"over {MOST_SECONDS} s", text, traceback.format_exc()))
    except Exception as error:  # noqa: BLE001  # finding those is what this is for
        place = traceback.extract_tb(error.__traceback__)[-1]
        own = [
            frame for frame in traceback.extract_tb(error.__traceback__) if "relax_explorer" in frame.filename
        ]
        place = own[-1] if own else place
        what = f"{type(error).__name__} at {place.filename.rpartition('/')[2]}:{place.name}"
        return Outcome(False, False, Finding(what, text, traceback.format_exc()))


def _steps(text: str) -> Outcome:
    module, report = read(text, "fuzz.py")
    if module is None or report.errors:
        for item in report.sorted():
            item.code, item.message, item.span  # noqa: B018  # a place beyond the text would show here
        return Outcome(False, False)
    problems = rxe.check(module)
    clean = not any(item.is_error for item in problems)
    programs = [module, rxe.normalize(module)] if clean else [module]
    for number, program in enumerate(programs):
        for dialect in DIALECTS:
            printed = program.script(dialect)
            again, second = read(printed, "printed.py")
            what = f"{'normalized ' if number else ''}text in {dialect}"
            if again is None or second.errors:
                messages = "\n".join(f"{item.code.id} {item.message}" for item in second.sorted())
                code = second.sorted()[0].code.id if second.sorted() else "nothing"
                return Outcome(
                    True, clean, Finding(f"{what} is not read: {code}", text, f"{messages}\n{printed}")
                )
            if number:  # the types of some bindings are left to be derived
                again = normalize_with(again)[0]
            # The text of a scalar's type leaves out its value, so that there the text decides.
            same_text = bool(number) and again.script(dialect) == printed
            if not same_text and not rxe.structural_equal(again, program):
                return Outcome(True, clean, Finding(f"{what} reads as something else", text, printed))
    if not clean:
        normalize_with(module)[0].script()
        return Outcome(True, clean)
    return Outcome(True, clean, _unstable(text, programs[1]))


def _unstable(text: str, program: IRModule) -> Finding | None:
    """Whether the text of a program, or of what a pass makes of it, is another one when it was read and printed again."""
    for name in ("", *PASSES):
        made = rxe.apply_pass(program, name) if name else program
        printed = made.script()
        again, report = read(printed, "printed.py")
        if again is None or report.errors:
            messages = "\n".join(str(item) for item in report.sorted())
            return Finding(f"text after {name or 'nothing'} is not read", text, f"{messages}\n{printed}")
        if again.script() != printed:
            return Finding(f"text after {name or 'nothing'} prints another way", text, printed)
    return None


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
