"""Ask TVM about the results of passes: `python -m tests.oracle.pass_results [PASS …] [-n 200] [--seed 0] [--update]`.

For each pass it prints how many of the results that it changes are equal as they stand, equal by a row, and unexplained.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable

from relax_explorer.core import passes
from tests.oracle.test_fused_kernels import WRITTEN
from tests.support.judged import Asker, Verdict
from tests.support.oracle import Oracle
from tests.support.pass_agreement import MATERIALS, imported, programs, random_programs
from tests.support.pass_variants import Variant, variants
from tests.support.patches import UNKNOWN, Patch, Record, patches, records, write, write_records
from tests.support.shares import Shares

Found = list[tuple[str, Verdict]]
"""The verdicts about the results of a pass, by the titles of programs."""


def main() -> int:
    arguments = _arguments()
    fixed = written()
    seeds = (
        ()
        if arguments.material == "imported"
        else random_programs(arguments.n, arguments.seed, arguments.material)
    )
    texts = {title: text for title, text in (*fixed.items(), *seeds) if arguments.only in title}
    asker = Asker(Oracle())
    for name in arguments.passes or passes.names():
        answers: list[tuple[Variant, Found]] = []
        for variant in variants(name):
            asked = _known(variant, texts) if arguments.known else texts
            answers.append((variant, campaign(asker, variant, asked.items(), arguments.quick)))
            _show(variant.title, answers[-1][1], arguments)
        if len(answers) > 1:
            print(f"{name}, all: {counted(verdict for _, found in answers for _, verdict in found)}")
        if arguments.update:
            _write(name, answers, fixed)
    asker.oracle.close()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.pass_results", description=__doc__)
    parser.add_argument("passes", nargs="*", help="names of passes; all by default")
    parser.add_argument("-n", type=int, default=100, help="how many random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument(
        "--material",
        choices=[*MATERIALS, "imported"],
        default="general",
        help="what the random programs are about",
    )
    parser.add_argument("--only", default="", help="a part of the names of programs")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print")
    parser.add_argument("--rows", action="store_true", help="print the programs that have a row")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="of the programs that our pass leaves, ask about one in five only",
    )
    parser.add_argument(
        "--known",
        action="store_true",
        help="ask only about the programs that the pass is known to change, and random ones",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="write the differences of the programs asked that are not random",
    )
    return parser.parse_args()


def _known(of: Variant, texts: dict[str, str]) -> dict[str, str]:
    """The programs that a pass is known to change, and random ones."""
    known = records().get(of.title, Record()).kinds
    return {title: text for title, text in texts.items() if title in known or title.startswith("seed ")}


def _show(title: str, found: Found, arguments: argparse.Namespace) -> None:
    print(f"{title}: {counted(verdict for _, verdict in found)}", flush=True)
    unexplained = [(program, verdict) for program, verdict in found if verdict.kind == "unexplained"]
    for program, verdict in unexplained[: arguments.show]:
        print(f"==== {program}: {verdict.details[:2000]}", flush=True)
    for program, verdict in found if arguments.rows else ():
        if verdict.kind == "row":
            beside = "" if verdict.is_program else " (TVM's result is not a program)"
            print(f"  {program}: {', '.join(verdict.rows)}{beside}", flush=True)


def _write(name: str, answers: list[tuple[Variant, Found]], fixed: dict[str, str]) -> None:
    """Write what was found; what is known of programs that were not asked about stays."""
    asked = {(of.title, program) for of, found in answers for program, _ in found}
    kept = {key: patch for key, patch in patches(name).items() if key not in asked and key[1] in fixed}
    for of, found in answers:
        kept |= {(of.title, program): patch for program, patch in _patches(name, of, found, fixed)}
    write(name, kept)
    write_records({of.title: _record(of, found, fixed) for of, found in answers})


def _record(of: Variant, found: Found, fixed: dict[str, str]) -> Record:
    """What became of the programs of a variant; what is known of programs that were not asked about stays."""
    before = records().get(of.title, Record())
    verdicts = dict(found)
    kinds = {title: kind for title, kind in before.kinds.items() if title not in verdicts}
    # What is unexplained has a difference by now, with a row that is to be named.
    kinds |= {title: {"unexplained": "row"}.get(verdict.kind, verdict.kind) for title, verdict in found}
    apart = {title for title in before.no_program if title not in verdicts}
    apart |= {title for title, verdict in found if not verdict.is_program}
    equal, row, refused = [
        tuple([title for title in fixed if kinds.get(title) == kind]) for kind in ("equal", "row", "refused")
    ]
    return Record(equal, row, refused, tuple([title for title in fixed if title in apart]))


def written() -> dict[str, str]:
    """All programs that are not random, by their titles."""
    return {**programs(), **imported(), **WRITTEN}


def is_asked(of: Variant, title: str, text: str) -> bool:
    """True if a program is of interest for a variant."""
    if not re.search(of.needs, text):
        return False
    if title.startswith("fused: "):
        return of.name == "FuseTIR"
    return not of.only or title in of.only


def campaign(asker: Asker, of: Variant, texts: Iterable[tuple[str, str]], is_quick: bool) -> Found:
    """The verdicts about the results of a pass, by the titles of programs."""
    found = []
    known = patches(of.name)
    for number, (title, text) in enumerate(texts):
        if not is_asked(of, title, text):
            continue
        if is_quick and number % 5 and (of.title, title) not in known and asker.leaves(text, of):
            continue
        found.append((title, asker.verdict(text, of, "" if title.startswith("seed ") else title, True)))
    return found


def counted(verdicts: Iterable[Verdict]) -> str:
    """How many results that a pass changes are equal as they stand, and so on, and of how many programs nothing can be said."""
    found = [*verdicts]
    kinds = Counter(verdict.kind for verdict in found if verdict.is_program)
    apart = len([verdict for verdict in found if not verdict.is_program])
    shares = Shares(kinds["equal"], kinds["row"], apart, kinds["unexplained"])
    return f"{shares}; {', '.join([f'{kinds[kind]} {kind}' for kind in ('same', 'refused', 'not asked')])}"


def _patches(name: str, of: Variant, found: Found, fixed: dict[str, str]) -> Iterable[tuple[str, Patch]]:
    """The differences of programs that have one: as they were, or new with the row that is not known yet."""
    known = patches(name)
    for title, verdict in found:
        before = known.get((of.title, title))
        if verdict.kind in ("row", "refused") and before is not None:
            yield title, before
        elif verdict.kind == "unexplained" and title in fixed:
            yield title, Patch(before.row if before else UNKNOWN, verdict.details.partition("\n\n")[0])


if __name__ == "__main__":
    sys.exit(main())
