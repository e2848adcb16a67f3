"""`python -m tests.meaning -n 20000`: random programs through every pass and every order of two."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import product
from random import Random

import relax_explorer as rxe
from tests.meaning.programs import MATERIALS
from tests.meaning.trial import register, trial


def main() -> int:
    """Run the trials; 1 if a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.meaning", description=__doc__)
    parser.add_argument("-n", type=int, default=1000, help="programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--show", type=int, default=3, help="how many findings to print of each pass")
    parser.add_argument(
        "--material", choices=[*MATERIALS], default="general", help="what the random programs are about"
    )
    parser.add_argument(
        "--pairs", type=int, default=0, help="so many random orders of two for each program; 0 for all"
    )
    arguments = parser.parse_args()
    register()
    names = rxe.passes.names()
    singly, pairs = [(name,) for name in names], list(product(names, names))
    counts: Counter[str] = Counter()
    found: Counter[tuple[str, ...]] = Counter()
    start = time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.n):
        orders = [*singly, *(Random(seed).sample(pairs, arguments.pairs) if arguments.pairs else pairs)]
        runs, findings = trial(seed, orders, MATERIALS[arguments.material])
        counts.update(programs=int(runs > 0), refused=int(runs == 0), runs=runs)
        singles = {item.passes[0] for item in findings if len(item.passes) == 1}
        for item in findings:
            if len(item.passes) > 1 and singles & set(item.passes):
                continue  # the single pass is reported already
            found[item.passes] += 1
            if found[item.passes] <= arguments.show:
                print(item, flush=True)
        if (seed + 1) % 500 == 0:
            print(
                dict(counts), f"{time.monotonic() - start:.0f} s", sum(found.values()), "findings", flush=True
            )
    print(dict(counts), f"{time.monotonic() - start:.0f} s")
    for passes, count in found.most_common():
        print(f"{count:>6}  {', '.join(passes)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
