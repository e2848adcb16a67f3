"""Programs with one mistake each: does TVM refuse what the profile `tvm` refuses? `python -m tests.oracle.mistakes -n 20000`.

The programs are those of the pages of codes, and samples and programs of the tests with one change. TVM reads each one, and
checks if it is well formed. The table has a row for each kind of mistake; differences are printed with `-v`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import relax_explorer as rxe
from relax_explorer.core.codes import CODES
from relax_explorer.core.syntax.parser import read as read_program
from tests.oracle.mistake_kinds import MISTAKES
from tests.oracle.mistake_reasons import REASONS, Reason, Verdicts
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, programs
from tests.support.random_programs import random_program

_LONGEST = 4000  # characters of a program: longer ones take TVM too long


@dataclass
class Counts:
    """The verdicts on the programs with one kind of mistake."""

    equal: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    @property
    def asked(self) -> int:
        """All programs."""
        return self.equal + self.explained.total() + len(self.unexplained)


def our_codes(text: str) -> list[str]:
    """The codes of the errors in the profile `tvm`."""
    module, report = read_program(text, "mistake.py")
    found = [item.code.id for item in report.errors]
    return found or (
        [] if module is None else [item.code.id for item in rxe.check(module, "tvm") if item.is_error]
    )


def tvm_words(oracle: Oracle, text: str) -> str:
    """The reason for which TVM refuses a program; `accept` if it does not."""
    answer = oracle.well_formed(text)
    if answer.ok:
        verdict = answer.get()
        return "accept" if verdict.well_formed else f"ill-formed: {verdict.message}"
    return f"{answer.kind}: {answer.error}"


def accepted_programs(oracle: Oracle) -> list[str]:
    """Samples, programs of the tests and random ones that both accept: what the mistakes are made in."""
    texts = [text for text in programs().values() if len(text) < _LONGEST] + list(
        map(random_program, range(40))
    )
    return [text for text in texts if not our_codes(text) and tvm_words(oracle, text) == "accept"]


def cases(oracle: Oracle, number: int, seed: int) -> Iterator[tuple[str, str]]:
    """The kinds of mistakes with programs: the pages of codes, then `number` random ones."""
    for code in CODES.values():
        if code.example and "@R.function" in code.example:
            yield "pages of codes", as_module(code.example)
    material, random = accepted_programs(oracle), Random(seed)
    for _ in range(number):
        kind = random.choice(list(MISTAKES))
        text = MISTAKES[kind](random.choice(material), random)
        if text is not None:
            yield kind, text


def compare(oracle: Oracle, number: int, seed: int) -> dict[str, Counts]:
    """The verdicts by kinds of mistakes."""
    table: dict[str, Counts] = {}
    for kind, text in cases(oracle, number, seed):
        counts = table.setdefault(kind, Counts())
        codes, words = our_codes(text), tvm_words(oracle, text)
        if bool(codes) == (words != "accept"):
            counts.equal += 1
            continue
        ours = " ".join(codes) or "accept"
        reason = explanation(text, ours, words, lambda other: (our_codes(other), tvm_words(oracle, other)))
        if reason is not None:
            counts.explained[reason.text] += 1
        else:
            counts.unexplained.append(f"ours {ours}, TVM's {_short(words)}\n{text}")
    return table


def explanation(text: str, ours: str, theirs: str, verdicts: Verdicts) -> Reason | None:
    """The reason for different verdicts on a program; None if there is none."""
    return next((reason for reason in REASONS if reason.explains(text, ours, theirs, verdicts)), None)


def _short(words: str) -> str:
    lines = [line for line in words.splitlines() if line.strip()]
    return " | ".join(lines[:1] + lines[-2:])[:300]


def lines(table: dict[str, Counts]) -> list[str]:
    """The table as text."""
    asked, equal = sum(row.asked for row in table.values()), sum(row.equal for row in table.values())
    rows = [f"{'mistake':28} {'asked':>6} {'equal':>6} {'explained':>9} {'unexplained':>11}"]
    for kind, row in table.items():
        rows.append(
            f"{kind:28} {row.asked:6} {row.equal:6} {row.explained.total():9} {len(row.unexplained):11}"
        )
    return [*rows, f"equal verdicts: {equal} of {asked}, {100 * equal / max(asked, 1):.2f} %"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a difference has no reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-v", action="store_true", help="print the differences")
    options = parser.parse_args(arguments)
    oracle = Oracle()
    table = compare(oracle, options.n, options.seed)
    oracle.close()
    print("\n".join(lines(table)))
    reasons: Counter[str] = sum((row.explained for row in table.values()), Counter())
    for reason, count in reasons.most_common():
        print(f"{count:6} {reason}")
    for kind, row in table.items():
        for text in row.unexplained if options.v else ():
            print(f"--- {kind}: {text}")
    return 1 if any(row.unexplained for row in table.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
