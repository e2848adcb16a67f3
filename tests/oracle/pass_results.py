"""Ask TVM about the results of passes: `python -m tests.oracle.pass_results [PASS …] [-n 200] [--seed 0]`."""

from __future__ import annotations

import argparse
from collections import Counter

from relax_explorer.core import passes
from tests.oracle import test_pass_results, test_signature_passes
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs

KNOWN = test_pass_results.DIFFERENT | test_signature_passes.DIFFERENT
"""Rows of `differences.md` by pass and heading, for differences that `known_differences` does not recognise."""


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
        outcomes, rows, unexplained = Counter[str](), Counter[str](), list[str]()
        for title, text in texts:
            if arguments.only not in title:
                continue
            outcome = compare(oracle, text, (name, {}))
            heading = title.split(": ", 1)[-1].rsplit(" #", 1)[0]
            reason: tuple[str, ...] = ()
            if outcome.kind == "differ":
                reason = (KNOWN[name, heading],) if (name, heading) in KNOWN else reasons(oracle, text, name)
            outcomes["explained" if reason else outcome.kind] += 1
            rows.update(reason)
            if outcome.kind in ("differ", "refused") and not reason:
                unexplained.append(title)
                if len(unexplained) <= arguments.show:
                    print(f"==== {name}: {title}: {outcome.kind}: {outcome.details}", flush=True)
        print(f"{name}: {_shares(outcomes)}; {dict(outcomes)}")
        for row, count in rows.most_common():
            print(f"   {count:>4}  {row}")
        print("   unexplained: " + ", ".join(unexplained), flush=True)
    oracle.close()
    return 0


def _shares(outcomes: Counter[str]) -> str:
    """The shares of the programs that the pass changes: equal results, and results that differ for a known reason."""
    changed = sum(outcomes[kind] for kind in ("agree", "explained", "differ", "refused"))
    if not changed:
        return "nothing changes"
    return f"{outcomes['agree'] / changed:.1%} agree, {outcomes['explained'] / changed:.1%} are explained"


if __name__ == "__main__":
    raise SystemExit(main())
