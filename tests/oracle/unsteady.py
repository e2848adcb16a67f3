"""Ask several processes of TVM for one result: `python -m tests.oracle.unsteady PASS PROGRAM [-n 8]`.

A result that is ordered by the addresses of objects differs from process to process, if each has made other objects before.
It prints how many different results there are, and how the second differs from the first. `PROGRAM` is a part of a title.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections import Counter

from tests.oracle.pass_results import written
from tests.support.oracle import Oracle
from tests.support.pass_variants import Variant, variants


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.unsteady", description=__doc__)
    parser.add_argument("name", metavar="PASS")
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument("-n", type=int, default=8, help="how many processes")
    arguments = parser.parse_args()
    of = variants(arguments.name)[0]
    title, text = next((title, text) for title, text in written().items() if arguments.program in title)
    found = results(of, text, range(arguments.n))
    print(f"{of.title}, {title}: {len(found)} different results, {sorted(found.values(), reverse=True)}")
    first, *others = found
    for other in others[:1]:
        print("\n".join(difflib.unified_diff(first.splitlines(), other.splitlines(), n=0, lineterm="")))
    return 0


def results(of: Variant, text: str, seeds: range) -> Counter[str]:
    """TVM's results for a program, each from a process of its own that made and dropped other objects before."""
    found: Counter[str] = Counter()
    for seed in seeds:
        oracle = Oracle()
        oracle.scatter(seed)
        found[oracle.apply(text, [*of.before, of.in_tvm]).get().text] += 1
        oracle.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
