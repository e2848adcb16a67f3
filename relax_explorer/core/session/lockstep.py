"""Two runs in lock-step, pair by pair of values, and the commands of `compare --step`: as in the debugger, lower case goes forward and
UPPER CASE back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.exec.interrupt import polled
from relax_explorer.core.session.command import Command, word
from relax_explorer.core.session.compare import Trial, judged, runs_of, trial_on_equal_terms
from relax_explorer.core.session.counterparts import Match
from relax_explorer.core.session.debug_commands import MAYBE_NAME, POSITION, TIMES
from relax_explorer.core.session.debug_motions import LAST, count, nothing_more
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_session import Answer, of_every_prompt
from relax_explorer.core.session.recording import Production, Recording
from relax_explorer.core.session.verdict import Pairing, Report, Verdict

# Two runs in lock-step: their values pair by pair, in the order in which the runs made them.
# A position is the number of pairs that are done: 0 is the start. `last` is behind all pairs, where the results are
# compared.


@dataclass(frozen=True, slots=True)
class ValuePair:
    """A pair of values: how far they are apart, the values themselves, and the operands of B if they differ."""

    pairing: Pairing
    a: Production | None
    b: Production | None
    operands: tuple[Pairing, ...] = ()

    @property
    def differs(self) -> bool:
        """True if both sides have a value, and the values are not equal."""
        return self.pairing.delta is not None and not self.pairing.equal

    @property
    def depth(self) -> int:
        """The calls around the pair; of the outer side if a function was inlined."""
        return min([side.depth for side in (self.a, self.b) if side is not None])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both sides."""
        return tuple([side.name for side in (self.a, self.b) if side is not None])


@dataclass(frozen=True, slots=True)
class Lockstep:
    """Two recorded runs on the inputs of `trial`, and the verdict on their results."""

    trial: Trial
    a: Recording
    b: Recording
    pairs: tuple[ValuePair, ...]
    verdict: Verdict

    @property
    def last(self) -> int:
        """The position of the results."""
        return len(self.pairs) + 1

    def pair(self, at: int) -> ValuePair | None:
        """The pair that was done last; None at the start and at the results."""
        return self.pairs[at - 1] if 0 < at < self.last else None

    def step(self, at: int, count: int) -> int:
        """The position `count` pairs further on, or back if it is negative."""
        return max(0, min(at + count, self.last))

    def over(self, at: int, direction: int) -> int:
        """The next position that is not inside a call from here; with -1, the one before."""
        here = self.pair(at)
        depth = 0 if here is None else here.depth
        return self.to(at, direction, lambda pair: pair.depth <= depth)

    def to_difference(self, at: int, direction: int) -> int:
        """The next pair that differs, or the results; with -1, the one before, or the start."""
        return self.to(at, direction, lambda pair: pair.differs)

    def to(self, at: int, direction: int, is_reached: Callable[[ValuePair], bool]) -> int:
        """The next position at which a pair has a property, or the results; with -1, the one before, or the start."""
        at = self.step(at, direction)
        while (pair := self.pair(at)) is not None and not is_reached(pair):
            at += direction
        return at


def lockstep(trial: Trial) -> Lockstep:
    """Run both stages of a trial, and pair their values. Raises Cancelled if the trial was interrupted."""
    trial = trial_on_equal_terms(trial)
    runs = runs_of(trial)
    verdict, report = judged(trial, runs, pairs=True)
    assert report is not None  # pairs were asked for
    pairs = tuple([_pair(report, match) for match in polled(_in_order(report.matches), trial.interrupt)])
    return Lockstep(trial, runs[0].run, runs[1].run, pairs, verdict)


def _pair(report: Report, match: Match) -> ValuePair:
    a = None if match.a is None else report.a.productions[match.a]
    b = None if match.b is None else report.b.productions[match.b]
    pair = ValuePair(report.pairing(match), a, b)
    if b is None or not pair.differs:
        return pair
    return ValuePair(pair.pairing, a, b, report.operands(b.reads))


def _in_order(matches: Sequence[Match]) -> Iterator[Match]:
    """The matches in the order of the new run. A value that only the old run has stands behind its predecessor there."""
    alone = {match.a: match for match in matches if match.b is None and match.a is not None}

    def followers(place: int) -> Iterator[Match]:
        while (match := alone.pop(place + 1, None)) is not None:
            yield match
            place += 1

    yield from followers(-1)
    for match in matches:
        if match.b is not None:
            yield match
            if match.a is not None:
                yield from followers(match.a)


# -- commands -------------------------------------------------------------------------------------------------------


_AROUND = 5  # pairs that `list` shows on each side


class LockstepSession:
    """A walk through two runs: where it stands, and whether it is over."""

    def __init__(self, runs: Lockstep) -> None:
        self.runs, self.at = runs, 0
        self.is_over = False  # True after `quit`

    def names(self, kind: str) -> list[str]:
        """The variables of both runs."""
        pairs = self.runs.pairs if kind == "variable" else ()
        return list(dict.fromkeys(name for pair in pairs for name in pair.names))

    def stop(self, already: str = "") -> Answer:
        """The current position."""
        return Answer("pair", {"runs": self.runs, "at": self.at, "already": already})

    def move(self, to: int) -> Answer:
        """Go to a position."""
        already = "" if to != self.at else "start" if to == 0 else "end" if to == self.runs.last else ""
        self.at = to
        return self.stop(already)


def _stepped(session: LockstepSession, text: str, direction: int) -> Answer:
    return session.move(session.runs.step(session.at, direction * count(text)))


def _over(session: LockstepSession, text: str, direction: int) -> Answer:
    at = session.at
    for _ in range(min(count(text), session.runs.last)):
        at = session.runs.over(at, direction)
    return session.move(at)


def _continued(session: LockstepSession, text: str, direction: int) -> Answer:
    nothing_more(text)
    return session.move(session.runs.to_difference(session.at, direction))


def _until(session: LockstepSession, text: str, direction: int) -> Answer:
    _check_name(session, text)
    return session.move(session.runs.to(session.at, direction, lambda pair: text in pair.names))


def _goto(session: LockstepSession, text: str) -> Answer:
    named = {"start": 0, "end": LAST}
    if text.startswith(("+", "-")):
        return _stepped(session, text[1:], int(text[0] + "1"))
    if not text:
        raise refused("goto takes a position", "write goto 12, goto -3, goto start or goto end")
    return session.move(session.runs.step(0, named[text] if text in named else count(text)))


def _print(session: LockstepSession, text: str) -> Answer:
    here = session.runs.pair(session.at)
    sides: tuple[Production | None, Production | None] = (None, None) if here is None else (here.a, here.b)
    if text:
        _check_name(session, text)
        done = session.runs.pairs[: session.at]
        sides = _newest([pair.a for pair in done], text), _newest([pair.b for pair in done], text)
    return Answer("sides", {"name": text, "a": sides[0], "b": sides[1]})


def _newest(productions: list[Production | None], name: str) -> Production | None:
    return next((item for item in reversed(productions) if item is not None and item.name == name), None)


def _check_name(session: LockstepSession, name: str) -> None:
    known = session.names("variable")
    if name not in known:
        raise refused(f"neither run has a value {name[:40]!r}", near(name, known, "name a variable"))


def _list(session: LockstepSession, text: str) -> Answer:
    nothing_more(text)
    first, end = max(session.at - _AROUND, 1), min(session.at + _AROUND + 1, session.runs.last)
    rows = [(number, session.runs.pairs[number - 1].pairing) for number in range(first, end)]
    return Answer("pairs", {"pairs": rows, "at": session.at})


_NAME = (word("NAME", "variable"),)
LOCKSTEP_COMMANDS: tuple[Command[Answer], ...] = (
    Command("step", "Go to the next pair of values, into calls.", lambda s, text: _stepped(s, text, 1), TIMES, short=("s",)),
    Command("reverse-step", "Go back one pair.", lambda s, text: _stepped(s, text, -1), TIMES, short=("rs", "S", "back")),
    Command("next", "Go to the next pair of this function, over its calls.", lambda s, text: _over(s, text, 1), TIMES, short=("n",)),
    Command("reverse-next", "Go back over calls.", lambda s, text: _over(s, text, -1), TIMES, short=("rn", "N")),
    Command("continue", "Go to the next pair that differs, or to the results.", lambda s, text: _continued(s, text, 1), short=("c",)),
    Command("reverse-continue", "Go back to a pair that differs, or to the start.", lambda s, text: _continued(s, text, -1), short=("rc", "C")),
    Command("until", "Go to the next pair with a variable of this name.", lambda s, text: _until(s, text, 1), _NAME, short=("u",)),
    Command("reverse-until", "Go back to a pair with a variable of this name.", lambda s, text: _until(s, text, -1), _NAME, short=("ru", "U")),
    Command("goto", "Go to pair N.", _goto, POSITION, short=("g",)),
    Command("print", "Show the elements of the pair, or of the last values of a variable.", _print, MAYBE_NAME, short=("p",)),
    Command("list", "Show the pairs around this one.", _list, short=("l",)),
    *of_every_prompt(lambda: LOCKSTEP_COMMANDS),
)  # fmt: skip
