"""Ask TVM about calls of operators: `python -m tests.oracle.operators [NAME …] [-n 30] [--seed 0]`.

For each operator TVM is asked about its examples, the hand-picked calls, and randomly changed examples, `-n` at least.
The table counts: agree (the same type, or both refuse), more precise (our type), differ (a row gives the reason),
not asked (TVM took too long), unexplained.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import relax_explorer as rxe
from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.oracle.instead import is_refused_instead
from tests.support import type_texts
from tests.support.changed_calls import changed
from tests.support.op_calls import Difference, calls, differences, short, words
from tests.support.op_examples import Example
from tests.support.oracle import Oracle

AGREE, PRECISE, DIFFER, NOT_ASKED, UNEXPLAINED = "agree", "more precise", "differ", "not asked", "unexplained"
OUTCOMES = (AGREE, PRECISE, DIFFER, NOT_ASKED, UNEXPLAINED)

_NEGATIVE = re.compile(r"[(,] ?-\d+[,)]")
"""A negative length in a type."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one question; `row` is the reason for a difference."""

    call: Example
    kind: str
    ours: str = ""
    theirs: str = ""
    row: Difference | None = None

    def __str__(self) -> str:
        ours, theirs = self.ours or "refused", self.theirs or "refused"
        return f"{short(self.call.op)} {words(self.call)}: ours {ours}, TVM's {theirs}"


def ask(call: Example, oracle: Oracle) -> Outcome:
    """Compare our type of a call with TVM's."""
    text = call.module()
    answer = oracle.types(text)
    if answer.kind == "timeout":
        return Outcome(call, NOT_ASKED)
    if answer.crashed is not None:
        row = _row(call, "crashes")
        return Outcome(call, DIFFER if row is not None else UNEXPLAINED, our_type(text), "a crash", row)
    found = answer.get() if answer.ok else []
    theirs = next((type_texts.spelled(row.type) for row in reversed(found) if row.function == "main"), "")
    ours = our_type(text)
    if theirs and not oracle.well_formed(text).get().well_formed:
        theirs = ""  # a later check may refuse a call that the operator's rule accepts
    if ours == theirs:
        return Outcome(call, AGREE, ours, theirs)
    kind = type_texts.difference(ours, theirs) if ours and theirs else type_texts.OTHER
    if kind == type_texts.EQUAL:
        return Outcome(call, AGREE, ours, theirs)
    if kind == type_texts.SHARPER:
        return Outcome(call, PRECISE, ours, theirs)
    if kind == type_texts.NEGATIVE or (not ours and _NEGATIVE.search(theirs)):
        return Outcome(call, DIFFER, ours, theirs)  # no tensor has the type that TVM derives
    if not ours or not theirs:
        row = _row(call, "stricter" if theirs else "laxer")
        instead = _row(call, "instead") if row is None and theirs else None
        row = instead if instead is not None and is_refused_instead(call, oracle) else row
    else:
        said_more = type_texts.difference(theirs, ours) == type_texts.SHARPER
        row = (_row(call, "weaker") if said_more else None) or _row(call, "differs")
    return Outcome(call, DIFFER if row is not None else UNEXPLAINED, ours, theirs, row)


def _row(call: Example, kind: str) -> Difference | None:
    """The first row of a kind that applies to a call."""
    return next((row for row in differences() if row.kind == kind and row.explains(call)), None)


def our_type(text: str) -> str:
    """The type of the call in a text; empty if it is refused."""
    try:
        parsed = rxe.parse(text)
        wrong = any(item.is_error or item.unchecked for item in rxe.check(parsed, profile="tvm"))
    except rxe.Failure:
        return ""
    except Exception as fault:  # noqa: BLE001  # a fault is an answer too, one that nothing explains
        return f"fault: {fault!r}"
    if wrong:
        return ""
    main = rxe.normalize(parsed)["main"]
    return type_texts.spelled(str(main.body.blocks[0].bindings[-1].var.struct_info))


def questions(op: type[Op], least: int, random: Random) -> Iterator[Example]:
    """The calls to ask about: all written ones, then changed ones until there are `least` different ones."""
    seen = set()
    written = calls(op)
    for call in written:
        seen.add(words(call))
        yield call
    while len(seen) < least:
        found = another(written, seen, random)
        if found is None:
            return
        seen.add(words(found))
        yield found


def another(written: Sequence[Example], seen: Collection[str], random: Random) -> Example | None:
    """A new changed call; None if a hundred changes give none."""
    for _ in range(100):
        call = changed(random.choice(written), random)
        if words(call) not in seen:
            return call
    return None


def tally(outcomes: Iterable[Outcome]) -> Counter[str]:
    """The number of outcomes of each kind."""
    return Counter(outcome.kind for outcome in outcomes)


def reason(outcome: Outcome) -> str:
    """The reason for a difference."""
    if outcome.row is None:
        return "TVM derives a negative length"
    return f"{outcome.row.family}.txt {outcome.row.kind}: {outcome.row.names} {outcome.row.reason}"


def row(name: str, counts: Counter[str]) -> str:
    """A line of the table."""
    return f"{name:<40}" + "".join(f"{counts[kind]:>14}" for kind in OUTCOMES)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.operators", description=__doc__)
    parser.add_argument("names", nargs="*", help="operators; all when none is named")
    parser.add_argument("-n", type=int, default=30, help="calls of each operator, at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", action="store_true", help="count the calls that each row explains as well")
    arguments = parser.parse_args()
    chosen = [table()[f"relax.{name}"] for name in arguments.names] or list(table().values())
    oracle, total, reasons = Oracle(), Counter[str](), Counter[str]()
    print(f"{'operator':<40}" + "".join(f"{kind:>14}" for kind in OUTCOMES))
    for op in chosen:
        outcomes = [ask(call, oracle) for call in questions(op, arguments.n, Random(arguments.seed))]
        counts = tally(outcomes)
        total += counts
        reasons.update(reason(outcome) for outcome in outcomes if outcome.kind == DIFFER)
        print(row(short(op), counts), flush=True)
        for outcome in outcomes:
            if outcome.kind == UNEXPLAINED:
                print(f"    {outcome}")
    oracle.close()
    print(row(f"{len(chosen)} operators", total))
    for text, count in reasons.most_common() if arguments.rows else ():
        print(f"{count:>6} {text}")
    return int(bool(total[UNEXPLAINED]))


if __name__ == "__main__":
    raise SystemExit(main())
