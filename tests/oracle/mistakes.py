"""Programs with one mistake each: does TVM refuse what the profile `tvm` refuses? `python -m tests.oracle.mistakes -n 20000`.

The programs are those of the pages of codes, and samples and programs of the tests with one change. TVM reads each one, and
checks if it is well formed. The table has a row for each kind of mistake; differences are printed with `-v`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import relax_explorer as rxe
from relax_explorer.core.codes import CODES
from relax_explorer.core.syntax.parser import read as read_program
from tests.oracle.mistake_kinds import MISTAKES
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, programs
from tests.support.random_programs import random_program

_LONGEST = 4000  # characters of a program: longer ones take TVM too long


@dataclass(frozen=True)
class Difference:
    """A difference that stays: the reason, and what our codes and TVM's words look like; rows of differences.md say more."""

    reason: str
    ours: str  # a pattern of "accept" or of our codes
    theirs: str  # a pattern of TVM's words, "accept" if it accepts
    text: str = ""  # a pattern of the program


DIFFERENCES: tuple[Difference, ...] = (
    Difference("nothing of the text is executed", "^RX0011$", "^accept$", r"for \w+ in range"),
    Difference("dtypes that nothing computes with: float99", "^RX0013$", "^accept$", '"float99"'),
    Difference("lengths that do not fit int64", "^RX0245$", "^accept$", r"\d{9}"),
    Difference("StructInfo that doubles with each binding", "^RX0221$", "^accept$", r"\((\w+), \1\)"),
    Difference(
        "text of 2023, before functions had a purity",
        "^accept$",
        "contains an impure call",
        r"R\.Object|out_sinfo=",
    ),
    Difference(
        "a number of Python that is cast: int32 in TVM",
        "^accept$",
        "match cast any value",
        r"match_cast\((-?[\d.]+|True),",
    ),
    Difference("a buffer parameter that is matched twice", "^RX0062$", "^accept$", "match_buffer"),
    Difference("attention of elements that are no floats", "^RX0210$", "^accept$", r"R\.nn\.attention"),
    Difference("slopes of prelu that do not fit", "^RX020[79]$", "^accept$", r"R\.nn\.prelu"),
    Difference(
        "a number beside a tensor of rank 0: rank 1 in TVM",
        "^accept$",
        r"expected R\.Tensor\(\(\), .*, given R\.Tensor\(\(1,\)",
        r"R\.\w+\((-?[\d.]+, |.*, -?[\d.]+\))",
    ),
    Difference(
        "a return annotation that is wider than the result of the body",
        "^accept$",
        "Argument 0 type mismatch",
        r"-> R\.Tensor\(dtype=.*ndim=",
    ),
    Difference("a number of Python as a storage", "^RX0201$", "^accept$", r"memory\.alloc_tensor\(-?[\d.T]"),
    Difference(
        "a function that is cast to another signature: decided when it is called",
        "^accept$",
        "match cast any value .* R\\.Callable",
        r"match_cast\(\w+, R\.Callable",
    ),
    Difference(
        "a nested function that is used only if it captures",
        "^accept$",
        "is not defined",
        "@R.function\n +def",
    ),
    Difference(
        "a length that a nested function declares by itself",
        "^accept$",
        "Undefined variable: (\\w+)",
        r"(\w+) = TypeVar\(\1\)",
    ),
)


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
        row = next((row for row in DIFFERENCES if _explains(row, ours, words, text)), None)
        if row is not None:
            counts.explained[row.reason] += 1
        else:
            counts.unexplained.append(f"ours {ours}, TVM's {_short(words)}\n{text}")
    return table


def _explains(row: Difference, ours: str, theirs: str, text: str) -> bool:
    return bool(re.search(row.ours, ours) and re.search(row.theirs, theirs) and re.search(row.text, text))


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
