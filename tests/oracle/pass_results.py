"""Ask TVM about the results of passes: `python -m tests.oracle.pass_results [PASS …] [-n 200] [--seed 0]`."""

from __future__ import annotations

import argparse
from collections import Counter

from relax_explorer.core import passes
from tests.oracle import test_pass_results, test_signature_passes
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs

REASONS = test_pass_results.DIFFERENT | test_signature_passes.DIFFERENT
"""Known differences, by pass and heading. They count as differences, and are neither printed nor listed."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.pass_results", description=__doc__)
    parser.add_argument("passes", nargs="*", help="names of passes; all by default")
    parser.add_argument("-n", type=int, default=100, help="how many random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="a part of the names of programs")
    parser.add_argument("--show", type=int, default=3, help="how many differences to print")
    arguments = parser.parse_args()
    texts = [*programs().items(), *random_programs(arguments.n, arguments.seed)]
    oracle = Oracle()
    for name in arguments.passes or passes.names():
        counts, shown = Counter[str](), 0
        differing = []
        for title, text in texts:
            if arguments.only not in title:
                continue
            outcome = compare(oracle, text, (name, {}))
            heading = title.split(": ", 1)[-1].rsplit(" #", 1)[0]
            if outcome.kind == "differ" and (name, heading) in REASONS:
                counts["differ with reason"] += 1
                continue
            counts[outcome.kind] += 1
            if outcome.kind in ("differ", "refused"):
                differing.append(title)
                shown += 1
                if shown <= arguments.show:
                    print(f"==== {name}: {title}: {outcome.kind}: {outcome.details}", flush=True)
        compared = sum(counts[kind] for kind in ("agree", "differ", "differ with reason", "refused"))
        share = f"{counts['agree'] / compared:.1%}" if compared else "-"
        print(f"{name}: {share} of those that change; {dict(counts)}", flush=True)
        print("   " + ", ".join(differing), flush=True)
    oracle.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
