"""The commands of `compare --step`: as in the debugger, lower case goes forward and UPPER CASE back."""

from __future__ import annotations

from relax_explorer.core.session.command import Command, word
from relax_explorer.core.session.compare import Lockstep
from relax_explorer.core.session.debug_commands import COMMAND, MAYBE_NAME, POSITION, TIMES
from relax_explorer.core.session.debug_motions import LAST, count, nothing_more
from relax_explorer.core.session.debug_places import near, refused
from relax_explorer.core.session.debug_session import Answer, help_on
from relax_explorer.core.session.recording import Production

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


def _help(session: LockstepSession, text: str) -> Answer:
    return help_on(LOCKSTEP_COMMANDS, text)


def _quit(session: LockstepSession, text: str) -> Answer:
    session.is_over = True
    return Answer("quit")


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
    Command("help", "List the commands, or explain one.", _help, COMMAND, short=("h", "?")),
    Command("quit", "End the session.", _quit, short=("q",)),
)  # fmt: skip
