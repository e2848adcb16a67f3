"""Ask TVM about whole pipelines on random programs: `python -m tests.oracle.groups [-n 200] [--seed 0] [--pipeline zero]`.

The profile `tvm` must give TVM's functions, its kernels by name and pattern, and its groups. The loops inside kernels are ours.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

import relax_explorer as rxe
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.program.module import IRModule
from tests.support.judged import Verdict, in_order_of, is_equal, read
from tests.support.oracle import Oracle
from tests.support.pass_agreement import random_programs, with_kernels
from tests.support.patches import difference


def judged(oracle: Oracle, given: IRModule, pipeline: str, seconds: float = 120) -> Verdict:
    """Our result of a pipeline in the profile `tvm` beside TVM's: `equal`, `unexplained` or `not asked`."""
    answer = oracle.apply(given.script(), [f"pipeline:{pipeline}"], seconds=seconds)
    theirs = read(answer.get().text) if answer.ok else None
    if theirs is None:
        return Verdict("not asked", details=answer.error[-200:])
    try:
        ours = rxe.run_pipeline(given, pipeline, profile="tvm")
    except Failure as failure:
        return Verdict("unexplained", details=str(failure))
    return compared(ours, theirs, answer.get().text)


def compared(ours: IRModule, theirs: IRModule, text: str) -> Verdict:
    """Compare two results up to the bodies of kernels; `text` is TVM's print of its own."""
    shown = with_kernels(ours, text)
    if is_equal(shown, theirs) or is_equal(ours, theirs):
        return Verdict("equal")
    return Verdict("unexplained", details=difference(in_order_of(shown, theirs).script(), shown.script()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.groups", description=__doc__)
    parser.add_argument("-n", type=int, default=200, help="how many random programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--pipeline", default="zero")
    arguments = parser.parse_args()
    oracle, kinds = Oracle(), Counter[str]()
    for material in ("general", "layers"):
        for title, text in random_programs(arguments.n // 2, arguments.seed, material):
            verdict = judged(oracle, rxe.normalize(rxe.parse(text)), arguments.pipeline)
            kinds[verdict.kind] += 1
            if verdict.kind == "unexplained":
                print(f"==== {material}, {title}\n{verdict.details[:1500]}", flush=True)
    oracle.close()
    print(f"{arguments.pipeline}: {dict(kinds)}")
    return 1 if kinds["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
