"""Compares the checker of planned memory with brute force on random plans: `python -m tests.fuzz.memory_plans -n 2000 --seed 7`."""

from __future__ import annotations

from argparse import ArgumentParser

from tests.support.random_plans import verdicts


def main() -> int:
    """Print each plan on which they disagree, and how many plans there were of each kind."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = {(wrong, found): 0 for wrong in (True, False) for found in (True, False)}
    seed = given.seed
    while sum(counts.values()) < given.n:
        for plan, wrong, said in verdicts(seed, 4):
            counts[wrong, bool(said)] += 1
            if wrong != bool(said):
                print(f"seed {seed}: wrong {wrong}, said {said}\n{plan}")
        seed += 1
    print(
        {f"wrong {wrong}, found {found}": count for (wrong, found), count in counts.items()},
        "next seed",
        seed,
    )
    return int(bool(counts[True, False] or counts[False, True]))


if __name__ == "__main__":
    raise SystemExit(main())
