"""Ask TVM for one result again and again: `python -m tests.oracle.unsteady PASS PROGRAM [-n 40]`.

A result that is ordered by the addresses of objects is not always the same, for they stand elsewhere each time that the text is read.
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
    parser.add_argument("-n", type=int, default=40, help="how many times")
    arguments = parser.parse_args()
    of = variants(arguments.name)[0]
    title, text = next((title, text) for title, text in written().items() if arguments.program in title)
    found = results(of, text, arguments.n)
    print(f"{of.title}, {title}: {len(found)} different results, {sorted(found.values(), reverse=True)}")
    first, *others = found
    for other in others[:1]:
        print("\n".join(difflib.unified_diff(first.splitlines(), other.splitlines(), n=0, lineterm="")))
    return 0


def results(of: Variant, text: str, times: int) -> Counter[str]:
    """TVM's results for a program. A comment makes each text another one, which is read anew."""
    oracle = Oracle()
    found = Counter(
        oracle.apply(f"{text}\n# {turn}\n", [*of.before, of.in_tvm]).get().text for turn in range(times)
    )
    oracle.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
