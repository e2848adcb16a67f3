"""One trial: a text goes through everything that reads it, and the result must be a module or diagnostics."""

from __future__ import annotations

import contextlib
import re
import signal
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.diagnostics import Diagnostic, ParseError
from relax_explorer.core.phases import module_check as check
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.beginnings import is_tvm_json
from relax_explorer.core.syntax.parser import read
from relax_explorer.viz.problem import render
from tests.fuzz import long_way

MOST_SECONDS = 2
PASSES = ("CanonicalizeBindings", "DeadCodeElimination", "ToNonDataflow")
DIALECTS = ("tvm-0.27", "tvm-0.19")


class TooSlow(BaseException):
    """The time is over; no `except Exception` of the program may catch it."""


@dataclass(frozen=True)
class Finding:
    """A fault; `what` is equal for texts that show the same fault."""

    what: str
    text: str
    details: str = ""


@dataclass(frozen=True)
class Outcome:
    """How far a text came, and its fault."""

    parsed: bool
    clean: bool
    finding: Finding | None = None
    long: bool = False


def trial(text: str, long: bool = False) -> Outcome:
    """Parse, check, normalize and print `text`, with a limit of time; with the long way, run passes and views as well."""
    try:
        with limited(MOST_SECONDS):
            outcome, module = _steps(text)
        if long and module is not None and outcome.finding is None:
            with limited(MOST_SECONDS):
                long_way.walk(module, outcome.clean)
        return replace(outcome, long=long and module is not None)
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


def _steps(text: str) -> tuple[Outcome, IRModule | None]:
    module, report = read(text, "fuzz.py")
    if module is None or report.errors:
        problems = check.problems(ParseError(*report.sorted(), module=module))
        for item in problems:
            render(item)  # fails for a place beyond the text
        return Outcome(False, False, _own(problems, text)), None
    problems = tuple(rxe.check(module))
    clean = not any(item.is_error for item in problems)
    finding = _own(problems, text)
    is_text = not is_tvm_json(text)
    if is_text or (clean and len(module.relax_functions) == len(module.functions)):
        finding = finding or _printed(module, text, clean)
    else:  # JSON may say what no text says: checks refuse that in Relax, and the dtypes of intrinsics are kept
        module.script()
    if clean and finding is None and (is_text or len(module.relax_functions) == len(module.functions)):
        finding = _unstable(text, rxe.normalize(module))
    if not clean:
        normalize_with(module)[0].script()
    return Outcome(True, clean, finding), module


_STATED = re.compile(r"R\s*\.\s*Prim\s*\([^)]*value")
_ODD_ASSERT = re.compile(r'^ +assert .*, \("(?!RuntimeError")', re.M)


def _own(problems: tuple[Diagnostic, ...], text: str) -> Finding | None:
    """The first diagnostic that only a fault of this project causes."""
    for item in problems:
        if long_way.is_fault(item):
            return Finding(f"{item.code.id} {item.message[:60]}", text, item.message)
    return None


def _printed(module: IRModule, text: str, clean: bool) -> Finding | None:
    """The fault in the printed text of a module or of its normal form, if any: each must parse to the same module."""
    programs = [module, rxe.normalize(module)] if clean else [module]
    for number, program in enumerate(programs):
        for dialect in DIALECTS:
            printed = program.script(dialect)
            if dialect == "tvm-0.19" and _ODD_ASSERT.search(program.script()):
                continue  # that dialect has no other errors
            if dialect == "tvm-0.27" and _STATED.search(text):
                continue  # casts state the values of scalars there
            again, second = read(printed, "printed.py")
            what = f"{'normalized ' if number else ''}text in {dialect}"
            if again is None or second.errors:
                messages = "\n".join(f"{item.code.id} {item.message}" for item in second.sorted())
                code = second.sorted()[0].code.id if second.sorted() else "nothing"
                return Finding(f"{what} is not read: {code}", text, f"{messages}\n{printed}")
            if number:  # some bindings have no annotation, their types are inferred
                again = normalize_with(again)[0]
            # The text of a scalar's type omits its value, so equal texts count as well.
            same_text = bool(number) and again.script(dialect) == printed
            if not same_text and not rxe.structural_equal(again, program):
                return Finding(f"{what} reads as something else", text, printed)
    return None


def _unstable(text: str, program: IRModule) -> Finding | None:
    """The fault if the text of a program, or of the result of a pass on it, changes when it is parsed and printed again."""
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
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlow after this many seconds of processor time; at the end if a callback swallowed it."""
    late = False

    def over(number: int, frame: FrameType | None) -> None:
        nonlocal late
        late = True
        raise TooSlow

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
        if late:
            raise TooSlow
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
