"""Ask TVM about the results of passes: `python -m tests.oracle.pass_results [PASS …] [-n 200] [--seed 0] [--update]`.

For each pass it prints how many of the results that it changes are equal as they stand, equal by a row, and unexplained.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable

from relax_explorer.core import passes
from tests.oracle.test_fused_kernels import WRITTEN
from tests.support.judged import Asker, Verdict
from tests.support.oracle import Oracle
from tests.support.pass_agreement import MATERIALS, imported, programs, random_programs
from tests.support.pass_variants import Variant, variants
from tests.support.patches import UNKNOWN, Patch, patches, write, write_equal


def main() -> int:
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
    parser.add_argument(
        "--quick",
        action="store_true",
        help="of the programs that our pass leaves, ask about one in five only",
    )
    parser.add_argument(
        "--update", action="store_true", help="write the differences of programs that are not random"
    )
    arguments = parser.parse_args()
    fixed = written()
    seeds = (
        ()
        if arguments.material == "imported"
        else random_programs(arguments.n, arguments.seed, arguments.material)
    )
    texts = [(title, text) for title, text in (*fixed.items(), *seeds) if arguments.only in title]
    asker = Asker(Oracle())
    for name in arguments.passes or passes.names():
        kept: dict[tuple[str, str], Patch] = {}
        equal: dict[str, list[str]] = {}
        for variant in variants(name):
            found = campaign(asker, variant, texts, arguments.quick)
            print(f"{variant.title}: {shares(verdict for _, verdict in found)}", flush=True)
            unexplained = [(title, verdict) for title, verdict in found if verdict.kind == "unexplained"]
            for title, verdict in unexplained[: arguments.show]:
                print(f"==== {title}: {verdict.details[:2000]}", flush=True)
            rest = {(variant.title, title): patch for title, patch in _patches(name, variant, found, fixed)}
            kept |= rest
            equal[variant.title] = [
                title for title, verdict in found if verdict.kind == "equal" and title in fixed
            ]
        if arguments.update:
            write(name, kept)
            write_equal(equal)
    asker.oracle.close()
    return 0


def written() -> dict[str, str]:
    """All programs that are not random, by their titles."""
    return {**programs(), **imported(), **WRITTEN}


def is_asked(of: Variant, title: str) -> bool:
    """True if a program is of interest for a variant."""
    if title.startswith("fused: "):
        return of.name == "FuseTIR"
    return not of.only or title in of.only


def campaign(
    asker: Asker, of: Variant, texts: Iterable[tuple[str, str]], is_quick: bool
) -> list[tuple[str, Verdict]]:
    """The verdicts about the results of a pass, by the titles of programs."""
    found = []
    known = patches(of.name)
    for number, (title, text) in enumerate(texts):
        if not is_asked(of, title):
            continue
        if is_quick and number % 5 and (of.title, title) not in known and asker.leaves(text, of):
            continue
        found.append((title, asker.verdict(text, of, "" if title.startswith("seed ") else title)))
    return found


def shares(verdicts: Iterable[Verdict]) -> str:
    """How many results that the pass changes are equal as they stand, equal by a row, and unexplained; and the rest."""
    kinds = Counter(verdict.kind for verdict in verdicts)
    changed = kinds["equal"] + kinds["row"] + kinds["unexplained"]
    share = f"{kinds['equal'] / changed:.1%}" if changed else "nothing changed"
    counts = ", ".join(
        f"{kinds[kind]} {kind}" for kind in ("equal", "row", "unexplained", "refused", "same", "not asked")
    )
    return f"{share} as they stand ({counts})"


def _patches(
    name: str, of: Variant, found: list[tuple[str, Verdict]], fixed: dict[str, str]
) -> Iterable[tuple[str, Patch]]:
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
